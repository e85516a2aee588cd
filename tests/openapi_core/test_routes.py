"""Which operation a request is for."""

import pytest

from openapi_tools.openapi_core.routes import find_route, follow

PATHS = {
    "/pets": {"get": {"operationId": "list"}, "post": {"operationId": "add"}},
    "/pets/{id}": {"get": {"operationId": "one"}},
    "/pets/mine": {"get": {"operationId": "mine"}},
    "/pets/{id}.{format}": {"get": {"operationId": "formatted"}},
    "/files/{path}/info#v2": {"get": {"operationId": "fragment"}},
    "/search?type=cat": {"get": {"operationId": "cats"}},
    "/shared": {"$ref": "#/components/pathItems/shared"},
    "/more": {"query": {"operationId": "query"}, "additionalOperations": {"COPY": {"x": 1}}},
    "x-internal": {"get": {"operationId": "extension"}},
}
DOCUMENT = {
    "openapi": "3.2.0",
    "servers": [{"url": "https://{region}.example.com/v1/"}],
    "paths": PATHS,
    "components": {"pathItems": {"shared": {"get": {"operationId": "shared"}}}},
}


@pytest.mark.parametrize(
    ("method", "target", "pointer", "variables"),
    [
        ("GET", "/v1/pets", ("/pets", "get"), {}),
        ("POST", "/v1/pets?x=1", ("/pets", "post"), {}),
        ("GET", "/v1/pets/7", ("/pets/{id}", "get"), {"id": "7"}),
        ("GET", "/v1/pets/a%2Fb", ("/pets/{id}", "get"), {"id": "a/b"}),
        ("GET", "/v1/pets/mine", ("/pets/mine", "get"), {}),
        ("GET", "/pets", ("/pets", "get"), {}),
        ("GET", "/v1/files/x/info", ("/files/{path}/info#v2", "get"), {"path": "x"}),
        ("GET", "/v1/search?type=cat&page=2", ("/search?type=cat", "get"), {}),
        ("GET", "/v1/shared", ("/shared", "get"), {}),
        ("QUERY", "/v1/more", ("/more", "query"), {}),
        ("COPY", "/v1/more", ("/more", "additionalOperations", "COPY"), {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_request_is_for_the_operation_that_its_path_and_method_name(
    method, target, pointer, variables
):
    route = find_route(DOCUMENT, method, target)

    assert route.pointer == ("paths", *pointer)
    assert route.variables == variables


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("DELETE", "/v1/pets"),
        ("GET", "/v1/nothing"),
        ("GET", "/v2/pets"),
        ("GET", "/v1/pets/1/2"),
        ("GET", "/v1/search?type=dog"),
        ("GET", "/v1/x-internal"),
    ],
)
def test_a_request_that_fits_nothing_is_for_no_operation(method, target):
    assert find_route(DOCUMENT, method, target) is None


@pytest.mark.parametrize(
    ("target", "path"),
    [("/?Action=B&x=1", "/#Action=B"), ("/?uploads", "/#uploads"), ("/?x=1", "/")],
)
def test_operations_of_one_path_are_told_apart_by_the_fragment_that_stands_for_a_query(
    target, path
):
    paths = {key: {"get": {}} for key in ("/#Action=A", "/#Action=B", "/#uploads", "/")}

    route = find_route({"openapi": "3.0.0", "paths": paths}, "GET", target)

    assert route.path == path


def test_additional_operations_are_found_in_any_case():
    paths = {"/a": {"additionalOperations": {"Copy": {}}}}

    assert find_route({"openapi": "3.2.0", "paths": paths}, "COPY", "/a") is not None


def test_the_base_path_that_is_given_replaces_the_servers():
    under = find_route(DOCUMENT, "GET", "/proxy/pets", base_path="/proxy/")

    assert under is not None
    assert find_route(DOCUMENT, "GET", "/v1/pets", base_path="/proxy/") is None


def test_servers_of_an_operation_come_before_those_of_the_document():
    own = {"get": {"servers": [{"url": "/other"}]}}
    document = {**DOCUMENT, "paths": {"/pets": own}}

    assert find_route(document, "GET", "/other/pets") is not None
    assert find_route(document, "GET", "/v1/pets") is None


def test_a_relative_server_may_lie_anywhere_below_the_documents_address():
    document = {**DOCUMENT, "servers": [{"url": "./api"}]}

    assert find_route(document, "GET", "/docs/api/pets") is not None


def test_swagger_2_has_its_base_path():
    document = {"swagger": "2.0", "basePath": "/api/", "paths": {"/pets": {"get": {}}}}

    assert find_route(document, "GET", "/api/pets") is not None


@pytest.mark.parametrize("document", [{}, {"paths": None}, {"paths": {"/a": 1, 2: {}}}])
def test_a_broken_document_has_no_operations(document):
    assert find_route(document, "GET", "/a") is None


def test_a_reference_is_followed_through_chains_and_escapes():
    document = {"a/b": {"~": [{"$ref": "#/c"}]}, "c": {"x": 1}}

    assert follow(document, {"$ref": "#/a~1b/~0/0"}) == {"x": 1}
    assert follow(document, {"$ref": "#/c", "summary": "here"}) == {"x": 1, "summary": "here"}


@pytest.mark.parametrize(
    "reference", ["#/none", "#/a/9", "other.yaml#/a", "#/a/loop", "https://example.com/x"]
)
def test_a_reference_that_leads_nowhere_gives_an_empty_object(reference):
    document = {"a": {"loop": {"$ref": "#/a/loop"}}}

    assert follow(document, {"$ref": reference}) == {}
