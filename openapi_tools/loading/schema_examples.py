"""Examples and defaults that a schema shows: only those that it accepts, read as they are meant.

Published documents write `type: integer, example: "30"`. Such a value is converted where the schema
leaves one meaning, and left out otherwise: a model repeats what it sees.

Spec: JSON Schema Validation 2020-12, sections 9.2 and 9.5.
"""

from __future__ import annotations

import json
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import ASSERTION_KEYWORDS, IN_PLACE_KEYWORDS, is_type
from openapi_tools.common.json_values import contains_value, is_equal, unique_values
from openapi_tools.loading.keyword_values import (
    ABSENT,
    LIMITS_BESIDE_TYPE,
    MAX_LITERAL,
    REFERRING,
)
from openapi_tools.loading.patterns import matches
from openapi_tools.loading.schema_components import target_name
from openapi_tools.validation.check_cost import UNUSABLE, compile_schema, pattern_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from openapi_tools.common.json_values import Node


_SCALARS = (str, int, float, bool, type(None))
_STRING = frozenset({str})
_CLASSES = {str: "string", int: "integer", bool: "boolean", dict: "object", list: "array"}
# A validator gives the same verdict, but making one costs more than converting the schema.
# Keywords that are judged here; a schema with others needs a validator.
_DIRECT = frozenset(
    {"type", "enum", "const", "pattern", "minLength", "maxLength", "minimum", "maximum"}
    | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"}
    | {"minProperties", "maxProperties", "uniqueItems"}
    | {"items", "properties", "required", "additionalProperties", "$ref", "allOf", "anyOf"}
)
_OF_PARTS = frozenset({"items", "properties", "required", "additionalProperties"})
_MAX_SCHEMAS = 2_000  # schemas that judge one value; a value with more of them counts as fitting
_MAX_READINGS = 200  # schemas whose reading of one value is tried
_MAX_WORK = 300_000  # schemas that judge values of one document; then all values count as fitting
_MAX_DEPTH = 24  # of references and parts in one another


@dataclass(slots=True, eq=False)
class DefinitionFinder:
    """Finds the converted definitions of a document; `left` bounds the work on shown values."""

    find: Callable[[str], Node]
    left: int = _MAX_WORK


class OpenDefinitionError(Exception):
    """A schema refers to a definition that is still being converted."""


def types_of(schema: Node) -> list[str]:
    """Return the types that a converted schema names itself."""
    declared = schema.get("type", [])
    return declared if isinstance(declared, list) else [declared]


def wire_text(value: Any) -> str | None:
    """Return a scalar as a request writes it; None for null and for what has parts."""
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, bool | int | float) else None


def fits(schema: Any, value: Any, definitions: DefinitionFinder, depth: int = 0) -> bool:
    """Return whether a converted schema accepts a value."""
    if not isinstance(schema, dict):
        return bool(schema)
    kind = schema.get("type")
    if not (kind is None or kind == _CLASSES.get(value.__class__) or _is_one_of(kind, value)):
        return False
    if "enum" in schema and not contains_value(schema["enum"], value):
        return False
    if LIMITS_BESIDE_TYPE.isdisjoint(schema):
        return True  # most schemas
    return _fits_beside_type(schema, value, definitions, depth)


def _fits_beside_type(schema: Node, value: Any, definitions: DefinitionFinder, depth: int) -> bool:
    keywords = LIMITS_BESIDE_TYPE.intersection(schema)
    is_scalar, refers = isinstance(value, _SCALARS), not keywords.isdisjoint(REFERRING)
    if is_scalar and not refers:
        return _satisfies_all(keywords, schema, value)
    if definitions.left <= 0 or depth > _MAX_DEPTH:
        return True
    if not keywords <= _DIRECT:
        return _is_valid(schema, value, definitions)
    definitions.left -= 1
    has_parts = not (is_scalar or keywords.isdisjoint(_OF_PARTS))
    return (
        _satisfies_all(keywords, schema, value)
        and (not refers or _fits_in_place(schema, value, definitions, depth + 1))
        and (not has_parts or _has_fitting_parts(schema, value, definitions, depth + 1))
    )


