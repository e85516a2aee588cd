"""JMESPath expressions compared with the documented response, before a call and at load."""

import re

import pytest
from documents import document, operation, tools

from openapi_tools import SettingsError, load_tools
from openapi_tools.responses.shape_checks import check_fields

OWNER = {"type": "object", "properties": {"login": {"type": "string"}, "tags": {"type": "object"}}}
PET = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "owner": {"$ref": "#/$defs/Owner"},
        "friends": {"type": "array", "items": {"$ref": "#/$defs/Pet"}},
        "boxes": {"type": "array", "items": {"type": "array", "items": {"$ref": "#/$defs/Owner"}}},
        "extra": {"type": "object", "additionalProperties": {"type": "string"}},
        "any": {},
        "either": {"anyOf": [{"$ref": "#/$defs/Owner"}, {"type": "null"}]},
        "both": {
            "allOf": [{"$ref": "#/$defs/Owner"}, {"properties": {"more": {"type": "string"}}}]
        },
        "union": {"oneOf": [{"$ref": "#/$defs/Owner"}, {"type": "object"}]},
        "self": {"$ref": "#/$defs/Loop"},
    },
}
DEFS = {"Pet": PET, "Owner": OWNER, "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}]}}
ONE = {"$ref": "#/$defs/Pet", "$defs": DEFS}
LIST = {"type": "array", "items": {"$ref": "#/$defs/Pet"}, "$defs": DEFS}
NAMES = [*PET["properties"]]

FITTING = [
    *("@", "[]", "[*].name", "[].owner.login", "[0].id", "[-1]", "[1:3].name", "[?id > `3`].name"),
    "[].{id: id, by: owner.login}",
    "[].[id, owner.login][]",
    "[].friends[].friends[].owner.login",
    "[].boxes[][].login",
    "[].boxes[*][*].login",
    "[?owner.login == 'a' && !any || name].id | [0]",
    "[].extra.anything",
    "[].any.thing[].at.all",
    "[].owner.tags.anything",
    "[].either.login",
    "[].[both.login, both.more]",
    "[].union.anything",
    "[].self.anything",
    "sort_by(@, &id)[].name",
    "max_by(@, &id).owner.login",
    "map(&owner.login, @)",
    "reverse(@)[0].name",
    "not_null(@).anything",
    "length([].friends[])",
    "[].owner.* | [0]",
    "[].owner[].login",
    "{names: [].name, first: [0]}.first.owner",
    "[].name || [].owner",
]


@pytest.mark.parametrize("expression", FITTING)
def test_an_expression_that_fits_the_documented_response_is_accepted(expression):
    check_fields(expression, LIST)


@pytest.mark.parametrize("schema", [None, {}])
def test_without_a_documented_response_only_the_syntax_counts(schema):
    check_fields("any.member[].of.all", schema)
    with pytest.raises(SettingsError, match="ends too early"):
        check_fields("any.", schema)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("[].nmae", "unknown property 'nmae'; did you mean name?"),
        ("[0] | nmae", "unknown property 'nmae'; did you mean name?"),
        ("[0].nmae", "unknown property 'nmae'; did you mean name?"),
        ("[].{id: id, by: zzz}", f"unknown property 'zzz'. Expected one of: {', '.join(NAMES)}."),
        ("name", "'name' is selected from a list; write [].name."),
        ("nmae", "'nmae' is selected from a list."),
        ("[?nmae == 'x'].id", "unknown property 'nmae'; did you mean name?"),
        ("[].id || [].nmae", "unknown property 'nmae'; did you mean name?"),
        ("length([].nmae)", "unknown property 'nmae'; did you mean name?"),
        ("{a: [].nmae}.b", "unknown property 'nmae'; did you mean name?"),
    ],
)
def test_an_unknown_name_of_the_first_level_is_refused(expression, message):
    with pytest.raises(
        SettingsError, match=f"does not match the documented response: {re.escape(message)}$"
    ):
        check_fields(expression, LIST)


@pytest.mark.parametrize("expression", ["[].owner.logn", "sort_by(@, &nmae)", "[].friends[].nmae"])
def test_deeper_names_are_left_to_the_call(expression):
    check_fields(expression, LIST)


