"""The keywords of JSON Schema 2020-12: what their values must be, and how older ones translate.

Spec: JSON Schema Core 2020-12, sections 10 and 11; Validation 2020-12, sections 6 to 9.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TYPES: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
MAX_LITERAL: Final = 8_192
"""Characters; a longer default, example or pattern is left out of a schema."""
MAX_LABEL: Final = 1_024
"""Characters of a title, a format or a media type."""
MAX_ENUM: Final = 32_768
"""Characters; a longer enum is left to the server, and the description says so."""

_HUGE: Final = 10**300
"""Whole numbers beyond it fit into no float, which validators compare with."""
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters but tabs and line ends, and halves of characters."""

NOTHING: Final[frozenset[str]] = frozenset()
_STR = frozenset({str})


def as_boolean(value: Any) -> bool | None:
    """Return a boolean, also one that is written as text; None for anything else."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def is_true(value: Any) -> bool:
    """Tell whether a value is true, or the text for it."""
    return value is True or as_boolean(value) is True


def _number(value: Any) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool) and -_HUGE < value < _HUGE
    return isinstance(value, float) and isfinite(value)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _HUGE


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _label(value: Any) -> bool:
    return isinstance(value, str) and is_name(value)


def _short_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_LITERAL and not is_unseen(value)


def _boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _bound(value: Any) -> bool:
    return _number(value) or as_boolean(value) is not None


def _names(value: Any) -> bool:
    return isinstance(value, list) and _are_texts(value)


def _type(value: Any) -> bool:
    return isinstance(value, (str, list))


def _literal(value: Any) -> bool:
    return not is_longer(value, MAX_LITERAL)


def _literals(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and _literal(value)


def _enum(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _dependent(value: Any) -> bool:
    is_map = isinstance(value, dict) and all(_names(names) for names in value.values())
    return is_map and not is_longer(value, MAX_ENUM)


def _are_texts(values: list[Any]) -> bool:
    return _STR.issuperset(map(type, values)) or all(map(_text, values))


def is_unseen(text: str) -> bool:
    """Tell whether a text holds control characters or halves of characters."""
    return not text.isprintable() and _UNSEEN.search(text) is not None


def is_name(text: str) -> bool:
    """Tell whether a text can be the name of a member: not too long, and all of it seen."""
    return len(text) <= MAX_LABEL and (text.isprintable() or not is_unseen(text))


def is_longer(value: Any, limit: int) -> bool:
    """Tell whether a value has more than some characters as JSON, roughly and in bounded time.

    Numbers that JSON does not have and texts with control characters count as longer.
    """
    if isinstance(value, str):
        return len(value) + 3 > limit or is_unseen(value)
    if isinstance(value, list) and _are_texts(value):
        return sum(map(len, value)) + 5 * len(value) > limit or is_unseen("".join(value))
    if value is None or type(value) is int or type(value) is bool:
        return limit < 8  # noqa: PLR2004 -- as below
    size = 0
    stack = [value]
    while stack and size <= limit:
        item = stack.pop()
        if isinstance(item, dict):
            size += sum(len(str(key)) + 4 for key in item)
            stack.extend(item.values())
            stack.extend(item)
        elif isinstance(item, list):
            size += 2 * len(item)
            stack.extend(item)
        else:
            size += len(item) + 3 if isinstance(item, str) else 8
            if isinstance(item, float) and not isfinite(item):
                return True
            if isinstance(item, str) and is_unseen(item):
                return True
    return size > limit


SCHEMA: Final = "schema"
MAP: Final = "map"
LIST: Final = "list"

KINDS: Final[Mapping[str, str | Callable[[Any], bool]]] = {
    "type": _type,
    "properties": MAP,
    "items": SCHEMA,
    "description": _text,
    "title": _label,
    "format": _label,
    "enum": _enum,
    "default": _literal,
    "required": _names,
    "allOf": LIST,
    "anyOf": LIST,
    "oneOf": LIST,
    "additionalProperties": SCHEMA,
    "example": _literal,
    "examples": _literals,
    "pattern": _short_text,
    "minimum": _number,
    "maximum": _number,
    "exclusiveMinimum": _bound,
    "exclusiveMaximum": _bound,
    "multipleOf": _number,
    "minLength": _count,
    "maxLength": _count,
    "minItems": _count,
    "maxItems": _count,
    "uniqueItems": _boolean,
    "minProperties": _count,
    "maxProperties": _count,
    "const": _literal,
    "deprecated": _boolean,
    "writeOnly": _boolean,
    "readOnly": _boolean,
    "not": SCHEMA,
    "if": SCHEMA,
    "then": SCHEMA,
    "else": SCHEMA,
    "prefixItems": LIST,
    "contains": SCHEMA,
    "minContains": _count,
    "maxContains": _count,
    "patternProperties": MAP,
    "propertyNames": SCHEMA,
    "dependentRequired": _dependent,
    "dependentSchemas": MAP,
    "unevaluatedItems": SCHEMA,
    "unevaluatedProperties": SCHEMA,
    "contentEncoding": _label,
    "contentMediaType": _label,
    "contentSchema": SCHEMA,
}
"""What a keyword holds: schemas (`SCHEMA`, `MAP`, `LIST`), or a test of its value."""


def meant(key: str, value: Any) -> Any:
    """Return what a value means that fails the test of its keyword; None for nothing."""
    kind = KINDS[key]
    if kind is _boolean:
        return as_boolean(value)
    is_whole = kind is _count and isinstance(value, float) and value.is_integer()
    return int(value) if is_whole and _count(int(value)) else None


TESTS: Final = {key: kind for key, kind in KINDS.items() if not isinstance(kind, str)}
_CHILDREN: Final = {key: kind for key, kind in KINDS.items() if isinstance(kind, str)}
HOLDING: Final = frozenset(_CHILDREN)
IN_PLACE: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}
)
"""Keywords whose schemas apply to the same value, not to a member of it."""
TRANSLATED: Final = frozenset(
    {"exclusiveMinimum", "exclusiveMaximum", "example", "multipleOf", "required", "enum"}
    | {"dependentRequired", "discriminator", "allOf", "oneOf", "nullable", "x-nullable"}
)
"""Without one of these a schema says the same in every version, but for unknown types."""
_WORDS: Final = ("title", "description", "default")
NULLABLE: Final = frozenset({"nullable", "x-nullable"})
_BINDING: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "$ref", "const", "if"})

HARMLESS_SIBLINGS: Final = frozenset({"description", "title", "nullable", "x-nullable", "default"})
"""Beside a `$ref` of 3.0 or 2.0 these are read although the text says that they are ignored."""


class Uses(NamedTuple):
    """The definitions that a schema refers to.

    Attributes:
        every: All of them.
        in_place: Those that apply to the same value, not to a member of it.
        schemas: How many schemas it consists of, itself included.
    """

    every: frozenset[str]
    in_place: frozenset[str]
    schemas: int


def uses_of(schema: dict[str, Any]) -> Uses:
    """Return the names of the definitions that a converted schema refers to directly."""
    every: set[str] = set()
    in_place: set[str] = set()
    stack: list[tuple[Any, bool]] = [(schema, True)]
    count = 0
    while stack:
        node, same = stack.pop()
        count += 1
        if not isinstance(node, dict):
            continue
        if "$ref" in node:
            name = node["$ref"].removeprefix("#/$defs/")
            every.add(name)
            if same:
                in_place.add(name)
        if HOLDING.isdisjoint(node):
            continue
        for key, value in node.items():
            if key not in _CHILDREN:
                continue
            below = same and key in IN_PLACE
            if isinstance(value, list):
                stack += [(item, below) for item in value]
            elif _CHILDREN[key] is MAP:
                stack += [(item, below) for item in value.values()]
            else:
                stack.append((value, below))
    return Uses(frozenset(every), frozenset(in_place), count)


def uses_in(schema: dict[str, Any], text: bytes) -> frozenset[str]:
    """Return the names of the definitions that a converted schema refers to directly.

    Args:
        schema: A converted schema.
        text: The same as JSON, in which the word is found faster.
    """
    return uses_of(schema).every if b'"$ref"' in text else NOTHING


def modernise(out: dict[str, Any]) -> None:
    """Put what older versions say into the words of 2020-12, in place."""
    if "exclusiveMinimum" in out:
        _exclusive(out, "minimum", "exclusiveMinimum")
    if "exclusiveMaximum" in out:
        _exclusive(out, "maximum", "exclusiveMaximum")
    if "example" in out:
        example = out.pop("example")
        out.setdefault("examples", [example])
    if "oneOf" in out:
        _one_of(out)
    if has_odd_type(out):
        _known_type(out)
    if "multipleOf" in out and out["multipleOf"] <= 0:
        del out["multipleOf"]
    if "dependentRequired" in out:
        needed = out["dependentRequired"].items()
        out["dependentRequired"] = {name: list(dict.fromkeys(names)) for name, names in needed}
    shorten(out)


def shorten(out: dict[str, Any]) -> None:
    """Leave what is too long of `required` and `enum` to the server, in place."""
    if "required" in out:
        _required(out)
    if "enum" in out and is_longer(out["enum"], MAX_ENUM):
        note = f"One of {len(out.pop('enum'))} values; the server knows them."
        out["description"] = f"{out.get('description', '')} {note}".strip()


def _one_of(out: dict[str, Any]) -> None:
    """Read `oneOf` as `anyOf`, in place: published alternatives overlap, and the API decides."""
    branches = out.pop("oneOf")
    if "anyOf" in out:
        out["allOf"] = [*out.get("allOf", ()), {"anyOf": branches}]
    else:
        out["anyOf"] = branches


def has_odd_type(out: Mapping[str, Any]) -> bool:
    """Tell whether a type is a list of types or none that JSON Schema has."""
    kind = out.get("type", "string")
    return not (type(kind) is str and kind in TYPES)


def _required(out: dict[str, Any]) -> None:
    """Leave out repeated names and those that are not offered; too many are left to the server."""
    names = out["required"]
    if is_longer(names, MAX_LITERAL):
        names = [name for name in names if is_name(name)]
        names = [] if is_longer(names, MAX_ENUM) else names
    out["required"] = names if len(set(names)) == len(names) else list(dict.fromkeys(names))
    if not names:
        del out["required"]


def _exclusive(out: dict[str, Any], bound: str, exclusive: str) -> None:
    """Make a bound exclusive where a boolean says so, as it does up to OpenAPI 3.0."""
    if not _number(out[exclusive]):
        strict = is_true(out.pop(exclusive))
        if strict and bound in out:
            out[exclusive] = out.pop(bound)


def _known_type(out: dict[str, Any]) -> None:
    """Leave out types that JSON Schema does not have (`file`, `any`, `float`)."""
    declared = out["type"] if isinstance(out["type"], list) else [out["type"]]
    known = [name for name in dict.fromkeys(map(str, declared)) if name in TYPES]
    if not known or len(known) < len(declared) == len(set(map(str, declared))):
        del out["type"]
    elif isinstance(out["type"], list):
        out["type"] = known


def is_nullable(node: Mapping[str, Any]) -> bool:
    """Tell whether a Schema Object of 3.0 (or 2.0, as an extension) also takes null."""
    return any(is_true(node.get(key)) for key in NULLABLE)


def nullable(out: dict[str, Any]) -> dict[str, Any]:
    """Return a converted schema that also takes null.

    Spec: OpenAPI 3.0.4, section 4.7.24.2, `nullable`. With `allOf`, `oneOf` and `anyOf`, where the
    text gives it no effect, it is read as it is meant.
    """
    if "enum" in out and None not in out["enum"]:
        out["enum"] = [*out["enum"], None]
    if "type" in out:
        types = out["type"] if isinstance(out["type"], list) else [out["type"]]
        out["type"] = list(dict.fromkeys([*types, "null"]))
    if not out.keys() & _BINDING:
        return out
    words: dict[str, Any] = {key: out.pop(key) for key in _WORDS if key in out}
    return {**words, "anyOf": [out, {"type": "null"}]}


def explain_discriminator(out: dict[str, Any], discriminator: Any) -> None:
    """Say in the description which member selects the variant.

    Without `anyOf` the variants are schemas that name this one in their `allOf`: then the object is
    open for their members.

    Spec: OpenAPI 3.1.1, section 4.8.25, Discriminator Object; Swagger 2.0, `discriminator`.
    """
    described = isinstance(discriminator, dict)
    name = discriminator.get("propertyName") if described else discriminator
    if not isinstance(name, str) or not is_name(name):
        return
    mapping = discriminator.get("mapping") if described else None
    names = [str(key) for key in list(mapping)[:30]] if isinstance(mapping, dict) else []
    values = "" if is_longer(names, MAX_LITERAL) else ", ".join(names)
    note = f"`{name}` selects the variant{': ' + values if values else ''}."
    out["description"] = f"{out.get('description', '')} {note}".strip()
    if "anyOf" not in out:
        out.setdefault("additionalProperties", True)
