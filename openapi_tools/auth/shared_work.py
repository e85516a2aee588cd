"""One piece of work for all who want its result, in whatever event loop or thread they wait."""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from openapi_tools.forks import ForkLock

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

T = TypeVar("T")
_LOOK = 0.5


@dataclass(slots=True, eq=False)
class _Flight(Generic[T]):
    """Work under way in the event loop that began it.

    Attributes:
        loop: That loop.
        done: Its result or its error, as a value; None when the loop gave it up.
        over_at: When it is too late for a result, on the monotonic clock.
        task: Kept, as an event loop does not keep its tasks.
    """

    loop: asyncio.AbstractEventLoop
    over_at: float
    done: Future[tuple[T | None, BaseException | None] | None] = field(default_factory=Future)
    task: asyncio.Task[T] | None = None

    def is_lost(self) -> bool:
        """Whether no result will come: its loop has ended, or stands still."""
        return self.loop.is_closed() or time.monotonic() > self.over_at


class SingleFlight(Generic[T]):
    """Lets one caller do the work and the others wait for it.

    Nobody holds a lock while waiting. Who is cancelled only stops waiting: the work goes on for the
    others. When the event loop that did it ends, one of those in other loops begins anew.

    Args:
        seconds: How long the work may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = ForkLock()
        self._flight: _Flight[T] | None = None
        self._process = os.getpid()

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of the work that is under way, or else of this.

        Args:
            work: Begun when nobody else has begun.

        Raises:
            BaseException: What the work raised; CallError has a copy for everybody who waits.
        """
        while True:
            outcome = await self._outcome(self._joined(work))
            if outcome is None:
                continue
            result, error = outcome
            if error is not None:
                raise error
            return result  # type: ignore[return-value] # None is a result where T has it

    def _joined(self, work: Callable[[], Coroutine[Any, Any, T]]) -> _Flight[T]:
        with self._lock:
            if self._process != os.getpid():  # the loop that works is in another process
                self._flight, self._process = None, os.getpid()
            if self._flight is None or self._flight.is_lost():
                self._flight = self._started(work)
            return self._flight

    def _started(self, work: Callable[[], Coroutine[Any, Any, T]]) -> _Flight[T]:
        loop = asyncio.get_running_loop()
        flight: _Flight[T] = _Flight(loop, time.monotonic() + self._seconds)
        # A waiter that is cancelled would cancel a future that does not run yet.
        flight.done.set_running_or_notify_cancel()
        flight.task = loop.create_task(work())
        flight.task.add_done_callback(lambda task: self._settle(flight, task))
        return flight

    def _settle(self, flight: _Flight[T], task: asyncio.Task[T]) -> None:
        with self._lock:
            if self._flight is flight:
                self._flight = None
        flight.task = None
        if task.cancelled():
            flight.done.set_result(None)
        elif (error := task.exception()) is not None:
            flight.done.set_result((None, error))
        else:
            flight.done.set_result((task.result(), None))

    async def _outcome(self, flight: _Flight[T]) -> tuple[T | None, BaseException | None] | None:
        waiting = asyncio.wrap_future(flight.done)
        try:
            while not waiting.done() and not flight.is_lost():
                await asyncio.wait({waiting}, timeout=_LOOK)
            return waiting.result() if waiting.done() else None
        finally:
            waiting.cancel()
