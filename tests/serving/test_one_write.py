"""Clients that are cut off between request and response, and send the write again with its key."""

import asyncio
import json
import random

import httpx2
import pytest

pytest.importorskip("mcp", reason="mcp is not installed")
pytest.importorskip("joserfc", reason="the extra serve is not installed")

from team_servers import process_of, write_configuration

pytestmark = pytest.mark.long

RUNS = 200
AT_ONCE = 8
VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol"
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": VERSION,
    "Mcp-Method": "tools/call",
    "Mcp-Name": "write",
}


def request_of(key):
    """Return the body of a call of the tool `write` with a key."""
    meta = {
        f"{PREFIX}/protocolVersion": VERSION,
        f"{PREFIX}/clientInfo": {"name": "test", "version": "1"},
        f"{PREFIX}/clientCapabilities": {},
        "openapi-tools/idempotency-key": key,
    }
    params = {"name": "write", "arguments": {"n": key}, "_meta": meta}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(call).encode()


async def cut_off(url, key, seconds):
    """Send a call on a connection of its own, and close that after so many seconds."""
    parts = httpx2.URL(url)
    _, writer = await asyncio.open_connection(parts.host, parts.port)
    body = request_of(key)
    lines = [f"POST {parts.path} HTTP/1.1", f"Host: {parts.host}:{parts.port}"]
    lines += [f"{name}: {value}" for name, value in HEADERS.items()]
    lines += [f"Content-Length: {len(body)}", "", ""]
    writer.write("\r\n".join(lines).encode() + body)
    await writer.drain()
    await asyncio.sleep(seconds)
    writer.transport.abort()


async def repeat_call(http, url, key):
    """Return the result of a call."""
    response = await http.post(url, content=request_of(key), headers=HEADERS)
    text = response.text
    data = text.partition("data: ")[2].splitlines()[0] if text.startswith("event") else text
    return json.loads(data)["result"]


async def write_once(http, url, number):
    """Send a write that is cut off, then again, and return its result."""
    key = f"key-{number}"
    await cut_off(url, key, random.Random(number).uniform(0, 0.1))
    return await repeat_call(http, url, key)


@pytest.mark.parametrize("workers", [1, 2])
async def test_the_api_sees_each_write_once(workers, api, tmp_path, redis_server):
    api.delay = 0.05
    serve = f'port = 0\nworkers = {workers}\nmode = "tools"'
    if workers > 1:
        serve += f'\nredis = "{redis_server.url}"'
    config = write_configuration(tmp_path, serve, api=api.document)
    async with process_of(config) as server:
        url = (await server.line(r"serving 2 tools .* at (http://\S+)"))[1]
        async with httpx2.AsyncClient(timeout=60) as http:
            results = []
            for start in range(0, RUNS, AT_ONCE):
                numbers = range(start, start + AT_ONCE)
                results += await asyncio.gather(*(write_once(http, url, n) for n in numbers))

    targets = [f"/things?n=key-{number}" for number in range(RUNS)]
    assert [result["structuredContent"] for result in results] == [{"target": t} for t in targets]
    assert sorted(api.targets) == sorted(targets)
