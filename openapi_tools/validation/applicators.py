"""The keywords of JSON Schema that hand a value, or parts of it, to other schemas.

One generator per keyword: it gives what is wrong. A `place` of None asks for the verdict only;
whatever is given then stands for "does not fit".

Spec: JSON Schema 2020-12, Core, sections 10 and 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from openapi_tools.validation.alternatives import closest, label
from openapi_tools.validation.messages import BRIEF, Flaw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from openapi_tools.validation.messages import Place, Schema

    Flaws = Iterator[Flaw]
    Applicator = Callable[["Look", dict[str, Any], Any, Place | None], Flaws]

_MANY = 20
"""How many times longer than a value a list of names may be, to be gone through for it."""


class Look(Protocol):
    """One look at one input."""

    def holds(self, schema: Schema, value: Any) -> bool:
        """Tell whether a value fits a schema; each pair is looked at once."""
        ...

    def flaws(self, schema: Schema, value: Any, place: Place | None) -> Iterator[Flaw]:
        """Give what is wrong, in the order of the schema's keywords, its own assertions first."""
        ...

    def resolve(self, reference: str) -> Schema:
        """Return the schema that a `$ref` names."""
        ...

    def matches(self, pattern: str, text: str) -> bool:
        """Tell whether a name matches a regular expression."""
        ...


def _flaw(place: Place | None, keyword: str, limit: Any, value: Any) -> Flaw:
    return BRIEF if place is None else Flaw(place, keyword, limit, value)


def _same(look: Look, schema: Schema, value: Any, place: Place | None) -> Flaws:
    """Give what is wrong with a value in the eyes of another schema."""
    if not look.holds(schema, value):
        yield from [BRIEF] if place is None else look.flaws(schema, value, place)


def _inside(look: Look, schema: Schema, member: tuple[Any, Any], place: Place | None) -> Flaws:
    """Give what is wrong with a member or item of a value."""
    value, step = member
    yield from _same(look, schema, value[step], None if place is None else (*place, step))


def _reference(look: Look, schema: dict[str, Any], value: Any, place: Place | None) -> Flaws:
    yield from _same(look, look.resolve(schema["$ref"]), value, place)


def _properties(look: Look, schema: dict[str, Any], value: Any, place: Place | None) -> Flaws:
    if isinstance(value, dict):
        known = schema["properties"]
        for name in _shared(known, value):
            yield from _inside(look, known[name], (value, name), place)


def _shared(known: dict[str, Any], value: dict[str, Any]) -> Iterable[str]:
    """Return the names that a schema and a value share: in the schema's order if that is short."""
    if len(known) > _MANY * (len(value) + 1):
        return [name for name in value if name in known]
    return [name for name in known if name in value]


def _pattern_properties(
    look: Look, schema: dict[str, Any], value: Any, place: Place | None
) -> Flaws:
    if isinstance(value, dict):
        for pattern, member in schema["patternProperties"].items():
            for name in value:
                if look.matches(pattern, name):
                    yield from _inside(look, member, (value, name), place)


def _additional(look: Look, schema: dict[str, Any], value: Any, place: Place | None) -> Flaws:
    if isinstance(value, dict):
        declared = _declared(look, schema, value)
        steps = (name for name in value if name not in declared)
        yield from _others(look, schema, "additionalProperties", _Rest(value, steps, place))


class _Rest:
    """The members or items that no other keyword speaks of."""

    def __init__(self, value: Any, steps: Iterable[Any], place: Place | None) -> None:
        self.value = value
        self.steps = steps
        self.place = place


def _others(look: Look, schema: dict[str, Any], keyword: str, rest: _Rest) -> Flaws:
    for step in rest.steps:
        if schema[keyword] is False and rest.place is not None and isinstance(step, str):
            place = (*rest.place, step)
            yield Flaw(place, "additionalProperties", _names(schema), rest.value[step])
        else:
            yield from _inside(look, schema[keyword], (rest.value, step), rest.place)


def _names(schema: dict[str, Any]) -> list[str]:
    """Return the names a schema knows, also those of its branches."""
    branches = [b for key in ("allOf", "anyOf", "oneOf") for b in schema.get(key, ())]
    parts = [schema, *(branch for branch in branches if isinstance(branch, dict))]
    return list(dict.fromkeys(name for part in parts for name in part.get("properties", ())))


def _declared(look: Look, schema: dict[str, Any], value: dict[str, Any]) -> set[str]:
    """Return the members that `properties` and `patternProperties` speak of."""
    known = schema.get("properties", ())
    declared = {name for name in value if name in known}
    for pattern in schema.get("patternProperties", ()):
        declared.update(name for name in value if look.matches(pattern, name))
    return declared


def _property_names(look: Look, schema: dict[str, Any], value: Any, place: Place | None) -> Flaws:
    if isinstance(value, dict):
        for name in value:
            inside = None if place is None else (*place, name)
            yield from _same(look, schema["propertyNames"], name, inside)


def _items(look: Look, schema: dict[str, Any], value: Any, place: Place | None) -> Flaws:
    if isinstance(value, list):
        for index in range(len(schema.get("prefixItems", ())), len(value)):
            yield from _inside(look, schema["items"], (value, index), place)


