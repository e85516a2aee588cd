from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import pytest
from documents import component, operation, tools, with_body

from openapi_tools import Settings, SettingsError
from openapi_tools.model import Encoding, Parameter, Property


def parameters(*listed, path="/x", **fields):
    """The only tool of a document whose operation has these parameters."""
    (tool,) = tools({path: {"get": operation(parameters=list(listed))}}, **fields)
    return tool


def query(name, **fields):
    return {"name": name, "in": "query", "schema": {"type": "string"}, **fields}


def body(schema, *, kind="application/json", settings=None, schemas=None, **fields):
    """The only tool of a document whose operation has this body."""
    root_fields = {"components": {"schemas": schemas}} if schemas else {}
    if "openapi" in fields:
        root_fields["openapi"] = fields.pop("openapi")
    (tool,) = tools(with_body(schema, kind=kind, **fields), settings=settings, **root_fields)
    return tool


def post_tool(content, **fields):
    """The only tool of a document whose operation has a required body of these media types."""
    paths = {"/x": {"post": operation(requestBody={"content": content, "required": True})}}
    (tool,) = tools(paths, **fields)
    return tool


BINARY = {"type": "string", "format": "binary"}
FILE = ("base64", "text", "filename", "content_type")
OBJECT: dict[str, Any] = {"type": "object", "properties": {"a": {}}}
DATA = "multipart/form-data"


def path_parameter(name, kind="integer"):
    return {"name": name, "in": "path", "required": True, "schema": {"type": kind}}


def test_the_input_schema_is_a_closed_object_that_lists_what_is_required():
    tool = parameters(query("a", required=True), query("b", description="Bee."))
    closed = {"type": "object", "additionalProperties": False}

    assert parameters().input_schema == {**closed, "properties": {}}
    assert tool.input_schema == {
        **closed,
        "properties": {"a": {"type": "string"}, "b": {"type": "string", "description": "Bee."}},
        "required": ["a"],
    }


def test_parameters_of_the_path_are_overridden_by_those_of_the_operation():
    item = {
        "parameters": [query("a", description="path"), query("b", description="path")],
        "get": operation(parameters=[query("a", description="own"), query("c")]),
    }
    (tool,) = tools({"/x": item})

    properties = tool.input_schema["properties"]
    assert {name: schema.get("description") for name, schema in properties.items()} == {
        "a": "own",
        "b": "path",
        "c": None,
    }


def test_what_is_changed_in_one_schema_is_not_changed_in_that_of_another_tool():
    listed = [query("a", required=True), query("b")]
    paths = {path: {"get": operation(parameters=listed)} for path in ("/x", "/y")}
    first, second = tools(paths)

    first.get_schema()["properties"].clear()
    assert first.get_schema() == first.input_schema
    assert first.input_schema["properties"].keys() == {"a", "b"}
    first.input_schema["title"] = "Changed"
    del first.input_schema["properties"]["a"]
    first.input_schema["required"].append("b")

    assert second.input_schema["properties"].keys() == {"a", "b"}
    assert second.input_schema["required"] == ["a"]
    assert "title" not in second.input_schema


@pytest.mark.parametrize("value", [True, 1, 1.0, "1", [1], {"a": 1}], ids=repr)
def test_parameters_of_one_name_are_one_only_when_they_say_the_same_to_the_letter(value):
    values = [1, True, value]
    listed = [query("a", schema={"default": each}) for each in values]
    toolset = tools({f"/{n}": {"get": operation(parameters=[a])} for n, a in enumerate(listed)})

    defaults = [tool.input_schema["properties"]["a"]["default"] for tool in toolset]

    assert repr(defaults) == repr(values)


def test_a_path_that_names_other_variables_than_the_same_list_elsewhere_has_its_own():
    listed = [path_parameter("a")]
    paths = {
        path: {"get": operation(parameters=listed)} for path in ("/{a}", "/{b}", "/x", "/{b}/{a}")
    }

    properties = [tool.input_schema["properties"] for tool in tools(paths)]

    number, text = {"type": "integer"}, {"type": "string"}
    assert properties == [{"a": number}, {"b": text}, {}, {"b": text, "a": number}]


