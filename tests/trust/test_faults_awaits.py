"""A call that breaks, or is cancelled, at each of its awaits: the next is fine, nothing leaks."""

import asyncio

import httpx
import pytest
from servers.fault_routes import FaultSite, case_of, fault_document

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
        given = None
        while True:
            try:
                waited = step(given)
            except StopIteration as end:
                return end.value
            self.count += 1
            error = self._act(waited) if self.count == self._at else None
            if error is not None:
                step, given = self._coroutine.throw, error
                continue
            try:
                given, step = (yield waited), self._coroutine.send
            except BaseException as raised:
                step, given = self._coroutine.throw, raised


async def ends_of(method, act, transport, *, fresh):
    """Return how a call ends that something is done to, at each of its awaits in turn."""
    settings = {
        "timeout": 5,
        "concurrency": 1,
        "transport": transport,
    }  # a turn not given back shows
    document = fault_document([case_of("echo")])
    ends = []
    async with FaultSite() as site:
        for at in range(MOST):  # at 0 nothing is done, but all imported
            async with load_tools(
                document, settings=Settings(base_url=site.url, **settings)
            ) as toolset:
                tool = toolset[f"{method}_echo"]
                if not fresh:
                    await tool.execute({"q": "first"})
                stepped = Stepped(tool.execute({"q": "this"}), at, act)
                ends += await asyncio.gather(asyncio.wait_for(stepped, 5), return_exceptions=True)
                following = await tool.execute({"q": f"after-{at}"})
            async with asyncio.timeout(5):
                await site.until(lambda: site.connections == site.ended)

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
async def test_a_call_that_breaks_at_any_await_is_an_error_result(error, fresh, transport):
    def act(waited):
        """Let the future itself fail, where there is one."""
        if type(waited) is not asyncio.Future or waited.done():
            return error
        waited.set_exception(error)
        return None

    # A POST: a broken read may be tried again, unseen.
    ends = await ends_of("post", act, transport, fresh=fresh)

    # What breaks before anything was sent, or on its way out, may do no harm.
    broken = {end.error["type"] for end in ends if end.is_error}
    assert broken
    assert broken <= {"connection", "protocol", "timeout"}
    assert all(end.is_error or end.output == {"echo": "q=this"} for end in ends)


@FRESH
async def test_a_call_that_is_cancelled_at_any_await_passes_that_on(fresh, transport):
    def act(_):
        asyncio.current_task().cancel()

    ends = await ends_of("get", act, transport, fresh=fresh)

    assert {type(end) for end in ends} == {asyncio.CancelledError}
