"""One timer for all calls of a loop does what `asyncio.timeout` does for each."""

from __future__ import annotations

import asyncio
import gc
import weakref
from contextvars import ContextVar

import pytest

from openapi_tools.transport.deadlines import Deadline, Deadlines

SHORT = 0.05
"""Seconds; nothing here waits longer."""


async def _hang(deadlines: Deadlines, seconds: float = SHORT) -> float:
    """Wait until the time is over, and return when that should have been."""
    deadline = Deadline(deadlines, seconds)
    with pytest.raises(TimeoutError), deadline:
        await asyncio.Event().wait()
    return deadline.when


async def test_each_call_ends_at_its_own_time():
    deadlines = Deadlines()
    with Deadline(deadlines, SHORT):
        pass  # whose alarm rings for nobody
    first = asyncio.create_task(_hang(deadlines))
    await asyncio.sleep(SHORT / 2)
    second = asyncio.create_task(_hang(deadlines))

    over = await first
    assert over <= asyncio.get_running_loop().time() < over + SHORT
    assert len(deadlines.under_way) == 1
    assert not second.done()
    over = await second

    assert over <= asyncio.get_running_loop().time() < over + SHORT
    assert deadlines.under_way == set()
    assert await _hang(deadlines) > over


async def test_many_calls_at_once_all_end():
    deadlines = Deadlines()

    await asyncio.gather(*(_hang(deadlines) for _ in range(100)))

    assert deadlines.under_way == set()


async def test_a_call_that_began_later_may_end_earlier():
    deadlines = Deadlines()
    later = asyncio.create_task(_hang(deadlines, 3 * SHORT))
    endless = asyncio.create_task(_hang(deadlines, float("inf")))
    await asyncio.sleep(0)

    over = await _hang(deadlines)

    assert over <= asyncio.get_running_loop().time() < over + SHORT
    assert not later.done()
    assert await later > over
    await deadlines.give_up()
    await endless


async def test_a_call_that_somebody_else_cancels_is_cancelled():
    deadlines = Deadlines()

    async def call() -> None:
        with Deadline(deadlines, 60):
            await asyncio.Event().wait()

    task = asyncio.create_task(call())
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert deadlines.under_way == set()


async def test_a_call_that_is_over_and_cancelled_is_cancelled():
    deadlines = Deadlines()
    deadline = Deadline(deadlines, 60)

    async def call() -> None:
        with deadline:
            await asyncio.Event().wait()

    task = asyncio.create_task(call())
    await asyncio.sleep(0)
    deadline.expire()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_giving_up_ends_all_calls_now():
    deadlines = Deadlines()
    calls = [asyncio.create_task(_hang(deadlines, 60)) for _ in range(3)]
    await asyncio.sleep(0)

    await deadlines.give_up()

    assert deadlines.under_way == set()
    await asyncio.gather(*calls)
    await deadlines.give_up()  # of nobody


async def test_a_failure_at_the_end_of_the_time_is_told():
    deadlines = Deadlines()
    deadline = Deadline(deadlines, 60)

    async def call() -> None:
        with deadline:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ValueError("x") from None

    task = asyncio.create_task(call())
    await asyncio.sleep(0)
    deadline.expire()

    with pytest.raises(ValueError, match="x"):
        await task
    deadline.expire()  # after the end nothing is cancelled any more
    assert task.cancelling() == 0


async def test_no_alarm_keeps_the_context_of_a_call_that_has_ended():
    class Large:
        pass

    deadlines, held = Deadlines(), ContextVar[Large]("held")

    async def call() -> weakref.ref[Large]:
        held.set(large := Large())
        with Deadline(deadlines, SHORT):
            await asyncio.sleep(0)
        return weakref.ref(large)

    large = await asyncio.create_task(call())
    await asyncio.sleep(0)
    gc.collect()

    assert large() is None


def test_without_a_task_there_is_no_call():
    loop = asyncio.new_event_loop()
    errors: list[Exception] = []

    def enter() -> None:
        try:
            Deadline(Deadlines(), 1).__enter__()
        except RuntimeError as error:
            errors.append(error)
        loop.stop()

    loop.call_soon(enter)
    loop.run_forever()
    loop.close()

    assert len(errors) == 1
