"""A schema as alternatives that need no further look: one type each, or an enumeration.

`$ref`, `allOf`, `anyOf`, `oneOf`, `const` and lists of types are worked out; members and items stay
unchanged. Schemas are combined exactly or refused, never approximated.

Spec: JSON Schema 2020-12, Core, sections 8 and 10; Validation, section 6.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from openapi_tools.json_values import (
    ASSERTIONS,
    ONE_SCHEMA,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    UNIONS,
    holds,
    resolve,
    same,
)
from openapi_tools.providers.shaping import CannotExpress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Form = dict[str, Any]
    Narrowed = Callable[[Form, list[Form]], Form | None]

WORDS = frozenset(
    {"title", "description", "default", "examples", "example", "deprecated", "readOnly"}
    | {"writeOnly", "format", "contentEncoding", "contentMediaType", "contentSchema", "$comment"}
)
"""Keywords that refuse nothing."""
IN_PLACE = frozenset({"$ref", "allOf", *UNIONS})
_SAYING = (ASSERTIONS | ONE_SCHEMA | SCHEMA_LISTS | SCHEMA_MAPS | {"$ref"}) - {"$defs"}
_OF_EVERY_TYPE = ("not", "if", "then", "else")
_DEEPEST = 64
_MOST = 1024
_MOST_RIVALS = 256
_IMPLIED: Mapping[str, str] = {
    **dict.fromkeys(("properties", "required", "additionalProperties"), "object"),
    **dict.fromkeys(("minProperties", "maxProperties", "patternProperties"), "object"),
    **dict.fromkeys(("propertyNames", "dependentRequired", "dependentSchemas"), "object"),
    **dict.fromkeys(("items", "prefixItems", "contains", "minItems", "maxItems"), "array"),
    **dict.fromkeys(("uniqueItems",), "array"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), "number"),
    **dict.fromkeys(("multipleOf",), "number"),
    **dict.fromkeys(("minLength", "maxLength", "pattern"), "string"),
}
_TYPES: Mapping[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int, float),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


class Forms:
    """Works out the alternatives of the schemas inside one input schema.

    Args:
        root: The input schema; its `$ref` lead into it.
        narrowed: Takes from an alternative of `oneOf` what others accept too; without it `oneOf`
            is read like `anyOf`.

    Attributes:
        looked: The `$ref` that were followed.
        plain: The same without `narrowed`.
    """

    def __init__(self, root: dict[str, Any], narrowed: Narrowed | None = None) -> None:
        self._root = root
        self._narrowed = narrowed
        self._known: dict[int, tuple[Form, list[Form], frozenset[str]]] = {}
        self.looked: set[str] = set()
        self.plain = self
        if narrowed is not None:
            self.plain = Forms(root)
            self.plain.looked = self.looked

    def target(self, reference: str) -> Any:
        """Return the schema that a `$ref` leads to; one that leads nowhere refuses nothing."""
        self.looked.add(reference)
        found = resolve(self._root, reference)
        return True if found is None else found

    def options(self, node: Any, depth: int = 0) -> list[Form]:
        """Return the alternatives of a schema; none when it accepts nothing.

        Raises:
            CannotExpress: They are too many, or two keywords cannot be met exactly.
        """
        if depth > _DEEPEST:
            raise CannotExpress("its alternatives are nested too deep")
        if not isinstance(node, dict):
            return [{}] if node is True else []
        if node.keys().isdisjoint(IN_PLACE):
            return _by_type(node)
        known = self._known.get(id(node))
        if known is None:
            outer = set(self.looked)
            self.looked.clear()
            try:
                known = (node, self._options(node, depth), frozenset(self.looked))
                self._known[id(node)] = known
            finally:
                self.looked.update(outer)
        self.looked.update(known[2])
        return known[1]

    def _options(self, node: Form, depth: int) -> list[Form]:
        """Work out the alternatives of a schema that refers to others."""
        forms = self.base(node, depth)
        for keyword in UNIONS:
            if keyword in node:
                parts = self.branches(forms, node[keyword], keyword, depth)
                forms = [form for part in parts for form in part]
        return closing(forms, node)

    def base(self, node: Form, depth: int = 0) -> list[Form]:
        """Return the alternatives of a schema but for its unions; its words go with the unions."""
        has_union = not node.keys().isdisjoint(UNIONS)
        own = {
            key: value
            for key, value in node.items()
            if key not in IN_PLACE and not (has_union and key in WORDS)
        }
        if not node.keys().isdisjoint(IN_PLACE):
            own.pop("unevaluatedProperties", None)
        forms = _by_type(own)
        if "$ref" in node:
            forms = self.both(forms, self.options(self.target(node["$ref"]), depth + 1))
        for branch in node.get("allOf", ()):
            forms = self.both(forms, self.options(branch, depth + 1))
        return forms

    def branches(
        self, base: list[Form], branches: list[Any], keyword: str, depth: int = 0
    ) -> list[list[Form]]:
        """Return the alternatives of each branch of a union, met with those of its base."""
        told = [self.options(branch, depth + 1) for branch in branches]
        if sum(map(len, told)) > _MOST:
            raise CannotExpress("it has too many alternatives")
        met = [self.both(base, forms) for forms in told]
        if keyword != "oneOf" or self._narrowed is None:
            return met
        if sum(map(len, met)) > _MOST_RIVALS:
            raise CannotExpress("it has too many alternatives to tell them apart")
        rivals = [self.both(base, self.plain.options(branch, depth + 1)) for branch in branches]
        found: list[list[Form]] = []
        for index, forms in enumerate(met):
            others = [form for i, part in enumerate(rivals) if i != index for form in part]
            narrowed = (self._narrowed(form, others) for form in forms)
            found.append([form for form in narrowed if form is not None])
        return found

    def both(self, some: list[Form], others: list[Form]) -> list[Form]:
        """Return the intersections of each pair of forms."""
        if len(some) * len(others) > _MOST:
            raise CannotExpress("it has too many alternatives")
        met = (meet(one, other) for one in some for other in others)
        return [form for form in met if form is not None]


def closing(forms: list[Form], node: Form) -> list[Form]:
    """Apply `unevaluatedProperties` to the members that a form does not describe."""
    rest = node.get("unevaluatedProperties", True)
    if rest is True or node.keys().isdisjoint(IN_PLACE):
        return forms
    return [{"additionalProperties": rest, **form} for form in forms]


def kind(form: Form) -> str | None:
    """Return the type that a form is for; None for an enumeration, and where anything goes."""
    declared = form.get("type")
    if isinstance(declared, str):
        return declared
    if "enum" in form:
        return None
    return next((_IMPLIED[key] for key in form if key in _IMPLIED), None)


def is_anything(form: Form) -> bool:
    """Tell whether a form accepts every value."""
    return form.keys().isdisjoint(_SAYING)


def is_a(value: Any, name: str) -> bool:
    """Tell whether a value is of a type of JSON Schema."""
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(name, ()))


def _by_type(node: Form) -> list[Form]:
    """Return a schema without unions as one form for each type, and one for its enumeration."""
    declared = node.get("type")
    kinds = declared if isinstance(declared, list) else [declared] if declared else None
    if "enum" in node or "const" in node:
        return _finite(node, kinds)
    if "unevaluatedProperties" in node:
        rest = node["unevaluatedProperties"]
        node = {key: value for key, value in node.items() if key != "unevaluatedProperties"}
        node.setdefault("additionalProperties", rest)
    if not isinstance(declared, list):
        return [node]
    kinds = [name for name in declared if name != "integer" or "number" not in declared]
    return [_of_null(node) if name == "null" else {**node, "type": name} for name in kinds]


def _of_null(node: Form) -> Form:
    """Return the part of a schema about null."""
    return {"type": "null", **{key: node[key] for key in _OF_EVERY_TYPE if key in node}}


def _finite(node: Form, kinds: list[str] | None) -> list[Form]:
    values: list[Any] = node["enum"] if "enum" in node else [node["const"]]
    if "const" in node:
        values = [value for value in values if same(value, node["const"])]
    if kinds is not None:
        values = [value for value in values if any(is_a(value, name) for name in kinds)]
    others = [value for value in values if value is not None]
    rest = {key: value for key, value in node.items() if key not in ("type", "enum", "const")}
    forms: list[Form] = [{**rest, "enum": others}] if others else []
    return forms if len(others) == len(values) else [*forms, _of_null(node)]


def meet(one: Form, other: Form) -> Form | None:
    """Return the intersection of two forms; None when it is empty.

    Args:
        one: Its words go before those of the other.
        other: Likewise without unions.

    Raises:
        CannotExpress: Some keywords of both cannot be said in one.
    """
    if not one or not other:
        return one or other
    met = {**other, **one}
    for keyword in one.keys() & other.keys():
        if keyword not in _SAYING or keyword in ("properties", "additionalProperties"):
            continue
        found = _meet_values(keyword, one[keyword], other[keyword])
        if found is None:
            return None
        met[keyword] = found
    if "enum" in met and "type" in met:
        met["enum"] = [value for value in met["enum"] if is_a(value, met["type"])]
        if not met["enum"]:
            return None
    if not (one.keys() | other.keys()).isdisjoint(("properties", "additionalProperties")):
        _meet_members(met, one, other)
    for mine, theirs in ((one, other), (other, one)):
        if "prefixItems" in mine and "items" in theirs and "prefixItems" not in theirs:
            prefix = mine["prefixItems"]
            met["prefixItems"] = [_meet_schemas(item, theirs["items"]) for item in prefix]
    return met


def _meet_values(keyword: str, one: Any, other: Any) -> Any:
    if same(one, other):
        return one
    if keyword in _MEETING:
        return _MEETING[keyword](one, other)
    raise CannotExpress(f"two different `{keyword}` cannot be said in one")


def _meet_members(met: Form, one: Form, other: Form) -> None:
    """Put the members of two objects together; each closes the other's."""
    for mine, theirs in ((one, other), (other, one)):
        patterns = mine.get("patternProperties")
        rest = theirs.get("additionalProperties", True)
        if patterns and rest is not True and theirs.get("patternProperties") != patterns:
            raise CannotExpress("`patternProperties` and other members cannot be said in one")
    first, second = one.get("properties", {}), other.get("properties", {})
    members: dict[str, Any] = {}
    for name in [*first, *(name for name in second if name not in first)]:
        members[name] = _meet_schemas(_member(one, name), _member(other, name))
    met["properties"] = members
    rest = [form["additionalProperties"] for form in (one, other) if "additionalProperties" in form]
    if rest:
        met["additionalProperties"] = _meet_schemas(rest[0], rest[-1])


