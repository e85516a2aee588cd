"""Text 000, sentence by sentence: what it obliges a tool, a result and `mount` to."""

import inspect
import re
from typing import Protocol, runtime_checkable

import pytest
from obligations import KINDS, Coordinator, module, petstore
from servers.recorder import Answer

from openapi_tools import ToolCall, ToolResult

SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


@runtime_checkable
class Tool(Protocol):
    """The members that the text names."""

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


def test_000_a_tool_is_an_instance_of_the_protocol(tools):
    for tool in tools:
        assert isinstance(tool, Tool)


def test_000_a_name_is_snake_case_and_unique(tools):
    names = [tool.name for tool in tools]

    assert all(SNAKE_CASE.fullmatch(name) for name in names)
    assert len(set(names)) == len(names)


def test_000_a_description_is_for_people_and_models(tools):
    for tool in tools:
        assert isinstance(tool.description, str)
        assert tool.description.strip()


async def test_000_execute_is_async_and_gives_a_result(tools):
    tool = tools["get_inventory"]

    assert inspect.iscoroutinefunction(tool.execute)
    assert isinstance(await tool.execute({}), ToolResult)


def test_000_a_call_has_an_id_a_name_and_arguments():
    call = ToolCall(id="1", name="get_inventory", arguments={"a": 1})

    assert (call.id, call.name, call.arguments) == ("1", "get_inventory", {"a": 1})


async def test_000_a_result_names_the_call_that_it_answers(tools):
    tool = tools["get_inventory"]

    assert (await tool.execute({"_tool_call_id": "call-1"})).tool_call_id == "call-1"
    assert (await tool.execute({})).tool_call_id == ""


async def test_000_a_call_runs_the_tool_of_its_name(tools, recorder):
    call = ToolCall(id="call-1", name="get_pet_by_id", arguments={"petId": 3})

    result = await tools.call(call)

    assert (result.is_error, result.tool_call_id) == (False, "call-1")
    assert recorder.last.target == "/pet/3"


async def test_000_a_success_has_its_output_and_is_no_error(tools, recorder):
    recorder.answer = Answer(body=b'{"sold": 2}')

    result = await tools["get_inventory"].execute({})

    assert (result.output, result.is_error) == ({"sold": 2}, False)
    assert ToolResult().is_error is False


async def test_000_a_failure_is_an_error_whose_output_says_why(tools, recorder):
    recorder.answer = Answer(status=500, body=b'{"message": "out of order"}')

    result = await tools["get_inventory"].execute({})

    assert result.is_error is True
    assert "500" in result.output
    assert "out of order" in result.output


@pytest.mark.parametrize(
    "given", [{"petId": "x"}, {}, {"other": 1}, {"petId": object()}, None, [], "x", 5]
)
async def test_000_execute_never_raises(tools, given):
    result = await tools["get_pet_by_id"].execute(given)

    assert result.is_error is True


async def test_000_a_server_that_is_not_there_raises_nothing():
    with petstore("loaded", "http://127.0.0.1:9") as toolset:
        async with toolset:
            result = await toolset["get_inventory"].execute({"_tool_call_id": "1"})

    assert (result.is_error, result.tool_call_id) == (True, "1")


async def test_000_mount_puts_the_tools_under_their_names(mount):
    coordinator = Coordinator()

    cleanup = await mount(coordinator, {})

    assert coordinator.tools
    assert all(name == tool.name for name, tool in coordinator.tools.items())
    await cleanup()


async def test_000_mount_gives_a_cleanup_function(mount):
    coordinator = Coordinator()

    cleanup = await mount(coordinator, {})

    tool = coordinator.tools["get_inventory"]
    assert inspect.iscoroutinefunction(cleanup)
    assert await cleanup() is None
    assert coordinator.tools == {}
    assert (await tool.execute({})).is_error is True
