"""The application of checked overlays to a document as plain data.

The document is never changed: an object or array is copied when an action first changes it, and all
others are shared between the old and the new document.

Spec: Overlay Specification 1.0.0, 1.1.0 and 1.2.0.
"""

from __future__ import annotations

from functools import reduce
from operator import getitem
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import is_equal, join_pointer
from openapi_tools.loading.json_paths import QueryError
from openapi_tools.loading.overlays import FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi_tools.errors import InvalidOverlay
    from openapi_tools.loading.json_paths import Location, Queries
    from openapi_tools.loading.overlays import Action, Overlay

MAX_ADDED = 2_000_000  # values that the overlays of one load may add to a document

_A = {"object": "an object", "array": "an array", "primitive": "a primitive value"}


def apply_overlays(
    root: Any, overlays: Sequence[Overlay], queries: Queries, *, max_depth: int
) -> tuple[Any, list[str]]:
    """Return plain data with overlays applied in order, and warnings; nothing is shared."""
    run = _OverlayRun(root, queries, max_depth)
    warnings: list[str] = []
    for overlay in overlays:
        for action in overlay.actions:
            run.overlay, run.action = overlay, action
            try:
                warnings += run.step()
            except QueryError as error:
                raise run.error(f"{run.text} {error}", "target") from None
    return run.root, warnings


