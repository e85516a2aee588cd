"""Bodies of large documents, which a decoder converts, say what a conversion says."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from documents import document, operation
from hypothesis import given, settings
from hypothesis import strategies as st

from openapi_tools import Settings, load_tools
from openapi_tools.loader import opening, ready
from openapi_tools.loader.keywords import MAX_LABEL, MAX_LITERAL
from openapi_tools.loader.limits import DUPLICATES_BYTES

if TYPE_CHECKING:
    from openapi_tools import Toolset

PADDING = "x" * DUPLICATES_BYTES
PLAIN = Settings(cache=False)
JSON = "application/json"
LEAF = {"type": "string"}
PATHS = ("/one", "/two")


@pytest.fixture(autouse=True)
def outlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn outlines on, whatever the run of all tests says."""
    monkeypatch.delenv(opening.READER_VARIABLE, raising=False)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Tell of each body whether the decoder converted it."""
    seen: list[bool] = []
    original = ready.ready_bodies

    def watched(limit: int) -> Any:
        convert = original(limit)

        def noted(text: bytes) -> Any:
            found = convert(text)
            seen.append(found is not None)
            return found

        return noted

    monkeypatch.setattr(ready, "ready_bodies", watched)
    return seen


def with_content(content: Any, **members: Any) -> dict[str, Any]:
    """Return a large document with two operations that take a body."""
    body = {"content": content, **members}
    paths = {path: {"post": operation(requestBody=body)} for path in PATHS}
    return {**document(paths, components={"schemas": {"A": LEAF}}), "x-padding": PADDING}


def with_member(schema: Any) -> dict[str, Any]:
    """Return such a document; its bodies have one member."""
    whole = {"type": "object", "properties": {"a": schema, "b": LEAF}}
    return with_content({JSON: {"schema": whole}})


def text_of(root: dict[str, Any], **options: Any) -> bytes:
    return json.dumps(root, **options).encode()


def told(toolset: Toolset) -> list[Any]:
    """Return all that depends on bodies; schemas as text, where `1` is not `1.0`."""
    tools = [(json.dumps(tool.input_schema), tool.operation) for tool in toolset]
    return [tools, tuple(toolset.skipped), json.dumps(toolset.document)]


def exact(text: bytes) -> list[Any]:
    """Return what is told of a document that is parsed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(opening.READER_VARIABLE, "exact")
        return told(load_tools(text, settings=PLAIN))


PLAIN_SCHEMAS: list[Any] = [
    LEAF,
    {},
    {"type": "string", "description": "  <b>Words</b> &amp; more,\nsee [there](http://a.test). "},
    {"description": "x" * 5_000},
    {"title": "é 😀", "format": "date", "pattern": "^a\\d\t$", "default": "ü\n"},
    {"type": "number", "minimum": 1, "maximum": 1.0, "default": -0.0},
    {"type": "integer", "minimum": -(2**62), "default": 10**18},
    {"type": "string", "minLength": 0, "maxLength": 9, "enum": ["a", "b", "", "a"]},
    {"type": "string", "enum": [f"{number}" for number in range(2_000)]},
    {"type": "array", "items": LEAF, "minItems": 1, "maxItems": 9, "uniqueItems": True},
    {"type": "array", "items": True},
    {"type": "object", "properties": {"x": LEAF, "y z": {}}, "required": ["y z", "x"]},
    {"type": "object", "required": ["nowhere"], "additionalProperties": False},
    {"additionalProperties": {"type": "null"}, "minProperties": 1, "maxProperties": 2},
    {"anyOf": [LEAF, {"type": "integer", "writeOnly": True}], "deprecated": True},
    {"oneOf": [LEAF, {}], "default": None},
    {"type": "string", "x-extension": {"any": [1]}, "unknown": 5, "externalDocs": {}},
    {"properties": {"$ref": LEAF, "nullable": LEAF, "example": LEAF, "x-a": LEAF}},
]

OTHER_SCHEMAS: list[Any] = [
    True,
    None,
    "text",
    {"$ref": "#/components/schemas/A"},
    {"items": {"$ref": "#/components/schemas/A"}},
    {"type": "string", "nullable": True},
    {"type": "string", "x-nullable": True},
    {"type": "string", "example": "a"},
    {"type": "string", "readOnly": True},
    {"properties": {"x": {"readOnly": True}}, "required": ["x"]},
    {"type": ["string", "null"]},
    {"type": "file"},
    {"type": None},
    {"required": ["a", "a"]},
    {"required": []},
    {"required": "a"},
    {"required": ["a", 1]},
    {"required": ["x" * MAX_LITERAL]},
    {"enum": []},
    {"enum": ["a", 1]},
    {"enum": ["x" * 40_000]},
    {"description": 5},
    {"title": "x" * (MAX_LABEL + 1)},
    {"title": "a\x01b"},
    {"title": "a\x7fb"},
    {"title": "a\x85b"},
    {"format": "a\bb"},
    {"properties": {"a\x01b": LEAF}},
    {"properties": {"x": True}},
    {"properties": [LEAF]},
    {"pattern": "x" * (MAX_LITERAL + 1)},
    {"default": "x" * MAX_LITERAL},
    {"default": []},
    {"default": {"a": 1}},
    {"minimum": 10**300},
    {"maximum": "5"},
    {"minLength": -1},
    {"minLength": 1.0},
    {"uniqueItems": "yes"},
    {"items": [LEAF]},
    {"items": None},
    {"anyOf": []},
    {"anyOf": [True]},
    {"oneOf": {"a": LEAF}},
    {"allOf": [LEAF]},
    {"not": LEAF},
    {"const": 1},
    {"examples": ["a"]},
    {"multipleOf": 0},
    {"exclusiveMinimum": True, "minimum": 1},
    {"oneOf": [LEAF], "discriminator": {"propertyName": "a"}},
    {"additionalProperties": None},
]


