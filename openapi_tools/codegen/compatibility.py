"""Compare two versions of a tool's input schema: what differs, and what may break a caller.

A difference breaks a caller when an input that was valid may be refused now. The walk knows removed
and required properties, types, enums, bounds and alternatives; other changed keywords break.

An object that describes some properties and says nothing of others is read as if callers send no
others, so a new optional property breaks no caller; it is read literally beside alternatives.

Spec: JSON Schema 2020-12, Core, section 10; Validation, section 6.
"""

from __future__ import annotations

import json
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import counted
from openapi_tools.json_values import (
    TYPES,
    UNIONS,
    as_dict,
    as_list,
    as_string,
    pointer_token,
    reachable_definitions,
    resolve_reference,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Schema = dict[str, Any]
    Rule = Callable[[Schema, Any], bool]

NO_LONGER, ALSO = "no longer allowed:", "also allowed now:"  # values of an enum, which follow
MISSING = object()  # the value of an absent keyword
MOST_DIFFERENCES = 100  # further ones of a pair of schemas are left out

_CHANGED = "changed in a way that may refuse what was valid"
_MOST_PAIRS = 50_000
_MOST_LEVELS = 50
_MOST_REFERENCES = 100


class Difference(NamedTuple):
    """A difference at a JSON Pointer: `what` differs (`maximum`), or happened (`is new`)."""

    place: str
    what: str
    breaking: bool
    before: Any = MISSING
    after: Any = MISSING


def differences(old: Schema, new: Schema) -> list[Difference]:
    """Return what differs between two schemas, breaking differences first."""
    return list(_Walk(old, new).compare(old, new, strict=False))


def json_of(value: Any, *, sort_keys: bool = True) -> str | None:
    """Return a value as JSON text, which tells 1 from true; None if it has none."""
    try:
        return json.dumps(value, sort_keys=sort_keys)
    except (RecursionError, TypeError, ValueError):
        return None


def _text_with_definitions(schema: Any, root: Schema) -> str | None:
    """Return a schema and the definitions it refers to as text, or None if it nests too deeply."""
    try:
        return json_of([schema, reachable_definitions(schema, as_dict(root.get("$defs")))])
    except RecursionError:
        return None


def _same(before: Any, after: Any) -> bool:
    text = json_of(before)
    return before is after or (text is not None and text == json_of(after))


class _Walk:
    def __init__(self, old: Schema, new: Schema) -> None:
        self._roots = old, new
        self._harmless: dict[tuple[int, int, bool], tuple[Difference, ...]] = {}
        self._breaking: dict[tuple[int, int, bool], tuple[Difference, ...]] = {}
        self._level = 0
        self._count = 0

    def compare(self, old: Any, new: Any, *, strict: bool) -> tuple[Difference, ...]:
        """Return the differences of a pair; if strict, callers may send undescribed members."""
        key = (id(old), id(new), strict)
        known = self._breaking.get(key, self._harmless.get(key))
        if known is not None:
            return known
        self._count += 1
        if self._count > _MOST_PAIRS:
            return (Difference("", _CHANGED, breaking=True),)
        self._harmless[key] = ()  # recursive schemas describe finite values
        self._level += 1
        found = sorted(self._pair(old, new, strict=strict), key=lambda found: not found.breaking)
        self._level -= 1
        kept = tuple(found[:MOST_DIFFERENCES])
        if _is_breaking(kept):
            # Later pairs were found harmless on the assumption that this one is.
            while self._harmless.popitem()[0] != key:
                pass
            self._breaking[key] = kept
        else:
            self._harmless[key] = kept
        return kept

    def _pair(self, old: Any, new: Any, *, strict: bool) -> Iterator[Difference]:
        (words, before), (new_words, after) = map(_followed, (old, new), self._roots)
        yield from _keyword_differences(words, new_words)
        if before is None or after is None or self._level > _MOST_LEVELS:
            yield from self._unless_equal(_CHANGED, old, new)
        elif before.get("not") == {}:
            if after.get("not") != {}:
                yield Difference("", "is allowed now", breaking=False)
        elif after.get("not") == {}:
            yield Difference("", "is no longer allowed", breaking=True)
        else:
            found = tuple(self._schemas(before, after, strict=strict))
            unions = [union for key in UNIONS if (union := as_list(before.get(key)))]
            fits = _is_breaking(found) and any(
                not any(_is_breaking(self.compare(branch, after, strict=True)) for branch in union)
                for union in unions
            )
            yield from (part for part in found if not (fits and part.breaking))

    def _unless_equal(self, what: str, old: Any, new: Any) -> Iterator[Difference]:
        before, after = map(_text_with_definitions, (old, new), self._roots)
        if before is None or before != after:
            yield Difference("", what, breaking=True)

    def _schemas(self, old: Schema, new: Schema, *, strict: bool) -> Iterator[Difference]:
        is_shaped = all(
            isinstance(schema[key], kind)
            for schema in (old, new)
            for key, kind in _SHAPES.items()
            if key in schema
        )
        if not is_shaped or not _WHOLE.isdisjoint([*old, *new]):
            yield from self._unless_equal(_CHANGED, old, new)
            return
        yield from _rule_differences(old, new)
        if "object" in _types(old):
            before, after = as_list(old.get("required")), as_list(new.get("required"))
            for names, others, state in ((after, before, "required"), (before, after, "optional")):
                for name in (name for name in names if name not in others):
                    yield Difference(pointer_token(name), f"is {state} now", state == "required")
            yield from self._properties(old, new, strict=strict)
        if "array" in _types(old):
            items = self.compare(old.get("items", True), new.get("items", True), strict=strict)
            yield from _below("/*", items)
        yield from self._alternatives(old, new, strict=strict)
        for keyword in {**new, **old}:
            if keyword in _NARROWING and keyword not in new:
                became = "anyOf now" if keyword == "oneOf" and "anyOf" in new else "gone"
                yield Difference("", f"{keyword} is {became}", breaking=False)
            elif keyword not in _KNOWN and not _is_word(keyword):
                values = ({keyword: schema.get(keyword)} for schema in (old, new))
                yield from self._unless_equal(f"{keyword} {_CHANGED}", *values)

    def _properties(self, old: Schema, new: Schema, *, strict: bool) -> Iterator[Difference]:
        before, after = old.get("properties", {}), new.get("properties", {})
        rest, others = (schema.get("additionalProperties", True) for schema in (old, new))
        unsent = bool(not strict and before and _OPEN.isdisjoint(old))
        for name in {**after, **before}:
            place = pointer_token(name)
            if name in before and name in after:
                yield from _below(place, self.compare(before[name], after[name], strict=strict))
            elif name in before and others is False:
                yield Difference(place, "is gone", breaking=before[name] is not False)
            elif name in before:
                yield Difference(place, "is no longer described", breaking=False)
                yield from _below(place, self.compare(before[name], others, strict=strict))
            elif unsent or rest is False:
                yield Difference(place, "is new", breaking=False)
            else:
                yield from _below(place, self.compare(rest, after[name], strict=strict))
        for found in _below("/*", self.compare(rest, others, strict=True)):
            yield found._replace(breaking=found.breaking and not unsent)

    def _alternatives(self, old: Schema, new: Schema, *, strict: bool) -> Iterator[Difference]:
        """Compare `anyOf`: each old alternative must fit a new one."""
        before, after = as_list(old.get("anyOf")), as_list(new.get("anyOf"))
        if not after:
            return
        olds = before or as_list(old.get("oneOf")) or [old]
        inner = strict or not {"properties", "$ref", "allOf"}.isdisjoint(old)
        for index, branch in enumerate(olds):
            # The alternative at the same place is the likeliest, and explains a difference best.
            choices = after[index : index + 1] + after
            compared = (self.compare(branch, choice, strict=inner) for choice in choices)
            fitting = next((found for found in compared if not _is_breaking(found)), None)
            if fitting is not None:
                yield from fitting
            elif len(olds) == len(after):
                yield from self.compare(branch, after[index], strict=inner)
            else:
                yield Difference("", "an alternative is gone or allows less", breaking=True)
        if before and len(after) > len(before):
            what = f"anyOf has {counted(len(after) - len(before), 'more alternative')}"
            yield Difference("", what, breaking=False)


def _is_breaking(found: Iterable[Difference]) -> bool:
    return any(part.breaking for part in found)


def _below(place: str, found: Iterable[Difference]) -> Iterator[Difference]:
    return (part._replace(place=place + part.place) for part in found)


def _is_word(keyword: object) -> bool:
    return keyword in _WORDS or str(keyword).startswith("x-")


def _followed(node: Any, root: Schema) -> tuple[Schema, Schema | None]:
    words: Schema = {}
    for _ in range(_MOST_REFERENCES):
        if isinstance(node, bool):
            node = {} if node else {"not": {}}
        if not isinstance(node, dict):
            break
        words = {key: node[key] for key in node if _is_word(key)} | words
        if [key for key in node if not _is_word(key)] != ["$ref"]:
            return words, node
        reference = as_string(node["$ref"])
        node = resolve_reference(root, reference) if f"{reference}/".startswith("#/") else None
    return words, None


def _keyword_differences(old: Schema, new: Schema) -> Iterator[Difference]:
    for keyword in {**new, **old}:
        before, after = old.get(keyword, MISSING), new.get(keyword, MISSING)
        if not _same(before, after):
            narrower = keyword in _RULES and not _allows(keyword, old, after)
            yield Difference("", keyword, narrower, before, after)


def _rule_differences(old: Schema, new: Schema) -> Iterator[Difference]:
    rules = ({key: schema[key] for key in schema if key in _RULES} for schema in (old, new))
    for found in _keyword_differences(*rules):
        lists = isinstance(found.before, list) and isinstance(found.after, list)
        if found.what != "enum" or not lists:
            yield found
            continue
        gone, added = _without(found.before, found.after), _without(found.after, found.before)
        if gone or found.breaking:
            yield Difference("", NO_LONGER, found.breaking, before=gone)
        if added:
            yield Difference("", ALSO, breaking=False, after=added)


def _without(values: list[Any], others: list[Any]) -> list[Any]:
    known = set(map(json_of, others)) - {None}
    return [value for value in values if json_of(value) not in known]


def _allows(keyword: str, old: Schema, value: Any) -> bool:
    types, rule = _RULES[keyword]
    try:
        return value is MISSING or types.isdisjoint(_types(old)) or rule(old, value)
    except TypeError:  # a value of a type that the keyword does not have
        return False


def _types(schema: Schema) -> frozenset[str]:
    """Return the declared types, of which a number may be an integer; all where none are known."""
    declared = schema.get("type")
    names: list[Any] = declared if isinstance(declared, list) else [declared]
    is_known = all(isinstance(name, str) and name in TYPES for name in names)
    return _with_integer(names) if is_known else TYPES


def _with_integer(names: Iterable[str]) -> frozenset[str]:
    found = frozenset(names)
    return found | {"integer"} if "number" in found else found


def _permits(values: Any, old: Schema) -> bool:
    known = [old["const"]] if "const" in old else old.get("enum")
    return isinstance(values, list) and isinstance(known, list) and not _without(known, values)


def _number(schema: Schema, keyword: str, missing: float) -> float:
    value = schema.get(keyword)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else missing


def _above(old: Schema, value: float) -> bool:
    return _number(old, "minimum", -inf) > value or _number(old, "exclusiveMinimum", -inf) >= value


def _under(old: Schema, value: float) -> bool:
    return _number(old, "maximum", inf) < value or _number(old, "exclusiveMaximum", inf) <= value


_NUMBER, _STRING = frozenset({"number", "integer"}), frozenset({"string"})
_ARRAY, _OBJECT = frozenset({"array"}), frozenset({"object"})
_RULES: dict[str, tuple[frozenset[str], Rule]] = {
    "type": (TYPES, lambda old, v: _types(old) <= _with_integer(v if isinstance(v, list) else [v])),
    "enum": (TYPES, lambda old, value: _permits(value, old)),
    "const": (TYPES, lambda old, value: _permits([value], old)),
    "minimum": (_NUMBER, lambda old, v: _above(old, v) or _number(old, "minimum", -inf) >= v),
    "maximum": (_NUMBER, lambda old, v: _under(old, v) or _number(old, "maximum", inf) <= v),
    "exclusiveMinimum": (_NUMBER, _above),
    "exclusiveMaximum": (_NUMBER, _under),
    "minLength": (_STRING, lambda old, value: _number(old, "minLength", 0) >= value),
    "maxLength": (_STRING, lambda old, value: _number(old, "maxLength", inf) <= value),
    "minItems": (_ARRAY, lambda old, value: _number(old, "minItems", 0) >= value),
    "maxItems": (_ARRAY, lambda old, value: _number(old, "maxItems", inf) <= value),
    "uniqueItems": (_ARRAY, lambda _old, value: value is False),
    "minProperties": (_OBJECT, lambda old, value: _number(old, "minProperties", 0) >= value),
    "maxProperties": (_OBJECT, lambda old, value: _number(old, "maxProperties", inf) <= value),
    "multipleOf": (_NUMBER, lambda _old, _value: False),
    **dict.fromkeys(("pattern", "contentEncoding"), (_STRING, lambda _old, _value: False)),
    "format": (TYPES, lambda old, value: (old.get("format"), value) == ("int32", "int64")),
}
"""Per keyword: the types it constrains, and a test that every old input stays valid."""
_WORDS = {
    *("$comment", "$schema", "contentMediaType", "contentSchema", "default", "deprecated"),
    *("description", "example", "examples", "readOnly", "title", "writeOnly"),
}
_SHAPES: dict[str, type | tuple[type, ...]] = {
    "properties": dict,
    **dict.fromkeys(("anyOf", "required"), list),
    **dict.fromkeys(("additionalProperties", "items"), (dict, bool)),
}
_KNOWN = {*_SHAPES, *_RULES, "$defs", "definitions"}
_WHOLE = {"patternProperties", "prefixItems", "unevaluatedItems", "unevaluatedProperties"}
"""Keywords that change what their neighbours mean: schemas with them must be equal."""
_NARROWING = {  # keywords that only refuse: a schema without them permits more
    *("$ref", "allOf", "anyOf", "contains", "dependentRequired", "dependentSchemas", "if"),
    *("not", "oneOf", "propertyNames"),
}
_OPEN = {*_NARROWING, "additionalProperties"}
