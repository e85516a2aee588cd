"""A call that breaks, or is cancelled, at each of its awaits: the next is fine, nothing leaks."""

import asyncio

import httpx
import pytest
from servers.fault_routes import FaultSite, case_of, fault_document

from openapi_tools import Settings, load_tools

MOST = 60
"""Awaits of one call, at the very most."""
ENDS = {"connection", "protocol", "timeout"}


class Stepped:
    """Awaits a coroutine, and does something to one of the awaits inside it.

    Attributes:
        count: How many awaits there were.
    """

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


def breaking(error):
    """Return what lets an await fail: the future itself, where there is one."""

    def act(waited):
        if type(waited) is asyncio.Future and not waited.done() and isinstance(error, Exception):
            waited.set_exception(error)
            return None
        return error

    return act


def cancelling(_):
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


def toolset_of(site, **given):
    """Return tools of which one may be called at a time: a turn that is not given back shows."""
    routes = [case_of("echo")]
    transport = given.pop("transport", "auto")
    settings = Settings(base_url=site.url, timeout=5, concurrency=1, transport=transport)
    return load_tools(fault_document(routes), settings=settings, **given)


async def import_all(site, transport):
    """Make a call: what the first one imports, in a thread of its own, is no await to break."""
    async with toolset_of(site, transport=transport) as toolset:
        await toolset["get_echo"].execute({})


async def until_closed(site):
    async with asyncio.timeout(5):
        await site.until(lambda: site.connections == site.ended)


ERRORS = [
    ConnectionResetError(104, "reset"),
    OSError("broken"),
    EOFError(),
    TimeoutError(),
    httpx.ReadError("broken"),
    httpx.RemoteProtocolError("broken"),
    RuntimeError("a mistake"),
]


@pytest.mark.parametrize("fresh", [True, False], ids=["fresh", "reused"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_a_call_that_breaks_at_any_await_is_an_error_result(error, fresh, transport):
    broken = 0
    async with FaultSite() as site:
        await import_all(site, transport)
        for at in range(1, MOST):
            async with toolset_of(site, transport=transport) as toolset:
                tool = toolset["post_echo"]  # a broken read may be tried again, unseen
                if not fresh:
                    await tool.execute({"q": "first"})
                stepped = Stepped(tool.execute({"q": "broken"}), at, breaking(error))
                result = await stepped
                following = await tool.execute({"q": f"after-{at}"})
            await until_closed(site)

            # What breaks before anything was sent, or on its way out, may do no harm.
            if result.is_error:
                broken += 1
                assert result.error["type"] in ENDS
            else:
                assert result.output == {"echo": "q=broken"}
            assert following.output == {"echo": f"q=after-{at}"}
            if stepped.count < at:
                break
        assert 1 < at < MOST - 1
        assert broken


@pytest.mark.parametrize("fresh", [True, False], ids=["fresh", "reused"])
async def test_a_call_that_is_cancelled_at_any_await_passes_that_on(fresh, transport):
    async with FaultSite() as site:
        await import_all(site, transport)
        for at in range(1, MOST):
            async with toolset_of(site, transport=transport) as toolset:
                tool = toolset["get_echo"]
                if not fresh:
                    await tool.execute({"q": "first"})
                stepped = Stepped(tool.execute({"q": "broken"}), at, cancelling)
                task = asyncio.ensure_future(stepped)
                ended = await asyncio.gather(task, return_exceptions=True)
                following = await tool.execute({"q": f"after-{at}"})
            await until_closed(site)

            assert following.output == {"echo": f"q=after-{at}"}
            if stepped.count < at:
                break
            assert isinstance(ended[0], asyncio.CancelledError)
        assert 1 < at < MOST - 1
        assert ended[0].output == {"echo": "q=broken"}


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=repr)
async def test_what_ends_a_program_is_not_made_a_result(error):
    async with FaultSite() as site, toolset_of(site) as toolset:
        tool = toolset["get_echo"]
        await tool.execute({"q": "first"})

        with pytest.raises(type(error)):
            await Stepped(tool.execute({}), 1, breaking(error))

        following = await tool.execute({"q": "after"})
        assert following.output == {"echo": "q=after"}
