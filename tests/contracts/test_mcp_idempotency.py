"""One write for one request over MCP: retries with the same key send nothing again."""

import asyncio
import json

import anyio
import pytest
from documents import document, operation
from servers.recorder import CannedResponse, Held

from openapi_tools import Settings, load_tools, require_approval
from openapi_tools.contracts.mcp import create_server

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import Client, types
from mcp_api import MODES, texts

KEY = "openapi-tools/idempotency-key"
NAME = {"name": "name", "in": "query", "schema": {"type": "string"}}
DOCUMENT = document(
    {
        "/pets": {
            "post": operation(operationId="add_pet", parameters=[NAME]),
            "get": operation(operationId="list_pets"),
        }
    }
)


def pets(url, **settings):
    return load_tools(DOCUMENT, base_url=url, settings=Settings(timeout=20, **settings))


async def call_tool(client, name="add_pet", arguments=None, **meta):
    arguments = {"name": "Rex"} if arguments is None else arguments
    return await client.call_tool(name, arguments, meta=meta or None)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [KEY, "idempotencyKey"])
async def test_a_repeat_with_the_key_gets_the_first_result(recorder, mode, name):
    recorder.responses += [
        CannedResponse(201, body=b'{"id": 7}'),
        CannedResponse(201, body=b'{"id": 8}'),
    ]
    async with pets(recorder.url) as toolset, Client(create_server(toolset), mode=mode) as client:
        results = [await call_tool(client, **{name: "k1"}) for _ in range(3)]
        other = await call_tool(client, **{name: "k2"})

    assert [result.structured_content for result in results] == [{"id": 7}] * 3
    assert other.structured_content == {"id": 8}
    assert len(recorder.requests) == 2


async def test_a_repeat_through_another_client_of_the_server_gets_it_too(recorder):
    async with pets(recorder.url) as toolset:
        server = create_server(toolset)
        for _ in range(2):
            async with Client(server) as client:
                assert not (await call_tool(client, **{KEY: "k1"})).is_error

    assert len(recorder.requests) == 1


async def test_a_key_that_is_reused_for_other_arguments_is_refused_in_words(recorder):
    async with pets(recorder.url) as toolset, Client(create_server(toolset)) as client:
        await call_tool(client, **{KEY: "k1"})
        other = await call_tool(client, arguments={"name": "Max"}, **{KEY: "k1"})

    assert other.is_error
    assert "was used for a call with other arguments" in texts(other)[0]
    assert len(recorder.requests) == 1


@pytest.mark.parametrize("key", ["", 5, ["k"], "k" * 1001])
async def test_an_unusable_key_is_refused_and_nothing_is_sent(recorder, key):
    async with pets(recorder.url) as toolset, Client(create_server(toolset)) as client:
        result = await call_tool(client, **{KEY: key})

    assert result.is_error
    assert "must be a string of 1 to 1000 characters" in texts(result)[0]
    assert recorder.requests == []


async def test_the_header_of_the_api_gets_the_same_key(recorder):
    async with (
        pets(recorder.url, idempotency_header="Idempotency-Key") as toolset,
        Client(create_server(toolset)) as client,
    ):
        for _ in range(2):
            await call_tool(client, **{KEY: "k1"})

    one, other = [request.header("Idempotency-Key") for request in recorder.requests]
    assert one == other != "k1"


async def test_reads_and_calls_without_a_key_are_sent_each_time(recorder):
    async with pets(recorder.url) as toolset, Client(create_server(toolset)) as client:
        for _ in range(2):
            await call_tool(client, "list_pets", {}, **{KEY: "k1"})
            await call_tool(client)

    assert len(recorder.requests) == 4


@pytest.mark.parametrize("mode", MODES)
async def test_a_write_is_finished_for_a_client_that_has_left(mode):
    async with Held(CannedResponse(201, body=b'{"id": 7}')) as api, pets(api.url) as toolset:
        server = create_server(toolset)

        async def leave():
            async with Client(server, mode=mode) as client:
                with anyio.move_on_after(30) as scope:
                    asyncio.get_running_loop().create_task(stop(scope))
                    await call_tool(client, **{KEY: "k1"})

        async def stop(scope):
            await asyncio.wait_for(api.changed.wait(), 30)
            scope.cancel()

        await leave()
        api.release.set()
        async with Client(server, mode=mode) as client:
            repeat = await call_tool(client, **{KEY: "k1"})

    assert repeat.structured_content == {"id": 7}
    assert len(api.requests) == 1


async def test_call_tool_and_each_write_of_a_program_have_keys_of_their_own(recorder):
    pytest.importorskip("pydantic_monty", reason="pydantic-monty is not installed")
    code = 'await add_pet(name="a")\nawait add_pet(name="b")'
    async with pets(recorder.url) as toolset:
        async with Client(create_server(toolset.meta_tools())) as client:
            target = {"name": "add_pet", "arguments": {"name": "Rex"}}
            for _ in range(2):
                await call_tool(client, "call_tool", target, **{KEY: "k1"})
        assert len(recorder.requests) == 1
        async with Client(create_server(toolset.code_tools())) as client:
            for _ in range(2):
                result = await call_tool(client, "run_code", {"code": code}, **{KEY: "k2"})
                assert not result.is_error, texts(result)

    assert [request.target for request in recorder.requests[1:]] == ["/pets?name=a", "/pets?name=b"]


async def test_a_repeat_of_an_approved_write_asks_nobody_again(recorder):
    asked = []

    async def approve(_context, params):
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={})

    async with pets(recorder.url) as toolset:
        toolset.add_input_guardrails([require_approval()])
        server = create_server(toolset)
        async with Client(server, elicitation_callback=approve) as client:
            for _ in range(2):
                assert not (await call_tool(client, **{KEY: "k1"})).is_error

    assert len(recorder.requests) == 1


async def test_an_argument_names_the_write_where_the_settings_say_so(recorder):
    async with (
        pets(recorder.url, idempotency_argument=True) as toolset,
        Client(create_server(toolset)) as client,
    ):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for _ in range(2):
            result = await call_tool(client, arguments={"name": "Rex", "idempotency_key": "k1"})
            assert not result.is_error, texts(result)

    assert "idempotency_key" in tools["add_pet"].input_schema["properties"]
    assert "idempotency_key" not in json.dumps(tools["list_pets"].input_schema)
    assert [request.target for request in recorder.requests] == ["/pets?name=Rex"]


async def test_without_the_setting_there_is_no_such_argument(recorder):
    async with pets(recorder.url) as toolset, Client(create_server(toolset)) as client:
        result = await call_tool(client, arguments={"name": "Rex", "idempotency_key": "k1"})

    assert "/idempotency_key: unknown argument" in texts(result)[0]
    assert recorder.requests == []
