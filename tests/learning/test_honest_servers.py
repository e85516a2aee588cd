"""Servers that do what their documents say: nothing is proposed."""

import asyncio

import pytest
from corpus import entries, parameters
from packages import ROOT

from openapi_tools import load_tools
from openapi_tools.errors import OpenAPIToolsError
from openapi_tools.learning.deviations import make_overlay
from openapi_tools.learning.evidence import read_evidence
from openapi_tools.learning.learned_deviations import learn_deviations
from openapi_tools.testing import Cassette, mock_api
from openapi_tools.validation.samples import sample

HONEST = ("museum.yaml", "petstore.yaml", "cafe.yaml")
LARGE = pytest.param("discord.json", marks=pytest.mark.long)


def call_mock(source, path, *, most=1_000):
    """Call every tool of a mock of a document with sampled input, and record the exchanges."""
    api = mock_api(source, judge=False, state=False)

    async def call():
        with Cassette(path, mode="all", transport=api.transport) as tape:
            toolset = load_tools(source, client=tape.client(), anonymous=True)
            for tool in list(toolset)[:most]:
                schema = tool.input_schema
                await tool.execute(sample(schema, schema))
            return toolset

    return asyncio.run(call())


@pytest.mark.parametrize("name", [*HONEST, LARGE])
def test_nothing_is_proposed_for_a_server_that_keeps_its_document(name, tmp_path):
    toolset = call_mock(ROOT / "specs" / name, tmp_path / "calls.json")
    learned = learn_deviations(toolset, read_evidence(tmp_path))
    assert learned.matched_count >= len(toolset) // 2
    assert [d for d in learned.deviations if d.is_proposed] == []


@pytest.mark.long
@pytest.mark.parametrize("entry", parameters(entries()[::5]))
def test_every_published_document_can_be_learned_about(entry, tmp_path):
    try:
        toolset = call_mock(entry.file, tmp_path / "calls.json", most=60)
    except OpenAPIToolsError as error:
        pytest.skip(f"{entry.path} has no mock: {error}")
    if not (tmp_path / "calls.json").exists():
        pytest.skip(f"{entry.path}: nothing was sent")
    learned = learn_deviations(toolset, read_evidence(tmp_path))
    # Examples that break their own schemas are the document's faults; a mock filters nothing.
    overlay = make_overlay(learned.deviations)
    if overlay["actions"]:
        fixed = load_tools(entry.file, overlays=[overlay])
        assert [tool.name for tool in fixed] == [tool.name for tool in toolset]
