"""Input schemas that are too large for any model, made smaller.

Some APIs refer from every body to nearly all of their components. Such a schema first loses the
words of its definitions, then the definitions farthest from the arguments, then whatever is nested
deepest. What is left out is replaced by "anything", so a smaller schema accepts all that the full
one does.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from openapi_tools.loading.schema_keywords import KINDS, LIST, MAP, SCHEMA, uses_of

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_SCHEMA = 250_000
"""Characters of an input schema as JSON."""

_WORDS = frozenset({"title", "description", "examples"})
_NARROWING = frozenset(
    {"not", "if", "then", "else", "contains", "minContains", "maxContains", "propertyNames"}
    | {"unevaluatedItems", "unevaluatedProperties", "dependentSchemas"}
)
"""Keywords that could refuse more when a schema inside them accepts more."""
_DEPTHS = (12, 8, 5, 3, 2, 1)


def size_of(schema: Any) -> int:
    """Return how many characters a schema has as JSON."""
    return len(json.dumps(schema))


def most_of(schema: Any) -> int:
    """Return a number of characters that a schema does not exceed as JSON; known much faster."""
    return most_in(compact(schema))


def most_in(text: bytes) -> int:
    """Return a number of characters that a value does not exceed as JSON.

    ASCII grows by a blank behind each comma and colon, and by a sign and a nought in a number with
    an exponent; there is a comma, colon or bracket before each. Other UTF-8 grows sixfold at most:
    one byte of a text may become an escape of six characters.

    Args:
        text: What `compact` made of it.
    """
    if text.isascii() and b"\x7f" not in text:
        return len(text) + 3 * (text.count(b",") + text.count(b":")) + 2 * text.count(b"[") + 2
    return 6 * len(text)


def compact(value: Any) -> bytes:
    """Return a JSON value as compact text in UTF-8; one with halves of characters, as ASCII."""
    try:
        return _writer()(value)
    except ValueError:  # half of a character, which UTF-8 cannot write
        return json.dumps(value).encode()


@cache
def _writer() -> Callable[[Any], bytes]:
    """Import the fastest writer when it is first needed; the start is to stay light."""
    from pydantic_core import to_json

    return to_json


def shrink(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an input schema of at most `MAX_SCHEMA` characters; the same one where it fits.

    Args:
        schema: A closed object with `properties` and perhaps `$defs`.
    """
    if size_of(schema) <= MAX_SCHEMA:
        return schema
    definitions = {name: _bare(part) for name, part in schema.get("$defs", {}).items()}
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