def _member(form: Form, name: str) -> Any:
    """Return a form's schema for a member."""
    members = form.get("properties", {})
    if name in members:
        return members[name]
    rest = form.get("additionalProperties", True)
    if rest is not True and "patternProperties" in form:
        raise CannotExpress("`patternProperties` and other members cannot be said in one")
    return rest


def _meet_schemas(one: Any, other: Any) -> Any:
    if one is other or other is True or other == {}:
        return one
    if one is True or one == {}:
        return other
    return False if one is False or other is False else {"allOf": [one, other]}


def _meet_types(one: str, other: str) -> str | None:
    return "integer" if {one, other} == {"integer", "number"} else None


def _meet_enums(one: list[Any], other: list[Any]) -> list[Any] | None:
    return [value for value in one if holds(other, value)] or None


def _meet_multiples(one: float, other: float) -> float:
    if isinstance(one, int) and isinstance(other, int):
        return math.lcm(one, other)
    raise CannotExpress("two different `multipleOf` cannot be said in one")


_MEETING: Mapping[str, Callable[[Any, Any], Any]] = {
    "type": _meet_types,
    "enum": _meet_enums,
    "required": lambda one, other: list(dict.fromkeys([*one, *other])),
    "multipleOf": _meet_multiples,
    "uniqueItems": lambda _one, _other: True,
    "items": _meet_schemas,
    "propertyNames": _meet_schemas,
    "not": lambda one, other: {"anyOf": [one, other]},
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
