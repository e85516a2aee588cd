"""Strings of JSON where an object, array, number or boolean belongs, as some clients send them."""

import json

import pytest
from call_ways import WAYS, call_by
from documents import component, document, operation
from servers.documents import object_of

from openapi_tools import Context, MemoryState, Settings, load_tools, require_approval
from openapi_tools.providers.definitions import PROFILES

STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
BOOLEAN, NULL = {"type": "boolean"}, {"type": "null"}
MAP = {"type": "object", "additionalProperties": INTEGER}
POINT = object_of(x=INTEGER, y=NUMBER)
NODE = {"type": "object", "properties": {"n": INTEGER, "next": component("Node")}}
CAT = {**object_of(kind={"const": "cat"}, lives=INTEGER), "required": ["kind"]}
DOG = {**object_of(kind={"const": "dog"}, loud=BOOLEAN), "required": ["kind"]}
SCHEMAS = {"Point": POINT, "Node": NODE, "Cat": CAT, "Dog": DOG}
PETS = {"oneOf": [component("Cat"), component("Dog")], "discriminator": {"propertyName": "kind"}}


def taking(schema, version="3.1.1", **fields):
    """Return a document of one POST whose body has a property `v`."""
    content = {"application/json": {"schema": object_of(v=schema, w=STRING)}}
    post = operation(operationId="do", requestBody={"content": content, "required": True})
    paths = {"/x": {"post": post | fields}}
    return document(paths, openapi=version, components={"schemas": SCHEMAS})


def array(items):
    return {"type": "array", "items": items}


READ = {
    "an object": (POINT, '{"x":1,"y":2.5}', {"x": 1, "y": 2.5}),
    "a component": (component("Point"), '{"x":1}', {"x": 1}),
    "spaces around": (POINT, ' {"x": 1}\n', {"x": 1}),
    "a string inside a string": (POINT, '{"x":"1"}', {"x": 1}),
    "deep in a component": (component("Node"), {"next": {"next": '{"n":"5"}'}},
                            {"next": {"next": {"n": 5}}}),
    "an array": (array(STRING), '["p","q"]', ["p", "q"]),
    "an empty array": (array(STRING), "[]", []),
    "items": (array(INTEGER), ["1", 2, "3"], [1, 2, 3]),
    "objects in an array": (array(POINT), ['{"x":1}'], [{"x": 1}]),
    "a map": (MAP, {"a": "1"}, {"a": 1}),
    "a map as a string": (MAP, '{"a":"1"}', {"a": 1}),
    "any object": ({"type": "object"}, '{"a":"1"}', {"a": "1"}),
    "an integer": (INTEGER, "5", 5),
    "below zero": (INTEGER, "-5", -5),
    "an integer with a point": (INTEGER, "5.0", 5),
    "an integer with an exponent": (INTEGER, "1e3", 1000),
    "more digits than a float holds": (INTEGER, "12345678901234567890", 12345678901234567890),
    "a number": (NUMBER, "1.50", 1.5),
    "a boolean": (BOOLEAN, "true", True),
    "a boolean in Python's spelling": (BOOLEAN, "False", False),
    "a nullable integer": ({"type": ["integer", "null"]}, "5", 5),
    "null": ({"type": ["integer", "null"]}, "null", None),
    "a nullable component": ({"anyOf": [component("Point"), NULL]}, '{"x":1}', {"x": 1}),
    "an integer or a boolean": ({"anyOf": [INTEGER, BOOLEAN]}, "true", True),
    "an object or an array": ({"anyOf": [POINT, array(INTEGER)]}, "[1]", [1]),
    "one of two objects": (PETS, '{"kind":"dog","loud":"true"}', {"kind": "dog", "loud": True}),
    "allOf": ({"allOf": [{"properties": {"x": INTEGER}}, {"type": "object"}]}, '{"x":1}', {"x": 1}),
    "a choice of integers": ({"enum": [1, 2]}, "2", 2),
    "an object or a word": ({"anyOf": [POINT, {"enum": ["all"]}]}, '{"x":1}', {"x": 1}),
}  # fmt: skip


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1"])
@pytest.mark.parametrize(("schema", "value", "sent"), READ.values(), ids=READ)
async def test_a_string_is_read_where_no_string_belongs(schema, value, sent, version, recorder):
    api = load_tools(taking(schema, version), base_url=recorder.url)

    result = await api.call("do", {"v": value})

    assert result.success, result
    assert json.loads(recorder.last.body) == {"v": sent}
    assert type(json.loads(recorder.last.body)["v"]) is type(sent)
    assert any("/v" in note and "parsed as JSON (" in note for note in result.metadata["notes"])