@pytest.mark.parametrize(
    "name",
    [
        *("Accept", "content-type", "AUTHORIZATION", "Host", "Cookie", "Content-Length"),
        *("Transfer-Encoding", "Connection", "TE", "Upgrade", "Proxy-Authorization"),
    ],
)
def test_headers_that_are_not_the_models_to_set_are_no_arguments(name):
    tool = parameters({**query(name, required=True), "in": "header"})

    assert tool.input_schema["properties"] == {}
    assert tool.operation.parameters == ()


@pytest.mark.parametrize(
    ("location", "name", "declared"),
    [("query", "api_key", "api_key"), ("header", "x-key", "X-KEY"), ("cookie", "sid", "sid")],
)
def test_the_location_of_a_credential_is_no_argument(location, name, declared):
    key = {"type": "apiKey", "in": location, "name": declared}

    tool = parameters(
        {**query(name, required=True), "in": location}, components={"securitySchemes": {"key": key}}
    )

    assert tool.input_schema["properties"] == {}


def test_a_path_variable_that_is_not_declared_is_taken_as_text_and_remarked():
    listed = [path_parameter("x"), path_parameter("gone")]
    toolset = tools({"/pets/{petId}/{x}": {"get": operation(parameters=listed)}})

    (tool,) = toolset
    kinds = {name: schema["type"] for name, schema in tool.input_schema["properties"].items()}
    assert kinds == {"petId": "string", "x": "integer"}
    assert tool.input_schema["required"] == ["petId", "x"]
    assert any("{petId}" in warning for warning in toolset.warnings)
    assert any("{gone}" in warning for warning in toolset.warnings)


def test_the_properties_of_a_body_become_arguments_next_to_the_parameters():
    schema = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "id": {"type": "integer"}},
    }
    paths = with_body(schema)
    paths["/x"]["parameters"] = [query("id")]
    (tool,) = tools(paths)

    assert list(tool.input_schema["properties"]) == ["id_query", "name", "id_body"]
    assert tool.input_schema["required"] == ["name"]
    assert tool.operation.body.properties == (Property("name"), Property("id", "id_body"))
    assert tool.operation.body.argument == ""


NESTED: list[tuple[str, Any, dict[str, Any]]] = [
    ("recursive", component("N"), {"schemas": {"N": {"properties": {"next": component("N")}}}}),
    ("array", {"type": "array", "items": {"type": "string"}}, {}),
    ("nested on request", OBJECT, {"settings": Settings(body="nested")}),
    ("scalar", {"type": "string"}, {}),
    ("union", {"oneOf": [{"type": "object"}, {"type": "array"}]}, {}),
    ("union beside members", {**OBJECT, "anyOf": [{"required": ["a"]}]}, {}),
    ("map", {"type": "object", "additionalProperties": {"type": "string"}}, {}),
    ("open", {**OBJECT, "additionalProperties": True}, {}),
    ("patterns", {**OBJECT, "patternProperties": {"^x": {}}}, {}),
    ("any object", {"type": "object"}, {}),
    ("anything", {}, {}),
    ("nullable", {**OBJECT, "type": ["object", "null"]}, {}),
    ("optional with required members", {**OBJECT, "required": ["a"]}, {"required": False}),
    ("at least one", {**OBJECT, "minProperties": 1}, {}),
    ("a discriminator without a union", {**OBJECT, "discriminator": {"propertyName": "a"}}, {}),
]


@pytest.mark.parametrize(("schema", "fields"), [r[1:] for r in NESTED], ids=[r[0] for r in NESTED])
def test_any_other_body_is_one_argument(schema, fields):
    tool = body(schema, **fields)

    assert list(tool.input_schema["properties"]) == ["body"]
    assert ("body" in tool.input_schema.get("required", ())) == fields.get("required", True)
    assert tool.operation.body.argument == "body"


def test_an_optional_body_without_required_properties_is_offered_flat():
    tool = body(OBJECT, required=False)

    assert list(tool.input_schema["properties"]) == ["a"]
    assert tool.operation.body.required is False


def test_a_parameter_called_body_and_a_body_are_distinguished():
    paths = with_body({"type": "string"})
    paths["/x"]["parameters"] = [query("body")]
    (tool,) = tools(paths)

    assert list(tool.input_schema["properties"]) == ["body_query", "body_body"]


