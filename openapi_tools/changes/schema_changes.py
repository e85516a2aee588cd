"""Compare two versions of a tool's input schema: what differs, and what may break a caller.

A difference breaks a caller when an input that was valid may now be refused. The walk covers
removed and required properties, types, enums, bounds and alternatives; other changed keywords
break.

An object that describes some properties and says nothing of others is read as if callers send no
others, so a new optional property breaks no caller. Beside alternatives it is read literally, as
callers may send what another alternative describes.

Spec: JSON Schema 2020-12, Core, section 10; Validation, section 6.
"""

from __future__ import annotations

import json
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_schema import TYPES, UNIONS, reachable_definitions
from openapi_tools.common.json_values import (
    as_dict,
    as_list,
    as_string,
    pointer_token,
    resolve_reference,
)
from openapi_tools.errors import format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Schema = dict[str, Any]
    Rule = Callable[[Schema, Any], bool]

REMOVED_VALUES, ADDED_VALUES = "no longer allowed:", "also allowed now:"  # of an enum
MISSING = object()  # the value of an absent keyword
MOST_DIFFERENCES = 100  # further ones of a pair of schemas are left out

_CHANGED = "changed; input that was valid may now be refused"
_MOST_PAIRS = 50_000
_MOST_LEVELS = 50
_MOST_REFERENCES = 100


class Difference(NamedTuple):
    """A difference at a JSON Pointer: `what` differs (`maximum`), or happened (`is new`)."""

    pointer: str
    what: str
    breaking: bool
    before: Any = MISSING
    after: Any = MISSING


def compare_schemas(old: Schema, new: Schema) -> list[Difference]:
    """Return what differs between two schemas, breaking differences first."""
    return list(_SchemaComparison(old, new).compare(old, new, strict=False))


def write_json(value: Any, *, sort_keys: bool = True) -> str | None:
    """Return a value as JSON text, which tells 1 from true; None if it has none."""
    try:
        return json.dumps(value, sort_keys=sort_keys)
    except (RecursionError, TypeError, ValueError):
        return None


def _text_with_definitions(schema: Any, root: Schema) -> str | None:
    try:
        return write_json([schema, reachable_definitions(schema, as_dict(root.get("$defs")))])
    except RecursionError:
        return None


def _is_same(before: Any, after: Any) -> bool:
    text = write_json(before)
    return before is after or (text is not None and text == write_json(after))


