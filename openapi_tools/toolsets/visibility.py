"""Which tools a client of a server sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from openapi_tools.tools.tool import OperationTool

    Visible = Callable[[OperationTool, Any], bool]
    Group = Callable[[Any], Hashable]

# Bounds on memory: a server runs for weeks, and groups may be as many as users.
_MOST_SETS = 64  # sets of tools that different clients see
_MOST_GROUPS = 1000


class _NarrowableTools(Protocol):
    called: dict[str, OperationTool]

    def only(self, names: frozenset[str]) -> Self: ...


_Tools = TypeVar("_Tools", bound=_NarrowableTools)


class Visibility:
    """Narrows the tools of a server to those that a client sees, and caches the result.

    Args:
        visible: Whether the client of a request sees a tool; None shows all tools to all.
        group: Of a client: all clients of one group see the same tools. Without one, each request
            asks about each tool.
    """

    def __init__(self, visible: Visible | None, group: Group | None) -> None:
        self._visible, self._group = visible, group
        self._narrowed: dict[frozenset[str], Any] = {}
        self._names: dict[Hashable, frozenset[str]] = {}  # by group

    def forget(self) -> None:
        """Forget what clients see, as the server has other tools."""
        self._narrowed.clear()
        self._names.clear()

    def narrow(self, tools: _Tools, request: Any) -> _Tools:
        """Return the tools that the client of a request sees."""
        if self._visible is None:
            return tools
        names = self._find_names(self._visible, tools.called, request)
        if len(names) == len(tools.called):
            return tools
        if names not in self._narrowed:
            _limit_size(self._narrowed, _MOST_SETS)
            self._narrowed[names] = tools.only(names)
        narrowed: _Tools = self._narrowed[names]
        return narrowed

    def _find_names(
        self,
        visible: Visible,
        tools: Mapping[str, OperationTool],
        request: Any,
    ) -> frozenset[str]:
        # 1,500 tools and ten roles take 10 ms, which is too much for each request.
        group = None if self._group is None else self._group(request)
        if self._group is not None and group in self._names:
            return self._names[group]
        names = frozenset(name for name, tool in tools.items() if visible(tool, request))
        if self._group is not None:
            _limit_size(self._names, _MOST_GROUPS)
            self._names[group] = names
        return names


def _limit_size(entries: dict[Any, Any], most: int) -> None:
    # The oldest entry goes: what is in use is soon there again.
    if len(entries) >= most:
        del entries[next(iter(entries))]
