"""The keywords of a schema: their values, and their forms in older versions as 2020-12 has them.

Spec: JSON Schema Core 2020-12, sections 10 and 11; Validation 2020-12, sections 6 to 9.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from openapi_tools.common import http_rules, json_schema, json_values
from openapi_tools.common.visible_text import strip_hidden, strip_hidden_in
from openapi_tools.loading.type_names import read_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openapi_tools.common.json_values import Node

MAX_LITERAL: Final = 8_192  # characters; a longer default, example or pattern is left out
MAX_LABEL: Final = 1_024  # characters of a title, a format or a media type
MAX_ENUM: Final = 32_768  # characters; a longer enum is left to the server, and described so

SCHEMA_APPLICATORS: Final = json_schema.SCHEMA_KEYWORDS | {"contentSchema"}
LIST_APPLICATORS: Final = json_schema.SCHEMA_LIST_KEYWORDS
MAP_APPLICATORS: Final = json_schema.SCHEMA_MAP_KEYWORDS - {"$defs", "definitions"}
APPLICATORS: Final = (
    SCHEMA_APPLICATORS | LIST_APPLICATORS | MAP_APPLICATORS
)  # keywords of a Schema Object that hold schemas

ABSENT: Final = object()  # placeholder for an invalid keyword value

_HUGE: Final = 10**300  # validators compare numbers as floats, which hold no larger ones
# Control characters except tabs and line ends, and lone surrogates.
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_STRING_CLASS = frozenset({str})
_SIZE_OF_SCALAR = 8  # characters, about
_TEXTUAL = (None, "string", ["string", "null"])
# Keywords beside which a format says nothing about bytes.
_DESCRIBING = frozenset({"properties", "additionalProperties", "items", "enum", "const", "$ref"})
# Top-level media types (RFC 6838, section 4.2), and `*`.
_TOP_LEVEL = frozenset(
    {
        "application",
        "audio",
        "font",
        "haptics",
        "image",
        "message",
        "model",
        "multipart",
        "text",
        "video",
        "*",
    }
)
_UNTYPED = frozenset(
    {"title", "description", "deprecated", "examples", "format", "contentMediaType"}
)


def _has_control_characters(text: str) -> bool:
    return not text.isprintable() and _CONTROL_CHARACTERS.search(text) is not None


def _is_printable(value: Any, limit: int) -> bool:
    return isinstance(value, str) and len(value) <= limit and not _has_control_characters(value)


def is_name(text: str) -> bool:
    """Return whether a string can be a property's name: short, without control characters."""
    return _is_printable(text, MAX_LABEL)


def is_longer(value: Any, limit: int) -> bool:
    """Return whether a value is longer than about `limit` characters as JSON, or no plain JSON."""
    if isinstance(value, str):
        return len(value) + 3 > limit or _has_control_characters(value)
    if value is None or isinstance(value, int):
        return limit < _SIZE_OF_SCALAR
    if isinstance(value, list) and _STRING_CLASS.issuperset(map(type, value)):
        size = sum(map(len, value)) + 5 * len(value)
        return size > limit or _has_control_characters("".join(value))
    size = 0
    stack = [value]
    while stack and size <= limit:
        item = stack.pop()
        if isinstance(item, str):
            size += len(item) + 3
            if _has_control_characters(item):
                return True
        elif isinstance(item, dict):
            size += sum(map(len, map(str, item))) + 4 * len(item)
            stack.extend(item.values())
            stack.extend(item)
        elif isinstance(item, list):
            size += 2 * len(item)
            stack.extend(item)
        else:
            size += _SIZE_OF_SCALAR
            if isinstance(item, float) and not isfinite(item):
                return True
    return size > limit


def _read_number(value: Any) -> Any:
    if value.__class__ is int:
        return value if -_HUGE < value < _HUGE else ABSENT
    return value if value.__class__ is float and isfinite(value) else ABSENT


def _read_count(value: Any) -> Any:
    if value.__class__ is float and value.is_integer():
        value = int(value)
    return value if value.__class__ is int and 0 <= value < _HUGE else ABSENT


