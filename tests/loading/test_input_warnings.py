"""A keyword that cannot be read is left out with a warning; its operation stays a tool."""

from __future__ import annotations

import json
from typing import Any

import pytest
from documents import document, operation, with_body

from openapi_tools import load_tools

SCHEMA = "/paths/~1x/post/requestBody/content/application~1json/schema"
_WRONG: list[tuple[str, list[Any]]] = [
    ("type", [5, {"a": 1}, True]),
    ("properties", ["x", ["a"], 5]),
    ("items contains not if propertyNames contentSchema", ["x", 5]),
    ("additionalProperties unevaluatedProperties", ["maybe", 5, []]),
    ("allOf anyOf oneOf prefixItems", [{"type": "string"}, "x", 5, True]),
    ("patternProperties dependentSchemas", ["x", ["a"]]),
    ("required", [True, "a", [1], {"a": True}]),
    ("enum", ["a", {"a": 1}, []]),
    ("examples", ["a", {"a": 1}]),
    ("description title format pattern contentEncoding contentMediaType", [5, ["a"], True]),
    ("minimum maximum multipleOf", ["5", True, [5]]),
    ("exclusiveMinimum exclusiveMaximum", ["5", [5]]),
    ("minLength maxItems minProperties", ["5", -1, 1.5, True]),
    ("uniqueItems deprecated writeOnly readOnly", ["yes", 1, []]),
    ("nullable", ["yes", 1, {}]),
    ("dependentRequired", [["a"], {"a": "b"}]),
]
WRONG = [(key, value) for keys, values in _WRONG for key in keys.split() for value in values]


def body(schema, **options):
    """Return the tools of a document with an operation that takes a body of some schema."""
    return load_tools(document(with_body(schema), **options))


def body_with(keywords, **options):
    """Return the tools of a document whose one operation has a body with the property `a`."""
    return body({"type": "object", "properties": {"a": keywords, "b": {}}}, **options)


def schemas_of(toolset):
    return [json.dumps(tool.input_schema) for tool in toolset]


@pytest.mark.parametrize("openapi", ["3.0.3", "3.1.0"])
@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_keyword_that_cannot_be_read_is_left_out_with_a_warning(key, value, openapi):
    toolset = body_with({"x-a": 1, key: value}, openapi=openapi)

    assert schemas_of(toolset) == schemas_of(body_with({"x-a": 1}, openapi=openapi))
    assert toolset.skipped == ()
    assert toolset.warnings == (
        f"{SCHEMA}/properties/a/{key}: {value!r} cannot be used as {key!r}; it is ignored.",
    )


@pytest.mark.parametrize("key", sorted(dict(WRONG)))
def test_null_says_as_little_as_a_keyword_that_is_not_there(key):
    assert body_with({key: None}).warnings == ()


@pytest.mark.parametrize("text", ["true", "True", "false", "FALSE"])
@pytest.mark.parametrize(
    "keywords",
    [
        *({"type": "string", key: "IT"} for key in ("deprecated", "writeOnly", "readOnly")),
        {"type": "string", "nullable": "IT"},
        {"additionalProperties": "IT", "properties": {"c": {}}},
        {"type": "array", "items": "IT"},
        {"type": "array", "items": {}, "uniqueItems": "IT"},
        {"type": "integer", "minimum": 3, "exclusiveMinimum": "IT"},
        {"anyOf": [{"type": "string"}, "IT"]},
        "IT",
    ],
)
def test_a_text_for_a_boolean_is_the_boolean(keywords, text):
    written, meant = (
        body_with(put(keywords, value), openapi="3.0.3") for value in (text, text.lower() == "true")
    )

    assert schemas_of(written) == schemas_of(meant)
    assert written.warnings == ()


def put(node, value):
    """Return data with a value in the place of the text `IT`."""
    return json.loads(json.dumps(node).replace('"IT"', json.dumps(value)))


def form(encoding):
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {}}}}
    kind = "application/x-www-form-urlencoded"
    return {"required": True, "content": {kind: {"schema": schema, "encoding": encoding}}}


def part(header):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    encoding = {"a": {"headers": {"X-A": {"schema": {"type": "array", "items": {}}, **header}}}}
    media = {"schema": schema, "encoding": encoding}
    return {"required": True, "content": {"multipart/form-data": media}}


QUERY = {"name": "q", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}}
BODY = {"content": {"application/json": {"schema": {"type": "string"}}}}


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(
    "fields",
    [
        *(
            {"parameters": [{**QUERY, key: "IT"}]}
            for key in ("required", "explode", "allowReserved", "deprecated")
        ),
        {"deprecated": "IT"},
        {"requestBody": {**BODY, "required": "IT"}},
        *({"requestBody": form({"a": {key: "IT"}})} for key in ("explode", "allowReserved")),
        *({"requestBody": part({key: "IT"})} for key in ("required", "explode")),
    ],
)
def test_a_text_for_a_boolean_is_the_boolean_outside_of_schemas(fields, value):
    written, meant = (
        load_tools(document({"/x": {"post": put(operation(**fields), each)}}))
        for each in (str(value), value)
    )

    assert [tool.operation for tool in written] == [tool.operation for tool in meant]
    assert [tool.description for tool in written] == [tool.description for tool in meant]
    assert schemas_of(written) == schemas_of(meant)


