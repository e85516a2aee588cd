"""OpenAPI Overlays: their keys, versions and reusable actions, checked before a load.

Spec: Overlay Specification 1.0.0, 1.1.0 and 1.2.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from openapi_tools.common.json_values import (
    dump_json_bytes,
    join_pointer,
    unescape_token,
)
from openapi_tools.common.options import close_names, similar_names
from openapi_tools.errors import InvalidOverlay
from openapi_tools.loading.json_paths import Queries, QueryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jsonpath import JSONPath

MAX_ACTIONS = 10_000

_Kinds: TypeAlias = "dict[str, tuple[type, str]]"
_STRING = (str, "a string")
_OBJECT = (dict, "an object")
_ROOT: _Kinds = {"overlay": _STRING, "$self": _STRING, "info": _OBJECT, "extends": _STRING}
_ROOT |= {"actions": (list, "an array"), "components": _OBJECT}
_INFO: _Kinds = {"title": _STRING, "version": _STRING, "description": _STRING}
FIELDS: _Kinds = {"description": _STRING, "copy": _STRING}
FIELDS |= {"update": (object, "a value"), "remove": (bool, "a boolean")}
_ACTION: _Kinds = {"target": _STRING, **FIELDS}
_COMPONENTS: _Kinds = {"actions": _OBJECT}
_REUSABLE: _Kinds = {"description": _STRING, "fields": _OBJECT}
_REFERENCE: _Kinds = {"$ref": _STRING, "target": _STRING, "description": _STRING}
# The minor version that has a key first, by the first key of its location.
_SINCE: dict[tuple[str | int, str], int] = {
    ("info", "description"): 1,
    ("actions", "copy"): 1,
    ("actions", "$ref"): 2,
    ("", "$self"): 2,
    ("", "components"): 2,
}
_VERSION = re.compile(r"1\.([012])\.[0-9]+")
_REUSABLE_ACTIONS = ("components", "actions")


@dataclass(frozen=True, slots=True)
class Action:
    """One action: its queries, and its place in messages; without `kind` it does nothing.

    `fields` is where all keys but the target are: in the action, or in a reusable one.
    """

    node: dict[str, Any]
    target: JSONPath
    source: JSONPath | None
    kind: str
    number: int
    fields: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Overlay:
    """A checked overlay; `name` is its path, bare URL or place in the list of overlays."""

    name: str
    minor: int
    uri: str  # `$self`, to which relative references belong
    extends: str
    actions: tuple[Action, ...]

    @property
    def is_1_0(self) -> bool:
        """Whether it is of Overlay 1.0, which treats arrays and primitives in another way."""
        return self.minor == 0

    def error(self, reason: str, *place: str | int) -> InvalidOverlay:
        """Return an error at a place of the overlay."""
        return InvalidOverlay(reason, source=self.name, pointer=join_pointer(place))


def read_overlay(node: dict[str, Any], name: str, queries: Queries) -> Overlay:
    """Return an overlay from its plain data; InvalidOverlay for a wrong key or query."""
    uri, extends = node.get("$self", ""), node.get("extends", "")
    overlay = Overlay(name, _read_minor(node, name), uri, extends, ())
    _check_node(overlay, node, _ROOT, ("overlay", "info", "actions"))
    _check_node(overlay, node["info"], _INFO, ("title", "version"), "info")
    for key in ("$self", "extends") if overlay.minor > 1 else ():
        if "#" in node.get(key, ""):
            raise overlay.error("must not have a fragment.", key)
    reusable = _read_reusable(overlay, node.get("components", {}))
    actions, seen = node["actions"], dict[bytes, int]()
    if not actions:
        raise overlay.error("is empty; an overlay has at least one action.", "actions")
    if len(actions) > MAX_ACTIONS:
        raise overlay.error(f"more than {MAX_ACTIONS:,} actions; split the overlay.", "actions")
    for number, action in enumerate(actions):
        is_reference = isinstance(action, dict) and "$ref" in action
        kinds, needed = (_REFERENCE if is_reference else _ACTION), ("target",)
        _check_node(overlay, action, kinds, needed, "actions", number)
        if (first := seen.setdefault(dump_json_bytes(action), number)) != number:
            raise overlay.error(
                f"is the same as action {first}; remove one of them.", "actions", number
            )
    checked = tuple(
        _create_action(overlay, action, number, reusable, queries)
        for number, action in enumerate(actions)
    )
    return replace(overlay, actions=checked)


def _read_minor(node: dict[str, Any], name: str) -> int:
    version, place = node.get("overlay"), "/overlay"
    if isinstance(version, str) and (match := _VERSION.fullmatch(version)):
        return int(match[1])
    reason = f"{version!r:.60} is not a version 1.0.x, 1.1.x or 1.2.x; write it in quotes."
    if "overlay" not in node:
        is_openapi = not node.keys().isdisjoint({"openapi", "swagger"})
        kind = "is an OpenAPI document, not an overlay" if is_openapi else "'overlay' is missing"
        reason, place = f"{kind}; an overlay begins with 'overlay: 1.1.0'.", ""
    raise InvalidOverlay(reason, source=name, pointer=place)


def _read_reusable(overlay: Overlay, components: Any) -> dict[str, dict[str, Any]]:
    """Return the fields of reusable actions by their names."""
    _check_node(overlay, components, _COMPONENTS, (), "components")
    actions = components.get("actions", {})
    if len(actions) > MAX_ACTIONS:
        reason = f"more than {MAX_ACTIONS:,} reusable actions; split the overlay."
        raise overlay.error(reason, *_REUSABLE_ACTIONS)
    for name, action in actions.items():
        _check_node(overlay, action, _REUSABLE, (), *_REUSABLE_ACTIONS, name)
        fields = action.get("fields", {})
        _check_node(overlay, fields, FIELDS, (), *_REUSABLE_ACTIONS, name, "fields")
    return {name: action.get("fields", {}) for name, action in actions.items()}


def _check_node(
    overlay: Overlay, node: Any, kinds: _Kinds, needed: Sequence[str], *place: str | int
) -> None:
    if not isinstance(node, dict):
        raise overlay.error("is not an object.", *place)
    for key in needed:
        if key not in node:
            raise overlay.error(f"{key!r} is missing.", *place)
    for key, value in node.items():
        since = _SINCE.get((place[0] if place else "", key), 0)
        if since > overlay.minor:
            reason = f"{key!r} needs Overlay 1.{since}; this is 1.{overlay.minor}."
            raise overlay.error(reason, *place, key)
        if key in kinds:
            kind, name = kinds[key]
            if not isinstance(value, kind):
                raise overlay.error(f"is not {name}.", *place, key)
        elif not key.startswith("x-"):
            names = similar_names(key, kinds, most=2) or kinds
            hint = f"did you mean {' or '.join(map(repr, names))}? Extensions begin with 'x-'."
            raise overlay.error(f"{key!r:.60} is unknown; {hint}", *place, key)


def _create_action(
    overlay: Overlay,
    node: dict[str, Any],
    number: int,
    reusable: dict[str, dict[str, Any]],
    queries: Queries,
) -> Action:
    place: tuple[str | int, ...] = ("actions", number)
    fields = place
    if "$ref" in node:
        name = _referenced_name(overlay, node["$ref"], reusable, *place, "$ref")
        fields = (*_REUSABLE_ACTIONS, name, "fields")
        node = {**reusable[name], "target": node["target"]}
    target = _compile_query(overlay, queries, node["target"], *place, "target")
    source = None
    if "copy" in node:
        source = _compile_query(overlay, queries, node["copy"], *fields, "copy")
    kinds = ["remove"] if node.get("remove") else [k for k in ("update", "copy") if k in node]
    kind = kinds[0] if len(kinds) == 1 else ""
    return Action(node, target, source, kind, number, fields)


def _referenced_name(
    overlay: Overlay, reference: str, reusable: dict[str, Any], *place: str | int
) -> str:
    prefix = f"#{join_pointer(_REUSABLE_ACTIONS)}/"
    if not reference.startswith(prefix):
        raise overlay.error(f"{reference!r:.100} does not begin with {prefix!r}.", *place)
    name = unescape_token(reference.removeprefix(prefix))
    if name not in reusable:
        hint = close_names(name, reusable)
        raise overlay.error(f"no reusable action is called {name!r:.60}{hint}", *place)
    return name


def _compile_query(overlay: Overlay, queries: Queries, query: str, *place: str | int) -> JSONPath:
    try:
        return queries.compile(query)
    except QueryError as error:
        raise overlay.error(f"{query!r:.100} {error}", *place) from None