def _read_example(value: Any) -> Any:
    return ABSENT if is_longer(value, MAX_LITERAL) else strip_hidden_in(value)


def _read_names(value: Any) -> Any:
    return value if isinstance(value, list) and _are_strings(value) else ABSENT


def _read_dependent(value: Any) -> Any:
    is_map = isinstance(value, dict) and all(_read_names(each) is each for each in value.values())
    return value if is_map and not is_longer(value, MAX_ENUM) else ABSENT


def _are_strings(values: list[Any]) -> bool:
    return _STRING_CLASS.issuperset(map(type, values)) or all(map(json_values.is_string, values))


READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "type": lambda value: value if isinstance(value, (str, list)) else ABSENT,
    "description": lambda value: value if isinstance(value, str) else ABSENT,
    "enum": lambda value: value if isinstance(value, list) and value else ABSENT,
    "required": _read_names,
    "example": _read_example,
    "examples": lambda value: _read_example(value) if isinstance(value, list) and value else ABSENT,
    "pattern": lambda value: value if _is_printable(value, MAX_LITERAL) else ABSENT,
    "dependentRequired": _read_dependent,
    **dict.fromkeys(
        ("default", "const"), lambda value: ABSENT if is_longer(value, MAX_LITERAL) else value
    ),
    **dict.fromkeys(
        ("title", "format", "contentEncoding", "contentMediaType"),
        lambda value: strip_hidden(value) if _is_printable(value, MAX_LABEL) else ABSENT,
    ),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), _read_number),
    **dict.fromkeys(
        ("exclusiveMinimum", "exclusiveMaximum"),
        lambda value: _read_number(value) if json_values.as_boolean(value) is None else value,
    ),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _read_count),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _read_count),
    **dict.fromkeys(
        ("deprecated", "writeOnly", "readOnly", "uniqueItems"),
        lambda value: ABSENT if (flag := json_values.as_boolean(value)) is None else flag,
    ),
}
"""For each keyword without schemas: returns its value as converted, or `ABSENT`."""


USUAL_CLASSES: Final[Mapping[str, type]] = {
    "type": str,
    "description": str,
    "deprecated": bool,
    "uniqueItems": bool,
}
"""Keywords that are read as they are if their value has this class: those of most schemas."""


def is_readable(key: str, value: Any) -> bool:
    """Return whether a schema keeps a keyword; those that no version has count as kept."""
    if USUAL_CLASSES.get(key) is value.__class__:
        return True
    if key in NULLABLE:
        return json_values.as_boolean(value) is not None
    if key in SCHEMA_APPLICATORS:
        is_tuple = key == "items" and isinstance(value, list)
        return is_tuple or isinstance(value, dict) or json_values.as_boolean(value) is not None
    if key in APPLICATORS:
        return isinstance(value, dict if key in MAP_APPLICATORS else list)
    return key not in READERS or READERS[key](value) is not ABSENT


TRANSLATED: Final = frozenset(
    {"exclusiveMinimum", "exclusiveMaximum", "example", "multipleOf", "required", "enum"}
    | {"dependentRequired", "discriminator", "allOf", "oneOf", "nullable", "x-nullable"}
)
"""Keywords that may need translation; a schema without them stays, unknown types aside."""
NULLABLE: Final = frozenset({"nullable", "x-nullable"})
HARMLESS_SIBLINGS: Final = frozenset({"description", "title", "default"}) | NULLABLE
"""Siblings of a `$ref` that are read in 2.0 and 3.0, although the standard ignores them."""
_NULLABLE_ANNOTATIONS: Final = ("title", "description", "default", "examples")
_ASSERTING: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "$ref", "const", "if"})
_RARE: Final = frozenset(
    {"exclusiveMinimum", "exclusiveMaximum", "example", "oneOf", "multipleOf", "dependentRequired"}
)


def modernize_keywords(out: Node) -> None:
    """Translate older versions' keywords to 2020-12, in place."""
    if not _RARE.isdisjoint(out):
        _modernize_rare_keywords(out)
    if "type" in out and not (out["type"].__class__ is str and out["type"] in json_schema.TYPES):
        read_type(out)
    if "required" in out:
        _clean_required(out)
    if "enum" in out:
        _clean_enum(out, out["enum"])


