"""Text 001, sentence by sentence: what it obliges a tool, a result and `mount` to.

Its events `tool:pre`, `tool:post` and `tool:error` are those of the orchestrator; what a tool owes
them is a result that can be put into an event.
"""

import inspect
import json

import jsonschema
import pytest
from obligations import KINDS, Coordinator, module, petstore
from servers.recorder import Answer


@pytest.fixture(params=KINDS)
async def tools(request, recorder):
    with petstore(request.param, recorder.url) as toolset:
        async with toolset:
            yield toolset


@pytest.fixture(params=KINDS)
def mount(request):
    with module(request.param) as function:
        yield function


def test_001_a_tool_has_an_identifier_a_description_and_execute(tools):
    assert len({tool.name for tool in tools}) == len(tools)
    for tool in tools:
        assert tool.description
        assert inspect.iscoroutinefunction(tool.execute)


def test_001_the_input_schema_is_an_attribute(tools):
    for tool in tools:
        assert isinstance(tool.input_schema, dict)
        assert hasattr(type(tool), "input_schema")


def test_001_the_input_schema_is_json_schema_of_an_object(tools):
    for tool in tools:
        schema = tool.input_schema
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert set(schema.get("required", [])) <= set(schema["properties"])


def test_001_parameters_have_types_descriptions_and_defaults(tools):
    parameters = tools["find_pets_by_status"].input_schema["properties"]

    assert parameters["status"]["type"] == "string"
    assert "Status values" in parameters["status"]["description"]
    assert parameters["status"]["default"] == "available"


def test_001_what_is_needed_is_required(tools):
    assert tools["get_pet_by_id"].input_schema["required"] == ["petId"]


def test_001_a_tool_definition_can_be_made_of_a_tool(tools):
    for tool in tools:
        definition = [tool.name, tool.description, tool.input_schema]

        assert json.loads(json.dumps(definition)) == definition


@pytest.mark.parametrize("given", [(), (None,), ({},)], ids=repr)
async def test_001_mount_needs_no_configuration(mount, given):
    coordinator = Coordinator()

    cleanup = await mount(coordinator, *given)

    assert all(name == tool.name for name, tool in coordinator.tools.items())
    assert len(coordinator.tools) > 1
    await cleanup()


async def test_001_the_configuration_reaches_the_tools(mount, recorder):
    coordinator = Coordinator()
    config = {
        "base_url": f"{recorder.url}/v9",
        "credentials": {"api_key": "k3y"},
        "select": {"names": ["get_*"]},
    }

    cleanup = await mount(coordinator, config)
    await coordinator.tools["get_inventory"].execute({})

    assert all(name.startswith("get_") for name in coordinator.tools)
    assert recorder.last.target == "/v9/store/inventory"
    await cleanup()


async def test_001_a_success_has_its_output_for_the_model_and_no_error(tools, recorder):
    recorder.answer = Answer(body=b'{"sold": 2}')

    result = await tools["get_inventory"].execute({})

    assert (result.success, result.output, result.error) == (True, {"sold": 2}, None)
    assert str(result) == '{"sold": 2}'


async def test_001_a_failure_has_an_error_message(tools, recorder):
    recorder.answer = Answer(status=404)

    result = await tools["get_inventory"].execute({})

    assert result.success is False
    assert isinstance(result.error["message"], str)
    assert result.error["message"] == str(result)


async def test_001_a_result_has_metadata(tools):
    result = await tools["get_inventory"].execute({})

    assert result.metadata["status"] == 200
    assert "metadata" not in result.model_dump()


async def test_001_wrong_input_is_an_error_result_before_anything_is_done(tools, recorder):
    result = await tools["get_pet_by_id"].execute({"petId": "x"})

    assert result.success is False
    assert "petId" in str(result)
    assert recorder.requests == []


@pytest.mark.parametrize("status", [200, 404])
async def test_001_a_result_can_be_the_data_of_an_event(tools, recorder, status):
    recorder.answer = Answer(status=status, body=b'{"a": [1, null]}')

    result = await tools["get_inventory"].execute({})

    dumped = result.model_dump()
    assert json.loads(json.dumps(dumped)) == dumped
