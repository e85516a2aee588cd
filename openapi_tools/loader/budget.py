"""Input schemas that are too large for any model, made smaller.

Some APIs refer from every body to nearly all of their components. Such a schema first loses the
words of its definitions, then the definitions farthest from the arguments, then whatever is nested
deepest. What is left out is replaced by "anything", so a smaller schema accepts all that the full
one does.
"""

from __future__ import annotations

import json
from typing import Any

from openapi_tools.loader.keywords import KINDS, LIST, MAP, SCHEMA, uses_of

MAX_SCHEMA = 250_000
"""Characters of an input schema as JSON."""

_WORDS = frozenset({"title", "description", "examples"})
_NARROWING = frozenset(
    {"not", "if", "then", "else", "contains", "minContains", "maxContains", "propertyNames"}
    | {"unevaluatedItems", "unevaluatedProperties", "dependentSchemas"}
)
"""Keywords that could refuse more when a schema inside them accepts more."""
_DEPTHS = (12, 8, 5, 3, 2, 1)


def size(schema: Any) -> int:
    """Return how many characters a schema has as JSON."""
    return len(json.dumps(schema))


def shrink(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an input schema of at most `MAX_SCHEMA` characters; the same one where it fits.

    Args:
        schema: A closed object with `properties` and perhaps `$defs`.
    """
    if size(schema) <= MAX_SCHEMA:
        return schema
    definitions = {name: _bare(part) for name, part in schema.get("$defs", {}).items()}
    own = {key: value for key, value in schema.items() if key != "$defs"}
    if size(own) > MAX_SCHEMA // 2:
        own["properties"] = {name: _pruned(part, 12) for name, part in own["properties"].items()}
    kept = _nearest(uses_of(own).every, definitions, MAX_SCHEMA - size(own))
    for depth in _DEPTHS:
        smaller = _with(own, kept)
        if size(smaller) <= MAX_SCHEMA:
            return smaller
        own["properties"] = {name: _pruned(part, depth) for name, part in own["properties"].items()}
    own["properties"] = {name: {} for name in own["properties"]}
    return _with(own, {})


def _with(own: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its definitions; references to others become "anything"."""
    properties = {name: _closed(part, kept) for name, part in own["properties"].items()}
    if not kept:
        return {**own, "properties": properties}
    definitions = {name: _closed(kept[name], kept) for name in sorted(kept)}
    return {**own, "properties": properties, "$defs": definitions}


def _nearest(names: frozenset[str], definitions: dict[str, Any], room: int) -> dict[str, Any]:
    """Return the definitions nearest to the arguments that fit into some characters."""
    kept: dict[str, Any] = {}
    waiting = sorted(names)
    for name in waiting:  # grows while it is walked: breadth first
        room -= size(definitions[name]) + len(name) + 4
        if room < 0:
            break
        kept[name] = definitions[name]
        waiting += sorted(uses_of(definitions[name]).every - set(waiting))
    return kept


def _bare(schema: Any) -> Any:
    """Return a schema without words."""
    return _mapped(schema, _bare, drop=_WORDS)


def _closed(schema: Any, kept: dict[str, Any]) -> Any:
    """Return a schema whose references all lead to what is kept."""
    if isinstance(schema, dict) and "$ref" in schema and schema["$ref"][8:] not in kept:
        schema = {key: value for key, value in schema.items() if key != "$ref"}
    return _mapped(schema, lambda part: _closed(part, kept))


def _pruned(schema: Any, depth: int) -> Any:
    """Return a schema without words below its own and without what is nested too deep."""
    if depth == 0:
        return {}
    return _mapped(schema, lambda part: _pruned(_mapped(part, lambda x: x, drop=_WORDS), depth - 1))


def _mapped(schema: Any, change: Any, drop: frozenset[str] = frozenset()) -> Any:
    """Return a schema whose subschemas are changed and some of whose keywords are dropped."""
    if not isinstance(schema, dict):
        return schema
    out = {}
    if "oneOf" in schema:  # two widened alternatives may both fit
        widened = {key: value for key, value in schema.items() if key != "oneOf"}
        schema = {"anyOf": schema["oneOf"], **widened}
    for key, value in schema.items():
        kind = KINDS.get(key)
        if key in drop or key in _NARROWING:
            continue
        if kind is SCHEMA:
            out[key] = change(value)
        elif kind is MAP:
            out[key] = {name: change(part) for name, part in value.items()}
        elif kind is LIST:
            out[key] = [change(part) for part in value]
        else:
            out[key] = value
    return out
