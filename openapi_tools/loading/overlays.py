"""OpenAPI Overlays: check them, and apply them to a document as plain data.

The document is never changed: an object or array is copied when an action first changes it, and all
others are shared between the old and the new document.

Spec: Overlay Specification 1.0.0 and 1.1.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import reduce
from operator import getitem
from typing import TYPE_CHECKING, Any, TypeAlias

from openapi_tools.common.json_values import dump_json_bytes, is_equal, join_pointer
from openapi_tools.common.options import similar_names
from openapi_tools.errors import InvalidOverlay
from openapi_tools.loading.json_paths import Queries, QueryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jsonpath import JSONPath

    from openapi_tools.loading.json_paths import Location

MAX_ACTIONS = 10_000
MAX_ADDED = 2_000_000  # values that the overlays of one load may add to a document

_Kinds: TypeAlias = "dict[str, tuple[type, str]]"
_STRING = (str, "a string")
_ROOT: _Kinds = {"overlay": _STRING, "info": (dict, "an object"), "extends": _STRING}
_ROOT |= {"actions": (list, "an array")}
_INFO: _Kinds = {"title": _STRING, "version": _STRING, "description": _STRING}
_ACTION: _Kinds = {"target": _STRING, "description": _STRING, "copy": _STRING}
_ACTION |= {"update": (object, "a value"), "remove": (bool, "a boolean")}
# Keys that only Overlay 1.1 has, by the first key of their location.
_LATER: dict[str | int, str] = {"info": "description", "actions": "copy"}
_VERSION = re.compile(r"1\.([01])\.[0-9]+")
_A = {"object": "an object", "array": "an array", "primitive": "a primitive value"}


@dataclass(frozen=True, slots=True)
class Action:
    """One action: its queries, and its place in messages; without `kind` it does nothing."""

    node: dict[str, Any]
    target: JSONPath
    source: JSONPath | None
    kind: str
    number: int


@dataclass(frozen=True, slots=True)
class Overlay:
    """A checked overlay; `name` is its path, bare URL or place in the list of overlays."""

    name: str
    is_1_0: bool
    extends: str
    actions: tuple[Action, ...]

    def error(self, reason: str, *place: str | int) -> InvalidOverlay:
        """Return an error at a place of the overlay."""
        return InvalidOverlay(reason, source=self.name, pointer=join_pointer(place))


def read_overlay(node: dict[str, Any], name: str, queries: Queries) -> Overlay:
    """Return an overlay from its plain data; InvalidOverlay for a wrong key or query."""
    overlay = Overlay(name, _is_1_0(node, name), node.get("extends", ""), ())
    _check_node(overlay, node, _ROOT, ("overlay", "info", "actions"))
    _check_node(overlay, node["info"], _INFO, ("title", "version"), "info")
    actions, seen = node["actions"], dict[bytes, int]()
    if not actions:
        raise overlay.error("is empty; an overlay has at least one action.", "actions")
    if len(actions) > MAX_ACTIONS:
        raise overlay.error(f"more than {MAX_ACTIONS:,} actions; split the overlay.", "actions")
    for number, action in enumerate(actions):
        _check_node(overlay, action, _ACTION, ("target",), "actions", number)
        if (first := seen.setdefault(dump_json_bytes(action), number)) != number:
            raise overlay.error(
                f"is the same as action {first}; remove one of them.", "actions", number
            )
    checked = tuple(
        _create_action(overlay, action, number, queries) for number, action in enumerate(actions)
    )
    return replace(overlay, actions=checked)


def _is_1_0(node: dict[str, Any], name: str) -> bool:
    version, place = node.get("overlay"), "/overlay"
    if isinstance(version, str) and (match := _VERSION.fullmatch(version)):
        return match[1] == "0"
    reason = f"{version!r:.60} is not a version 1.0.x or 1.1.x; write it in quotes."
    if "overlay" not in node:
        is_openapi = not node.keys().isdisjoint({"openapi", "swagger"})
        kind = "is an OpenAPI document, not an overlay" if is_openapi else "'overlay' is missing"
        reason, place = f"{kind}; an overlay begins with 'overlay: 1.1.0'.", ""
    raise InvalidOverlay(reason, source=name, pointer=place)


def _check_node(
    overlay: Overlay, node: Any, kinds: _Kinds, needed: Sequence[str], *place: str | int
) -> None:
    if not isinstance(node, dict):
        raise overlay.error("is not an object.", *place)
    for key in needed:
        if key not in node:
            raise overlay.error(f"{key!r} is missing.", *place)
    for key, value in node.items():
        if overlay.is_1_0 and place and _LATER[place[0]] == key:
            raise overlay.error(f"{key!r} needs Overlay 1.1; this is 1.0.", *place, key)
        if key in kinds:
            kind, name = kinds[key]
            if not isinstance(value, kind):
                raise overlay.error(f"is not {name}.", *place, key)
        elif not key.startswith("x-"):
            names = similar_names(key, kinds, most=2) or kinds
            hint = f"did you mean {' or '.join(map(repr, names))}? Extensions begin with 'x-'."
            raise overlay.error(f"{key!r:.60} is unknown; {hint}", *place, key)


def _create_action(overlay: Overlay, node: dict[str, Any], number: int, queries: Queries) -> Action:
    queries_by_key: dict[str, JSONPath] = {}
    for member in ("target", "copy"):
        try:
            if member in node:
                queries_by_key[member] = queries.compile(node[member])
        except QueryError as error:
            reason = f"{node[member]!r:.100} {error}"
            raise overlay.error(reason, "actions", number, member) from None
    kinds = [kind for kind in ("update", "copy") if kind in node]
    kind = "remove" if node.get("remove") else kinds[0] if len(kinds) == 1 else ""
    return Action(node, queries_by_key["target"], queries_by_key.get("copy"), kind, number)


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
        self.own: dict[int, Any] = {}
        self.added = 0

    @property
    def text(self) -> str:
        return f"{self.action.node['target']!r:.100}"

    def error(self, reason: str, *place: str | int) -> InvalidOverlay:
        return self.overlay.error(reason, "actions", self.action.number, *place)

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
        # The deepest parents first: then no place moves before its turn.
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
            for key, member in new.items():
                old = node.get(key)
                if key not in node:
                    self._count_added(member)
                    node[key], changed = member, True
                elif _kind(old) != _kind(member):
                    self._refuse(old, member, place, (*inner, key))
                elif isinstance(old, dict):
                    node[key] = old = self._copy_once(old)
                    waiting.append((old, member, (*inner, key)))
                elif isinstance(old, list):
                    node[key] = old = self._copy_once(old)
                    changed |= self._append(old, member)
                else:
                    node[key] = member
                    changed = changed or not is_equal(old, member)
        return changed

    def _refuse(self, old: Any, member: Any, place: Location, inner: Location) -> None:
        # An example of Overlay 1.0 has keys without a value, which are accepted.
        if member is not None or not self.overlay.is_1_0:
            reason = f"{_A[_kind(member)]} cannot be merged into {_A[_kind(old)]}"
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
        if id(node) in self.own:
            return node
        self.queries.count_steps(1 + len(node) // 16)
        copied = node.copy()
        self.own[id(copied)] = copied
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
                self.own.pop(id(node), None)
                inner += node.values() if isinstance(node, dict) else node
            level = inner
        return size, depth


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "primitive"
