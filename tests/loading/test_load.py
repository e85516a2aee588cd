from __future__ import annotations

import asyncio
import gc
import itertools
import json
import re
import weakref
from functools import reduce
from operator import getitem
from typing import Any

import pytest
from documents import document, operation, tools, with_body

from openapi_tools import (
    CredentialsError,
    OpenAPIToolsError,
    Select,
    Settings,
    aload_tools,
    load_tools,
)

WRONG = [None, True, 0, 1.5, "text", [], [1], {}, {"a": 1}, {"$ref": "#/nowhere"}]


def whole():
    """Return a document that has every kind of property which is looked at."""
    part = {
        "schema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        "encoding": {"a": {"contentType": "text/plain", "headers": {"X": {"schema": {}}}}},
    }
    described = {"name": "p", "in": "header", "content": {"text/plain": {"schema": {}}}}
    styled = {"name": "q", "in": "query", "style": "form", "explode": True, "description": "d"}
    get = operation(
        operationId="o",
        tags=["t"],
        summary="s",
        security=[{"k": []}],
        servers=[{"url": "/"}],
        parameters=[{**styled, "schema": {"type": "string"}}],
        requestBody={"content": {"multipart/form-data": part}},
        callbacks={},
    )
    return document(
        {"/x": {"get": get, "parameters": [described]}, "/y": {"get": operation()}},
        servers=[{"url": "https://{v}.example", "variables": {"v": {"default": "a"}}}],
        security=[],
        webhooks={},
        components={"securitySchemes": {"k": {"type": "http"}}},
        **{"$self": ""},
    )


def places(node, *path):
    """Yield the place of every property, but for the version."""
    items = node.items() if isinstance(node, dict) else ()
    for key, value in enumerate(node) if isinstance(node, list) else items:
        if key != "openapi":
            yield *path, key
            yield from places(value, *path, key)


@pytest.mark.parametrize("place", list(places(whole())), ids=lambda p: "/".join(map(str, p)))
@pytest.mark.parametrize("openapi", ["3.0.3", "3.2.0", "2.0"])
def test_a_property_of_any_wrong_type_is_a_typed_error_or_harmless(place, openapi):
    for wrong in WRONG:
        root = whole()
        root["openapi"] = openapi
        if openapi == "2.0":
            root["swagger"] = "2.0"
        *outer, last = place
        reduce(getitem, outer, root)[last] = wrong
        try:
            toolset = load_tools(root)
        except OpenAPIToolsError as error:
            assert str(error)  # noqa: PT017 -- a typed error with a text is one right outcome
        else:
            for tool in toolset:
                json.dumps([tool.input_schema, tool.description], allow_nan=False)
                assert tool.operation.method == "GET"
                assert eval(repr(tool.operation), vars(__import__("openapi_tools.model").model))
            assert toolset.counts["operations"] == len(toolset) + len(toolset.skipped)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        *(("/x", {"parameters": wrong}) for wrong in ("x", [3], [{"name": "a", "in": "url"}])),
        *(("/x", {"requestBody": wrong}) for wrong in (3, {"content": []})),
        ("/x", {"requestBody": {"content": {"application/json": "x"}}}),
        *(
            ("/x", {"requestBody": {"content": {"multipart/form-data": wrong}}})
            for wrong in (
                {"encoding": {"a": 5}},
                {"encoding": {"a": {"headers": {"X": "x"}}}},
                {"prefixEncoding": ["x"]},
            )
        ),
        *((path, {}) for path in ("/a/../b", "/a\r\nb", "/%2e%2e/x", "/a/%2e/b", "/a\ud800")),
    ],
)
def test_one_bad_operation_never_sinks_the_rest(path, fields):
    toolset = tools({path: {"get": operation(**fields)}, "/ok": {"get": operation()}})

    assert [tool.path for tool in toolset] == ["/ok"]
    (skipped,) = toolset.skipped
    assert skipped.pointer.startswith("/paths/")
    assert skipped.reason


