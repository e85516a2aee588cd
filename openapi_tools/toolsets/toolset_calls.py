"""What a toolset does in an event loop: calls, pages, long-running operations, mounting."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from openapi_tools.common.options import replace_context_values
from openapi_tools.errors import InputError
from openapi_tools.result import ToolResult
from openapi_tools.tools.call import DEFAULT_OPTIONS, CallOptions
from openapi_tools.tools.tool_call_reader import read_call, read_id, read_value
from openapi_tools.toolsets.mounting import MountableTools, mount_tools
from openapi_tools.toolsets.pages import PagedItems, PageLimits
from openapi_tools.toolsets.tool_calls import CallableTools, call_named_tool
from openapi_tools.validation.tool_input import CALL_ID

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable


class _Tools(CallableTools, MountableTools, Protocol):
    """What a toolset is here."""


class ToolsetCalls:
    """Makes the calls of a toolset.

    Args:
        toolset: The tools.
        profile: The profile of the definitions that the model has; None without any.
    """

    def __init__(self, toolset: _Tools, profile: str | None) -> None:
        self._toolset = toolset
        self._profile = profile

    async def call(
        self,
        tool_call: object,
        arguments: dict[str, Any] | None,
        *,
        context: Any,
        profile: str | None,
        wait: float | None,
        fields: str | None,
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
        if wait is not None and self._toolset.called is not self._toolset:
            # The function that calls the tool passes the context on, not the options.
            wait, context = None, replace_context_values(context, wait=wait)
        options = DEFAULT_OPTIONS if wait is None else CallOptions(wait=wait)
        profile = self._profile if profile is None else profile
        result, _ = await call_named_tool(self._toolset, name, values, context, profile, options)
        return result

    async def run_function_calls(
        self, items: Iterable[Any], *, context: Any, structured: bool
    ) -> list[dict[str, Any]]:
        """Run the calls in a response of OpenAI, as `Toolset.run_function_calls` does."""
        outputs: list[Any] = []
        batch: list[Awaitable[dict[str, Any]]] = []
        for item in items:
            if read_value(item, "type") != "function_call":
                continue
            output = self._run_function_call(item, context, structured=structured)
            if not self._is_parallel_safe(read_value(item, "name")):
                # A write runs alone, in its place.
                outputs += [*await asyncio.gather(*batch), await output]
                batch = []
            else:
                batch.append(output)
        return [*outputs, *await asyncio.gather(*batch)]

    def _is_parallel_safe(self, name: Any) -> bool:
        return name not in self._toolset or self._toolset[name].parallel_safe

    async def _run_function_call(
        self, item: Any, context: Any, *, structured: bool
    ) -> dict[str, Any]:
        result = await self.call(item, None, context=context, profile=None, wait=None, fields=None)
        caller = read_value(item, "caller")
        is_program = read_value(caller, "type") == "program"
        output = result.for_responses(structured=structured or is_program)
        if is_program:
            output["caller"] = {"type": "program", "caller_id": read_value(caller, "caller_id")}
        return output

    def pages(
        self,
        name: str,
        arguments: dict[str, Any] | None,
        limits: tuple[int | None, int, float | None],
        *,
        on_page: Callable[[PagedItems], Any] | None,
        context: Any,
    ) -> PagedItems:
        """Return the items of a paged call, as `Toolset.pages` does; limits as `PageLimits`."""
        return PagedItems(
            self._toolset.called,
            name,
            arguments,
            limits=PageLimits(*limits),
            profile=self._profile,
            context=context,
            on_page=on_page,
        )

    async def resume(self, job: object, *, wait: float | None, context: Any) -> ToolResult:
        """Ask for the state of a long-running operation, as `Toolset.resume` does."""
        name, url = (job.get("tool"), job.get("url")) if isinstance(job, Mapping) else (None, None)
        if not isinstance(name, str) or not isinstance(url, str):
            reason = "a job must have a tool and a url, as metadata['job'] of a result has."
            return ToolResult.failed("invalid_input", reason)
        options = CallOptions(wait, address=url, is_poll=True)
        tools = self._toolset.called
        return (await call_named_tool(tools, name, {}, context, None, options))[0]

    async def mount(self, coordinator: Any) -> Callable[[], Awaitable[None]]:
        """Mount every tool into a coordinator, as `Toolset.mount` does."""
        return await mount_tools(self._toolset, coordinator)
