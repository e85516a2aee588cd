"""Duplicate keys in an object of a document, of which parsers keep the last value.

Spec: RFC 8259, section 4 (names should be unique); YAML 1.2.2, section 3.2.1.3 (keys are unique).
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import SCHEMA_MAP_KEYWORDS
from openapi_tools.common.json_values import Node, join_pointer
from openapi_tools.errors import InvalidDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_DOCUMENTATION = frozenset({"description", "summary", "title", "example"})
# Properties whose value is a map: its keys are names that users chose, even `description`.
_MAPS = (
    SCHEMA_MAP_KEYWORDS
    | {"additionalOperations", "callbacks", "content", "dependencies", "dependentRequired"}
    | {"encoding", "examples", "headers", "links", "mapping", "mediaTypes", "parameters"}
    | {"pathItems", "paths", "requestBodies", "responses", "schemas", "scopes", "variables"}
    | {"securityDefinitions", "securitySchemes", "webhooks"}
)


def find_duplicate_keys(
    data: bytes, *, strict: bool, read_float: Callable[[str], object]
) -> Iterator[str]:
    """Yield a warning for each duplicate key of valid JSON; if strict, raise as below.

    `read_float` is called with each number that has a fraction or an exponent.
    """
    # The hook sees no path; so duplicates are found by identity, and placed by a second walk.
    duplicates: dict[int, tuple[Any, list[str]]] = {}

    def collect(pairs: list[tuple[str, Any]]) -> Node:
        node = dict(pairs)
        if len(node) != len(pairs):
            counts = Counter(key for key, _ in pairs)
            duplicates[id(node)] = node, [key for key, count in counts.items() if count > 1]
        return node

    root = json.loads(data, object_pairs_hook=collect, parse_float=read_float)
    stack: list[tuple[Any, list[str | int]]] = [(root, [])] if duplicates else []
    while stack:
        node, path = stack.pop()
        _, keys = duplicates.get(id(node), (None, ()))
        yield from (duplicate_key_warning(path, key, strict=strict) for key in keys)
        items = list(node.items() if isinstance(node, dict) else enumerate(node))
        inner = [(item, [*path, key]) for key, item in items if isinstance(item, (dict, list))]
        stack += reversed(inner)


def duplicate_key_warning(
    path: Sequence[str | int], key: str, *, strict: bool, line: int | None = None
) -> str:
    """Return the warning for a duplicate key; if strict, InvalidDocument where it hides a value."""
    place = "" if line is None else f" (again in line {line})"
    is_map = bool(path) and path[-1] in _MAPS
    # What a request is made of must not be hidden; a doubled description does no harm.
    is_documentation = (key in _DOCUMENTATION or key.startswith("x-")) and not is_map
    if not strict or is_documentation:
        effect = "both are merged" if key == "<<" else "the last one counts"
        return f"{join_pointer([*path, key])}: {key!r} is a duplicate key{place}; {effect}."
    raise InvalidDocument(
        f"{key!r} is a duplicate key in one object{place} and replaces the first; "
        "remove one of them.",
        pointer=join_pointer(path),
    )
