"""A large JSON document, of which only what is looked at is parsed, is the same document."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from corpus import entries, parameters
from documents import document, operation, with_body
from fuzz.mutations import TAMPERED, Tampered
from pydantic_core import to_json

from openapi_tools import Settings, load_tools
from openapi_tools.errors import DocumentError, InvalidDocument
from openapi_tools.loader import glance, opening
from openapi_tools.loader.kept import KeptTool
from openapi_tools.loader.limits import DUPLICATES_BYTES
from openapi_tools.loader.outline import outline
from openapi_tools.loader.parse import parse

if TYPE_CHECKING:
    from pathlib import Path

    from corpus import Entry

    from openapi_tools import Toolset

PADDING = "x" * DUPLICATES_BYTES
PLAIN = Settings(cache=False)
SCHEMAS = {
    "Pet": {"type": "object", "properties": {"tag": {"$ref": "#/components/schemas/Tag"}}},
    "Tag": {"type": "string", "examples": [{"$ref": "#/nowhere"}]},
    "Alias": {"$ref": "#/components/schemas/Pet"},
    "a/b": {"type": "string"},
}
ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
LIMIT = {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 9}}
PETS: dict[str, Any] = {
    "summary": "Pets",
    "parameters": [ID],
    "get": operation(operationId="getPet", tags=["a", 5], parameters=[LIMIT], deprecated=True),
    "put": operation(
        operationId="putPet",
        summary="Change",
        parameters=[{"$ref": "#/components/parameters/Limit"}],
        requestBody={"$ref": "#/components/requestBodies/Pet"},
    ),
}
COMPONENTS = {
    "schemas": SCHEMAS,
    "parameters": {"Limit": {**LIMIT, "schema": {"$ref": "#/components/schemas/Tag"}}},
    "requestBodies": {
        "Pet": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}
    },
}


@pytest.fixture(autouse=True)
def outlines(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Turn outlines on, and tell of each document whether its outline was enough."""
    monkeypatch.delenv(opening.READER_VARIABLE, raising=False)
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE", raising=False)
    seen: list[bool] = []
    original = glance.glance

    def watched(*args: Any) -> Any:
        found = original(*args)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(glance, "glance", watched)
    return seen


def padded(root: dict[str, Any], **options: Any) -> bytes:
    """Return a document as a text that is large enough not to be parsed."""
    return json.dumps({**root, "x-padding": PADDING}, **options).encode()


def pets(**members: Any) -> dict[str, Any]:
    """Return a document whose outline is enough, but for what is given."""
    return document({"/pets/{id}": PETS}, components=COMPONENTS, **members)


def told(toolset: Toolset) -> list[Any]:
    """Return all that tools of a document say."""
    return [
        [(tool.name, tool.description, tool.method, tool.path, tool.tags) for tool in toolset],
        [(tool.deprecated, tool.input_schema, tool.operation) for tool in toolset],
        [tuple(toolset.skipped), toolset.warnings, toolset.counts, toolset.security_schemes],
        json.dumps(toolset.document),
    ]


