"""The three tools that reach all others: `search_tools`, `describe_tools`, `call_tool`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from openapi_tools.errors import InputError
from openapi_tools.responses.shown_text import shorten
from openapi_tools.result import ToolResult
from openapi_tools.search.stubs import describe, stubs
from openapi_tools.validation.tool_input import CALL_ID

_SHOWN = 8
_MOST = 20
"""Hits of a search, and tools of a description, that a model may ask for at once."""
_PAGES = 100


@dataclass(frozen=True, slots=True)
class MetaTool:
    """A tool that is a function: what a model sees of it, and the function.

    Attributes:
        run: Called with the `ToolCall` and the context; returns a `ToolResult`, or raises an
            exception of `openapi_tools.errors`.
        read_only: Whether no call of it changes anything.
        reached: Returns the tool that a call with these arguments runs, and its arguments; None
            for no other tool.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    run: Callable[[Any, Any], Awaitable[Any]]
    read_only: bool = True
    reached: Callable[[Mapping[str, Any]], Any] | None = None


def meta_tools(toolset: Any) -> list[MetaTool]:
    """Return the three tools over a toolset."""
    meta = _Meta(toolset)
    text = {"type": "string"}
    limit = {"type": "integer", "minimum": 1, "maximum": _MOST}
    names = {"type": "array", "items": text, "minItems": 1, "maxItems": _MOST}
    pages = {"type": "integer", "minimum": 1, "maximum": _PAGES, "description": "Pages to join."}
    called = {
        "name": text,
        "arguments": {"type": "object"},
        "fields": {**text, "description": "JMESPath of the parts wanted."},
        "pages": pages,
    }
    return [
        MetaTool(
            "search_tools",
            "Find tools for a task; one step a line.",
            _schema({"query": text, "limit": limit}, "query"),
            meta.search,
        ),
        MetaTool("describe_tools", "Show all arguments.", _schema({"names": names}), meta.describe),
        MetaTool(
            "call_tool",
            "Call a tool that was found.",
            _schema(called, "name", "arguments"),
            meta.call,
            read_only=False,
            reached=meta.reached,
        ),
    ]


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    needed = list(required or properties)
    return {
        "type": "object",
        "properties": properties,
        "required": needed,
        "additionalProperties": False,
    }


class _Meta:
    """The functions of the three tools."""

    def __init__(self, toolset: Any) -> None:
        self._toolset = toolset

    async def search(self, call: Any, _: Any) -> ToolResult:
        """Return the stubs of the tools that fit."""
        given = call.arguments
        limit = given.get("limit", _SHOWN)
        # In a thread: the first search makes the index.
        hits = await asyncio.to_thread(self._toolset.search, given["query"], limit)
        count = len(self._toolset)
        return ToolResult.ok(stubs(hits) or f"None of the {count} tools fits; try other words.")

    async def describe(self, call: Any, _: Any) -> ToolResult:
        """Return the descriptions of tools."""
        tools = [self._tool(name) for name in dict.fromkeys(call.arguments["names"])]

        def described() -> str:
            return "\n\n".join(describe(t, self._toolset.producers(t.name)) for t in tools)

        return ToolResult.ok(await asyncio.to_thread(described))

    async def call(self, call: Any, context: Any) -> ToolResult:
        """Call a tool, with its own checks, guardrails and approval."""
        given = call.arguments
        name = self._tool(given["name"]).name
        arguments = {**given["arguments"], CALL_ID: call.id}
        told: dict[str, Any] = {"context": context, "fields": given.get("fields")}
        pages = given.get("pages", 1)
        if pages == 1:
            result: ToolResult = await self._toolset.call(name, arguments, profile="", **told)
            return result
        joined = self._toolset.pages(name, arguments, max_pages=pages, **told)
        return self._fitted(await joined.collect(), name)

    def _fitted(self, result: ToolResult, name: str) -> ToolResult:
        """Return a result of joined pages, cut as other answers are."""
        room = self._toolset[name].settings.max_output_chars
        if result.is_error or len(str(result)) <= room:
            return result
        note = "The list is cut; choose parts with `fields`, or ask for fewer pages."
        cut = ToolResult.ok(shorten(result.output, room), result.metadata, header_note=note)
        return cut.for_call(result.tool_call_id)

    def reached(self, arguments: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]] | None:
        """Return the tool that `call_tool` runs, and its arguments; None where it runs none."""
        name, given = arguments.get("name"), arguments.get("arguments")
        if not isinstance(name, str) or name not in self._toolset:
            return None
        return self._toolset[name], given if isinstance(given, Mapping) else {}

    def _tool(self, name: str) -> Any:
        try:
            return self._toolset[name]
        except KeyError as error:
            raise InputError(error.args[0]) from None
