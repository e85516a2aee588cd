"""One call of a document's only tool, by each way in: Python, MCP, and the command line."""

import asyncio
import json

from click.testing import CliRunner
from mcp import Client

from openapi_tools import ToolResult, load_tools
from openapi_tools.cli import commands
from openapi_tools.contracts.mcp import create_server

WAYS = ("python", "mcp", "command line")


async def call_by(way, document, arguments, url, folder):
    """Call the only tool of a document at `url`, and return its text; AssertionError if it fails.

    `folder` takes the document for the command line. Its arguments are given as `--json`, or as
    they are where they are a list of `NAME=VALUE`.
    """
    toolset = load_tools(document, base_url=url)
    (tool,) = toolset
    if way == "python":
        return text_of_success(await toolset.call(tool.name, arguments))
    if way == "mcp":
        async with toolset, Client(create_server(toolset)) as client:
            result = await client.call_tool(tool.name, arguments)
            assert not result.is_error, result.content
            return result.content[0].text
    path = folder / "openapi.json"
    path.write_text(json.dumps(document))
    typed = arguments if isinstance(arguments, list) else ["--json", json.dumps(arguments)]
    line = ["call", str(path), tool.name, "--base-url", url, *typed]
    result = await asyncio.to_thread(CliRunner().invoke, commands, line)
    assert result.exit_code == 0, result.output
    return result.stdout


def text_of_success(result: ToolResult) -> str:
    """Return the text of a result that is no error."""
    assert result.success, str(result)
    return str(result)
