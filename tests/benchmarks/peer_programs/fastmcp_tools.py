"""FastMCP: what `peers.py` asks about it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import fastmcp
import httpx2
from asking import per_call, serve, timed

_made: dict[str, Any] = {}


def _read(path: str) -> dict[str, Any]:
    with Path(path).open("rb") as file:
        return json.load(file)


async def _tools(path: str) -> object:
    client = httpx2.AsyncClient(base_url="http://127.0.0.1:9")
    server = fastmcp.FastMCP.from_openapi(_read(path), client=client)
    tools = await server.list_tools()
    [(tool.name, tool.description) for tool in tools]
    return tools


async def _load(path: str) -> dict[str, Any]:
    return await timed(_tools, path)


async def _start(document: dict[str, Any], url: str) -> dict[str, Any]:
    client = httpx2.AsyncClient(base_url=url)
    server = fastmcp.FastMCP.from_openapi(document, client=client)
    _made.update({tool.name: tool for tool in await server.list_tools()})
    return {"version": fastmcp.__version__}


async def _call(name: str, arguments: dict[str, Any], count: int) -> dict[str, Any]:
    tool = _made[name]
    result = await tool.run(arguments)
    assert result.structured_content["id"] == 1, result
    return {"tool.run": await per_call(lambda: tool.run(arguments), count)}


asyncio.run(serve(load=_load, start=_start, call=_call))
