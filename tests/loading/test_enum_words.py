"""Words for the values of an enum, which generators write in extensions."""

import json

import pytest
from documents import component, document, operation, with_body

from openapi_tools import load_tools

OPEN = "0: Open; 1: Closed"
MS = {
    "name": "State",
    "values": [{"value": 1, "name": "Closed", "description": "is closed"}, {"value": 0}],
}
EXTENSIONS = {
    "x-enumNames": (["Open", "Closed"], OPEN),
    "x-enum-varnames": (["Open", "Closed"], OPEN),
    "x-enum-descriptions": (["is open", "is closed"], "0: is open; 1: is closed"),
    "x-enumDescriptions": ({"1": "is closed"}, "1: is closed"),
    "x-ms-enum": (MS, "1: Closed (is closed)"),
}


def describe_enum(schema, *, openapi="3.1.1", described=""):
    """Return the words of a parameter, whether its schema stands there or is a component."""
    words = {"description": described} if described else {}
    parameter = {"name": "v", "in": "query", "schema": schema, **words}
    paths = {"/x": {"get": operation(parameters=[parameter])}}
    (tool,) = load_tools(
        document(paths, openapi=openapi, components={"schemas": {"V": {"type": "integer"}}})
    )
    return tool.input_schema["properties"]["v"].get("description", "")


@pytest.mark.parametrize("openapi", ["3.0.3", "3.1.1", "3.2.0"])
@pytest.mark.parametrize("key", EXTENSIONS)
def test_the_words_of_values_are_in_the_description(key, openapi):
    value, expected = EXTENSIONS[key]
    schema = {"type": "integer", "enum": [0, 1], key: value}

    assert describe_enum(schema, openapi=openapi) == expected
    assert (
        describe_enum({**schema, "description": "State."}, openapi=openapi) == f"State. {expected}"
    )
    assert describe_enum(schema, openapi=openapi, described="Of it.") == f"Of it. {expected}"


@pytest.mark.parametrize(
    ("paths", "openapi", "pick"),
    [
        (
            {"/x": {"get": operation(parameters=[
                {"name": "v", "in": "query", "type": "integer", "enum": [0, 1],
                 "x-enumNames": ["Open", "Closed"]}])}},
            "2.0", lambda s: s["properties"]["v"],
        ),
        (
            {"/x": {"parameters": [{"name": "v", "in": "query", "x-enumNames": ["Open", "Closed"],
                                    "schema": {"type": "integer", "enum": [0, 1]}}],
                    "get": operation()}},
            "3.0.3", lambda s: s["properties"]["v"],
        ),
        (
            {"/x": {"get": operation(parameters=[
                {"name": "v", "in": "query",
                 "schema": {"type": "array", "items": component("State")}}])}},
            "3.0.3", lambda s: s["$defs"]["State"],
        ),
        (
            with_body({"type": "object", "properties": {"v": component("State")}}),
            "3.1.1", lambda s: s["$defs"]["State"],
        ),
    ],
    ids=["Swagger 2.0", "beside the schema", "items", "a body"],
)  # fmt: skip
def test_the_words_are_read_wherever_an_enum_stands(paths, openapi, pick):
    state = {"type": "integer", "enum": [0, 1], "x-enumNames": ["Open", "Closed"]}
    fields = {"components": {"schemas": {"State": state}}} if openapi != "2.0" else {}

    (tool,) = load_tools(document(paths, openapi=openapi, **fields))

    assert pick(tool.input_schema)["description"] == OPEN
    assert pick(tool.input_schema)["enum"] == [0, 1]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"enum": ["open", "closed"], "x-enum-varnames": ["OPEN", "CLOSED"]}, ""),
        ({"enum": [0, 1], "x-enumNames": ["Open", "Closed"], "description": OPEN}, OPEN),
        ({"enum": [0, 1], "x-enumNames": ["Open"]}, "0: Open"),
        ({"enum": [0, 1], "x-enumNames": "Open"}, ""),
        ({"enum": [0, 1], "x-enumNames": [None, {"a": 1}]}, ""),
        ({"enum": [0, 1], "x-ms-enum": {"values": ["Open", None]}}, ""),
        ({"enum": [0, 1], "x-enumNames": ["<b>Open</b>", "Clo\u202esed"]}, OPEN),
        ({"enum": ["HB"], "x-enum-descriptions": ["HB: half board"]}, "HB: half board"),
        ({"x-enumNames": ["Open", "Closed"]}, ""),
    ],
)
def test_words_that_say_nothing_new_or_cannot_be_read_are_left_out(schema, expected):
    assert describe_enum(schema) == expected


def test_long_words_stay_within_the_length_of_a_description():
    schema = {"enum": [*range(500)], "x-enum-descriptions": ["word " * 20] * 500}

    words = describe_enum(schema)

    assert len(words) <= 1024
    assert words.endswith("…")
    assert json.dumps(words)