@pytest.mark.parametrize(
    "whole",
    [
        {"allOf": [component("A"), {"properties": {"b": {}}, "required": ["b"]}]},
        {**component("A"), "properties": {"b": {}}, "required": ["b"]},
    ],
    ids=["allOf", "beside a reference"],
)
def test_a_body_of_several_parts_is_offered_flat(whole):
    tool = body(whole, schemas={"A": {"type": "object", "properties": {"a": {"type": "string"}}}})

    assert set(tool.input_schema["properties"]) == {"a", "b"}
    assert tool.input_schema["required"] == ["b"]
    assert "$defs" not in tool.input_schema


MEDIA = [
    ("json first", ["application/xml", "application/json"], "application/json"),
    ("vendor json", ["text/plain", "application/vnd.api+json"], "application/vnd.api+json"),
    ("merge-patch before json-patch",
     ["application/json-patch+json", "application/merge-patch+json"],
     "application/merge-patch+json"),
    ("form before multipart", [DATA, "application/x-www-form-urlencoded"],
     "application/x-www-form-urlencoded"),
    ("text before bytes", ["application/octet-stream", "text/plain"], "text/plain"),
    ("the document's order among equals", ["image/png", "image/gif"], "image/png"),
]  # fmt: skip


@pytest.mark.parametrize(("listed", "chosen"), [r[1:] for r in MEDIA], ids=[r[0] for r in MEDIA])
def test_of_several_media_types_the_most_useful_is_sent(listed, chosen):
    tool = post_tool({kind: {"schema": OBJECT} for kind in listed})

    assert tool.operation.body.media_type == chosen
    assert set(tool.operation.body.alternatives) == set(listed) - {chosen}


def test_multipart_is_sent_where_json_would_have_to_hold_bytes():
    schema = {"type": "object", "properties": {"file": BINARY}}
    tool = post_tool({kind: {"schema": schema} for kind in ("application/json", DATA)})

    assert tool.operation.body.media_type == DATA


def offering(*kinds, schema=None, operation_id="save"):
    """Return paths with an operation whose body may have several media types."""
    content = {kind: {"schema": schema or {"type": "string"}} for kind in kinds}
    body = {"content": content, "required": True, "description": "What is saved."}
    return {"/x": {"post": operation(operationId=operation_id, requestBody=body)}}


@pytest.mark.parametrize(
    ("kinds", "schema", "words"),
    [
        (("text/plain", "application/octet-stream"), None, "What is saved"),
        (("text/csv", "application/x-tar"), None, "What is saved"),
        (("application/xml", "application/zip"), OBJECT, "Its elements: "),
    ],
)
def test_a_body_that_is_text_or_bytes_is_a_file(kinds, schema, words):
    (tool,) = tools(offering(*reversed(kinds), schema=schema))

    assert tool.operation.body.media_type == kinds[0]
    assert tool.operation.body.file
    body_schema = tool.input_schema["properties"]["body"]
    assert {"text", "base64"} <= body_schema["properties"].keys()
    assert words in body_schema["description"]


def test_text_alone_or_of_the_users_choice_is_a_string():
    settings = Settings(media_types=("text/plain",))
    (default,) = tools(offering("text/plain", "text/csv"))
    kinds = ("application/json", "application/octet-stream", "text/plain")
    (chosen,) = tools(offering(*kinds), settings=settings)

    for tool in (default, chosen):
        assert tool.operation.body.media_type == "text/plain"
        assert tool.input_schema["properties"]["body"]["type"] == "string"
        assert not tool.operation.body.file


@pytest.mark.parametrize(
    ("media_type", "sent", "is_file"),
    [
        ("application/octet-stream", "application/octet-stream", True),
        ("text/plain", "text/plain", False),
        ("application/x-tar", "application/x-tar", True),
        ("application/vnd.x+json", "application/vnd.x+json", False),
    ],
    ids=["listed bytes", "listed text", "bytes that are not listed", "JSON that is not listed"],
)
def test_the_media_type_of_one_operation_is_chosen(media_type, sent, is_file):
    paths = offering("text/plain", "application/octet-stream")
    paths["/y"] = offering("text/csv", "application/json", operation_id="other")["/x"]
    settings = Settings(media_types={"save": media_type})
    toolset = tools(paths, settings=settings)

    assert toolset["save"].operation.body.media_type == sent
    assert toolset["save"].operation.body.file is is_file
    assert set(toolset["save"].operation.body.alternatives) >= {"text/plain"} - {sent}
    assert toolset["other"].operation.body.media_type == "application/json"
    assert toolset.warnings == ()


