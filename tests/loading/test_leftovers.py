"""Parts of one version in a document of another, and locations in another case."""

import json

import pytest
import yaml
from documents import document, operation

from openapi_tools import load_tools

STRING = {"type": "string"}
MODERN = ("3.0.3", "3.1.1", "3.2.0")


def api(*parameters, openapi="3.0.3", method="get", above=False, **fields):
    item = {method: operation(operationId="do", **fields)}
    (item if above else item[method])["parameters"] = [*parameters]
    return document({"/x": item}, openapi=openapi)


async def send_call(root, arguments, recorder):
    """Return the request of a call, the shown properties and the warnings."""
    async with load_tools(root, base_url=recorder.url) as toolset:
        result = await toolset.call("do", arguments)
        assert result.success, result
        return recorder.last, toolset["do"].input_schema["properties"], toolset.warnings


SPREAD = [
    ({"type": "integer"}, 5, "v=5", {"type": "integer"}),
    ({"type": "string", "enum": ["a", "b"]}, "a", "v=a", {"type": "string", "enum": ["a", "b"]}),
    ({"type": "string", "default": "x"}, "a", "v=a", {"type": "string", "default": "x"}),
    ({"enum": ["a", "b"]}, "a", "v=a", {"enum": ["a", "b"]}),
    ({"type": "array", "items": STRING}, ["a", "b"], "v=a&v=b", {"type": "array", "items": STRING}),
    (
        {"type": "array", "items": STRING, "collectionFormat": "csv"},
        ["a", "b"],
        "v=a,b",
        {"type": "array", "items": STRING},
    ),
    (
        {"type": "array", "items": STRING, "collectionFormat": "pipes"},
        ["a", "b"],
        "v=a%7Cb",
        {"type": "array", "items": STRING},
    ),
    (
        {"type": "array", "items": STRING, "explode": False},
        ["a", "b"],
        "v=a,b",
        {"type": "array", "items": STRING},
    ),
]


@pytest.mark.parametrize("openapi", MODERN)
@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize(("fields", "value", "query", "schema"), SPREAD)
async def test_a_schema_spread_over_a_parameter_is_read(
    fields, value, query, schema, above, openapi, recorder
):
    openapi = "3.0.4" if openapi == "3.0.3" else openapi  # whose tables print the delimiters
    root = api({"name": "v", "in": "query", **fields}, openapi=openapi, above=above)

    request, properties, warnings = await send_call(root, {"v": value}, recorder)

    assert request.target == f"/x?{query}"
    assert properties["v"] == schema
    place = "/paths/~1x/parameters/0" if above else "/paths/~1x/get/parameters/0"
    assert warnings == (
        f"{place}: the schema is spread over the parameter as in Swagger 2.0; it is read so.",
    )


@pytest.mark.parametrize("openapi", MODERN)
async def test_a_collection_format_beside_a_schema_is_read(openapi, recorder):
    schema = {"type": "array", "items": STRING}
    parameter = {"name": "v", "in": "query", "schema": schema, "collectionFormat": "csv"}

    request, _, warnings = await send_call(
        api(parameter, openapi=openapi), {"v": ["a", "b"]}, recorder
    )

    assert request.target == "/x?v=a,b"
    (warning,) = warnings
    assert warning.startswith("/paths/~1x/get/parameters/0/collectionFormat: ")


@pytest.mark.parametrize(
    ("written", "location"),
    [("Query", "query"), ("QUERY", "query"), ("Header", "header"), ("headers", "header")],
)
@pytest.mark.parametrize("openapi", ["2.0", *MODERN])
async def test_a_location_is_read_in_any_case(written, location, openapi, recorder):
    fields = {"type": "string"} if openapi == "2.0" else {"schema": STRING}

    request, _, warnings = await send_call(
        api({"name": "v", "in": written, **fields}, openapi=openapi), {"v": "a"}, recorder
    )

    actual = [request.header("v")] if location == "header" else [request.target]
    assert actual == (["a"] if location == "header" else ["/x?v=a"])
    assert warnings == (f"/paths/~1x/get/parameters/0/in: '{written}' is read as '{location}'.",)