def _modernize_rare_keywords(out: Node) -> None:
    _convert_exclusive(out, "minimum", "exclusiveMinimum")
    _convert_exclusive(out, "maximum", "exclusiveMaximum")
    if "example" in out:
        example = out.pop("example")
        out.setdefault("examples", [example])
    if "oneOf" in out:  # read as `anyOf`: published alternatives overlap, and the API decides
        branches = out.pop("oneOf")
        if "anyOf" in out:
            out["allOf"] = [*out.get("allOf", ()), {"anyOf": branches}]
        else:
            out["anyOf"] = branches
    # JSON Schema Validation 2020-12, section 6.2.1: strictly greater than 0. Validators refuse
    # others.
    if "multipleOf" in out and out["multipleOf"] <= 0:
        del out["multipleOf"]
    if "dependentRequired" in out:
        needed = out["dependentRequired"].items()
        out["dependentRequired"] = {name: list(dict.fromkeys(names)) for name, names in needed}


def _clean_enum(out: Node, values: list[Any]) -> None:
    if is_longer(values, MAX_ENUM):
        extend_description(out, f"One of {len(out.pop('enum'))} values, which the API defines.")
    elif not _STRING_CLASS.issuperset(map(type, values)) or len({*values}) < len(values):
        out["enum"] = json_values.unique_values(values)


def extend_description(out: Node, note: str) -> None:
    """Add a sentence to the description of a schema, in place."""
    out["description"] = f"{out.get('description', '')} {note}".strip()


def _convert_exclusive(out: Node, bound: str, exclusive: str) -> None:
    # A boolean up to OpenAPI 3.0.
    if exclusive in out and _read_number(out[exclusive]) is ABSENT:
        strict = json_values.is_true(out.pop(exclusive))
        if strict and bound in out:
            out[exclusive] = out.pop(bound)


def _clean_required(out: Node) -> None:
    names = out["required"]
    if is_longer(names, MAX_LITERAL):
        names = [name for name in names if is_name(name)]
        names = [] if is_longer(names, MAX_ENUM) else names
    out["required"] = list(dict.fromkeys(names))
    if not names:
        del out["required"]


def is_nullable(node: Mapping[str, Any]) -> bool:
    """Return whether a Schema Object of 3.0 (or 2.0, as an extension) also takes null."""
    if NULLABLE.isdisjoint(node):
        return False  # most schemas
    return any(json_values.is_true(node[key]) for key in NULLABLE.intersection(node))


def make_nullable(out: Node) -> Node:
    """Return a converted schema that also takes null (OpenAPI 3.0.4, section 4.7.24.2)."""
    if "enum" in out and None not in out["enum"]:
        out["enum"] = [*out["enum"], None]
    if "type" in out:
        types = out["type"] if isinstance(out["type"], list) else [out["type"]]
        out["type"] = list(dict.fromkeys([*types, "null"]))
    if _ASSERTING.isdisjoint(out):
        return out
    annotations: Node = {key: out.pop(key) for key in _NULLABLE_ANNOTATIONS if key in out}
    return {**annotations, "anyOf": [out, {"type": "null"}]}


def explain_discriminator(out: Node, discriminator: Any) -> None:
    """Say in the description which property selects the variant (OpenAPI 3.1.1, section 4.8.25).

    Without `anyOf` schemas that name this one in their `allOf` are the variants, so it is open.
    """
    described = isinstance(discriminator, dict)
    name = discriminator.get("propertyName") if described else discriminator
    if not isinstance(name, str) or not is_name(name):
        return
    mapping = discriminator.get("mapping") if described else None
    names = [str(key) for key in list(mapping)[:30]] if isinstance(mapping, dict) else []
    values = "" if is_longer(names, MAX_LITERAL) else ", ".join(names)
    extend_description(out, f"`{name}` selects the variant{': ' + values if values else ''}.")
    if "anyOf" not in out:
        out.setdefault("additionalProperties", True)


