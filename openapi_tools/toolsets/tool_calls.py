"""Calls of a toolset's tools by name, and of long-running operations by their handle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from openapi_tools.common.options import replace_context_values
from openapi_tools.errors import InputError
from openapi_tools.observability import report_unknown
from openapi_tools.result import ToolResult
from openapi_tools.tools.call import DEFAULT_OPTIONS, Call, CallOptions
from openapi_tools.tools.caller import read_call_id
from openapi_tools.tools.tool import OperationTool, execute_call
from openapi_tools.tools.tool_call_reader import read_call, read_id
from openapi_tools.validation.tool_input import CALL_ID

if TYPE_CHECKING:
    from typing import Self


class CallableTools(Protocol):
    """Tools by name; `called` are those behind functions, or the same ones."""

    @property
    def called(self) -> Self:
        """The tools that call an API."""

    def __getitem__(self, name: str) -> OperationTool: ...


async def call_tool(
    toolset: CallableTools,
    tool_call: object,
    arguments: dict[str, Any] | None,
    *,
    context: Any,
    profile: str | None,
    wait: float | None = None,
    fields: str | None = None,
) -> ToolResult:
    """Call a tool by name and arguments or by a tool call, as `Toolset.call` does."""
    if fields is not None:
        context = replace_context_values(context, fields=fields)
    name, values = tool_call, {} if arguments is None else arguments
    if not isinstance(name, str):
        try:
            read = read_call(tool_call)
        except InputError as error:
            return ToolResult.failed("invalid_input", str(error)).for_call(read_id(tool_call))
        name, values = read.name, {**read.arguments, CALL_ID: read.id}
    if wait is not None and toolset.called is not toolset:
        # The function that calls the tool passes the context on, not the options.
        wait, context = None, replace_context_values(context, wait=wait)
    options = DEFAULT_OPTIONS if wait is None else CallOptions(wait=wait)
    return (await call_named_tool(toolset, name, values, context, profile, options))[0]


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


async def resume_job(
    toolset: CallableTools, job: Any, *, wait: float | None, context: Any
) -> ToolResult:
    """Ask for the state of a long-running operation, as `Toolset.resume` does."""
    name, url = (job.get("tool"), job.get("url")) if isinstance(job, Mapping) else (None, None)
    if not isinstance(name, str) or not isinstance(url, str):
        reason = "a job must have a tool and a url, as metadata['job'] of a result has."
        return ToolResult.failed("invalid_input", reason)
    options = CallOptions(wait, address=url, is_poll=True)
    return (await call_named_tool(toolset, name, {}, context, None, options))[0]
