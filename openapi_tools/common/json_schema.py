"""JSON Schema 2020-12: its keywords, types, and one visitor of the schemas inside a schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from operator import is_
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import omit_keys, parse_integer, unescape_token

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int, float),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
ASSERTION_KEYWORDS = frozenset(
    {"const", "dependentRequired", "enum", "exclusiveMaximum", "exclusiveMinimum", "maxItems"}
    | {"maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum"}
    | {"multipleOf", "pattern", "required", "type", "uniqueItems"}
)
"""Keywords that assert something of a value without applying another schema to any of it."""
SCHEMA_KEYWORDS = frozenset(
    {"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
SCHEMA_LIST_KEYWORDS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_MAP_KEYWORDS = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)
UNIONS = ("anyOf", "oneOf")
DEFINITIONS_PREFIX = "#/$defs/"
SUBSCHEMA_KEYWORDS = SCHEMA_KEYWORDS | SCHEMA_LIST_KEYWORDS | SCHEMA_MAP_KEYWORDS
IN_PLACE_KEYWORDS = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}
)
"""In-place applicators: their schemas apply to the same value, not to a property or item of it.

Spec: JSON Schema 2020-12, Core, 10.2.
"""
# In JSON by `json.dumps` a quotation mark in a string has a backslash before it, so that no string
# looks like a reference.
_REFERENCE = re.compile(r'"\$ref": ("[^"\\]*(?:\\.[^"\\]*)*")')


def is_type(value: Any, name: str) -> bool:
    """Return whether a value has a type of JSON Schema."""
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _PYTHON_TYPES.get(name, ()))


def schema_types(schema: Any) -> set[str]:
    """Return the types that a schema names, also inside unions; none if it allows all."""
    if not isinstance(schema, dict):
        return set()
    types = schema.get("type", ())
    names = {types} if isinstance(types, str) else set(types)
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        names |= schema_types(part)
    return names - {"null"}


def property_names(schema: Mapping[str, Any]) -> list[str]:
    """Return the names of properties that a schema lists, also in its combined schemas."""
    branches = [b for key in ("allOf", *UNIONS) for b in schema.get(key, ())]
    parts = [schema, *(branch for branch in branches if isinstance(branch, dict))]
    return list(dict.fromkeys(name for part in parts for name in part.get("properties", ())))


def coerce_value(value: Any, schema: Any) -> Any:
    """Return a value as the type that an argument takes; None if it does not fit."""
    types = schema_types(schema)
    if types & {"integer", "number"}:
        number = parse_integer(value)
        return number if number is not None or "string" not in types else str(value)
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    return str(value) if not types or "string" in types else None


def iter_subschemas(schema: Mapping[str, Any], keywords: Collection[str]) -> Iterator[Any]:
    """Yield the direct subschemas of a schema under some keywords; references are not followed."""
    for key, value in schema.items():
        if key not in keywords:
            continue
        if isinstance(value, list):
            yield from value
        elif key in SCHEMA_MAP_KEYWORDS:
            yield from value.values() if isinstance(value, Mapping) else ()
        else:
            yield value


def map_subschemas(node: Any, change: Callable[[Any, str], Any]) -> Any:
    """Return a schema whose direct subschemas are `change(schema, name)`.

    Args:
        node: A schema; without changes it is returned itself.
        change: Called with each subschema and its name in a map of schemas, or `""`.
    """
    if not isinstance(node, dict) or SUBSCHEMA_KEYWORDS.isdisjoint(node):
        return node
    changes: dict[str, Any] = {}
    for key, value in node.items():
        if key in SUBSCHEMA_KEYWORDS:
            changed = _map_keyword(key, value, change)
            if changed is not value:
                changes[key] = changed
    return {**node, **changes} if changes else node


def _map_keyword(key: str, value: Any, change: Callable[[Any, str], Any]) -> Any:
    if key in SCHEMA_KEYWORDS:
        return change(value, "")
    if key in SCHEMA_LIST_KEYWORDS and isinstance(value, list):
        parts = [change(part, "") for part in value]
        return value if all(map(is_, parts, value)) else parts
    if key in SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
        named = {name: change(part, name) for name, part in value.items()}
        return value if all(map(is_, named.values(), value.values())) else named
    return value


def transform_schemas(node: Any, edit: Callable[[dict[str, Any]], Any]) -> Any:
    """Return a schema with each schema in it replaced by `edit`, the inner ones first."""

    def change(part: Any, _name: str = "") -> Any:
        if not isinstance(part, dict):
            return part
        return edit(part if SUBSCHEMA_KEYWORDS.isdisjoint(part) else map_subschemas(part, change))

    return change(node)


def ensure_items(node: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose arrays have `items`: clients reject those without."""
    is_bare = "items" not in node and "array" in node.get("type", ())
    return {**node, "items": {}} if is_bare else node


def remove_keywords(node: dict[str, Any], keywords: Collection[str]) -> dict[str, Any]:
    """Return a schema without some keywords, and with `oneOf` as `anyOf`.

    Looser branches overlap: a value of one branch would then fit several, and fail `oneOf`.
    """
    new = omit_keys(node, keywords)
    if "oneOf" not in new:
        return new
    branches = {"anyOf": new["oneOf"]}
    union = {"allOf": [*new.get("allOf", ()), branches]} if "anyOf" in new else branches
    return {**omit_keys(new, ["oneOf"]), **union}


def definition_names(node: Any) -> set[str]:
    """Return the names of definitions that a schema refers to, also inside examples."""
    return set(iter_definition_names(json.dumps(node)))


def iter_definition_names(text: str) -> Iterator[str]:
    """Yield the name of the definition of each reference in a schema that `json.dumps` wrote."""
    for written in _REFERENCE.findall(text):
        reference: str = json.loads(written) if "\\" in written else written[1:-1]
        yield unescape_token(reference.removeprefix(DEFINITIONS_PREFIX))


def reachable_definitions(node: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions that a schema refers to, directly or through others, in order."""
    names: set[str] = set()
    pending = definition_names(node)
    while pending:
        name = pending.pop()
        if name in definitions and name not in names:
            names.add(name)
            pending |= definition_names(definitions[name])
    return {name: part for name, part in definitions.items() if name in names}
