"""A ticker beside a call, which notices what keeps the event loop from its other work."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openapi_tools import OperationTool, ToolResult

LONGEST = 0.2
"""Seconds between two ticks, as PROMISES says; the work itself is bounded at half of it."""
TRIES = 4
"""Of which the best counts: the collector of another test's garbage makes gaps too."""


async def gap_beside(tool: OperationTool, given: Any) -> tuple[float, ToolResult]:
    """Call a tool; the longest time between two ticks of 5 ms meanwhile, and the result.

    Time counts as far as this process worked in it: a busy machine lets a process wait.
    """
    gaps: list[float] = []

    async def tick() -> None:
        last, worked = time.perf_counter(), time.process_time()
        while True:
            await asyncio.sleep(0.005)
            now, work = time.perf_counter(), time.process_time()
            gaps.append(min(now - last, work - worked))
            last, worked = now, work

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0.02)
    gaps.clear()
    result = await tool.execute(given)
    await asyncio.sleep(0.006)
    ticking.cancel()
    return max(gaps), result
