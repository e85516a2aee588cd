"""Multipart properties that a document describes as strings: given as a string or as a file."""

import pytest
from call_ways import WAYS, call_by
from documents import component, document, operation
from packages import import_package
from servers.documents import object_of
from servers.sent_parts import parts_of

from openapi_tools import FolderStore, Settings, generate_package, load_tools
from openapi_tools.providers.definitions import PROFILES

DATA, OCTETS = "multipart/form-data", "application/octet-stream"
STRING = {"type": "string"}
FILE = {"text": "a;b", "filename": "rows.csv"}
SCHEMAS = {"Text": STRING, "Csv": {"type": "string", "format": "text/csv"}}


def uploading(schema, version="3.0.3", **fields):
    content = {DATA: {"schema": object_of(f=schema, note=STRING), **fields}}
    post = operation(operationId="upload", requestBody={"content": content, "required": True})
    return document({"/x": {"post": post}}, openapi=version, components={"schemas": SCHEMAS})


STRINGS = {
    "a string": STRING,
    "not empty": {"type": "string", "minLength": 1},
    "a component": component("Text"),
    "nullable": {"type": "string", "nullable": True},
    "a string or null": {"anyOf": [STRING, {"type": "null"}]},
    "one of two": {"oneOf": [STRING, {"type": "integer"}]},
    "described": {"type": "string", "description": "The table to import."},
}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1", "3.2.0"])
@pytest.mark.parametrize("schema", STRINGS.values(), ids=STRINGS)
async def test_a_string_takes_a_file_too(schema, version, recorder):
    api = load_tools(uploading(schema, version), base_url=recorder.url)

    as_file = await api.call("upload", {"f": FILE, "note": "n"})
    file = parts_of(recorder.last)
    as_text = await api.call("upload", {"f": "a;b", "note": "n"})

    assert as_file.success, as_file
    assert file == [("f", "rows.csv", OCTETS, "a;b"), ("note", None, None, "n")]
    assert as_text.success, as_text
    assert parts_of(recorder.last) == [("f", None, None, "a;b"), ("note", None, None, "n")]


async def test_a_string_that_holds_json_is_sent_as_it_is(recorder):
    schema = {"type": "string", "contentMediaType": "application/json"}
    api = load_tools(uploading(schema, "3.1.1"), base_url=recorder.url)

    await api.call("upload", {"f": '{"a":1}'})

    assert parts_of(recorder.last) == [("f", None, None, '{"a":1}')]


async def test_a_list_of_strings_takes_both(recorder):
    api = load_tools(uploading({"type": "array", "items": STRING}), base_url=recorder.url)

    result = await api.call("upload", {"f": ["x", FILE]})

    assert result.success, result
    assert parts_of(recorder.last) == [("f", None, None, "x"), ("f", "rows.csv", OCTETS, "a;b")]


async def test_a_map_of_strings_takes_both(recorder):
    form = {"type": "object", "additionalProperties": STRING}
    content = {DATA: {"schema": form}}
    post = operation(operationId="upload", requestBody={"content": content, "required": True})
    api = load_tools(document({"/x": {"post": post}}), base_url=recorder.url)

    result = await api.call("upload", {"body": {"a": "x", "b": FILE}})

    assert result.success, result
    assert parts_of(recorder.last) == [("a", None, None, "x"), ("b", "rows.csv", OCTETS, "a;b")]


async def test_swagger_2_does_too(recorder):
    listed = [{"name": "f", "in": "formData", "type": "string"}]
    post = operation(operationId="upload", parameters=listed, consumes=[DATA])
    api = load_tools(document({"/x": {"post": post}}, openapi="2.0"), base_url=recorder.url)

    await api.call("upload", {"f": FILE})

    assert parts_of(recorder.last) == [("f", "rows.csv", OCTETS, "a;b")]


