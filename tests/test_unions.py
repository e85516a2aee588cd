"""Every alternative of every input in all published documents can be sent."""

from __future__ import annotations

import httpx
import pytest
from corpus import ABSENT, entries
from union_inputs import RuledOutError, alternatives, inputs_for

from openapi_tools import Settings, load_tools

pytestmark = [pytest.mark.long, pytest.mark.untraced]

SETTINGS = Settings(base_url="http://api.example.com", anonymous=True)


def echo(request):
    """Answer with what was sent."""
    return httpx.Response(200, json={"url": str(request.url), "size": len(request.content)})


async def why_not_sent(tool, alternative):
    """Return why no input with a value of an alternative was sent; empty when one was."""
    reason = "no value could be made"
    for made in inputs_for(tool.input_schema, alternative):
        result = await tool.execute(made)
        if not result.is_error:
            return ""
        reason = f"{made!s:.200}: {result!s:.200}"
    return reason


async def test_an_instance_of_every_alternative_is_sent_in_all_published_documents():
    count, ruled_out, lacking = 0, [], []
    if not entries():
        pytest.skip(ABSENT)
    async with httpx.AsyncClient(transport=httpx.MockTransport(echo)) as client:
        for entry in entries():
            seen: set[int] = set()
            for tool in load_tools(entry.file, client=client, settings=SETTINGS):
                for alternative in alternatives(tool.input_schema, seen):
                    count += 1
                    place = f"{entry.path} {tool.name} {alternative.pointer}"
                    try:
                        if reason := await why_not_sent(tool, alternative):
                            lacking.append(f"{place}: {reason}")
                    except RuledOutError as error:
                        ruled_out.append(f"{place}: {error}")

    print(f"{len(ruled_out)} of {count} are ruled out by the document:", *ruled_out, sep="\n")
    print(f"{len(lacking)} of {count} could not be sent:", *lacking, sep="\n")
    assert count > 3_000
    assert len(lacking) <= count / 100
