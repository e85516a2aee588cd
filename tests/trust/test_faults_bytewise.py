"""The whole set of faults once more, from a server that sends every byte by itself."""

import asyncio
import json
import time

import pytest
import pytest_asyncio
from servers.fault_routes import ROUTES, FaultSite, fault_document

from openapi_tools import Settings, ToolResult, load_tools

CASES = [
    (method, route)
    for number, route in enumerate(ROUTES)
    # One of its methods for each route, by turns; the set as it is runs with all of them.
    for method in route.methods[number % len(route.methods) :][:1]
]
BUDGET, PATIENCE, SLACK = 2.0, 60.0, 0.5
TRIES = 3
"""On a busy machine a call can be late for no fault of its own, but not each time."""
LIMIT = 2000
"""Bytes of an answer that are too many, so that a flood need not last long."""

WAITING = [
    (method, route)
    for method, route in CASES
    if route.hangs or "timeout" in route.right(method, bytewise=True)
]
ENDING = [case for case in CASES if case not in WAITING]

Ends = dict[str, tuple[ToolResult, float]]


async def ends_of(cases, site, **settings):
    """Make all these calls at once."""
    given = Settings(base_url=site.url, concurrency=100, max_response_bytes=LIMIT, **settings)
    found = {}
    async with load_tools(fault_document(), settings=given) as toolset:
        tools = {(tool.method, tool.path): tool for tool in toolset}

        async def one(method, route):
            arguments = {"text": "x" * (100_000 if route.unread else 1)} if method == "POST" else {}
            started = time.monotonic()
            result = await tools[method, route.path].execute(arguments)
            found[f"{method} {route.slug}"] = (result, time.monotonic() - started)

        await asyncio.gather(*(one(*case) for case in cases))
        following = await tools["GET", "/echo"].execute({"q": "last"})
        assert following.output == {"echo": "q=last"}
    return found


pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("bytewise"),  # one worker asks the whole set once
    pytest.mark.untraced,
]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def ends():
    async with FaultSite(bytewise=True) as site:
        ending = await ends_of(ENDING, site, timeout=PATIENCE)
        for method, route in ENDING:
            assert method != "POST" or site.seen[f"POST {route.path}"] == 1, route.slug
        for _ in range(TRIES):
            waiting = await ends_of(WAITING, site, timeout=BUDGET)
            if max(seconds for _, seconds in waiting.values()) < BUDGET + SLACK:
                break
        assert (site.sink.connections, site.cookies) == (0, 0)
        return ending | waiting


def test_every_fault_ends_as_it_should_byte_by_byte(ends):
    assert len(ends) == len(CASES)
    for method, route in CASES:
        result, _ = ends[f"{method} {route.slug}"]
        end = "ok" if result.error is None else result.error["type"]

        assert end in route.right(method, bytewise=True), (method, route.slug, str(result))


def test_every_call_ends_in_time_byte_by_byte(ends):
    for method, route in WAITING:
        _, seconds = ends[f"{method} {route.slug}"]

        assert seconds < BUDGET + SLACK, (method, route.slug)


def test_every_result_can_be_shown_byte_by_byte(ends):
    for name, (result, _) in ends.items():
        text = json.dumps(result.model_dump(), allow_nan=False, ensure_ascii=False)

        assert len(text.encode()) <= 16_000, name
