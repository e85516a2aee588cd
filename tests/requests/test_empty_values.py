"""`allowEmptyValue`: an empty string is accepted and sent empty, whatever the type."""

import pytest
from call_ways import WAYS, call_by
from documents import component, document, operation

from openapi_tools import load_tools
from openapi_tools.providers.definitions import PROFILES

SCHEMAS = {"Flag": {"type": "boolean"}, "Text": {"type": "string"}}
TYPES = {
    "a boolean": {"type": "boolean"},
    "an integer": {"type": "integer", "minimum": 1},
    "a number": {"type": "number", "default": 1.5},
    "an array": {"type": "array", "items": {"type": "integer"}},
    "an object": {"type": "object", "properties": {"a": {"type": "integer"}}},
    "a choice": {"type": "string", "enum": ["a", "b"]},
    "a choice of integers": {"type": "integer", "enum": [1, 2]},
    "a pattern": {"type": "string", "pattern": "^[a-z]+$"},
    "at least one character": {"type": "string", "minLength": 1},
    "a string": {"type": "string"},
    "a date": {"type": "string", "format": "date"},
    "a component": component("Flag"),
    "a component of a string": component("Text"),
    "one of two": {"oneOf": [{"type": "boolean"}, {"type": "integer"}]},
    "anything": {},
}


def asking(schema, version="3.0.3", **fields):
    listed = [{"name": "v", "in": "query", "schema": schema, "allowEmptyValue": True, **fields}]
    get = operation(operationId="ask", parameters=listed)
    return document({"/x": {"get": get}}, openapi=version, components={"schemas": SCHEMAS})


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1", "3.2.0"])
@pytest.mark.parametrize("schema", TYPES.values(), ids=TYPES)
async def test_an_empty_string_is_sent_empty(schema, version, recorder):
    api = load_tools(asking(schema, version), base_url=recorder.url)

    result = await api.call("ask", {"v": ""})

    assert result.success, result
    assert recorder.last.target == "/x?v="


@pytest.mark.parametrize("style", ["form", "spaceDelimited", "pipeDelimited", "deepObject"])
@pytest.mark.parametrize("explode", [True, False])
async def test_in_any_style(style, explode, recorder):
    schema = TYPES["an object" if style == "deepObject" else "an array"]
    api = load_tools(asking(schema, style=style, explode=explode), base_url=recorder.url)

    await api.call("ask", {"v": ""})

    assert recorder.last.target == "/x?v="


@pytest.mark.parametrize(
    ("schema", "value", "sent"),
    [
        (TYPES["a boolean"], True, "true"),
        (TYPES["an integer"], 5, "5"),
        (TYPES["an integer"], "5", "5"),
        (TYPES["an array"], [1, 2], "1&v=2"),
        (TYPES["a choice"], "b", "b"),
    ],
)
async def test_other_values_are_sent_as_before(schema, value, sent, recorder):
    api = load_tools(asking(schema), base_url=recorder.url)

    result = await api.call("ask", {"v": value})

    assert result.success, result
    assert recorder.last.target == f"/x?v={sent}"


@pytest.mark.parametrize(
    ("schema", "fields"),
    [
        pytest.param(TYPES["a boolean"], {"allowEmptyValue": False}, id="false"),
        pytest.param(TYPES["a choice"], {"allowEmptyValue": None}, id="null"),
        pytest.param(TYPES["an integer"], {"in": "header"}, id="a header"),
        pytest.param(TYPES["an integer"], {"in": "path", "required": True}, id="a path"),
    ],
)
async def test_elsewhere_an_empty_string_is_refused(schema, fields, recorder):
    api = load_tools(asking(schema, **fields), base_url=recorder.url)

    result = await api.call("ask", {"v": ""})

    assert result.error["type"] == "invalid_input"
    assert recorder.requests == []


def test_the_words_of_a_schema_stay_and_a_plain_string_does_not_change():
    number = {"type": "integer", "default": 3, "title": "Size"}
    (sized,) = load_tools(asking(number, description="How many."))
    (plain,) = load_tools(asking({"type": "string"}))

    assert sized.input_schema["properties"]["v"] == {
        "title": "Size",
        "default": 3,
        "anyOf": [{"type": "integer"}, {"type": "string", "enum": [""]}],
        "description": "How many.",
    }
    assert plain.input_schema["properties"]["v"] == {"type": "string"}


SWAGGER = {"name": "v", "type": "boolean", "allowEmptyValue": True}


@pytest.mark.parametrize(
    ("location", "consumes", "sent"),
    [
        ("query", [], b""),
        ("formData", ["application/x-www-form-urlencoded"], b"v="),
        ("formData", ["multipart/form-data"], b'name="v"\r\n\r\n\r\n'),
    ],
)
async def test_swagger_2_has_it_in_forms_too(location, consumes, sent, recorder):
    post = operation(operationId="ask", consumes=consumes, parameters=[{**SWAGGER, "in": location}])
    api = load_tools(document({"/x": {"post": post}}, openapi="2.0"), base_url=recorder.url)

    result = await api.call("ask", {"v": ""})

    assert result.success, result
    assert sent in recorder.last.body
    assert recorder.last.target == ("/x?v=" if location == "query" else "/x")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", ["a boolean", "a choice", "an array"])
async def test_every_profile_can_say_it(name, profile, recorder):
    api = load_tools(asking(TYPES[name]), base_url=recorder.url)
    api.definitions(profile)

    result = await api.call("ask", {"v": ""}, profile=profile)

    assert result.success, result
    assert recorder.last.target == "/x?v="


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_sends_it(way, recorder, tmp_path):
    arguments = ["v="] if way == "command line" else {"v": ""}

    await call_by(way, asking(TYPES["a boolean"]), arguments, recorder.url, tmp_path)

    assert recorder.last.target == "/x?v="
