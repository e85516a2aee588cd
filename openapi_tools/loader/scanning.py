"""The references in a document's data, and what stands where a schema belongs but is none.

`scan` looks at one component and says what is wrong with it. `reached` looks at all that some nodes
reach and says only whether something may be wrong: a sound document needs no more than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import UnresolvableReference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.loader.references import References

_MAPS = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "content"}
    | {"headers", "encoding", "schemas"}
)
LITERALS = frozenset(
    {"example", "examples", "default", "enum", "const", "description", "mapping", "discriminator"}
    | {"type", "format", "title", "pattern", "nullable", "required", "deprecated", "readOnly"}
    | {"minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minimum", "maximum"}
    | {
        "name",
        "in",
        "style",
        "explode",
        "allowEmptyValue",
        "summary",
        "collectionFormat",
        "contentType",
        "xml",
    }
)
"""Members in which neither a schema nor a reference belongs, whatever they hold."""
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_SINGLE = frozenset({"schema", "additionalProperties", "not", "contains", "itemSchema"})
_SCHEMAS = _SINGLE | {"items"}
_LISTED = _SCHEMAS | _LISTS
_WATCHED = _SCHEMAS | {"$ref"}


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
                if type(value) is dict or type(value) is list:
                    stack += _inside(key, value, faults)
                elif key in _SCHEMAS:
                    _check_schemas((value,), faults)
    return Scan(tuple(refs), faults[0] if faults else "")


def _inside(key: str, value: Any, faults: list[str]) -> Iterable[Any]:
    """Return what may hold references in a member that is an object or an array."""
    if type(value) is dict and key in _MAPS:
        _check_schemas(value.values(), faults)
        return value.values()
    if type(value) is list and key in _LISTED:
        if key in _SINGLE:
            faults.append(_no_schema(value))
        _check_schemas(value, faults)
        return value
    if key in LITERALS or key.startswith("x-"):
        return ()
    return (value,)


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
            node = references.resolve(ref, references.entry).node if ref[0] == "#" else None
        except UnresolvableReference:
            return None
        if type(node) is not dict or "$ref" in node:
            return None
        found.append(node)
    return found


def _below(  # noqa: C901, PLR0912 -- one loop: a call for each value doubles its cost
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
            if key in LITERALS:  # before a look at the value, which may be far away in memory
                continue
            value = node[key]
            kind = value.__class__
            if kind is str:
                if key in _WATCHED:
                    if key != "$ref" or not value:
                        return None
                    refs.add(value)
            elif key == "$ref":
                return None
            elif kind is dict:
                if key in _MAPS:
                    below += value.values()
                elif not key.startswith("x-"):
                    below.append(value)
            elif kind is list:
                if key in _LISTED:
                    if key in _SINGLE:
                        return None
                    below += value
                elif not key.startswith("x-"):
                    below += _objects(value)
            elif key in _SCHEMAS and kind is not bool and value is not None:
                return None
    return below


def _objects(values: list[Any]) -> list[dict[str, Any]]:
    """Return the objects in an array, those in arrays inside it too."""
    found = []
    stack = values[:]
    while stack:
        value = stack.pop()
        if type(value) is dict:
            found.append(value)
        elif type(value) is list:
            stack += value
    return found
