"""Files of multipart bodies that documents spell in other ways than a string of format `binary`."""

import pytest
from call_ways import WAYS, call_by
from documents import component, document, operation
from packages import import_package
from servers.documents import object_of
from servers.sent_parts import parts_of

from openapi_tools import generate_package, load_tools
from openapi_tools.providers.definitions import PROFILES

DATA = "multipart/form-data"
STRING = {"type": "string"}
FILE = {"text": "hello", "filename": "a.txt"}
BINARY = {"type": "string", "format": "binary"}
SCHEMAS = {"File": {"type": "file"}, "Upload": {"allOf": [{"format": "binary"}]}}


def uploading(schema, version="3.0.3", kind=DATA):
    content = {kind: {"schema": schema}}
    post = operation(operationId="upload", requestBody={"content": content, "required": True})
    return document({"/x": {"post": post}}, openapi=version, components={"schemas": SCHEMAS})


SPELLINGS = {
    "type file": {"type": "file"},
    "type File": {"type": "File"},
    "type binary": {"type": "binary"},
    "type file with another format": {"type": "file", "format": "jpeg"},
    "format binary without a type": {"format": "binary"},
    "format binary of an object": {"type": "object", "format": "binary"},
    "format file": {"type": "string", "format": "file"},
    "contentEncoding binary": {"type": "string", "contentEncoding": "binary"},
    "nullable, type file": {"type": "file", "nullable": True},
    "nullable, format of an object": {"type": "object", "format": "binary", "nullable": True},
    "an alternative": {"oneOf": [{"type": "file"}, {"type": "integer"}]},
    "a component": component("File"),
    "a component in allOf": {"allOf": [component("File")], "description": "A file."},
    "allOf without a type": component("Upload"),
}
OCTETS = "application/octet-stream"


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1", "3.2.0"])
@pytest.mark.parametrize("schema", SPELLINGS.values(), ids=SPELLINGS)
async def test_a_file_in_another_spelling_is_sent_as_a_file(schema, version, recorder):
    api = load_tools(uploading(object_of(f=schema, note=STRING), version), base_url=recorder.url)

    result = await api.call("upload", {"f": FILE, "note": "n"})

    assert result.success, result
    assert parts_of(recorder.last) == [
        ("f", "a.txt", OCTETS, "hello"),
        ("note", None, None, "n"),
    ]


LISTS = {
    "of type file": {"type": "array", "items": {"type": "file"}},
    "nullable": {"type": "array", "items": BINARY, "nullable": True},
    "of nullable files": {"type": "array", "items": {**BINARY, "nullable": True}},
    "of a component": {"type": "array", "items": component("File")},
    "of format binary": {"type": "array", "items": {"format": "binary"}},
}


@pytest.mark.parametrize("schema", LISTS.values(), ids=LISTS)
async def test_a_list_of_files_is_one_part_each(schema, recorder):
    api = load_tools(uploading(object_of(f=schema)), base_url=recorder.url)

    await api.call("upload", {"f": [FILE, {"base64": "AAE="}]})

    assert parts_of(recorder.last) == [
        ("f", "a.txt", OCTETS, "hello"),
        ("f", "file", OCTETS, "\x00\x01"),
    ]


MAPS = {
    "of files": BINARY,
    "of type file": {"type": "file"},
    "of a component": component("File"),
    "of lists": {"type": "array", "items": BINARY},
    "of files or null": {"anyOf": [BINARY, {"type": "null"}]},
}


