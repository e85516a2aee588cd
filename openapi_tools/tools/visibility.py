"""Which tools a client of a server sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from openapi_tools.tools.tool import OperationTool

    Visible = Callable[[OperationTool, Any], bool]
    Group = Callable[[Any], Hashable]

_NARROWED = 64  # sets of tools that different clients see
_GROUPS = 1000  # groups of clients whose tools are known


class _Offer(Protocol):
    called: dict[str, OperationTool]

    def only(self, names: frozenset[str]) -> Self: ...


_AnOffer = TypeVar("_AnOffer", bound=_Offer)


class Visibility:
    """Narrows what a server offers to what a client sees, and remembers it."""

    def __init__(self, visible: Visible | None, group: Group | None) -> None:
        self._visible, self._group = visible, group
        self._narrowed: dict[frozenset[str], Any] = {}
        self._seen: dict[Hashable, frozenset[str]] = {}

    def forget(self) -> None:
        """Forget what clients see, as other tools are offered."""
        self._narrowed.clear()
        self._seen.clear()

    def narrow(self, whole: _AnOffer, request: Any) -> _AnOffer:
        """Return the part of an offer that the client of a request sees."""
        if self._visible is None:
            return whole
        names = self._find_names(self._visible, whole.called, request)
        if len(names) == len(whole.called):
            return whole
        if names not in self._narrowed:
            _make_room(self._narrowed, _NARROWED)
            self._narrowed[names] = whole.only(names)
        narrowed: _AnOffer = self._narrowed[names]
        return narrowed

    def _find_names(
        self,
        visible: Visible,
        tools: Mapping[str, OperationTool],
        request: Any,
    ) -> frozenset[str]:
        # 1,500 tools and ten roles take 10 ms, which is too much for each request.
        group = None if self._group is None else self._group(request)
        if self._group is not None and group in self._seen:
            return self._seen[group]
        names = frozenset(name for name, tool in tools.items() if visible(tool, request))
        if self._group is not None:
            _make_room(self._seen, _GROUPS)
            self._seen[group] = names
        return names


def _make_room(entries: dict[Any, Any], most: int) -> None:
    if len(entries) >= most:
        del entries[next(iter(entries))]
