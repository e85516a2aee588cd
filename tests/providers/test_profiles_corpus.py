"""Every tool of the large published documents, as every profile writes it."""

import json

import httpx
import jsonschema
import pytest
from corpus import FOLDER, entries, parameters, toolset_of
from packages import ROOT
from profile_rules import faults, schema_of
from profile_values import refused, values

from openapi_tools import Settings, load_tools
from openapi_tools.providers.definitions import (
    MOST_CHARACTERS,
    PROFILES,
    CannotExpress,
    Memory,
    define,
)

pytestmark = [pytest.mark.long, pytest.mark.untraced]

LARGE = {
    *("github/api.github.com.json", "stripe/stripe-old.yaml", "kubernetes/swagger.json"),
    *("openai/openapi.yaml", "discord/openapi.json"),
}
OWN = sorted(path for path in (ROOT / "specs").iterdir() if path.suffix in (".json", ".yaml"))
LEFT_OUT = {"bulk_delete_messages": "that several items differ cannot be said"}
"""Tools that a subset of JSON Schema cannot express, and why."""
FILES = [
    *(pytest.param(path, id=path.name) for path in OWN),
    *(
        case if case.marks else pytest.param(case.values[0].file, id=case.id)
        for case in parameters(entry for entry in entries() if entry.path in LARGE)
    ),
]


def answer(_):
    return httpx.Response(200, json={})


@pytest.fixture(scope="module", params=FILES)
def toolset(request):
    web = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    options = Settings(base_url="http://api.example.com", anonymous=True)
    return load_tools(request.param, client=web, settings=options)


@pytest.mark.parametrize("profile", PROFILES)
async def test_a_tool_takes_whatever_fits_its_definition(profile, toolset):
    """`execute` is given what the model gave: it does not know of profiles."""
    subset = profile in ("openai_strict", "gemini")
    memory, left_out, found = Memory(), {}, []
    for number, tool in enumerate(toolset):
        try:
            definition = define(tool, profile, memory)
        except CannotExpress as error:
            left_out[tool.name] = error.reason
            continue
        if subset:
            found += [(tool.name, fault) for fault in refused(tool, definition, profile, 2)]
        else:
            found += [*faults(profile, definition.value), *definition.notes]
        schema = schema_of(profile, definition.value)
        for value in values(schema, 1) if subset and number % 11 == 0 else ():
            result = await tool.execute(value)
            if result.is_error and not is_of_the_wire(result):
                found.append((tool.name, str(result), value))

    assert found == []
    assert left_out.items() <= (LEFT_OUT if subset else {}).items()


def is_of_the_wire(result):
    """Tell whether arguments fit the schema but cannot be put into a request."""
    return any(word in str(result) for word in ("path", "header", "content_type"))


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


def test_the_corpus_is_the_one_that_is_known():
    if not FOLDER.is_dir():
        pytest.skip(f"{FOLDER} is absent: the published documents are not at hand")

    assert {entry.path for entry in entries()} >= LARGE


def test_a_definition_is_a_json_schema():
    for tool in load_tools(ROOT / "specs" / "gotify.json"):
        for profile in PROFILES:
            schema = schema_of(profile, define(tool, profile).value)
            jsonschema.Draft202012Validator.check_schema(schema)
