"""Closing, loading again, threads: a toolset works there, or says why not."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from documents import document, operation
from servers.faults import Faults, answer, hang

from openapi_tools import Settings, load_tools


def api(url, **settings):
    root = document({"/x": {"get": operation(operationId="x"), "post": operation(operationId="y")}})
    return load_tools(root, settings=Settings(base_url=url, timeout=10, **settings))


async def test_closing_ends_the_calls_under_way_as_error_results():
    async with Faults(hang) as server:
        toolset = api(server.url, concurrency=10)
        names = ["x", "y"] * 25
        calls = [asyncio.create_task(toolset[name].execute({})) for name in names]
        await server.until(lambda: len(server.requests) == 10)
        await toolset.aclose()
        results = await asyncio.gather(*calls)
        await toolset.aclose()
        unused = api(server.url)
        await unused.aclose()
        after = [await closed["x"].execute({}) for closed in (toolset, unused)]
        await server.until(lambda: server.hung_up == server.connections)

    assert {result.error["type"] for result in [*results, *after]} == {"connection"}
    assert all("closed" in str(result) for result in [*results, *after])
    posts = sum(request.startswith(b"POST") for request in server.requests)
    assert sum("may have run" in str(result) for result in results) == posts
    assert server.connections == 10


def test_threads_that_make_the_first_call_at_once_share_their_connections():
    toolset, ready = api("http://127.0.0.1:9"), threading.Barrier(8)

    def first(_):
        ready.wait()
        return toolset.session.sender

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(first, range(8)))) == 1


async def test_loading_again_while_calls_run_disturbs_none_of_them():
    held = asyncio.Event()

    async def behave(peer):
        while True:
            if b"POST" in await peer.request():
                await held.wait()
            await peer.write(answer())

    async with Faults(behave) as server, api(server.url) as old:
        calls = [asyncio.create_task(old["y"].execute({})) for _ in range(5)]
        await server.until(lambda: len(server.requests) == 5)
        async with api(server.url) as new:
            assert (await new["x"].execute({})).success
        held.set()
        results = await asyncio.gather(*calls)

    assert all(result.success for result in results)
    assert server.connections == 6
