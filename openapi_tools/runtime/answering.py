"""From what a model asks for to a tool of a toolset."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import InputError
from openapi_tools.runtime.calling import call_id_in
from openapi_tools.runtime.calls import read_call
from openapi_tools.runtime.result import ToolResult

if TYPE_CHECKING:
    from openapi_tools.runtime.toolset import Toolset


async def answer_call(
    toolset: Toolset, call: Any, arguments: dict[str, Any] | None, *, context: Any
) -> ToolResult:
    """Do what `Toolset.call` says."""
    if isinstance(call, str):
        name, given = call, {} if arguments is None else arguments
        call_id = call_id_in(given)
    else:
        try:
            read = read_call(call)
        except InputError as error:
            return ToolResult.failed("invalid_input", str(error))
        name, given, call_id = read.name, read.arguments, read.id
    if name not in toolset:
        reason = no_such_tool(name, [tool.name for tool in toolset])
        return ToolResult.failed("invalid_input", reason).for_call(call_id)
    result = await toolset[name].execute(given, context=context)
    return result.for_call(call_id)


def no_such_tool(name: object, names: list[str]) -> str:
    """Return what to say about a name that no tool has.

    Args:
        name: What was asked for.
        names: Those that there are.
    """
    close = difflib.get_close_matches(str(name), names, n=3)
    hint = f"; close names: {', '.join(close)}" if close else f" among {len(names)} tools"
    return f"there is no tool {name!r:.100}{hint}."