class _SchemaComparison:
    def __init__(self, old: Schema, new: Schema) -> None:
        self._roots = old, new
        self._harmless: dict[tuple[int, int, bool], tuple[Difference, ...]] = {}
        self._breaking: dict[tuple[int, int, bool], tuple[Difference, ...]] = {}
        self._level = 0
        self._count = 0

    def compare(self, old: Any, new: Any, *, strict: bool) -> tuple[Difference, ...]:
        """Return the differences of a pair; if strict, callers may send undescribed properties."""
        key = (id(old), id(new), strict)
        cached = self._breaking.get(key, self._harmless.get(key))
        if cached is not None:
            return cached
        self._count += 1
        if self._count > _MOST_PAIRS:
            return (Difference("", _CHANGED, breaking=True),)
        self._harmless[key] = ()  # recursive schemas describe finite values
        self._level += 1
        ordered = sorted(
            self._compare_pair(old, new, strict=strict), key=lambda each: not each.breaking
        )
        self._level -= 1
        differences = tuple(ordered[:MOST_DIFFERENCES])
        if _is_breaking(differences):
            # Later pairs were found harmless on the assumption that this one is.
            while self._harmless.popitem()[0] != key:
                pass
            self._breaking[key] = differences
        else:
            self._harmless[key] = differences
        return differences

    def _compare_pair(self, old: Any, new: Any, *, strict: bool) -> Iterator[Difference]:
        (annotations, before), (new_annotations, after) = map(
            _follow_references, (old, new), self._roots
        )
        yield from _keyword_differences(annotations, new_annotations)
        if before is None or after is None or self._level > _MOST_LEVELS:
            yield from self._require_equal(_CHANGED, old, new)
        elif before.get("not") == {}:
            if after.get("not") != {}:
                yield Difference("", "is allowed now", breaking=False)
        elif after.get("not") == {}:
            yield Difference("", "is no longer allowed", breaking=True)
        else:
            differences = tuple(self._compare_keywords(before, after, strict=strict))
            unions = [union for key in UNIONS if (union := as_list(before.get(key)))]
            fits_a_branch = _is_breaking(differences) and any(
                not any(_is_breaking(self.compare(branch, after, strict=True)) for branch in union)
                for union in unions
            )
            yield from (
                difference
                for difference in differences
                if not (fits_a_branch and difference.breaking)
            )

    def _require_equal(self, what: str, old: Any, new: Any) -> Iterator[Difference]:
        before, after = map(_text_with_definitions, (old, new), self._roots)
        if before is None or before != after:
            yield Difference("", what, breaking=True)

    def _compare_keywords(self, old: Schema, new: Schema, *, strict: bool) -> Iterator[Difference]:
        has_valid_types = all(
            isinstance(schema[key], kind)
            for schema in (old, new)
            for key, kind in _VALUE_TYPES.items()
            if key in schema
        )
        if not has_valid_types or not _INTERDEPENDENT.isdisjoint([*old, *new]):
            yield from self._require_equal(_CHANGED, old, new)
            return
        yield from _rule_differences(old, new)
        if "object" in _types_of_schema(old):
            before, after = as_list(old.get("required")), as_list(new.get("required"))
            for names, missing_names, state in (
                (after, before, "required"),
                (before, after, "optional"),
            ):
                for name in (name for name in names if name not in missing_names):
                    yield Difference(pointer_token(name), f"is {state} now", state == "required")
            yield from self._compare_properties(old, new, strict=strict)
        if "array" in _types_of_schema(old):
            items = self.compare(old.get("items", True), new.get("items", True), strict=strict)
            yield from _prefix_pointers("/*", items)
        yield from self._compare_alternatives(old, new, strict=strict)
        for keyword in {**new, **old}:
            if keyword in _NARROWING and keyword not in new:
                became = "anyOf now" if keyword == "oneOf" and "anyOf" in new else "gone"
                yield Difference("", f"{keyword} is {became}", breaking=False)
            elif keyword not in _COMPARED and not _is_annotation(keyword):
                values = ({keyword: schema.get(keyword)} for schema in (old, new))
                yield from self._require_equal(f"{keyword} {_CHANGED}", *values)

    def _compare_properties(
        self, old: Schema, new: Schema, *, strict: bool
    ) -> Iterator[Difference]:
        before, after = old.get("properties", {}), new.get("properties", {})
        old_rest, new_rest = (schema.get("additionalProperties", True) for schema in (old, new))
        is_never_sent = bool(not strict and before and _DESCRIBES_OTHERS.isdisjoint(old))
        for name in {**after, **before}:
            pointer = pointer_token(name)
            if name in before and name in after:
                yield from _prefix_pointers(
                    pointer, self.compare(before[name], after[name], strict=strict)
                )
            elif name in before and new_rest is False:
                yield Difference(pointer, "is gone", breaking=before[name] is not False)
            elif name in before:
                yield Difference(pointer, "is no longer described", breaking=False)
                yield from _prefix_pointers(
                    pointer, self.compare(before[name], new_rest, strict=strict)
                )
            elif is_never_sent or old_rest is False:
                yield Difference(pointer, "is new", breaking=False)
            else:
                yield from _prefix_pointers(
                    pointer, self.compare(old_rest, after[name], strict=strict)
                )
        for difference in _prefix_pointers("/*", self.compare(old_rest, new_rest, strict=True)):
            yield difference._replace(breaking=difference.breaking and not is_never_sent)

    def _compare_alternatives(
        self, old: Schema, new: Schema, *, strict: bool
    ) -> Iterator[Difference]:
        before, after = as_list(old.get("anyOf")), as_list(new.get("anyOf"))
        if not after:
            return
        old_branches = before or as_list(old.get("oneOf")) or [old]
        is_strict = strict or not {"properties", "$ref", "allOf"}.isdisjoint(old)
        for index, branch in enumerate(old_branches):
            # The alternative at the same index is the likeliest, and explains a difference best.
            choices = after[index : index + 1] + after
            candidates = (self.compare(branch, choice, strict=is_strict) for choice in choices)
            harmless = next((each for each in candidates if not _is_breaking(each)), None)
            if harmless is not None:
                yield from harmless
            elif len(old_branches) == len(after):
                yield from self.compare(branch, after[index], strict=is_strict)
            else:
                yield Difference("", "an alternative was removed or is stricter", breaking=True)
        if before and len(after) > len(before):
            what = f"anyOf has {format_count(len(after) - len(before), 'more alternative')}"
            yield Difference("", what, breaking=False)


