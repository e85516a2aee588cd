"""google-adk: what `peers.py` asks about it."""

import asyncio
from functools import partial
from importlib.metadata import version

import httpx
from asking import measure_seconds, per_call, serve
from google.adk.tools.openapi_tool import OpenAPIToolset

_tools = {}
_SLOW = 10
"""As it comes it makes a client for each call, so fewer calls tell as much."""


class _Shared(httpx.AsyncBaseTransport):
    """One transport for all clients; google-adk closes a client after its call."""

    def __init__(self):
        self._inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request):
        return await self._inner.handle_async_request(request)


async def _load_tools(document):
    tools = await OpenAPIToolset(spec_dict=document).get_tools()
    [(tool.name, tool.description) for tool in tools]
    return tools


async def _start(document, url):
    document["servers"] = [{"url": url}]
    shared = _Shared()
    for kind, factory in (
        ("run_async", None),
        ("run_async, one transport", lambda: httpx.AsyncClient(transport=shared)),
    ):
        toolset = OpenAPIToolset(
            spec_dict=document, httpx_client_factory=factory, allow_private_network_access=True
        )
        _tools[kind] = {tool.name: tool for tool in await toolset.get_tools()}
    return {"version": version("google-adk")}


async def _call(name, arguments, count):
    samples = {}
    for kind, tools in _tools.items():
        tool = tools[name]
        result = await tool.run_async(args=arguments, tool_context=None)
        assert result["id"] == 1, result
        samples[kind] = await per_call(
            lambda tool=tool: tool.run_async(args=arguments, tool_context=None),
            count if "one" in kind else count // _SLOW,
        )
    return samples


asyncio.run(serve(load=partial(measure_seconds, _load_tools), start=_start, call=_call))
