"""Uploads that a document offers as multipart and as something that holds no bytes."""

import pytest
from call_ways import WAYS, call_by
from documents import component, document, operation
from servers.documents import object_of
from servers.sent_parts import parts_of

from openapi_tools import load_tools

JSON, FORM, DATA = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
STRING, BINARY = {"type": "string"}, {"type": "string", "format": "binary"}
MEDIA = {"type": "string", "contentMediaType": "application/octet-stream"}
FILE = {"text": "hello", "filename": "a.txt"}
SENT = ("f", "a.txt", "application/octet-stream", "hello")
SCHEMAS = {
    "File": BINARY,
    "Upload": {"type": "object", "properties": {"f": component("File")}},
    "Part": {"type": "array", "items": component("File")},
}
ORDERS = {
    "urlencoded first": (FORM, DATA),
    "multipart first": (DATA, FORM),
    "three, as frameworks list them": (JSON, FORM, DATA),
    "three, the other way": (DATA, FORM, JSON),
    "urlencoded between": (JSON, DATA, FORM),
}


def document_of(schemas, version="3.0.3"):
    """Return a document with one upload; `schemas` are by media type."""
    content = {kind: {"schema": schema} for kind, schema in schemas.items()}
    post = operation(operationId="upload", requestBody={"content": content, "required": True})
    return document({"/x": {"post": post}}, openapi=version, components={"schemas": SCHEMAS})


BODIES = {
    "a property": (object_of(f=BINARY), False),
    "an item": (object_of(f={"type": "array", "items": BINARY}), True),
    "a nullable property": (object_of(f={**BINARY, "nullable": True}), False),
    "a component": (component("Upload"), False),
    "a list in a component": (object_of(f=component("Part")), True),
    "an alternative": (object_of(f={"anyOf": [BINARY, {"type": "null"}]}), False),
    "a branch of allOf": ({"allOf": [component("Upload"), {"description": "x"}]}, False),
    "a branch of oneOf": ({"oneOf": [component("Upload"), object_of(url=STRING)]}, False),
    "a map": ({"type": "object", "additionalProperties": BINARY}, False),
    "contentMediaType": (object_of(f=MEDIA), False),
    "a format that is a media type": (
        object_of(f={"type": "string", "format": "image/png"}),
        False,
    ),
    "type file": (object_of(f={"type": "file"}), False),
}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1"])
@pytest.mark.parametrize("kinds", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize(("schema", "many"), BODIES.values(), ids=BODIES)
def test_multipart_is_chosen_where_a_file_is_among_the_properties(schema, many, kinds, version):
    (tool,) = load_tools(document_of(dict.fromkeys(kinds, schema), version))

    assert tool.operation.body.media_type == DATA


@pytest.mark.parametrize("kinds", [(FORM, DATA), (DATA, FORM)])
def test_multipart_is_chosen_where_only_its_own_schema_has_a_file(kinds):
    schemas = {FORM: object_of(url=STRING), DATA: object_of(f=BINARY)}
    (tool,) = load_tools(document_of({kind: schemas[kind] for kind in kinds}))

    assert tool.operation.body.media_type == DATA


@pytest.mark.parametrize("kinds", [(FORM, DATA), (DATA, FORM)])
def test_a_form_without_files_is_urlencoded(kinds):
    (tool,) = load_tools(document_of(dict.fromkeys(kinds, object_of(a=STRING, b={}))))

    assert tool.operation.body.media_type == FORM


def test_the_users_choice_of_media_types_counts():
    schemas = dict.fromkeys((FORM, DATA), object_of(f=BINARY))
    (tool,) = load_tools(document_of(schemas), media_types=(FORM,))

    assert tool.operation.body.media_type == FORM


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kinds", ORDERS.values(), ids=ORDERS)
async def test_every_way_sends_the_file(kinds, way, recorder, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("hello")
    arguments = {"f": FILE, "note": "n"}
    arguments = [f"f=@{file}", "note=n"] if way == "command line" else arguments
    schema = object_of(f=BINARY, note=STRING)

    await call_by(way, document_of(dict.fromkeys(kinds, schema)), arguments, recorder.url, tmp_path)

    assert parts_of(recorder.last) == [SENT, ("note", None, None, "n")]