def _satisfies_all(keywords: frozenset[str], schema: Node, value: Any) -> bool:
    # Loops, here and below: this runs for each value that is shown, and generators cost more.
    for keyword in keywords:
        if keyword in _CHECKS and not satisfies(keyword, schema[keyword], value):
            return False
    return True


def _is_one_of(declared: Any, value: Any) -> bool:
    if isinstance(declared, str):
        return is_type(value, declared)
    return any(is_type(value, name) for name in declared)


def _is_valid(schema: Node, value: Any, definitions: DefinitionFinder) -> bool:
    try:
        judging = _SchemaExcerpt(definitions).copy_part(schema, value, 0)
        return compile_schema(judging).is_valid(value)
    except UNUSABLE:
        return True


def _fits_in_place(schema: Node, value: Any, definitions: DefinitionFinder, depth: int) -> bool:
    for branch in schema.get("allOf", ()):
        if not fits(branch, value, definitions, depth):
            return False
    if "$ref" in schema and not fits(
        definitions.find(target_name(schema)), value, definitions, depth
    ):
        return False
    choices = schema.get("anyOf")
    return choices is None or any(fits(each, value, definitions, depth) for each in choices)


def _has_fitting_parts(schema: Node, value: Any, definitions: DefinitionFinder, depth: int) -> bool:
    if isinstance(value, list):
        return all(fits(schema.get("items", True), item, definitions, depth) for item in value)
    if "required" in schema and not value.keys() >= {*schema["required"]}:
        return False
    declared, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, part in value.items():
        if not fits(declared.get(name, rest), part, definitions, depth):
            return False
    return True


def satisfies(keyword: str, limit: Any, value: Any) -> bool:
    """Return whether a scalar keeps what one keyword says; values of other types always do."""
    if keyword in _OF_NUMBERS and not is_type(value, "number"):
        return True
    if keyword in _OF_STRINGS and not isinstance(value, str):
        return True
    if keyword in _OF_ARRAYS and not isinstance(value, list):
        return True
    if keyword in _OF_OBJECTS and not isinstance(value, dict):
        return True
    check = _CHECKS.get(keyword)
    return check is None or check(limit, value)


def all_satisfy(keyword: str, limit: Any, values: list[Any]) -> bool:
    """Return whether all of several scalars keep what one keyword says."""
    if keyword == "maxLength" and _STRING.issuperset(map(type, values)):
        return bool(max(map(len, values)) <= limit)  # large enumerations often have this bound
    return all(satisfies(keyword, limit, value) for value in values)


_OF_NUMBERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minimum": operator.le,
    "maximum": operator.ge,
    "exclusiveMinimum": operator.lt,
    "exclusiveMaximum": operator.gt,
    "multipleOf": lambda step, value: compile_schema({"multipleOf": step}).is_valid(value),
}
_OF_STRINGS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minLength": lambda least, value: len(value) >= least,
    "maxLength": lambda most, value: len(value) <= most,
    "pattern": lambda pattern, value: matches(pattern, value) is not False,
}
_OF_ARRAYS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minItems": lambda least, value: len(value) >= least,
    "maxItems": lambda most, value: len(value) <= most,
    "uniqueItems": lambda unique, value: not unique or len(unique_values(value)) == len(value),
}
_OF_OBJECTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minProperties": lambda least, value: len(value) >= least,
    "maxProperties": lambda most, value: len(value) <= most,
}
_CHECKS: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": _is_one_of,
    "enum": contains_value,
    "const": is_equal,
    **_OF_NUMBERS,
    **_OF_STRINGS,
    **_OF_ARRAYS,
    **_OF_OBJECTS,
}


