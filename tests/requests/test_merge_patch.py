"""JSON Merge Patch bodies: null removes a property at every level (RFC 7396, section 2)."""

import json

import pytest
from call_ways import WAYS, call_by
from documents import component, document, operation
from packages import import_package
from servers.documents import object_of

from openapi_tools import Settings, generate_package, load_tools
from openapi_tools.providers.definitions import PROFILES, define_tool

MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
TEXT = {"type": "string", "minLength": 1}
NODE = {"type": "object", "properties": {"label": TEXT, "next": component("Node")}}
NAMED = {"type": "object", "properties": {"name": {"type": "string", "enum": ["a", "b"]}}}
SCHEMAS = {"Node": NODE, "Named": NAMED}
CLOSED = object_of(
    title=TEXT,
    tags={"type": "array", "items": TEXT},
    rows={"type": "array", "items": object_of(cell=TEXT)},
    labels={"type": "object", "additionalProperties": TEXT},
    size=object_of(width={"type": "integer"}, depth=object_of(front={"const": 1})),
    node=component("Node"),
    either={"oneOf": [component("Node"), component("Named")]},
    both={"allOf": [component("Named"), {"properties": {"age": {"type": "integer"}}}]},
)


def patching(schema=CLOSED, kind=MERGE, version="3.1.1", **fields):
    """Return a document whose only operation patches with a body of that schema."""
    content = {kind: {"schema": schema}}
    patch = operation(operationId="patch", requestBody={"required": True, "content": content})
    return document(
        {"/x": {"patch": patch | fields}}, openapi=version, components={"schemas": SCHEMAS}
    )


REMOVALS = {
    "a string": {"title": None},
    "an array": {"tags": None},
    "an object": {"size": None},
    "a property of an object": {"size": {"width": None}},
    "a constant two levels down": {"size": {"depth": {"front": None}}},
    "a key of a map": {"labels": {"old": None, "new": "x"}},
    "a component": {"node": None},
    "a property of a component": {"node": {"label": None}},
    "deep in a recursive component": {"node": {"next": {"next": {"label": None}}}},
    "of one of two alternatives": {"either": {"name": None}},
    "of the other": {"either": {"next": None}},
    "beside another branch": {"both": {"name": None, "age": None}},
    "everything at once": {"title": None, "size": {"width": None}, "node": None},
}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1", "3.2.0"])
@pytest.mark.parametrize("value", REMOVALS.values(), ids=REMOVALS)
async def test_null_is_sent_at_every_level(value, version, recorder):
    api = load_tools(patching(version=version), base_url=recorder.url)

    result = await api.call("patch", value)

    assert result.success, result
    assert json.loads(recorder.last.body) == value


@pytest.mark.parametrize("kind", [MERGE, f"{MERGE}; charset=utf-8", MERGE.upper(), STRATEGIC])
async def test_the_media_type_decides_in_any_spelling(kind, recorder):
    api = load_tools(patching(kind=kind), base_url=recorder.url)

    await api.call("patch", {"size": {"width": None}})

    assert json.loads(recorder.last.body) == {"size": {"width": None}}


async def test_null_for_an_optional_property_of_other_json_means_that_it_is_missing(recorder):
    api = load_tools(patching(kind="application/json"), base_url=recorder.url)

    await api.call("patch", {"title": None, "size": {"width": None}})

    assert json.loads(recorder.last.body) == {"size": {}}


async def test_null_inside_an_array_is_a_value_that_the_schema_decides_about(recorder):
    api = load_tools(patching(), base_url=recorder.url)

    of_array = await api.call("patch", {"tags": [None]})
    of_item = await api.call("patch", {"rows": [{"cell": None}]})

    assert "/tags/0: expected a string, got null" in str(of_array)
    assert of_item.success
    assert json.loads(recorder.last.body) == {"rows": [{}]}


async def test_a_swagger_2_body_is_one_too(recorder):
    listed = [{"in": "body", "name": "b", "required": True, "schema": object_of(a=TEXT)}]
    patch = operation(operationId="patch", consumes=[MERGE], parameters=listed)
    api = load_tools(document({"/x": {"patch": patch}}, openapi="2.0"), base_url=recorder.url)

    await api.call("patch", {"a": None})

    assert recorder.last.body == b'{"a":null}'


async def test_an_optional_query_parameter_beside_it_may_still_be_null(recorder):
    query = [{"name": "q", "in": "query", "schema": {"type": "string"}}]
    api = load_tools(patching(parameters=query), base_url=recorder.url)

    await api.call("patch", {"q": None, "title": None})

    assert (recorder.last.target, recorder.last.body) == ("/x", b'{"title":null}')


@pytest.mark.parametrize("body", ["flat", "nested"])
@pytest.mark.parametrize("profile", [*PROFILES, None])
async def test_null_is_sent_in_every_profile(profile, body, recorder):
    api = load_tools(patching(), settings=Settings(base_url=recorder.url, body=body))
    value = {"title": None, "size": {"width": None}}
    arguments = value if body == "flat" else {"body": value}

    result = await api.call("patch", arguments, profile=profile)

    assert result.success, result
    assert json.loads(recorder.last.body) == value


@pytest.mark.parametrize("chosen", [(MERGE,), ("application/json", MERGE)])
def test_strict_is_false_where_null_and_a_missing_property_differ(chosen):
    settings = Settings(media_types={"patch": chosen})
    (tool,) = load_tools(patching(), settings=settings)

    definition = define_tool(tool, "openai_strict", loosely=True)
    plain = define_tool(tool, "openai", loosely=True)

    assert definition.value == plain.value
    (note,) = definition.notes
    assert note.startswith("`strict` is false: #/properties: null removes a property in a JSON")


@pytest.mark.parametrize("way", WAYS)
async def test_null_is_sent_by_every_way(way, recorder, tmp_path):
    value = {"title": None, "labels": {"old": None}, "node": {"label": None}}

    await call_by(way, patching(), value, recorder.url, tmp_path)

    assert json.loads(recorder.last.body) == value


async def test_a_generated_package_sends_null_too(recorder, tmp_path):
    generate_package(patching(), tmp_path, name="patches")

    with import_package(tmp_path, "patches_tools") as package:
        result = await package.load(base_url=recorder.url).call("patch", {"node": {"label": None}})

    assert result.success, result
    assert recorder.last.body == b'{"node":{"label":null}}'