KEPT = {
    "a string": (STRING, '{"x":1}'),
    "a string or an object": ({"anyOf": [STRING, POINT]}, '{"x":1}'),
    "a string or an integer": ({"type": ["string", "integer"]}, "5"),
    "a nullable string": ({"type": ["string", "null"]}, "null"),
    "anything": ({}, "5"),
    "a word or an object": ({"anyOf": [POINT, {"enum": ["all"]}]}, "all"),
    "a string in an object": ({"type": "object"}, {"a": "[1]"}),
    "a string in an array": (array({}), ["true"]),
}


@pytest.mark.parametrize(("schema", "value"), KEPT.values(), ids=KEPT)
async def test_a_string_stays_where_one_belongs(schema, value, recorder):
    api = load_tools(taking(schema), base_url=recorder.url)

    result = await api.call("do", {"v": value})

    assert json.loads(recorder.last.body) == {"v": value}
    assert "notes" not in result.metadata


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param(POINT, "x is 1", id="no JSON"),
        pytest.param(POINT, "{'x': 1}", id="Python"),
        pytest.param(POINT, "[1]", id="another type"),
        pytest.param(POINT, '{"x":1,"x":2}', id="repeated names"),
        pytest.param(POINT, '{"x":1} {"x":2}', id="two values"),
        pytest.param(POINT, '"{\\"x\\":1}"', id="a string in a string"),
        pytest.param(POINT, "null", id="null where it has no meaning"),
        pytest.param(INTEGER, "5.5", id="a fraction"),
        pytest.param(INTEGER, "05", id="a leading zero"),
        pytest.param(INTEGER, "", id="nothing"),
        pytest.param(INTEGER, " ", id="a space"),
        pytest.param(INTEGER, "0x10", id="hexadecimal"),
        pytest.param(INTEGER, "true", id="a boolean for an integer"),
        pytest.param(INTEGER, "5" * 5_000, id="thousands of digits"),
        pytest.param(NUMBER, "NaN", id="not a number"),
        pytest.param(NUMBER, "Infinity", id="infinity"),
        pytest.param(NUMBER, "1e400", id="beyond all floats"),
        pytest.param(BOOLEAN, "yes", id="yes"),
        pytest.param(BOOLEAN, "1", id="one for true"),
        pytest.param(BOOLEAN, "", id="nothing for a boolean"),
        pytest.param({"type": "array"}, "[" * 100_000, id="open brackets"),
        pytest.param({"type": "array"}, "[" * 50_000 + "]" * 50_000, id="deep"),
        pytest.param({"type": "array"}, "[" * 150 + "]" * 150, id="too deep"),
        pytest.param({"type": "array"}, f"[{'1,' * 300_000}1]", id="too many values"),
        pytest.param({"type": "array"}, '["\\ud800"]', id="a lone surrogate"),
        pytest.param({"type": "array"}, f"[{'9' * 400}]", id="a number that is too large"),
        pytest.param({"anyOf": [STRING, POINT], "maxLength": 3}, '{"x":1}', id="a long string"),
    ],
)
async def test_other_strings_are_refused_with_their_place(schema, value, recorder):
    api = load_tools(taking(schema), settings=Settings(base_url=recorder.url))

    result = await api.call("do", {"v": value})

    assert result.error["type"] == "invalid_input"
    assert str(result).startswith("/v")
    assert recorder.requests == []


async def test_a_fault_inside_a_string_has_its_own_place(recorder):
    api = load_tools(taking(POINT), base_url=recorder.url)

    result = await api.call("do", {"v": '{"x": "one"}'})

    assert str(result).startswith("/v/x: expected an integer, got 'one' (a string).")


async def test_a_long_string_is_read_within_the_limit_of_the_input(recorder):
    api = load_tools(taking(array(INTEGER)), base_url=recorder.url)
    values = list(range(50_000))

    result = await api.call("do", {"v": json.dumps(values)})

    assert result.success
    assert json.loads(recorder.last.body) == {"v": values}


async def test_many_strings_have_one_note_together(recorder):
    api = load_tools(taking(array(INTEGER)), base_url=recorder.url)

    result = await api.call("do", {"v": ["1"] * 8})

    assert result.metadata["notes"] == [
        *(f"/v/{n}: the string was parsed as JSON (an integer)." for n in range(5)),
        "3 more strings were parsed as JSON.",
    ]


async def test_one_argument_too_complex_for_a_profile_leaves_the_others_readable(recorder):
    many = {"allOf": [{"anyOf": [object_of(**{f"{a}{n}": {}}) for n in range(40)]} for a in "ab"]}
    content = {"application/json": {"schema": object_of(v=INTEGER, many=many)}}
    post = operation(operationId="do", requestBody={"content": content, "required": True})
    api = load_tools(document({"/x": {"post": post}}), base_url=recorder.url)

    result = await api.call("do", {"v": "5"})

    assert result.success, result
    assert recorder.last.body == b'{"v":5}'