class _SchemaExcerpt:
    """Copies the part of a schema that judges one value, without references."""

    # A definition may reach hundreds of others; a value of the document reaches a few.

    def __init__(self, definitions: DefinitionFinder) -> None:
        self._definitions = definitions
        self._left = _MAX_SCHEMAS

    def copy_part(self, schema: Any, value: Any, depth: int) -> Any:
        self._left -= 1
        self._definitions.left -= 1
        if not isinstance(schema, dict):
            return schema
        if depth > _MAX_DEPTH or self._left < 0:
            return True
        out = {key: schema[key] for key in schema.keys() & ASSERTION_KEYWORDS}
        if isinstance(out.get("pattern"), str) and not pattern_size(out["pattern"]):
            del out["pattern"]
        for key in schema.keys() & IN_PLACE_KEYWORDS:
            inner = schema[key]
            if isinstance(inner, list):
                out[key] = [self.copy_part(each, value, depth + 1) for each in inner]
            elif key == "dependentSchemas":
                out[key] = {name: self.copy_part(inner[name], value, depth + 1) for name in inner}
            else:
                out[key] = self.copy_part(inner, value, depth + 1)
        if "$ref" in schema:
            target = self.copy_part(self._definitions.find(target_name(schema)), value, depth + 1)
            out["allOf"] = [*out.get("allOf", ()), target]
        if isinstance(value, dict):
            out |= self._copy_object_keywords(schema, value, depth + 1)
        elif isinstance(value, list):
            out |= self._copy_array_keywords(schema, value, depth + 1)
        return out

    def _copy_object_keywords(self, schema: Node, value: Node, depth: int) -> Node:
        declared = schema.get("properties", {})
        out: Node = {
            "properties": {
                name: self.copy_part(declared[name], value[name], depth)
                for name in value
                if name in declared
            }
        }
        if "patternProperties" in schema:  # what they say of values is left to the API
            out["patternProperties"] = dict.fromkeys(schema["patternProperties"], True)
        for key in schema.keys() & {"additionalProperties", "unevaluatedProperties"}:
            rest = schema[key]
            if isinstance(rest, bool):
                out[key] = rest
            elif key == "additionalProperties" and "patternProperties" not in schema:
                undeclared = {name: value[name] for name in value if name not in declared}
                parts = {
                    name: self.copy_part(rest, each, depth) for name, each in undeclared.items()
                }
                out["properties"] |= parts
        if isinstance(schema.get("propertyNames"), dict):
            out["propertyNames"] = self.copy_part(schema["propertyNames"], "", depth)
        return out

    def _copy_array_keywords(self, schema: Node, value: list[Any], depth: int) -> Node:
        first, rest = schema.get("prefixItems", []), schema.get("items", True)
        shapes = [*first, *[rest] * len(value)][: len(value)]
        out: Node = {}
        if shapes:
            pairs = zip(shapes, value, strict=True)
            out["prefixItems"] = [self.copy_part(shape, item, depth) for shape, item in pairs]
        if isinstance(schema.get("unevaluatedItems"), bool) and "items" not in schema:
            out["unevaluatedItems"] = schema["unevaluatedItems"]
        return out


