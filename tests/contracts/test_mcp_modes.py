"""A large API over MCP: what clients do with the few tools of the modes `search` and `code`."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_api import (
    COMMAND,
    MODES,
    Api,
    Person,
    connect_client,
    serve_process,
    texts,
    write_document,
)

WAYS = [
    *(("memory", mode) for mode in MODES),
    pytest.param("stdio", "legacy", marks=pytest.mark.long),
    pytest.param("http", "auto", marks=pytest.mark.long),
]


@pytest.fixture
async def api():
    """The API on loopback."""
    async with Api() as running:
        yield running


@pytest.mark.parametrize(("transport", "mode"), WAYS)
async def test_a_client_finds_looks_at_and_calls_tools(transport, mode, api, tmp_path):
    person = Person()
    options = {"ask": True, "serve": "search", "elicitation_callback": person}
    async with connect_client(transport, mode, api, tmp_path, **options) as client:

        async def call(name, **arguments):
            parameters = {"name": name, "arguments": arguments}
            result = await client.call_tool("call_tool", parameters)
            return result.is_error, texts(result)[0]

        names = [tool.name for tool in (await client.list_tools()).tools]
        info = client.server_info
        hits = await client.call_tool("search_tools", {"query": "get one pet\nremove a pet"})
        description = await client.call_tool("describe_tools", {"names": ["delete_pet"]})
        unknown, wrong = await call("get_pets"), await call("get_pet", id="one")
        right, failed = await call("get_pet", id=1), await call("get_pet", id=404)
        deleted = await call("delete_pet", id=1)
        with pytest.raises(MCPError, match="no tool is called 'get_pet'"):
            await client.call_tool("get_pet", {"id": 1})

    assert names == ["search_tools", "describe_tools", "call_tool"]
    assert (info.name, info.version) == ("Pet API", "7.1")
    assert "get_pet(id: int)" in texts(hits)[0]
    assert texts(description)[0].startswith("delete_pet: DELETE /pets/{id}\n")
    assert unknown[0]
    assert "did you mean get_pet" in unknown[1]
    assert wrong[0]
    assert wrong[1].startswith("/id: expected an integer, got 'one'")
    assert right == (False, '{"id":1,"name":"Rex","owner":null}')
    assert failed[0]
    assert "no such pet" in failed[1]
    assert not deleted[0]
    assert person.asked == ['Call delete_pet (DELETE /pets/{id})?\n  "id": 1']
    sent = [(request.method, request.target) for request in api.requests]
    assert sent == [("GET", "/pets/1"), ("GET", "/pets/404"), ("DELETE", "/pets/1")]


@pytest.mark.parametrize(("transport", "mode"), WAYS)
async def test_a_client_runs_programs(transport, mode, api, tmp_path):
    person = Person()
    options = {"ask": True, "serve": "code", "elicitation_callback": person}
    async with connect_client(transport, mode, api, tmp_path, **options) as client:

        async def run(*lines):
            result = await client.call_tool("run_code", {"code": "\n".join(lines)})
            return result.is_error, texts(result)[0]

        names = [tool.name for tool in (await client.list_tools()).tools]
        hits = await client.call_tool("search", {"query": "get one pet"})
        wrong = await run("await get_pet(id='one')")
        right = await run("print('seen')", "pet = await get_pet(id=1)", "pet['name']")
        failed = await run("await get_pet(id=404)")
        written = await run(
            "import asyncio",
            "await add_pet()",
            "await asyncio.gather(put_pet(id=1), put_pet(id=2))",
            "await add_pet()",
            "'done'",
        )

    assert names == ["search", "run_code"]
    assert "get_pet(id: int)" in texts(hits)[0]
    assert wrong[0]
    assert wrong[1].startswith("Line 1: id='one': ")
    assert "Expected int" in wrong[1]
    assert right == (False, '{"result":"Rex","printed":"seen\\n"}')
    assert failed[0]
    assert "404" in failed[1]
    assert "no such pet" in failed[1]
    assert written == (False, "done")
    first, last = "Call add_pet (POST /pets)?", "Call put_pet (PUT /pets/{id})?\n"
    assert [person.asked[0], person.asked[-1]] == [first, first]
    assert sorted(person.asked[1:-1]) == [f'{last}  "id": {number}' for number in (1, 2)]
    # Each once, although a stateless client sends the program again with each answer.
    sent = [(request.method, request.target) for request in api.requests[2:]]
    assert [sent[0], sent[-1]] == [("POST", "/pets")] * 2
    assert sorted(sent[1:-1]) == [("PUT", "/pets/1"), ("PUT", "/pets/2")]


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
async def test_clients_of_a_server_do_not_see_the_variables_of_others(mode, api, tmp_path):
    args = [write_document(tmp_path), "--base-url", api.url, "--mode", "code", "--no-stateless"]

    async def run(client, code):
        result = await client.call_tool("run_code", {"code": code})
        return texts(result)[0]

    async with serve_process(*args) as url, httpx2.AsyncClient(timeout=60) as web:
        place = streamable_http_client(url, http_client=web)
        other = streamable_http_client(url, http_client=web)
        async with Client(place, mode=mode) as one, Client(other, mode=mode) as two:
            await asyncio.gather(run(one, "mine = 'first'"), run(two, "mine = 'second'"))
            await run(one, "secret = 1")
            results = await asyncio.gather(run(one, "mine"), run(two, "mine"))
            foreign = await run(two, "secret")

    unknown = "Line 1: NameError: name 'mine' is not defined."
    # Nothing tells stateless clients apart, so their programs share nothing.
    assert results == (["first", "second"] if mode == "legacy" else [unknown] * 2)
    assert "name 'secret' is not defined" in foreign


@pytest.mark.long
@pytest.mark.parametrize(
    ("end", "program"),
    [
        ("SIGINT", "await be_slow(seconds=60)"),
        ("SIGTERM", "await be_slow(seconds=0)\nwhile 1:\n  0"),
        ("closed input", "await be_slow(seconds=0)\nwhile 1:\n  0"),
    ],
)
async def test_the_end_of_a_server_ends_its_programs(end, program, api, tmp_path):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
    args = ["serve", write_document(tmp_path), "--base-url", api.url, "--mode", "code"]
    process = await asyncio.create_subprocess_exec(*COMMAND, *args, **pipes)
    who = {"protocolVersion": "2025-11-25", "capabilities": {}}
    who["clientInfo"] = {"name": "t", "version": "1"}
    messages = [
        {"id": 1, "method": "initialize", "params": who},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call"},
    ]
    messages[2]["params"] = {"name": "run_code", "arguments": {"code": program}}
    for message in messages:
        process.stdin.write(f"{json.dumps({'jsonrpc': '2.0', **message})}\n".encode())
    await asyncio.wait_for(api.arrived.wait(), 30)
    workers = find_children(process.pid)

    if end == "closed input":
        process.stdin.close()
    else:
        process.send_signal(signal.Signals[end])

    assert await asyncio.wait_for(process.wait(), 30) == (130 if end == "SIGINT" else 0)
    errors = (await process.stderr.read()).decode()
    assert errors == "serving 8 tools (0 operations skipped) in mode code over stdio.\n"
    assert workers
    for _ in range(20):
        if not alive(workers):
            break
        await asyncio.sleep(0.1)
    assert alive(workers) == []


def alive(processes):
    """Return the processes that have not ended."""
    return [each for each in processes if Path(f"/proc/{each}").exists()]


def find_children(process):
    """Return the processes that a process has started."""
    listed = Path(f"/proc/{process}/task").glob("*/children")
    return [int(number) for file in listed for number in file.read_text().split()]
