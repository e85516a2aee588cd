"""A large API over MCP: what clients do with the few tools of the modes `search` and `code`."""

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import MCPError, types
from mcp_api import MODES, Api, connected, texts

WAYS = [
    pytest.param(transport, mode, id=f"{transport}-{mode}", marks=marks)
    for transport, marks in (
        ("memory", ()),
        ("stdio", pytest.mark.long),
        ("http", pytest.mark.long),
    )
    for mode in MODES
]


@pytest.fixture
async def api():
    """The API on loopback."""
    async with Api() as running:
        yield running


@pytest.fixture
def asked():
    """The questions that the client's user was asked."""
    return []


@pytest.fixture
def answering(asked):
    """Return a function that answers them."""

    def answers(action):
        async def answer(_, params):
            asked.append(params.message)
            return types.ElicitResult(action=action)

        return answer

    return answers


@pytest.mark.parametrize(("transport", "mode"), WAYS)
async def test_a_client_finds_looks_at_and_calls_tools(
    transport, mode, api, tmp_path, asked, answering
):
    options = {"ask": True, "serve": "search", "elicitation_callback": answering("accept")}
    async with connected(transport, mode, api, tmp_path, **options) as client:

        async def call(name, **arguments):
            given = {"name": name, "arguments": arguments}
            result = await client.call_tool("call_tool", given)
            return result.is_error, texts(result)[0]

        names = [tool.name for tool in (await client.list_tools()).tools]
        info = client.server_info
        found = await client.call_tool("search_tools", {"query": "get one pet\nremove a pet"})
        told = await client.call_tool("describe_tools", {"names": ["delete_pet"]})
        unknown, wrong = await call("get_pets"), await call("get_pet", id="one")
        right, failed = await call("get_pet", id=1), await call("get_pet", id=404)
        deleted = await call("delete_pet", id=1)
        with pytest.raises(MCPError, match="no tool is called 'get_pet'"):
            await client.call_tool("get_pet", {"id": 1})

    assert names == ["search_tools", "describe_tools", "call_tool"]
    assert (info.name, info.version) == ("Pet API", "7.1")
    assert "get_pet(id: int)" in texts(found)[0]
    assert texts(told)[0].startswith("delete_pet: DELETE /pets/{id}\n")
    assert unknown[0]
    assert "did you mean get_pet" in unknown[1]
    assert wrong[0]
    assert wrong[1].startswith("/id: expected an integer, got 'one'")
    assert right == (False, '{"id":1,"name":"Rex","owner":null}')
    assert failed[0]
    assert "no such pet" in failed[1]
    assert not deleted[0]
    assert asked == ['Call delete_pet (DELETE /pets/{id})?\n  "id": 1']
    sent = [(request.method, request.target) for request in api.requests]
    assert sent == [("GET", "/pets/1"), ("GET", "/pets/404"), ("DELETE", "/pets/1")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", ["decline", "cancel", None])
async def test_a_call_that_is_not_approved_is_not_sent(
    mode, action, api, tmp_path, asked, answering
):
    options = {} if action is None else {"elicitation_callback": answering(action)}
    async with connected(
        "memory", mode, api, tmp_path, ask=True, serve="search", **options
    ) as client:
        given = {"name": "delete_pet", "arguments": {"id": 1}}
        result = await client.call_tool("call_tool", given)

    assert result.is_error
    assert texts(result)[0].startswith("delete_pet ")
    assert (len(asked), api.requests) == (action is not None, [])