class SchemaExamples:
    """Reads the examples and the default of one converted schema as it accepts them."""

    def __init__(self, schema: Node, definitions: DefinitionFinder) -> None:
        self._schema = schema
        self._definitions = definitions
        self._left = _MAX_READINGS

    def convert_value(self, value: Any) -> Any:
        """Return a value that the schema accepts, as it is or as it is meant; else `ABSENT`."""
        self._left = _MAX_READINGS
        if fits(self._schema, value, self._definitions):
            return value
        meant = self._meanings(self._schema, value, 0)
        return meant[0] if len(meant) == 1 else ABSENT

    def drop_unfitting(self) -> Iterator[tuple[str, Any, Any]]:
        """Leave only fitting values in the schema; yield keyword, old and new value of others."""
        schema = self._schema
        if "examples" in schema:
            old, new = schema["examples"], [*map(self.convert_value, schema["examples"])]
            fitting = [value for value in new if value is not ABSENT] or self._listed_examples(
                old[0]
            )
            changes = [pair for pair in zip(old, new, strict=True) if pair[0] is not pair[1]]
            if changes and fitting:
                schema["examples"] = fitting
            elif changes:
                del schema["examples"]
            for before, after in changes:
                is_list = after is ABSENT and fitting == before != []
                yield "examples", before, fitting[0] if is_list else after
        if "default" in schema:
            before, after = schema["default"], self.convert_value(schema["default"])
            if after is ABSENT:
                del schema["default"]
            elif after is not before:
                schema["default"] = after
            if after is not before:
                yield "default", before, after

    def _listed_examples(self, value: Any) -> list[Any]:
        items = value if isinstance(value, list) else []
        return items if all(fits(self._schema, item, self._definitions) for item in items) else []

    def _meanings(self, schema: Any, value: Any, depth: int) -> list[Any]:
        readings = self._readings(schema, value, depth + 1)
        return unique_values(each for each in readings if fits(schema, each, self._definitions))

    def _readings(self, schema: Any, value: Any, depth: int) -> Iterator[Any]:
        self._left -= 1
        if not isinstance(schema, dict) or self._left < 0 or depth > _MAX_DEPTH:
            return
        if "$ref" in schema:
            yield from self._readings(self._definitions.find(target_name(schema)), value, depth + 1)
        for key in ("allOf", "anyOf", "oneOf"):
            for branch in schema.get(key, ()):
                yield from self._readings(branch, value, depth + 1)
        if "enum" in schema:
            yield from _find_in_enum(schema["enum"], value)
        types = types_of(schema)
        if isinstance(value, str) and "string" not in types:
            yield from self._read_string(schema, types, value, depth)
        elif isinstance(value, dict | list):
            yield self._convert_parts(schema, value, depth)
        elif "string" in types and (text := wire_text(value)) is not None:
            yield text
        elif "array" in types and value is not None:
            yield [self._convert_part(schema.get("items"), value, depth)]

    def _read_string(self, schema: Node, types: list[str], text: str, depth: int) -> Iterator[Any]:
        parsed = parse_text(text)
        if not isinstance(parsed, str) and any(is_type(parsed, name) for name in types):
            if isinstance(parsed, dict | list):
                parsed = self._convert_parts(schema, parsed, depth)
            yield int(parsed) if "integer" in types and isinstance(parsed, float) else parsed
        elif "array" in types and text.strip() and text.strip()[0] not in "[{":
            items = schema.get("items")
            yield [self._convert_part(items, part.strip(), depth) for part in text.split(",")]

    def _convert_parts(self, schema: Node, value: Any, depth: int) -> Any:
        if isinstance(value, list):
            return [self._convert_part(schema.get("items"), item, depth) for item in value]
        declared = schema.get("properties", {})
        return {
            name: self._convert_part(declared.get(name), each, depth)
            for name, each in value.items()
        }

    def _convert_part(self, schema: Any, value: Any, depth: int) -> Any:
        self._left -= 1
        if not isinstance(schema, dict) or self._left < 0 or fits(schema, value, self._definitions):
            return value
        meant = self._meanings(schema, value, depth)
        return meant[0] if len(meant) == 1 else value


def _find_in_enum(values: list[Any], value: Any) -> list[Any]:
    text = wire_text(value)
    if text is None:
        return []
    texts = [(wire_text(each), each) for each in values]
    alike = [each for written, each in texts if written == text]
    folded = text.strip("\"' ").casefold()
    return alike or [each for written, each in texts if written and written.casefold() == folded]


def parse_text(text: str) -> Any:
    """Return the JSON value that a string holds; the string if it holds none."""
    word = text.strip().lower()
    if word in ("true", "false"):
        return word == "true"
    try:
        return json.loads(text, parse_constant=_refuse) if len(text) <= MAX_LITERAL else text
    except (ValueError, RecursionError):
        return text


def _refuse(name: str) -> Any:
    raise ValueError(name)
