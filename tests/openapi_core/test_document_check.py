"""What lint finds in a document, and where."""

import documents
import pytest
from fuzz.watch import nothing_reached
from hypothesis import given
from hypothesis import strategies as st
from strategies import nodes

from openapi_tools.openapi_core.document_check import Finding, findings


def document(paths, version="3.1.0", **more):
    return documents.document(paths, openapi=version, **more)


def operation(**more):
    """Return a path item with one operation."""
    return {"get": documents.operation(**more)}


def query(**more):
    return {"in": "query", "name": "q", **more}


INTEGER = {"type": "integer", "default": "x"}
PARAMETERS = {"parameters": {"q": query(schema=INTEGER)}}
BROKEN = {"schemas": {"A": {"type": "object", "required": True}}}
AGAIN = {"$ref": "#/components/schemas/A"}
FOUND = {
    "a field that does not exist": (
        document({"/a": operation(colour=1)}, version="3.0.3"),
        "/paths/~1a/get",
        "Additional properties are not allowed ('colour' was unexpected)",
    ),
    "the branch of a union that was meant": (
        document({"/a": operation(parameters=[query(schema={"type": "int"})])}, version="3.0.3"),
        "/paths/~1a/get/parameters/0/schema/type",
        '"int" is not one of "array", "boolean" or 4 other candidates',
    ),
    "a reference that is not a text": (
        document({"/a": operation(parameters=[{"$ref": 5}])}, version="3.0.3"),
        "/paths/~1a/get/parameters/0",
        "{\"$ref\":5} is not valid under any of the schemas listed in the 'oneOf' keyword",
    ),
    "a path variable without a parameter": (
        document({"/a/{b}": operation()}),
        "/paths/~1a~1{b}/get",
        "Path parameter 'b' for 'get' operation in '/a/{b}' was not resolved",
    ),
    "a duplicate id": (
        document({"/a": operation(operationId="x"), "/b": operation(operationId="x")}),
        "/paths/~1b/get",
        "Operation ID 'x' for 'get' in '/b' is not unique",
    ),
    "a default that does not fit": (
        document(
            {"/a": operation(parameters=[{"$ref": "#/components/parameters/q"}])},
            components=PARAMETERS,
        ),
        "/components/parameters/q/schema",
        "the default does not fit: 'x' is not of type 'integer'",
    ),
    "a broken schema": (document({}, components=BROKEN), "/components/schemas/A/required",
                        "True is not of type 'array'"),
    "a reference that leads nowhere, told once": (
        document({"/a": operation(parameters=[{"$ref": "#/components/parameters/no"}])}),
        "/paths/~1a/get/parameters/0",
        "$ref '#/components/parameters/no' leads nowhere",
    ),
    "a reference into another document": (
        document({"/a": {"$ref": "paths/a.yaml"}}),
        "/paths/~1a",
        "$ref 'paths/a.yaml' leads to another document, which is not checked",
        "note",
    ),
    "a circle of path items": (
        document({"/c": {"$ref": "#/paths/~1c"}}),
        "/paths/~1c",
        "not checked: a circle of $ref, or too deep",
        "note",
    ),
    "a member that is required only, in a circle of schemas": (
        document({}, components={"schemas": {"A": {"allOf": [AGAIN], "required": ["x"]}}}),
        "/components/schemas/A",
        "Required list has not defined properties: ['x']",
    ),
    "Swagger 2.0": (document({"/a": operation(parameters=[{"in": "path"}])}, version="2.0"),
                    "/paths/~1a/get/parameters/0", '"name" is a required property'),
    "an unknown version": (document({}, version="4.0"), "",
                           "version '4.0' is none of 2.0, 3.0, 3.1 and 3.2"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_a_fault_is_found_at_its_place(name):
    source, *expected = FOUND[name]

    found = findings(source)

    assert [item for item in found if item.message == expected[1]] == [Finding(*expected)]


def test_a_fault_does_not_hide_those_behind_it():
    paths = {
        "/a": operation(parameters=[{"$ref": "#/no"}]),
        "/b/{c}": operation(),
        "/c": {"$ref": "#/paths/~1c"},
    }

    found = {item.pointer for item in findings(document(paths))}

    assert {"/paths/~1a/get/parameters/0", "/paths/~1b~1{c}/get", "/paths/~1c"} <= found


def test_a_diamond_of_schemas_is_checked_in_time():
    schemas = {
        f"S{n}": {"allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}] * 2} for n in range(40)
    }
    schemas["S40"] = {"type": "object"}

    found = findings(document({}, components={"schemas": schemas}))

    assert found == []


def test_a_long_message_is_one_short_line():
    parameter = query(schema={"type": "string", "default": [["x"] * 999]})

    found = findings(document({"/a": operation(parameters=[parameter])}))

    assert found
    assert all(len(item.message) < 300 and "\n" not in item.message for item in found)


def test_nothing_is_fetched():
    schema = {"$schema": "http://127.0.0.1:9/dialect", "$ref": "http://127.0.0.1:9/x.json"}
    source = document({}, components={"schemas": {"A": schema, "B": {"$id": "http://h/"}}})

    with nothing_reached():
        assert findings(source)


KEYS = ["paths", "/a", "get", "parameters", "responses", "200", "schema", "$ref", "content", "tags"]
NODES = nodes([*KEYS, "components", "schemas"], ["#/paths", "#/x", "object"], leaves=14)


@pytest.mark.long
@given(paths=NODES, components=NODES, version=st.sampled_from(["2.0", "3.0.0", "3.1.0", "3.2.0"]))
def test_nothing_raises_whatever_the_document_says(paths, components, version):
    found = findings(document(paths, version, components=components))

    assert all(isinstance(item, Finding) for item in found)
