"""What belongs to one call: whose credentials it carries, and who can be asked."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openapi_tools.tools.tool_call import ToolCall


@dataclass(frozen=True, slots=True)
class Context:
    """What belongs to one call.

    A coordinator's own context does as well: any object with these attributes, or mapping with
    these keys.

    Attributes:
        credentials: By scheme name, as for `load_tools`; they go before the toolset's own.
        approve: Asks a human (or whoever decides) about a call and gives True for a yes; may be
            async.
        state: Whatever guards of yours want to know.
    """

    credentials: Mapping[str, Any] | None = field(default=None, repr=False)
    approve: Callable[[ToolCall], bool | Awaitable[bool]] | None = None
    state: Any = None


def member_of(context: object, name: str) -> Any:
    """Return what a context says, or None."""
    if isinstance(context, Mapping):
        return context.get(name)
    return getattr(context, name, None)


async def context_for(source: Any, *told: Any) -> Any:
    """Return what belongs to a call, as whoever converted a tool for a coordinator said."""
    if source is None:
        return Context(state=told[0]) if told else None
    given = source(*told) if callable(source) else source
    return await given if inspect.isawaitable(given) else given


def with_approve(context: Any, approve: Callable[[ToolCall], Any]) -> Any:
    """Return a context like another one in which somebody else approves."""
    if isinstance(context, Mapping):
        return {**context, "approve": approve}
    return _Approved(context, approve)


class _Approved:
    """A context of whatever kind, but for whom it asks."""

    def __init__(self, context: Any, approve: Callable[[ToolCall], Any]) -> None:
        self._context = context
        self.approve = approve

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._context, name)