def test_alternatives_without_end_are_not_followed():
    node = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in "abcdef"]}
    schema = {"$ref": "#/$defs/a", "$defs": dict.fromkeys("abcdef", node)}

    check_fields(".".join(["a"] * 90), schema)


# ------------------------------------------------------------------ answer_schema


def response_schema(content, status="200", **fields):
    """Return the schema of the response of an operation."""
    responses = {"404": {"description": ""}, status: {"description": "", "content": content}}
    (tool,) = tools({"/x": {"get": {"operationId": "read", "responses": responses}}}, **fields)
    return tool.answer_schema


def json_of(schema):
    return {"application/json": {"schema": schema}}


COMPONENTS = {
    "schemas": {
        "User": {
            "type": "object",
            "required": ["name", "password"],
            "properties": {
                "id": {"type": "integer", "readOnly": True},
                "name": {"type": "string", "nullable": True},
                "password": {"type": "string", "writeOnly": True},
                "friend": {"$ref": "#/components/schemas/User"},
            },
        }
    }
}
USER = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "name": {"type": ["string", "null"]},
        "friend": {"$ref": "#/$defs/User"},
    },
}


@pytest.mark.parametrize("status", ["200", "201", "2XX", "202"])
def test_the_schema_of_a_response_has_what_only_the_server_writes(status):
    reference = {"$ref": "#/components/schemas/User"}

    result = response_schema(json_of(reference), status, components=COMPONENTS, openapi="3.0.3")

    assert result == {"$ref": "#/$defs/User", "$defs": {"User": USER}}


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"text/plain": {"schema": {"type": "string"}}},
        {"application/json": {}},
        json_of({}),
        json_of({"$ref": "#/nowhere"}),
        json_of({"properties": {"a": {"$ref": "#/nowhere"}}}),
        json_of(7),
    ],
)
def test_an_unknown_response_has_no_schema(content):
    assert response_schema(content) is None


def test_a_json_response_is_found_among_others_and_behind_a_reference():
    content = {"text/html": {}, "application/vnd.x+json": {"schema": {"type": "array"}}}
    components = {"responses": {"Ok": {"description": "", "content": content}}}
    responses = {"400": {"$ref": "#/nowhere"}, "200": {"$ref": "#/components/responses/Ok"}}
    paths = {"/x": {"get": {"operationId": "read", "responses": responses}}}

    (tool,) = load_tools(document(paths, components=components))

    assert tool.answer_schema == {"type": "array", "items": {}}


@pytest.mark.parametrize("produces", [["application/json"], ["text/xml", "application/json"], None])
def test_the_response_of_swagger_has_a_schema_of_its_own(produces):
    response = {
        "description": "",
        "schema": {"type": "object", "properties": {"a": {"type": "file"}}},
    }
    fields = {} if produces is None else {"produces": produces}
    paths = {"/x": {"get": {"operationId": "read", "responses": {"200": response}, **fields}}}

    (tool,) = tools(paths, openapi="2.0")

    assert (tool.answer_schema is None) is (produces is None)
    assert produces is None or list(tool.answer_schema["properties"]) == ["a"]


def test_the_schema_of_a_large_response_is_whole():
    schema = {
        "type": "object",
        "properties": {f"member_{n}": {"enum": ["x" * 400]} for n in range(2000)},
    }

    result = response_schema(json_of(schema))

    assert result == schema
    check_fields("member_1999.any", result)


def test_the_schema_of_a_response_is_made_once_and_shared_by_no_request():
    paths = {"/x": {"post": operation(operationId="write", requestBody={"content": json_of(
        {"$ref": "#/components/schemas/User"})}, responses={"200": {"description": "",
        "content": json_of({"$ref": "#/components/schemas/User"})}})}}  # fmt: skip

    (tool,) = tools(paths, components=COMPONENTS, openapi="3.0.3")

    assert tool.answer_schema is tool.answer_schema
    sent, received = (
        schema["$defs"]["User"]["properties"] for schema in (tool.input_schema, tool.answer_schema)
    )
    assert list(sent) == ["name", "password", "friend"]
    assert list(received) == ["id", "name", "friend"]
