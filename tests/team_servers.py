"""Servers of several APIs for tests: their configuration, in this process or in processes."""

import asyncio
import json
import os
import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import documents
import httpx2
import uvicorn
from documents import operation
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from openapi_tools.serving import team_server, web_server

SCRIPT = Path(sys.executable).with_name("openapi-tools")
COMMAND = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "openapi_tools"]


def document(title, *names, **fields):
    """Return a document with a GET operation for each name, and a key in a header."""
    key = {"type": "apiKey", "in": "header", "name": "X-Key"}
    paths = {f"/{name}": {"get": operation(operationId=name)} for name in names}
    root = documents.document(
        paths, security=[{}, {"key": []}], components={"securitySchemes": {"key": key}}
    )
    return {**root, "info": {"title": title, "version": "1"}, **fields}


def write_configuration(folder, serve="", **apis):
    """Write a configuration, and return its path; an API is its table, or its document."""
    text = f"[serve]\n{serve}\n"
    for name, source in apis.items():
        table = source
        if isinstance(source, dict):
            (folder / f"{name}.json").write_text(json.dumps(source))
            table = f'source = "{name}.json"'
        text += f"\n[apis.{name}]\n{table}\n"
    path = folder / "openapi-tools.toml"
    path.write_text(text)
    return path


class Hosted:
    """A server of several APIs that runs in this process."""

    def __init__(self, started, address, web):
        self.apis, self.address, self.web = started.apis, address, web
        self.url = f"{address}/mcp"

    async def get(self, path):
        """Return the response to a GET."""
        async with httpx2.AsyncClient(timeout=60) as http:
            return await http.get(self.address + path)


@asynccontextmanager
async def host_team(config, **options):
    """Give a `Hosted` of a configuration, with other keys of `[serve]`."""
    started = await asyncio.to_thread(team_server.start_server, str(config), options)
    with web_server.open_socket("127.0.0.1", 0) as place:
        async with running_at(place, started) as web:
            yield Hosted(started, f"http://127.0.0.1:{place.getsockname()[1]}", web)


@asynccontextmanager
async def running_at(place, started, **options):
    """Serve on a socket that listens; gives uvicorn's server."""
    app = team_server.WebServer(started, place.getsockname()[1], **options).app
    limits = web_server.uvicorn_limits(started.serve)
    web = uvicorn.Server(web_server.make_config(app, limits))
    serving = asyncio.create_task(web.serve(sockets=[place]))
    while not web.started:  # noqa: ASYNC110 -- uvicorn tells in no other way
        await asyncio.sleep(0.01)
    try:
        yield web
    finally:
        web.should_exit = True
        await serving


@asynccontextmanager
async def client_of(url, mode="auto", headers=None, **options):
    """Give a client of the package `mcp` for an address."""
    async with (
        httpx2.AsyncClient(timeout=60, headers=headers) as web,
        Client(streamable_http_client(url, http_client=web), mode=mode, **options) as client,
    ):
        yield client


class Process:
    """`openapi-tools serve` as a process; `log_lines` are those on standard error."""

    def __init__(self, process):
        self.process, self.log_lines, self.url = process, [], ""
        self._reading = asyncio.create_task(self._read())
        self._changed = asyncio.Event()

    async def _read(self):
        while line := (await self.process.stderr.readline()).decode():
            self.log_lines.append(line.rstrip("\n"))
            self._changed.set()

    async def line(self, pattern, count=1):
        """Return the match of the first line with a pattern, once so many have it."""
        async with asyncio.timeout(60):
            while True:
                self._changed.clear()
                matches = [match for line in self.log_lines if (match := re.search(pattern, line))]
                if len(matches) >= count:
                    return matches[-1]
                await self._changed.wait()

    async def wait_for_end(self):
        """Return the exit code."""
        code = await asyncio.wait_for(self.process.wait(), 60)
        await self._reading
        return code


@asynccontextmanager
async def process_of(*args, env=None, start_new_session=False):
    """Give a `Process` of the command with arguments; it is ended."""
    process = await asyncio.create_subprocess_exec(
        *(*COMMAND, "serve", *map(str, args)),
        env={**os.environ, **(env or {})},
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=start_new_session,
    )
    wrapper = Process(process)
    try:
        yield wrapper
    finally:
        if process.returncode is None:
            process.terminate()
        await wrapper.wait_for_end()
