"""Closing, loops, threads, forks: a toolset works there, or says why not."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from documents import document, operation
from servers.faults import Faults, answer
from servers.recorder import Recorder

from openapi_tools import Settings, Toolset, load_tools


def api(url: str, **settings: Any) -> Toolset:
    root = document({"/x": {"get": operation(operationId="x"), "post": operation(operationId="y")}})
    return load_tools(root, settings=Settings(base_url=url, **{"timeout": 10, **settings}))


async def hang(peer: Any) -> None:
    await peer.request()
    await peer.hang()


async def test_closing_ends_the_calls_under_way_as_error_results() -> None:
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
    assert after.error is not None
    assert after.error["type"] == "connection"
    assert server.connections == 10


@pytest.mark.parametrize("name", ["x", "y"])
async def test_a_timeout_around_a_call_is_the_callers(name: str) -> None:
    async with Faults(hang) as server, api(server.url) as toolset:
        limit = asyncio.timeout(None)

        async def end() -> None:
            await server.until(lambda: len(server.requests) == 1)  # a first call imports first
            limit.reschedule(asyncio.get_running_loop().time() + 0.2)

        ending = asyncio.create_task(end())
        with pytest.raises(TimeoutError):
            async with limit:
                await toolset[name].execute({})
        await ending
        await server.until(lambda: server.hung_up == 1)


def test_one_toolset_works_in_several_event_loops_and_threads() -> None:
    stopped, urls = threading.Event(), []
    started = threading.Event()

    async def serve() -> None:
        async with Recorder() as recorder:
            urls.append(recorder.url)
            started.set()
            await asyncio.to_thread(stopped.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    started.wait()
    toolset, results = api(urls[0]), []

    async def call() -> None:
        found = await asyncio.gather(*(toolset["x"].execute({}) for _ in range(10)))
        results.extend(found)

    try:
        for _ in range(3):
            asyncio.run(call())
        others = [threading.Thread(target=asyncio.run, args=(call(),)) for _ in range(4)]
        for other in others:
            other.start()
        for other in others:
            other.join()
        asyncio.run(toolset.aclose())
    finally:
        stopped.set()
        thread.join()

    assert len(results) == 70
    assert all(result.success for result in results)


def test_threads_that_make_the_first_call_at_once_share_their_connections() -> None:
    toolset, ready = api("http://127.0.0.1:9"), threading.Barrier(8)

    def first(_: int) -> int:
        ready.wait()
        return id(toolset.session.sender)

    with ThreadPoolExecutor(8) as pool:
        senders = set(pool.map(first, range(8)))

    assert len(senders) == 1


async def test_a_toolset_that_was_closed_before_its_first_call_makes_none() -> None:
    async with Faults(hang) as server, api(server.url) as toolset:
        await toolset.aclose()
        result = await toolset["x"].execute({})

    assert result.error is not None
    assert result.error["type"] == "connection"
    assert "closed" in str(result)
    assert server.connections == 0


async def test_loading_again_while_calls_run_disturbs_none_of_them() -> None:
    held = asyncio.Event()

    async def behave(peer: Any) -> None:
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


FORKED = """
import asyncio, json, os, sys
sys.path.insert(0, {tests!r})
from documents import document, operation
from openapi_tools import Settings, load_tools
from servers.recorder import Recorder

async def main():
    async with Recorder() as recorder:
        toolset = load_tools(
            document({{"/x": {{"get": operation(operationId="x")}}}}),
            settings=Settings(base_url=recorder.url, timeout=10),
        )
        first = await toolset["x"].execute({{}})
        read, write = os.pipe()
        child = os.fork()
        if not child:
            asyncio.events._set_running_loop(None)
            asyncio.set_event_loop(asyncio.new_event_loop())
            result = asyncio.new_event_loop().run_until_complete(toolset["x"].execute({{}}))
            os.write(write, json.dumps([result.success, str(result)]).encode())
            os._exit(0)
        os.close(write)
        said = await asyncio.to_thread(os.read, read, 10_000)
        os.waitpid(child, 0)
        second = await toolset["x"].execute({{}})
        await toolset.aclose()
        print(json.dumps([first.success, json.loads(said), second.success, recorder.connections]))

asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_opens_connections_of_its_own() -> None:
    code = FORKED.format(tests=str(Path(__file__).parent.parent))
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert done.stderr == ""
    first, (inside, said), second, connections = json.loads(done.stdout)
    assert first
    assert second
    assert inside, said
    assert connections == 2
