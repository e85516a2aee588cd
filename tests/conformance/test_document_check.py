"""What lint finds in a document, and where."""

import documents
import pytest
from fuzz.budget import nothing_reached
from hypothesis import given
from hypothesis import strategies as st
from strategies import nodes

from openapi_tools.conformance.document_check import Finding, find_document_errors


def document(paths, version="3.1.0", **fields):
    return documents.document(paths, openapi=version, **fields)


def operation(**fields):
    """Return a path item with one operation."""
    return {"get": documents.operation(**fields)}


def taking(parameter, version="3.1.0", **fields):
    """Return a document with one operation that takes one parameter."""
    return document({"/a": operation(parameters=[parameter])}, version, **fields)


def query(**fields):
    return {"in": "query", "name": "q", **fields}


def schemas(**named):
    return document({}, components={"schemas": named})


PARAMETERS = {"parameters": {"q": query(schema={"type": "integer", "default": "x"})}}
TWICE = {path: operation(operationId="x") for path in ("/a", "/b")}
CYCLE = {"allOf": [{"$ref": "#/components/schemas/A"}], "required": ["x"]}
ERRORS = [
    (document({"/a": operation(colour=1)}, version="3.0.3"), "/paths/~1a/get",
     "Additional properties are not allowed ('colour' was unexpected)"),
    (taking(query(schema={"type": "int"}), "3.0.3"), "/paths/~1a/get/parameters/0/schema/type",
     '"int" is not one of "array", "boolean" or 4 other candidates'),
    (taking({"$ref": 5}, "3.0.3"), "/paths/~1a/get/parameters/0",
     "{\"$ref\":5} is not valid under any of the schemas listed in the 'oneOf' keyword"),
    (document({"/a/{b}": operation()}), "/paths/~1a~1{b}/get",
     "Path parameter 'b' for 'get' operation in '/a/{b}' was not resolved"),
    (document(TWICE), "/paths/~1b/get", "Operation ID 'x' for 'get' in '/b' is not unique"),
    (taking({"$ref": "#/components/parameters/q"}, components=PARAMETERS),
     "/components/parameters/q/schema", "the default does not match: 'x' is not of type 'integer'"),
    (schemas(A={"type": "object", "required": True}), "/components/schemas/A/required",
     "True is not of type 'array'"),
    (schemas(A=CYCLE), "/components/schemas/A",
     "Required list has not defined properties: ['x']"),
    (taking({"$ref": "#/components/parameters/no"}), "/paths/~1a/get/parameters/0",
     "$ref '#/components/parameters/no' leads nowhere"),
    (document({"/a": {"$ref": "paths/a.yaml"}}), "/paths/~1a",
     "$ref 'paths/a.yaml' points to another document, which is not checked", "note"),
    (document({"/c": {"$ref": "#/paths/~1c"}}), "/paths/~1c",
     "not checked: a cycle of $ref, or nested too deeply", "note"),
    (taking({"in": "path"}, "2.0"), "/paths/~1a/get/parameters/0", '"name" is a required property'),
    (document({}, version="4.0"), "", "version '4.0' is not one of 2.0, 3.0, 3.1 and 3.2"),
]  # fmt: skip


@pytest.mark.parametrize("row", ERRORS, ids=[row[2] for row in ERRORS])
def test_a_fault_is_found_at_its_place(row):
    source, *expected = row

    errors = find_document_errors(source)

    assert [item for item in errors if item.message == expected[1]] == [Finding(*expected)]


def test_a_fault_does_not_hide_those_behind_it():
    paths = {
        "/a": operation(parameters=[{"$ref": "#/no"}]),
        "/b/{c}": operation(),
        "/c": {"$ref": "#/paths/~1c"},
    }

    errors = {item.pointer for item in find_document_errors(document(paths))}

    assert {"/paths/~1a/get/parameters/0", "/paths/~1b~1{c}/get", "/paths/~1c"} <= errors


def test_a_diamond_of_schemas_is_checked_in_time():
    parts = {
        f"S{n}": {"allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}] * 2} for n in range(40)
    }

    assert find_document_errors(schemas(**parts, S40={"type": "object"})) == []


def test_a_long_message_is_one_short_line():
    errors = find_document_errors(
        taking(query(schema={"type": "string", "default": [["x"] * 999]}))
    )

    assert errors
    assert all(len(item.message) < 300 and "\n" not in item.message for item in errors)


def test_nothing_is_fetched():
    schema = {"$schema": "http://127.0.0.1:9/dialect", "$ref": "http://127.0.0.1:9/x.json"}

    with nothing_reached():
        assert find_document_errors(schemas(A=schema, B={"$id": "http://h/"}))


KEYS = ["paths", "/a", "get", "parameters", "responses", "200", "schema", "$ref", "content", "tags"]
NODES = nodes([*KEYS, "components", "schemas"], ["#/paths", "#/x", "object"], leaves=14)


@pytest.mark.long
@given(paths=NODES, components=NODES, version=st.sampled_from(["2.0", "3.0.0", "3.1.0", "3.2.0"]))
def test_nothing_raises_whatever_the_document_says(paths, components, version):
    errors = find_document_errors(document(paths, version, components=components))

    assert all(isinstance(item, Finding) for item in errors)
