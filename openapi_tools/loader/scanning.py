"""The references in a document's data, and what stands where a schema belongs but is none.

`scan` looks at one component and says what is wrong with it. `reached` looks at all that some nodes
reach and says only whether something may be wrong: a sound document needs no more than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import UnresolvableReference
from openapi_tools.loader.keywords import KINDS, LIST, MAP, SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.loader.references import References

_HELD = {
    kind: frozenset(key for key, held in KINDS.items() if held == kind)
    for kind in (SCHEMA, MAP, LIST)
}
MAPS = _HELD[MAP] | {"content", "headers", "encoding"}
"""Members that hold objects by name."""
LISTS = _HELD[LIST] | {"items", "prefixEncoding"}
"""Members that hold arrays of objects; Swagger 2.0 and JSON Schema up to 2019 know such `items`."""
SINGLE = (_HELD[SCHEMA] - {"items"}) | {"schema", "itemSchema"}
"""Members that hold a schema and nothing else."""
HOLDING = MAPS | LISTS | SINGLE | {"itemEncoding"}
"""Where schemas and references stand that a request is made from. What other members hold, examples
for instance, nobody follows."""
_SCHEMAS = SINGLE | {"items"}
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
    faults = [] if isinstance(root, dict | bool) or root is None else [_no_schema(root)]
    stack = [root]
    while stack:
        node = stack.pop()
        if type(node) is list:
            stack += node
        elif type(node) is dict:
            if "$ref" in node:
                _note_reference(node["$ref"], refs, faults)
            for key, value in node.items():
                if key in HOLDING:
                    stack += _inside(key, value, faults)
    return Scan(tuple(refs), faults[0] if faults else "")


def _inside(key: str, value: Any, faults: list[str]) -> Iterable[Any]:
    """Return what may hold references in a member."""
    if type(value) is dict and key in MAPS:
        _check_schemas(value.values(), faults)
        return value.values()
    if type(value) is list and key in LISTS:
        _check_schemas(value, faults)
        return value
    if key in _SCHEMAS:
        _check_schemas((value,), faults)
    return (value,) if type(value) is dict else ()


def _note_reference(ref: Any, refs: dict[str, None], faults: list[str]) -> None:
    if isinstance(ref, str) and ref:
        refs[ref] = None
    else:
        faults.append(f"'$ref' is {ref!r:.60}; it must be a text that names a place.")


def _check_schemas(values: Iterable[Any], faults: list[str]) -> None:
    """Note what cannot be a schema, where schemas belong."""
    faults.extend(
        _no_schema(value)
        for value in values
        if type(value) is not dict and not isinstance(value, bool) and value is not None
    )


def _no_schema(value: Any) -> str:
    return f"a schema must be an object, this is {value!r:.60}."


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
        refs: set[str] = set()
        below = _below(level, refs)
        targets = _targets(refs - followed, references) if below is not None else None
        if below is None or targets is None:
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


def _below(  # noqa: C901 -- one loop: a call for each value doubles its cost
    level: list[Any], refs: set[str]
) -> list[Any] | None:
    """Return what has to be looked at inside some nodes, and note their references.

    None when one of them is faulty. What stands in the place of a schema is told from one later.
    """
    below: list[Any] = []
    for node in level:
        if node.__class__ is not dict:
            if node is None or node.__class__ is bool:
                continue
            return None
        for key in node:
            if key not in _WATCHED:  # before a look at the value, which may be far away in memory
                continue
            value = node[key]
            kind = value.__class__
            if key == "$ref":
                if kind is not str or not value:
                    return None
                refs.add(value)
            elif kind is dict:
                if key in MAPS:
                    below += value.values()
                else:
                    below.append(value)
            elif kind is list and key in LISTS:
                below += value
            elif key in _SCHEMAS and kind is not bool and value is not None:
                return None
    return below
