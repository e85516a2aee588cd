"""google-adk: what `peers.py` asks about it."""

from __future__ import annotations

import asyncio
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
from asking import per_call, serve, timed
from google.adk.tools.openapi_tool import OpenAPIToolset

_made: dict[str, Any] = {}
_SLOW = 10
"""As it comes it makes a client for each call, so fewer calls tell as much."""


class _Shared(httpx.AsyncBaseTransport):
    """One transport for all clients; google-adk closes a client after its call."""

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._inner.handle_async_request(request)


def _read(path: str) -> dict[str, Any]:
    with Path(path).open("rb") as file:
        return json.load(file)


async def _tools(path: str) -> object:
    tools = await OpenAPIToolset(spec_dict=_read(path)).get_tools()
    [(tool.name, tool.description) for tool in tools]
    return tools


async def _load(path: str) -> dict[str, Any]:
    return await timed(_tools, path)


async def _start(document: dict[str, Any], url: str) -> dict[str, Any]:
    document["servers"] = [{"url": url}]
    shared = _Shared()
    for kind, factory in (
        ("run_async", None),
        ("run_async, one transport", lambda: httpx.AsyncClient(transport=shared)),
    ):
        toolset = OpenAPIToolset(
            spec_dict=document, httpx_client_factory=factory, allow_private_network_access=True
        )
        _made[kind] = {tool.name: tool for tool in await toolset.get_tools()}
    return {"version": version("google-adk")}


async def _call(name: str, arguments: dict[str, Any], count: int) -> dict[str, Any]:
    found = {}
    for kind, tools in _made.items():
        tool = tools[name]
        result = await tool.run_async(args=arguments, tool_context=None)
        assert result["id"] == 1, result
        found[kind] = await per_call(
            lambda tool=tool: tool.run_async(args=arguments, tool_context=None),
            count if "one" in kind else count // _SLOW,
        )
    return found


asyncio.run(serve(load=_load, start=_start, call=_call))