async def test_the_media_type_is_the_callers_or_the_documents(recorder):
    file = {**FILE, "content_type": "text/tab-separated-values"}
    encoding = {"f": {"contentType": "text/csv"}}
    api = load_tools(uploading(STRING, encoding=encoding), base_url=recorder.url)

    await api.call("upload", {"f": FILE})
    declared = parts_of(recorder.last)
    await api.call("upload", {"f": file})

    assert declared == [("f", "rows.csv", "text/csv", "a;b")]
    assert parts_of(recorder.last) == [("f", "rows.csv", "text/tab-separated-values", "a;b")]


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1"])
@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string", "format": "text/csv"}, "text/csv"),
        ({"type": "string", "format": "application/json"}, "application/json"),
        ({"type": "string", "format": "image/png", "nullable": True}, "image/png"),
        ({"format": "application/pdf"}, "application/pdf"),
        (component("Csv"), "text/csv"),
        ({"type": "string", "format": "image/*"}, OCTETS),
    ],
)
async def test_a_format_that_is_a_media_type_is_a_file_of_it(schema, kind, version, recorder):
    api = load_tools(uploading(schema, version), base_url=recorder.url)

    refused = await api.call("upload", {"f": "a;b"})
    result = await api.call("upload", {"f": FILE})

    assert result.success, result
    assert parts_of(recorder.last) == [("f", "rows.csv", kind, "a;b")]
    assert '"base64"' in str(refused)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "enum": ["a", "b"]},
        {"type": "string", "pattern": "^a"},
        {"type": "string", "maxLength": 30},
        {"type": "string", "format": "date"},
        {"type": "string", "format": "uuid"},
        {"type": "string", "contentEncoding": "base64"},
        {"type": "integer"},
        {"type": "boolean"},
    ],
)
async def test_a_string_of_a_certain_form_takes_no_file(schema, recorder):
    api = load_tools(uploading(schema, "3.1.1"), base_url=recorder.url)

    result = await api.call("upload", {"f": FILE})

    assert str(result).startswith("/f")
    assert recorder.requests == []


@pytest.mark.parametrize("profile", PROFILES)
async def test_every_profile_takes_both(profile, recorder):
    api = load_tools(uploading(STRING), base_url=recorder.url)
    api.definitions(profile)

    result = await api.call("upload", {"f": FILE, "note": "n"}, profile=profile)

    assert result.success, result
    assert parts_of(recorder.last) == [("f", "rows.csv", OCTETS, "a;b"), ("note", None, None, "n")]


async def test_a_handle_and_a_path_are_files_too(recorder, tmp_path):
    (tmp_path / "rows.csv").write_text("a;b")
    with (tmp_path / "rows.csv").open("rb") as file:
        handle = FolderStore(tmp_path / "kept").put(file, filename="kept.csv")
    settings = Settings(
        base_url=recorder.url, file_roots=[tmp_path], download_dir=tmp_path / "kept"
    )
    api = load_tools(uploading(STRING), settings=settings)

    of_handle = await api.call("upload", {"f": {"handle": handle}})
    of_path = await api.call("upload", {"f": {"path": str(tmp_path / "rows.csv")}})

    assert (of_handle.success, of_path.success) == (True, True), (of_handle, of_path)
    assert parts_of(recorder.requests[0])[0][1] == "kept.csv"
    assert parts_of(recorder.last)[0][1] == "rows.csv"


@pytest.mark.parametrize("schema", [STRING, {"type": "string", "format": "text/csv"}])
@pytest.mark.parametrize("way", WAYS)
async def test_every_way_sends_it(schema, way, recorder, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("a;b")
    typed = [f"f=@{file}", "note=5"]
    arguments = typed if way == "command line" else {"f": FILE, "note": "5"}
    kind = OCTETS if schema is STRING else "text/csv"

    await call_by(way, uploading(schema), arguments, recorder.url, tmp_path)

    assert parts_of(recorder.last) == [("f", "rows.csv", kind, "a;b"), ("note", None, None, "5")]


async def test_files_in_a_list_and_bytes_come_from_the_command_line(recorder, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\x00\x01")
    typed = [f"f=@{tmp_path / 'a.bin'}", "f=x"]
    document = uploading({"type": "array", "items": STRING})

    await call_by("command line", document, typed, recorder.url, tmp_path)

    assert parts_of(recorder.last) == [("f", "a.bin", OCTETS, "\x00\x01"), ("f", None, None, "x")]


async def test_a_generated_package_takes_both(recorder, tmp_path):
    generate_package(uploading(STRING), tmp_path, name="strings")

    with import_package(tmp_path, "strings_tools") as package:
        await package.load(base_url=recorder.url).call("upload", {"f": FILE})

    assert parts_of(recorder.last) == [("f", "rows.csv", OCTETS, "a;b")]