@pytest.mark.parametrize(
    ("schema", "is_ready"),
    [(schema, True) for schema in PLAIN_SCHEMAS] + [(schema, False) for schema in OTHER_SCHEMAS],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_schema_is_the_same_however_it_is_converted(
    schema: Any, is_ready: bool, ascii_only: bool, decoded: list[bool]
) -> None:
    text = text_of(with_member(schema), ensure_ascii=ascii_only)

    found = told(load_tools(text, settings=PLAIN))

    assert (True in decoded) is is_ready
    assert found == exact(text)


def test_in_swagger_a_request_body_says_nothing() -> None:
    listed = [{"name": "b", "in": "body", "schema": {"properties": {"mine": LEAF}}}]
    stray = {"content": {JSON: {"schema": {"properties": {"stray": LEAF}}}}}
    paths = {"/a": {"post": operation(parameters=listed, requestBody=stray)}}
    text = text_of({**document(paths, openapi="2.0"), "x-padding": PADDING})

    (tool,) = load_tools(text, settings=PLAIN)

    assert "stray" not in json.dumps(tool.input_schema)
    assert told(load_tools(text, settings=PLAIN)) == exact(text)


CONTENTS: dict[str, Any] = {
    "forms": {"application/x-www-form-urlencoded": {"schema": {"properties": {"a": LEAF}}}},
    "encoding": {
        "multipart/form-data": {
            "schema": {"properties": {"a": {"type": "string", "format": "binary"}, "b": LEAF}},
            "encoding": {"b": {"contentType": "text/csv", "headers": {"X-A": {"schema": LEAF}}}},
        }
    },
    "two": {JSON: {"schema": LEAF}, "text/plain": {"schema": LEAF, "examples": {"a": {}}}},
    "bytes in JSON": {
        JSON: {"schema": {"properties": {"a": {"type": "string", "format": "binary"}}}},
        "multipart/form-data": {"schema": {"properties": {"a": {"format": "binary"}}}},
    },
    "lines": {"application/jsonl": {"schema": LEAF}},
    "bytes": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    "XML": {"application/xml": {"schema": {"properties": {"a": {"xml": {"attribute": True}}}}}},
    "nothing": {},
    "no schema": {JSON: {}},
    "items": {"application/jsonl": {"itemSchema": LEAF}},
    "reference": {JSON: {"$ref": "#/components/mediaTypes/A"}},
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("members", [{}, {"required": True, "description": "<b>All</b>"}])
def test_content_is_the_same_however_it_is_converted(
    content: dict[str, Any], members: dict[str, Any]
) -> None:
    text = text_of(with_content(content, **members))

    assert told(load_tools(text, settings=PLAIN)) == exact(text)


TEXTS = partial(st.text, st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS(max_size=6)
    | st.sampled_from(["string", "object", "array", "a", "#/components/schemas/A"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS(max_size=3), inner),
    max_leaves=4,
)
SCHEMAS: st.SearchStrategy[Any] = st.deferred(
    lambda: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "object", "array", "integer", "file"]),
            "description": TEXTS(max_size=20) | VALUES,
            "properties": st.dictionaries(TEXTS(max_size=4), SCHEMAS, max_size=3),
            "required": st.lists(st.sampled_from("abc"), max_size=3),
            "enum": st.lists(TEXTS(max_size=3), max_size=3),
            **dict.fromkeys(("items", "additionalProperties"), SCHEMAS | st.booleans()),
            **dict.fromkeys(("anyOf", "oneOf"), st.lists(SCHEMAS, max_size=2)),
            **dict.fromkeys(("default", "minimum", "maxLength", "title", "x-a", "pattern"), VALUES),
            "nullable": st.sampled_from([True, False, None]),
        },
    )
)


@pytest.mark.untraced
@given(schema=SCHEMAS, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
@settings(max_examples=150)
def test_any_schema_is_the_same_however_it_is_converted(
    schema: Any, ascii_only: bool, indent: int | None
) -> None:
    text = text_of(with_member(schema), ensure_ascii=ascii_only, indent=indent)

    assert told(load_tools(text, settings=PLAIN)) == exact(text)


def test_what_a_tool_shows_is_no_part_of_the_document() -> None:
    toolset = load_tools(text_of(with_member({"properties": {"x": {"type": "integer"}}})))
    before = json.dumps(toolset.document)

    for tool in toolset:
        tool.input_schema["properties"]["a"]["properties"]["x"]["type"] = "changed"

    assert json.dumps(toolset.document) == before


def test_a_repeated_key_counts_as_it_does_in_any_document() -> None:
    text = text_of(with_member({"type": "integer", "maxLength": 5}))
    text = text.replace(b'"maxLength": 5', b'"maxLength": "no", "maxLength": 5, "type": "string"')

    assert told(load_tools(text, settings=PLAIN)) == exact(text)