def test_an_unknown_location_is_reported_with_those_that_the_version_has():
    (skipped,) = tools({"/x": {"get": operation(parameters=[{"name": "a", "in": "url"}])}}).skipped

    assert skipped.pointer == "/paths/~1x/get/parameters/0"
    assert "'in' is 'url'; 3.1.1 has path, query, header, cookie." in skipped.reason


DESCRIBED = [
    ("both", {"summary": "Find.", "description": "Finds pets."}, "Find.\nFinds pets."),
    ("said twice", {"summary": "Finds pets", "description": "Finds pets by tag."},
     "Finds pets by tag."),
    ("nothing", {}, "GET /x"),
    ("blank", {"summary": "  ", "description": "\n"}, "GET /x"),
    ("deprecated", {"summary": "Old.", "deprecated": True}, "Deprecated. Old."),
    ("markup",
     {"description": "<p>See <a href='u'>the docs</a> &amp; [more](https://x.example).</p>"},
     "See the docs & more."),
    ("control characters", {"description": "a\x00b\x1b[31mc\u202ed\ud800e"}, "a b [31mcd e"),
    ("wrong type", {"summary": 3, "description": ["x"]}, "GET /x"),
    *((text, {"description": text}, text) for text in (
        "containers with exit code of `<int>`", "refs/heads/<branch name>",
        "attach://<file_attach_name>", "`<p>` in code stays", "a < b and c > d")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "expected"), [r[1:] for r in DESCRIBED], ids=[r[0] for r in DESCRIBED]
)
def test_the_description_is_summary_and_description_as_plain_text(fields, expected):
    (tool,) = tools({"/x": {"get": operation(**fields)}})

    assert tool.description == expected


def test_a_long_description_is_cut_at_a_word_boundary():
    paths = {"/x": {"get": operation(description="word " * 1000, deprecated=True)}}
    (tool,) = tools(paths)
    (short,) = tools(paths, settings=Settings(description_chars=32))

    assert 1000 < len(tool.description) <= 1024
    assert re.fullmatch(r"Deprecated\. (word )+word…", tool.description)
    assert short.description == "Deprecated. word word word word…"


PATHS: dict[str, Any] = {
    "/pets": {"get": operation(operationId="listPets", tags=["pets"]),
              "post": operation(operationId="addPet", tags=["pets", "write"])},
    "/pets/{id}": {"delete": operation(operationId="deletePet", tags=["pets"], deprecated=True)},
    "/stores": {"get": operation(operationId="listStores")},
}  # fmt: skip
SELECTED = [
    (Select(), ["list_pets", "add_pet", "delete_pet", "list_stores"]),
    (Select(tags=["write"]), ["add_pet"]),
    (Select(tags="pets", methods=["get", "DELETE"]), ["list_pets", "delete_pet"]),
    (Select(names=["list_*"]), ["list_pets", "list_stores"]),
    (Select(names=["add_pet", "nothing"]), ["add_pet"]),
    (Select(paths=["/pets/{id}"]), ["delete_pet"]),
    (Select(paths=["/pets*"], deprecated=False), ["list_pets", "add_pet"]),
    (Select(deprecated=True), ["delete_pet"]),
    (Select(where=lambda tool: tool.read_only), ["list_pets", "list_stores"]),
    (Select(read_only=True), ["list_pets", "list_stores"]),
    (Select(tags="pets", read_only=False), ["add_pet", "delete_pet"]),
    (Select(exclude=Select(names=["*_pet", "list_stores"])), ["list_pets"]),
    (Select(tags="pets", exclude={"methods": ["post"]}), ["list_pets", "delete_pet"]),
    *((Select(**{name: []}), []) for name in ("tags", "methods", "names", "paths")),
    (Select(tags=None, names=["add_pet"]), ["add_pet"]),
    (Select(tags=["pets"], names=[]), []),
    *(
        (Select(names="*_pet", exclude=nobody), ["add_pet", "delete_pet"])
        for nobody in (Select(), {}, {"tags": []}, {"names": [], "tags": ["pets"]})
    ),
]


