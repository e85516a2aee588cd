"""Two versions of a tool's input schema: what differs, and whether it may refuse what was valid.

The schemas are walked side by side. Each pair that is met must let through at least what its old
half did; a pair met again inside itself is taken to do so, which is right for recursive schemas
since what they describe is finite. What the walk does not understand counts as narrower.

Objects that describe some members and say nothing of others are read as nobody sends others: an API
that describes one more optional member breaks no caller. Objects inside `allOf` or `oneOf`, or with
such keywords themselves, are taken at their word: there the members of one part are others to the
next.

Spec: JSON Schema 2020-12, Core, section 10.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from openapi_tools.codegen.bounds import (
    PLAIN,
    branches_of,
    kinds,
    overlap,
    plain_changes,
    required,
    union_values,
    values_changed,
    values_of,
)
from openapi_tools.codegen.sameness import Sameness, followed, is_nothing, target
from openapi_tools.codegen.wording import MISSING, Detail, is_word, same, text_of, words_changed
from openapi_tools.json_pointer import pointer_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Schema = dict[str, Any]
    Key = tuple[int, int, bool]
    Details = tuple[Detail, ...]

_UNKNOWN = "changed in a way that may refuse what was valid"
_MOST_PAIRS = 50_000
MOST_DETAILS = 100
"""More differences of one pair are left out."""
_DEEPEST = 50
_MOST_BRANCHES = 40
_OBJECT, _ARRAY = frozenset({"object"}), frozenset({"array"})
_UNIONS = ("anyOf", "oneOf")
_TOGETHER = (
    ("not",),
    ("if", "then", "else"),
    ("contains", "minContains", "maxContains"),
    ("dependentSchemas",),
    ("propertyNames",),
)
"""Keywords that are compared as they stand, with those that only matter beside the first."""
_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
_SHAPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("properties", "patternProperties"), dict),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems", "required"), list),
    **dict.fromkeys(("additionalProperties", "items"), (dict, bool)),
    "$ref": str,
}
_KNOWN = frozenset({*_SHAPES, *PLAIN, "$defs", "definitions", *_UNEVALUATED}.union(*_TOGETHER))
_NO_OTHERS = frozenset({"properties", "$ref", "allOf"})
_WITH_OTHERS = frozenset(
    {
        *("additionalProperties", "allOf", "anyOf", "dependentSchemas", "if", "oneOf"),
        *("patternProperties", "$ref", "unevaluatedProperties"),
    }
)


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[Detail]:
    """Return what differs between two schemas; what is breaking comes first.

    Args:
        old: The schema that inputs were valid under.
        new: The one that they are checked against now.
    """
    return list(_Walk(old, new).compare(old, new, strict=False))


def _is_breaking(details: Iterable[Detail]) -> bool:
    return any(detail.breaking for detail in details)


def _harmless(details: Iterable[Detail]) -> Iterator[Detail]:
    return (detail for detail in details if not detail.breaking)


def _below(place: str, details: Iterable[Detail]) -> Iterator[Detail]:
    return (detail._replace(place=place + detail.place) for detail in details)


def _members_of(schema: Schema, keyword: str) -> Schema:
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


class _Walk:
    """Compares the schemas inside two schemas, each pair once."""

    def __init__(self, old: Schema, new: Schema) -> None:
        self._old, self._new = old, new
        self._sameness = Sameness(old, new)
        self._fine: dict[Key, Details] = {}
        self._narrower: dict[Key, Details] = {}
        self._depth = 0
        self._count = 0

    def compare(self, old: Any, new: Any, *, strict: bool) -> Details:
        """Return what differs between a pair, at places relative to it.

        Args:
            old: Anywhere in the old schema.
            new: Anywhere in the new one.
            strict: Members that an object does not describe may be sent all the same.
        """
        key = (id(old), id(new), strict)
        for known in (self._narrower, self._fine):
            if key in known:
                return known[key]
        self._count += 1
        if self._count > _MOST_PAIRS:
            return (Detail("", _UNKNOWN, breaking=True),)
        self._fine[key] = ()
        self._depth += 1
        found = sorted(self._pair(old, new, strict=strict), key=lambda detail: not detail.breaking)
        self._depth -= 1
        return self._kept(key, tuple(found[:MOST_DETAILS]))

    def _kept(self, key: Key, found: Details) -> Details:
        if not _is_breaking(found):
            self._fine[key] = found
            return found
        # What was found fine since then may rest on this pair.
        while self._fine.popitem()[0] != key:
            pass
        self._narrower[key] = found
        return found

    def _pair(self, old: Any, new: Any, *, strict: bool) -> Iterator[Detail]:
        before, after = followed(old, self._old), followed(new, self._new)
        yield from words_changed(before.words, after.words)
        if before.schema is None or after.schema is None or self._depth > _DEEPEST:
            if not self._sameness.of(old, new):
                yield Detail("", _UNKNOWN, breaking=True)
        elif is_nothing(before.schema):
            if not is_nothing(after.schema):
                yield Detail("", "is allowed now", breaking=False)
        elif is_nothing(after.schema):
            yield Detail("", "is no longer allowed", breaking=True)
        else:
            yield from self._whole_or_parts(before.schema, after.schema, strict=strict)

    def _whole_or_parts(self, old: Schema, new: Schema, *, strict: bool) -> Iterator[Detail]:
        """Where the whole does not fit, one part of `allOf` may, or every branch of a union."""
        found = tuple(self._whole(old, new, strict=strict))
        fits = (
            not _is_breaking(found)
            or any(self._fits(part, new) for part in self._parts(old, self._old))
            or any(
                all(self._fits(branch, new) for branch in branches_of(old, keyword))
                for keyword in _UNIONS
                if branches_of(old, keyword)
            )
        )
        yield from _harmless(found) if fits else found

    def _fits(self, old: Any, new: Any) -> bool:
        return not _is_breaking(self.compare(old, new, strict=True))

    def _whole(self, old: Schema, new: Schema, *, strict: bool) -> Iterator[Detail]:
        if any(not isinstance(new.get(key), shape) for key, shape in _SHAPES.items() if key in new):
            if not self._sameness.of(old, new):
                yield Detail("", _UNKNOWN, breaking=True)
            return
        yield from plain_changes(old, new)
        if overlap(kinds(old), _OBJECT):
            yield from _required_changes(old, new)
            yield from self._members(old, new, strict=strict)
        if overlap(kinds(old), _ARRAY):
            yield from self._items(old, new, strict=strict)
        for keyword in _UNIONS:
            yield from self._union(old, new, keyword, strict=strict)
        yield from self._all(old, new)
        yield from self._as_they_stand(old, new)

    def _members(self, old: Schema, new: Schema, *, strict: bool) -> Iterator[Detail]:
        before, after = _members_of(old, "properties"), _members_of(new, "properties")
        unsent = bool(not strict and before and _WITH_OTHERS.isdisjoint(old))
        free = True if "patternProperties" in old else old.get("additionalProperties", True)
        others = new.get("additionalProperties", True)
        for name in {**after, **before}:
            place = pointer_token(name)
            if name in before and name in after:
                yield from _below(place, self.compare(before[name], after[name], strict=strict))
            elif name in before and others is False:
                yield Detail(place, "is gone", breaking=before[name] is not False)
            elif name in before:
                yield Detail(place, "is no longer described", breaking=False)
                yield from _below(place, self.compare(before[name], others, strict=strict))
            elif unsent or free is False:
                yield Detail(place, "is new", breaking=False)
            else:
                yield from _below(place, self.compare(free, after[name], strict=strict))
        yield from _below("/*", self._others(old, new, unsent=unsent))

    def _others(self, old: Schema, new: Schema, *, unsent: bool) -> Iterator[Detail]:
        """Compare what is said of the members that are not described one by one."""
        before, after = (_members_of(schema, "patternProperties") for schema in (old, new))
        rest, others = (schema.get("additionalProperties", True) for schema in (old, new))
        for pattern, schema in after.items():
            yield from self.compare(before.get(pattern, True), schema, strict=True)
        for pattern, schema in before.items():
            if pattern not in after:
                yield from self.compare(schema, others, strict=True)
        for detail in self.compare(rest, others, strict=True):
            yield detail._replace(breaking=detail.breaking and not unsent)

    def _items(self, old: Schema, new: Schema, *, strict: bool) -> Iterator[Detail]:
        before, after = branches_of(old, "prefixItems"), branches_of(new, "prefixItems")
        rest, others = old.get("items", True), new.get("items", True)
        for index in range(max(len(before), len(after))):
            first = before[index] if index < len(before) else rest
            second = after[index] if index < len(after) else others
            yield from _below(f"/{index}", self.compare(first, second, strict=strict))
        yield from _below("/*", self.compare(rest, others, strict=strict))

    def _union(self, old: Schema, new: Schema, keyword: str, *, strict: bool) -> Iterator[Detail]:
        """Compare `anyOf` or `oneOf`: each old branch must fit into a new one."""
        before, after = branches_of(old, keyword), branches_of(new, keyword)
        if after and keyword == "anyOf" and not before and branches_of(old, "oneOf"):
            before = branches_of(old, "oneOf")
            yield Detail("", "several alternatives may fit now, not one alone", breaking=False)
        if not after:
            if before and "anyOf" not in new:
                yield Detail("", f"{keyword} is gone", breaking=False)
            return
        values, had = union_values(after, only_one=keyword == "oneOf"), values_of(old)
        if values is not None and had is not None:
            listed = union_values(before, only_one=False) or had
            breaking = not had.keys() <= values.keys()
            yield from values_changed([*listed.values()], [*values.values()], breaking=breaking)
            yield from _titles_changed(before, after)
        elif keyword == "oneOf" and not self._is_exclusive(after):
            if not self._sameness.of_keywords(old, new, [keyword]):
                yield Detail("", f"oneOf {_UNKNOWN}", breaking=True)
            for first, second in zip(before, after, strict=False):
                yield from _harmless(self.compare(first, second, strict=True))
        else:
            inner = strict or keyword == "oneOf" or not _NO_OTHERS.isdisjoint(old)
            olds = before or branches_of(old, "anyOf") or [old]
            yield from self._each_fits(olds, after, strict=inner)
            if before and len(after) > len(before):
                text = f"{keyword} has {len(after) - len(before)} more alternatives"
                yield Detail("", text, breaking=False)

    def _each_fits(self, olds: list[Any], news: list[Any], *, strict: bool) -> Iterator[Detail]:
        for index, branch in enumerate(olds):
            # The branch at the same place is the likeliest, and what an explanation is about.
            choices = news[index : index + 1] + news
            compared = (self.compare(branch, choice, strict=strict) for choice in choices)
            fitting = next((found for found in compared if not _is_breaking(found)), None)
            if fitting is not None:
                yield from fitting
            elif len(olds) == len(news):
                yield from self.compare(branch, news[index], strict=strict)
            else:
                yield Detail("", "an alternative is gone or allows less", breaking=True)

    def _is_exclusive(self, branches: list[Any]) -> bool:
        """Tell whether no value can be valid under two branches of the new schema."""
        schemas = [followed(branch, self._new).schema for branch in branches[: _MOST_BRANCHES + 1]]
        known = [schema for schema in schemas if schema is not None]
        return len(branches) == len(known) <= _MOST_BRANCHES and all(
            self._are_apart(first, second) for first, second in combinations(known, 2)
        )

    def _are_apart(self, first: Schema, second: Schema) -> bool:
        """Tell whether types or values differ, or those of a member that both objects require."""
        types = kinds(first), kinds(second)
        if not overlap(*types) or _have_no_value_in_common(first, second):
            return True
        members = [_members_of(schema, "properties") for schema in (first, second)]
        for name in set(required(first)).intersection(required(second), *members):
            pair = [followed(properties[name], self._new).schema or {} for properties in members]
            if types == (_OBJECT, _OBJECT) and _have_no_value_in_common(*pair):
                return True
        return False

    def _parts(self, schema: Schema, root: Schema) -> list[Any]:
        """Return the schemas that a value must fit besides the schema's own keywords."""
        parts = branches_of(schema, "allOf")
        return [*parts, target(schema, root)] if "$ref" in schema else parts

    def _all(self, old: Schema, new: Schema) -> Iterator[Detail]:
        """Compare `allOf`, and a `$ref` with keywords beside it: each new part must hold."""
        olds, news = self._parts(old, self._old), self._parts(new, self._new)
        for index, part in enumerate(news):
            choices = [*olds[index : index + 1], old, *olds]
            compared = [self.compare(choice, part, strict=True) for choice in choices]
            yield from next((d for d in compared if not _is_breaking(d)), compared[0])
        if len(news) < len(olds):
            yield Detail("", "a part of allOf is gone", breaking=False)

    def _as_they_stand(self, old: Schema, new: Schema) -> Iterator[Detail]:
        """Compare the keywords that a walk cannot follow: they must be the same."""
        for keyword, *beside in _TOGETHER:
            if keyword not in new:
                if keyword in old:
                    yield Detail("", f"{keyword} is gone", breaking=False)
            elif not self._sameness.of_keywords(old, new, [keyword, *beside]):
                yield Detail("", f"{keyword} {_UNKNOWN}", breaking=True)
        for keyword in _UNEVALUATED:
            if keyword in new and not self._sameness.of(old, new):
                yield Detail("", f"{keyword} {_UNKNOWN}", breaking=True)
        for keyword in {**new, **old}:
            values = [schema.get(keyword, MISSING) for schema in (old, new)]
            if keyword not in _KNOWN and not is_word(keyword) and not same(*values):
                yield Detail("", f"{keyword} {_UNKNOWN}", breaking=True)


def _required_changes(old: Schema, new: Schema) -> Iterator[Detail]:
    before, after = required(old), required(new)
    for name in after:
        if name not in before:
            yield Detail(pointer_token(name), "is required now", breaking=True)
    for name in before:
        if name not in after:
            yield Detail(pointer_token(name), "is optional now", breaking=False)


def _titles_changed(old: list[Any], new: list[Any]) -> Iterator[Detail]:
    """Yield what became of the words around the constants of a union."""
    before = {text_of(branch.get("const")): branch for branch in old if isinstance(branch, dict)}
    for branch in new:
        if (known := before.get(text_of(branch.get("const")))) is not None:
            yield from words_changed(known, branch)


def _have_no_value_in_common(first: Schema, second: Schema) -> bool:
    values = values_of(first), values_of(second)
    return None not in values and set(values[0] or ()).isdisjoint(values[1] or ())
