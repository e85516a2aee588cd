"""How large an input schema may be for a model, and how a larger one is cut.

Some APIs refer from every body to nearly all of their components. Such an input schema first loses
the words of its definitions, then the definitions farthest from the arguments, then the deepest
parts. "Anything" replaces the parts left out, so a smaller schema accepts all
that the full one does.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openapi_tools.json_values import compact
from openapi_tools.loading.keyword_values import LISTS, MAPS, ONE
from openapi_tools.loading.schema_components import name_of, uses_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.loading.schema_components import Closure

MAX_SCHEMA = 250_000
"""Characters of an input schema as JSON."""

_WORDS = frozenset({"title", "description", "examples"})
_NARROWING = frozenset(
    {"not", "if", "then", "else", "contains", "minContains", "maxContains", "propertyNames"}
    | {"unevaluatedItems", "unevaluatedProperties", "dependentSchemas"}
)
"""Keywords that could refuse more when a schema inside them accepts more."""
_DEPTHS = (12, 8, 5, 3, 2, 1)


def complete(
    schema: dict[str, Any], closure_of: Callable[[frozenset[str]], Closure]
) -> dict[str, Any]:
    """Return an input schema with the definitions that it reaches, not too large for a model.

    Args:
        schema: A closed object with `properties`; changed in place.
        closure_of: Finds the definitions that names reach.
    """
    text = compact(schema)
    most = 6 * len(text)  # a byte of UTF-8 becomes an escape of at most six characters
    if b'"$ref"' in text and (uses := uses_of(schema).every):
        closure = closure_of(uses)
        most += closure.most
        schema["$defs"] = closure.definitions
    return schema if most <= MAX_SCHEMA else shrink(schema)


def shrink(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an input schema of at most `MAX_SCHEMA` characters; the same one where it fits.

    Args:
        schema: A closed object with `properties` and perhaps `$defs`.
    """
    if size_of(schema) <= MAX_SCHEMA:
        return schema
    definitions = {name: _without_words(part) for name, part in schema.get("$defs", {}).items()}
    own = {key: value for key, value in schema.items() if key != "$defs"}
    if size_of(own) > MAX_SCHEMA // 2:
        own["properties"] = {name: _pruned(part, 12) for name, part in own["properties"].items()}
    kept = _nearest(uses_of(own).every, definitions, MAX_SCHEMA - size_of(own))
    for depth in _DEPTHS if size_of(own) < 10 * MAX_SCHEMA else _DEPTHS[-3:]:
        smaller = _with(own, kept)
        if size_of(smaller) <= MAX_SCHEMA:
            return smaller
        own["properties"] = {name: _pruned(part, depth) for name, part in own["properties"].items()}
    return _names_only(own)


def size_of(schema: Any) -> int:
    """Return how many characters a schema has as JSON."""
    return len(json.dumps(schema))


def _names_only(own: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that says no more than names, the required ones first, while they fit."""
    required = set(own.get("required", ()))
    room = MAX_SCHEMA // 2
    kept = set()
    for name in sorted(own["properties"], key=lambda name: name not in required):
        room -= size_of(name) * (2 if name in required else 1) + len(": {}, ")
        if room > 0:
            kept.add(name)
    smaller = {**own, "properties": {name: {} for name in own["properties"] if name in kept}}
    if required:
        smaller["required"] = [name for name in own["required"] if name in kept]
    return smaller


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
        room -= size_of(definitions[name]) + len(name) + 4
        if room < 0:
            break
        kept[name] = definitions[name]
        waiting += sorted(uses_of(definitions[name]).every - set(waiting))
    return kept


def _without_words(schema: Any) -> Any:
    return _mapped(schema, _without_words, drop=_WORDS)


def _closed(schema: Any, kept: dict[str, Any]) -> Any:
    """Return a schema whose references all lead to kept definitions."""
    if isinstance(schema, dict) and "$ref" in schema and name_of(schema) not in kept:
        schema = {key: value for key, value in schema.items() if key != "$ref"}
    return _mapped(schema, lambda part: _closed(part, kept))


def _pruned(schema: Any, depth: int) -> Any:
    """Return a schema without words below its own and without its deepest parts."""
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
        if key in drop or key in _NARROWING:
            continue
        if key in ONE:
            out[key] = change(value)
        elif key in MAPS:
            out[key] = {name: change(part) for name, part in value.items()}
        elif key in LISTS:
            out[key] = [change(part) for part in value]
        else:
            out[key] = value
    return out
