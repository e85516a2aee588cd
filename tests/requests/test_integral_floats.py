"""Integers that models write as `5.0`: sent as `5`, in every place of a request."""

import json

import pytest
from call_ways import WAYS, call_by
from documents import component, document, operation
from servers.documents import object_of

from openapi_tools import load_tools

INTEGER, NUMBER = {"type": "integer"}, {"type": "number"}
SCHEMAS = {"Count": INTEGER, "Row": object_of(n=component("Count"))}
JSON, FORM, DATA = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"


def counting(schema, kind=JSON, version="3.1.1"):
    content = {kind: {"schema": schema}}
    post = operation(operationId="count", requestBody={"content": content, "required": True})
    return document({"/x": {"post": post}}, openapi=version, components={"schemas": SCHEMAS})


VALUES = {
    "an integer": (INTEGER, 5.0, "5"),
    "a component": (component("Count"), 5.0, "5"),
    "items": ({"type": "array", "items": INTEGER}, [1.0, 2], "[1,2]"),
    "rows": ({"type": "array", "items": component("Row")}, [{"n": 3.0}], '[{"n":3}]'),
    "a map": ({"additionalProperties": INTEGER}, {"a": 4.0}, '{"a":4}'),
    "an integer or a string": ({"anyOf": [INTEGER, {"type": "string"}]}, 4.0, "4"),
    "a list of types": ({"type": ["integer", "null"]}, 7.0, "7"),
    "a choice": ({"enum": [1, 2]}, 2.0, "2"),
    "anything": ({}, {"a": [6.0]}, '{"a":[6]}'),
    "zero below zero": (INTEGER, -0.0, "0"),
    "a large one": (INTEGER, 9007199254740992.0, "9007199254740992"),
    "a number, whose value is the same": (NUMBER, 5.0, "5"),
    "a number with digits": (NUMBER, 5.5, "5.5"),
    "a small number": (NUMBER, 1e-7, "1e-07"),
    "a number that no integer of a machine holds": (NUMBER, 1e300, "1e+300"),
    "a string that looks like one": ({"type": "string"}, "5.0", '"5.0"'),
}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1"])
@pytest.mark.parametrize(("schema", "value", "sent"), VALUES.values(), ids=VALUES)
async def test_a_json_body_carries_integers(schema, value, sent, version, recorder):
    api = load_tools(counting(object_of(v=schema), version=version), base_url=recorder.url)

    result = await api.call("count", {"v": value})

    assert result.success, result
    assert recorder.last.body.decode() == f'{{"v":{sent}}}'


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        (DATA, b'\r\n\r\n{"n":6}\r\n'),
        (FORM, b"meta=%7B%22n%22%3A6%7D"),
        ("application/x-ndjson", b'{"meta":{"n":6}}\n'),
        ("application/merge-patch+json", b'{"meta":{"n":6}}'),
    ],
)
async def test_other_bodies_do_too(kind, sent, recorder):
    api = load_tools(counting(object_of(meta=object_of(n=INTEGER)), kind), base_url=recorder.url)
    value = {"meta": {"n": 6.0}}

    result = await api.call("count", {"body": value} if "ndjson" in kind else value)

    assert result.success, result
    assert sent in recorder.last.body


async def test_parameters_of_json_do_too(recorder):
    listed = [
        {"name": "q", "in": "query", "content": {JSON: {"schema": {}}}},
        {"name": "d", "in": "query", "style": "deepObject", "schema": {"type": "object"}},
        {"name": "X-H", "in": "header", "schema": INTEGER},
        {"name": "c", "in": "cookie", "schema": INTEGER},
    ]
    paths = {"/x": {"get": operation(operationId="get", parameters=listed)}}
    api = load_tools(document(paths), base_url=recorder.url)

    result = await api.call("get", {"q": {"n": 1.0}, "d": {"n": 2.0}, "X_H": 3.0, "c": 4.0})

    assert result.success, result
    assert recorder.last.target == "/x?q=%7B%22n%22%3A1%7D&d%5Bn%5D=2"
    assert (recorder.last.header("x-h"), recorder.last.header("cookie")) == ("3", "c=4")


async def test_a_guardrail_sees_what_is_sent(recorder):
    seen = []
    api = load_tools(counting(object_of(v=INTEGER)), base_url=recorder.url)
    api.add_input_guardrails([lambda call, _: seen.append(json.dumps(call.arguments))])

    await api.call("count", {"v": 5.0})

    assert seen == ['{"v": 5}']


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_sends_integers(way, recorder, tmp_path):
    schema = object_of(v=INTEGER, rows={"type": "array", "items": component("Row")})
    arguments = {"v": 5.0, "rows": [{"n": 1.0}]}

    await call_by(way, counting(schema), arguments, recorder.url, tmp_path)

    assert recorder.last.body == b'{"v":5,"rows":[{"n":1}]}'
