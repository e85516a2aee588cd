"""The time that calls may take, watched by one timer for all calls of an event loop.

`asyncio.timeout` asks the loop for a timer for each call and takes it back at its end. Most calls
end long before their time is over, so one timer for the earliest of them is enough, and it may ring
for a call that has ended.
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from itertools import takewhile
from math import inf
from typing import Any, Self


class Deadlines:
    """The deadlines of the calls under way in the running event loop."""

    __slots__ = ("_alarm", "_idle", "_loop", "_queues", "_rings")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        # By the seconds that calls may take: of those alike, the first to begin is over first.
        self._queues: dict[float, dict[Deadline, None]] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._rings = inf
        self._idle: asyncio.Event | None = None

    @property
    def under_way(self) -> set[Deadline]:
        """Those of the calls that have begun and not ended."""
        return set().union(*self._queues.values())

    def begin(self, deadline: Deadline, seconds: float) -> float:
        """Note a call that begins, and return when its time is over, by the loop's clock."""
        when = self._loop.time() + seconds
        queue = self._queues.get(seconds)
        if queue is None:
            queue = self._queues[seconds] = {}
        queue[deadline] = None
        if when < self._rings:
            self._set_alarm(when)
        return when

    def end(self, deadline: Deadline, seconds: float) -> None:
        """Note that it ended."""
        self._queues[seconds].pop(deadline, None)
        if self._idle is not None and not any(self._queues.values()):
            self._idle.set()

    async def give_up(self) -> None:
        """End the calls under way: their time is over now."""
        self._set_alarm(inf)
        self._idle = asyncio.Event()
        for deadline in self.under_way:
            self._loop.call_soon(deadline.expire)
        if any(self._queues.values()):
            await self._idle.wait()

    def _ring(self) -> None:
        """End the calls whose time is over, and wait for the next one's."""
        now = self._loop.time()
        following = inf
        for queue in self._queues.values():
            for deadline in list(takewhile(lambda other: other.when <= now, queue)):
                deadline.expire()
            following = min(following, next((d.when for d in queue if d.when > now), inf))
        self._set_alarm(following)

    def _set_alarm(self, when: float) -> None:
        """Ring at that time instead of any other; never, if it is infinite."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._rings = when
        self._alarm = None
        if when < inf:
            # Else each alarm would hand on the context of the call that set the first one.
            self._alarm = self._loop.call_at(when, self._ring, context=Context())


class Deadline:
    """The time of one call, as a context manager in its task: `asyncio.timeout` in what it does.

    Args:
        deadlines: Of the loop.
        seconds: That it may take.

    Attributes:
        when: It is over, by the loop's clock.
        expired: The call was told so.
    """

    __slots__ = ("_cancelling", "_deadlines", "_seconds", "_task", "expired", "when")

    def __init__(self, deadlines: Deadlines, seconds: float) -> None:
        self._deadlines = deadlines
        self._seconds = seconds
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0
        self.when = 0.0
        self.expired = False

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        if self._task is None:
            raise RuntimeError("a call is made inside a task")
        self._cancelling = self._task.cancelling()
        self.when = self._deadlines.begin(self, self._seconds)
        return self

    def expire(self) -> None:
        """Tell the call that its time is over; only the first time counts."""
        if self._task is not None and not self.expired:
            self.expired = True
            self._task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: object
    ) -> None:
        task, self._task = self._task, None
        self._deadlines.end(self, self._seconds)
        # Somebody else may have cancelled the task as well: then it stays cancelled.
        over = self.expired and task is not None and task.uncancel() <= self._cancelling
        if over and kind is asyncio.CancelledError:
            raise TimeoutError from error
