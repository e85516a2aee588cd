"""Texts 000, 001 and 002, Amplifier's: what they oblige a tool, a result and `mount` to.

They describe a neutral contract; `amplifier_engine.py` proves the same with the real package.
Their events `tool:pre`, `tool:post` and `tool:error` are those of the orchestrator; what a tool
owes them is a result that can be put into an event.
"""

import inspect
import json
import logging
import re
import tomllib
from importlib import import_module
from typing import Protocol, runtime_checkable

import jsonschema
import pytest
from obligations import GENERATED, KINDS, ROOT, module, petstore
from packages import Coordinator, import_package
from servers.recorder import CannedResponse

from openapi_tools import SettingsError, ToolCall, ToolResult


@runtime_checkable
class Tool(Protocol):
    """The members that the texts name."""

    @property
    def name(self): ...

    @property
    def description(self): ...

    async def execute(self, input): ...  # noqa: A002 -- its name


@pytest.fixture(params=KINDS)
async def tools(request, recorder):
    with petstore(request.param, recorder.url) as toolset:
        async with toolset:
            yield toolset


@pytest.fixture(params=KINDS)
def mount(request):
    with module(request.param) as function:
        yield function


# Tools


def test_00x_a_tool_has_a_name_a_description_and_an_async_execute(tools):
    for tool in tools:
        assert isinstance(tool, Tool)
        assert tool.description.strip()
        assert inspect.iscoroutinefunction(tool.execute)
        assert next(iter(inspect.signature(tool.execute).parameters)) == "input"
        definition = [tool.name, tool.description, tool.input_schema]
        assert json.loads(json.dumps(definition)) == definition
    assert "Finds Pets by status" in tools["find_pets_by_status"].description
    assert len({tool.description for tool in tools}) == len(tools)


def test_00x_names_are_short_unique_and_snake_case(tools):
    names = [tool.name for tool in tools]

    assert all(re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) for name in names)
    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= 64


def test_00x_the_input_schema_is_json_schema_of_an_object(tools):
    for tool in tools:
        assert hasattr(type(tool), "input_schema")
        schema = tool.get_schema()
        assert schema == tool.input_schema
        assert schema is not tool.input_schema
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert set(schema.get("required", [])) <= set(schema["properties"])


def test_00x_parameters_say_type_description_default_and_whether_they_are_required(tools):
    status = tools["find_pets_by_status"].input_schema["properties"]["status"]
    pet = tools["get_pet_by_id"].input_schema

    assert (status["type"], status["default"]) == ("string", "available")
    assert "Status values" in status["description"]
    assert (pet["required"], pet["properties"]["petId"]["type"]) == (["petId"], "integer")


# Calls and results


async def test_00x_a_call_has_an_id_a_name_and_arguments_and_runs_its_tool(tools, recorder):
    call = ToolCall(id="call-1", name="get_pet_by_id", arguments={"petId": 3})

    result = await tools.call(call)

    assert set(ToolCall.model_fields) == {"id", "name", "arguments"}
    assert (call.id, call.name, call.arguments) == ("call-1", "get_pet_by_id", {"petId": 3})
    assert (result.is_error, result.tool_call_id) == (False, "call-1")
    assert recorder.last.target == "/pet/3"


def test_00x_a_result_has_the_three_fields_and_their_defaults():
    assert set(ToolResult.model_fields) == {"success", "output", "error"}
    assert ToolResult().model_dump() == {"success": True, "output": None, "error": None}
    assert ToolResult().is_error is False


async def test_00x_a_success_has_its_output_its_call_and_no_error(tools, recorder):
    recorder.response = CannedResponse(body=b'{"sold": 2}')

    result = await tools["get_inventory"].execute({"_tool_call_id": "call-1"})

    assert isinstance(result, ToolResult)
    assert (result.success, result.is_error, result.error) == (True, False, None)
    assert (result.output, str(result)) == ({"sold": 2}, '{"sold":2}')
    assert (result.tool_call_id, result.metadata["status"]) == ("call-1", 200)
    assert (await tools["get_inventory"].execute({})).tool_call_id == ""
    dumped = result.model_dump()
    assert json.loads(json.dumps(dumped)) == dumped, "it can be the data of an event"
    assert "metadata" not in dumped


NOT_HTTP = CannedResponse(raw=b"no http\r\n\r\n")
FAILURES = [
    (
        CannedResponse(status=500, body=b'{"message": "out of order"}'),
        "http",
        "500.*: out of order",
    ),
    (CannedResponse(status=404), "http", "404"),
    (NOT_HTTP, "protocol", "."),
]


