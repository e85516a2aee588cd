"""The references in a document's data, and objects of OpenAPI that are none.

`scan` looks at one component and says what is wrong with it. `reached` looks at all that some nodes
reach and says only whether something may be wrong: a sound document needs no more than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import UnresolvableReference
from openapi_tools.loading.schema_keywords import KINDS, LIST, MAP, SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.loading.references import References

_HELD = {
    kind: frozenset(key for key, held in KINDS.items() if held == kind)
    for kind in (SCHEMA, MAP, LIST)
}
_OBJECTS = frozenset({"content", "headers", "encoding", "prefixEncoding"})
"""Members that hold objects of OpenAPI, which say how a request is written."""
_MAPS, _LISTS = _HELD[MAP], _HELD[LIST]
_SINGLE = (_HELD[SCHEMA] - {"items"}) | {"schema", "itemSchema", "itemEncoding"}
HOLDING = _OBJECTS | _MAPS | _LISTS | _SINGLE | {"items"}
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


def scan(root: Any) -> Scan:
    """Return the references in a node, and the first malformed place."""
    refs: dict[str, None] = {}
    faults: list[str] = []
    level = [root]
    while level:
        level = _below(level, refs, faults)
    return Scan(tuple(refs), faults[0] if faults else "")


def reached(nodes: Iterable[dict[str, Any]], references: References) -> set[int] | None:
    """Return the identities of some nodes and of the components that they reach.

    Args:
        nodes: Of the entry document.
        references: Resolves `$ref`.

    Returns:
        None when `scan` would find a fault in one of them, and when a reference does not lead to a
        component of the document itself.
    """
    level: list[Any] = list(nodes)
    seen = set(map(id, level))
    followed: set[str] = set()
    while level:
        refs: dict[str, None] = {}
        faults: list[str] = []
        below = _below(level, refs, faults)
        targets = None if faults else _targets(refs.keys() - followed, references)
        if targets is None:
            return None
        fresh = {id(node): node for node in targets if id(node) not in seen}
        seen.update(fresh)
        followed.update(refs)
        level = [*below, *fresh.values()]
    return seen


def _targets(refs: Iterable[str], references: References) -> list[dict[str, Any]] | None:
    """Return the objects that references lead to, None when one of them leads elsewhere."""
    found = []
    for ref in refs:
        try:
            node = references.resolve(ref, references.entry).node if ref[:1] == "#" else None
        except UnresolvableReference:
            return None
        if type(node) is not dict or "$ref" in node:
            return None
        found.append(node)
    return found


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
            elif kind is dict and key in _MAPS:
                below += value.values()
            elif kind is dict and key not in _LISTS:
                below.append(value)
            elif kind is list and (key in _LISTS or key == "items"):
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