@pytest.mark.parametrize(("select", "names"), SELECTED, ids=lambda value: str(value)[:60])
def test_operations_are_selected_at_load_and_later(select, names):
    at_load = load_tools(document(PATHS), select=select)
    later = load_tools(document(PATHS)).select(select)

    assert [tool.name for tool in at_load] == names
    assert [tool.name for tool in later] == names


def test_a_selection_does_not_change_names():
    paths = {"/a": {"get": operation(operationId="x")}, "/b": {"get": operation(operationId="x")}}

    every = [tool.name for tool in tools(paths)]
    (second,) = load_tools(document(paths), select=Select(paths="/b"))

    assert second.name == every[1]


def test_a_prefix_stands_before_every_name_and_counts_in_its_length():
    paths = {"/x": {"get": operation(operationId="x" * 70)}}

    (tool,) = tools(paths, settings=Settings(prefix="gh_"))

    assert tool.name.startswith("gh_xxx")
    assert len(tool.name) == 64


WORLD = {
    "get": (True, True, False, True),
    "head": (True, True, False, True),
    "put": (False, True, True, False),
    "delete": (False, True, True, False),
    "post": (False, False, False, False),
    "patch": (False, False, True, False),
}


@pytest.mark.parametrize(("method", "hints"), WORLD.items())
def test_a_tool_says_what_it_does_to_the_world(method, hints):
    (tool,) = tools({"/x": {method: operation()}})

    assert (tool.read_only, tool.idempotent, tool.destructive, tool.parallel_safe) == hints


def test_an_unknown_tool_is_a_key_error_that_names_close_ones():
    toolset = load_tools(document(PATHS))

    assert "list_pets" in toolset
    with pytest.raises(KeyError, match="did you mean list_pets"):
        toolset["list_pet"]


def test_credentials_for_a_scheme_that_the_document_does_not_have_are_refused():
    schemes = {"securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "k"}}}

    message = "no security scheme 'token'; it has 'key'"
    with pytest.raises(CredentialsError, match=message) as caught:
        load_tools(document(PATHS, components=schemes), credentials={"token": "s3cret"})
    assert "s3cret" not in str(caught.value)


async def test_loading_in_an_event_loop_leaves_it_running():
    ticks = itertools.count()

    async def tick() -> None:
        for _ in ticks:
            await asyncio.sleep(0)

    ticker = asyncio.create_task(tick())
    toolset = await aload_tools(json.dumps(document(PATHS)))
    ticker.cancel()

    assert len(toolset) == 4
    assert next(ticks) > 1


def test_the_users_dict_is_not_changed():
    root = whole()
    before = json.dumps(root)

    for tool in load_tools(root):
        assert tool.input_schema
        assert tool.operation

    assert json.dumps(root) == before


def test_relative_servers_are_resolved_against_the_documents_own_url_only(tmp_path):
    path = tmp_path / "api.json"
    path.write_text(json.dumps(document({"/x": {"get": operation()}}, servers=[{"url": "/v1"}])))

    (tool,) = load_tools(path)

    assert tool.operation.servers[0].url == "/v1"


def test_a_method_that_is_no_token_is_skipped():
    operations = {"b\r\nad": operation(), "COPY": operation()}

    toolset = tools({"/x": {"additionalOperations": operations}}, openapi="3.2.0")

    assert [tool.method for tool in toolset] == ["COPY"]
    assert len(toolset.skipped) == 1


def test_objects_that_a_program_has_frozen_stay_frozen():
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        load_tools(document({"/x": {"get": operation()}}))

        assert gc.get_freeze_count() >= frozen > 0
    finally:
        gc.unfreeze()


def test_a_documents_memory_is_given_back_with_its_tools():
    """Without the help of a collector."""
    cycle = {"properties": {"a": {"$ref": "#/components/schemas/A"}}}
    paths = with_body({"$ref": "#/components/schemas/A"})
    toolset = load_tools(json.dumps(document(paths, components={"schemas": {"A": cycle}})))
    for tool in toolset:
        assert tool.input_schema
        assert tool.operation
        del tool
    cells = toolset._info.document.__closure__
    references = [weakref.ref(toolset), *(weakref.ref(cell.cell_contents) for cell in cells)]
    del cells
    gc.collect()
    gc.disable()
    try:
        del toolset
        assert [reference() for reference in references] == [None] * len(references)
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "place", ["default", "example", "examples", "enum", "x-more", "mapping", "unknown"]
)
def test_what_looks_like_a_reference_in_a_value_is_none(place):
    assert len(tools(with_body({"type": "object", place: [{"$ref": "#/nowhere"}]}))) == 1


