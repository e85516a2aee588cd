from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from documents import document, operation, tools

from openapi_tools import Settings, UnresolvableReference, load_tools


def asking(schema):
    """Return an operation with a query parameter."""
    return {"get": operation(parameters=[{"name": "q", "in": "query", "schema": schema}])}


def referring(ref, **fields):
    """Return a document with an operation whose parameter's schema is a reference, and another."""
    return document({"/bad": asking({"$ref": ref}), "/good": {"get": operation()}}, **fields)


def write(folder, name, value):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


NOWHERE = [
    *("#/components/schemas/Missing", "#/paths/~1bad/get/parameters/7", "#nope", "#/", ""),
    *(3, [], {}, None),
    *("#/components/schemas/Loop", "#/components/schemas/Ping", "#/openapi/x"),
]
COMPONENTS = {
    "schemas": {
        "Loop": {"$ref": "#/components/schemas/Loop"},
        "Ping": {"$ref": "#/components/schemas/Pong", "description": "d"},
        "Pong": {"$ref": "#/components/schemas/Ping"},
    }
}


@pytest.mark.parametrize("ref", NOWHERE, ids=repr)
def test_a_reference_that_leads_nowhere_skips_its_operation_only(ref):
    toolset = load_tools(referring(ref, components=COMPONENTS))

    assert [tool.name for tool in toolset] == ["get_good"]
    (skipped,) = toolset.skipped
    assert skipped.pointer.startswith("/paths/~1bad/get")
    assert "$ref" in skipped.reason
    assert (skipped.method, skipped.path) == ("GET", "/bad")


def test_strict_loading_raises_instead_with_pointer_and_reason():
    with pytest.raises(UnresolvableReference, match="Missing") as caught:
        load_tools(referring("#/components/schemas/Missing"), strict=True)

    assert caught.value.pointer.startswith("/paths/~1bad/get")


@pytest.mark.parametrize("keyword", ["items", "not", "if", "additionalProperties"])
def test_a_broken_reference_deep_inside_components_is_found_for_each_operation(keyword):
    schemas = {
        "A": {"type": "object", "properties": {"b": {"$ref": "#/components/schemas/B"}}},
        "B": {"allOf": [{keyword: {"anyOf": [{"$ref": "#/components/schemas/Gone"}]}}]},
    }
    paths = {f"/{name}": asking({"$ref": "#/components/schemas/A"}) for name in "abc"}
    paths["/ok"] = asking({"type": "string"})

    toolset = tools(paths, components={"schemas": schemas})

    assert [tool.path for tool in toolset] == ["/ok"]
    assert [skipped.path for skipped in toolset.skipped] == ["/a", "/b", "/c"]


def test_a_broken_reference_of_a_response_or_an_example_spoils_nothing():
    gone = {"$ref": "#/components/nowhere"}
    responses = {"200": gone, "default": {"content": {"application/json": {"schema": gone}}}}
    media = {"schema": {"type": "object", "example": gone}, "examples": {"a": gone}}
    body = {"content": {"application/json": media}}

    (tool,) = tools({"/x": {"post": {"responses": responses, "requestBody": body}}})

    assert tool.operation.accept == ()


@pytest.mark.parametrize("length", [60, 70])
def test_chains_of_references_end(length):
    schemas: dict[str, Any] = {
        f"S{i}": {"$ref": f"#/components/schemas/S{i + 1}"} for i in range(length)
    }
    schemas[f"S{length}"] = {"type": "integer"}

    toolset = load_tools(referring("#/components/schemas/S0", components={"schemas": schemas}))

    assert len(toolset) == (2 if length == 60 else 1)


