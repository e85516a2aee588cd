"""Bad clients over HTTP: each is bounded, and leaves nothing behind."""

import asyncio
import json
import socket

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp_api import DOCUMENT, Api
from starlette.responses import PlainTextResponse
from team_servers import client_of, host_team, write_configuration

from openapi_tools.serving import team_server, web_server

HEAD = (
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    "Accept: application/json, text/event-stream\r\n"
)
LIMITS = "[serve.limits]\nbody_bytes = 2000\nbody_seconds = 0.5\nidle_seconds = 0.5\n"


@pytest.fixture
async def api():
    async with Api() as running:
        yield running


def config_of(tmp_path, api, limits=LIMITS):
    (tmp_path / "pets.json").write_text(json.dumps(DOCUMENT))
    table = f'source = "pets.json"\nbase_url = "{api.url}"'
    return write_configuration(tmp_path, limits, pets=table)


async def talk(server, *sent, wait=20):
    """Send bytes, and return all that comes until the server closes the connection."""
    port = int(server.address.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in sent:
            writer.write(part.replace(b"{port}", b"%d" % port))
            await writer.drain()
        return await asyncio.wait_for(reader.read(), wait)
    except ConnectionError:
        return b"reset"
    finally:
        writer.close()


async def wait_until(is_true):
    """Wait for what uvicorn tells in no other way."""
    async with asyncio.timeout(20):
        while not is_true():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def make_chunk(size):
    return b"%x\r\n%s\r\n" % (size, b"a" * size)


async def test_the_head_and_the_body_of_a_response_are_one_packet(api, tmp_path):
    async with host_team(config_of(tmp_path, api, "")) as server:
        port = int(server.address.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(5):
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
            assert (await reader.read(65536)).endswith(b"\r\n\r\nok")
        writer.close()


async def test_a_large_response_arrives_whole_though_it_is_read_slowly(api, tmp_path, monkeypatch):
    """More than the kernel's buffers hold, on a connection that is then closed."""
    text = b"x" * 20_000_000

    async def respond(_, request):
        return PlainTextResponse(text)

    monkeypatch.setattr(team_server.WebServer, "_respond_health", respond)
    async with host_team(config_of(tmp_path, api, "")) as server:
        head = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
        response = await talk(server, head)

    assert response.partition(b"\r\n\r\n")[2] == text


LARGE = {
    "declared": (HEAD + "Content-Length: 9999999999\r\n\r\n", b""),
    "sent in chunks": (HEAD + "Transfer-Encoding: chunked\r\n\r\n", make_chunk(1500) * 2),
}


@pytest.mark.parametrize("case", LARGE)
async def test_a_large_body_is_refused(case, api, tmp_path):
    head, body = LARGE[case]
    async with host_team(config_of(tmp_path, api)) as server:
        response = await talk(server, head.encode(), body)

    assert response.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in response.lower()


async def test_a_slow_body_is_refused(api, tmp_path):
    head = HEAD + "Content-Length: 1000\r\n\r\n{"
    async with host_team(config_of(tmp_path, api)) as server:
        response = await talk(server, head.encode())

    assert response.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    "sent", ["", "GET /healthz HTT", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"]
)
async def test_a_connection_without_a_whole_request_is_closed(sent, api, tmp_path):
    async with host_team(config_of(tmp_path, api)) as server:
        assert await talk(server, sent.encode()) == b""


async def test_a_connection_that_goes_on_slowly_after_a_response_is_closed(api, tmp_path):
    whole = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    async with host_team(config_of(tmp_path, api)) as server:
        response = await talk(server, whole, b"GET /healthz HTTP/1.1\r\nHo")

    assert response.startswith(b"HTTP/1.1 200 ")
    assert response.count(b"HTTP/1.1") == 1


def test_a_response_in_two_writes_does_not_wait_for_an_acknowledgement():
    with (
        web_server.open_socket("127.0.0.1", 0) as place,
        socket.create_connection(place.getsockname()),
        place.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_many_idle_connections_are_closed_and_clients_are_served_after_them(api, tmp_path):
    async with host_team(config_of(tmp_path, api)) as server:
        idle = await asyncio.gather(*(talk(server) for _ in range(200)))
        async with client_of(server.url) as client:
            assert (await client.list_tools()).tools
        connections = len(server.web.server_state.connections)

    assert set(idle) <= {b"", b"reset"}
    assert connections <= 1


WHOLE = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "sent", ["", "GET /healthz HTT", HEAD + "Content-Length: 1000\r\n\r\n{"],
    ids=["nothing", "half a head", "half a body"],
)  # fmt: skip
async def test_the_oldest_connection_without_a_request_closes_for_a_new_one(sent, api, tmp_path):
    limits = "[serve.limits]\nconnections = 5\n"
    async with host_team(config_of(tmp_path, api, limits)) as server:
        connections = server.web.server_state.connections
        idle = []
        for number in range(5):
            idle.append(asyncio.create_task(talk(server, sent.encode())))
            await wait_until(lambda: len(connections) > number)  # noqa: B023
        response = await talk(server, WHOLE)
        closed = await idle[0]
        is_open = [not task.done() for task in idle[1:]]
        for task in idle[1:]:
            task.cancel()
        await asyncio.wait(idle)

    assert response.startswith(b"HTTP/1.1 200 ")
    assert closed in (b"", b"reset")
    assert is_open == [True] * 4


async def test_many_connections_without_a_request_keep_nobody_out(api, tmp_path):
    limits = "[serve.limits]\nconnections = 20\n"
    async with host_team(config_of(tmp_path, api, limits)) as server:
        flood = [asyncio.create_task(talk(server)) for _ in range(100)]
        async with client_of(server.url) as client:
            assert (await client.list_tools()).tools
            flood += [asyncio.create_task(talk(server)) for _ in range(100)]
            result = await client.call_tool("list_pets", {})
        most = len(server.web.server_state.connections)
        for task in flood:
            task.cancel()
        await asyncio.wait(flood)

    assert not result.is_error
    assert most <= 20


async def test_no_call_that_runs_ends_for_a_new_connection(api, tmp_path):
    limits = "[serve.limits]\nconnections = 3\n"
    async with host_team(config_of(tmp_path, api, limits)) as server:
        calls = [asyncio.create_task(talk(server, call_request("auto"))) for _ in range(3)]
        await wait_until(lambda: len(server.web.server_state.tasks) == 3)
        await asyncio.wait_for(api.arrived.wait(), 20)
        refused = [await talk(server, WHOLE) for _ in range(3)]
        are_running = [not call.done() for call in calls]
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        await wait_until(lambda: not server.web.server_state.connections)
        response = await talk(server, WHOLE)

    assert [reply[:13] for reply in refused] == [b"HTTP/1.1 503 "] * 3
    assert are_running == [True] * 3
    assert response.startswith(b"HTTP/1.1 200 ")


CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "be_slow", "arguments": {"seconds": 60}},
}
VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def call_request(mode):
    call = json.loads(json.dumps(CALL))
    head = HEAD
    if mode == "auto":
        call["params"]["_meta"] = META
        head += (
            f"MCP-Protocol-Version: {VERSION}\r\nMcp-Method: tools/call\r\nMcp-Name: be_slow\r\n"
        )
    body = json.dumps(call)
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_that_leaves_in_the_middle_ends_its_call_and_leaves_nothing(
    mode, api, tmp_path
):
    async with host_team(config_of(tmp_path, api, "")) as server:
        port = int(server.address.rpartition(":")[2])
        tasks = []
        for _ in range(3):
            api.arrived.clear()
            api.left.clear()
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(call_request(mode).replace(b"{port}", b"%d" % port))
            await asyncio.wait_for(api.arrived.wait(), 20)
            writer.transport.abort()
            await asyncio.wait_for(api.left.wait(), 20)
            await wait_until(lambda: not server.web.server_state.tasks)
            tasks.append(len(asyncio.all_tasks()))
        connections = len(server.web.server_state.connections)

    assert connections == 0
    assert tasks[0] == tasks[2]


async def test_a_client_that_reads_no_response_is_cut_off(api, tmp_path):
    """Its responses would fill the memory; the list of tools is long enough to fill the socket."""
    many = {
        f"/a{n}": {"get": {"operationId": f"a{n}", "description": "word " * 180, "responses": {}}}
        for n in range(100)
    }
    (tmp_path / "pets.json").write_text(json.dumps({**DOCUMENT, "paths": many}))
    keys = f'mode = "tools"\n{LIMITS}'
    config = write_configuration(
        tmp_path, keys, pets='source = "pets.json"\nbase_url = "http://127.0.0.1:9"'
    )
    whole = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    request = f"{HEAD}Content-Length: {len(whole)}\r\n\r\n{whole}"
    async with host_team(config) as server:
        port = int(server.address.rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.transport.pause_reading()
        for _ in range(200):
            writer.write(request.replace("{port}", str(port)).encode())
        await wait_until(lambda: server.web.server_state.connections)
        await wait_until(lambda: not server.web.server_state.connections)
        writer.transport.abort()
