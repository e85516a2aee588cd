"""Requests of MCP clients over HTTP: which get JSON, which get a stream, and their sessions."""

import asyncio
import json
import shutil
import socket
import subprocess
import sys
from contextlib import asynccontextmanager, suppress

import httpx
import pytest
from documents import document, operation

from openapi_tools import Settings, load_tools, require_approval
from openapi_tools.contracts import mcp_exchange
from openapi_tools.contracts.mcp import create_server

pytest.importorskip("mcp", reason="mcp is not installed")

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.streamable_http import EventMessage, EventStore
from mcp_api import MODES, host_server

LEGACY, MODERN = "2025-11-25", "2026-07-28"
BOTH, JSON, EVENTS = "application/json, text/event-stream", "application/json", "text/event-stream"
ERAS = {"session": {}, "stateless": {"stateless_http": True}, "modern": {}}
SPACE = "io.modelcontextprotocol/"


class Api:
    """A transport whose response to `/a` waits until `ended` is set; `/b` has one at once.

    `seconds` is how long it waits at most, from the arrival of the request.
    """

    def __init__(self, value=None):
        self.seconds = 30
        self.arrived, self.ended, self.left = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.value = {"a": 1} if value is None else value
        self.requests = []

    async def respond(self, request):
        self.requests.append(request)
        if request.url.path == "/a":
            self.arrived.set()
            try:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.ended.wait(), self.seconds)
            except asyncio.CancelledError:
                self.left.set()
                raise
        return httpx.Response(200, json=self.value)

    def server(self, *guardrails, **settings):
        paths = {
            "/a": {"get": operation(operationId="a")},
            "/b": {"get": operation(operationId="b"), "post": operation(operationId="write")},
        }
        settings = Settings(base_url="http://api.example.com", **settings)
        web = httpx.AsyncClient(transport=httpx.MockTransport(self.respond))
        toolset = load_tools(document(paths), settings=settings, client=web)
        toolset.add_input_guardrails(list(guardrails))
        return create_server(toolset)


class Peer:
    """A client that sends bare messages."""

    def __init__(self, web, url, era):
        self._web, self._url, self.era = web, url, era
        self.headers = {
            "Accept": BOTH,
            "MCP-Protocol-Version": MODERN if era == "modern" else LEGACY,
        }

    def message(self, name, number=7, **params):
        if self.era == "modern":
            facts = {"protocolVersion": MODERN, "clientCapabilities": {}}
            meta = {SPACE + key: value for key, value in facts.items()}
            params["_meta"] = {**meta, **params.get("_meta", {})}
        params = {"name": name, **params}
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}

    @asynccontextmanager
    async def stream(self, name, *, accept=BOTH, **fields):
        names = {"Mcp-Method": "tools/call", "Mcp-Name": name} if self.era == "modern" else {}
        headers = {**self.headers, **names, "Accept": accept}
        message = self.message(name, **fields)
        async with self._web.stream("POST", self._url, json=message, headers=headers) as response:
            yield response

    async def call(self, name, **fields):
        async with self.stream(name, **fields) as response:
            await response.aread()
        return response

    async def post(self, message):
        return await self._web.post(self._url, json=message, headers=self.headers)

    async def open_session(self, **capabilities):
        client = {"name": "t", "version": "1"}
        params = {"protocolVersion": LEGACY, "capabilities": capabilities, "clientInfo": client}
        opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        opened = await self.post(opening)
        self.headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
        await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def end_session(self):
        return await self._web.delete(self._url, headers=self.headers)


@asynccontextmanager
async def peer_of(server, era, *, capabilities=(), **options):
    """Give a bare client of a server, in one of the eras."""
    async with (
        host_server(server, **ERAS[era], **options) as url,
        httpx2.AsyncClient(timeout=60) as web,
    ):
        peer = Peer(web, url, era)
        if era == "session":
            await peer.open_session(**{name: {} for name in capabilities})
        yield peer


@pytest.fixture(params=ERAS)
def era(request):
    return request.param


@pytest.fixture
def api():
    return Api()


@pytest.fixture
def quick_pings(monkeypatch):
    """Send pings at once."""
    monkeypatch.setattr(mcp_exchange, "_WATCH_AFTER", 0.01)
    monkeypatch.setattr(mcp_exchange, "_PING_INTERVAL", 0.05)


