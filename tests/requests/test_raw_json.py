"""Bodies of JSON and JSON lines that the caller writes: strings of lines, and files of JSON."""

import pytest
from call_ways import WAYS, call_by
from documents import component, document, operation

from openapi_tools import Settings, load_tools
from openapi_tools.providers.definitions import PROFILES

LINES = '{"index":{}}\n{"a":1}\n'
STRING, BINARY = {"type": "string"}, {"type": "string", "format": "binary"}
OBJECTS = {"type": "array", "items": {"type": "object"}}
SCHEMAS = {"Lines": STRING, "File": BINARY, "Object": {"type": "object"}}
JSON, NDJSON = "application/json", "application/x-ndjson"
SEQUENCE = "application/json-seq"


def sending(content, version="3.1.1"):
    body = {"required": True, "content": content}
    post = operation(operationId="send", requestBody=body)
    return document({"/x": {"post": post}}, openapi=version, components={"schemas": SCHEMAS})


def body_of(schema, kind, version="3.1.1"):
    return sending({kind: {} if schema is None else {"schema": schema}}, version)


LINE_TYPES = [NDJSON, "application/jsonl", "application/ndjson", "application/jsonlines"]
STRINGS = {
    "a string": STRING,
    "a component": component("Lines"),
    "a string or objects": {"anyOf": [OBJECTS, STRING]},
    "nothing": None,
    "anything": {},
    "words alone": {"description": "The actions, one in a line."},
}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1", "3.2.0"])
@pytest.mark.parametrize("kind", [*LINE_TYPES, SEQUENCE])
@pytest.mark.parametrize("schema", STRINGS.values(), ids=STRINGS)
async def test_lines_in_a_string_are_sent_as_they_are(schema, kind, version, recorder):
    api = load_tools(body_of(schema, kind, version), base_url=recorder.url)

    result = await api.call("send", {"body": LINES})

    assert result.success, result
    assert recorder.last.body == LINES.encode()
    assert recorder.last.header("content-type") == kind


ONE_OF = {"oneOf": [{"type": "object", "required": ["a"]}, component("Object")]}
VALUES = {"objects": OBJECTS, "nothing": None, "anything": {}, "one of two objects": ONE_OF}


@pytest.mark.parametrize("schema", VALUES.values(), ids=VALUES)
async def test_values_are_written_as_lines(schema, recorder):
    api = load_tools(body_of(schema, NDJSON), base_url=recorder.url)

    await api.call("send", {"body": [{"a": 1}, {"b": "x"}]})

    assert recorder.last.body == b'{"a":1}\n{"b":"x"}\n'


async def test_strings_in_a_list_are_lines_of_json(recorder):
    schema = {"type": "array", "items": STRING}
    api = load_tools(body_of(schema, NDJSON), base_url=recorder.url)

    await api.call("send", {"body": ["a", "b"]})

    assert recorder.last.body == b'"a"\n"b"\n'


FILES = {
    "format binary": BINARY,
    "a component": component("File"),
    "format binary without a type": {"format": "binary"},
    "type file": {"type": "file"},
}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1"])
@pytest.mark.parametrize("kind", [JSON, "application/vnd.geo+json", NDJSON])
@pytest.mark.parametrize("schema", FILES.values(), ids=FILES)
async def test_bytes_under_a_json_type_are_a_file(schema, kind, version, recorder):
    api = load_tools(body_of(schema, kind, version), base_url=recorder.url)

    of_text = await api.call("send", {"body": {"text": '{"a": 1}', "filename": "a.json"}})
    text = recorder.last
    of_bytes = await api.call("send", {"body": {"base64": "eyJhIjogMX0="}})

    assert of_text.success, of_text
    assert of_bytes.success, of_bytes
    assert [text.body, recorder.last.body] == [b'{"a": 1}'] * 2
    assert [text.header("content-type"), recorder.last.header("content-type")] == [kind] * 2


@pytest.mark.parametrize("order", [1, -1], ids=["JSON first", "JSON last"])
async def test_bytes_are_sent_as_the_type_for_bytes_where_there_is_one(order, recorder):
    kinds = [JSON, "application/octet-stream"][::order]
    api = load_tools(sending({kind: {"schema": BINARY} for kind in kinds}), base_url=recorder.url)

    await api.call("send", {"body": {"text": "x"}})
    content_type = recorder.last.header("content-type")
    await api.call("send", {"body": {"text": "{}", "content_type": JSON}})

    assert content_type == "application/octet-stream"
    assert recorder.last.header("content-type") == JSON


async def test_a_string_of_json_is_quoted(recorder):
    api = load_tools(body_of(STRING, JSON), base_url=recorder.url)

    await api.call("send", {"body": '{"a":1}'})

    assert recorder.last.body == b'"{\\"a\\":1}"'


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("schema", [STRING, None], ids=["string", "nothing"])
async def test_every_profile_sends_lines(schema, profile, recorder):
    api = load_tools(body_of(schema, NDJSON), settings=Settings(base_url=recorder.url))
    api.definitions(profile)

    result = await api.call("send", {"body": LINES}, profile=profile)

    assert result.success, result
    assert recorder.last.body == LINES.encode()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("schema", [STRING, BINARY], ids=["string", "file"])
async def test_every_way_sends_lines(schema, way, recorder, tmp_path):
    file = tmp_path / "lines.ndjson"
    file.write_text(LINES)
    arguments = {"body": LINES if schema is STRING else {"text": LINES}}
    arguments = [f"body=@{file}"] if way == "command line" else arguments

    await call_by(way, body_of(schema, NDJSON), arguments, recorder.url, tmp_path)

    assert recorder.last.body == LINES.encode()
