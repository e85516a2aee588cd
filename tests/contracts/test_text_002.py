"""Text 002, sentence by sentence: what it obliges a tool, a result and `mount` to.

Its events of a module's own and the package's validation need Amplifier: `test_amplifier.py`.
"""

import inspect
import json
import logging
import re
import tomllib
from importlib import import_module

import pytest
from obligations import GENERATED, KINDS, ROOT, Coordinator, module, petstore
from packages import imported
from servers.recorder import Answer

from openapi_tools import SettingsError, ToolCall, ToolResult

SHORT = 64


@pytest.fixture(params=KINDS)
async def tools(request, recorder):
    with petstore(request.param, recorder.url) as toolset:
        async with toolset:
            yield toolset


@pytest.fixture(params=KINDS)
def mount(request):
    with module(request.param) as function:
        yield function


def test_002_a_tool_has_name_description_and_an_async_execute(tools):
    for tool in tools:
        assert isinstance(tool.name, str)
        assert isinstance(tool.description, str)
        assert inspect.iscoroutinefunction(tool.execute)
        assert next(iter(inspect.signature(tool.execute).parameters)) == "input"


def test_002_a_call_keeps_id_name_and_arguments():
    assert set(ToolCall.model_fields) == {"id", "name", "arguments"}


def test_002_a_result_has_the_three_fields_and_their_defaults():
    assert set(ToolResult.model_fields) == {"success", "output", "error"}
    assert ToolResult().model_dump() == {"success": True, "output": None, "error": None}


def test_002_a_name_is_short_and_snake_case(tools):
    for tool in tools:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", tool.name)
        assert len(tool.name) <= SHORT


async def test_002_a_name_is_unique_across_mounted_tools(mount):
    coordinator = Coordinator()
    cleanup = await mount(coordinator, {})
    before = dict(coordinator.tools)

    with pytest.raises(SettingsError, match="mounted already"):
        await mount(coordinator, {})

    assert coordinator.tools == before
    await cleanup()


def test_002_a_description_tells_what_the_tool_does(tools):
    assert "Finds Pets by status" in tools["find_pets_by_status"].description
    assert len({tool.description for tool in tools}) == len(tools)


async def test_002_mount_is_async_and_gives_a_cleanup(mount):
    coordinator = Coordinator()

    cleanup = await mount(coordinator, {})

    assert inspect.iscoroutinefunction(mount)
    assert callable(cleanup)
    await cleanup()
    assert coordinator.tools == {}


@pytest.mark.parametrize("folder", [ROOT, GENERATED], ids=KINDS)
def test_002_the_entry_point_of_the_package_is_its_mount(folder):
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((name, target),) = project["entry-points"]["amplifier.modules"].items()
    place, function = target.split(":")

    assert name == ("tool-openapi" if folder is ROOT else "tool-petstore")
    if folder is ROOT:
        found = getattr(import_module(place), function)
    else:
        with imported(folder, place) as package:
            found = getattr(package, function)
    assert inspect.iscoroutinefunction(found)
    assert list(inspect.signature(found).parameters) == ["coordinator", "config"]


async def test_002_a_missing_parameter_is_a_failed_result_that_names_it(tools, recorder):
    result = await tools["get_pet_by_id"].execute({})

    assert result.success is False
    assert "petId" in result.error["message"]
    assert recorder.requests == [], "input is checked before anything is sent"


async def test_002_work_that_is_done_is_a_success_with_its_output(tools, recorder):
    recorder.answer = Answer(body=b'{"id": 3}')

    result = await tools["get_pet_by_id"].execute({"petId": 3})

    assert result.success
    assert result.output == {"id": 3}
    assert result.error is None


async def test_002_a_failure_is_a_result_with_message_and_type(tools, recorder):
    recorder.answer = Answer(raw=b"no http\r\n\r\n")

    result = await tools["get_pet_by_id"].execute({"petId": 3})

    assert result.success is False
    assert result.error["message"]
    assert result.error["type"] == "protocol"


def test_002_get_schema_gives_the_json_schema_of_the_input(tools):
    for tool in tools:
        schema = tool.get_schema()
        assert schema == tool.input_schema
        assert schema is not tool.input_schema
        assert schema["type"] == "object"
    schema = tools["get_pet_by_id"].get_schema()
    assert schema["properties"]["petId"]["type"] == "integer"
    assert schema["properties"]["petId"]["description"]
    assert schema["required"] == ["petId"]


async def test_002_a_mount_plan_configures_the_tools(mount, recorder):
    coordinator = Coordinator()
    recorder.answer = Answer(body=json.dumps(["x" * 50] * 50).encode())
    config = {
        "base_url": recorder.url,
        "select": {"methods": ["GET"], "tags": ["store"]},
        "settings": {"max_output_chars": 200, "anonymous": True},
    }

    cleanup = await mount(coordinator, config)
    result = await coordinator.tools["get_inventory"].execute({})

    assert list(coordinator.tools) == ["get_inventory", "get_order_by_id"]
    assert result.metadata["truncated"]
    await cleanup()


async def test_002_calls_are_logged_at_levels_that_fit(tools, recorder, caplog):
    tool = tools["get_pet_by_id"]

    def broken(call, context):
        raise RuntimeError("a bug")

    with caplog.at_level(logging.INFO, "openapi_tools"):
        await tool.execute({"petId": 3})
        await tool.execute({})
        assert caplog.records == [], "what is told in a result needs no log"
        tool.add_input_guardrails([broken])
        await tool.execute({"petId": 3})

    assert {record.levelname for record in caplog.records} == {"ERROR"}