async def test_parameters_are_read_everywhere(recorder):
    listed = [
        {"name": "id", "in": "path", "required": True, "schema": INTEGER},
        {"name": "flag", "in": "query", "schema": BOOLEAN},
        {"name": "tags", "in": "query", "schema": array(STRING)},
        {"name": "filter", "in": "query", "style": "deepObject", "schema": POINT},
        {"name": "X-Size", "in": "header", "schema": INTEGER},
    ]
    paths = {"/x/{id}": {"get": operation(operationId="get", parameters=listed)}}
    api = load_tools(document(paths), base_url=recorder.url)
    arguments = {"id": "7", "flag": "true", "tags": '["a","b"]', "filter": '{"x":1}', "X_Size": "3"}

    result = await api.call("get", arguments)

    assert result.success, result
    assert recorder.last.target == "/x/7?flag=true&tags=a&tags=b&filter%5Bx%5D=1"
    assert recorder.last.header("x-size") == "3"


@pytest.mark.parametrize("profile", PROFILES)
async def test_every_profile_reads_them(profile, recorder):
    api = load_tools(taking(object_of(p=component("Point"), n=INTEGER)), base_url=recorder.url)
    arguments = {"v": {"p": '{"x":1,"y":null}', "n": "5"}}

    result = await api.call("do", arguments, profile=profile)

    assert result.success, result
    assert json.loads(recorder.last.body) == {"v": {"p": {"x": 1}, "n": 5}}


async def test_guardrails_and_approval_see_the_value_that_is_sent(recorder):
    seen = []
    api = load_tools(taking(POINT), base_url=recorder.url)
    api.add_input_guardrails([lambda call, _: seen.append(call.arguments), require_approval()])
    context = Context(approve=lambda call: seen.append(call.arguments) or True)

    result = await api.call("do", {"v": '{"x":"1"}'}, context=context)

    assert result.success, result
    assert seen == [{"v": {"x": 1}}] * 2
    assert len(result.metadata["notes"]) == 1


async def test_previews_show_it(recorder):
    seen = []
    approve = Settings(base_url=recorder.url, approve=lambda p: seen.append(p.arguments) or True)
    api = load_tools(taking(POINT), settings=approve)
    dry = load_tools(taking(POINT), settings=Settings(base_url=recorder.url, dry_run=True))

    await api.call("do", {"v": '{"x":1}'})
    preview = await dry.call("do", {"v": '{"x":1}'})

    assert seen == [{"v": {"x": 1}}]
    assert "dry_run" in preview.metadata
    assert preview.output["body"] == '{"v":{"x":1}}'
    assert api["do"].preview({"v": '{"x":1}'}).content == b'{"v":{"x":1}}'
    assert api["do"].check({"v": '{"x":1}'}) == {"v": {"x": 1}}


async def test_a_key_of_idempotency_is_for_the_value_that_is_sent(recorder):
    api = load_tools(taking(POINT), base_url=recorder.url, state=MemoryState())
    context = Context(idempotency_key="step-1")

    first = await api.call("do", {"v": '{"x":1}'}, context=context)
    again = await api.call("do", {"v": {"x": 1}}, context=context)

    assert (first.success, again.success) == (True, True), again
    assert len(recorder.requests) == 1


async def test_the_tool_that_calls_others_reads_its_arguments(recorder):
    api = load_tools(taking(POINT), base_url=recorder.url)

    result = await api.meta_tools().call("call_tool", {"name": "do", "arguments": '{"v":{"x":1}}'})

    assert result.success, result
    assert recorder.last.body == b'{"v":{"x":1}}'


async def test_a_failure_of_the_api_keeps_the_notes(recorder):
    recorder.response.status = 422
    api = load_tools(taking(POINT), base_url=recorder.url)

    result = await api.call("do", {"v": '{"x":1}'})

    assert result.error["status"] == 422
    assert result.metadata["notes"] == ["/v: the string was parsed as JSON (an object)."]


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_reads_them(way, recorder, tmp_path):
    schema = object_of(p=component("Point"), n=INTEGER, b=BOOLEAN)
    arguments = {"v": json.dumps({"p": '{"x":1}', "n": "5", "b": "true"})}

    await call_by(way, taking(schema), arguments, recorder.url, tmp_path)

    assert json.loads(recorder.last.body) == {"v": {"p": {"x": 1}, "n": 5, "b": True}}
