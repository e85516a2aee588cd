"""Values made from schemas."""

import json

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import nodes

from openapi_tools.testing import sample

NODE = {
    "type": "object",
    "required": ["id", "next", "children"],
    "properties": {"id": {"type": "integer"}, "next": {"$ref": "#/components/schemas/Node"},
                   "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}},
}  # fmt: skip
CAT = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}}
SCHEMAS = {"Node": NODE, "Cat": CAT, "Dog": CAT, "Loop": {"$ref": "#/components/schemas/Loop"}}
CHAIN = {"a/b": {"~": [{"$ref": "#/components/schemas/Cat"}]}}
CYCLIC = {"allOf": [{"$ref": "#/Cyclic"}], "properties": {"x": {"type": "integer"}}}
DOCUMENT = {**CHAIN, "Cyclic": CYCLIC, "components": {"schemas": SCHEMAS}}
PETS = [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}]

EXAMPLES = [
    ("example", {"type": "string", "example": "a"}, "a"),
    ("examples", {"type": "integer", "examples": [5, 6]}, 5),
    ("const", {"const": None}, None),
    ("enum", {"enum": ["x", "y"]}, "x"),
    ("default", {"type": "integer", "default": 7}, 7),
    ("null default", {"type": "integer", "default": None}, 1),
    ("boolean", {"type": "boolean"}, True),
    ("null", {"type": "null"}, None),
    ("anything", {}, {}),
    ("true", True, {}),
    ("nullable type", {"type": ["null", "string"]}, "sample"),
    ("date", {"type": "string", "format": "date"}, "2024-01-31"),
    ("uuid", {"type": "string", "format": "uuid"}, "3fa85f64-5717-4562-b3fc-2c963f66afa6"),
    ("unknown format", {"type": "string", "format": "zip"}, "sample"),
    ("minLength", {"type": "string", "minLength": 8}, "samplexx"),
    ("maxLength", {"type": "string", "maxLength": 3}, "sam"),
    ("digits", {"type": "string", "pattern": "^[0-9]+$"}, "1"),
    ("letters in a pattern", {"type": "string", "pattern": "^qqq$"}, "qqq"),
    ("counts in a pattern", {"type": "string", "pattern": "^MG[0-9a-f]{4}[\\w-]?x+$"}, "MG0000x"),
    ("groups in a pattern", {"type": "string", "pattern": "^(?:q|qq)$"}, "q"),
    ("long pattern", {"type": "string", "pattern": "^" + "[ab]{4000}" * 999 + "$"}, "sample"),
    (
        "members of one branch only",
        {
            "type": "object",
            "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        {"a": 1, "c": 3},
    ),
    ("broken pattern", {"type": "string", "pattern": "(["}, "sample"),
    ("minimum", {"type": "integer", "minimum": 10}, 10),
    ("exclusive, 3.1", {"type": "integer", "exclusiveMinimum": 10}, 11),
    ("exclusive, 3.0", {"type": "integer", "minimum": 10, "exclusiveMinimum": True}, 11),
    ("maximum", {"type": "integer", "maximum": -3}, -3),
    ("multipleOf", {"type": "integer", "minimum": 7, "multipleOf": 5}, 10),
    ("between", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
    ("array by its items", {"items": {"type": "integer"}}, [1]),
    ("array", {"type": "array", "items": {"type": "integer"}}, [1]),
    ("no room", {"type": "array", "items": {"type": "integer"}, "maxItems": 0}, []),
    ("unique", {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True},
     [1, 2, 3]),
    ("tuple", {"type": "array", "prefixItems": [{"type": "string"}], "minItems": 2,
               "items": {"type": "boolean"}}, ["sample", True]),
    ("object by its properties", {"properties": {"a": {"type": "null"}}}, {"a": None}),
    ("writeOnly", {"properties": {"a": {"type": "null"}, "b": {"writeOnly": True}}}, {"a": None}),
    ("required but not described", {"type": "object", "required": ["a"]}, {"a": "sample"}),
    ("map", {"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}},
     {"member1": 1}),
    ("allOf", {"allOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 2}}}]},
     {"a": 1, "b": 2}),
    ("oneOf, not null", {"oneOf": [{"type": "null"}, {"type": "integer"}]}, 1),
    ("anyOf beside properties", {"properties": {"a": {"const": 1}}, "anyOf": [
        {"properties": {"b": {"const": 2}}}]}, {"a": 1, "b": 2}),
    ("reference", {"$ref": "#/components/schemas/Cat"}, {"kind": "sample"}),
    ("reference through a chain, escaped", {"$ref": "#/a~1b/~0/0"}, {"kind": "sample"}),
    ("reference beside words", {"$ref": "#/components/schemas/Cat", "example": 1}, 1),
    ("reference to itself in allOf", {"$ref": "#/Cyclic"}, {"x": 1}),
    ("reference to itself", {"$ref": "#/components/schemas/Loop"}, {}),
    ("reference to nowhere", {"$ref": "#/nowhere"}, {}),
    ("reference to no item", {"$ref": "#/a~1b/~0/9"}, {}),
    ("reference elsewhere", {"$ref": "other.yaml"}, {}),
    ("discriminator", {"oneOf": PETS, "discriminator": {"propertyName": "kind"}}, {"kind": "Cat"}),
    ("mapped discriminator", {"oneOf": PETS, "discriminator": {
        "propertyName": "kind", "mapping": {"katze": "#/components/schemas/Cat"}}},
     {"kind": "katze"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "expected"), [row[1:] for row in EXAMPLES], ids=[row[0] for row in EXAMPLES]
)
def test_a_sample_fits_its_schema(schema, expected):
    assert sample(schema, DOCUMENT) == expected


def test_recursion_ends():
    value = sample({"$ref": "#/components/schemas/Node"}, DOCUMENT)

    assert value["id"] == 1
    assert len(json.dumps(value)) < 2_000


def test_unions_of_unions_end_in_time():
    schemas = {
        f"S{n}": {"allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}] * 3} for n in range(30)
    }
    document = {"components": {"schemas": schemas}}

    value = sample({"$ref": "#/components/schemas/S0"}, document)

    json.dumps(value)


def test_numbers_beyond_those_with_fractions_bound_nothing():
    far = 10**400

    assert sample({"type": "integer", "minimum": -far, "maximum": far, "multipleOf": far}, {}) == 1
    assert sample({"type": "number", "exclusiveMinimum": -far}, {}) == 1


BOUNDS = st.one_of(st.none(), st.integers(-20, 20))


@given(low=BOUNDS, high=BOUNDS, strict=st.booleans(), step=st.one_of(st.none(), st.integers(1, 4)))
def test_numbers_fit_their_bounds(low, high, strict, step):
    keys = ("exclusiveMinimum", "exclusiveMaximum") if strict else ("minimum", "maximum")
    bounds = {**dict(zip(keys, (low, high), strict=True)), "multipleOf": step}
    schema = {
        "type": "integer", **{key: value for key, value in bounds.items() if value is not None}
    }  # fmt: skip
    possible = any(jsonschema_rs.is_valid(schema, number) for number in range(-30, 31))

    number = sample(schema, {})

    assert not possible or jsonschema_rs.is_valid(schema, number)


KEYWORDS = [
    *("type", "$ref", "allOf", "oneOf", "properties", "items", "required", "minItems", "maxLength"),
    *("enum", "pattern", "minimum", "multipleOf", "discriminator", "prefixItems"),
    *("additionalProperties", "minProperties"),
]
NODES = nodes(KEYWORDS, ["a", "object", "#/A", "array"])


@given(schema=NODES, other=NODES)
def test_any_schema_gives_json(schema, other):
    value = sample(schema, {"A": other})

    json.dumps(value)
