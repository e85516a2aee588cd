"""JSON values: pointers to them, their equality, their size as text, JSON Schema's keywords.

Spec: RFC 6901, JSON Pointer; JSON Schema Core 2020-12, sections 8, 10 and 11, and Validation
2020-12, section 6, for the keywords.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib.parse import unquote

_ASCII = bytes(range(128))
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
ASSERTIONS = frozenset(
    {"const", "dependentRequired", "enum", "exclusiveMaximum", "exclusiveMinimum", "maxItems"}
    | {"maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum"}
    | {"multipleOf", "pattern", "required", "type", "uniqueItems"}
)
"""Keywords that look at a value without handing any of it to another schema."""
ONE_SCHEMA = frozenset(
    {"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
SCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_MAPS = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)
UNIONS = ("anyOf", "oneOf")
IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})
"""Keywords whose schemas apply to the same value, not to a member of it."""


def pointer_token(key: object) -> str:
    """Return a key or index as one step of a JSON Pointer, slash included."""
    return "/" + str(key).replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    """Return the key that a reference token names."""
    return token.replace("~1", "/").replace("~0", "~")


def pointer(keys: Iterable[object]) -> str:
    """Return keys and indexes as a JSON Pointer, for instance `/paths/~1pets/get`."""
    return "".join(map(pointer_token, keys))


def keys_of(text: str) -> tuple[str, ...]:
    """Return the keys of a JSON Pointer; `""`, the whole document, has none."""
    return tuple(map(unescape, text.split("/")[1:]))


def find(root: Any, text: str) -> Any:
    """Return the value at a JSON Pointer, or raise LookupError with the key that is missing."""
    for token in text.split("/")[1:]:
        key = unescape(token) if "~" in token else token
        if isinstance(root, (dict, Mapping)) and key in root:  # `dict` first, which is fast
            root = root[key]
        elif isinstance(root, list) and key.isdecimal() and int(key) < len(root):
            root = root[int(key)]
        else:
            raise LookupError(key)
    return root


def resolve(root: Any, reference: str) -> Any:
    """Return the target of a `$ref` inside a schema; None when it is missing.

    Spec: RFC 6901, section 6.
    """
    try:
        return find(root, unquote(reference))
    except LookupError:
        return None


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal in JSON, in which true is not 1 and 1 is 1.0."""
    if one is other or isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def holds(values: Collection[Any], value: Any) -> bool:
    """Tell whether one of several values is equal to another in JSON."""
    if isinstance(value, str):
        return value in values
    return any(same(one, value) for one in values)


def kinds_of(schema: Any) -> set[str]:
    """Return the types that a schema names, also inside unions; none where it is open."""
    if not isinstance(schema, dict):
        return set()
    kinds = schema.get("type", ())
    found = {kinds} if isinstance(kinds, str) else set(kinds)
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= kinds_of(part)
    return found - {"null"}


def unequal(values: Iterable[Any]) -> list[Any]:
    """Return the first of each group of equal values."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(_identity(value), value)
    return list(found.values())


def _identity(value: Any) -> Any:
    """Return a hashable key that is the same for equal values."""
    if isinstance(value, dict):
        return (dict, frozenset((name, _identity(member)) for name, member in value.items()))
    if isinstance(value, list):
        return (list, tuple(map(_identity, value)))
    return (isinstance(value, bool), value)


def most_in(text: bytes) -> int:
    """Return a number of characters that a value, written by `compact`, does not exceed as JSON.

    A text grows by a blank behind each comma and colon, and by a sign and a nought in a number with
    an exponent; there is a comma, colon or bracket before each. An escape takes six characters for
    DEL, and at most three for each byte outside ASCII.
    """
    blanks = 3 * (text.count(b",") + text.count(b":")) + 2 * text.count(b"[") + 2
    escapes = 5 * text.count(b"\x7f")
    if not text.isascii():
        escapes += 2 * len(text.translate(None, _ASCII))
    return len(text) + blanks + escapes


def text_of(value: Any) -> str:
    """Return a JSON value as a model reads it: without blanks, letters as they are."""
    return _ENCODER.encode(value)


def compact(value: Any) -> bytes:
    """Return a JSON value as compact text in UTF-8; in ASCII if it has lone surrogates."""
    import pydantic_core  # `from … import` would cost more at each call

    try:
        return pydantic_core.to_json(value)
    except ValueError:  # a lone surrogate, which UTF-8 cannot write
        return json.dumps(value).encode()