def test_a_body_of_a_component_is_chosen_for_one_of_its_operations():
    refer = {"schema": component("Text")}
    shared = {"content": {"text/plain": refer, "application/octet-stream": refer}}
    paths = {f"/{n}": {"post": operation(operationId=n, requestBody=shared)} for n in "ab"}
    components = {"schemas": {"Text": {"type": "string"}}}
    settings = Settings(media_types={"b": "text/plain"})

    one, other = tools(paths, settings=settings, components=components)

    assert one.input_schema["properties"]["body"]["type"] == "object"
    assert other.input_schema["properties"]["body"].get("type", "string") == "string"


@pytest.mark.parametrize("media_types", ["application/json", {"save": "application/json"}])
def test_a_range_is_sent_as_the_media_type_that_the_user_names(media_types):
    (tool,) = tools(offering("*/*", schema=OBJECT), settings=Settings(media_types=media_types))

    assert tool.operation.body.media_type == "application/json"


def test_the_model_chooses_among_media_types_that_the_user_names():
    schema = {"type": "object", "properties": {"media_type": {"type": "string"}}}
    kinds = ["application/json", "application/octet-stream"]
    (tool,) = tools(offering(*kinds, schema=schema), settings=Settings(media_types={"save": kinds}))

    properties = tool.input_schema["properties"]

    assert properties["media_type"]["enum"] == kinds
    assert tool.input_schema["required"] == ["body", "media_type"]
    assert len(properties["body"]["anyOf"]) == 2
    assert properties["body"]["anyOf"][0]["properties"].keys() == {"media_type"}
    assert {"text", "base64"} <= properties["body"]["anyOf"][1]["properties"].keys()


def test_media_types_for_tools_that_do_not_exist_are_reported():
    settings = Settings(media_types={"sav": "text/plain", "nothing_like_it": "text/plain"})

    first, second = tools(offering("text/plain"), settings=settings).warnings

    assert first == "media_types: no tool is called 'sav'; did you mean save?"
    assert second == "media_types: no tool is called 'nothing_like_it' among 1 tool."


@pytest.mark.parametrize("kinds", ["text", "*/*", "text/*", "", [], ["text/plain", "x"]])
def test_a_tool_is_given_no_media_type_that_cannot_be_sent(kinds):
    with pytest.raises(SettingsError, match=r"^media_types: 'save' needs a media type, not "):
        Settings(media_types={"save": kinds})


