"""The package `mcp` alone: two tools of fixed definitions, whose calls return a fixed result.

    bare_server.py stdio
    bare_server.py http PORT

It sends no request to an API: what any server that uses the package costs at least.
"""

import asyncio
import json
import sys

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

RECORD = {"id": 1, "name": "Rex", "open": True, "note": "x" * 150}
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("owner", "repo", "state")},
    "required": ["owner", "repo"],
}
TOOLS = [
    types.Tool(name=name, description=f"{name.title()} issues.", input_schema=SCHEMA)
    for name in ("list", "create")
]


async def list_tools(_request, _params):
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(_request, _params):
    content = [types.TextContent(type="text", text=json.dumps(RECORD))]
    return types.CallToolResult(content=content, structured_content=RECORD)


async def serve_stdio(server):
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def serve_http(server, port):
    import uvicorn

    app = server.streamable_http_app(json_response=True, stateless_http=True)
    uvicorn.run(app, port=port, log_level="error", access_log=False)


if __name__ == "__main__":
    bare = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    if sys.argv[1] == "stdio":
        asyncio.run(serve_stdio(bare))
    else:
        serve_http(bare, int(sys.argv[2]))
