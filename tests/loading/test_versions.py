from __future__ import annotations

from typing import Any

import pytest
from documents import document, operation, tools

from openapi_tools import InvalidDocument, load_tools
from openapi_tools.model import SecurityScheme, Server, ServerVariable
from openapi_tools.testing import mock_api


def swagger(operation_fields, *, method="post", **fields):
    """The only tool of a Swagger 2.0 document."""
    (tool,) = tools({"/x": {method: operation(**operation_fields)}}, openapi="2.0", **fields)
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
        *(({"openapi": wrong}, "/openapi") for wrong in ("4.0.0", "3.3.0", ["3.0.0"], None)),
        *(({"swagger": wrong}, "/swagger") for wrong in ("1.2", {})),
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


def test_methods_are_those_of_the_version():
    item = {method: operation() for method in ("get", "trace", "query", "GET", "connect")}
    item |= {"additionalOperations": {"COPY": operation(), "Link": operation()}, "summary": "s"}

    toolsets = {v: tools({"/x": item}, openapi=v) for v in ("2.0", "3.1.1", "3.2.0")}

    assert {v: sorted(tool.method for tool in toolset) for v, toolset in toolsets.items()} == {
        "2.0": ["GET", "TRACE"],
        "3.1.1": ["GET", "TRACE"],
        "3.2.0": ["COPY", "GET", "Link", "QUERY", "TRACE"],
    }
    skipped = {v: [s.pointer for s in toolset.skipped] for v, toolset in toolsets.items()}
    assert skipped["3.2.0"] == ["/paths/~1x/GET", "/paths/~1x/connect"]
    assert skipped["2.0"] == skipped["3.1.1"] == ["/paths/~1x/query", *skipped["3.2.0"]]


@pytest.mark.parametrize("openapi", ["2.0", "3.0.3", "3.1.1", "3.2.0"])
@pytest.mark.parametrize("key", ["GET", "Get", "gET"])
@pytest.mark.parametrize("referenced", [False, True])
def test_a_method_in_another_case_is_read_with_a_warning(openapi, key, referenced):
    item = {key: operation(operationId="a"), "post": operation(operationId="b")}
    paths = {"/x": {"$ref": "#/x-items/x"} if referenced else item}

    toolset = tools(paths, openapi=openapi, **{"x-items": {"x": item}})

    assert [(tool.name, tool.method) for tool in toolset] == [("a", "GET"), ("b", "POST")]
    assert toolset.warnings == (f"/paths/~1x/{key}: {key!r} is read as 'get'.",)
    assert toolset.skipped == ()


def test_of_a_method_in_two_cases_the_standards_own_counts():
    standard, other = operation(operationId="own"), operation(operationId="other")

    first = tools({"/x": {"GET": other, "get": standard}})
    second = tools({"/x": {"Get": standard, "GET": other}})

    assert [tool.name for tool in first] == [tool.name for tool in second] == ["own"]
    (skipped,) = first.skipped
    assert (skipped.pointer, skipped.path) == ("/paths/~1x/GET", "/x")
    assert skipped.reason == "'GET' is ignored, because 'get' is used; remove one of them."
    assert second.skipped[0].reason.startswith("'GET' is ignored, because 'Get' is used")


def test_a_method_that_the_version_does_not_have_is_skipped_with_a_reason():
    toolset = tools({"/x": {"copy": operation(), "get": operation()}}, openapi="3.0.3")

    assert toolset.skipped[0].reason == "'copy' is not a method that 3.0.3 has as a key."
    assert toolset.counts["operations"] == 2


@pytest.mark.parametrize("key", ["x-note", "X_note", "note"])
def test_other_fields_of_a_path_are_no_operations(key):
    value = {"operationId": "z"} if key == "x-note" else {"words": "about it"}

    toolset = tools({"/x": {key: value, "get": operation()}})

    assert (len(toolset), toolset.skipped, toolset.warnings) == (1, (), ())


async def test_the_mock_serves_a_method_in_another_case():
    root = document({"/x": {"GET": operation()}}, servers=[{"url": "https://api.example.com"}])
    mock = mock_api(root)

    async with mock.client() as client, load_tools(root, client=client) as toolset:
        assert (await toolset["get_x"].execute({})).success


@pytest.mark.parametrize("location", ["query", "formData"])
@pytest.mark.parametrize("collection", [[], {}, 1, None])
def test_a_collection_format_that_is_no_text_counts_as_csv(location, collection):
    array = {"type": "array", "collectionFormat": collection}
    inner = {**array, "items": {"type": "string"}}
    tool = swagger({"parameters": [{"name": "a", "in": location, **array, "items": inner}]})

    written = tool.operation.parameters or tool.operation.body.encodings
    assert (written[0].style, written[0].explode, written[0].inner) == ("form", False, (",",))
    assert list(tool.input_schema["properties"]) == ["a"]