FILES = [
    ("3.0 binary", "3.0.3", BINARY, True),
    ("3.1 media type", "3.1.1", {"type": "string", "contentMediaType": "image/png"}, True),
    ("3.1 untyped", "3.1.1", {}, True),
    ("3.1 untyped media type", "3.1.1", {"contentMediaType": "application/octet-stream"}, True),
    ("3.1 binary all the same", "3.1.1", BINARY, True),
    ("3.1 binary encoding", "3.1.1", {"type": "string", "contentEncoding": "binary"}, True),
    ("an array", "3.1.1", {"type": "array", "items": BINARY, "maxItems": 3}, True),
    ("or null", "3.1.1", {"anyOf": [BINARY, {"type": "null"}]}, True),
    ("a component", "3.1.1", component("File"), True),
    ("an array of a component", "3.1.1", {"type": "array", "items": component("File")}, True),
    ("one of a component", "3.1.1", {"anyOf": [component("File")]}, True),
    ("base64 text", "3.1.1",
     {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}, False),
    ("JSON text", "3.1.1",
     {"type": "string", "contentMediaType": "application/json", "maxLength": 99}, False),
    ("untyped in 3.0", "3.0.3", {}, False),
    ("3.0 byte", "3.0.3", {"type": "string", "format": "byte"}, False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("openapi", "schema", "is_file"), [row[1:] for row in FILES], ids=[row[0] for row in FILES]
)
def test_properties_of_a_multipart_body_that_are_bytes_are_file_arguments(openapi, schema, is_file):
    note = {"type": "string", "maxLength": 99}
    whole = {"type": "object", "properties": {"file": schema, "note": note}}

    tool = body(whole, kind=DATA, openapi=openapi, schemas={"File": BINARY})

    properties = tool.input_schema["properties"]
    assert all((f'"{name}": {{' in json.dumps(properties["file"])) == is_file for name in FILE)
    assert properties["file"].get("maxItems") == schema.get("maxItems")
    assert ('"null"' in json.dumps(properties["file"])) == ('"null"' in json.dumps(schema))
    assert properties["note"] == note
    encodings = [(encoding.name, encoding.file) for encoding in tool.operation.body.encodings]
    assert encodings == [("file", True)] * is_file
    assert "$defs" not in tool.input_schema


@pytest.mark.parametrize("beside", [{}, {"description": "A form."}, {"title": "Form"}])
@pytest.mark.parametrize("openapi", ["3.0.3", "3.1.1"])
def test_words_beside_the_reference_to_a_form_change_nothing_in_it(openapi, beside):
    properties = {"file": BINARY, "at": {"type": "object"}}
    form = {"type": "object", "properties": properties, "additionalProperties": False}
    whole = {**component("Form"), **beside}

    tool = body(whole, kind=DATA, schemas={"Form": form}, openapi=openapi)

    assert [p.name for p in tool.operation.body.properties] == ["file", "at"]
    assert tool.operation.body.encodings == (Encoding("file", file=True),)


def test_words_beside_the_reference_to_a_file_change_nothing_but_its_description():
    file = {**component("File"), "description": "A photo."}
    whole = {"type": "object", "properties": {"file": file}}

    tool = body(whole, kind=DATA, schemas={"File": {**BINARY, "description": "Bytes."}})

    assert tool.operation.body.encodings == (Encoding("file", file=True),)
    assert tool.input_schema["properties"]["file"]["description"] == "A photo."


@pytest.mark.parametrize("part_required", [True, False])
def test_headers_of_a_part_are_arguments_required_where_the_part_is(part_required):
    schema = {"type": "object", "properties": {"a": {"type": "object"}, "b": {}}}
    header = {"schema": {"type": "integer"}, "required": True, "description": "Rate."}
    headers = {"X-Rate": header, "Content-Type": {"schema": {}}}
    encoding = {"contentType": "application/vnd.m+json, text/plain", "headers": headers}
    media = {
        "schema": {**schema, "required": ["a"] if part_required else ["b"]},
        "encoding": {"a": encoding},
    }

    tool = post_tool({DATA: media})

    rate = Parameter("X-Rate", "header", "a_X_Rate")
    sent = Encoding("a", content_type="application/vnd.m+json", headers=(rate,))
    assert tool.operation.body.encodings[0] == sent
    assert tool.input_schema["properties"]["a_X_Rate"] == {
        "type": "integer",
        "description": "Rate.",
    }
    assert ("a_X_Rate" in tool.input_schema["required"]) == part_required


def test_any_media_type_with_a_structure_is_sent_as_json():
    tool = body(OBJECT, kind="*/*")

    assert tool.operation.body.media_type == "application/json"
    assert list(tool.input_schema["properties"]) == ["a"]


def test_item_schemas_become_an_array_of_items():
    items = {"type": "integer"}
    tool = post_tool({"application/jsonl": {"itemSchema": items}}, openapi="3.2.0")

    assert tool.input_schema["properties"]["body"] == {"type": "array", "items": items}


def test_a_parameter_says_that_it_is_deprecated_and_gives_its_example():
    tool = parameters(query("a", deprecated=True, example="x"))

    assert tool.input_schema["properties"]["a"] == {
        "type": "string",
        "deprecated": True,
        "examples": ["x"],
    }


@pytest.mark.parametrize(
    ("openapi", "printed"),
    [("3.0.0", True), ("3.0.3", True), ("3.0.4", False), ("3.1.0", True), ("3.1.1", False),
     ("3.0", False)],
)  # fmt: skip
def test_old_style_tables_are_followed_for_documents_of_that_time(openapi, printed):
    tool = parameters(query("a", style="deepObject", explode=True), query("b"), openapi=openapi)

    assert [parameter.printed for parameter in tool.operation.parameters] == [printed, False]


@pytest.mark.parametrize("variable", ["{id}", "{id*}", "{.id}", "{;id*}"])
def test_rfc_6570_operators_in_a_path_mean_the_parameter(variable):
    listed = [path_parameter("id", "string")]
    toolset = tools({f"/x/{variable}": {"get": operation(parameters=listed)}})

    (tool,) = toolset
    assert tool.operation.path == "/x/{id}"
    assert list(tool.input_schema["properties"]) == ["id"]
    warnings = (f"/paths/~1x~1{variable}/get: {variable} in the path is read as {{id}}.",)
    assert toolset.warnings == (warnings if variable == "{id*}" else ())


def test_parts_distinguished_by_position_have_encodings_by_position():
    items = {"type": "string", "contentMediaType": "image/png"}
    media = {
        "schema": {"prefixItems": [{"type": "object"}, {}], "items": items},
        "prefixEncoding": [{"contentType": "application/ld+json"}],
        "itemEncoding": {"headers": {"X-Page": {"schema": {"type": "integer"}}}},
    }
    tool = post_tool({"multipart/mixed": media}, openapi="3.2.0")

    page = Parameter("X-Page", "header", "items_X_Page")
    assert tool.operation.body.argument == "body"
    assert tool.operation.body.encodings == (
        Encoding("0", content_type="application/ld+json"),
        Encoding("1", file=True),
        Encoding("*", file=True, content_type="image/png", headers=(page,)),
    )
    body_schema = tool.input_schema["properties"]["body"]
    assert body_schema["type"] == "array"
    assert body_schema["prefixItems"][0] == {"type": "object"}
    assert "base64" in body_schema["items"]["properties"]


@pytest.mark.parametrize(("required", "sent"), [(False, False), (True, True)])
def test_a_body_that_can_hold_nothing_is_no_argument(required, sent):
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    tool = body(schema, kind="application/x-www-form-urlencoded", required=required)

    assert tool.input_schema["properties"] == {}
    assert (tool.operation.body is not None) == sent


def test_properties_of_alternatives_have_encodings_and_files_too():
    alternatives = [
        {"type": "object", "properties": {name: BINARY, "a": {"type": "object"}}} for name in "xy"
    ]
    encoding = {"a": {"style": "deepObject"}, "free": {"style": "form"}}

    tool = post_tool({DATA: {"schema": {"oneOf": alternatives}, "encoding": encoding}})

    encodings = {(each.name, each.file, each.style) for each in tool.operation.body.encodings}
    files = {("x", True, ""), ("y", True, "")}
    assert encodings == files | {("a", False, "deepObject"), ("free", False, "form")}
    property_schema = tool.input_schema["properties"]["body"]["anyOf"][0]["properties"]["x"]
    assert "base64" in property_schema["properties"]


UNSENDABLE = [
    *(("header", name) for name in ("X Bad", "X-B\r\nX-Admin: 1", "X-\u00fc")),
    *(("cookie", name) for name in ("bad;n", "c\n", "\u00fc")),
    *(("query", name) for name in ("a\nb", "\ud800")),
]


@pytest.mark.parametrize(("location", "name"), UNSENDABLE)
@pytest.mark.parametrize("referred", [False, True])
def test_parameters_whose_names_cannot_be_sent_are_left_out_with_a_warning(
    location, name, referred
):
    named = {**query(name), "in": location}
    listed = [{"$ref": "#/components/parameters/Odd"} if referred else named, query("a")]
    paths = {"/x": {"get": operation(parameters=listed)}, "/y": {"get": operation()}}
    toolset = tools(paths, components={"parameters": {"Odd": named}})

    assert [tool.name for tool in toolset] == ["get_x", "get_y"]
    assert [parameter.name for parameter in toolset["get_x"].operation.parameters] == ["a"]
    assert list(toolset["get_x"].input_schema["properties"]) == ["a"]
    where = "/components/parameters/Odd" if referred else "/paths/~1x/get/parameters/0"
    (warning,) = toolset.warnings
    message = f"{name!r} cannot be sent as the name of a {location} parameter; it is ignored."
    assert warning == f"{where}/name: {message}"


@pytest.mark.parametrize(
    ("location", "name"), [("header", "a\nb"), ("query", "\x7f"), ("path", "\0")]
)
def test_a_required_parameter_whose_name_no_text_has_costs_its_operation(location, name):
    named = {"name": name, "in": location, "required": True, "schema": {}}
    toolset = tools({"/x": {"get": operation(parameters=[named])}, "/y": {"get": operation()}})

    assert [tool.name for tool in toolset] == ["get_y"]
    message = f"the name of the {location} parameter {name!r} cannot be sent."
    assert toolset.skipped[0].reason == message


def test_names_that_cannot_be_sent_are_reported_first_and_counted_where_they_are_many():
    listed = [query(f"a\n{number}", schema={"title": 5}) for number in range(13)]

    warnings = tools({"/x": {"get": operation(parameters=listed)}}).warnings

    assert len(warnings) == 11
    assert warnings[-1] == "3 more names of parameters cannot be sent; they are ignored."


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("wire", ["\u4ef7\u683c", "$$", "x" * 70, "gr\u00f6\u00dfe"], ids=ascii)
def test_an_argument_with_another_name_says_the_apis_own(wire, flat):
    schema = {"type": "string", "description": "How many."}
    kept = {"name": "filter[a]", "in": "query", "schema": schema}
    paths = with_body({"type": "object", "properties": {wire: schema}})
    paths["/x"]["post"]["parameters"] = [kept]
    if not flat:
        paths["/x"]["post"] = operation(parameters=[kept, {**kept, "name": wire}])
    (tool,) = tools(paths, settings=Settings(base_url="http://api.example.com"))

    properties = tool.input_schema["properties"]

    (name,) = properties.keys() - {"filter_a"}
    assert properties[name]["description"] == f"Sent as `{wire}`. How many."
    assert properties["filter_a"]["description"] == "How many."
    sent = str(tool.preview({name: "5"}).url) + tool.preview({name: "5"}).content.decode()
    assert wire in unquote(sent)


def test_what_an_arguments_own_name_adds_keeps_the_limit_of_descriptions():
    listed = [
        {"name": "\u00fc" * 3_000, "in": "query", "schema": {}},
        {"name": "\u00fc\u202e", "in": "query", "schema": {}, "description": "long " * 99},
    ]
    settings = Settings(description_chars=60)

    first, second = parameters(*listed, settings=settings).input_schema["properties"].values()

    assert len(first["description"]) <= 60
    assert first["description"].startswith("Sent as `\u00fc\u00fc")
    assert second["description"].startswith(r"Sent as '\xfc\u202e'. long long")
    assert len(second["description"]) <= 60


def test_an_xml_body_is_text_whose_elements_are_described():
    tag = {"type": "string", "xml": {"name": "tag"}}
    properties = {
        "id": {"type": "integer", "xml": {"attribute": True}},
        "name": {"type": "string"},
        "tags": {"type": "array", "xml": {"wrapped": True}, "items": tag},
        "parent": component("Pet"),
    }
    pet = {"type": "object", "xml": {"name": "pet", "prefix": "p"}, "properties": properties}
    tool = body(component("Pet"), kind="application/xml", schemas={"Pet": pet})

    description = tool.input_schema["properties"]["body"]["description"]
    assert description.startswith("The body as text (application/xml). Its elements: ")
    assert (
        '<p:pet id="integer"><name>string</name><tags><tag>string</tag></tags><p:pet' in description
    )
    assert len(description) < 1700


@pytest.mark.parametrize(
    "schema",
    [{"anyOf": [component("N"), OBJECT]}, {"type": "object", "properties": {"a": component("M")}}],
    ids=["union", "array"],
)
@pytest.mark.parametrize("kind", [DATA, "application/x-www-form-urlencoded"])
def test_a_form_that_is_a_cycle_is_read(schema, kind):
    array = {"type": "array", "items": component("M")}
    tool = body(component("N"), kind=kind, schemas={"N": schema, "M": array})

    assert tool.input_schema["properties"]
    assert tool.operation.body.media_type == kind