def is_file(schema: Mapping[str, Any], *, untyped: bool) -> bool:
    """Return whether a converted schema describes bytes; `untyped` as of 3.1 and later."""
    if is_binary(schema):
        return True
    types, kind = schema.get("type"), schema.get("contentMediaType")
    if kind is not None and "contentEncoding" not in schema and types in _TEXTUAL:
        return not (http_rules.is_text(kind) or http_rules.is_json(kind))
    return untyped and not schema.keys() - _UNTYPED


def is_binary(schema: Mapping[str, Any]) -> bool:
    """Return whether the format or encoding of a converted schema says that it describes bytes.

    The type may be missing, or `object`: what published documents write for files.
    """
    types, form = schema.get("type"), schema.get("format", "")
    if schema.keys() & _DESCRIBING or types not in (*_TEXTUAL, "object", ["object", "null"]):
        return False
    # RFC 2045, section 6.2: the encoding `binary` changes nothing.
    is_marked = form in ("binary", "file") or schema.get("contentEncoding") == "binary"
    return is_marked or (types in _TEXTUAL and bool(media_type_in_format(form)))


def media_type_in_format(form: str) -> str:
    """Return the media type that a `format` names, such as `text/csv`; else an empty string."""
    # `format` may also be a pattern with a slash, such as `MM/YYYY`.
    is_one = http_rules.is_media_type(form) and form.partition("/")[0].lower() in _TOP_LEVEL
    return form if is_one else ""


ANNOTATIONS: Final = frozenset(
    {"title", "description", "examples", "default", "deprecated", "writeOnly"}
)
"""Keywords that say something about a value without limiting it."""


def ignore_report(_keyword: str, _message: str) -> None:
    """Report nothing: a warning is made where the whole document is looked at."""


NUMBER_LIMITS: Final = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")
VALUE_LIMITS: Final = frozenset(
    {"pattern", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
    | {*NUMBER_LIMITS}
)
"""Keywords that an enumeration makes needless, and dead where its values break them."""
BOUNDS: Final = (VALUE_LIMITS | {"minContains", "maxContains"}) - {"pattern"}
CHECKED_KEYWORDS: Final = VALUE_LIMITS | BOUNDS | {"enum", "const", "additionalProperties"}
"""Keywords that values of the same schema may contradict, or that hold such values."""
EXAMPLE_KEYWORDS: Final = frozenset({"examples", "default"})  # they show values to a model
REFERRING: Final = json_schema.IN_PLACE_KEYWORDS | {"$ref"}
PART_KEYWORDS: Final = frozenset(
    {"properties", "patternProperties", "additionalProperties", "propertyNames"}
    | {"items", "prefixItems", "contains", "unevaluatedItems", "unevaluatedProperties"}
)
LIMITS: Final = json_schema.ASSERTION_KEYWORDS | REFERRING | PART_KEYWORDS
LIMITS_BESIDE_TYPE: Final = LIMITS - {"type", "enum"}
_PYTHON_TYPES = {"string": str, "integer": int, "boolean": bool}


# Two quick looks: most schemas need no closer one.


def may_have_contradictions(out: Node) -> bool:
    """Return whether keywords of a converted schema may contradict one another."""
    keywords = CHECKED_KEYWORDS.intersection(out)
    if len(keywords) != 1:
        return bool(keywords)
    (keyword,) = keywords
    if keyword in BOUNDS:
        return bool(out[keyword] == 0)
    if keyword == "enum":
        return out.get("type") != "string" or not _STRING_CLASS.issuperset(map(type, out["enum"]))
    return keyword != "additionalProperties" or (out[keyword] is False and "required" in out)


def may_show_misfits(schema: Node) -> bool:
    """Return whether a converted schema may have an example or a default that it refuses."""
    if EXAMPLE_KEYWORDS.isdisjoint(schema):
        return False
    kind = schema.get("type")
    plain = _PYTHON_TYPES.get(kind) if isinstance(kind, str) else None
    if plain is None or not LIMITS_BESIDE_TYPE.isdisjoint(schema):
        return True
    shown: list[Any] = schema.get("examples", [])
    if "default" in schema:
        shown = [*shown, schema["default"]]
    values: list[Any] = schema.get("enum", shown)
    return not all(value.__class__ is plain and value in values for value in shown)