def both(data: bytes, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what loading a text gives, with outlines and without: tools or an error."""
    found: list[Any] = []
    for value in ("", "exact"):
        monkeypatch.setenv(opening.READER_VARIABLE, value)
        try:
            found.append(told(load_tools(data, settings=PLAIN)))
        except DocumentError as error:
            found.append((type(error), str(error), error.pointer))
    return found


@pytest.mark.untraced
@pytest.mark.parametrize("entry", parameters(entries()))
def test_a_published_document_gives_the_same_tools_without_a_parse(entry: Entry) -> None:
    data = entry.file.read_bytes()
    root = parse(data, name="", duplicates=False).root
    text = to_json({**root, "x-padding": PADDING})

    assert told(load_tools(text, settings=PLAIN)) == told(load_tools(json.loads(text)))


def test_large_published_documents_need_no_parse(outlines: list[bool]) -> None:
    large = [
        entry for entry in entries() if entry.format == "json" and entry.size > DUPLICATES_BYTES
    ]
    if not large:
        pytest.skip("the published documents are not at hand")

    for entry in large:
        assert load_tools(entry.file, settings=PLAIN)

    assert outlines == [True] * len(large)


def test_a_sound_document_gives_the_same_tools_without_a_parse(
    outlines: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick, exact = both(padded(pets()), monkeypatch)

    assert outlines == [True]
    assert quick == exact
    assert [name for name, *_ in quick[0]] == ["get_pet", "put_pet"]


def test_a_small_document_is_parsed(outlines: list[bool]) -> None:
    load_tools(json.dumps(pets()), settings=PLAIN)

    assert outlines == []


VERSIONS = {
    "2.0": document(
        {
            "/a/{id}": {
                "parameters": [{"$ref": "#/parameters/Id"}],
                "post": operation(
                    consumes=["application/json"],
                    parameters=[
                        {"in": "body", "name": "b", "schema": {"$ref": "#/definitions/Pet"}},
                    ],
                ),
            }
        },
        openapi="2.0",
        definitions={"Pet": {"type": "object"}},
        parameters={"Id": {"name": "id", "in": "path", "required": True, "type": "string"}},
    ),
    "3.0": pets(openapi="3.0.3"),
    "3.2": document(
        {"/a": {"query": operation(parameters=[{"name": "q", "in": "query"}])}}, openapi="3.2.0"
    ),
}


@pytest.mark.parametrize("root", VERSIONS.values(), ids=VERSIONS)
def test_each_version_has_outlines(
    root: dict[str, Any], outlines: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick, exact = both(padded(root), monkeypatch)

    assert outlines == [True]
    assert quick == exact
    assert quick[0]


@pytest.mark.untraced
@hypothesis.settings(max_examples=200, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(TAMPERED)
def test_a_document_that_was_tampered_with_gives_the_same_tools_or_the_same_error(
    case: Tampered,
) -> None:
    data = case.data()
    if not data.startswith(b"{"):
        return
    with pytest.MonkeyPatch.context() as patch:
        quick, exact = both(data[:-1] + b" " * DUPLICATES_BYTES + data[-1:], patch)

    assert quick == exact


def with_parameters(*listed: Any, path: str = "/a", **members: Any) -> dict[str, Any]:
    """Return a document with pets and an operation that lists some parameters."""
    return document(
        {"/pets/{id}": PETS, path: {"get": operation(parameters=list(listed))}},
        components=COMPONENTS,
        **members,
    )


def schema(value: Any) -> dict[str, Any]:
    """Return a document with pets and an operation that takes a body of some schema."""
    paths = {"/pets/{id}": PETS, **with_body(value)}
    return document(paths, components={**COMPONENTS, "examples": {"A": {"value": 1}}})


UNSURE: dict[str, dict[str, Any]] = {
    "no paths": {**pets(), "paths": None},
    "paths that are none": {**pets(), "paths": []},
    "no version": {"info": {}, "paths": {}},
    "an odd version": {**pets(), "openapi": "4.0"},
    "a path item that is none": document({"/a": 5}),
    "a path item elsewhere": document({"/a": {"$ref": "#/x-a"}}, **{"x-a": PETS}),
    "an operation that is none": document({"/a": {"get": []}, "/b": {"get": operation()}}),
    "other methods": document(
        {"/a": {"additionalOperations": {"LINK": operation()}}}, openapi="3.2.0"
    ),
    "parameters that are none": document({"/a": {"parameters": "x", "get": operation()}}),
    "a parameter that is none": with_parameters("x"),
    "a parameter without a name": with_parameters({"in": "query"}),
    "a parameter without a place": with_parameters({"name": "q"}),
    "a parameter of another version": with_parameters({"name": "q", "in": "body"}),
    "a name that cannot be sent": with_parameters({"name": "a\nb", "in": "query"}),
    "a reference to another kind": with_parameters({"$ref": "#/components/schemas/Pet"}),
    "a parameter nowhere": with_parameters({"$ref": "#/components/parameters/None"}),
    "a reference that is empty": with_parameters({"$ref": ""}),
    "a reference that is null": with_parameters({"$ref": None}),
    "a path parameter without a place": with_parameters(ID),
    "a place without a parameter": with_parameters(path="/a/{x}"),
    "a path with dots": with_parameters(path="/a/../b"),
    "a whole query": with_parameters(
        {"in": "querystring", "content": {"text/plain": {}}}, openapi="3.2.0"
    ),
    "a body that is none": document({"/a": {"post": operation(requestBody=True)}}),
    "content that is none": document({"/a": {"post": operation(requestBody={"content": None})}}),
    "a schema that is none": schema({"properties": {"a": "text"}}),
    "an array of schemas": schema({"additionalProperties": []}),
    "a condition that is none": schema({"if": 5}),
    "a schema nowhere": schema({"$ref": "#/components/schemas/None"}),
    "a schema elsewhere": schema({"$ref": "other.json"}),
    "a part of a schema": schema({"$ref": "#/components/schemas/Pet/properties/tag"}),
    "a name with a slash": schema({"$ref": "#/components/schemas/a~1b"}),
    "a name with an escape": schema({"$ref": "#/components/schemas/%50et"}),
    "a reference to a reference": schema({"$ref": "#/components/schemas/Alias"}),
    "an example as schema": schema({"$ref": "#/components/examples/A"}),
    "a reference that is a number": schema({"$ref": 5}),
    "a reference that is a list": schema({"$ref": []}),
}


@pytest.mark.parametrize("root", UNSURE.values(), ids=UNSURE)
def test_a_document_that_may_be_wrong_somewhere_is_parsed(
    root: dict[str, Any], outlines: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick, exact = both(padded(root), monkeypatch)

    assert True not in outlines
    assert quick == exact


SOUND: dict[str, dict[str, Any]] = {
    "no paths": {"openapi": "3.1.0", "info": {}},
    "an extension among the paths": document({"x-a": {"$ref": "#/x"}, "/a": {"get": operation()}}),
    "null for parameters": document({"/a": {"get": operation(parameters=None)}}),
    "null for a body": document({"/a": {"get": operation(requestBody=None)}}),
    "an odd id": document({"/a": {"get": operation(operationId=5, tags="x", summary=["s"])}}),
    "no ids": document({"/a": {"get": operation(), "put": operation()}}),
    "the same id twice": document({p: {"get": operation(operationId="x")} for p in ("/a", "/b")}),
    "a property called $ref": schema(
        {"type": "object", "properties": {"$ref": {"type": "string"}, "a": True, "b": None}}
    ),
    "a tuple": schema({"items": [{"type": "string"}, {"$ref": "#/components/schemas/Tag"}]}),
    "an unknown member": schema({"unknown": {"$ref": "#/nowhere"}, "default": {"$ref": 5}}),
    "a circle": document(
        with_body({"$ref": "#/components/schemas/Tree"}),
        components={"schemas": {"Tree": {"items": {"$ref": "#/components/schemas/Tree"}}}},
    ),
    "an answer by a member of its own": document(
        {"/a": {"get": {"responses": {"200": {"$ref": "#/x-answers/Ok"}}}}},
        **{"x-answers": {"Ok": {"description": "", "content": {"text/plain": {}}}}},
    ),
    "security and servers": document(
        {"/a": {"get": operation(security=[{"key": []}])}},
        components={"securitySchemes": {"key": {"type": "apiKey", "name": "k", "in": "header"}}},
        servers=[{"url": "https://api.example.com/{v}", "variables": {"v": {"default": "1"}}}],
    ),
    "callbacks and links": document(
        {
            "/a": {
                "get": {
                    "callbacks": {"c": {}},
                    "responses": {"200": {"links": {"l": {}}, "description": ""}},
                }
            }
        },
        webhooks={"w": {}},
    ),
}


@pytest.mark.parametrize("root", SOUND.values(), ids=SOUND)
def test_what_is_odd_but_sound_is_no_reason_to_parse(
    root: dict[str, Any], outlines: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "components" in root and "schemas" not in root["components"]:
        root = {**root, "components": {**COMPONENTS, **root["components"]}}
    quick, exact = both(padded(root), monkeypatch)

    assert outlines == [True]
    assert quick == exact


def example(text: bytes) -> bytes:
    """Return a large document with an answer that has some text as an example."""
    answer = {"200": {"description": "", "content": {"text/plain": {"example": "PLACE"}}}}
    root = pets()
    root["paths"]["/example"] = {"get": {"responses": answer}}
    return padded(root).replace(b'"PLACE"', text)


def deep() -> bytes:
    """Return a large document that is nested too deep where no tool looks."""
    return padded(pets())[:-1] + b', "x-deep": ' + b"[" * 400 + b"]" * 400 + b"}"


BROKEN = {
    "a byte that is no UTF-8": b'"a\xff"',
    "half a surrogate pair": b'"\\ud800"',
    "half a surrogate pair as bytes": b'"\xed\xa0\x80"',
    "a line end in a text": b'"a\nb"',
    "a null byte": b'"a\0"',
    "no number": b"NaN",
    "infinity": b"-Infinity",
    "a zero in front": b"01",
    "no digits behind the point": b"1.",
    "no value": b"",
    "a comma too many": b"[1,]",
    "a comment": b"1 // one",
    "a wrong escape": b'"\\x41"',
    "a wrong word": b"True",
    "an open array": b"[1",
    "a key that is no text": b"{1: 2}",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_what_is_broken_where_nobody_looks_is_found(
    text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick, exact = both(example(text), monkeypatch)

    assert quick == exact
    assert isinstance(exact, tuple) or "It was read as YAML." in exact[2][1][0]


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: b" \r\n\t" + data + b"\n",
        lambda data: data.decode().encode("utf-16"),
        lambda data: data.replace(b'"$ref"', b'"\\u0024ref"'),
        lambda data: data.replace(b"#/components", b"#\\/components"),
        lambda data: data.replace(b'"/pets/{id}"', b'"\\/pets\\/{id}"'),
        lambda data: data.replace(b'"in"', b'"in": "cookie", "in"'),
        lambda data: data.replace(b'"paths"', b'"paths": 5, "paths"'),
        lambda data: data.replace(b'"openapi"', b'"paths": {}, "openapi"'),
        lambda data: data[:-1] + b', "paths": {}}',
        lambda data: data + b"}",
        lambda data: b"[" + data + b"]",
        lambda data: data.replace(b"Pets", "Tïere 🐶".encode()),
    ],
)
def test_the_same_is_read_however_it_is_written(
    change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick, exact = both(change(padded(pets())), monkeypatch)

    assert quick == exact


@pytest.mark.parametrize(
    ("text", "words"),
    [(b"[" * 400 + b"]" * 400, "nested deeper than"), (b"9" * 5000, "an integer of more than")],
    ids=["deep", "long"],
)
def test_what_no_document_may_have_is_refused_where_it_is_looked_at(
    text: bytes, words: str
) -> None:
    toolset = load_tools(example(text), settings=PLAIN)

    assert [tool.input_schema["type"] for tool in toolset] == ["object"] * 3
    with pytest.raises(InvalidDocument, match=words):
        _ = toolset.document


@pytest.mark.parametrize("kind", ["file", "text"])
def test_what_no_document_may_have_is_told_of_what_is_kept_as_well(
    kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "deep.json"
    file.write_bytes(deep())
    os.utime(file, ns=(10**18, 10**18 + 1))
    time.sleep(0.2)  # until its change is no longer fresh
    source = file if kind == "file" else file.read_bytes()
    called = str(file) if kind == "file" else ""

    first, second = load_tools(source), load_tools(source)

    assert isinstance(next(iter(second)), KeptTool)
    for toolset in (first, second):
        assert [tool.input_schema["type"] for tool in toolset] == ["object"] * 2
        with pytest.raises(InvalidDocument, match="nested deeper than") as told_of:
            _ = toolset.document
        assert told_of.value.source == called


def test_a_text_of_open_brackets_is_refused() -> None:
    data = padded(pets())[:-1] + b', "x": ' + b"[" * 500_000

    with pytest.raises(InvalidDocument, match="not valid JSON"):
        load_tools(data, settings=PLAIN)


def test_many_small_values_are_parsed_which_takes_less_memory(outlines: list[bool]) -> None:
    data = padded(pets())[:-1] + b', "x-many": [' + b"{}," * 1_200_000 + b"{}]}"

    assert len(load_tools(data, settings=PLAIN)) == 2
    assert outlines == []


def test_a_byte_order_mark_is_no_reason_to_parse(outlines: list[bool]) -> None:
    assert len(load_tools(b"\xef\xbb\xbf" + padded(pets()), settings=PLAIN)) == 2
    assert outlines == [True]


def test_in_the_document_nothing_stands_in_two_places() -> None:
    item = {"parameters": [ID], "get": operation(parameters=[LIMIT])}
    toolset = load_tools(padded(document({"/a/{id}": item, "/b/{id}": item})), settings=PLAIN)
    schemas = [json.dumps(tool.input_schema) for tool in toolset]
    one, other = toolset.document["paths"].values()

    for lists in (one["parameters"], one["get"]["parameters"]):
        lists[0]["schema"]["type"] = "array"
        lists.append({})

    assert other == item
    assert [json.dumps(tool.input_schema) for tool in toolset] == schemas
    assert [tool.operation.parameters[0].name for tool in toolset] == ["id", "id"]


def test_with_the_switch_everything_is_parsed(
    outlines: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(opening.READER_VARIABLE, "exact")

    assert len(load_tools(padded(pets()), settings=PLAIN)) == 2
    assert outlines == []


def test_the_switch_holds_for_what_was_kept_before(monkeypatch: pytest.MonkeyPatch) -> None:
    data = deep()
    load_tools(data)
    assert isinstance(next(iter(load_tools(data))), KeptTool)
    monkeypatch.setenv(opening.READER_VARIABLE, "exact")

    with pytest.raises(InvalidDocument, match="nested deeper than"):
        load_tools(data)


@pytest.mark.untraced
def test_a_long_chain_of_components_is_looked_at_once(outlines: list[bool]) -> None:
    """A look at all references at each of its levels would take minutes."""
    count = 40_000
    schemas = {
        f"S{number}": {"items": {"$ref": f"#/components/schemas/S{number + 1}"}}
        for number in range(count)
    }
    body = with_body({"$ref": "#/components/schemas/S0"})
    data = padded(document(body, components={"schemas": {**schemas, f"S{count}": {}}}))

    start = time.process_time()
    load_tools(data, settings=PLAIN)

    assert outlines == [True]
    assert time.process_time() - start < 10


def test_a_member_of_the_root_is_found_while_another_thread_looks_for_all() -> None:
    root = outline(b'{"openapi": "3.1.0", "x-far": {"a": 1}}')
    assert root is not None

    class Table(dict[str, Any]):
        """Lets another thread in after the first look."""

        def __contains__(self, key: object) -> bool:
            found = super().__contains__(key)
            root.known()
            return found

    root._table = Table(root.table)
    assert "x-far" in root

    again = outline(b'{"openapi": "3.1.0", "x-far": {"a": 1}}')
    assert again is not None
    root = again
    root._table = Table(root.table)
    assert root.get("x-far") == {"a": 1}


def test_what_is_kept_of_an_outline_is_the_same(outlines: list[bool]) -> None:
    data = padded(pets(), indent=1)

    first = told(load_tools(data))
    second = told(load_tools(data))

    assert outlines == [True]
    assert first == second


@pytest.mark.untraced
def test_threads_see_the_same_tools() -> None:
    names = [f"/p{number}" for number in range(200)]
    paths = {
        path: {"post": operation(parameters=[LIMIT], requestBody=PETS["put"]["requestBody"])}
        for path in names
    }
    toolset = load_tools(padded(document(paths, components=COMPONENTS)), settings=PLAIN)
    found: list[Any] = []
    start = threading.Barrier(4, timeout=60)  # one that never starts holds up no other

    def look() -> None:
        start.wait()
        found.append((toolset.document, [id(tool.input_schema) for tool in toolset]))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)

    assert len(found) == 4
    assert all(each == found[0] for each in found)


def test_a_large_document_is_freed_with_its_tools() -> None:
    toolset = load_tools(padded(pets()), settings=PLAIN)
    for tool in toolset:
        assert tool.input_schema
        assert tool.operation
        del tool
    assert toolset.document
    known = weakref.ref(toolset["get_pet"]._shared.inputs._document)
    gc.collect()
    gc.disable()
    try:
        del toolset
        assert known() is None, "without a collector's help"
    finally:
        gc.enable()