class _OverlayRun:
    """Applies actions to a document and copies the values it changes; `own` has copies by id."""

    overlay: Overlay
    action: Action

    def __init__(self, root: Any, queries: Queries, max_depth: int) -> None:
        self.root, self.queries, self.max_depth = root, queries, max_depth
        self.copies: dict[int, Any] = {}
        self.added = 0

    @property
    def text(self) -> str:
        return f"{self.action.node['target']!r:.100}"

    def error(self, reason: str, *place: str | int) -> InvalidOverlay:
        is_of_fields = bool(place) and place[0] in FIELDS
        parent = self.action.fields if is_of_fields else ("actions", self.action.number)
        return self.overlay.error(reason, *parent, *place)

    def _warning(self, text: str) -> str:
        return f"{self.overlay.name}#/actions/{self.action.number}: {text}."

    def step(self) -> Iterator[str]:
        places = self.queries.find_locations(self.action.target, self.root)
        for pattern in sorted(self.queries.bad_patterns):
            yield self._warning(f"the pattern {pattern!r:.60} cannot be used and matches nothing")
        self.queries.bad_patterns.clear()
        if not self.action.kind:
            reason = "has neither 'remove' nor one of 'update' and 'copy', so it changes nothing"
            yield self._warning(reason)
        elif not places:
            yield self._warning(f"{self.text} selects nothing, so it changes nothing")
        elif self.action.kind == "remove":
            self._remove(places)
        else:
            yield from self._merge(places)

    def _remove(self, places: list[Location]) -> None:
        if () in places:
            raise self.error("the whole document cannot be removed.", "target")
        parents: dict[Location, set[str | int]] = {}
        for place in places:
            parents.setdefault(place[:-1], set()).add(place[-1])
        # The deepest parents first, so that no removal shifts a location that comes later.
        for parent in sorted(parents, key=len, reverse=True):
            node, keys = self._copy_path(parent), parents[parent]
            if isinstance(node, list):
                node[:] = [value for index, value in enumerate(node) if index not in keys]
            else:
                for key in keys:
                    del node[key]

    def _merge(self, places: list[Location]) -> Iterator[str]:
        value, is_1_0 = self._value(), self.overlay.is_1_0
        kinds = {_kind(self._value_at(place)) for place in places}
        self._check(kinds, value)
        if is_1_0 and "array" in kinds and isinstance(value, list):
            yield self._warning("Overlay 1.0 appends an array as one item; 1.1 concatenates arrays")
        size, depth = self._measure(value)
        self.queries.count_steps(size * len(places))
        if max(map(len, places)) + depth > self.max_depth:
            raise self.error(f"the document would be deeper than {self.max_depth} levels.")
        changes = [self._put(place, value) for place in places]
        if not any(changes):
            yield self._warning(f"{self.text} already has the value, so it changes nothing")

    def _value(self) -> Any:
        if self.action.source is None:
            return self.action.node["update"]
        locations = self.queries.find_locations(self.action.source, self.root)
        if len(locations) != 1:
            raise self.error(f"selects {len(locations)} values; it must select one.", "copy")
        return self._value_at(locations[0])

    def _check(self, kinds: set[str], value: Any) -> None:
        names = " and ".join(f"{kind}s" for kind in sorted(kinds))
        if "primitive" in kinds and self.overlay.is_1_0:
            hint = "update the object around them in Overlay 1.0, or use 1.1."
            raise self.error(f"{self.text} selects {names}; {hint}", "target")
        if len(kinds) > 1 and not self.overlay.is_1_0:
            raise self.error(f"{self.text} selects {names}; select one kind only.", "target")
        if not kinds <= {"array", _kind(value)}:
            reason = f"is {_A[_kind(value)]}, but the target selects {names}."
            raise self.error(reason, self.action.kind)

    def _put(self, place: Location, value: Any) -> bool:
        old = self._value_at(place)
        if isinstance(old, dict):
            return self._merge_objects(place, value)
        if isinstance(old, list):
            is_list = isinstance(value, list) and not self.overlay.is_1_0
            return self._append(self._copy_path(place), value if is_list else [value])
        self._copy_path(place[:-1])[place[-1]] = value
        return not is_equal(old, value)

    def _append(self, node: list[Any], values: list[Any]) -> bool:
        self._count_added(values)
        node += values
        return bool(values)

    def _merge_objects(self, place: Location, value: dict[str, Any]) -> bool:
        changed = False
        waiting: list[tuple[Any, dict[str, Any], Location]] = [(self._copy_path(place), value, ())]
        while waiting:
            node, new, inner = waiting.pop()
            for key, new_value in new.items():
                old = node.get(key)
                if key not in node:
                    self._count_added(new_value)
                    node[key], changed = new_value, True
                elif _kind(old) != _kind(new_value):
                    self._refuse(old, new_value, place, (*inner, key))
                elif isinstance(old, dict):
                    node[key] = old = self._copy_once(old)
                    waiting.append((old, new_value, (*inner, key)))
                elif isinstance(old, list):
                    node[key] = old = self._copy_once(old)
                    changed |= self._append(old, new_value)
                else:
                    node[key] = new_value
                    changed = changed or not is_equal(old, new_value)
        return changed

    def _refuse(self, old: Any, new: Any, place: Location, inner: Location) -> None:
        # An example of Overlay 1.0 has keys without a value, which are accepted.
        if new is not None or not self.overlay.is_1_0:
            reason = f"{_A[_kind(new)]} cannot be merged into {_A[_kind(old)]}"
            spot = join_pointer((*place, *inner))
            raise self.error(f"{reason}, at {spot} of the document.", self.action.kind, *inner)

    def _value_at(self, place: Location) -> Any:
        return reduce(getitem, place, self.root)

    def _copy_path(self, place: Location) -> Any:
        self.root = node = self._copy_once(self.root)
        for key in place:
            node[key] = node = self._copy_once(node[key])
        return node

    def _copy_once(self, node: Any) -> Any:
        if id(node) in self.copies:
            return node
        self.queries.count_steps(1 + len(node) // 16)
        copied = node.copy()
        self.copies[id(copied)] = copied
        return copied

    def _count_added(self, value: Any) -> None:
        self.added += self._measure(value)[0]
        if self.added > MAX_ADDED:
            raise self.error(f"the overlays add more than {MAX_ADDED:,} values.")

    def _measure(self, value: Any) -> tuple[int, int]:
        size, depth, level = 1, 0, [value]
        while level := [node for node in level if isinstance(node, dict | list)]:
            depth += 1
            size += sum(map(len, level))
            self.queries.count_steps(len(level))
            inner: list[Any] = []
            for node in level:
                self.copies.pop(id(node), None)
                inner += node.values() if isinstance(node, dict) else node
            level = inner
        return size, depth


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "primitive"
