"""The types of a tool's arguments, visible to clients that read `type` alone.

MCP Inspector and others choose an input by it: they send the object of a bare `$ref` as a string.

Spec: JSON Schema 2020-12, Core, section 8.2.3.1 (keywords beside `$ref`); Validation, 6.1.1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import (
    DEFINITIONS_PREFIX,
    UNIONS,
    ensure_items,
    is_type,
    reachable_definitions,
)
from openapi_tools.common.json_values import json_size, omit_keys, resolve_reference, unique_values

if TYPE_CHECKING:
    from openapi_tools.providers.identity_cache import SchemaSizes

    Schema = dict[str, Any]

_LONGEST_CHAIN = 16
_DEEPEST = 3  # unions in one another
_TYPE_BYTES = 20  # of a type beside a reference
_LARGEST_SHARE = 8  # a part of the budget
_VALUE_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_SCALARS = ("string", "integer", "number", "boolean", "null")


def add_visible_types(schema: Schema, limit: float, sizes: SchemaSizes, *, inline: bool) -> Schema:
    """Return an equivalent schema whose properties name their types, within `limit` bytes.

    `inline`: the target of a `$ref` stands in its place, for dialects with nothing beside a `$ref`.
    """
    properties = schema.get("properties", {})
    write_type = _inline_target if inline else _add_type
    typed = {name: write_type(node, schema) for name, node in properties.items()}
    changes = {name: node for name, node in typed.items() if node is not properties[name]}
    if not changes:
        return schema
    remaining = limit - sizes.size(schema) if limit < math.inf else math.inf
    savings = _find_savings(schema, sizes) if inline else {}
    for name in sorted(changes, key=lambda name: name not in schema.get("required", ())):
        cost = json_size(changes[name]) - json_size(properties[name])
        cost -= savings.get(_reference_of(properties[name]), 0)
        if cost > remaining:
            del changes[name]
        else:
            remaining -= cost
    visible = {**schema, "properties": {**properties, **changes}}
    return _drop_unused_definitions(visible) if inline and changes else visible


def reserve_for_types(schema: Schema, limit: int) -> int:
    """Return the bytes to reserve for types while a schema is shortened to `limit` bytes."""
    nodes = [node for node in schema.get("properties", {}).values() if isinstance(node, dict)]
    untyped = sum(node.get("type") not in _SCALARS for node in nodes)
    return min(untyped * _TYPE_BYTES, limit // _LARGEST_SHARE)


def types_of(node: Any, root: Schema, depth: int = _DEEPEST) -> list[str]:
    """Return the types that a schema allows, as far as it names them; none where any may fit."""
    target = find_target(node, root)
    types = target.get("type", [])
    if types or depth == 0:
        return list(types) if isinstance(types, list) else [types]
    if isinstance(target.get("enum"), list):
        return _enum_types(target["enum"])
    for union in UNIONS:
        branches: list[list[str]] = []
        for part in target.get(union, ()):
            branches.append(types_of(part, root, depth - 1))
            if not branches[-1]:  # the others change nothing, and may be many at each level
                break
        if branches and all(branches):
            return unique_values(name for names in branches for name in names)
    parts = [types_of(part, root, depth - 1) for part in target.get("allOf", ())]
    return next((names for names in parts if names), [])


def _enum_types(values: list[Any]) -> list[str]:
    names = (next(name for name in _VALUE_TYPES if is_type(value, name)) for value in values)
    return list(dict.fromkeys(names))


def _add_type(node: Any, root: Schema) -> Any:
    if not isinstance(node, dict) or "type" in node:
        return node
    types = types_of(node, root)
    # `items` beside the type of an array, which clients ask for, would settle the items.
    if not types or ("array" in types and "unevaluatedItems" in node):
        return node
    typed = {**node, "type": types[0] if len(types) == 1 else types}
    target = find_target(node, root)
    if "array" in types and "items" in target and "prefixItems" not in target:
        # Some clients let what stands beside a `$ref` override the target: `{}` would hide these.
        typed["items"] = target["items"]
    return ensure_items(typed)


def _inline_target(node: Any, root: Schema) -> Any:
    reference = _reference_of(node)
    target = find_target({"$ref": reference}, root) if reference else {}
    siblings = omit_keys(node, ["anyOf", "$ref"]) if reference else {}  # also `nullable` of Gemini
    return {**target, **siblings} if "type" in target else node


def _reference_of(node: Any) -> str:
    if not isinstance(node, dict):
        return ""
    branches: list[Any] = node.get("anyOf", [])
    reference: str = (branches[0] if len(branches) == 1 else node).get("$ref", "")
    return reference


def _find_savings(schema: Schema, sizes: SchemaSizes) -> dict[str, int]:
    uses = sizes.count_references(schema)
    return {
        DEFINITIONS_PREFIX + name: sizes.definition_size(node)
        for name, node in schema.get("$defs", {}).items()
        if uses[name] == 1
    }


def find_target(node: Any, root: Schema) -> Schema:
    """Return the schema that a chain of `$ref` leads to; empty where it leads nowhere."""
    for _ in range(_LONGEST_CHAIN):
        reference = node.get("$ref") if isinstance(node, dict) else None
        if not isinstance(reference, str):
            break
        node = resolve_reference(root, reference)
    return node if isinstance(node, dict) else {}


def _drop_unused_definitions(schema: Schema) -> Schema:
    rest = omit_keys(schema, ["$defs"])
    definitions = reachable_definitions(rest, schema.get("$defs", {}))
    return {**rest, "$defs": definitions} if definitions else rest
