"""Access to many tools: `search_tools`, `describe_tools` and `call_tool`."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openapi_tools.common.http_rules import is_safe
from openapi_tools.common.options import close_names
from openapi_tools.errors import InputError
from openapi_tools.observability import report_unknown
from openapi_tools.redaction import excerpt
from openapi_tools.responses.json_content import cut_value
from openapi_tools.responses.json_queries import apply_expression
from openapi_tools.responses.shape_checks import check_fields
from openapi_tools.result import ToolResult
from openapi_tools.search.stubs import describe_tool, write_stubs
from openapi_tools.validation.tool_input import CALL_ID

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping


_HITS = 8
_MOST_HITS = 50
_DESCRIBED = 10  # tools that are described at once; more are named
_PAGES = 100
_ITEMS = 10_000
_SEARCH = {
    "query": {"type": "string", "description": "Words; each line is a query"},
    "limit": {"type": "integer"},
}
_NAMES = {"names": {"type": "array", "items": {"type": "string"}}}
_CALL = {
    "name": {"type": "string"},
    "arguments": {"type": "object"},
    "fields": {"type": "string", "description": "JMESPath for the response"},
    "pages": {"type": "integer", "description": "Pages to collect"},
}
_TEXT = {"type": "string", "description": "JSON object"}


@dataclass(frozen=True, slots=True)
class MetaTool:
    """A tool that is a function: what a model sees of it, and the function."""

    name: str
    description: str
    input_schema: dict[str, Any]
    run: Callable[[Any, Any], Awaitable[Any]]  # of the `ToolCall` and the context
    read_only: bool = True
    target_tool: Callable[[Mapping[str, Any]], Any] | None = None  # the tool that a call runs
    repair_arguments: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    portable: dict[str, Any] | None = None  # the input for providers without open objects
    close: Callable[[], Awaitable[None]] | None = None  # when the toolset is closed


def meta_tools(toolset: Any) -> list[MetaTool]:
    """Return the three tools over a toolset."""
    functions = _MetaTools(toolset)
    about = "Find tools. `# id: from x`: call x first, it yields id"
    search = MetaTool("search_tools", about, closed_object(_SEARCH, "query"), functions.search)
    schema = closed_object(_NAMES, "names")
    describe = MetaTool(
        "describe_tools", "Show every argument of tools", schema, functions.describe
    )
    call = MetaTool(
        name="call_tool",
        description="Call a tool that was found",
        input_schema=closed_object(_CALL, "name"),
        run=functions.call,
        read_only=False,
        target_tool=functions.target_tool,
        repair_arguments=_nest_arguments,
        portable=closed_object({**_CALL, "arguments": _TEXT}, "name"),
    )
    return [search, describe, call]


class _MetaTools:
    def __init__(self, toolset: Any) -> None:
        self._tools = toolset

    async def search(self, call: Any, _: Any) -> ToolResult:
        return ToolResult.ok(await asyncio.to_thread(self._search, **call.arguments))

    def _search(self, query: str, limit: int = _HITS) -> str:
        hits = self._tools.search(query, int(min(max(limit, 1), _MOST_HITS)))
        if hits:
            return write_stubs(hits)
        close = close_names(query, [tool.name for tool in self._tools])
        query_text = excerpt(repr(query), 100)
        return f"No tool among {len(self._tools)} has the words {query_text}{close}"

    async def describe(self, call: Any, context: Any) -> ToolResult:
        for name in call.arguments["names"][:_DESCRIBED]:
            if name not in self._tools:
                report_unknown(context, name, is_call=False)
        return await asyncio.to_thread(self._describe_tools, **call.arguments)

    def _describe_tools(self, names: list[str]) -> ToolResult:
        listed = [*dict.fromkeys(names)]
        descriptions = [self._describe_tool(name) for name in listed[:_DESCRIBED]]
        if len(listed) > _DESCRIBED:
            descriptions.append(
                f"Not described: {len(listed) - _DESCRIBED} more; request them separately."
            )
        if not any(name in self._tools for name in listed):
            raise InputError(" ".join(descriptions) or "names must be a list of tool names.")
        return ToolResult.ok("\n\n".join(descriptions))

    def _describe_tool(self, name: str) -> str:
        try:
            tool = self._find_tool(name)
        except InputError as error:
            return error.reason
        return describe_tool(tool, self._tools.producers(name))

    async def call(self, call: Any, context: Any) -> ToolResult:
        arguments = call.arguments
        tool = self._find_tool(arguments["name"], context)
        tool_arguments = {**arguments.get("arguments", {}), CALL_ID: call.id}
        if arguments.get("pages", 1) > 1 and (tool.operation.paging or is_safe(tool.method)):
            return await self._collect_pages(tool, tool_arguments, arguments, context)
        result: ToolResult = await self._tools.call(
            tool.name,
            tool_arguments,
            context=context,
            fields=arguments.get("fields") or None,
            profile="",
        )
        return result

    async def _collect_pages(
        self, tool: Any, arguments: dict[str, Any], call_arguments: Mapping[str, Any], context: Any
    ) -> ToolResult:
        fields = call_arguments.get("fields") or "@"
        check_fields(fields)
        pages = self._tools.pages(
            tool.name,
            arguments,
            context=context,
            max_pages=int(min(call_arguments["pages"], _PAGES)),
            max_items=_ITEMS,
        )
        result: ToolResult = await pages.collect()
        if "paging" not in result.metadata:
            return result
        output = await asyncio.to_thread(_select_fields, result.output, fields, tool.settings)
        return result.model_copy(update={"output": output})

    def target_tool(self, arguments: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]] | None:
        """Return the tool of a call that fits, and its arguments; None for an unknown tool."""
        name = arguments["name"]
        return (self._tools[name], arguments.get("arguments", {})) if name in self._tools else None

    def _find_tool(self, name: str, context: Any = None) -> Any:
        try:
            return self._tools[name]
        except KeyError as error:
            report_unknown(context, name)
            raise InputError(str(error.args[0])) from None


def _select_fields(items: Any, fields: str, settings: Any) -> Any:
    try:
        return cut_value(apply_expression(fields, items), settings.max_output_chars)
    except ValueError as error:
        reason = f"they could not be applied to the list of all items: {error}."
        raise InputError(reason, pointer="/fields") from None


def _nest_arguments(call_arguments: dict[str, Any]) -> dict[str, Any]:
    arguments = call_arguments.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            reason = f"it must be an object, but the string is not JSON ({error})."
            raise InputError(reason, pointer="/arguments") from None
    direct_arguments = {name: value for name, value in call_arguments.items() if name not in _CALL}
    if not direct_arguments and (arguments is None or arguments is call_arguments.get("arguments")):
        return call_arguments
    if arguments is not None and not isinstance(arguments, dict):
        return call_arguments
    if duplicates := [name for name in direct_arguments if name in (arguments or {})]:
        raise InputError(
            "it is passed both as an argument and in `arguments`.",
            pointer=f"/arguments/{duplicates[0]}",
        )
    call_properties = {name: value for name, value in call_arguments.items() if name in _CALL}
    return {**call_properties, "arguments": {**direct_arguments, **(arguments or {})}}


def closed_object(properties: dict[str, Any], required: str) -> dict[str, Any]:
    """Return the schema of an object without other properties."""
    schema = {"type": "object", "properties": properties, "required": [required]}
    return {**schema, "additionalProperties": False}
