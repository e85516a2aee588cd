"""The list of an MCP server's tools, cached with the document of a large API.

Building the list of a thousand tools takes most of a second, reading it a few hundredths.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from openapi_tools.contracts.mcp_messages import describe_tool
from openapi_tools.errors import require_extra
from openapi_tools.providers.definitions import limits_of
from openapi_tools.providers.memory import Memory
from openapi_tools.providers.response_schemas import declares_response
from openapi_tools.providers.toolset_definitions import MAX_BYTES, MIN_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi_tools.providers.toolset_definitions import DefinitionsFile, DefinitionsFolder
    from openapi_tools.tools.tool import OperationTool

with require_extra("mcp"):
    from mcp import types

_FORM = "mcp-list-1"  # to be raised when the output of `describe_tool` changes


def make_tool_list(
    tools: Sequence[OperationTool], folder: DefinitionsFolder | None
) -> types.ListToolsResult:
    """Return the list of tools, from the cache if it is there.

    Args:
        tools: The tools of the list.
        folder: Where their definitions are cached; None if they are not.
    """
    file = _find_file(tools, folder)
    data = None if file is None else file.read()
    if data is not None:
        with suppress(ValueError):  # another version of the package `mcp` wrote it
            return types.ListToolsResult.model_validate_json(data)
    started, memory = time.process_time(), Memory()
    described = [describe_tool(tool, memory) for tool in tools]
    if file is not None and time.process_time() - started >= MIN_SECONDS:
        _write_list(file, described)
    return types.ListToolsResult(tools=[types.Tool.model_validate(each) for each in described])


def _find_file(tools: Sequence[Any], folder: DefinitionsFolder | None) -> DefinitionsFile | None:
    # Tools without a form are not from the document; response schemas depend on many settings.
    if folder is None or not all(hasattr(tool, "form") for tool in tools):
        return None
    if any(map(declares_response, tools)):
        return None
    limits = sorted({limits_of(tool) for tool in tools})
    has_keys = sorted({tool.settings.idempotency_argument for tool in tools})
    return folder.definitions_file(repr((_FORM, limits, has_keys, [tool.form for tool in tools])))


def _write_list(file: DefinitionsFile, described: list[dict[str, Any]]) -> None:
    data = to_json({"tools": described})
    if len(data) <= MAX_BYTES:
        file.write(data)
