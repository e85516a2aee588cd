"""From what a model asks for to a tool of a toolset."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import InputError
from openapi_tools.runtime.calling import call_id_in
from openapi_tools.runtime.calls import read_call, read_id
from openapi_tools.runtime.result import ToolResult

if TYPE_CHECKING:
    from openapi_tools.runtime.toolset import Toolset


async def answer_call(
    toolset: Toolset, given: Any, arguments: dict[str, Any] | None, *, context: Any
) -> ToolResult:
    """Do what `Toolset.call` says."""
    if isinstance(given, str):
        given_id, call = call_id_in(arguments), None
        name = given
    else:
        given_id = read_id(given)
        try:
            call = read_call(given)
        except InputError as error:
            return ToolResult.failed("invalid_input", str(error)).for_call(given_id)
        name = call.name
    if name not in toolset:
        reason = no_such_tool(name, [tool.name for tool in toolset])
        return ToolResult.failed("invalid_input", reason).for_call(given_id)
    if call is not None:
        return await toolset[name](call, context)
    return await toolset[name].execute({} if arguments is None else arguments, context=context)


def no_such_tool(name: object, names: list[str]) -> str:
    """Return what to say about a name that no tool has.

    Args:
        name: What was asked for.
        names: Those that there are.
    """
    close = difflib.get_close_matches(str(name), names, n=3)
    hint = f"; close names: {', '.join(close)}" if close else f" among {len(names)} tools"
    return f"there is no tool {name!r:.100}{hint}."
