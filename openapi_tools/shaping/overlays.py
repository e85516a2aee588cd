"""OpenAPI Overlays: check them, and apply them to a document as plain data.

The document is never changed: an object or array is copied when an action first changes it, and all
others are shared between the old and the new document.

Spec: Overlay Specification 1.0.0 and 1.1.0.
"""

from __future__ import annotations

import difflib
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import InvalidOverlay
from openapi_tools.json_values import compact, pointer, same
from openapi_tools.shaping.json_paths import Queries, QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jsonpath import JSONPath

    from openapi_tools.shaping.json_paths import Place

MAX_ACTIONS = 10_000
MAX_ADDED = 2_000_000
"""Values that the overlays of one load may add to a document."""

_VERSION = re.compile(r"1\.([01])\.[0-9]+")
_ROOT = {"overlay": "a text", "info": "an object", "extends": "a text", "actions": "an array"}
_INFO = {"title": "a text", "version": "a text", "description": "a text"}
_ACTION = {
    "target": "a text",
    "description": "a text",
    "remove": "a boolean",
    "copy": "a text",
    "update": "a value",
}
_KINDS = {"a text": str, "an object": dict, "an array": list, "a boolean": bool, "a value": object}
_A = {"object": "an object", "array": "an array", "primitive": "a primitive value"}
_OF_1_1 = {"info": "description", "action": "copy"}


@dataclass(frozen=True, slots=True)
class Action:
    """One action: what it selects, and what it does there.

    `kind` is `"remove"`, `"update"`, `"copy"`, or empty for one that does nothing.
    """

    number: int
    text: str
    target: JSONPath
    kind: str
    value: Any = None
    source: JSONPath | None = None


@dataclass(frozen=True, slots=True)
class Overlay:
    """A checked overlay; `name` is its path, bare URL or place in the list of overlays."""

    name: str
    is_1_0: bool
    extends: str
    actions: tuple[Action, ...]


def read_overlay(node: Any, name: str, queries: Queries) -> Overlay:
    """Return an overlay from its plain data.

    Raises:
        InvalidOverlay: A member is missing, unknown or of a wrong type, or a query is wrong.
    """
    return _Reader(name, queries).overlay(node)


class _Reader:
    """Checks the parts of one overlay; `minor` is of its version."""

    def __init__(self, name: str, queries: Queries) -> None:
        self.name, self.queries, self.minor = name, queries, "1"

    def overlay(self, node: Any) -> Overlay:
        self.minor = self._minor(node)
        self._check(node, _ROOT, ("overlay", "info", "actions"), "overlay")
        self._check(node["info"], _INFO, ("title", "version"), "info", "info")
        actions = node["actions"]
        if not actions:
            raise self._error("is empty; an overlay has at least one action.", "actions")
        if len(actions) > MAX_ACTIONS:
            raise self._error(f"more than {MAX_ACTIONS:,} actions; split the overlay.", "actions")
        for number, action in enumerate(actions):
            self._check(action, _ACTION, ("target",), "action", "actions", number)
        self._refuse_repeated(actions)
        made = tuple(self._action(number, action) for number, action in enumerate(actions))
        return Overlay(self.name, self.minor == "0", node.get("extends", ""), made)

    def _minor(self, node: Any) -> str:
        if "overlay" not in node:
            is_openapi = "openapi" in node or "swagger" in node
            kind = "is an OpenAPI document, not an overlay" if is_openapi else "lacks 'overlay'"
            raise self._error(f"{kind}; an overlay begins with 'overlay: 1.1.0'.")
        version = node["overlay"]
        if not isinstance(version, str):
            raise self._error(f"{version!r:.60} is not a text; put it in quotes.", "overlay")
        if (match := _VERSION.fullmatch(version)) is None:
            raise self._error(f"{version!r:.60} is not a version 1.0.x or 1.1.x.", "overlay")
        return match[1]

    def _check(
        self, node: Any, known: dict[str, str], needed: Sequence[str], what: str, *place: str | int
    ) -> None:
        """Refuse missing, unknown and wrong members."""
        if not isinstance(node, dict):
            raise self._error("is not an object.", *place)
        for key in needed:
            if key not in node:
                raise self._error(f"lacks {key!r}.", *place)
        is_new = {_OF_1_1.get(what)} if self.minor == "0" else set()
        for key, value in node.items():
            if key in known and key not in is_new:
                if not isinstance(value, _KINDS[known[key]]):
                    raise self._error(f"is not {known[key]}.", *place, key)
            elif not key.startswith("x-"):
                raise self._error(self._unknown(key, known, is_new), *place, key)

    def _unknown(self, key: str, known: Iterable[str], is_new: set[str | None]) -> str:
        if key in is_new:
            return f"{key!r} is of Overlay 1.1; this overlay says 1.0."
        close = difflib.get_close_matches(key, known, n=2) or known
        hint = " or ".join(map(repr, close))
        return f"{key!r:.60} is unknown; did you mean {hint}? Extensions begin with 'x-'."

    def _refuse_repeated(self, actions: list[Any]) -> None:
        seen: dict[bytes, int] = {}
        for number, action in enumerate(actions):
            first = seen.setdefault(compact(action), number)
            if first != number:
                raise self._error(f"equals action {first}; remove one.", "actions", number)

    def _action(self, number: int, node: dict[str, Any]) -> Action:
        target = self._query(node["target"], number, "target")
        source = self._query(node["copy"], number, "copy") if "copy" in node else None
        kinds = [kind for kind in ("update", "copy") if kind in node]
        kind = "remove" if node.get("remove") else kinds[0] if len(kinds) == 1 else ""
        return Action(number, node["target"], target, kind, node.get("update"), source)

    def _query(self, text: str, number: int, member: str) -> JSONPath:
        try:
            return self.queries.compile(text)
        except QueryError as error:
            raise self._error(f"{text!r:.100} {error}", "actions", number, member) from None

    def _error(self, reason: str, *place: str | int) -> InvalidOverlay:
        return InvalidOverlay(reason, source=self.name, pointer=pointer(place))


