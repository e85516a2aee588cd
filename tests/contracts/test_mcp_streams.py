"""Large responses of the MCP server over HTTP: as JSON, or on a stream that has begun."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx
import pytest
from documents import document, operation

from openapi_tools import Settings, load_tools, require_approval
from openapi_tools.contracts import mcp_exchange
from openapi_tools.contracts.mcp import create_server

pytest.importorskip("mcp", reason="mcp is not installed")

import httpx2
from mcp import Client, MCPError, types
from mcp.client.streamable_http import streamable_http_client
from mcp_api import MODES, Person, client_of, host_server, texts

LARGEST = 256_000
"""Characters of an output; some texts of this length are too large for a client as JSON twice."""
CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "a"}}
ACCEPTED = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
LETTERS = ["a", "漢", '"', "\u2028"]


@pytest.fixture(params=MODES)
def mode(request):
    """The two eras of the protocol."""
    return request.param


def tools_of(handler, **settings):
    """Return a toolset whose two tools are served by an async function."""
    paths = {"/a": {"get": operation(operationId="a"), "post": operation(operationId="b")}}
    settings = {"base_url": "http://api.example.com", "max_output_chars": LARGEST, **settings}
    web = httpx.AsyncClient(transport=httpx.MockTransport(handler))
    return load_tools(document(paths), settings=Settings(**settings), client=web)


def fill_object(letter):
    """Return the largest object of one such text that no cap of the tools cuts."""
    each = len(json.dumps(letter, ensure_ascii=False)) - 2
    return {"a": letter * ((LARGEST - 10) // each)}


def respond_with(value, *, after=None):
    """Return an API that responds with a value, after something has happened."""

    async def respond(_):
        if after is not None:
            await asyncio.wait_for(after.wait(), 30)
        return httpx.Response(200, json=value)

    return respond


@pytest.fixture
def early(monkeypatch):
    """Have progress told at once."""
    monkeypatch.setattr("openapi_tools.contracts.mcp._FIRST_PROGRESS", 0.01)


@pytest.mark.long
@pytest.mark.parametrize("letter", LETTERS)
async def test_the_largest_response_arrives_whole(mode, letter):
    value = fill_object(letter)

    async with client_of(create_server(tools_of(respond_with(value))), mode) as client:
        result = await client.call_tool("a", {})

    assert result.structured_content == value
    assert json.loads(texts(result)[0]) == value


async def called_after_progress(value, mode, bound=1024 * 1024, **settings):
    """Return the result or error of a call whose response follows a notice of progress."""
    event = asyncio.Event()

    async def note(*_):
        event.set()

    server = create_server(tools_of(respond_with(value, after=event), **settings))
    async with client_of(server, mode, max_sse_event_size=bound) as client:
        try:
            return await client.call_tool("a", {}, progress_callback=note)
        except MCPError as error:
            return error


@pytest.mark.long
@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.usefixtures("early")
async def test_after_progress_the_text_of_the_largest_response_arrives_whole(mode, letter):
    value = fill_object(letter)

    result = await called_after_progress(value, mode)

    assert not result.is_error
    assert json.loads(texts(result)[0]) == value
    assert result.structured_content in ([None] if letter in "漢😀" else [value, None])


@pytest.mark.usefixtures("early")
async def test_after_progress_a_small_response_keeps_its_structure(mode):
    result = await called_after_progress({"a": 1}, mode)

    assert (texts(result), result.structured_content) == (['{"a":1}'], {"a": 1})


@pytest.mark.long
@pytest.mark.usefixtures("early")
async def test_what_is_too_large_as_a_text_is_left_to_the_bound_of_the_client(mode):
    value = {"a": "x" * 1_200_000}

    refused = await called_after_progress(value, mode, max_output_chars=2_000_000)
    result = await called_after_progress(value, mode, None, max_output_chars=2_000_000)

    assert "exceeded the 1048576 byte limit" in str(refused)
    assert result.structured_content == value


async def test_a_question_does_not_wait_for_the_answer():
    value = fill_object("漢")

    toolset = tools_of(respond_with(value))
    toolset.add_input_guardrails([require_approval()])
    async with host_server(create_server(toolset)) as url, httpx2.AsyncClient(timeout=60) as web:
        place = streamable_http_client(url, http_client=web)
        async with Client(place, mode="legacy", elicitation_callback=Person()) as client:
            result = await client.call_tool("b", {})

    assert json.loads(texts(result)[0]) == value
    assert result.structured_content is None


@asynccontextmanager
async def post_message(toolset, message, **headers):
    """Give the response to a message in a handshake version, before its body has been read."""
    async with (
        host_server(create_server(toolset), stateless_http=True) as url,
        httpx2.AsyncClient(timeout=60) as web,
        web.stream("POST", url, json=message, headers={**ACCEPTED, **headers}) as response,
    ):
        yield response


IDS = [{"id": number} for number in (0, -3, "", "x", 'a\\"b", "result": {', "ж{}")]


@pytest.mark.parametrize("fields", [{}, *IDS, {"params": {"name": "c"}}], ids=str)
async def test_a_response_with_nothing_before_it_is_plain_json(fields):
    call = {**CALL, **fields}

    async with post_message(tools_of(respond_with({"a": "ж"})), call) as response:
        body = await response.aread()

    assert response.status_code == 200
    assert response.headers.get_list("content-type") == ["application/json"]
    assert response.headers["content-length"] == str(len(body))
    message = json.loads(body)
    assert message["id"] == call["id"]
    if "params" in fields:
        assert message["error"]["code"] == types.INVALID_PARAMS
    else:
        assert message["result"]["structuredContent"] == {"a": "ж"}


async def test_a_session_is_opened_and_closed_and_has_its_own_stream():
    opening = {
        **CALL,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    async with (
        host_server(create_server(tools_of(respond_with({})))) as url,
        httpx2.AsyncClient(headers=ACCEPTED, timeout=60) as web,
    ):
        opened = await web.post(url, json=opening)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        async with web.stream("GET", url, headers=session) as listening:
            closed = await web.delete(url, headers=session)
            content = await listening.aread()

    assert opened.json()["result"]["protocolVersion"] == "2025-11-25"
    assert listening.headers["content-type"].startswith("text/event-stream")
    assert (closed.status_code, content) == (200, b"")


@pytest.mark.parametrize("mode", MODES)
async def test_signs_of_life_are_sent_while_a_call_goes_on(mode, monkeypatch):
    monkeypatch.setattr(mcp_exchange, "_PING_INTERVAL", 0.05)
    alive = asyncio.Event()
    message, headers = (CALL, {}) if mode == "legacy" else (stateless(), STATELESS)

    async with post_message(
        tools_of(respond_with({"a": 1}, after=alive)), message, **headers
    ) as response:
        content = b""
        async for piece in response.aiter_bytes():
            content += piece
            alive.set()  # the API responds only now

    assert response.headers["content-type"].startswith("text/event-stream")
    assert content.startswith(b": ping")
    assert content.count(b"\ndata: ") == 1
    assert b'"structuredContent":{"a":1}' in content


STATELESS = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "a"}


def stateless():
    """Return the call as the stateless version has it."""
    space = "io.modelcontextprotocol/"
    meta = {
        f"{space}protocolVersion": "2026-07-28",
        f"{space}clientInfo": {"name": "t", "version": "1"},
        f"{space}clientCapabilities": {},
    }
    return {**CALL, "params": {**CALL["params"], "_meta": meta}}


async def test_a_client_that_leaves_before_the_response_harms_nobody(caplog):
    arrived, gone = asyncio.Event(), asyncio.Event()

    async def respond(request):
        if request.method == "POST":
            return httpx.Response(200, json={"b": 2})
        arrived.set()
        await asyncio.wait_for(gone.wait(), 30)
        return httpx.Response(200, json={})

    app = create_server(tools_of(respond))
    async with host_server(app, stateless_http=True) as url, httpx2.AsyncClient(timeout=60) as web:
        call = asyncio.create_task(web.post(url, json=CALL, headers=ACCEPTED))
        await asyncio.wait_for(arrived.wait(), 30)
        call.cancel()
        await asyncio.wait({call})
        gone.set()
        other = {**CALL, "params": {"name": "b"}}
        response = await web.post(url, json=other, headers=ACCEPTED)

    assert response.json()["result"]["structuredContent"] == {"b": 2}
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
