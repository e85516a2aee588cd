"""Closing, loops, threads, forks: a toolset works there, or says why not."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from documents import document, operation
from servers.faults import Faults, answer

from openapi_tools import Settings, load_tools


def api(url, **settings):
    root = document({"/x": {"get": operation(operationId="x"), "post": operation(operationId="y")}})
    return load_tools(root, settings=Settings(base_url=url, **{"timeout": 10, **settings}))


async def hang(peer):
    await peer.request()
    await peer.hang()


async def test_closing_ends_the_calls_under_way_as_error_results():
    async with Faults(hang) as server:
        toolset = api(server.url, concurrency=10)
        names = ["x", "y"] * 25
        calls = [asyncio.create_task(toolset[name].execute({})) for name in names]
        await server.until(lambda: len(server.requests) == 10)
        await toolset.aclose()
        results = await asyncio.gather(*calls)
        await toolset.aclose()
        after = await toolset["x"].execute({})
        await server.until(lambda: server.hung_up == server.connections)

    assert {result.error["type"] for result in results if result.error} == {"connection"}
    assert len(results) == 50
    assert all("closed" in str(result) for result in results)
    posts = sum(request.startswith(b"POST") for request in server.requests)
    assert sum("may have run" in str(result) for result in results) == posts
    assert after.error["type"] == "connection"
    assert server.connections == 10


def test_threads_that_make_the_first_call_at_once_share_their_connections():
    toolset, ready = api("http://127.0.0.1:9"), threading.Barrier(8)

    def first(_: int) -> int:
        ready.wait()
        return id(toolset.session.sender)

    with ThreadPoolExecutor(8) as pool:
        senders = set(pool.map(first, range(8)))

    assert len(senders) == 1


async def test_a_toolset_that_was_closed_before_its_first_call_makes_none():
    async with Faults(hang) as server, api(server.url) as toolset:
        await toolset.aclose()
        result = await toolset["x"].execute({})

    assert result.error["type"] == "connection"
    assert "closed" in str(result)
    assert server.connections == 0


async def test_loading_again_while_calls_run_disturbs_none_of_them():
    held = asyncio.Event()

    async def behave(peer: Any):
        while True:
            request = await peer.request()
            if b"POST" in request:
                await held.wait()
            await peer.write(answer())

    async with Faults(behave) as server:
        old = api(server.url)
        calls = [asyncio.create_task(old["y"].execute({})) for _ in range(5)]
        await server.until(lambda: len(server.requests) == 5)
        async with api(server.url) as new:
            assert (await new["x"].execute({})).success
        held.set()
        results = await asyncio.gather(*calls)
        await old.aclose()

    assert all(result.success for result in results)
    assert server.connections == 6
