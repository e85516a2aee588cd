"""Types as other languages call them are read as they are meant, with a warning."""

import json

import pytest
import yaml
from documents import component, document, operation, with_body

from openapi_tools import load_tools

MEANT = {
    "int": {"type": "integer"},
    "Integer": {"type": "integer"},
    "INTEGER": {"type": "integer"},
    "long": {"type": "integer", "format": "int64"},
    "int32": {"type": "integer", "format": "int32"},
    "uint": {"type": "integer"},
    "float": {"type": "number", "format": "float"},
    "double": {"type": "number", "format": "double"},
    "Decimal": {"type": "number"},
    "bool": {"type": "boolean"},
    "Boolean": {"type": "boolean"},
    "str": {"type": "string"},
    "String": {"type": "string"},
    "text": {"type": "string"},
    "date": {"type": "string", "format": "date"},
    "date-time": {"type": "string", "format": "date-time"},
    "DateTime": {"type": "string", "format": "date-time"},
    "uuid": {"type": "string", "format": "uuid"},
    "email": {"type": "string", "format": "email"},
    "list": {"type": "array"},
    "Array": {"type": "array"},
    "dict": {"type": "object"},
    "map": {"type": "object"},
    "string[]": {"type": "array", "items": {"type": "string"}},
    "List<int>": {"type": "array", "items": {"type": "integer"}},
    "string|null": {"type": ["string", "null"]},
    "integer or string": {"type": ["integer", "string"]},
}


def load_schema(schema, openapi="3.1.1", **fields):
    """Return what a model sees of a query parameter, and the warnings."""
    parameter = schema if openapi == "2.0" else {"schema": schema}
    paths = {"/x": {"get": operation(parameters=[{"name": "v", "in": "query", **parameter}])}}
    toolset = load_tools(document(paths, openapi=openapi, **fields))
    (tool,) = toolset
    return tool.input_schema["properties"]["v"], toolset.warnings


@pytest.mark.parametrize("openapi", ["2.0", "3.0.3", "3.1.1", "3.2.0"])
@pytest.mark.parametrize("name", MEANT)
def test_a_type_of_another_language_is_read_with_a_warning(name, openapi):
    schema, warnings = load_schema({"type": name}, openapi)

    assert MEANT[name].items() <= schema.items()
    pointer = "/type" if openapi == "2.0" else "/schema/type"
    assert warnings[0].startswith(f"/paths/~1x/get/parameters/0{pointer}: '{name}' is read as ")


@pytest.mark.parametrize("name", ["mixed", "any", "unknown", "", "x" * 200, "string or mixed"])
def test_a_word_that_says_nothing_takes_any_value_with_a_warning(name):
    schema, warnings = load_schema({"type": name, "description": "It."})

    assert schema == {"description": "It."}
    assert len(warnings) == 1
    assert "/paths/~1x/get/parameters/0/schema/type: " in warnings[0]


@pytest.mark.parametrize(
    "declared", ["string", ["string", "null"], "null", ["integer", "integer", "null"]], ids=repr
)
def test_a_right_type_is_no_warning(declared):
    assert load_schema({"type": declared})[1] == ()


def test_the_types_of_a_list_are_read_one_by_one():
    assert load_schema({"type": ["int", "null"]})[0] == {"type": ["integer", "null"]}
    assert load_schema({"type": ["int", "mixed"]})[0] == {}


def test_formats_and_items_of_the_document_stay():
    assert load_schema({"type": "date-time", "format": "unix"})[0] == {
        "type": "string",
        "format": "unix",
    }
    schema, _ = load_schema({"type": "string[]", "items": {"type": "String", "minLength": 2}})
    assert schema == {"type": "array", "items": {"type": "string", "minLength": 2}}


def test_a_list_of_swagger_2_is_written_by_its_format():
    parameter = {"type": "List", "items": {"type": "String"}, "collectionFormat": "pipes"}
    paths = {"/x": {"get": operation(parameters=[{"name": "v", "in": "query", **parameter}])}}
    toolset = load_tools(document(paths, openapi="2.0", host="api.example.com"))

    assert toolset["get_x"].preview({"v": ["a", "b"]}).url.query == b"v=a%7Cb"


def test_a_component_is_reported_once():
    users = [component("Id") for _ in range(3)]
    paths = with_body({"type": "object", "properties": dict(zip("abc", users, strict=True))})
    root = document(paths, components={"schemas": {"Id": {"type": "Long"}}})

    toolset = load_tools(yaml.safe_dump(json.loads(json.dumps(root))))

    assert toolset["post_x"].input_schema["$defs"]["Id"] == {"type": "integer", "format": "int64"}
    place = "/components/schemas/Id/type"
    assert toolset.warnings == (f"{place}: 'Long' is read as 'integer' with format 'int64'.",)


@pytest.mark.parametrize(("value", "is_right"), [(5, True), ("abc", False), (1.5, False)])
async def test_values_are_checked_against_the_type_that_is_meant(value, is_right, recorder):
    root = document(with_body({"type": "object", "properties": {"v": {"type": "int"}}}))

    async with load_tools(root, base_url=recorder.url) as toolset:
        result = await toolset["post_x"].execute({"v": value})

    assert result.success is is_right
    assert len(recorder.requests) == is_right
