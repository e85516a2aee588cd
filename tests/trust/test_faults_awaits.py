"""Calls that break or are cancelled at any await, closing, loading again: the next call is fine."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from servers.fault_routes import FaultSite, case_of, fault_document
from servers.faults import Faults, hang, make_response

from openapi_tools import Settings, load_tools

MOST = 60
"""Awaits of one call, at the very most."""
FRESH = pytest.mark.parametrize("fresh", [True, False], ids=["fresh", "reused"])


class Stepped:
    """Awaits a coroutine, and does something to one of the awaits inside it; counts them."""

    def __init__(self, coroutine, at, act):
        self._coroutine, self._at, self._act = coroutine, at, act
        self.count = 0

    def __await__(self):
        step = self._coroutine.send
        value = None
        while True:
            try:
                waited = step(value)
            except StopIteration as end:
                return end.value
            self.count += 1
            error = self._act(waited) if self.count == self._at else None
            if error is not None:
                step, value = self._coroutine.throw, error
                continue
            try:
                value, step = (yield waited), self._coroutine.send
            except BaseException as raised:
                step, value = self._coroutine.throw, raised


def tools_at(url, **settings):
    settings = {"base_url": url, "timeout": 5, **settings}
    return load_tools(fault_document([case_of("echo")]), settings=Settings(**settings))


async def ends_of(method, act, *, fresh):
    """Return how a call ends that something is done to, at each of its awaits in turn."""
    settings = {"concurrency": 1}  # a turn that is not given back shows
    ends = []
    async with FaultSite() as site:
        for at in range(MOST):  # at 0 nothing is done, but all imported
            async with tools_at(site.url, **settings) as toolset:
                tool = toolset[f"{method}_echo"]
                if not fresh:
                    await tool.execute({"q": "first"})
                stepped = Stepped(tool.execute({"q": "this"}), at, act)
                ends += await asyncio.gather(asyncio.wait_for(stepped, 5), return_exceptions=True)
                following = await tool.execute({"q": f"after-{at}"})
            async with asyncio.timeout(5):
                await site.wait_until(lambda: site.connections == site.ended)

            assert following.output == {"echo": f"q=after-{at}"}
            if stepped.count < at:
                break
    assert 2 < len(ends) < MOST
    assert ends.pop().output == ends.pop(0).output == {"echo": "q=this"}
    return ends


ERRORS = [
    ConnectionResetError(104, "reset"),
    *(OSError("broken"), EOFError(), TimeoutError(), RuntimeError("a mistake")),
    *(httpx.ReadError("broken"), httpx.RemoteProtocolError("broken")),
]


@FRESH
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_a_call_that_breaks_at_any_await_is_an_error_result(error, fresh):
    def act(waited):
        """Let the future itself fail, where there is one."""
        if type(waited) is not asyncio.Future or waited.done():
            return error
        waited.set_exception(error)
        return None

    # A POST: a broken read may be tried again, unseen.
    ends = await ends_of("post", act, fresh=fresh)

    # What breaks before anything was sent, or on its way out, may do no harm.
    broken = {end.error["type"] for end in ends if end.is_error}
    assert broken
    assert broken <= {"connection", "protocol", "timeout"}
    assert all(end.is_error or end.output == {"echo": "q=this"} for end in ends)


@FRESH
async def test_a_call_that_is_cancelled_at_any_await_passes_that_on(fresh):
    def act(_):
        asyncio.current_task().cancel()

    ends = await ends_of("get", act, fresh=fresh)

    assert {type(end) for end in ends} == {asyncio.CancelledError}


async def test_closing_ends_the_calls_under_way_as_error_results():
    async with Faults(hang) as server:
        toolset = tools_at(server.url, concurrency=10, timeout=10)
        names = ["get_echo", "post_echo"] * 25
        calls = [asyncio.create_task(toolset[name].execute({})) for name in names]
        await server.wait_until(lambda: len(server.requests) == 10)
        await toolset.aclose()
        results = await asyncio.gather(*calls)
        await toolset.aclose()
        unused = tools_at(server.url)
        await unused.aclose()
        after = [await closed["get_echo"].execute({}) for closed in (toolset, unused)]
        await server.wait_until(lambda: server.hung_up == server.connections)

    assert {result.error["type"] for result in [*results, *after]} == {"connection"}
    assert all("closed" in str(result) for result in [*results, *after])
    posts = sum(request.startswith(b"POST") for request in server.requests)
    assert sum("may have run" in str(result) for result in results) == posts
    assert server.connections == 10


def test_threads_that_make_the_first_call_at_once_share_their_connections():
    toolset, ready = tools_at("http://127.0.0.1:9"), threading.Barrier(8)

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
            await peer.write(make_response())

    async with Faults(behave) as server, tools_at(server.url) as old:
        calls = [asyncio.create_task(old["post_echo"].execute({})) for _ in range(5)]
        await server.wait_until(lambda: len(server.requests) == 5)
        async with tools_at(server.url) as new:
            assert (await new["get_echo"].execute({})).success
        held.set()
        results = await asyncio.gather(*calls)

    assert all(result.success for result in results)
    assert server.connections == 6