def _is_breaking(differences: Iterable[Difference]) -> bool:
    return any(part.breaking for part in differences)


def _prefix_pointers(prefix: str, differences: Iterable[Difference]) -> Iterator[Difference]:
    return (each._replace(pointer=prefix + each.pointer) for each in differences)


def _is_annotation(keyword: object) -> bool:
    return keyword in _ANNOTATIONS or str(keyword).startswith("x-")


def _follow_references(node: Any, root: Schema) -> tuple[Schema, Schema | None]:
    annotations: Schema = {}
    for _ in range(_MOST_REFERENCES):
        if isinstance(node, bool):
            node = {} if node else {"not": {}}
        if not isinstance(node, dict):
            break
        annotations = {key: node[key] for key in node if _is_annotation(key)} | annotations
        if [key for key in node if not _is_annotation(key)] != ["$ref"]:
            return annotations, node
        reference = as_string(node["$ref"])
        node = resolve_reference(root, reference) if f"{reference}/".startswith("#/") else None
    return annotations, None


def _keyword_differences(old: Schema, new: Schema) -> Iterator[Difference]:
    for keyword in {**new, **old}:
        before, after = old.get(keyword, MISSING), new.get(keyword, MISSING)
        if not _is_same(before, after):
            narrower = keyword in _RULES and not _allows(keyword, old, after)
            yield Difference("", keyword, narrower, before, after)


def _rule_differences(old: Schema, new: Schema) -> Iterator[Difference]:
    rules = ({key: schema[key] for key in schema if key in _RULES} for schema in (old, new))
    for difference in _keyword_differences(*rules):
        are_lists = isinstance(difference.before, list) and isinstance(difference.after, list)
        if difference.what != "enum" or not are_lists:
            yield difference
            continue
        removed, added = (
            _values_not_in(difference.before, difference.after),
            _values_not_in(difference.after, difference.before),
        )
        if removed or difference.breaking:
            yield Difference("", REMOVED_VALUES, difference.breaking, before=removed)
        if added:
            yield Difference("", ADDED_VALUES, breaking=False, after=added)


def _values_not_in(values: list[Any], excluded: list[Any]) -> list[Any]:
    excluded_texts = set(map(write_json, excluded)) - {None}
    return [value for value in values if write_json(value) not in excluded_texts]


def _allows(keyword: str, old: Schema, value: Any) -> bool:
    types, rule = _RULES[keyword]
    try:
        return value is MISSING or types.isdisjoint(_types_of_schema(old)) or rule(old, value)
    except TypeError:  # a value of a type that the keyword does not have
        return False


def _types_of_schema(schema: Schema) -> frozenset[str]:
    declared = schema.get("type")
    names: list[Any] = declared if isinstance(declared, list) else [declared]
    is_known = all(isinstance(name, str) and name in TYPES for name in names)
    return _add_integer(names) if is_known else TYPES


def _add_integer(names: Iterable[str]) -> frozenset[str]:
    types = frozenset(names)
    return types | {"integer"} if "number" in types else types