def test_in_swagger_a_body_parameter_becomes_the_body_and_a_request_body_says_nothing():
    stray = {"content": {"application/json": {"schema": {"properties": {"stray": {}}}}}}
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}
    listed = [{"name": "pet", "in": "body", "required": True, "schema": schema}]
    tool = swagger(
        {"parameters": listed, "requestBody": stray},
        consumes=["application/xml", "application/json"],
    )

    assert tool.operation.body.media_type == "application/json"
    assert tool.operation.body.required is True
    assert list(tool.input_schema["properties"]) == tool.input_schema["required"] == ["a"]


def test_a_required_field_of_a_form_is_required():
    fields = [{"name": n, "in": "formData", "type": "string", "required": n == "a"} for n in "ab"]

    assert swagger({"parameters": fields}).input_schema["required"] == ["a"]


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
    ("fields", "urls"), [row[1:] for row in SERVERS], ids=[row[0] for row in SERVERS]
)
def test_host_base_path_and_schemes_become_servers(fields, urls):
    tool = swagger({}, **fields)

    assert [server.url for server in tool.operation.servers] == urls


def test_servers_stand_at_three_levels_and_the_nearest_counts():
    variables = {"v": {"default": 2, "enum": ["1", 2]}}
    specific = operation(servers=[{"url": "https://op.example"}])
    paths = {
        "/a": {"get": operation(), "servers": [], "post": specific},
        "/b": {"get": operation(), "servers": [{"url": "https://path.example"}]},
    }
    root = [{"url": "https://root.example/{v}", "variables": variables}]

    servers = {tool.name: tool.operation.servers for tool in tools(paths, servers=root)}

    assert servers == {
        "get_a": (Server("https://root.example/{v}", {"v": ServerVariable("2", ("1", "2"))}),),
        "post_a": (Server("https://op.example"),),
        "get_b": (Server("https://path.example"),),
    }


def test_security_schemes_of_every_version_are_kept_as_data():
    flow = {"tokenUrl": "https://t.example", "scopes": {"read": "r"}}
    flow["authorizationUrl"] = "https://a.example"
    definitions = {
        "basic": {"type": "basic"},
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "oauth": {"type": "oauth2", "flow": "accessCode", **flow},
        "broken": 3,
    }
    paths = {
        "/x": {"get": operation(security=[{"basic": []}, {"oauth": ["read"]}])},
        "/y": {"get": operation()},
        "/z": {"get": operation(security=[])},
    }
    toolset = tools(paths, openapi="2.0", securityDefinitions=definitions, security=[{"key": []}])

    assert toolset.security_schemes == {
        "basic": SecurityScheme("http", scheme="basic"),
        "key": SecurityScheme("apiKey", name="X-Key", location="header"),
        "oauth": SecurityScheme("oauth2", flows={"authorizationCode": flow}),
    }
    assert [tool.operation.security for tool in toolset] == [
        ({"basic": ()}, {"oauth": ("read",)}),
        ({"key": ()},),
        (),
    ]


def test_operations_in_extensions_are_left_out_with_a_warning():
    item = {"get": operation(), "x-amazon-apigateway-any-method": operation()}
    azure = {"/b?comp=list": {"get": operation()}}
    toolset = tools({"/{proxy}": item, "/y": item, "/z": {}}, **{"x-ms-paths": azure})
    assert len(toolset) == 2
    assert set(toolset.warnings) >= {
        "/x-ms-paths: the operations of 1 path are left out; declare them in 'paths'.",
        (
            "/paths/~1{proxy}: 'x-amazon-apigateway-any-method' is left out, as in 1 more; "
            "declare each method."
        ),
    }


def test_webhooks_callbacks_and_links_are_counted_and_no_tools():
    post = {
        "callbacks": {"done": {"{$url}": {"post": operation()}}},
        "responses": {
            "201": {"links": {"self": {"operationId": "y"}}},
            "default": {"links": {"a": {}, "b": {}}},
        },
    }
    toolset = tools({"/x": {"post": post}}, webhooks={"new": {"post": operation()}})

    assert len(toolset) == 1
    counts = {"operations": 1, "skipped": 0, "webhooks": 1, "callbacks": 1, "links": 3}
    assert toolset.counts == counts


def test_a_document_without_paths_gives_no_tools_and_says_so():
    toolset = load_tools({"openapi": "3.1.0", "webhooks": {"x": {"post": {}}}})

    assert len(toolset) == 0
    assert any("no operations" in warning for warning in toolset.warnings)


def test_the_responses_media_types_are_accepted_json_first():
    responses = {
        "200": {"content": {"text/csv": {}, "application/json": {}}},
        "404": {"content": {"text/html": {}}},
    }
    (tool,) = tools({"/x": {"get": {"responses": responses}}})
    old = swagger({"produces": ["text/csv", "application/hal+json"]}, method="get")

    assert tool.operation.accept == ("application/json", "text/csv")
    assert old.operation.accept == ("application/hal+json", "text/csv")