@pytest.mark.parametrize("profile", [None, *PROFILES])
@pytest.mark.parametrize("schema", MAPS.values(), ids=MAPS)
async def test_files_whose_names_the_caller_gives(schema, profile, recorder):
    form = {
        "type": "object",
        "properties": {"note": STRING, "meta": {"type": "object"}},
        "additionalProperties": schema,
    }
    api = load_tools(uploading(form, "3.1.1"), base_url=recorder.url)
    value = [FILE] if schema.get("type") == "array" else FILE
    body = {"note": "n", "meta": {"a": 1}, "doc": value}
    if profile in ("openai_strict", "gemini"):
        entry = {"key": "doc", "value": value}
        body = {"note": "n", "meta": {"a": 1}, "additional_properties": [entry]}

    result = await api.call("upload", {"body": body}, profile=profile)

    assert result.success, result
    assert sorted(parts_of(recorder.last)) == [
        ("doc", "a.txt", OCTETS, "hello"),
        ("meta", None, "application/json", '{"a":1}'),
        ("note", None, None, "n"),
    ]


async def test_swagger_2_takes_a_list_of_files(recorder):
    files = {"name": "f", "in": "formData", "type": "array", "items": {"type": "file"}}
    post = operation(operationId="upload", parameters=[files | {"collectionFormat": "multi"}])
    api = load_tools(document({"/x": {"post": post}}, openapi="2.0"), base_url=recorder.url)

    await api.call("upload", {"f": [FILE]})

    assert parts_of(recorder.last) == [("f", "a.txt", OCTETS, "hello")]


NO_FILES = {
    "an object with properties": {"type": "object", "format": "binary", "properties": {"a": {}}},
    "a map": {"type": "object", "additionalProperties": STRING},
    "base64": {"type": "string", "contentEncoding": "base64"},
    "format byte": {"type": "string", "format": "byte"},
    "a number": {"type": "integer", "format": "binary"},
    "a choice": {"format": "binary", "enum": ["x", "y"]},
    "a date": {"type": "string", "format": "MM/YYYY"},
}


@pytest.mark.parametrize("schema", NO_FILES.values(), ids=NO_FILES)
def test_what_says_more_than_bytes_is_no_file(schema):
    (tool,) = load_tools(uploading(object_of(f=schema), "3.1.1"))

    assert "base64" not in tool.input_schema["properties"]["f"].get("properties", {})


WARNED = {
    "type file": ({"type": "file"}, "type: 'file' is not a type of JSON Schema; it is read as a"),
    "type binary": ({"type": "binary"}, "type: 'binary' is not a type of JSON Schema; it is"),
    "format": ({"format": "binary"}, "format: 'binary' is a format of strings; it is read as a"),
    "object": ({"type": "object", "format": "binary"}, "format: 'binary' is a format of strings"),
}


@pytest.mark.parametrize(("schema", "message"), WARNED.values(), ids=WARNED)
def test_one_warning_names_the_place(schema, message):
    api = load_tools(uploading(object_of(f=schema, g=BINARY, note=STRING)))

    (warning,) = api.warnings
    pointer = f"/paths/~1x/post/requestBody/content/{DATA.replace('/', '~1')}/schema/properties/f"
    assert warning.startswith(f"{pointer}/{message}")


def test_files_in_the_standards_spelling_need_no_warning():
    listed = [{"name": "f", "in": "formData", "type": "file"}]
    post = operation(operationId="upload", parameters=listed)

    assert load_tools(uploading(object_of(f=BINARY))).warnings == ()
    assert load_tools(document({"/x": {"post": post}}, openapi="2.0")).warnings == ()


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_sends_a_file(way, recorder, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("hello")
    arguments = [f"f=@{file}"] if way == "command line" else {"f": FILE}

    await call_by(way, uploading(object_of(f={"type": "file"})), arguments, recorder.url, tmp_path)

    assert parts_of(recorder.last) == [("f", "a.txt", OCTETS, "hello")]


async def test_a_generated_package_sends_maps_of_files(recorder, tmp_path):
    form = {"type": "object", "additionalProperties": {"type": "file"}}
    generate_package(uploading(form), tmp_path, name="uploads")

    with import_package(tmp_path, "uploads_tools") as package:
        await package.load(base_url=recorder.url).call("upload", {"body": {"doc": FILE}})

    assert parts_of(recorder.last) == [("doc", "a.txt", OCTETS, "hello")]
