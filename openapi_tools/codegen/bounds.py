"""Single keywords of a schema: whether the new value lets through all that the old one did.

A rule looks at the old schema's keywords one by one and errs on the safe side: what it cannot see
counts as narrower. Schemas inside schemas are the business of `narrowing`.

Spec: JSON Schema Validation 2020-12, sections 6 and 7.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from openapi_tools.codegen.wording import (
    MISSING,
    Detail,
    changed,
    is_word,
    same,
    shown_list,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Set as AbstractSet

    Schema = dict[str, Any]
    Rule = Callable[[Schema, Any], bool]

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def kinds(schema: Schema) -> frozenset[str]:
    """Return the types that a schema lets through at most."""
    declared, values = _declared(schema), _listed(schema)
    if values is None:
        return declared
    return frozenset(kind for kind in map(_kind, values) if _within({kind}, declared))


def _declared(schema: Schema) -> frozenset[str]:
    declared = schema.get("type")
    names = declared if isinstance(declared, list) else [declared]
    known = frozenset(name for name in TYPES if name in names)
    return known if len(known) == len(names) else TYPES


def _kind(value: Any) -> str:
    """Return the narrowest type of a value; `number` for fractions only."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
    return "array" if isinstance(value, list) else "object"


def _within(some: AbstractSet[str], of: AbstractSet[str]) -> bool:
    """Tell whether types are among others; every integer is a number."""
    return all(kind in of or (kind == "integer" and "number" in of) for kind in some)


def overlap(first: frozenset[str], second: frozenset[str]) -> bool:
    """Tell whether a value can be of a type of both sets."""
    both = {"integer", "number"}
    return bool(first & second) or bool(first & both and second & both)


def _listed(schema: Schema) -> list[Any] | None:
    """Return values besides which a schema's own keywords let nothing through."""
    if "const" in schema:
        return [schema["const"]]
    if isinstance(schema.get("enum"), list):
        return list(schema["enum"])
    match schema.get("type"):
        case "null":
            return [None]
        case "boolean":
            return [False, True]
    return None


def _by_text(schema: Schema, values: list[Any]) -> dict[str, Any]:
    """Return values of the schema's types, by their texts."""
    declared = _declared(schema)
    # A value without a text is equal to none that can be seen.
    texts = {text_of(value) or f"?{id(value)}": value for value in values}
    return {text: value for text, value in texts.items() if _within({_kind(value)}, declared)}


def values_of(schema: Schema) -> dict[str, Any] | None:
    """Return values, by text, besides which a schema lets nothing through; None when unknown.

    A union of constants, which is how documents give each of them a title, counts as an enum.
    """
    found = [_possible(schema)]
    for keyword in ("anyOf", "oneOf"):
        parts = [_possible(branch) for branch in branches_of(schema, keyword)]
        if parts and None not in parts:
            found.append({text: value for part in parts for text, value in (part or {}).items()})
    known = [values for values in found if values is not None]
    if not known:
        return None
    declared = _declared(schema)
    return {
        text: value
        for text, value in known[0].items()
        if all(text in values for values in known) and _within({_kind(value)}, declared)
    }


def _possible(schema: Any) -> dict[str, Any] | None:
    """Return the values that a schema's own keywords let through at most, by text."""
    values = _listed(schema) if isinstance(schema, dict) else None
    return None if values is None else _by_text(schema, values)


def union_values(branches: list[Any], *, only_one: bool) -> dict[str, Any] | None:
    """Return exactly the values that a union of constants takes, by text; None when it is none.

    Args:
        branches: Of the union.
        only_one: A value that two branches take is refused.
    """
    found: dict[str, Any] = {}
    for branch in branches:
        values = _exact(branch)
        if values is None or (only_one and values.keys() & found.keys()):
            return None
        found |= values
    return found


def _exact(branch: Any) -> dict[str, Any] | None:
    """Return exactly the values that a schema takes, where it is nothing but a list of some."""
    if not isinstance(branch, dict) or {"const", "enum"} <= branch.keys():
        return None
    if any(key not in ("const", "enum", "type") and not is_word(key) for key in branch):
        return None
    return _possible(branch)


def branches_of(schema: Schema, keyword: str) -> list[Any]:
    """Return the schemas of `anyOf`, `oneOf`, `allOf` or `prefixItems`; none when malformed."""
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def plain_changes(old: Schema, new: Schema) -> Iterator[Detail]:
    """Yield what became of the keywords that hold no schemas, all but `required`."""
    for keyword in [keyword for keyword in {**new, **old} if keyword in _RULES]:
        values = [schema.get(keyword, MISSING) for schema in (old, new)]
        if same(*values):
            continue
        breaking = keyword in new and not _allows(keyword, old, new[keyword])
        if keyword == "enum" and isinstance(values[0], list) and isinstance(values[1], list):
            yield from values_changed(values[0], values[1], breaking=breaking)
        else:
            yield Detail("", changed(keyword, *values), breaking)