@pytest.mark.parametrize(("response", "kind", "words"), FAILURES, ids=["500", "404", "no HTTP"])
async def test_00x_a_failure_is_an_error_whose_message_says_why(
    tools, recorder, response, kind, words
):
    recorder.response = response

    result = await tools["get_inventory"].execute({})

    assert (result.success, result.is_error, result.error["type"]) == (False, True, kind)
    assert result.output == result.error["message"] == str(result)
    assert re.search(words, result.output)
    assert json.loads(json.dumps(result.model_dump())) == result.model_dump()


@pytest.mark.parametrize(
    "arguments", [{"petId": "x"}, {}, {"other": 1}, {"petId": object()}, None, [], "x", 5]
)
async def test_00x_execute_never_raises_and_checks_input_before_anything_is_done(
    tools, recorder, arguments
):
    result = await tools["get_pet_by_id"].execute(arguments)

    assert result.is_error is True
    assert "petId" in result.error["message"] or not isinstance(arguments, dict)
    assert recorder.requests == []


async def test_00x_a_server_that_is_not_there_raises_nothing():
    with petstore("loaded", "http://127.0.0.1:9") as toolset:
        async with toolset:
            result = await toolset["get_inventory"].execute({"_tool_call_id": "1"})

    assert (result.is_error, result.tool_call_id) == (True, "1")


async def test_00x_calls_are_logged_at_levels_that_fit(tools, caplog):
    tool = tools["get_pet_by_id"]

    def fail(call, context):
        raise RuntimeError("a bug")

    with caplog.at_level(logging.INFO, "openapi_tools"):
        await tool.execute({"petId": 3})
        await tool.execute({})
        assert caplog.records == [], "what is told in a result needs no log"
        tool.add_input_guardrails([fail])
        await tool.execute({"petId": 3})

    assert {record.levelname for record in caplog.records} == {"ERROR"}


# Mounting


@pytest.mark.parametrize("arguments", [(), (None,), ({},)], ids=repr)
async def test_00x_mount_puts_the_tools_under_their_names_and_gives_a_cleanup(mount, arguments):
    coordinator = Coordinator()

    cleanup = await mount(coordinator, *arguments)

    tools = dict(coordinator.tools)
    assert [tool.name for tool in tools.values()] == list(tools)
    assert len(tools) > 1
    assert inspect.iscoroutinefunction(mount)
    assert inspect.iscoroutinefunction(cleanup)
    assert await cleanup() is None
    assert coordinator.tools == {}
    assert (await tools["get_inventory"].execute({})).is_error is True


async def test_00x_a_name_is_unique_across_mounted_tools(mount):
    coordinator = Coordinator()
    cleanup = await mount(coordinator, {})
    before = dict(coordinator.tools)

    with pytest.raises(SettingsError, match="already mounted"):
        await mount(coordinator, {})

    assert coordinator.tools == before
    await cleanup()


async def test_00x_a_mount_plan_configures_the_tools(mount, recorder):
    coordinator = Coordinator()
    recorder.response = CannedResponse(body=json.dumps(["x" * 50] * 50).encode())
    config = {
        "base_url": f"{recorder.url}/v9",
        "credentials": {"api_key": "k3y"},
        "select": {"methods": ["GET"], "tags": ["store"]},
        "settings": {"max_output_chars": 200, "anonymous": True},
    }

    cleanup = await mount(coordinator, config)
    result = await coordinator.tools["get_inventory"].execute({})

    assert list(coordinator.tools) == ["get_inventory", "get_order_by_id"]
    assert (recorder.last.target, recorder.last.header("api_key")) == ("/v9/store/inventory", "k3y")
    assert result.metadata["truncated"]
    await cleanup()


@pytest.mark.parametrize("folder", [ROOT, GENERATED], ids=KINDS)
def test_00x_the_entry_point_of_the_package_is_its_mount(folder):
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((name, target),) = project["entry-points"]["amplifier.modules"].items()
    place, function = target.split(":")

    assert name == ("tool-openapi" if folder is ROOT else "tool-petstore")
    if folder is ROOT:
        mount_function = getattr(import_module(place), function)
    else:
        with import_package(folder, place) as package:
            mount_function = getattr(package, function)
    assert inspect.iscoroutinefunction(mount_function)
    assert list(inspect.signature(mount_function).parameters) == ["coordinator", "config"]
