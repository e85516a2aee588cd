"""The three tools that reach all others: `search_tools`, `describe_tools`, `call_tool`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping


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
    del toolset
    return []
