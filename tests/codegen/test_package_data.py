"""What a package is made from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from documents import document, operation

from openapi_tools import Select, Settings, load_tools
from openapi_tools.codegen.package_data import document_hash, document_info, package_data

PATHS = {
    "/a": {"get": operation(operationId="a", tags=["x"]), "post": operation(operationId="b")},
    "/c": {"get": operation(parameters=[{"$ref": "#/nowhere"}])},
}
SCHEMES = {"securitySchemes": {"key": {"type": "apiKey", "name": "k", "in": "header"}}}


def contents(settings: Settings | None = None, **members: Any) -> Any:
    settings = settings or Settings()
    toolset = load_tools(document(PATHS, components=SCHEMES, **members), settings=settings)
    return package_data(toolset, api="pets", settings=settings)


def test_the_tools_are_there_in_order_as_data() -> None:
    toolset = load_tools(document(PATHS))
    found = package_data(toolset, api="pets", settings=Settings())

    assert [record.name for record in found.records] == ["a", "b"]
    for record, tool in zip(found.records, toolset, strict=True):
        assert (record.description, record.input_schema) == (tool.description, tool.input_schema)
        assert record.operation == tool.operation


def test_a_selection_is_all_that_is_there_and_the_rest_stays_as_it_was() -> None:
    toolset = load_tools(document(PATHS))

    found = package_data(toolset.select(Select(tags="x")), api="pets", settings=Settings())

    assert [record.name for record in found.records] == ["a"]
    assert found.skipped == toolset.skipped
    assert found.counts == toolset.counts


def test_what_else_the_document_says_is_there() -> None:
    found = contents(info={"title": "Pets", "version": "1.2"})

    assert (found.api, found.title, found.version) == ("pets", "Pets", "1.2")
    assert found.schemes["key"].location == "header"
    assert [entry.path for entry in found.skipped] == ["/c"]
    assert found.counts["skipped"] == 1
    assert len(found.document_hash) == 64


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, {}),
        ({"prefix": "", "body": "flat"}, {}),
        ({"prefix": "a_", "timeout": 1, "base_url": "http://x"}, {"prefix": "a_"}),
        (
            {"media_types": ["text/plain"], "body": "nested", "description_chars": 99},
            {"body": "nested", "description_chars": 99, "media_types": ("text/plain",)},
        ),
    ],
)
def test_only_settings_that_shape_tools_and_are_no_defaults_are_kept(given: Any, kept: Any) -> None:
    found = contents(Settings(**given))

    assert found.settings == kept
    assert [*found.settings] == [*kept]


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"title": "Pets", "version": "1"}, ("Pets", "1")),
        ({"title": "Pets"}, ("Pets", "")),
        ({"title": 5, "version": 1.5}, ("", "1.5")),
        ({"title": None, "version": None}, ("", "")),
        ({"title": ["a"], "version": {"a": 1}}, ("", "")),
        ({"version": True}, ("", "True")),
        ("text", ("", "")),
        (None, ("", "")),
    ],
)
def test_title_and_version_are_texts_whatever_stands_there(info: Any, expected: Any) -> None:
    assert document_info({"info": info}) == expected


@pytest.mark.parametrize("nothing", [None, [], "text", {}])
def test_what_is_no_document_has_neither(nothing: Any) -> None:
    assert document_info(nothing) == ("", "")


def test_the_hash_is_that_of_the_data_not_of_its_spelling() -> None:
    data = document({"/a": {"get": operation(summary="é \ud83d 🚀")}})

    assert document_hash(data) == document_hash(json.loads(json.dumps(data, indent=3)))
    assert document_hash(data) != document_hash({**data, "x": 1})
    assert document_hash({"a": 1}) != document_hash({"a": 1.0})
    assert document_hash({"a": 1, "b": 2}) != document_hash({"b": 2, "a": 1})