def _permits(values: Any, old: Schema) -> bool:
    old_values = [old["const"]] if "const" in old else old.get("enum")
    return (
        isinstance(values, list)
        and isinstance(old_values, list)
        and not _values_not_in(old_values, values)
    )


def _bound_of(schema: Schema, keyword: str, missing: float) -> float:
    value = schema.get(keyword)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else missing


def _minimum_exceeds(old: Schema, value: float) -> bool:
    return (
        _bound_of(old, "minimum", -inf) > value or _bound_of(old, "exclusiveMinimum", -inf) >= value
    )


def _maximum_is_below(old: Schema, value: float) -> bool:
    return (
        _bound_of(old, "maximum", inf) < value or _bound_of(old, "exclusiveMaximum", inf) <= value
    )


_NUMBER, _STRING = frozenset({"number", "integer"}), frozenset({"string"})
_ARRAY, _OBJECT = frozenset({"array"}), frozenset({"object"})
# Per keyword: the types it constrains, and a test that every old input stays valid.
_RULES: dict[str, tuple[frozenset[str], Rule]] = {
    "type": (
        TYPES,
        lambda old, v: _types_of_schema(old) <= _add_integer(v if isinstance(v, list) else [v]),
    ),
    "enum": (TYPES, lambda old, value: _permits(value, old)),
    "const": (TYPES, lambda old, value: _permits([value], old)),
    "minimum": (
        _NUMBER,
        lambda old, v: _minimum_exceeds(old, v) or _bound_of(old, "minimum", -inf) >= v,
    ),
    "maximum": (
        _NUMBER,
        lambda old, v: _maximum_is_below(old, v) or _bound_of(old, "maximum", inf) <= v,
    ),
    "exclusiveMinimum": (_NUMBER, _minimum_exceeds),
    "exclusiveMaximum": (_NUMBER, _maximum_is_below),
    "minLength": (_STRING, lambda old, value: _bound_of(old, "minLength", 0) >= value),
    "maxLength": (_STRING, lambda old, value: _bound_of(old, "maxLength", inf) <= value),
    "minItems": (_ARRAY, lambda old, value: _bound_of(old, "minItems", 0) >= value),
    "maxItems": (_ARRAY, lambda old, value: _bound_of(old, "maxItems", inf) <= value),
    "uniqueItems": (_ARRAY, lambda _old, value: value is False),
    "minProperties": (_OBJECT, lambda old, value: _bound_of(old, "minProperties", 0) >= value),
    "maxProperties": (_OBJECT, lambda old, value: _bound_of(old, "maxProperties", inf) <= value),
    "multipleOf": (_NUMBER, lambda _old, _value: False),
    **dict.fromkeys(("pattern", "contentEncoding"), (_STRING, lambda _old, _value: False)),
    "format": (TYPES, lambda old, value: (old.get("format"), value) == ("int32", "int64")),
}
_ANNOTATIONS = {
    *("$comment", "$schema", "contentMediaType", "contentSchema", "default", "deprecated"),
    *("description", "example", "examples", "readOnly", "title", "writeOnly"),
}
_VALUE_TYPES: dict[str, type | tuple[type, ...]] = {
    "properties": dict,
    **dict.fromkeys(("anyOf", "required"), list),
    **dict.fromkeys(("additionalProperties", "items"), (dict, bool)),
}
_COMPARED = {*_VALUE_TYPES, *_RULES, "$defs", "definitions"}
# Keywords that change what their neighbours mean: schemas with them must be equal.
_INTERDEPENDENT = {"patternProperties", "prefixItems", "unevaluatedItems", "unevaluatedProperties"}
# Keywords that only refuse: a schema without them permits more.
_NARROWING = {
    *("$ref", "allOf", "anyOf", "contains", "dependentRequired", "dependentSchemas", "if"),
    *("not", "oneOf", "propertyNames"),
}
_DESCRIBES_OTHERS = {*_NARROWING, "additionalProperties"}
