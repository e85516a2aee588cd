"""Forms: schemas of one type each, or an enumeration, without unions and references.

Forms are combined exactly or refused, never approximated; their properties and items stay as they
are.

Spec: JSON Schema 2020-12, Core, sections 8 and 10; Validation, section 6.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from openapi_tools.common import json_schema, json_values
from openapi_tools.errors import OpenAPIToolsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Form = dict[str, Any]

ANNOTATIONS = frozenset(  # keywords that refuse nothing
    {"title", "description", "default", "examples", "example", "deprecated", "readOnly"}
    | {"writeOnly", "format", "contentEncoding", "contentMediaType", "contentSchema", "$comment"}
)
IN_PLACE = frozenset({"$ref", "allOf", *json_schema.UNIONS})
_ASSERTING = (
    json_schema.ASSERTION_KEYWORDS
    | json_schema.SCHEMA_KEYWORDS
    | json_schema.SCHEMA_LIST_KEYWORDS
    | json_schema.SCHEMA_MAP_KEYWORDS
    | {"$ref"}
) - {"$defs"}
_INTERSECTED_ONE_BY_ONE = _ASSERTING - {"properties", "additionalProperties"}
_OF_EVERY_TYPE = ("not", "if", "then", "else")
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


class CannotExpress(OpenAPIToolsError):  # noqa: N818 -- a schema says too much
    """A provider's schemas cannot say what a tool's input schema says, at a JSON Pointer into it.

    `final`: leaving out some part would not help; `empty`: the schema accepts no value.
    """

    def __init__(
        self, reason: str, *, place: str = "", final: bool = False, empty: bool = False
    ) -> None:
        super().__init__(reason)
        self.place = place
        self.final = final
        self.empty = empty

    def __str__(self) -> str:
        return f"#{self.place}: {self.reason}"


def refuse_keywords(form: Form, *keywords: str) -> None:
    """Raise CannotExpress for a schema with some of the keywords."""
    for keyword in keywords:
        if keyword in form:
            raise CannotExpress(f"`{keyword}` cannot be expressed")


def form_type(form: Form) -> str | None:
    """Return the type that a form is for; None for an enumeration, and where anything goes."""
    declared = form.get("type")
    if isinstance(declared, str):
        return declared
    if "enum" in form:
        return None
    return next((_IMPLIED[key] for key in form if key in _IMPLIED), None)


def is_anything(schema: Any) -> bool:
    """Return whether a schema accepts every value."""
    return schema is True or (isinstance(schema, dict) and schema.keys().isdisjoint(_ASSERTING))


def split_types(node: Form) -> list[Form]:
    """Return a schema without unions as one form for each type, and one for its enumeration."""
    declared = node.get("type")
    kinds = [declared] if declared else None
    if isinstance(declared, list):
        kinds = declared
    if "enum" in node or "const" in node:
        return _enum_forms(node, kinds)
    if "unevaluatedProperties" in node:
        rest = {key: value for key, value in node.items() if key != "unevaluatedProperties"}
        node = {**rest, "additionalProperties": node["unevaluatedProperties"], **rest}
    if not isinstance(declared, list):
        return [node]
    kinds = [name for name in declared if name != "integer" or "number" not in declared]
    return [_null_form(node) if name == "null" else {**node, "type": name} for name in kinds]


def _null_form(node: Form) -> Form:
    return {"type": "null", **{key: node[key] for key in _OF_EVERY_TYPE if key in node}}


def _enum_forms(node: Form, types: list[str] | None) -> list[Form]:
    values: list[Any] = node["enum"] if "enum" in node else [node["const"]]
    if "const" in node:
        values = [value for value in values if json_values.is_equal(value, node["const"])]
    if types is not None:
        values = [
            value for value in values if any(json_schema.is_type(value, name) for name in types)
        ]
    non_null = [value for value in values if value is not None]
    rest = {key: value for key, value in node.items() if key not in ("type", "enum", "const")}
    forms: list[Form] = [{**rest, "enum": non_null}] if non_null else []
    return forms if len(non_null) == len(values) else [*forms, _null_form(node)]


def intersect_forms(one: Form, other: Form) -> Form | None:
    """Return the intersection of two forms, with the first's descriptions; None if it is empty."""
    if not one or not other:
        return one or other
    met = {**other, **one}
    for keyword in [key for key in one if key in other and key in _INTERSECTED_ONE_BY_ONE]:
        met[keyword] = _intersect_values(keyword, one[keyword], other[keyword])
        if met[keyword] is None:
            return None
    if "enum" in met and "type" in met:
        met["enum"] = [value for value in met["enum"] if json_schema.is_type(value, met["type"])]
        if not met["enum"]:
            return None
    if not met.keys().isdisjoint(("properties", "additionalProperties")):
        _intersect_properties(met, one, other)
    for mine, theirs in ((one, other), (other, one)):
        if "prefixItems" in mine and "items" in theirs and "prefixItems" not in theirs:
            prefix = mine["prefixItems"]
            met["prefixItems"] = [_intersect_schemas(item, theirs["items"]) for item in prefix]
    return met


def _intersect_values(keyword: str, one: Any, other: Any) -> Any:
    if json_values.is_equal(one, other):
        return one
    if keyword in _INTERSECTIONS:
        return _INTERSECTIONS[keyword](one, other)
    raise CannotExpress(f"two different `{keyword}` cannot be combined")


def _intersect_properties(met: Form, one: Form, other: Form) -> None:
    for mine, theirs in ((one, other), (other, one)):
        patterns = mine.get("patternProperties")
        rest = theirs.get("additionalProperties", True)
        if patterns and rest is not True and theirs.get("patternProperties") != patterns:
            raise _mixed_patterns_error()
    names = dict.fromkeys([*one.get("properties", {}), *other.get("properties", {})])
    met["properties"] = {
        name: _intersect_schemas(_property_schema(one, name), _property_schema(other, name))
        for name in names
    }
    rest = [form["additionalProperties"] for form in (one, other) if "additionalProperties" in form]
    if rest:
        met["additionalProperties"] = _intersect_schemas(rest[0], rest[-1])


def _property_schema(form: Form, name: str) -> Any:
    properties = form.get("properties", {})
    if name in properties:
        return properties[name]
    rest = form.get("additionalProperties", True)
    if rest is not True and "patternProperties" in form:
        raise _mixed_patterns_error()
    return rest


def _mixed_patterns_error() -> CannotExpress:
    return CannotExpress("`patternProperties` and other properties cannot be combined")


def _intersect_schemas(one: Any, other: Any) -> Any:
    if one is other or other is True or other == {}:
        return one
    if one is True or one == {}:
        return other
    return False if one is False or other is False else {"allOf": [one, other]}


def _intersect_multiples(one: float, other: float) -> float:
    if isinstance(one, int) and isinstance(other, int):
        return math.lcm(one, other)
    raise CannotExpress("two different `multipleOf` cannot be combined")


_INTERSECTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "type": lambda one, other: "integer" if {one, other} == {"integer", "number"} else None,
    "enum": lambda one, other: (
        [value for value in one if json_values.contains_value(other, value)] or None
    ),
    "required": lambda one, other: list(dict.fromkeys([*one, *other])),
    "multipleOf": _intersect_multiples,
    "uniqueItems": lambda _one, _other: True,
    "items": _intersect_schemas,
    "propertyNames": _intersect_schemas,
    "not": lambda one, other: {"anyOf": [one, other]},
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
