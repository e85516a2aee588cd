"""A ticker beside a call, which notices what keeps the event loop from its other work."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path

LONGEST = 0.2
"""Seconds between two ticks, as PROMISES says; the work itself is bounded at half of it."""
TRIES = 10
"""Of which the best counts: the collector of another test's garbage makes gaps too."""


async def gap_beside(tool, arguments):
    """Call a tool; the longest time between two ticks of 5 ms meanwhile, and the result.

    A busy machine lets threads wait for a processor: that time does not count, but work does.
    """
    gaps: list[float] = []

    async def tick():
        last, worked, waited = time.perf_counter(), time.process_time(), waits()
        while True:
            await asyncio.sleep(0.005)
            now, work, wait = time.perf_counter(), time.process_time(), waits()
            gap = now - last
            gaps.append(max(min(gap, work - worked), gap - max(wait - waited, 0)))
            last, worked, waited = now, work, wait

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0.02)
    gaps.clear()
    result = await tool.execute(arguments)
    await asyncio.sleep(0.006)
    ticking.cancel()
    return max(gaps), result


def waits():
    """Return how long the threads of this process waited for a processor; 0 outside Linux."""
    total = 0
    for file in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError):  # the thread has ended
            total += int(file.read_text().split()[1])
    return total / 1e9


async def leaves_free(attempt, *, arguments=(), most=None):
    """Try until a call neither kept the loop nor took too long, and assert that it came to that.

    `attempt` makes a tool that was never called before, and a check of its result.
    """
    gap = seconds = float("inf")
    for _ in range(TRIES):
        tool, check = attempt()
        started = time.perf_counter()
        pause, result = await gap_beside(tool, dict(arguments))
        seconds = min(seconds, time.perf_counter() - started)
        gap = min(gap, pause)
        check(result)
        if gap < LONGEST and (most is None or seconds < most):
            break
    assert gap < LONGEST
    assert most is None or seconds < most
