"""Calls of tools by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from openapi_tools.observability import report_unknown
from openapi_tools.result import ToolResult
from openapi_tools.tools.call import DEFAULT_OPTIONS, Call, CallOptions
from openapi_tools.tools.caller import read_call_id
from openapi_tools.tools.tool import OperationTool, execute_call

if TYPE_CHECKING:
    from typing import Self


class CallableTools(Protocol):
    """Tools by name; `called` are those behind functions, or the same ones."""

    @property
    def called(self) -> Self:
        """The tools that call an API."""

    def __getitem__(self, name: str) -> OperationTool: ...


async def call_named_tool(
    toolset: CallableTools,
    name: str,
    arguments: Any,
    context: Any,
    profile: str | None,
    options: CallOptions,
) -> tuple[ToolResult, Any]:
    """Return the result of a call, and the reader of what follows its response."""
    try:
        tool = toolset[name]
    except KeyError as error:
        report_unknown(context, name)
        result = ToolResult.failed("invalid_input", error.args[0])
        return result.for_call(read_call_id(arguments)), None
    if options is DEFAULT_OPTIONS:  # the tool's class may override `execute`
        return await tool.execute(arguments, context=context, profile=profile), None
    call = Call(tool, arguments, context, profile, options)
    return await execute_call(tool, call), call.follow_up
