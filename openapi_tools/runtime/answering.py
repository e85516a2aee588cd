"""From what a model asks for to a tool of a toolset."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import InputError, SettingsError
from openapi_tools.runtime.arguments import CALL_ID
from openapi_tools.runtime.calling import call_id_in
from openapi_tools.runtime.calls import ToolCall, read_call, read_id
from openapi_tools.runtime.result import ToolResult

if TYPE_CHECKING:
    from openapi_tools.runtime.defining import Definitions
    from openapi_tools.runtime.tool import OperationTool
    from openapi_tools.runtime.toolset import Toolset


async def answer_call(
    toolset: Toolset,
    given: Any,
    arguments: dict[str, Any] | None,
    *,
    definitions: Definitions,
    profile: str | None,
    context: Any,
) -> ToolResult:
    """Do what `Toolset.call` says.

    Args:
        toolset: Has the tool.
        given: Its name, or a tool call.
        arguments: Of a call by name.
        definitions: Know how arguments by a profile are to be read.
        profile: Whose; that of the last definitions by default.
        context: What belongs to the call.
    """
    try:
        call = _read(given, arguments)
        tool = _found(toolset, call.name)
        restored = definitions.restored(tool, call.arguments, profile)
    except (InputError, SettingsError) as error:
        failed = ToolResult.failed("invalid_input", str(error))
        return failed.for_call(call_id_in(arguments) or read_id(given))
    if isinstance(restored, dict) and call.id:
        restored = {**restored, CALL_ID: call.id}
    return await tool.execute(restored, context=context)


def _read(given: Any, arguments: Any) -> ToolCall:
    """Return a call; arguments of one by name are the tool's to judge, and stand as they are."""
    if not isinstance(given, str):
        return read_call(given)
    own = {} if arguments is None else arguments
    return ToolCall.model_construct(id="", name=given, arguments=own)


def _found(toolset: Toolset, name: str) -> OperationTool:
    """Return a tool.

    Raises:
        InputError: There is none of that name.
    """
    if name in toolset:
        return toolset[name]
    raise InputError(no_such_tool(name, [tool.name for tool in toolset]))


def no_such_tool(name: object, names: list[str]) -> str:
    """Return what to say about a name that no tool has.

    Args:
        name: What was asked for.
        names: Those that there are.
    """
    close = difflib.get_close_matches(str(name), names, n=3)
    hint = f"; close names: {', '.join(close)}" if close else f" among {len(names)} tools"
    return f"there is no tool {name!r:.100}{hint}."