async def test_a_path_variable_in_another_case_is_found(recorder):
    parameter = {"name": "id", "in": "Path", "required": True, "schema": STRING}
    root = document({"/x/{id}": {"get": operation(operationId="do", parameters=[parameter])}})

    request, _, warnings = await send_call(root, {"id": "7"}, recorder)

    assert request.target == "/x/7"
    assert len(warnings) == 1


OBJECT = {"type": "object", "properties": {"a": STRING}, "required": ["a"]}


@pytest.mark.parametrize("openapi", MODERN)
@pytest.mark.parametrize("form", ["inline", "reference", "YAML"])
async def test_a_body_parameter_is_the_request_body(openapi, form, recorder):
    body = {"name": "body", "in": "body", "required": True, "schema": OBJECT}
    reference = {"$ref": "#/components/parameters/b"}
    root = api(reference if form == "reference" else body, openapi=openapi, method="post")
    root["components"] = {"parameters": {"b": body}}
    root = yaml.safe_dump(root) if form == "YAML" else root

    request, properties, warnings = await send_call(root, {"a": "x"}, recorder)

    assert json.loads(request.body) == {"a": "x"}
    assert [*properties] == ["a"]
    place = "/components/parameters/b" if form == "reference" else "/paths/~1x/post/parameters/0"
    (warning,) = warnings
    assert warning.startswith(f"{place}/in: {openapi} has no parameters in 'body'")


@pytest.mark.parametrize("openapi", MODERN)
@pytest.mark.parametrize("written", ["formData", "formdata", "FormData", "form"])
@pytest.mark.parametrize("fields", [{"schema": STRING}, {"type": "string"}], ids=["schema", "type"])
async def test_form_parameters_are_the_form(openapi, written, fields, recorder):
    root = api({"name": "a", "in": written, **fields}, openapi=openapi, method="post")

    request, _, warnings = await send_call(root, {"a": "x y"}, recorder)

    assert request.body == b"a=x+y"
    assert request.header("content-type") == "application/x-www-form-urlencoded"
    assert len(warnings) == 1


async def test_a_file_of_a_form_is_a_part(recorder):
    file = {"name": "f", "in": "formData", "type": "file"}
    root = api(file, method="post", consumes=["multipart/form-data"])

    request, _, _ = await send_call(root, {"f": {"text": "hello"}}, recorder)

    assert request.header("content-type").startswith("multipart/form-data")
    assert b"hello" in request.body


async def test_a_request_body_counts_over_a_body_parameter(recorder):
    body = {"name": "b", "in": "body", "schema": {"type": "object", "properties": {"z": STRING}}}
    request_body = {"required": True, "content": {"application/json": {"schema": OBJECT}}}

    request, properties, warnings = await send_call(
        api(body, method="post", requestBody=request_body), {"a": "x"}, recorder
    )

    assert json.loads(request.body) == {"a": "x"}
    assert [*properties] == ["a"]
    assert "if there is no other" in warnings[0]


async def test_a_cookie_in_swagger_2_is_sent(recorder):
    root = api({"name": "c", "in": "cookie", "type": "string"}, openapi="2.0")

    request, _, warnings = await send_call(root, {"c": "x"}, recorder)

    assert request.header("cookie") == "c=x"
    assert "2.0 has no parameters in 'cookie'" in warnings[0]


@pytest.mark.parametrize("openapi", MODERN)
def test_right_parameters_have_no_warning(openapi):
    content = {"name": "c", "in": "query", "content": {"text/plain": {"schema": STRING}}}
    plain = {"name": "v", "in": "query", "schema": STRING, "example": "x", "deprecated": True}
    bare = {"name": "b", "in": "query", "description": "No schema."}

    assert load_tools(api(content, plain, bare, openapi=openapi)).warnings == ()
