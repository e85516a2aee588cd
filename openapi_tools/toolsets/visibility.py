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
        visible: Returns whether the client of a request sees a tool; None shows every tool.
        group: Returns the group of that client: all clients of a group see the same tools. Without
            it, each request calls `visible` for each tool.
    """

    def __init__(self, visible: Visible | None, group: Group | None) -> None:
        self._visible, self._group = visible, group
        self._narrowed: dict[frozenset[str], Any] = {}
        self._names_by_group: dict[Hashable, frozenset[str]] = {}

    def forget(self) -> None:
        """Forget what clients see, because the tools of the server have changed."""
        self._narrowed.clear()
        self._names_by_group.clear()

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
        if self._group is not None and group in self._names_by_group:
            return self._names_by_group[group]
        names = frozenset(name for name, tool in tools.items() if visible(tool, request))
        if self._group is not None:
            _limit_size(self._names_by_group, _MOST_GROUPS)
            self._names_by_group[group] = names
        return names


def _limit_size(entries: dict[Any, Any], most: int) -> None:
    # The oldest entry is dropped; if it is in use, the next request adds it again.
    if len(entries) >= most:
        del entries[next(iter(entries))]
