from __future__ import annotations

import json
from typing import Any

import pytest
from documents import document, operation, tools

from openapi_tools import InvalidDocument, load_tools
from openapi_tools.model import Encoding, Parameter, SecurityScheme, Server, ServerVariable


def swagger(operation_members, **members):
    """The only tool of a Swagger 2.0 document."""
    path = members.pop("path", "/x")
    method = members.pop("method", "post")
    (tool,) = tools({path: {method: operation(**operation_members)}}, openapi="2.0", **members)
    return tool


@pytest.mark.parametrize("version", ["2.0", 2.0, 2])
def test_an_unquoted_swagger_version_is_meant_well(version):
    toolset = load_tools({"swagger": version, "paths": {"/x": {"get": {}}}})

    assert [tool.name for tool in toolset] == ["get_x"]


@pytest.mark.parametrize(
    "version", ["3.0.0", "3.0.4", "3.1.0", "3.1.2", "3.2.0", 3.1, "3.0", "3.1.0-rc1"]
)
def test_every_version_of_openapi_3_is_read(version):
    assert len(load_tools({"openapi": version, "paths": {"/x": {"get": {}}}})) == 1


@pytest.mark.parametrize(
    ("root", "pointer"),
    [
        ({"openapi": "4.0.0"}, "/openapi"),
        ({"openapi": "3.3.0"}, "/openapi"),
        ({"openapi": ["3.0.0"]}, "/openapi"),
        ({"openapi": None}, "/openapi"),
        ({"swagger": "1.2"}, "/swagger"),
        ({"swagger": {}}, "/swagger"),
        ({"info": {}}, ""),
        ({"openapi": "3.0.0", "paths": []}, "/paths"),
        ({"openapi": "3.0.0", "paths": "x"}, "/paths"),
    ],
)
def test_an_unknown_version_is_refused_with_what_is_supported(root, pointer):
    with pytest.raises(InvalidDocument) as caught:
        load_tools(root)

    assert caught.value.pointer == pointer
    if pointer != "/paths":
        assert "Swagger 2.0 and OpenAPI 3.0, 3.1 and 3.2" in str(caught.value)


def test_methods_are_those_of_the_version_in_lower_case():
    item = {method: operation() for method in ("get", "trace", "query", "GET", "connect", "fetch")}
    item |= {"additionalOperations": {"COPY": operation(), "Link": operation()}, "summary": "s"}

    found = {
        version: sorted({tool.method for tool in tools({"/x": item}, openapi=version)})
        for version in ("2.0", "3.1.1", "3.2.0")
    }

    assert found == {
        "2.0": ["GET", "TRACE"],
        "3.1.1": ["GET", "TRACE"],
        "3.2.0": ["COPY", "GET", "Link", "QUERY", "TRACE"],
    }


COLLECTIONS = [
    ("csv", Parameter("a", "query", explode=False)),
    ("ssv", Parameter("a", "query", style="spaceDelimited")),
    ("tsv", Parameter("a", "query", style="tabDelimited")),
    ("pipes", Parameter("a", "query", style="pipeDelimited")),
    ("multi", Parameter("a", "query")),
]


@pytest.mark.parametrize(
    ("collection", "expected"), COLLECTIONS, ids=[row[0] for row in COLLECTIONS]
)
def test_collection_format_becomes_style_and_explode(collection, expected):
    tool = swagger(
        {
            "parameters": [
                {
                    "name": "a",
                    "in": "query",
                    "type": "array",
                    "items": {"type": "string"},
                    "collectionFormat": collection,
                }
            ]
        }
    )

    assert tool.operation.parameters == (expected,)
    assert tool.input_schema["properties"]["a"] == {"type": "array", "items": {"type": "string"}}


def test_arrays_inside_arrays_keep_their_own_delimiters():
    inner = {"type": "array", "collectionFormat": "pipes", "items": {"type": "string"}}
    tool = swagger({"parameters": [{"name": "a", "in": "query", "type": "array", "items": inner}]})

    assert tool.operation.parameters[0].inner == ("|",)


@pytest.mark.parametrize("location", ["query", "formData"])
@pytest.mark.parametrize("collection", [[], {}, 1, None])
def test_a_collection_format_that_is_no_text_counts_as_csv(location, collection):
    inner = {"type": "array", "collectionFormat": collection, "items": {"type": "string"}}
    listed = {"name": "a", "in": location, "collectionFormat": collection}
    tool = swagger({"parameters": [{**listed, "type": "array", "items": inner}]})

    operation = tool.operation
    written = operation.parameters or operation.body.encodings
    assert (written[0].style, written[0].explode, written[0].inner) == ("form", False, (",",))
    assert list(tool.input_schema["properties"]) == ["a"]


def test_a_body_parameter_becomes_the_body():
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}
    tool = swagger(
        {"parameters": [{"name": "pet", "in": "body", "required": True, "schema": schema}]},
        consumes=["application/xml", "application/json"],
    )

    assert tool.operation.body.media_type == "application/json"
    assert tool.operation.body.required is True
    assert list(tool.input_schema["properties"]) == ["a"]


def test_in_swagger_a_request_body_says_nothing():
    stray = {"content": {"application/json": {"schema": {"properties": {"stray": {}}}}}}
    listed = [{"name": "b", "in": "body", "schema": {"properties": {"mine": {}}}}]

    tool = swagger({"parameters": listed, "requestBody": stray})

    assert "stray" not in json.dumps(tool.input_schema)
    assert "mine" in json.dumps(tool.input_schema)


