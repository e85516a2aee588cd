"""From what a model asks for to a tool of a toolset."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import InputError
from openapi_tools.redaction import excerpt
from openapi_tools.result import ToolResult
from openapi_tools.tools.pipeline import call_id_in
from openapi_tools.tools.tool_call import read_call, read_id
from openapi_tools.validation.tool_input import CALL_ID

if TYPE_CHECKING:
    from openapi_tools.tools.toolset import Toolset


async def answer_call(
    toolset: Toolset, given: Any, arguments: Any, *, profile: str | None, context: Any
) -> ToolResult:
    """Do what `Toolset.call` says."""
    if isinstance(given, str):
        if given not in toolset:
            return _unknown(toolset, given, call_id_in(arguments))
        own = {} if arguments is None else arguments
        return await toolset[given].execute(own, context=context, profile=profile)
    try:
        call = read_call(given)
    except InputError as error:
        return ToolResult.failed("invalid_input", str(error)).for_call(read_id(given))
    if call.name not in toolset:
        return _unknown(toolset, call.name, call.id)
    named = {**call.arguments, CALL_ID: call.id}
    return await toolset[call.name].execute(named, context=context, profile=profile)


def _unknown(toolset: Toolset, name: str, call_id: str) -> ToolResult:
    reason = no_such_tool(name, [tool.name for tool in toolset])
    return ToolResult.failed("invalid_input", reason).for_call(call_id)


def no_such_tool(name: object, names: list[str]) -> str:
    """Return what to say about a name that no tool has."""
    close = difflib.get_close_matches(str(name), names, n=3)
    hint = f"; close names: {', '.join(close)}" if close else f" among {len(names)} tools"
    return f"there is no tool {excerpt(repr(name), 100)}{hint}."