def values_changed(old: list[Any], new: list[Any], *, breaking: bool) -> Iterator[Detail]:
    """Yield what became of the values that are allowed."""
    gone, added = _besides(old, new), _besides(new, old)
    if gone or breaking:
        yield Detail("", f"no longer allowed: {shown_list(gone)}", breaking)
    if added:
        yield Detail("", f"also allowed now: {shown_list(added)}", breaking=False)


def _besides(values: list[Any], others: list[Any]) -> list[Any]:
    there = {text_of(value) for value in others}
    return [value for value in values if text_of(value) not in there]


def _allows(keyword: str, old: Schema, value: Any) -> bool:
    """Tell whether a keyword's new value lets through all that the old schema did."""
    about, is_shaped, rule = _RULES[keyword]
    if not is_shaped(value):
        return False
    return not overlap(kinds(old), about) or rule(old, value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_types(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return all(isinstance(name, str) and name in TYPES for name in names)


def _number(schema: Schema, keyword: str, missing: float) -> float:
    value = schema.get(keyword)
    return value if _is_number(value) else missing  # type: ignore[return-value]  # it is a number


def _type(old: Schema, value: Any) -> bool:
    return _within(kinds(old), set(value if isinstance(value, list) else [value]))


def _enum(old: Schema, value: list[Any]) -> bool:
    values = values_of(old)
    return values is not None and values.keys() <= {text_of(allowed) for allowed in value}


def _minimum(old: Schema, value: float) -> bool:
    return max(_number(old, key, -inf) for key in ("minimum", "exclusiveMinimum")) >= value


def _maximum(old: Schema, value: float) -> bool:
    return min(_number(old, key, inf) for key in ("maximum", "exclusiveMaximum")) <= value


def _above(old: Schema, value: float) -> bool:
    return _number(old, "minimum", -inf) > value or _number(old, "exclusiveMinimum", -inf) >= value


def _below(old: Schema, value: float) -> bool:
    return _number(old, "maximum", inf) < value or _number(old, "exclusiveMaximum", inf) <= value


def _multiple(old: Schema, value: Any) -> bool:
    step = old.get("multipleOf", 1 if "number" not in kinds(old) else None)
    return isinstance(step, int) and isinstance(value, int) and step % value == 0


def _format(old: Schema, value: str) -> bool:
    return (old.get("format"), value) in {("int32", "int64"), ("float", "double")}


def _members(old: Schema, value: float) -> bool:
    return max(len(required(old)), _number(old, "minProperties", 0)) >= value


def required(schema: Schema) -> list[str]:
    """Return the names in `required`, each once."""
    names = schema.get("required")
    return list(dict.fromkeys(filter(_is_text, names))) if isinstance(names, list) else []


def _dependent(old: Schema, value: dict[str, Any]) -> bool:
    known = old.get("dependentRequired")
    for name, names in value.items():
        before = required({"required": known.get(name)}) if isinstance(known, dict) else []
        if not isinstance(names, list) or any(n not in before + required(old) for n in names):
            return False
    return True


def _at_least(keyword: str) -> Rule:
    return lambda old, value: bool(_number(old, keyword, 0) >= value)


def _at_most(keyword: str) -> Rule:
    return lambda old, value: bool(_number(old, keyword, inf) <= value)


def _never(_old: Schema, _value: Any) -> bool:
    return False


_NUMBERS, _TEXTS = frozenset({"number", "integer"}), frozenset({"string"})
_ARRAYS, _OBJECTS = frozenset({"array"}), frozenset({"object"})
_RULES: dict[str, tuple[frozenset[str], Callable[[Any], bool], Rule]] = {
    "type": (TYPES, _is_types, _type),
    "enum": (TYPES, _is_list, _enum),
    "const": (TYPES, lambda _: True, lambda old, value: _enum(old, [value])),
    "format": (TYPES, _is_text, _format),
    "minimum": (_NUMBERS, _is_number, _minimum),
    "maximum": (_NUMBERS, _is_number, _maximum),
    "exclusiveMinimum": (_NUMBERS, _is_number, _above),
    "exclusiveMaximum": (_NUMBERS, _is_number, _below),
    "multipleOf": (_NUMBERS, lambda value: _is_number(value) and value > 0, _multiple),
    "pattern": (_TEXTS, _is_text, _never),
    "contentEncoding": (_TEXTS, _is_text, _never),
    "minLength": (_TEXTS, _is_number, _at_least("minLength")),
    "maxLength": (_TEXTS, _is_number, _at_most("maxLength")),
    "minItems": (_ARRAYS, _is_number, _at_least("minItems")),
    "maxItems": (_ARRAYS, _is_number, _at_most("maxItems")),
    "uniqueItems": (_ARRAYS, lambda value: isinstance(value, bool), lambda _, value: not value),
    "minProperties": (_OBJECTS, _is_number, _members),
    "maxProperties": (_OBJECTS, _is_number, _at_most("maxProperties")),
    "dependentRequired": (_OBJECTS, lambda value: isinstance(value, dict), _dependent),
}
"""For each keyword: the types it is about, the shape of its value, and when a new value allows all
that the old schema let through."""
PLAIN = frozenset(_RULES)
"""Keywords that hold no schemas, all but `required`."""