def result_of(body):
    """Return the result in a body of JSON or of events."""
    data = body.rpartition(b"data: ")[2] if b"data: " in body else body
    return json.loads(data)["result"]


async def test_a_call_is_one_task_and_its_response_is_json(era, api):
    started = []

    def note(loop, coroutine, **options):
        started.append(coroutine.__qualname__)
        return asyncio.Task(coroutine, loop=loop, **options)

    async with peer_of(api.server(), era) as peer:
        await peer.call("b")
        asyncio.get_running_loop().set_task_factory(note)
        try:
            response = await peer.call("b")
        finally:
            asyncio.get_running_loop().set_task_factory(None)

    assert response.headers["content-type"] == JSON
    assert response.headers["content-length"] == str(len(response.content))
    assert response.json()["result"]["structuredContent"] == {"a": 1}
    assert len(started) == 1, started


async def test_who_takes_no_stream_gets_json(era, api):
    async with peer_of(api.server(), era) as peer:
        response = await peer.call("b", accept=JSON)

    assert response.status_code == 200
    assert response.json()["result"]["structuredContent"] == {"a": 1}


async def test_who_takes_only_a_stream_is_refused(era, api):
    async with peer_of(api.server(), era) as peer:
        assert (await peer.call("b", accept=EVENTS)).status_code == 406


@pytest.mark.usefixtures("quick_pings")
@pytest.mark.parametrize(("accept", "sign"), [(BOTH, b": ping\r\n\r\n"), (JSON, b" ")])
async def test_a_slow_call_shows_signs_of_life(era, api, accept, sign):
    async with peer_of(api.server(), era) as peer, peer.stream("a", accept=accept) as response:
        body = b""
        async for part in response.aiter_bytes():
            body += part
            if len(body) > len(sign):
                api.ended.set()

    assert response.headers["content-type"] == (JSON if accept == JSON else EVENTS)
    assert response.headers["x-accel-buffering"] == "no"
    assert body.startswith(sign * 2)
    assert result_of(body)["structuredContent"] == {"a": 1}


@pytest.mark.parametrize("accept", [BOTH, JSON])
async def test_progress_is_reported_on_a_stream_only(era, api, accept, monkeypatch):
    monkeypatch.setattr("openapi_tools.contracts.mcp._FIRST_PROGRESS", 0.01)
    monkeypatch.setattr("openapi_tools.contracts.mcp._PROGRESS_INTERVAL", 0.01)
    api.seconds = 0.5
    async with peer_of(api.server(), era) as peer:
        response = await peer.call("a", accept=accept, _meta={"progressToken": "p"})

    assert (b'"progressToken":"p"' in response.content) is (accept == BOTH)
    assert result_of(response.content)["structuredContent"] == {"a": 1}


async def test_only_where_there_is_no_session_a_client_that_leaves_ends_the_call(era, api):
    async with peer_of(api.server(), era) as peer:
        call = asyncio.create_task(peer.call("a"))
        await asyncio.wait_for(api.arrived.wait(), 30)
        call.cancel()
        await asyncio.wait({call})
        if era == "session":
            await asyncio.sleep(0.5)
            assert not api.left.is_set()
            api.ended.set()
        else:
            await asyncio.wait_for(api.left.wait(), 30)
        assert (await peer.call("b")).status_code == 200


@pytest.mark.parametrize("how", ["cancel", "cancel by a string", "end"])
async def test_a_session_cancels_calls(api, how):
    async with peer_of(api.server(), "session") as peer:
        call = asyncio.create_task(peer.call("a"))
        await asyncio.wait_for(api.arrived.wait(), 30)
        if how == "end":
            assert (await peer.end_session()).status_code == 200
        else:
            params = {"requestId": 7 if how == "cancel" else "7"}
            note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            assert (await peer.post(note)).status_code == 202
        response = await call
        later = await peer.call("b")

    assert api.left.is_set()
    assert response.json()["error"] == {"code": -32800, "message": "Request cancelled"}
    assert later.status_code == (404 if how == "end" else 200)


ODD = [
    {"jsonrpc": "2.0", "method": "notifications/cancelled"},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
    {"jsonrpc": "2.0", "id": "openapi-tools-1", "result": {}},
]