@pytest.mark.parametrize("value", [True, False])
def test_a_text_for_a_boolean_is_the_boolean_in_swagger(value):
    listed = [
        {"name": f"{kind}_{word}", "in": kind, "type": "string", "required": word}
        for kind in ("query", "formData")
        for word in (value, str(value).lower())
    ]
    paths = {"/x": {"post": operation(parameters=listed)}}

    (tool,) = load_tools(document(paths, openapi="2.0"))

    assert len(tool.input_schema.get("required", ())) == len(listed) * value


def test_a_count_may_be_written_with_a_point():
    assert schemas_of(body_with({"minLength": 5.0})) == schemas_of(body_with({"minLength": 5}))
    assert body_with({"minLength": 5.0}).warnings == ()


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ("text", ""),
        ({"properties": {"a": 5}}, "/properties/a"),
        ({"properties": {"a": {"anyOf": [{"type": "string"}, "x"]}}}, "/properties/a/anyOf/1"),
        ({"allOf": ["x"]}, "/allOf/0"),
        ({"type": "array", "items": [1]}, "/items/0"),
    ],
)
def test_any_value_is_taken_where_something_else_than_a_schema_stands(schema, place):
    toolset = body(schema)

    assert len(toolset) == len(toolset.warnings) == 1
    assert toolset.warnings[0].startswith(f"{SCHEMA}{place}: ")
    assert toolset.warnings[0].endswith(" is not a schema; any value is accepted there.")


def test_a_reference_inside_of_what_is_left_out_costs_nothing():
    toolset = body({"anyOf": {"$ref": "#/nowhere"}, "properties": [{"$ref": "#/nowhere"}]})

    assert len(toolset) == 1
    assert len(toolset.warnings) == 2


def get(parameter):
    return {"get": operation(parameters=[parameter])}


WITH_CONTENT = {"name": "q", "in": "query", "content": {"a/b": {"schema": {"minimum": "5"}}}}
PLACES: list[tuple[str, dict[str, Any]]] = [
    ("/components/schemas/A", with_body({"$ref": "#/components/schemas/A"})["/x"]),
    ("/components/parameters/P/schema", get({"$ref": "#/components/parameters/P"})),
    ("/components/requestBodies/B/content/text~1plain/schema",
     {"post": operation(requestBody={"$ref": "#/components/requestBodies/B"})}),
    ("/paths/~1x/parameters/0/schema",
     {"parameters": [{**QUERY, "schema": {"minimum": "5"}}], "get": operation()}),
    ("/paths/~1x/get/parameters/0/content/a~1b/schema", get(WITH_CONTENT)),
    ("/paths/~1x/post/requestBody/content/multipart~1form-data/encoding/a/headers/X-A/schema",
     {"post": operation(requestBody=part({"schema": {"minimum": "5"}}))}),
    (f"{SCHEMA}/allOf/1/items", with_body({"allOf": [{}, {"items": {"minimum": "5"}}]})["/x"]),
]  # fmt: skip


@pytest.mark.parametrize(("place", "item"), PLACES)
def test_the_warning_names_the_place_in_the_document(place, item):
    wrong = {"minimum": "5"}
    components = {
        "schemas": {"A": wrong},
        "parameters": {"P": {**QUERY, "schema": wrong}},
        "requestBodies": {"B": {"content": {"text/plain": {"schema": wrong}}}},
    }

    toolset = load_tools(document({"/x": item}, components=components))

    message = "'5' cannot be used as 'minimum'; it is ignored."
    assert toolset.warnings == (f"{place}/minimum: {message}",)


def test_a_parameter_of_swagger_is_a_schema_but_for_its_own_fields():
    parameter = {"name": "q", "in": "query", "required": True, "type": "string", "maxLength": "5"}

    toolset = load_tools(document({"/x": get(parameter)}, openapi="2.0"))

    place = "/paths/~1x/get/parameters/0/maxLength"
    assert toolset.warnings == (f"{place}: '5' cannot be used as 'maxLength'; it is ignored.",)


def test_a_keyword_in_another_file_is_named_with_the_file(tmp_path):
    (tmp_path / "other.json").write_text('{"a": {"minimum": "5"}}')
    file = tmp_path / "api.json"
    file.write_text(json.dumps(document(with_body({"$ref": "other.json#/a"}))))

    (warning,) = load_tools(file).warnings

    assert warning.startswith(f"{tmp_path / 'other.json'}#/a/minimum: ")


def test_what_many_operations_reach_is_reported_once_and_what_none_reaches_is_not():
    wrong = {"maxLength": "5"}
    schemas = {"A": wrong, "B": wrong}
    item = with_body({"$ref": "#/components/schemas/A"})["/x"]

    toolset = load_tools(document({"/a": item, "/b": item}, components={"schemas": schemas}))

    (warning,) = toolset.warnings
    assert warning.startswith("/components/schemas/A/maxLength: ")


def test_of_many_keywords_the_first_are_reported_and_the_others_counted():
    toolset = body({"properties": {f"p{number}": {"title": number} for number in range(40)}})

    assert len(toolset.warnings) == 11
    assert toolset.warnings[9].startswith(f"{SCHEMA}/properties/p9/title: 9 ")
    message = "30 more keywords of schemas cannot be used; they are ignored."
    assert toolset.warnings[10] == message


def test_a_strict_load_takes_such_operations_too():
    root = document(with_body({"additionalProperties": "maybe"}))

    assert len(load_tools(root, strict=True)) == 1


def test_a_schema_that_is_a_cycle_is_looked_at_once():
    tree = {"items": {"$ref": "#/components/schemas/Tree"}, "pattern": 5}

    toolset = body({"$ref": "#/components/schemas/Tree"}, components={"schemas": {"Tree": tree}})

    assert len(toolset.warnings) == 1
