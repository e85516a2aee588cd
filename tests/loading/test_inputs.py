from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest
from documents import operation, tools, with_body

from openapi_tools import Settings, SettingsError
from openapi_tools.model import Encoding, Parameter, Property


def parameters(*listed, path="/x", **members):
    """The only tool of a document whose operation has these parameters."""
    (tool,) = tools({path: {"get": operation(parameters=list(listed))}}, **members)
    return tool


def query(name, **members):
    return {"name": name, "in": "query", "schema": {"type": "string"}, **members}


def body(
    schema,
    *,
    settings=None,
    kind="application/json",
    components=None,
    openapi="3.1.1",
    **members,
):
    """The only tool of a document whose operation has this body."""
    more = {"components": components} if components else {}
    (tool,) = tools(
        with_body(schema, kind=kind, **members), settings=settings, openapi=openapi, **more
    )
    return tool


def posted(content, *, settings=None, **members):
    """The only tool of a document whose operation has a required body of these media types."""
    paths = {"/x": {"post": operation(requestBody={"content": content, "required": True})}}
    (tool,) = tools(paths, settings=settings, **members)
    return tool


def path_parameter(name, kind="integer"):
    return {"name": name, "in": "path", "required": True, "schema": {"type": kind}}


def test_the_input_schema_is_a_closed_object_that_lists_what_is_required():
    tool = parameters(query("a", required=True), query("b", description="Bee."))

    assert tool.input_schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string", "description": "Bee."}},
        "required": ["a"],
        "additionalProperties": False,
    }


def test_an_operation_without_parameters_takes_an_empty_object():
    assert parameters().input_schema == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_parameters_of_the_path_are_overridden_by_those_of_the_operation():
    item = {
        "parameters": [query("a", description="path"), query("b", description="path")],
        "get": operation(parameters=[query("a", description="own"), query("c")]),
    }
    (tool,) = tools({"/x": item})

    told = {
        name: schema.get("description") for name, schema in tool.input_schema["properties"].items()
    }
    assert told == {"a": "own", "b": "path", "c": None}


def test_what_is_changed_in_one_schema_is_not_changed_in_that_of_another_tool():
    listed = [query("a", required=True), query("b")]
    paths = {path: {"get": operation(parameters=listed)} for path in ("/x", "/y")}
    first, second = tools(paths)

    first.input_schema["title"] = "Changed"
    del first.input_schema["properties"]["a"]
    first.input_schema["required"].append("b")

    assert second.input_schema["properties"].keys() == {"a", "b"}
    assert second.input_schema["required"] == ["a"]
    assert "title" not in second.input_schema


@pytest.mark.parametrize("value", [True, 1, 1.0, "1", [1], {"a": 1}], ids=repr)
def test_parameters_of_one_name_are_one_only_when_they_say_the_same_to_the_letter(
    value,
):
    values = [1, True, value]
    listed = [query("a", schema={"default": each}) for each in values]
    toolset = tools({f"/{n}": {"get": operation(parameters=[a])} for n, a in enumerate(listed)})

    told = [tool.input_schema["properties"]["a"]["default"] for tool in toolset]

    assert repr(told) == repr(values)


def test_a_path_that_names_other_variables_than_the_same_list_elsewhere_has_its_own():
    listed = [path_parameter("a")]
    paths = {
        path: {"get": operation(parameters=listed)} for path in ("/{a}", "/{b}", "/x", "/{b}/{a}")
    }

    told = [tool.input_schema["properties"] for tool in tools(paths)]

    number, text = {"type": "integer"}, {"type": "string"}
    assert told == [{"a": number}, {"b": text}, {}, {"b": text, "a": number}]


