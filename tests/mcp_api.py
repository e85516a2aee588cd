"""An API for MCP tests: its document, its server on loopback, and a client for every transport."""

import asyncio
import json
import os
import re
import socket
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import uvicorn
from documents import operation
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from servers.recorder import CannedResponse, Recorder, _read_request

from openapi_tools import load_tools, require_approval
from openapi_tools.contracts.mcp import create_server

MODES = ("legacy", "auto")
SCRIPT = Path(sys.executable).with_name("openapi-tools")
COMMAND = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "openapi_tools"]
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")
PARTIES = 5


def _operation(name, *parameters, **fields):
    return operation(operationId=name, parameters=list(parameters), **fields)


def _parameter(name, kind, location="query"):
    return {"name": name, "in": location, "required": location == "path", "schema": {"type": kind}}


DOCUMENT = {
    "openapi": "3.1.1",
    "info": {"title": "Pet API", "version": "7.1"},
    "security": [{}, {"key": []}],
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
    "paths": {
        "/pets/{id}": {
            "get": _operation("get_pet", _parameter("id", "integer", "path"), summary="Get a pet."),
            "put": _operation("put_pet", _parameter("id", "integer", "path")),
            "delete": _operation("delete_pet", _parameter("id", "integer", "path")),
        },
        "/pets": {"get": _operation("list_pets"), "post": _operation("add_pet")},
        "/photo": {"get": _operation("get_photo")},
        "/slow": {"get": _operation("be_slow", _parameter("seconds", "number"))},
        "/meet": {"get": _operation("meet")},
    },
}
RESPONSES = {
    "/pets/1": CannedResponse(body=b'{"id": 1, "name": "Rex", "owner": null}'),
    "/pets/404": CannedResponse(404, body=b'{"message": "no such pet"}'),
    "/pets": CannedResponse(body=b'[{"id": 1}, {"id": 2}]'),
    "/photo": CannedResponse(headers=[("Content-Type", "image/png")], body=PNG),
}


class Api(Recorder):
    """Sends what `RESPONSES` says; `/slow` takes its time, `/meet` waits for `PARTIES` callers.

    `arrived` is set when a request for `/slow` has come, `left` when its client hangs up.
    """

    def __init__(self):
        super().__init__()
        self.left = asyncio.Event()
        self.arrived = asyncio.Event()
        self.meeting = asyncio.Barrier(PARTIES)

    async def _serve_peer(self, peer):
        while True:
            request = await _read_request(peer._reader)
            self.requests.append(request)
            path, _, query = request.target.partition("?")
            slow = path == "/slow"
            if slow and not await self._wait(peer._reader, float(query.partition("=")[2])):
                return
            if path == "/meet":
                await self.meeting.wait()
            await peer.write(RESPONSES.get(path, CannedResponse()).to_bytes())

    async def _wait(self, reader, seconds):
        """Wait, and tell whether the client still does."""
        self.arrived.set()
        gone = asyncio.create_task(reader.read(1))
        done, _ = await asyncio.wait({gone}, timeout=seconds)
        if done:
            self.left.set()
            return False
        gone.cancel()
        await asyncio.wait({gone})
        return True


class Person:
    """A client's user, who gives one answer to each question, perhaps after something happened."""

    def __init__(self, action="accept", *, before=lambda: None):
        self.asked = []
        self._action, self._before = action, before

    async def __call__(self, _, params):
        assert params.requested_schema == {"type": "object", "properties": {}}
        self._before()
        self.asked.append(params.message)
        return types.ElicitResult(action=self._action)


@asynccontextmanager
async def connect_client(
    transport, mode, api, folder, *, ask=False, serve="tools", sessions=False, **options
):
    """Give a client of a server of `DOCUMENT`; with `ask`, calls that write need approval.

    The tools are offered in the mode `serve` of `openapi-tools serve`. With `sessions` a client of
    an older version has one over HTTP, too.
    """
    if transport == "memory":
        async with load_tools(DOCUMENT, base_url=api.url, show_changes=False) as toolset:
            if ask:
                toolset.add_input_guardrails([require_approval()])
            ways = {"search": toolset.meta_tools, "code": toolset.code_tools}
            offered = ways[serve]() if serve in ways else toolset
            async with Client(create_server(offered), mode=mode, **options) as client:
                yield client
        return
    args = [
        write_document(folder),
        "--base-url",
        api.url,
        "--mode",
        serve,
        *(["--ask"] if ask else []),
    ]
    args += ["--set", "show_changes=false"]
    if transport == "http" and mode == "legacy" and sessions:
        args += ["--no-stateless"]
    if transport == "stdio":
        command, *arguments = [*COMMAND, "serve", *args]
        run = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
        with (folder / "errors.txt").open("w") as errors:
            async with Client(stdio_client(run, errors), mode=mode, **options) as client:
                yield client
        return
    async with serve_process(*args) as url, httpx2.AsyncClient(timeout=60) as http:
        place = streamable_http_client(url, http_client=http)
        async with Client(place, mode=mode, **options) as client:
            yield client


def write_document(folder, document=None):
    """Write a document, `DOCUMENT` by default, and return where it stands."""
    path = folder / "openapi.json"
    path.write_text(json.dumps(document or DOCUMENT))
    return str(path)


@asynccontextmanager
async def serve_process(*args, env=None):
    """Give the address at which `openapi-tools serve` serves over HTTP."""
    process = await asyncio.create_subprocess_exec(
        *(*COMMAND, "serve", *args, "--transport", "http", "--port", "0"),
        env={**os.environ, **(env or {})},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        line = (await process.stderr.readline()).decode()
        yield re.search(r"http://\S+", line)[0]
    finally:
        process.terminate()
        await process.communicate()
    assert process.returncode == 0


@asynccontextmanager
async def host_server(server, **options):
    """Give the address of a server's own app, with these options, in this process."""
    app = server.streamable_http_app(**options)
    web = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
    with socket.create_server(("127.0.0.1", 0)) as place:
        serving = asyncio.create_task(web.serve(sockets=[place]))
        try:
            yield f"http://127.0.0.1:{place.getsockname()[1]}/mcp"
        finally:
            web.should_exit = True
            await serving


@asynccontextmanager
async def client_of(server, mode, **options):
    """Give a client of a server, over HTTP in this process; the options are the transport's."""
    async with host_server(server) as url, httpx2.AsyncClient(timeout=60) as web:
        place = streamable_http_client(url, http_client=web, **options)
        async with Client(place, mode=mode) as client:
            yield client


def texts(result):
    """Return the texts of a result."""
    return [content.text for content in result.content if content.type == "text"]
