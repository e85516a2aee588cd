"""The references in a document's data, and malformed objects of OpenAPI."""

from __future__ import annotations

from typing import Any, NamedTuple

from openapi_tools.loading.keyword_values import LISTS, MAPS, ONE

_OBJECTS = frozenset({"content", "headers", "encoding", "prefixEncoding"})
"""Members that hold objects of OpenAPI, which say how a request is written."""
_SINGLE = (ONE - {"items"}) | {"schema", "itemSchema", "itemEncoding"}
HOLDING = _OBJECTS | MAPS | LISTS | _SINGLE | {"items"}
"""Members in which a request's schemas and references stand; no other one is looked into.

`items` may be a list in Swagger 2.0, and in JSON Schema up to 2019.
"""
_WATCHED = HOLDING | {"$ref"}


class Scan(NamedTuple):
    """What one component says.

    Attributes:
        refs: Its references, each once.
        fault: The first thing that is wrong with it; empty when nothing is.
    """

    refs: tuple[str, ...]
    fault: str


def may_refer(node: Any) -> bool:
    """Tell whether a node has members that may hold references."""
    return node.__class__ is dict and not _WATCHED.isdisjoint(node)


def scan(root: Any) -> Scan:
    """Return the references in a node, and the first malformed place."""
    refs: dict[str, None] = {}
    faults: list[str] = []
    level = [root]
    while level:
        level = _below(level, refs, faults)
    return Scan(tuple(refs), faults[0] if faults else "")


def _below(level: list[Any], refs: dict[str, None], faults: list[str]) -> list[Any]:
    """Return what has to be looked at inside some nodes; note their references and faults."""
    below: list[Any] = []
    for node in level:
        for key in node if node.__class__ is dict else ():
            if key not in _WATCHED:  # before a look at the value, which may be far away in memory
                continue
            value = node[key]
            kind = value.__class__
            if key == "$ref" and kind is str and value:
                refs[value] = None
            elif key == "$ref":
                faults.append(f"'$ref' is {value!r:.60}; it must be a text that names a place.")
            elif key in _OBJECTS:
                below += _objects(key, value, faults)
            elif kind is dict and key in MAPS:
                below += value.values()
            elif kind is dict and key not in LISTS:
                below.append(value)
            elif kind is list and (key in LISTS or key == "items"):
                below += value
    return below


def _objects(key: str, value: Any, faults: list[str]) -> list[Any]:
    """Return the objects of OpenAPI in a member."""
    found: list[Any] = []
    if isinstance(value, list) and key == "prefixEncoding":
        found = value
    elif isinstance(value, dict) and key != "prefixEncoding":
        found = list(value.values())
    faults += [
        f"{key!r} must hold objects, this is {each!r:.60}."
        for each in found
        if not isinstance(each, dict | bool) and each is not None
    ]
    return found
