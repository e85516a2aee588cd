"""Examples beside schemas: of parameters and bodies, named or not, the first that fits."""

import json

import pytest
from documents import component, document, operation

from openapi_tools import Settings, load_tools

STRING = {"type": "string"}
WEEK = "2024-W05"
SHAPE = {"type": "object", "properties": {"a": STRING, "when": STRING}}
VALUE = {"a": "rain*", "when": WEEK}


def examples_of(paths, name="v", *, settings=None, **fields):
    """Return the examples of an argument of the only tool."""
    (tool,) = load_tools(document(paths, **fields), settings=settings)
    return tool.input_schema["properties"][name].get("examples", [])


def of_parameter(schema=STRING, **fields):
    parameter = {"name": "v", "in": "query", "schema": schema, **fields}
    return {"/x": {"get": operation(parameters=[parameter])}}


NAMED = {"week": {"summary": "a week", "value": WEEK}}
PARAMETERS = {
    "example": of_parameter(example=WEEK),
    "one named example": of_parameter(examples=NAMED),
    "a list as in schemas": of_parameter(examples=[WEEK]),
    "a bare value": of_parameter(examples={"week": WEEK}),
    "the second fits": of_parameter(examples={"a": {"value": {"b": 1}}, **NAMED}),
    "an external one first": of_parameter(examples={"a": {"externalValue": "http://x"}, **NAMED}),
    "a missing one first": of_parameter(
        examples={"a": {"$ref": "#/components/examples/none"}, **NAMED}
    ),
    "in a component": of_parameter(examples={"w": {"$ref": "#/components/examples/week"}}),
    "of content": {
        "/x": {
            "get": operation(
                parameters=[
                    {
                        "name": "v",
                        "in": "query",
                        "content": {"text/plain": {"schema": STRING, "examples": NAMED}},
                    }
                ]
            )
        }
    },
    "of the path": {
        "/x": {
            "parameters": [{"name": "v", "in": "query", "schema": STRING, "examples": NAMED}],
            "get": operation(),
        }
    },
    "a referenced parameter": {
        "/x": {"get": operation(parameters=[{"$ref": "#/components/parameters/v"}])}
    },
    "a referenced schema": of_parameter(component("Week"), examples=NAMED),
}
COMPONENTS = {
    "examples": {"week": {"value": WEEK}},
    "parameters": {"v": {"name": "v", "in": "query", "schema": STRING, "examples": NAMED}},
    "schemas": {"Week": {**STRING, "pattern": "^[0-9]{4}-W[0-9]{2}$"}},
}


@pytest.mark.parametrize("openapi", ["3.0.3", "3.1.1", "3.2.0"])
@pytest.mark.parametrize("form", PARAMETERS)
def test_the_first_fitting_example_of_a_parameter_is_shown(form, openapi):
    assert examples_of(PARAMETERS[form], openapi=openapi, components=COMPONENTS) == [WEEK]


def test_the_data_of_an_example_counts_and_its_serialised_form_does_not():
    examples = {"a": {"serializedValue": "v=2024"}, "b": {"dataValue": WEEK}}

    assert examples_of(of_parameter(examples=examples), openapi="3.2.0") == [WEEK]


@pytest.mark.parametrize("key", ["x-example", "x-examples"])
def test_extensions_of_swagger_2_are_examples(key):
    value = WEEK if key == "x-example" else {"week": {"value": WEEK}}
    parameter = {"name": "v", "in": "query", "type": "string", key: value}

    assert examples_of({"/x": {"get": operation(parameters=[parameter])}}, openapi="2.0") == [WEEK]


@pytest.mark.parametrize(
    ("schema", "example", "expected"),
    [
        ({"type": "integer"}, "30", [30]),
        (STRING, 30, ["30"]),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [[1, 2]]),
        ({"type": "integer"}, "many", []),
        ({"type": "string", "enum": ["a"]}, "b", []),
        ({"type": "string", "maxLength": 3}, WEEK, []),
        (STRING, "x" * 1025, []),
    ],
)
def test_an_example_is_read_as_its_schema_or_left_out(schema, example, expected):
    assert examples_of(of_parameter(schema, example=example)) == expected
    assert examples_of(of_parameter(schema, examples={"e": {"value": example}})) == expected


def of_body(schema=SHAPE, kind="application/json", **fields):
    content = {kind: {"schema": schema, **fields}}
    return {"/x": {"post": operation(requestBody={"content": content, "required": True})}}


BODIES = {
    "example": of_body(example=VALUE),
    "a named example": of_body(examples={"normal": {"value": VALUE}}),
    "3.2": of_body(examples={"normal": {"dataValue": VALUE}}),
    "in a component": of_body(examples={"normal": {"$ref": "#/components/examples/one"}}),
    "text that holds JSON": of_body(example=json.dumps(VALUE)),
    "of the schema": of_body({**SHAPE, "examples": [VALUE]}),
    "of a 3.0 schema": of_body({**SHAPE, "example": VALUE}),
    "of a referenced schema": of_body(component("Shape")),
    "beside a reference": of_body(component("Plain"), example=VALUE),
    "a form": of_body(kind="application/x-www-form-urlencoded", example=VALUE),
    "multipart": of_body(kind="multipart/form-data", example=VALUE),
    "the second has all": of_body(
        examples={"a": {"value": {"a": [], "when": WEEK}}, "b": {"value": VALUE}}
    ),
    "with a member that is read only": of_body(
        {**SHAPE, "properties": {**SHAPE["properties"], "id": {**STRING, "readOnly": True}}},
        example={**VALUE, "id": "7"},
    ),
}


@pytest.mark.parametrize("form", BODIES)
def test_the_properties_of_a_bodys_example_are_shown_at_their_arguments(form):
    components = {
        "examples": {"one": {"value": VALUE}},
        "schemas": {"Shape": {**SHAPE, "example": VALUE}, "Plain": SHAPE},
    }
    (tool,) = load_tools(document(BODIES[form], components=components))

    properties = tool.input_schema["properties"]

    assert {name: properties[name].get("examples") for name in properties} == {
        name: [value] for name, value in VALUE.items()
    }


def test_a_whole_body_shows_the_whole_example():
    nested = Settings(body="nested")

    assert examples_of(of_body(example=VALUE), "body", settings=nested) == [VALUE]
    assert examples_of(of_body({"type": "array", "items": SHAPE}, example=[VALUE]), "body") == [
        [VALUE]
    ]


def test_a_body_of_swagger_2_shows_the_example_of_its_schema():
    parameters = [{"name": "b", "in": "body", "schema": {**SHAPE, "example": VALUE}}]
    paths = {"/x": {"post": operation(parameters=parameters)}}

    assert examples_of(paths, "when", openapi="2.0") == [WEEK]


def test_own_examples_of_properties_stay():
    schema = {"type": "object", "properties": {"a": {**STRING, "example": "own"}, "when": STRING}}

    assert examples_of(of_body(schema, example=VALUE), "a") == ["own"]
    assert examples_of(of_body(schema, example=VALUE), "when") == [WEEK]


def test_no_example_is_shown_for_a_file():
    schema = {"type": "object", "properties": {"f": {"type": "string", "format": "binary"}}}
    paths = of_body(schema, "multipart/form-data", example={"f": "file.txt"})

    assert examples_of(paths, "f", openapi="3.0.3") == []
