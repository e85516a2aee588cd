"""Documents of Swagger 2.0 in the form of OpenAPI 3, which requests and responses are judged by."""

import documents
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import nodes

from openapi_tools.loading.openapi_3 import convert_to_openapi_3

WHOLE, FILE = {"type": "integer"}, {"type": "string", "format": "binary"}


def test_a_document_of_openapi_3_is_its_own_form():
    q = {"name": "q", "in": "query", "schema": WHOLE}
    source = documents.document({"/a": {"get": {"parameters": [q]}}})

    assert convert_to_openapi_3(source) is source


def test_parts_of_swagger_2_in_a_document_of_openapi_3_are_written_as_there():
    q = {"name": "q", "in": "query", "type": "array", "items": WHOLE, "collectionFormat": "ssv"}
    pet = {"name": "pet", "in": "body", "schema": {"type": "object"}}
    ours, theirs = {"get": {"parameters": [q]}, "post": {"parameters": [pet]}}, {"get": {}}
    source = documents.document({"/a": ours, "/b": theirs})

    paths = convert_to_openapi_3(source)["paths"]

    schema = {"type": "array", "items": WHOLE}
    style = {"explode": False, "style": "spaceDelimited"}
    expected = {"name": "q", "in": "query", "schema": schema, **style}
    assert paths["/a"]["get"]["parameters"] == [expected]
    content = {"application/json": {"schema": {"type": "object"}}}
    assert paths["/a"]["post"]["requestBody"]["content"] == content
    assert paths["/b"] is theirs


def form_of(*parameters, **operation):
    source = documents.document({"/a": {"post": {"parameters": [*parameters], **operation}}},
                                openapi="2.0", consumes=["text/plain"])  # fmt: skip
    return convert_to_openapi_3(source)["paths"]["/a"]["post"]


@pytest.mark.parametrize(
    ("collection", "expected"),
    [
        ({}, {"explode": False}),
        ({"collectionFormat": "multi"}, {"explode": True}),
        ({"collectionFormat": "ssv"}, {"explode": False, "style": "spaceDelimited"}),
        ({"collectionFormat": "pipes"}, {"explode": False, "style": "pipeDelimited"}),
    ],
)
def test_a_collection_format_is_a_style(collection, expected):
    parameter = {"name": "q", "in": "query", "type": "array", "items": WHOLE, **collection}

    (converted,) = form_of(parameter)["parameters"]

    schema = {"type": "array", "items": WHOLE}
    assert converted == {"name": "q", "in": "query", "schema": schema, **expected}


@pytest.mark.parametrize("consumes", [["multipart/form-data", "application/x-www-form-urlencoded"],
                                      ["application/x-www-form-urlencoded"]])  # fmt: skip
def test_a_form_may_be_sent_as_every_form_that_is_consumed(consumes):
    field = {"name": "n", "in": "formData", "type": "integer"}

    form = form_of(field, consumes=consumes)

    assert set(form["requestBody"]["content"]) == set(consumes)
    assert form["parameters"] == []


def test_responses_have_the_media_types_that_are_produced():
    swagger_response = {"description": "ok", "schema": {"type": "file"}, "headers": {"X-N": WHOLE}}

    response = form_of(responses={"200": swagger_response}, produces=["image/png"])["responses"][
        "200"
    ]

    assert response["content"] == {"image/png": {"schema": FILE}}
    assert response["headers"]["X-N"]["schema"] == WHOLE


def test_without_media_types_a_response_may_have_any():
    form = form_of(responses={"200": {"description": "ok", "schema": WHOLE}})

    assert form["responses"]["200"]["content"] == {"*/*": {"schema": WHOLE}}


def test_a_response_without_a_schema_has_no_content():
    form = form_of(responses={"204": {"description": "gone"}})

    assert "content" not in form["responses"]["204"]


def test_schemas_keep_their_places_and_say_null_as_openapi_3_does():
    pet = {"type": "object", "discriminator": "kind", "properties": {
        "kind": {"type": "string"}, "name": {"type": "string", "x-nullable": True}}}  # fmt: skip
    source = documents.document({}, openapi="2.0", definitions={"Pet": pet})

    schema = convert_to_openapi_3(source)["definitions"]["Pet"]

    assert "discriminator" not in schema
    assert schema["properties"]["name"]["nullable"] is True
    assert "nullable" not in pet["properties"]["name"]


def test_servers_and_security_are_those_of_openapi_3():
    key = {"type": "apiKey", "in": "header", "name": "X-Key"}
    basic = {"type": "basic"}
    source = documents.document({"/a": {"get": {"schemes": ["http"]}}}, openapi="2.0",
        host="api.example.com", basePath="/v1", schemes=["https"],
        securityDefinitions={"key": key, "basic": basic})  # fmt: skip

    converted = convert_to_openapi_3(source)

    assert converted["servers"] == [{"url": "https://api.example.com/v1"}]
    assert converted["paths"]["/a"]["get"]["servers"] == [{"url": "http://api.example.com/v1"}]
    schemes = {"key": key, "basic": {"type": "http", "scheme": "basic"}}
    assert converted["components"]["securitySchemes"] == schemes


KEYS = ["parameters", "responses", "schema", "items", "type", "in", "body", "formData", "query"]
BROKEN = nodes([*KEYS, "headers", "examples", "consumes", "produces", "schemes", "$ref", "array"])


@pytest.mark.long
@given(part=BROKEN, key=st.sampled_from(["paths", "definitions", "securityDefinitions", "schemes"]))
def test_nothing_raises_whatever_a_document_says(part, key):
    convert_to_openapi_3(
        {"openapi": "3.1.0", "paths": {"/a": {"get": part, "parameters": part}}, key: part}
    )
    broken = convert_to_openapi_3({"swagger": "2.0", key: part})
    inside = convert_to_openapi_3(
        {"swagger": "2.0", "paths": {"/a": {"get": part, "parameters": part}}}
    )

    assert (broken["openapi"], inside["openapi"]) == ("3.0.4", "3.0.4")