def test_path_items_parameters_and_bodies_may_be_references():
    post = operation(
        parameters=[{"$ref": "#/components/parameters/Q"}],
        requestBody={"$ref": "#/components/requestBodies/B"},
    )
    components = {
        "pathItems": {"P": {"post": post}},
        "parameters": {
            "Q": {"$ref": "#/components/parameters/R"},
            "R": {"name": "q", "in": "query", "schema": {"type": "integer"}},
        },
        "requestBodies": {"B": {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    }

    (tool,) = tools({"/x": {"$ref": "#/components/pathItems/P"}}, components=components)

    assert tool.input_schema["properties"] == {"q": {"type": "integer"}, "body": {"type": "string"}}


def test_a_path_item_that_leads_nowhere_is_skipped_whole():
    toolset = tools({"/x": {"$ref": "#/nowhere"}, "/y": {"get": operation()}, "/z": 3})

    assert [tool.path for tool in toolset] == ["/y"]
    assert [(each.path, each.method) for each in toolset.skipped] == [("/x", ""), ("/z", "")]


def test_anchors_ids_and_self_are_resolved_inside_the_document():
    identifier = "https://example.com/b"
    schemas = {
        "A": {"$anchor": "here", "type": "integer"},
        "B": {"$id": identifier, "type": "string", "$defs": {"c": {"type": "boolean"}}},
    }
    url = "https://example.com/self.yaml"
    refs = {
        "#here": "integer",
        identifier: "string",
        f"{identifier}#/$defs/c": "boolean",
        f"{url}#/components/schemas/A": "integer",
        "self.yaml#here": "integer",
    }
    paths = {f"/{i}": asking({"$ref": ref}) for i, ref in enumerate(refs)}

    toolset = tools(paths, openapi="3.2.0", components={"schemas": schemas}, **{"$self": url})

    assert toolset.skipped == ()
    types = [next(iter(tool.input_schema["$defs"].values()))["type"] for tool in toolset]
    assert types == list(refs.values())


def test_other_files_are_read_relative_to_the_file_that_names_them(tmp_path):
    main = write(tmp_path, "api.json", referring("schemas/pet.json#/Pet"))
    properties = {"o": {"$ref": "owner.json"}, "up": {"$ref": "../api.json#/info"}}
    write(tmp_path, "schemas/pet.json", {"Pet": {"properties": properties}})
    write(tmp_path, "schemas/owner.json", {"type": "object", "title": "Owner"})

    toolset = load_tools(main)

    assert toolset.skipped == ()
    definitions = toolset["get_bad"].input_schema["$defs"].values()
    assert {definition.get("title") for definition in definitions} == {None, "Owner", "t"}


@pytest.mark.parametrize(
    "ref",
    [
        *("../secret.json", "/etc/passwd", "schemas/../../secret.json", "%2e%2e/secret.json"),
        *("file:///etc/passwd", "link.json", "..\\secret.json", "C:\\secret.json"),
        *("\\\\host\\share", "a\0b", "missing.json"),
    ],
)
def test_files_outside_the_documents_folder_are_never_read(ref, tmp_path):
    write(tmp_path, "secret.json", {"title": "CANARY"})
    main = write(tmp_path, "api/api.json", referring(ref))
    (tmp_path / "api" / "link.json").symlink_to(tmp_path / "secret.json")

    toolset = load_tools(main)

    assert [tool.name for tool in toolset] == ["get_good"]
    assert "CANARY" not in repr(toolset.skipped)


def test_a_wider_folder_can_be_named(tmp_path):
    write(tmp_path, "common.json", {"type": "integer"})
    main = write(tmp_path, "api/api.json", referring("../common.json"))

    assert len(load_tools(main)) == 1
    assert len(load_tools(main, settings=Settings(ref_root=tmp_path))) == 2
    assert len(load_tools(referring("common.json"), settings=Settings(ref_root=tmp_path))) == 2


@pytest.mark.parametrize(
    "ref",
    [
        *("http://127.0.0.1:1/x.json", "https://example.com/x.json#/a", "//127.0.0.1/x"),
        *("ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "data:application/json,{}"),
        *("jar:file:///x!/y", "http://user:pw@127.0.0.1:1/", "http://2130706433:1/"),
        *("http://[::1]:1/x", "schemas.json"),
    ],
)
def test_urls_and_files_are_not_read_for_a_document_given_as_a_value(ref, monkeypatch):
    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    toolset = load_tools(referring(ref))

    assert [tool.name for tool in toolset] == ["get_good"]


def test_a_file_that_is_no_document_skips_its_operation(tmp_path):
    main = write(tmp_path, "api.json", referring("other.json"))
    (tmp_path / "other.json").write_text("<html></html>", encoding="utf-8")

    (skipped,) = load_tools(main).skipped

    assert "other.json" in skipped.reason


SHARED_LIST = """
openapi: 3.0.3
info: {title: t, version: "1"}
components: {schemas: {SCHEMAS}}
paths:
  /other:
    $ref: other.json#/paths/~1z
    parameters: &q [{name: q, in: query, schema: {$ref: "#/components/schemas/A"}}]
    get: {responses: {}}
  /alias: {get: {parameters: *q, responses: {}}}
  /written:
    parameters: [{name: q, in: query, schema: {$ref: "#/components/schemas/A"}}]
    get: {responses: {}}
"""
"""One list, by an alias, in two files; in each it refers to that file's own schema."""


@pytest.mark.parametrize(
    ("schemas", "kinds"),
    [
        ("A: {type: string}", {"/other": "integer", "/alias": "string", "/written": "string"}),
        ("B: {type: string}", {"/other": "integer"}),
    ],
)
def test_an_aliased_list_refers_to_the_file_that_it_is_used_in(schemas, kinds, tmp_path):
    parts = {"components": {"schemas": {"A": {"type": "integer"}}}, "paths": {"/z": {}}}
    write(tmp_path, "other.json", parts)
    (tmp_path / "api.yaml").write_text(SHARED_LIST.replace("SCHEMAS", schemas))

    toolset = load_tools(tmp_path / "api.yaml")

    definitions = {tool.path: [*tool.input_schema["$defs"].values()] for tool in toolset}
    assert definitions == {path: [{"type": kind}] for path, kind in kinds.items()}
    assert len(toolset.skipped) == 3 - len(kinds)


def test_a_component_of_a_response_that_refers_elsewhere_does_no_harm():
    part = {"properties": {"link": {"$ref": "https://other.example/parts.json#/Link"}}}
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Part"}}}
    response = {"description": "A part.", "content": content}
    read = {"get": operation(responses={"200": response})}
    toolset = load_tools(document({"/part": read}, components={"schemas": {"Part": part}}))

    (tool,) = toolset
    assert tool.answer_schema is None
    assert [hit.tool for hit in toolset.search("part")] == [tool]
