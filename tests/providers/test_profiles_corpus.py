"""Every tool of the large published documents, as every profile writes it."""

import json
from pathlib import Path

import httpx
import jsonschema
import jsonschema_rs
import pytest
from corpus import FOLDER, entries, parameters, toolset_of
from profile_rules import faults, schema_of
from profile_values import read_literally, repair, values

from openapi_tools import Settings, load_tools
from openapi_tools.providers.definitions import (
    MOST_CHARACTERS,
    PROFILES,
    CannotExpress,
    Memory,
    define,
)
from openapi_tools.validation.checker import Checker

pytestmark = [pytest.mark.long, pytest.mark.untraced]

ROOT = Path(__file__).parents[2]
LARGE = {
    "github/api.github.com.json": 1223,
    "stripe/stripe-old.yaml": 402,
    "kubernetes/swagger.json": 1063,
    "openai/openapi.yaml": 288,
    "discord/openapi.json": 242,
}
OWN = sorted(path for path in (ROOT / "specs").iterdir() if path.suffix in (".json", ".yaml"))
LEFT_OUT = {"bulk_delete_messages": "that several items differ cannot be said"}
"""Tools that a subset of JSON Schema cannot express, and why."""


def definitions(toolset, profile):
    """Return the tools with their definitions, and why some have none."""
    memory, found, left_out = Memory(), [], {}
    for tool in toolset:
        try:
            found.append((tool, define(tool, profile, memory)))
        except CannotExpress as error:
            left_out[tool.name] = error.reason
    return found, left_out


@pytest.fixture(scope="module")
def large():
    """Load each of the documents once."""
    loaded = {}

    def load(file):
        if file not in loaded:
            web = httpx.AsyncClient(transport=httpx.MockTransport(answer))
            options = Settings(base_url="http://api.example.com", anonymous=True)
            loaded[file] = load_tools(file, client=web, settings=options)
        return loaded[file]

    return load


def answer(_):
    """Answer anything."""
    return httpx.Response(200, json={})


FILES = [
    *(pytest.param(path, id=path.name) for path in OWN),
    *(
        case if case.marks else pytest.param(case.values[0].file, id=case.id)
        for case in parameters(entry for entry in entries() if entry.path in LARGE)
    ),
]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("file", FILES)
def test_every_definition_keeps_the_providers_rules(file, profile, large):
    toolset = large(file)

    found, left_out = definitions(toolset, profile)

    assert {name: why for name, why in left_out.items() if LEFT_OUT.get(name) != why} == {}
    assert len(found) + len(left_out) == len(toolset)
    broken = [fault for _, definition in found for fault in faults(profile, definition.value)]
    assert broken == []


@pytest.mark.parametrize("profile", ["openai", "anthropic", "mcp"])
@pytest.mark.parametrize("file", FILES)
def test_no_tool_is_left_out_where_json_schema_is_known(file, profile, large):
    found, left_out = definitions(large(file), profile)

    assert left_out == {}
    assert not any(definition.notes for _, definition in found)


@pytest.mark.parametrize("entry", parameters(entries()))
def test_every_tool_of_every_published_document_has_a_definition_in_bounds(entry):
    toolset = toolset_of(entry)
    for profile in PROFILES:
        defined = toolset.definitions(profile)

        named = [one.get("function", one) for one in defined]
        assert [one["name"] for one in named] == [tool.name for tool in toolset]
        sizes = [len(json.dumps(schema_of(profile, one))) for one in defined]
        assert max(sizes, default=0) <= MOST_CHARACTERS
        assert [fault for one in defined for fault in faults(profile, one)] == []
        loose = [one["name"] for one in named if profile == "openai_strict" and not one["strict"]]
        told = " ".join(toolset.warnings)
        assert all(f"openai_strict: {name}: `strict` is false: " in told for name in loose)


@pytest.mark.parametrize("profile", ["openai_strict", "gemini"])
@pytest.mark.parametrize("file", FILES)
def test_whatever_fits_a_definition_fits_the_tool_once_restored(file, profile, large):
    refused, count = [], 0
    for tool, definition in definitions(large(file), profile)[0]:
        schema = schema_of(profile, definition.value)
        checked = jsonschema_rs.validator_for(read_literally(schema))
        checker = Checker(tool.input_schema)
        for value in values(schema, 2):
            count += 1
            assert checked.is_valid(value), (tool.name, value)
            if not checker.fits(definition.restore(value)):
                refused.append((tool.name, value))
            if not checker.fits(value) and not checker.fits(repair(value, tool.input_schema)):
                refused.append((tool.name, "without profile", value))

    assert refused == []
    assert count > 0


@pytest.mark.parametrize("profile", ["openai_strict", "gemini"])
@pytest.mark.parametrize("file", FILES)
async def test_what_fits_a_definition_can_be_called_with(file, profile, large):
    """`execute` is given what the model gave: it does not know of profiles."""
    refused = {}
    for tool, definition in definitions(large(file), profile)[0][::11]:
        for value in values(schema_of(profile, definition.value), 1):
            result = await tool.execute(value)
            if result.is_error and not is_of_the_wire(result):
                refused[tool.name] = (str(result), value)

    assert refused == {}


def is_of_the_wire(result):
    """Tell whether arguments fit the schema but cannot be put into a request."""
    return any(word in str(result) for word in ("path", "header", "content_type"))


def test_the_corpus_is_the_one_that_is_known():
    if not FOLDER.is_dir():
        pytest.skip(f"{FOLDER} is absent: the published documents are not at hand")

    assert {entry.path for entry in entries()} >= LARGE.keys()


def test_a_definition_is_a_json_schema():
    for tool in load_tools(ROOT / "specs" / "gotify.json"):
        for profile in PROFILES:
            schema = schema_of(profile, define(tool, profile).value)
            jsonschema.Draft202012Validator.check_schema(schema)