@pytest.mark.parametrize(
    "name",
    [
        *("Accept", "content-type", "AUTHORIZATION", "Host", "Cookie", "Content-Length"),
        *("Transfer-Encoding", "Connection", "TE", "Upgrade", "Proxy-Authorization"),
    ],
)
def test_headers_that_are_not_the_models_to_set_are_no_arguments(name):
    tool = parameters(
        {"name": name, "in": "header", "required": True, "schema": {"type": "string"}}
    )

    assert tool.input_schema["properties"] == {}
    assert tool.operation.parameters == ()


@pytest.mark.parametrize(
    ("location", "name"), [("query", "api_key"), ("header", "x-key"), ("cookie", "sid")]
)
def test_the_place_of_a_credential_is_no_argument(location, name):
    declared = {
        "type": "apiKey",
        "in": location,
        "name": name.upper() if location == "header" else name,
    }
    tool = parameters(
        {"name": name, "in": location, "required": True, "schema": {"type": "string"}},
        components={"securitySchemes": {"key": declared}},
    )

    assert tool.input_schema["properties"] == {}


def test_a_path_variable_that_is_not_declared_is_taken_as_text_and_remarked():
    listed = [path_parameter("x"), path_parameter("gone")]
    toolset = tools({"/pets/{petId}/{x}": {"get": operation(parameters=listed)}})

    (tool,) = toolset
    assert tool.input_schema["properties"] == {
        "petId": {"type": "string"},
        "x": {"type": "integer"},
    }
    assert tool.input_schema["required"] == ["petId", "x"]
    assert any("{petId}" in warning for warning in toolset.warnings)
    assert any("{gone}" in warning for warning in toolset.warnings)


def test_a_members_body_becomes_arguments_next_to_the_parameters():
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