def apply_overlays(
    root: Any, overlays: Sequence[Overlay], queries: Queries, *, max_depth: int
) -> tuple[Any, list[str]]:
    """Return a document with overlays applied in order, and warnings.

    Args:
        root: Plain data; shared values count as separate ones. It is not changed.
        overlays: Made by `read_overlay` with the same `queries`.
        queries: Bounds the work.
        max_depth: The most objects and arrays inside one another.

    Raises:
        InvalidOverlay: An action does not fit the document, or is too much work.
    """
    tree = _Tree(root, queries, max_depth)
    queries.meter.left = queries.meter.steps  # of one document
    warnings: list[str] = []
    for overlay in overlays:
        for action in overlay.actions:
            step = _Step(tree, overlay, action)
            with step.errors():
                warnings += step.run()
    return tree.root, warnings


class _Tree:
    """A document that copies what is changed: `own` holds the copies, by identity."""

    def __init__(self, root: Any, queries: Queries, max_depth: int) -> None:
        self.root, self.queries, self.max_depth = root, queries, max_depth
        self.own: dict[int, Any] = {}
        self.added = 0

    def at(self, place: Place) -> Any:
        """Return the value at a place."""
        node = self.root
        for key in place:
            node = node[key]
        return node

    def mine(self, place: Place) -> Any:
        """Return the object or array at a place, which may then be changed."""
        self.root = node = self.copied(self.root)
        for key in place:
            node[key] = node = self.copied(node[key])
        return node

    def copied(self, node: Any) -> Any:
        """Return a copy of an object or array; itself if it is a copy already."""
        if id(node) in self.own:
            return node
        self.queries.meter.spend(1 + len(node) // 16)
        made = node.copy()
        self.own[id(made)] = made
        return made

    def measure(self, value: Any) -> tuple[int, int]:
        """Return how many values one holds, and its depth; changes will copy all of it."""
        size = depth = 0
        level = [value]
        while level := [node for node in level if isinstance(node, dict | list)]:
            depth += 1
            size += sum(map(len, level))
            self.queries.meter.spend(len(level))
            inner: list[Any] = []
            for node in level:
                self.own.pop(id(node), None)
                inner += node.values() if isinstance(node, dict) else node
            level = inner
        return size + 1, depth


class _Step:
    """One action on one document."""

    def __init__(self, tree: _Tree, overlay: Overlay, action: Action) -> None:
        self.tree, self.overlay, self.action = tree, overlay, action

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say which target takes too much work."""
        try:
            yield
        except QueryError as error:
            raise self.error(f"{self.action.text!r:.100} {error}", "target") from None

    def error(self, reason: str, *place: str | int) -> InvalidOverlay:
        where = pointer(("actions", self.action.number, *place))
        return InvalidOverlay(reason, source=self.overlay.name, pointer=where)

    def run(self) -> Iterator[str]:
        """Do it, and yield warnings."""
        action, tree = self.action, self.tree
        places = tree.queries.select(action.target, tree.root)
        bad = tree.queries.meter.bad_patterns
        while bad:
            pattern, _ = bad.popitem()
            yield self._said(f"the pattern {pattern!r:.60} cannot be used, and matches nothing")
        if not action.kind:
            reason = "has neither 'remove' nor one of 'update' and 'copy', so nothing is changed"
            yield self._said(reason)
        elif not places:
            yield self._said(f"{action.text!r:.100} selects nothing, so nothing is changed")
        elif action.kind == "remove":
            self._remove(places)
        else:
            yield from self._merge(places)

    def _said(self, text: str) -> str:
        return f"{self.overlay.name}#/actions/{self.action.number}: {text}."

    def _remove(self, places: list[Place]) -> None:
        if () in places:
            raise self.error("the whole document cannot be removed.", "target")
        parents: dict[Place, set[str | int]] = {}
        for place in places:
            parents.setdefault(place[:-1], set()).add(place[-1])
        # The deepest parents first: then no place moves before its turn.
        for parent in sorted(parents, key=len, reverse=True):
            node, keys = self.tree.mine(parent), parents[parent]
            if isinstance(node, list):
                node[:] = [value for index, value in enumerate(node) if index not in keys]
            else:
                for key in keys:
                    del node[key]

    def _merge(self, places: list[Place]) -> Iterator[str]:
        """Merge a value into each selected one, and yield warnings."""
        value, is_1_0 = self._value(), self.overlay.is_1_0
        kinds = {_kind(self.tree.at(place)) for place in places}
        if len(kinds) > 1 and not is_1_0:
            names = " and ".join(f"{kind}s" for kind in sorted(kinds))
            reason = f"{self.action.text!r:.100} selects {names}; select one kind only."
            raise self.error(reason, "target")
        for kind in kinds:
            self._check(kind, value)
        if is_1_0 and "array" in kinds and isinstance(value, list):
            yield self._said("Overlay 1.0 appends an array as one entry, 1.1 joins arrays")
        size, depth = self.tree.measure(value)
        self.tree.queries.meter.spend(size * len(places))
        if max(map(len, places)) + depth > self.tree.max_depth:
            raise self.error(f"the document would be deeper than {self.tree.max_depth} levels.")
        changes = [self._put(place, value) for place in places]
        if not any(changes):
            yield self._said(f"{self.action.text!r:.100} has the value already; nothing is changed")

    def _value(self) -> Any:
        if self.action.source is None:
            return self.action.value
        found = self.tree.queries.select(self.action.source, self.tree.root)
        if len(found) != 1:
            raise self.error(f"selects {len(found)} values; it must select one.", "copy")
        return self.tree.at(found[0])

    def _check(self, kind: str, value: Any) -> None:
        """Refuse a value that does not go with the selected kind."""
        if kind == "primitive" and self.overlay.is_1_0:
            reason = "selects a primitive value, which Overlay 1.1 can update; in 1.0 "
            hint = "update the object around it."
            raise self.error(f"{self.action.text!r:.100} {reason}{hint}", "target")
        if kind not in ("array", _kind(value)):
            reason = f"is {_A[_kind(value)]}, but the target selects {kind}s."
            raise self.error(reason, self.action.kind)

    def _put(self, place: Place, value: Any) -> bool:
        """Merge a value into the one at a place, and tell whether that changes it."""
        old = self.tree.at(place)
        if isinstance(old, dict):
            return self._merge_objects(place, value)
        if isinstance(old, list):
            is_list = isinstance(value, list) and not self.overlay.is_1_0
            return self._append(self.tree.mine(place), value if is_list else [value])
        self.tree.mine(place[:-1])[place[-1]] = value
        return not same(old, value)

    def _append(self, node: list[Any], values: list[Any]) -> bool:
        self._count(values)
        node += values
        return bool(values)

    def _count(self, value: Any) -> None:
        self.tree.added += self.tree.measure(value)[0]
        if self.tree.added > MAX_ADDED:
            raise self.error(f"the overlays add more than {MAX_ADDED:,} values.")

    def _merge_objects(self, place: Place, value: dict[str, Any]) -> bool:
        changed = False
        waiting: list[tuple[Any, dict[str, Any], Place]] = [(self.tree.mine(place), value, ())]
        while waiting:
            node, new, inner = waiting.pop()
            for key, member in new.items():
                if key not in node:
                    self._count(member)
                    node[key], changed = member, True
                    continue
                old = node[key]
                if _kind(old) != _kind(member):
                    self._refuse(old, member, place, (*inner, key))
                elif isinstance(old, dict):
                    node[key] = old = self.tree.copied(old)
                    waiting.append((old, member, (*inner, key)))
                elif isinstance(old, list):
                    node[key] = old = self.tree.copied(old)
                    changed |= self._append(old, member)
                else:
                    node[key] = member
                    changed = changed or not same(old, member)
        return changed

    def _refuse(self, old: Any, member: Any, place: Place, inner: Place) -> None:
        """Refuse a member of another kind; Overlay 1.0 shows members without value, for order."""
        if member is None and self.overlay.is_1_0:
            return
        reason = f"{_A[_kind(member)]} cannot be merged into {_A[_kind(old)]}"
        spot = pointer((*place, *inner))
        raise self.error(f"{reason}, at {spot} of the document.", self.action.kind, *inner)


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "primitive"