@pytest.mark.parametrize("message", ODD)
async def test_messages_about_nothing_are_acknowledged(api, message):
    async with peer_of(api.server(), "session") as peer:
        assert (await peer.post(message)).status_code == 202
        assert (await peer.call("b")).status_code == 200


async def test_a_session_that_is_used_does_not_expire(api):
    async with peer_of(api.server(), "session", session_idle_timeout=0.8) as peer:
        used = [await peer.call("b") for _ in range(20) if await asyncio.sleep(0.1) is None]
        await asyncio.sleep(2)
        expired = [await peer.call("b") for _ in range(2)]

    assert {response.status_code for response in used} == {200}
    assert [response.status_code for response in expired] == [404, 404]


async def test_a_session_is_asked_on_the_stream_of_its_call(api):
    server = api.server(require_approval())
    async with peer_of(server, "session", capabilities=["elicitation"]) as peer:
        async with peer.stream("write") as response:
            parts = response.aiter_bytes()
            question = json.loads((await anext(parts)).rpartition(b"data: ")[2])
            reply = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}
            assert (await peer.post(reply)).status_code == 202
            body = b"".join([part async for part in parts])
        again = await peer.post(reply)
        async with peer.stream("write") as response:
            parts = response.aiter_bytes()
            question = json.loads((await anext(parts)).rpartition(b"data: ")[2])
            error = {"code": -1, "message": "no window"}
            await peer.post({"jsonrpc": "2.0", "id": question["id"], "error": error})
            refused = b"".join([part async for part in parts])
        without_stream = await peer.call("write", accept=JSON)

    assert question["method"] == "elicitation/create"
    assert result_of(body)["structuredContent"] == {"a": 1}
    assert again.status_code == 202
    assert b"write was not approved." in refused
    assert b"needs approval" in without_stream.content


async def test_a_question_that_is_no_longer_open_is_withdrawn(api):
    """The oldest of too many questions is declined, and so are those whose client leaves."""
    server = api.server(require_approval())
    async with peer_of(server, "session", capabilities=["elicitation"]) as peer:
        calls = [asyncio.create_task(peer.call("write", number=n)) for n in range(17)]
        done, pending = await asyncio.wait(calls, timeout=30, return_when=asyncio.FIRST_COMPLETED)
        for call in pending:
            call.cancel()
        await asyncio.wait(calls)

    assert api.requests == []
    body = done.pop().result().content
    question, withdrawal, _ = [
        json.loads(part.partition(b"\r")[0]) for part in body.split(b"data: ")[1:]
    ]
    assert withdrawal["method"] == "notifications/cancelled"
    assert withdrawal["params"] == {"requestId": question["id"]}
    assert b"write was not approved." in body


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
PROGRAM = """
import asyncio
from mcp import Client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from openapi_tools import load_tools
from openapi_tools.contracts.mcp import create_server
server = create_server(load_tools({"openapi": "3.1.0", "paths": {}}))
async def list_tools():
    async with Client(server) as client:
        await client.list_tools()
asyncio.run(list_tools())
spans, tracers = InMemorySpanExporter(), TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(tracers)
asyncio.run(list_tools())
print(*(span.kind.name + " " + span.name for span in spans.get_finished_spans()), sep=", ")
"""


async def test_the_trace_of_a_client_goes_on_to_the_api(era, api):
    async with peer_of(api.server(trace_context=True), era) as peer:
        await peer.call("b", _meta={"traceparent": TRACE})
        await peer.call("b")

    first, second = (request.headers.get("traceparent", "") for request in api.requests)
    assert first.split("-")[1] == TRACE.split("-")[1]
    assert second == ""


@pytest.mark.long
def test_requests_have_spans_once_a_program_wants_them():
    pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "SERVER tools/list" in done.stdout


class Events(EventStore):
    """All events of all streams."""

    def __init__(self):
        self._events = []

    async def store_event(self, stream_id, message):
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id, send_callback):
        stream = self._events[int(last_event_id) - 1][0]
        for number, (name, message) in enumerate(self._events, 1):
            if name == stream and number > int(last_event_id) and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


