"""`openapi-tools serve`, with the client of the package `mcp` and with raw messages."""

import asyncio
import http.client
import json
import re
import signal
import threading
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from openapi_tools.errors import install_command

pytest.importorskip("mcp", reason="mcp is not installed")

import httpx2
import uvicorn
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_api import COMMAND, DOCUMENT, MODES, Api, serve_process, write_document

from openapi_tools import load_tools
from openapi_tools.contracts.mcp import create_server

SECRET = "s3cr3t-t0k3n-value"
CALLER = "Bearer the-token-of-the-caller"
TOKEN = "$PET_KEY"
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ACCEPTED = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture
async def api():
    async with Api() as running:
        yield running


def lines(*messages):
    return "".join(f"{json.dumps(message)}\n" for message in messages)


def request(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


WHO = {"name": "t", "version": "1"}
FIRST = request(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=WHO)


async def start_server(*args):
    """Return a server that speaks on standard input and output."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
    return await asyncio.create_subprocess_exec(*COMMAND, "serve", *args, **pipes)


async def wait_for_end(process):
    """Return the exit code of a process, and what it last said on standard error."""
    errors = await asyncio.wait_for(process.stderr.read(), 30)
    return await asyncio.wait_for(process.wait(), 30), errors.decode()


async def test_one_client_is_served_on_standard_input_and_output_whatever_else_it_says(museum):
    process = await start_server(str(museum), "--tag", "Events")
    odd = "hello\n[]\n\n\x00\n"

    process.stdin.write((odd + lines(FIRST, READY, request(2, "tools/list"))).encode())
    messages = [json.loads(await process.stdout.readline()) for _ in range(2)]
    process.stdin.close()

    assert [message["id"] for message in messages] == [1, 2]
    assert messages[0]["result"]["serverInfo"]["name"] == "Redocly Museum API"
    names = [tool["name"] for tool in messages[1]["result"]["tools"]]
    assert ["special_event" in name for name in names] == [True] * 5
    code, errors = await wait_for_end(process)
    assert code == 0
    assert errors.startswith("serving 5 tools (0 operations skipped) over stdio.\n")
    assert "Traceback" not in errors
    assert await process.stdout.read() == b""


def test_a_client_that_leaves_at_once_is_no_failure_and_warnings_go_to_standard_error(run, write):
    schema = {"type": "integer", "minimum": "x"}
    document = write(
        {"/a": {"get": {"parameters": [{"name": "q", "in": "query", "schema": schema}]}}}
    )

    result = run("serve", document, stdin="")

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("warning: ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tag", "nothing"], "no tool has the tag 'nothing'"),
        (["--transport", "smoke"], "'smoke' is not one of"),
        (["--port", "70000"], "70000 is not in the range"),
        (["--credential", f"key={SECRET}"], "does not name an environment variable"),
        (["--base-url", "localhost:8000"], "did you mean 'http://localhost:8000'?"),
        (["--allow-host", "a.example.com"], "--allow-host is only for http; add --transport http."),
        (["--max-sessions", "9"], "--max-sessions is only for http; add --transport http."),
        (["--transport", "stdio", "--port", "1"], "--port is only for http; add --transport http."),
        (["--transport", "http", "--host", "", "--port", "0"], "--host is empty"),
        (["--transport", "http", "--host", "0.0.0.0"], "or add --insecure to let everyone call."),
        (["--transport", "http", "--host", "::"], "listen on 127.0.0.1, configure [serve.auth]"),
        (["--transport", "http", "--workers", "2"], "--workers needs a configuration with"),
        (["--strict"], "--strict needs a configuration with tables [apis.NAME]."),
        (["--no-stateless"], "--stateless is only for http; add --transport http."),
    ],
)
def test_wrong_usage_is_distinguished_from_a_failure(refused, museum, options, message):
    assert SECRET not in refused("serve", museum, *options, messages=[message])


APIS = [
    (["--bearer", "$PET_KEY"], "--bearer is for one document; set it in a table [apis.NAME]."),
    (["--tag", "a"], "--tag is for one document; set it in a table"),
    (["--strict"], "--strict: an API cannot be served: gone: "),
    (["--host", "0.0.0.0"], "or add --insecure to let everyone call."),
    (["--workers", "999"], "serve: workers: input should be less than or equal to 256."),
    (["--transport", "stdio", "--workers", "2"], "--workers is only for http"),
]


@pytest.mark.parametrize(("options", "message"), APIS)
def test_wrong_usage_with_several_apis_is_reported(refused, museum, tmp_path, options, message):
    config = tmp_path / "openapi-tools.toml"
    museum = f'[apis.museum]\nsource = "{museum}"'
    config.write_text(f'[serve]\n{museum}\n[apis.gone]\nsource = "x.json"')

    refused("serve", "--config", config, *options, messages=[message], env={"PET_KEY": SECRET})


def many(count, **fields):
    return {f"/a{n}": {"get": {"operationId": f"a{n}", **fields}} for n in range(count)}


MANY = "129 tools exceed the limit of 128 that providers accept; --mode tools offers each tool."
LONG = "the definitions of these tools take more than 20,000 tokens; --mode tools offers each tool."
WORDS = {"parameters": [
    {"name": f"q{n}", "in": "query", "description": "word " * 40, "schema": {"type": "string"}}
    for n in range(20)
]}  # fmt: skip
DECISIONS = {
    "few tools": (many(128), [], "", None),
    "more than providers take": (many(129), [], " in mode code", MANY),
    "selected ones": (many(129), ["--match", "a1*"], "", None),
    "all, as the user says": (many(129), ["--mode", "tools"], "", None),
    "few and large ones": (many(40, **WORDS), [], " in mode code", LONG),
    "search, as the user says": (many(1), ["--mode", "search"], " in mode search", None),
    "code, as the user says": (many(1), ["--mode", "code"], " in mode code", None),
}


@pytest.mark.parametrize("decision", DECISIONS)
def test_many_or_large_tools_are_served_by_a_few_and_this_is_reported(run, write, decision):
    paths, options, mode, why = DECISIONS[decision]

    result = run("serve", write(paths), *options, stdin="")

    first, *reasons = result.stderr.splitlines()
    assert (result.exit_code, result.stdout) == (0, "")
    assert re.fullmatch(rf"serving \d+ tools? \(0 operations skipped\){mode} over stdio.", first)
    assert reasons == ([] if why is None else [why])


@pytest.mark.usefixtures("without_code")
def test_many_tools_are_searched_where_programs_cannot_run(run, write):
    result = run("serve", write(many(129)), stdin="")

    first, second = result.stderr.splitlines()
    assert first == "serving 129 tools (0 operations skipped) in mode search over stdio."
    hint = f"mode code needs more: pydantic_monty is not installed: {install_command('code')}"
    assert second == MANY.replace("accept; ", f"accept; {hint}; ")


@pytest.mark.usefixtures("without_code")
def test_programs_that_cannot_run_are_wrong_usage(refused, museum):
    assert refused("serve", museum, "--mode", "code") == (
        f"openapi-tools: error: pydantic_monty is not installed: {install_command('code')}\n"
    )


@pytest.mark.parametrize(
    ("host", "note"),
    [
        ("127.0.0.1", ""),
        pytest.param("localhost", "", marks=pytest.mark.long),
        pytest.param("127.0.0.2", "", marks=pytest.mark.long),
        ("0.0.0.0", "warning: everyone who reaches this "),
    ],
)
def test_many_clients_are_served_over_http(run, museum, monkeypatch, host, note):
    statuses = []

    async def serve(web, sockets):
        threading.Thread(target=ask, args=(web, sockets[0].getsockname()[1])).start()
        await original(web, sockets=sockets)

    def ask(web, port):
        while not web.started:
            pass
        statuses.append(post(host, port, **({"Host": f"localhost:{port}"} if note else {})))
        web.should_exit = True

    original = uvicorn.Server.serve
    monkeypatch.setattr(uvicorn.Server, "serve", serve)
    options = ["--host", host, *(["--insecure"] if note else [])]
    result = run("serve", museum, "--transport", "http", "--port", 0, *options)

    assert result.exit_code == 0, result.output
    assert statuses == [200]
    first, *notes = result.stderr.splitlines()
    assert first.startswith(f"serving 8 tools (0 operations skipped) at http://{host}:")
    assert first.endswith("/mcp")
    assert " ".join(notes).startswith(note)
    assert bool(notes) is bool(note)
    assert result.stdout == ""


def post(host, port, **headers):
    """Return the status of a first message that is posted with these headers."""
    connection = http.client.HTTPConnection(host, port, timeout=30)
    connection.request("POST", "/mcp", json.dumps(FIRST), {**ACCEPTED, **headers})
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.long
async def test_a_web_page_cannot_reach_the_server_by_a_name_of_its_own(museum):
    async with serve_process(str(museum), "--allow-host", "tools.example.com") as url:
        place = urlsplit(url)

        async def status(**headers):
            return await asyncio.to_thread(post, place.hostname, place.port, **headers)

        local = f"localhost:{place.port}"
        assert await status() == 200
        for host in (local, "tools.example.com", "tools.example.com:443"):
            assert await status(Host=host) == 200
        for host in ("evil.example.com", "127.0.0.1.evil.example.com"):
            assert await status(Host=f"{host}:{place.port}") == 421
        for origin in ("https://evil.example.com", "null", "http://localhost:3000"):
            assert await status(Origin=origin) == 403
        for origin in (f"http://{local}", "https://tools.example.com"):
            assert await status(Origin=origin) == 200


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
async def test_the_api_gets_the_credential_of_the_server_alone(mode, api, tmp_path):
    args = [write_document(tmp_path), "--base-url", api.url, "--credential", f"key={TOKEN}"]
    headers = {"Authorization": CALLER, "X-Key": "mine", "Cookie": "a=b", "X-Trace": "t"}
    async with (
        serve_process(*args, env={"PET_KEY": SECRET}) as url,
        httpx2.AsyncClient(headers=headers, timeout=60) as web,
        Client(streamable_http_client(url, http_client=web), mode=mode) as client,
    ):
        result = await client.call_tool("get_pet", {"id": 1})

    (seen,) = api.requests
    assert not result.is_error
    assert seen.header("X-Key") == SECRET
    assert CALLER.encode() not in seen.raw
    assert [seen.header(name) for name in ("Authorization", "Cookie", "X-Trace")] == [None] * 3
    assert SECRET not in repr(result)


@pytest.mark.long
async def test_no_more_sessions_are_open_than_allowed(api, tmp_path):
    args = [
        write_document(tmp_path),
        "--base-url",
        api.url,
        "--no-stateless",
        "--max-sessions",
        "2",
    ]
    async with serve_process(*args) as url, httpx2.AsyncClient(timeout=60, headers=ACCEPTED) as web:
        opened = [await web.post(url, content=lines(FIRST)) for _ in range(3)]
        session = {"Mcp-Session-Id": opened[0].headers["Mcp-Session-Id"]}
        left = await web.delete(url, headers=session)
        again = await web.post(url, content=lines(FIRST))

    assert [response.status_code for response in opened] == [200, 200, 503]
    assert "Too many open sessions" in opened[2].text
    assert (left.status_code, again.status_code) == (200, 200)


@pytest.mark.parametrize(("options", "allowed"), [({}, 300), ({"max_sessions": 7}, 7)])
def test_the_app_of_a_server_bounds_sessions_by_default(options, allowed):
    server = create_server(load_tools(DOCUMENT))
    server.streamable_http_app(**options)

    assert server.session_manager.max_sessions == allowed


EXIT_CODES = {"SIGINT": 130, "SIGTERM": 0, "closed input": 0}


@pytest.mark.long
@pytest.mark.parametrize("end", EXIT_CODES)
async def test_the_end_of_stdio_ends_the_call_that_is_under_way(end, api, tmp_path):
    process = await start_server(write_document(tmp_path), "--base-url", api.url)
    call = request(2, "tools/call", name="be_slow", arguments={"seconds": 60})
    process.stdin.write(lines(FIRST, READY, call).encode())
    await asyncio.wait_for(api.arrived.wait(), 30)

    if end == "closed input":
        process.stdin.close()
    else:
        process.send_signal(signal.Signals[end])

    assert await wait_for_end(process) == (
        EXIT_CODES[end],
        "serving 8 tools (0 operations skipped) over stdio.\n",
    )
    await asyncio.wait_for(api.left.wait(), 30)


async def test_a_client_that_died_leaves_no_traceback(tmp_path):
    process = await start_server(write_document(tmp_path))
    process.stdin.write(lines(FIRST, READY).encode())
    await process.stdout.readline()
    process._transport.get_pipe_transport(1).close()

    process.stdin.write(lines(request(2, "tools/list")).encode())
    await process.stdin.drain()
    process.stdin.close()

    assert await wait_for_end(process) == (
        0,
        "serving 8 tools (0 operations skipped) over stdio.\n",
    )


@pytest.mark.long
@pytest.mark.parametrize(("number", "mode"), [*zip(["SIGINT", "SIGTERM"], MODES, strict=True)])
async def test_a_signal_ends_http_with_a_client_that_is_connected(number, mode, api, tmp_path):
    http_options = ("--transport", "http", "--port", "0")
    process = await start_server(write_document(tmp_path), "--base-url", api.url, *http_options)
    url = (await process.stderr.readline()).decode().split()[-1]
    async with (
        httpx2.AsyncClient(timeout=60) as web,
        Client(streamable_http_client(url, http_client=web), mode=mode) as client,
    ):
        call = asyncio.create_task(client.call_tool("be_slow", {"seconds": 60}))
        await asyncio.wait_for(api.arrived.wait(), 30)

        process.send_signal(signal.Signals[number])

        assert await wait_for_end(process) == (EXIT_CODES[number], "")
        with suppress(MCPError):
            await call
    await asyncio.wait_for(api.left.wait(), 30)
