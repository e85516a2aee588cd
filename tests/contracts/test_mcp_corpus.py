"""Every tool of the large published documents, listed and called through the real client."""

import json

import httpx
import pytest
from corpus import FOLDER, entries, parameters

from openapi_tools import Settings, load_tools
from openapi_tools.contracts.mcp import create_server
from openapi_tools.testing import sample

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import Client
from mcp_api import client_of

pytestmark = pytest.mark.untraced

LARGE = {
    "github/api.github.com.json": 1223,
    "stripe/stripe-old.yaml": 402,
    "kubernetes/swagger.json": 1063,
    "openai/openapi.yaml": 288,
    "discord/openapi.json": 242,
}
CHOSEN = parameters(entry for entry in entries() if entry.path in LARGE)


def answer(_):
    """Answer anything."""
    return httpx.Response(200, json={"a": [1, None]})


@pytest.mark.long
@pytest.mark.parametrize("entry", CHOSEN)
async def test_every_tool_is_listed_and_answers_as_it_does_without_mcp(entry):
    web = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    settings = Settings(base_url="http://api.example.com", anonymous=True)
    toolset = load_tools(entry.file, client=web, settings=settings)
    server, good = create_server(toolset), 0
    async with client_of(server, "legacy") as client:
        over_http = await client.list_tools()
    async with Client(server, mode="auto") as client:
        listed = await client.list_tools()
        assert listed.tools == over_http.tools
        assert len(listed.tools) == len(toolset) == LARGE[entry.path] - len(toolset.skipped)
        assert listed.next_cursor is None
        defined = toolset.definitions("mcp")
        for tool, one, seen in zip(toolset, defined, listed.tools, strict=True):
            assert (seen.name, seen.description) == (tool.name, one["description"])
            assert seen.input_schema == one["inputSchema"] or len(json.dumps(one)) > 16_000
            told = seen.model_dump(by_alias=True, exclude_none=True)
            assert len(json.dumps(told)) <= 16_384
            assert told["annotations"] == tool.annotations
            assert len(told.get("title", "")) <= 60
            # Not every sample fits: what is refused is refused with the same words.
            given = sample(tool.input_schema, tool.input_schema)
            result = await client.call_tool(tool.name, given)
            direct = await tool.execute(given)
            assert [part.text for part in result.content] == [p.text for p in direct.as_content()]
            assert result.is_error is direct.is_error
            assert result.structured_content == (direct.output if direct.success else None)
            good += direct.success

    assert good > len(toolset) * 0.9


def test_the_documents_are_those_that_are_meant():
    if not FOLDER.is_dir():
        pytest.skip(f"{FOLDER} is absent: the published documents are not at hand")

    assert {entry.path: entry.operations for entry in entries() if entry.path in LARGE} == LARGE
