"""FastMCP: what `peers.py` asks about it."""

import asyncio
from functools import partial

import fastmcp
import httpx2
from asking import measure_seconds, per_call, serve

_tools = {}


async def _load_tools(document):
    client = httpx2.AsyncClient(base_url="http://127.0.0.1:9")
    server = fastmcp.FastMCP.from_openapi(document, client=client)
    tools = await server.list_tools()
    [(tool.name, tool.description) for tool in tools]
    return tools


async def _start(document, url):
    client = httpx2.AsyncClient(base_url=url)
    server = fastmcp.FastMCP.from_openapi(document, client=client)
    _tools.update({tool.name: tool for tool in await server.list_tools()})
    return {"version": fastmcp.__version__}


async def _call(name, arguments, count):
    tool = _tools[name]
    result = await tool.run(arguments)
    assert result.structured_content["id"] == 1, result
    return {"tool.run": await per_call(lambda: tool.run(arguments), count)}


asyncio.run(serve(load=partial(measure_seconds, _load_tools), start=_start, call=_call))