async def test_a_stream_can_be_resumed_where_events_are_stored():
    letters = "漢" * 200_000  # too large for one event, as a string and an object
    api = Api({"a": letters})
    server = api.server(max_output_chars=300_000)
    async with peer_of(server, "session", event_store=Events()) as peer:
        async with peer.stream("a") as response:
            first = await anext(response.aiter_bytes())
            api.ended.set()
        headers = {**peer.headers, "Last-Event-ID": first.partition(b"\r")[0].split()[1].decode()}
        async with (
            httpx2.AsyncClient(timeout=60) as web,
            web.stream("GET", peer._url, headers=headers) as resumed,
        ):
            body = b""
            async for part in resumed.aiter_bytes():
                body += part
                if b'"result"' in body and body.endswith(b"\r\n\r\n"):
                    break

    assert response.headers["content-type"].startswith(EVENTS)
    assert len(body) < 1024 * 1024
    [event] = [part for part in body.split(b"\r\n\r\n") if b'"result"' in part]
    assert event.startswith(b"id: ")
    result = result_of(event)
    assert json.loads(result["content"][0]["text"]) == {"a": letters}
    assert "structuredContent" not in result


NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/log; worker_processes 1;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://127.0.0.1:{upstream};
            proxy_http_version 1.1; proxy_set_header Host $http_host;
            proxy_set_header Connection ""; proxy_read_timeout 1s;
        }}
    }}
}}
"""


@asynccontextmanager
async def gateway(folder, url):
    """Give the address of nginx, which waits for a second, in front of a server."""
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
    upstream = httpx2.URL(url).port
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, port=port, upstream=upstream))
    process = await asyncio.create_subprocess_exec("nginx", "-p", str(folder), "-c", str(config))
    try:
        for _ in range(100):
            await asyncio.sleep(0.05)
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("progress", [True, False])
async def test_a_slow_call_keeps_its_connection_through_nginx(
    api, mode, progress, tmp_path, monkeypatch
):
    monkeypatch.setattr(mcp_exchange, "_PING_INTERVAL", 0.3)
    notices = []

    async def note(*facts):
        notices.append(facts)

    api.seconds = 3
    async with (
        host_server(api.server()) as url,
        gateway(tmp_path, url) as outer,
        httpx2.AsyncClient(timeout=60) as web,
        Client(streamable_http_client(outer, http_client=web), mode=mode) as client,
    ):
        result = await client.call_tool("a", {}, progress_callback=note if progress else None)

    assert result.structured_content == {"a": 1}
    assert bool(notices) is progress


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
async def test_the_client_of_fastmcp_gets_progress_and_asks_its_user(api, mode, monkeypatch):
    fastmcp = pytest.importorskip("fastmcp", reason="fastmcp is not installed")
    monkeypatch.setattr("openapi_tools.contracts.mcp._FIRST_PROGRESS", 0.01)
    monkeypatch.setattr("openapi_tools.contracts.mcp._PROGRESS_INTERVAL", 0.01)
    notices, asked = [], []

    async def note(*facts):
        notices.append(facts)

    async def ask(message, *_):
        asked.append(message)
        return {}

    api.seconds = 1
    server = api.server(require_approval())
    async with (
        host_server(server) as url,
        fastmcp.Client(url, mode=mode, progress_handler=note, elicitation_handler=ask) as client,
    ):
        slow = await client.call_tool("a", {})
        written = await client.call_tool("write", {})

    assert (slow.structured_content, written.structured_content) == ({"a": 1}, {"a": 1})
    assert notices
    assert asked == ["Call write (POST /b)?"]


async def test_a_client_that_leaves_in_its_body_leaves_no_traceback(caplog):
    body = {"type": "http.request", "body": b'{"jsonrpc"', "more_body": True}
    messages = iter([body, {"type": "http.disconnect"}])
    sent = []

    async def receive():
        return next(messages)

    async def send(message):
        sent.append(message)

    app = Api().server().streamable_http_app()
    headers = [(b"host", b"127.0.0.1:80"), (b"content-type", JSON.encode())]
    headers += [(b"accept", BOTH.encode()), (b"mcp-protocol-version", LEGACY.encode())]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "raw_path": b"/mcp"}
    scope |= {"query_string": b"", "headers": headers, "root_path": "", "scheme": "http"}
    async with app.router.lifespan_context(app):
        await app({**scope, "http_version": "1.1", "client": ("127.0.0.1", 1)}, receive, send)
    assert sent == []
    assert caplog.text == ""