def _prefix_items(look: Look, schema: dict[str, Any], value: Any, place: Place | None) -> Flaws:
    if isinstance(value, list):
        for index, member in enumerate(schema["prefixItems"][: len(value)]):
            yield from _inside(look, member, (value, index), place)


def _contains(look: Look, schema: dict[str, Any], value: Any, place: Place | None) -> Flaws:
    if isinstance(value, list):
        count = sum(look.holds(schema["contains"], item) for item in value)
        least = schema.get("minContains", 1)
        if count < least:
            yield _flaw(place, "contains", f"at least {least}", count)
        if count > schema.get("maxContains", count):
            yield _flaw(place, "contains", f"at most {schema['maxContains']}", count)


def _all_of(look: Look, schema: dict[str, Any], value: Any, place: Place | None) -> Flaws:
    for branch in schema["allOf"]:
        yield from _same(look, branch, value, place)


def _any_of(look: Look, schema: dict[str, Any], value: Any, place: Place | None) -> Flaws:
    branches = schema["anyOf"]
    if not any(look.holds(branch, value) for branch in branches):
        yield from [BRIEF] if place is None else closest(look.flaws, branches, value, place)


def _one_of(look: Look, schema: dict[str, Any], value: Any, place: Place | None) -> Flaws:
    branches = schema["oneOf"]
    fitting = [i for i, branch in enumerate(branches) if look.holds(branch, value)]
    if not fitting:
        yield from [BRIEF] if place is None else closest(look.flaws, branches, value, place)
    elif len(fitting) > 1:
        yield _flaw(place, "oneOf", [label(branches[i], i) for i in fitting[:5]], value)


def _not(look: Look, schema: dict[str, Any], value: Any, place: Place | None) -> Flaws:
    if look.holds(schema["not"], value):
        yield _flaw(place, "not", schema["not"], value)


def _if(look: Look, schema: dict[str, Any], value: Any, place: Place | None) -> Flaws:
    branch = "then" if look.holds(schema["if"], value) else "else"
    yield from _same(look, schema.get(branch, True), value, place)


def _dependent(look: Look, schema: dict[str, Any], value: Any, place: Place | None) -> Flaws:
    if isinstance(value, dict):
        dependent = schema["dependentSchemas"]
        for name in _shared(dependent, value):
            yield from _same(look, dependent[name], value, place)


def _unevaluated_properties(
    look: Look, schema: dict[str, Any], value: Any, place: Place | None
) -> Flaws:
    if isinstance(value, dict):
        seen = _evaluated(look, schema, value, own="unevaluatedProperties")
        steps = (name for name in value if name not in seen)
        yield from _others(look, schema, "unevaluatedProperties", _Rest(value, steps, place))


def _unevaluated_items(
    look: Look, schema: dict[str, Any], value: Any, place: Place | None
) -> Flaws:
    if isinstance(value, list):
        seen = _evaluated(look, schema, value, own="unevaluatedItems")
        steps = (index for index in range(len(value)) if index not in seen)
        yield from _others(look, schema, "unevaluatedItems", _Rest(value, steps, place))


def _evaluated(look: Look, schema: Schema, value: Any, own: str = "") -> set[Any]:
    """Return the names or indexes that a schema, or one it consists of, has looked at."""
    if isinstance(schema, bool):
        return set()
    seen: set[Any]
    if isinstance(value, dict):
        seen = set(_declared(look, schema, value))
        rest, every = {"additionalProperties", "unevaluatedProperties"}, set(value)
    else:
        seen = set(range(len(schema.get("prefixItems", ()))))
        rest, every = {"items", "unevaluatedItems"}, set(range(len(value)))
        if "contains" in schema:
            seen |= {i for i, item in enumerate(value) if look.holds(schema["contains"], item)}
    if (rest - {own}) & schema.keys():
        return every
    for part in _consists_of(look, schema, value):
        if look.holds(part, value):
            seen |= _evaluated(look, part, value)
    return seen


def _consists_of(look: Look, schema: dict[str, Any], value: Any) -> Iterator[Schema]:
    """Give the schemas that look at the same value."""
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(keyword, ())
    if "$ref" in schema:
        yield look.resolve(schema["$ref"])
    if "if" in schema:
        yield schema["if"]
        yield schema.get("then" if look.holds(schema["if"], value) else "else", True)
    if isinstance(value, dict):
        dependent = schema.get("dependentSchemas", {})
        yield from (dependent[name] for name in _shared(dependent, value))


APPLICATORS: dict[str, Applicator] = {
    "$ref": _reference,
    "additionalProperties": _additional,
    "allOf": _all_of,
    "anyOf": _any_of,
    "contains": _contains,
    "dependentSchemas": _dependent,
    "if": _if,
    "items": _items,
    "not": _not,
    "oneOf": _one_of,
    "patternProperties": _pattern_properties,
    "prefixItems": _prefix_items,
    "properties": _properties,
    "propertyNames": _property_names,
    "unevaluatedItems": _unevaluated_items,
    "unevaluatedProperties": _unevaluated_properties,
}