RECURSIVE = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/N"}}}
NESTED: list[tuple[str, Any, dict[str, Any]]] = [
    ("recursive", {"$ref": "#/components/schemas/N"},
     {"components": {"schemas": {"N": RECURSIVE}}}),
    ("array", {"type": "array", "items": {"type": "string"}}, {}),
    ("nested on request", {"type": "object", "properties": {"a": {"type": "string"}}},
     {"settings": Settings(body="nested")}),
    ("scalar", {"type": "string"}, {}),
    ("union", {"oneOf": [{"type": "object"}, {"type": "array"}]}, {}),
    ("union beside members",
     {"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}]}, {}),
    ("map", {"type": "object", "additionalProperties": {"type": "string"}}, {}),
    ("open", {"type": "object", "properties": {"a": {}}, "additionalProperties": True}, {}),
    ("patterns", {"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {}}}, {}),
    ("any object", {"type": "object"}, {}),
    ("anything", {}, {}),
    ("nullable", {"type": ["object", "null"], "properties": {"a": {}}}, {}),
    ("optional with required members",
     {"type": "object", "properties": {"a": {}}, "required": ["a"]}, {"required": False}),
    ("at least one", {"type": "object", "properties": {"a": {}}, "minProperties": 1}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "members"), [r[1:] for r in NESTED], ids=[r[0] for r in NESTED])
def test_any_other_body_is_one_argument(schema, members):
    tool = body(schema, **members)

    assert list(tool.input_schema["properties"]) == ["body"]
    assert ("body" in tool.input_schema.get("required", ())) == members.get("required", True)
    assert tool.operation.body.argument == "body"


def test_an_optional_body_without_required_members_is_offered_flat():
    tool = body({"type": "object", "properties": {"a": {}}}, required=False)

    assert list(tool.input_schema["properties"]) == ["a"]
    assert tool.operation.body.required is False


def test_a_parameter_called_body_and_a_body_are_told_apart():
    paths = with_body({"type": "string"})
    paths["/x"]["parameters"] = [query("body")]
    (tool,) = tools(paths)

    assert list(tool.input_schema["properties"]) == ["body_query", "body_body"]


def test_a_merged_all_of_body_is_offered_flat():
    schemas = {"A": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}
    tool = body(
        {"allOf": [{"$ref": "#/components/schemas/A"}, {"properties": {"b": {}}}]},
        components={"schemas": schemas},
    )

    assert list(tool.input_schema["properties"]) == ["a", "b"]
    assert "$defs" not in tool.input_schema


MEDIA = [
    ("json first", ["application/xml", "application/json"], "application/json"),
    ("vendor json", ["text/plain", "application/vnd.api+json"], "application/vnd.api+json"),
    ("merge-patch before json-patch",
     ["application/json-patch+json", "application/merge-patch+json"],
     "application/merge-patch+json"),
    ("form before multipart", ["multipart/form-data", "application/x-www-form-urlencoded"],
     "application/x-www-form-urlencoded"),
    ("text before bytes", ["application/octet-stream", "text/plain"], "text/plain"),
    ("the document's order among equals", ["image/png", "image/gif"], "image/png"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("listed", "chosen"), [row[1:] for row in MEDIA], ids=[row[0] for row in MEDIA]
)
def test_of_several_media_types_the_most_useful_is_sent(listed, chosen):
    content = {kind: {"schema": {"type": "object", "properties": {"a": {}}}} for kind in listed}
    tool = posted(content)

    assert tool.operation.body.media_type == chosen
    assert set(tool.operation.body.alternatives) == set(listed) - {chosen}


def test_the_user_chooses_another_media_type():
    content = {kind: {"schema": {"type": "string"}} for kind in ("application/json", "text/csv")}
    tool = posted(content, settings=Settings(media_types=("text/csv",)))

    assert tool.operation.body.media_type == "text/csv"


def offering(*kinds, schema=None, operation_id="save"):
    """Return paths with an operation whose body may have several media types."""
    content = {kind: {"schema": schema or {"type": "string"}} for kind in kinds}
    body = {"content": content, "required": True, "description": "What is saved."}
    return {"/x": {"post": operation(operationId=operation_id, requestBody=body)}}


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (("text/plain", "application/octet-stream"), "What is saved"),
        (("application/x-tar", "text/csv"), "What is saved"),
        (("application/xml", "application/zip"), "Its elements: <a>"),
    ],
)
def test_a_body_that_is_text_or_bytes_is_a_file(kinds, words):
    schema = {"type": "object", "properties": {"a": {}}} if "xml" in kinds[0] else None
    (tool,) = tools(offering(*kinds, schema=schema))
    text = next(kind for kind in kinds if "octet" not in kind and not kind.endswith(("tar", "zip")))

    assert tool.operation.body.media_type == text
    assert tool.operation.body.file
    told = tool.input_schema["properties"]["body"]
    assert {"text", "base64"} <= told["properties"].keys()
    assert words.partition("<")[0] in told["description"]


def test_text_alone_or_of_the_users_choice_is_a_string():
    wanted = Settings(media_types=("text/plain",))
    (alone,) = tools(offering("text/plain", "text/csv"))
    (chosen,) = tools(offering("text/plain", "application/octet-stream"), settings=wanted)

    for tool in (alone, chosen):
        assert tool.input_schema["properties"]["body"]["type"] == "string"
        assert not tool.operation.body.file


@pytest.mark.parametrize(
    ("wanted", "sent", "is_file"),
    [
        ("application/octet-stream", "application/octet-stream", True),
        ("text/plain", "text/plain", False),
        ("application/x-tar", "application/x-tar", True),
        ("application/vnd.x+json", "application/vnd.x+json", False),
    ],
    ids=["listed bytes", "listed text", "bytes that are not listed", "JSON that is not listed"],
)
def test_the_media_type_of_one_operation_is_chosen(wanted, sent, is_file):
    paths = offering("text/plain", "application/octet-stream")
    paths["/y"] = offering("text/csv", "application/json", operation_id="other")["/x"]
    settings = Settings(media_types={"save": wanted})
    toolset = tools(paths, settings=settings)

    assert toolset["save"].operation.body.media_type == sent
    assert toolset["save"].operation.body.file is is_file
    assert set(toolset["save"].operation.body.alternatives) >= {"text/plain"} - {sent}
    assert toolset["other"].operation.body.media_type == "application/json"
    assert toolset.warnings == ()


def test_a_body_of_a_component_is_chosen_for_one_of_its_operations():
    refer = {"schema": {"$ref": "#/components/schemas/Text"}}
    body = {"content": {"text/plain": refer, "application/octet-stream": refer}}
    paths = {
        f"/{name}": {"post": operation(operationId=name, requestBody=body)} for name in ("a", "b")
    }
    components = {"schemas": {"Text": {"type": "string"}}}
    settings = Settings(media_types={"b": "text/plain"})

    one, other = tools(paths, settings=settings, components=components)

    assert one.input_schema["properties"]["body"]["type"] == "object"
    assert other.input_schema["properties"]["body"].get("type", "string") == "string"


def test_the_model_chooses_among_media_types_that_the_user_names():
    schema = {"type": "object", "properties": {"media_type": {"type": "string"}}}
    kinds = ["application/json", "application/octet-stream"]
    (tool,) = tools(offering(*kinds, schema=schema), settings=Settings(media_types={"save": kinds}))

    told = tool.input_schema["properties"]

    assert told["media_type"]["enum"] == kinds
    assert tool.input_schema["required"] == ["body", "media_type"]
    assert len(told["body"]["anyOf"]) == 2
    assert told["body"]["anyOf"][0]["properties"].keys() == {"media_type"}
    assert {"text", "base64"} <= told["body"]["anyOf"][1]["properties"].keys()


def test_media_types_for_tools_that_do_not_exist_are_told():
    settings = Settings(media_types={"sav": "text/plain", "nothing_like_it": "text/plain"})

    first, second = tools(offering("text/plain"), settings=settings).warnings

    assert first == "media_types: no tool is called 'sav'; close names: save."
    assert second == "media_types: no tool is called 'nothing_like_it' among 1 tools."


@pytest.mark.parametrize("kinds", ["text", "*/*", "text/*", "", [], ["text/plain", "x"]])
def test_a_tool_is_given_no_media_type_that_cannot_be_sent(kinds):
    with pytest.raises(SettingsError, match=r"^media_types: 'save' needs a media type, not "):
        Settings(media_types={"save": kinds})


BASE64 = {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}
FILES = [
    ("3.0 binary", "3.0.3", {"type": "string", "format": "binary"}, True),
    ("3.1 media type", "3.1.1", {"type": "string", "contentMediaType": "image/png"}, True),
    ("3.1 untyped", "3.1.1", {}, True),
    ("3.1 untyped media type", "3.1.1", {"contentMediaType": "application/octet-stream"}, True),
    ("3.1 binary all the same", "3.1.1", {"type": "string", "format": "binary"}, True),
    ("3.1 binary encoding", "3.1.1", {"type": "string", "contentEncoding": "binary"}, True),
    ("base64 text", "3.1.1", BASE64, False),
    ("JSON text", "3.1.1", {"type": "string", "contentMediaType": "application/json"}, False),
    ("untyped in 3.0", "3.0.3", {}, False),
    ("3.0 byte", "3.0.3", {"type": "string", "format": "byte"}, False),
]


@pytest.mark.parametrize(
    ("openapi", "schema", "is_file"), [row[1:] for row in FILES], ids=[row[0] for row in FILES]
)
def test_members_of_a_multipart_body_that_are_bytes_are_file_arguments(openapi, schema, is_file):
    whole = {"type": "object", "properties": {"file": schema, "note": {"type": "string"}}}
    tool = body(whole, kind="multipart/form-data", openapi=openapi)

    members = tool.input_schema["properties"]["file"].get("properties", {}).keys()
    assert ({"base64", "text", "filename", "content_type"} <= members) == is_file
    assert tool.input_schema["properties"]["note"] == {"type": "string"}
    encodings = [(encoding.name, encoding.file) for encoding in tool.operation.body.encodings]
    assert encodings == [("file", True)] * is_file


@pytest.mark.parametrize("beside", [{}, {"description": "A form."}, {"title": "Form"}])
@pytest.mark.parametrize("openapi", ["3.0.3", "3.1.1"])
def test_words_beside_the_reference_to_a_form_change_nothing_in_it(openapi, beside):
    binary = {"type": "string", "format": "binary"}
    members = {"file": binary, "at": {"type": "object"}}
    form = {"type": "object", "properties": members, "additionalProperties": False}
    tool = body(
        {"$ref": "#/components/schemas/Form", **beside},
        kind="multipart/form-data",
        components={"schemas": {"Form": form}},
        openapi=openapi,
    )

    assert [p.name for p in tool.operation.body.properties] == ["file", "at"]
    assert tool.operation.body.encodings == (Encoding("file", file=True),)


def test_words_beside_the_reference_to_a_file_change_nothing_but_its_description():
    binary = {"type": "string", "format": "binary", "description": "Bytes."}
    file = {"$ref": "#/components/schemas/File", "description": "A photo."}
    tool = body(
        {"type": "object", "properties": {"file": file}},
        kind="multipart/form-data",
        components={"schemas": {"File": binary}},
    )

    assert tool.operation.body.encodings == (Encoding("file", file=True),)
    assert tool.input_schema["properties"]["file"]["description"] == "A photo."


def test_a_reference_with_further_members_beside_it_is_offered_with_all_of_them():
    tool = body(
        {
            "$ref": "#/components/schemas/Base",
            "properties": {"b": {"type": "integer"}},
            "required": ["b"],
        },
        components={"schemas": {"Base": {"type": "object", "properties": {"a": {}}}}},
        required=True,
    )

    assert set(tool.input_schema["properties"]) == {"a", "b"}
    assert tool.input_schema["required"] == ["b"]


def test_arrays_and_optional_files_are_recognised():
    binary = {"type": "string", "format": "binary"}
    whole = {
        "type": "object",
        "properties": {
            "many": {"type": "array", "items": binary, "maxItems": 3},
            "maybe": {"anyOf": [binary, {"type": "null"}]},
        },
    }
    tool = body(whole, kind="multipart/form-data")

    told = tool.input_schema["properties"]
    assert told["many"]["maxItems"] == 3
    assert "base64" in told["many"]["items"]["properties"]
    assert told["maybe"]["anyOf"][1] == {"type": "null"}
    assert [encoding.file for encoding in tool.operation.body.encodings] == [True, True]


def test_encodings_are_kept_with_the_headers_of_their_parts():
    whole = {"type": "object", "properties": {"meta": {"type": "object"}, "csv": {"type": "array"}}}
    encoding = {
        "meta": {
            "contentType": "application/vnd.m+json, text/plain",
            "headers": {"X-Rate": {"schema": {"type": "integer"}}, "Content-Type": {"schema": {}}},
        },
        "csv": {"explode": False},
    }
    content = {"multipart/form-data": {"schema": whole, "encoding": encoding}}
    tool = posted(content)

    assert tool.operation.body.encodings == (
        Encoding(
            "meta",
            content_type="application/vnd.m+json",
            headers=(Parameter("X-Rate", "header", "meta_X_Rate"),),
        ),
        Encoding("csv", style="form", explode=False),
    )
    assert tool.input_schema["properties"]["meta_X_Rate"] == {"type": "integer"}


def test_style_in_a_multipart_encoding_is_ignored_in_3_0():
    whole = {"type": "object", "properties": {"csv": {"type": "array", "items": {}}}}
    content = {"multipart/form-data": {"schema": whole, "encoding": {"csv": {"explode": False}}}}
    tool = posted(content, openapi="3.0.3")

    assert tool.operation.body.encodings == ()


@pytest.mark.parametrize(
    "kind", ["application/octet-stream", "image/png", "application/zip", "image/*"]
)
def test_a_binary_body_is_one_file_argument(kind):
    tool = body({"type": "string", "format": "binary"}, kind=kind)

    assert tool.operation.body.file is True
    assert "base64" in tool.input_schema["properties"]["body"]["properties"]


def test_any_media_type_with_a_structure_is_sent_as_json():
    tool = body({"type": "object", "properties": {"a": {}}}, kind="*/*")

    assert tool.operation.body.media_type == "application/json"
    assert list(tool.input_schema["properties"]) == ["a"]


def test_item_schemas_become_an_array_of_items():
    content = {"application/jsonl": {"itemSchema": {"type": "integer"}}}
    tool = posted(content, openapi="3.2.0")

    assert tool.input_schema["properties"]["body"] == {
        "type": "array",
        "items": {"type": "integer"},
    }


def test_a_parameter_with_content_is_written_as_its_media_type():
    tool = parameters(
        {
            "name": "f",
            "in": "query",
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
    )

    assert tool.operation.parameters == (Parameter("f", "query", media_type="application/json"),)
    assert tool.input_schema["properties"]["f"] == {"type": "object"}


def test_a_parameter_says_that_it_is_deprecated_and_gives_its_example():
    tool = parameters(query("a", deprecated=True, example="x"))

    assert tool.input_schema["properties"]["a"] == {
        "type": "string",
        "deprecated": True,
        "examples": ["x"],
    }


@pytest.mark.parametrize(
    ("openapi", "printed"),
    [
        ("3.0.0", True),
        ("3.0.3", True),
        ("3.0.4", False),
        ("3.1.0", True),
        ("3.1.1", False),
        ("3.0", False),
    ],
)
def test_old_style_tables_are_followed_for_documents_of_that_time(openapi, printed):
    tool = parameters(query("a", style="deepObject", explode=True), query("b"), openapi=openapi)

    assert [parameter.printed for parameter in tool.operation.parameters] == [printed, False]


def test_all_835_inputs_of_one_operation_are_offered():
    tool = parameters(*(query(f"p[{i}]") for i in range(835)))

    assert len(tool.input_schema["properties"]) == 835
    assert tool.operation.parameters[834] == Parameter("p[834]", "query", "p_834")


@pytest.mark.parametrize("variable", ["{id}", "{id*}", "{.id}", "{;id*}"])
def test_rfc_6570_operators_in_a_path_mean_the_parameter(variable):
    listed = [path_parameter("id", "string")]
    toolset = tools({f"/x/{variable}": {"get": operation(parameters=listed)}})

    (tool,) = toolset
    assert tool.operation.path == "/x/{id}"
    assert list(tool.input_schema["properties"]) == ["id"]
    assert toolset.warnings == ()


def test_parts_told_apart_by_position_have_encodings_by_position():
    media = {
        "schema": {
            "prefixItems": [{"type": "object"}, {}],
            "items": {"type": "string", "contentMediaType": "image/png"},
        },
        "prefixEncoding": [{"contentType": "application/ld+json"}],
        "itemEncoding": {"headers": {"X-Page": {"schema": {"type": "integer"}}}},
    }
    tool = posted({"multipart/mixed": media}, openapi="3.2.0")

    assert tool.operation.body.argument == "body"
    assert tool.operation.body.encodings == (
        Encoding("0", content_type="application/ld+json"),
        Encoding("1", file=True),
        Encoding(
            "*",
            file=True,
            content_type="image/png",
            headers=(Parameter("X-Page", "header", "items_X_Page"),),
        ),
    )
    told = tool.input_schema["properties"]["body"]
    assert told["type"] == "array"
    assert told["prefixItems"][0] == {"type": "object"}
    assert "base64" in told["items"]["properties"]


def test_a_file_that_is_a_component_is_recognised_wherever_it_is_referred_to():
    ref = {"$ref": "#/components/schemas/File"}
    whole = {
        "type": "object",
        "properties": {
            "one": ref,
            "many": {"type": "array", "items": ref},
            "any": {"anyOf": [ref]},
        },
    }
    binary = {"File": {"type": "string", "format": "binary"}}
    tool = body(whole, kind="multipart/form-data", components={"schemas": binary})

    assert [encoding.file for encoding in tool.operation.body.encodings] == [True, True, True]
    assert "$defs" not in tool.input_schema


@pytest.mark.parametrize(("required", "sent"), [(False, False), (True, True)])
def test_a_body_in_which_nothing_can_be_said_is_no_argument(required, sent):
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    tool = body(schema, kind="application/x-www-form-urlencoded", required=required)

    assert tool.input_schema["properties"] == {}
    assert (tool.operation.body is not None) == sent


def test_multipart_is_sent_where_json_would_have_to_hold_bytes():
    schema = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}
    content = {kind: {"schema": schema} for kind in ("application/json", "multipart/form-data")}
    tool = posted(content)

    assert tool.operation.body.media_type == "multipart/form-data"


def test_members_of_alternatives_have_encodings_and_files_too():
    def alternative(name: str) -> dict[str, Any]:
        binary = {"type": "string", "format": "binary"}
        return {"type": "object", "properties": {name: binary, "a": {"type": "object"}}}

    schema = {"oneOf": [alternative("x"), alternative("y")]}
    media = {
        "schema": schema,
        "encoding": {"a": {"style": "deepObject"}, "free": {"style": "form"}},
    }
    content = {"multipart/form-data": media}
    tool = posted(content)

    assert {
        (encoding.name, encoding.file, encoding.style) for encoding in tool.operation.body.encodings
    } == {
        ("x", True, ""),
        ("y", True, ""),
        ("a", False, "deepObject"),
        ("free", False, "form"),
    }
    told = tool.input_schema["properties"]["body"]["anyOf"][0]["properties"]["x"]
    assert "base64" in told["properties"]


UNSENDABLE = [
    ("header", "X Bad"),
    ("header", "X-B\r\nX-Admin: 1"),
    ("header", "X-\u00fc"),
    ("cookie", "bad;n"),
    ("cookie", "c\n"),
    ("cookie", "\u00fc"),
    ("query", "a\nb"),
    ("query", "\ud800"),
]


@pytest.mark.parametrize(("place", "name"), UNSENDABLE)
@pytest.mark.parametrize("referred", [False, True])
def test_parameters_whose_names_cannot_be_sent_are_left_out_with_a_warning(place, name, referred):
    named = {"name": name, "in": place, "schema": {"type": "string"}}
    listed = [{"$ref": "#/components/parameters/Odd"} if referred else named, query("a")]
    paths = {"/x": {"get": operation(parameters=listed)}, "/y": {"get": operation()}}
    toolset = tools(paths, components={"parameters": {"Odd": named}})

    assert [tool.name for tool in toolset] == ["get_x", "get_y"]
    assert [parameter.name for parameter in toolset["get_x"].operation.parameters] == ["a"]
    assert list(toolset["get_x"].input_schema["properties"]) == ["a"]
    where = "/components/parameters/Odd" if referred else "/paths/~1x/get/parameters/0"
    (warning,) = toolset.warnings
    said = f"{name!r} cannot be sent as the name of a {place} parameter; it is left out."
    assert warning == f"{where}/name: {said}"


@pytest.mark.parametrize(("place", "name"), [("header", "a\nb"), ("query", "\x7f"), ("path", "\0")])
def test_a_required_parameter_whose_name_no_text_has_costs_its_operation(place, name):
    named = {"name": name, "in": place, "required": True, "schema": {}}
    toolset = tools(
        {"/x": {"get": operation(parameters=[named])}, "/y": {"get": operation()}},
    )

    assert [tool.name for tool in toolset] == ["get_y"]
    assert toolset.skipped[0].reason == (
        f"the name of the {place} parameter {name!r} cannot be sent."
    )


def test_names_that_cannot_be_sent_are_told_first_and_counted_where_they_are_many():
    listed = [query(f"a\n{number}", schema={"title": 5}) for number in range(13)]

    warnings = tools({"/x": {"get": operation(parameters=listed)}}).warnings

    assert len(warnings) == 11
    assert warnings[-1] == "3 further names of parameters cannot be sent; they are left out."


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize(
    "wire",
    ["\u4ef7\u683c", "$$", "x" * 70, "gr\u00f6\u00dfe"],
    ids=["no letters", "signs", "too long", "letters lost"],
)
def test_an_argument_with_another_name_tells_the_apis_own(wire, flat):
    schema = {"type": "string", "description": "How many."}
    kept = {"name": "filter[a]", "in": "query", "schema": schema}
    paths = with_body(
        {"type": "object", "properties": {wire: schema}, "additionalProperties": False}
    )
    paths["/x"]["post"]["parameters"] = [kept]
    if not flat:
        paths["/x"]["post"] = operation(parameters=[kept, {**kept, "name": wire}])
    (tool,) = tools(paths, settings=Settings(base_url="http://api.example.com"))

    told = tool.input_schema["properties"]

    (name,) = told.keys() - {"filter_a"}
    assert told[name]["description"] == f"Sent as `{wire}`. How many."
    assert told["filter_a"]["description"] == "How many."
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


def test_an_xml_body_is_text_whose_elements_are_told():
    schemas = {
        "Pet": {
            "type": "object",
            "xml": {"name": "pet", "prefix": "p"},
            "properties": {
                "id": {"type": "integer", "xml": {"attribute": True}},
                "name": {"type": "string"},
                "tags": {
                    "type": "array",
                    "xml": {"wrapped": True},
                    "items": {"type": "string", "xml": {"name": "tag"}},
                },
                "parent": {"$ref": "#/components/schemas/Pet"},
            },
        }
    }
    tool = body(
        {"$ref": "#/components/schemas/Pet"},
        kind="application/xml",
        components={"schemas": schemas},
    )

    told = tool.input_schema["properties"]["body"]["description"]
    assert told.startswith("The body as text (application/xml). Its elements: ")
    assert '<p:pet id="integer"><name>string</name><tags><tag>string</tag></tags><p:pet' in told
    assert len(told) < 1700


CIRCLES = [
    {"anyOf": [{"$ref": "#/components/schemas/N"}, {"type": "object", "properties": {"a": {}}}]},
    {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/M"}}},
]


@pytest.mark.parametrize("schema", CIRCLES, ids=["union", "array"])
@pytest.mark.parametrize("kind", ["multipart/form-data", "application/x-www-form-urlencoded"])
def test_a_form_that_goes_in_a_circle_is_read(schema, kind):
    array = {"type": "array", "items": {"$ref": "#/components/schemas/M"}}
    tool = body(
        {"$ref": "#/components/schemas/N"},
        kind=kind,
        components={"schemas": {"N": schema, "M": array}},
    )

    assert tool.input_schema["properties"]
    assert tool.operation.body.media_type == kind


@pytest.mark.parametrize("part_required", [True, False])
def test_a_required_header_is_required_where_its_part_is(part_required):
    schema = {"type": "object", "properties": {"a": {"type": "object"}, "b": {}}}
    schema["required"] = ["a"] if part_required else ["b"]
    header = {"X-Rate": {"schema": {"type": "integer"}, "required": True, "description": "Rate."}}
    media = {"schema": schema, "encoding": {"a": {"headers": header}}}
    content = {"multipart/form-data": media}
    tool = posted(content)

    assert ("a_X_Rate" in tool.input_schema["required"]) == part_required
    assert tool.input_schema["properties"]["a_X_Rate"]["description"] == "Rate."
