"""`create_server`: other tools while it runs, contexts of requests, tools for some clients."""

import asyncio
from contextlib import asynccontextmanager

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import Client, MCPError
from mcp.types import InitializedNotification
from mcp_api import DOCUMENT, MODES, Api, host_server, texts
from team_servers import client_of

from openapi_tools import Settings, load_tools
from openapi_tools.contracts.mcp import create_server
from openapi_tools.errors import CredentialsError

OTHER = {**DOCUMENT, "paths": {"/pets": DOCUMENT["paths"]["/pets"]}}


@pytest.fixture
async def api():
    async with Api() as running:
        yield running


def load_from(api, document=DOCUMENT):
    return load_tools(document, settings=Settings(base_url=api.url))


async def names_of(client):
    return [tool.name for tool in (await client.list_tools()).tools]


@asynccontextmanager
async def client_over(transport, server, mode, **options):
    """Give a client of a server in this process."""
    if transport == "memory":
        async with Client(server, mode=mode, **options) as client:
            yield client
        return
    async with host_server(server) as url, client_of(url, mode, **options) as client:
        yield client


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_clients_are_notified_of_other_tools(mode, transport, api):
    list_changed = asyncio.Event()

    async def hear(message):
        if "ToolListChanged" in type(message).__name__:
            list_changed.set()

    server = create_server(load_from(api))
    options = {"message_handler": hear} if mode == "legacy" else {}
    async with client_over(transport, server, mode, **options) as client:
        before, promised = await names_of(client), client.server_capabilities.tools.list_changed
        if mode == "auto":
            async with client.listen(tools_list_changed=True) as changes:
                await server.replace(load_from(api, OTHER))
                await asyncio.wait_for(anext(changes), 10)
        else:
            async with asyncio.timeout(10):
                while not list_changed.is_set():  # the client's stream may not be open yet
                    await server.replace(load_from(api, OTHER))
                    await asyncio.sleep(0.02)
        after = await names_of(client)

    assert promised
    assert len(before) == 8
    assert after == ["list_pets", "add_pet"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_runs_ends_on_the_tools_it_began_on(mode, api):
    old = load_from(api)
    server = create_server(old)
    async with Client(server, mode=mode) as client:
        call = asyncio.create_task(client.call_tool("be_slow", {"seconds": 0.3}))
        await asyncio.wait_for(api.arrived.wait(), 10)
        ended = await server.replace(load_from(api, OTHER))
        assert not ended.is_set()
        with pytest.raises(MCPError, match="no tool is called 'be_slow'"):
            await client.call_tool("be_slow", {"seconds": 0})
        result = await call
        await asyncio.wait_for(ended.wait(), 10)
        again = await server.replace(load_from(api, OTHER))

    assert not result.is_error
    assert again.is_set()


async def test_a_client_that_says_that_it_is_ready_over_and_over_is_notified_once(api):
    server, messages = create_server(load_from(api)), []

    async def hear(message):
        messages.append(type(message).__name__)

    async with Client(server, mode="legacy", message_handler=hear) as client:
        for _ in range(5):
            await client.session.send_notification(InitializedNotification())
        await client.list_tools()
        await server.replace(load_from(api, OTHER))
        await client.list_tools()

    assert len(messages) == 1


@pytest.mark.parametrize("mode", MODES)
async def test_a_function_gives_each_request_its_own_context(mode, api):
    async def context(request):
        return {"credentials": {"key": f"key-of-{request.protocol_version[:4]}"}}

    async with Client(create_server(load_from(api), context=context), mode=mode) as client:
        result = await client.call_tool("get_pet", {"id": 1})

    assert not result.is_error
    assert api.last.header("X-Key") == ("key-of-2025" if mode == "legacy" else "key-of-2026")


async def test_a_context_that_cannot_be_made_refuses_the_call_in_words(api):
    def context(_):
        raise CredentialsError("log in first.", scheme="key")

    async with Client(create_server(load_from(api), context=context)) as client:
        result = await client.call_tool("get_pet", {"id": 1})

    assert result.is_error
    assert texts(result) == ["log in first."]
    assert api.requests == []


SEEN = ["get_pet", "list_pets"]


def reads_only(tool, _):
    return tool.name in SEEN


@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_that_a_client_may_not_see_is_unknown_to_it(mode, api):
    async with Client(create_server(load_from(api), visible=reads_only), mode=mode) as client:
        names = await names_of(client)
        result = await client.call_tool("get_pet", {"id": 1})
        with pytest.raises(MCPError, match="no tool is called 'delete_pet'"):
            await client.call_tool("delete_pet", {"id": 1})

    assert names == SEEN
    assert not result.is_error
    assert len(api.requests) == 1