def test_form_data_becomes_a_form_and_with_a_file_a_multipart_body():
    fields = [
        {"name": "a", "in": "formData", "type": "string", "required": True},
        {"name": "b", "in": "formData", "type": "array", "items": {"type": "string"}},
        {
            "name": "c",
            "in": "formData",
            "type": "array",
            "items": {"type": "string"},
            "collectionFormat": "multi",
        },
    ]
    file = {"name": "f", "in": "formData", "type": "file", "description": "A file."}

    form = swagger({"parameters": fields})
    multipart = swagger({"parameters": [*fields, file]})

    assert form.operation.body.media_type == "application/x-www-form-urlencoded"
    assert form.operation.body.encodings == (Encoding("b", style="form", explode=False),)
    assert form.input_schema["required"] == ["a"]
    assert multipart.operation.body.media_type == "multipart/form-data"
    assert multipart.operation.body.encodings == (
        Encoding("b", style="form", explode=False),
        Encoding("f", file=True),
    )


SERVERS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("all", {"host": "api.example.com", "basePath": "/v1/", "schemes": ["http", "https"]},
     ["https://api.example.com/v1", "http://api.example.com/v1"]),
    ("no base path", {"host": "api.example.com", "schemes": ["http"]}, ["http://api.example.com"]),
    ("no schemes", {"host": "api.example.com", "basePath": "v1"}, ["https://api.example.com/v1"]),
    ("websocket only", {"host": "a.example", "schemes": ["wss"]}, ["wss://a.example"]),
    ("one scheme", {"host": "a.example", "schemes": "https"}, ["https://a.example"]),
    ("no list of schemes", {"host": "a.example", "schemes": True}, ["https://a.example"]),
    ("no host", {"basePath": "/v1"}, ["/v1"]),
    ("nothing", {}, ["/"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("members", "urls"), [row[1:] for row in SERVERS], ids=[row[0] for row in SERVERS]
)
def test_host_base_path_and_schemes_become_servers(members, urls):
    tool = swagger({}, **members)

    assert [server.url for server in tool.operation.servers] == urls


def test_servers_stand_at_three_levels_and_the_nearest_counts():
    root = [
        {"url": "https://root.example/{v}", "variables": {"v": {"default": 2, "enum": ["1", 2]}}}
    ]
    paths = {
        "/a": {
            "get": operation(),
            "servers": [],
            "post": operation(servers=[{"url": "https://op.example"}]),
        },
        "/b": {"get": operation(), "servers": [{"url": "https://path.example"}]},
    }
    toolset = tools(paths, servers=root)

    assert toolset["get_a"].operation.servers == (
        Server("https://root.example/{v}", {"v": ServerVariable("2", ("1", "2"))}),
    )
    assert toolset["post_a"].operation.servers == (Server("https://op.example"),)
    assert toolset["get_b"].operation.servers == (Server("https://path.example"),)


def test_security_schemes_of_every_version_are_kept_as_data():
    definitions = {
        "basic": {"type": "basic"},
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "oauth": {
            "type": "oauth2",
            "flow": "accessCode",
            "authorizationUrl": "https://a.example",
            "tokenUrl": "https://t.example",
            "scopes": {"read": "r"},
        },
        "broken": 3,
    }
    toolset = load_tools(
        document(
            {
                "/x": {"get": operation(security=[{"basic": []}, {"oauth": ["read"]}])},
                "/y": {"get": operation()},
                "/z": {"get": operation(security=[])},
            },
            openapi="2.0",
            securityDefinitions=definitions,
            security=[{"key": []}],
        )
    )

    assert toolset.security_schemes == {
        "basic": SecurityScheme("http", scheme="basic"),
        "key": SecurityScheme("apiKey", name="X-Key", location="header"),
        "oauth": SecurityScheme(
            "oauth2",
            flows={
                "authorizationCode": {
                    "authorizationUrl": "https://a.example",
                    "tokenUrl": "https://t.example",
                    "scopes": {"read": "r"},
                }
            },
        ),
    }
    assert toolset["get_x"].operation.security == ({"basic": ()}, {"oauth": ("read",)})
    assert toolset["get_y"].operation.security == ({"key": ()},)
    assert toolset["get_z"].operation.security == ()


def test_webhooks_callbacks_and_links_are_counted_and_no_tools():
    paths = {
        "/x": {
            "post": {
                "callbacks": {"done": {"{$url}": {"post": operation()}}},
                "responses": {
                    "201": {"links": {"self": {"operationId": "y"}}},
                    "default": {"links": {"a": {}, "b": {}}},
                },
            }
        }
    }
    toolset = tools(paths, webhooks={"new": {"post": operation()}})

    assert len(toolset) == 1
    assert toolset.counts == {
        "operations": 1,
        "skipped": 0,
        "webhooks": 1,
        "callbacks": 1,
        "links": 3,
    }


def test_a_document_without_paths_gives_no_tools_and_says_so():
    toolset = load_tools({"openapi": "3.1.0", "webhooks": {"x": {"post": {}}}})

    assert len(toolset) == 0
    assert any("no paths" in warning for warning in toolset.warnings)


def test_the_answers_media_types_are_accepted_json_first():
    answers = {
        "200": {"content": {"text/csv": {}, "application/json": {}}},
        "404": {"content": {"text/html": {}}},
    }
    (tool,) = tools({"/x": {"get": {"responses": answers}}})
    old = swagger({"produces": ["text/csv", "application/hal+json"]}, method="get")

    assert tool.operation.accept == ("application/json", "text/csv")
    assert old.operation.accept == ("application/hal+json", "text/csv")