def test_two_paths_with_one_path_item_are_distinguished():
    item = {"get": operation(parameters=[{"name": "id", "in": "path", "required": True}])}
    paths = {path: {"$ref": "#/x-item"} for path in ("/a/{id}", "/b/{other}")}

    toolset = load_tools({**document(paths), "x-item": item})

    assert len(toolset.warnings) == 2
    assert all("~1b~1{other}" in warning for warning in toolset.warnings)


FLAT = {"name": "q", "in": "query"}


def _beside_a_good_one(odd):
    """Return the tools of two operations, the second with an odd parameter."""
    text = {**FLAT, "type": "string"}
    paths = {f"/{n}": {"get": operation(parameters=[each])} for n, each in enumerate((text, odd))}
    referring = {"Looping": "Looping", "Second": "First"}
    parameters = {name: {"$ref": f"#/parameters/{other}"} for name, other in referring.items()}
    return tools(paths, openapi="2.0", parameters={**parameters, "First": text})


@pytest.mark.parametrize(
    "odd",
    [
        {**FLAT, "schema": {"items": {"$ref": "#/nowhere"}}},
        *({**FLAT, "name": ["q"]}, {**FLAT, "in": {}}, {"name": "q"}, ["q"]),
        *({"$ref": f"#/parameters/{name}"} for name in ("none", "Looping")),
        *({"$ref": ref} for ref in ("other.json", {}, None, "")),
    ],
)
def test_an_odd_parameter_costs_its_own_operation_only(odd):
    toolset = _beside_a_good_one(odd)

    assert [skipped.path for skipped in toolset.skipped] == ["/1"]
    assert [tool.path for tool in toolset] == ["/0"]


@pytest.mark.parametrize("number", [1, 1.0, 0])
def test_a_number_in_the_place_of_a_schema_is_not_the_boolean_that_equals_it(number):
    schemas = [number, bool(number)]
    listed = [{"name": "q", "in": "query", "schema": {"not": schema}} for schema in schemas]
    paths = {f"/{n}": {"get": operation(parameters=[q])} for n, q in enumerate(listed)}

    toolset = tools(paths)

    property_schemas = [tool.input_schema["properties"]["q"] for tool in toolset]
    assert property_schemas == [{}, {"not": bool(number)}]


@pytest.mark.parametrize(
    "odd",
    [
        {**FLAT, "type": "string", "description": True},
        {**FLAT, "type": "string", "required": 1},
        {**FLAT, "type": "string", "x-note": {"$ref": "#/nowhere"}},
        {**FLAT, "type": {"$ref": "#/nowhere"}},  # no reference: none belongs there
        {**FLAT, "type": "string", "required": [{"$ref": "#/nowhere"}]},
        {**FLAT, "schema": {"title": {"$ref": "#/nowhere"}, "xml": {"$ref": 1}}},
        {"$ref": "#/parameters/Second"},
    ],
)
def test_an_odd_parameter_that_can_be_sent_is_an_argument(odd):
    toolset = _beside_a_good_one(odd)

    assert toolset.skipped == ()
    assert list(toolset["get_1"].input_schema["properties"]) == ["q"]
