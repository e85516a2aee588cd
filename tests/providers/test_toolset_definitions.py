"""Definitions beside a cached document: which ones are used, and when they are written again."""

import json
from pathlib import Path

import pytest

from openapi_tools import Settings, load_tools
from openapi_tools.loading import cache
from openapi_tools.loading.cache_folder import DerivedFile
from openapi_tools.providers import toolset_definitions
from openapi_tools.providers.definitions import PROFILES, create_restorer
from openapi_tools.runtime import Operation, OperationTool

MUSEUM = Path(__file__).parents[2] / "specs" / "museum.yaml"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache of the test's own, which keeps small and new documents and all definitions."""
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE", raising=False)
    monkeypatch.setattr("openapi_tools.loading.source.MIN_CACHED_BYTES", 1)
    monkeypatch.setattr(cache, "_FRESH", 0)
    monkeypatch.setattr(toolset_definitions, "MIN_SECONDS", 0)
    return tmp_path / "cache"


@pytest.fixture
def defined(monkeypatch):
    """The names of the tools whose definitions are written."""
    names, define = [], toolset_definitions.define_tool

    def record(tool, *arguments, **options):
        names.append(tool.name)
        return define(tool, *arguments, **options)

    monkeypatch.setattr(toolset_definitions, "define_tool", record)
    return names


def write_definitions(toolset, profile="openai"):
    return json.dumps([toolset.definitions(profile), toolset.warnings])


def kept_files(folder):
    return sorted(folder.glob("*.definitions"))


@pytest.mark.parametrize("profile", PROFILES)
def test_the_second_load_reads_the_same_definitions(folder, defined, profile):
    first = write_definitions(load_tools(MUSEUM), profile)
    count = len(defined)

    toolset = load_tools(MUSEUM)
    assert write_definitions(toolset, profile) == write_definitions(toolset, profile) == first
    assert len(defined) == count == 8
    assert write_definitions(load_tools(MUSEUM, settings=Settings(cache=False)), profile) == first
    (file,) = kept_files(folder)
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("profile", ["openai_strict", "gemini"])
def test_remarks_and_tools_without_a_definition_are_kept(tmp_path, defined, profile):
    path = tmp_path / "api.json"
    never = {"name": "x", "in": "query", "required": True, "schema": {"enum": []}}
    limited = {"name": "y", "in": "query", "schema": {"type": "array", "contains": {"const": 1}}}
    paths = {
        f"/{parameter['name']}": {
            "get": {"parameters": [parameter], "responses": {"200": {"description": "OK"}}}
        }
        for parameter in (never, limited)
    }
    root = {"openapi": "3.1.0", "info": {"title": "Zoo", "version": "1"}, "paths": paths}
    path.write_text(json.dumps(root))

    first = write_definitions(load_tools(path), profile)

    assert f"{profile}: " in first
    assert write_definitions(load_tools(path), profile) == first
    assert len(defined) == 2


def test_loading_reads_no_definitions(monkeypatch):
    write_definitions(load_tools(MUSEUM))
    kinds, read = [], DerivedFile.read
    monkeypatch.setattr(DerivedFile, "read", lambda file: kinds.append(file.kind) or read(file))

    toolset = load_tools(MUSEUM)

    assert "definitions" not in kinds
    write_definitions(toolset)
    assert "definitions" in kinds


SPOILT = {
    "empty": lambda data: b"",
    "short": lambda data: data[:-1],
    "changed": lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:],
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_damaged_definitions_are_written_again(folder, defined, spoil):
    first = write_definitions(load_tools(MUSEUM))
    (file,) = kept_files(folder)
    whole = file.read_bytes()
    file.write_bytes(spoil(whole))

    assert write_definitions(load_tools(MUSEUM)) == first
    assert len(defined) == 16
    assert file.read_bytes() == whole


def test_definitions_that_others_can_write_are_not_read(folder, defined):
    write_definitions(load_tools(MUSEUM))
    kept_files(folder)[0].chmod(0o666)

    write_definitions(load_tools(MUSEUM))

    assert len(defined) == 16


OTHER_FORMS = {
    "wording": {"settings": Settings(definitions="tight")},
    "budget": {"settings": Settings(definition_bytes=2_048)},
    "body": {"settings": Settings(body="nested")},
    "words": {"config": {"tools": {"buy_museum_tickets": {"description": "Obtain passes."}}}},
    "selection": {"select": {"tags": "Tickets"}},
    "credentials": {"credentials": {"MuseumPlaceholderAuth": ("user", "password")}},
}


@pytest.mark.parametrize("options", OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_tools_of_another_form_have_definitions_of_their_own(options):
    plain = write_definitions(load_tools(MUSEUM))
    whole = {**options, "settings": options.get("settings", Settings())}
    uncached = {**whole, "settings": whole["settings"].model_copy(update={"cache": False})}

    for _ in range(2):
        assert write_definitions(load_tools(MUSEUM, **options)) == write_definitions(
            load_tools(MUSEUM, **uncached)
        )
    assert write_definitions(load_tools(MUSEUM)) == plain


def test_definitions_of_the_users_own_tools_are_not_kept(folder):
    class PlainTool(OperationTool):
        name = "own"
        description = "Feed lions"
        input_schema = {"type": "object", "properties": {}}  # noqa: RUF012 -- not changed
        operation = Operation("GET", "/own")

    toolset = load_tools(MUSEUM)
    names = [
        each["function"]["name"] for each in toolset.with_tools([PlainTool()]).definitions("openai")
    ]

    assert names == ["own"]
    assert kept_files(folder) == []


@pytest.mark.parametrize(("name", "value"), [("MIN_SECONDS", 60), ("MAX_BYTES", 100)])
def test_quick_and_large_definitions_are_not_kept(folder, monkeypatch, name, value):
    monkeypatch.setattr(toolset_definitions, name, value)

    write_definitions(load_tools(MUSEUM))

    assert kept_files(folder) == []


def test_only_some_forms_are_kept(folder):
    for number in range(10):
        config = {"tools": {"buy_museum_tickets": {"description": f"Tickets {number}"}}}
        write_definitions(load_tools(MUSEUM, config=config))

    assert len(kept_files(folder)) == 8
    assert sum(entry.size for entry in cache.entries()) == sum(
        path.stat().st_size for path in folder.iterdir()
    )
    cache.clear()
    assert [*folder.iterdir()] == []


def test_arguments_of_kept_definitions_are_restored():
    load_tools(MUSEUM).definitions("openai_strict")
    toolset = load_tools(MUSEUM)
    names = [each["function"]["name"] for each in toolset.definitions("openai_strict")]
    tool = toolset["get_museum_hours"]

    restored = create_restorer(tool, "openai_strict").restore({"startDate": None, "page": 2})

    assert tool.name in names
    assert restored == {"page": 2}
