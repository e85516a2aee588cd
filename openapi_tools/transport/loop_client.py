"""The HTTP client of one event loop: its calls under way, and their slots."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from openapi_tools.state.shared_state import has_free_slot

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx


class LoopClient:
    """The client of one event loop, and the deadlines of the calls that are under way in it."""

    def __init__(self, client: httpx.AsyncClient, concurrency: int) -> None:
        self.client = client
        self.slots = Slots(concurrency)
        self.deadlines: set[asyncio.Timeout] = set()
        self.lifetime: AsyncGenerator[LoopClient]  # its end closes the client
        self._change = asyncio.Event()

    def remove_deadline(self, deadline: asyncio.Timeout) -> None:
        """Forget the deadline of a call that has ended."""
        self.deadlines.discard(deadline)
        self._change.set()

    async def aclose(self) -> None:
        """End the calls under way, and close the client."""
        await self.lifetime.aclose()

    async def expire_calls(self) -> None:
        """End the calls under way by moving their deadlines to the present."""
        for deadline in self.deadlines:
            if not deadline.expired():
                # Not `task.cancel()`: with an expired deadline a call ends by an error result,
                # and its task goes on.
                deadline.reschedule(0)
        while self.deadlines:
            self._change.clear()
            await self._change.wait()


class Slots:
    """A number of slots for calls; a named user has as many as are left for all others.

    Callers without a name have no share, as nothing tells them apart. Of the callers that wait, the
    user with the fewest slots comes first.
    """

    def __init__(self, total: int) -> None:
        self._total, self._taken = total, 0
        self._taken_by_user: Counter[str] = Counter()
        # Not a semaphore: that serves in the order of arrival, so one user with a thousand
        # calls would be served before all others.
        self._waiters: dict[str, deque[asyncio.Future[None]]] = {}  # by user, in their order

    @asynccontextmanager
    async def slot(self, user: str) -> AsyncGenerator[None]:
        """Wait for a slot, and give it back at the end."""
        await self.acquire(user)
        try:
            yield
        finally:
            self.release(user)

    async def acquire(self, user: str) -> None:
        """Wait for a slot."""
        if self.has_slot_for(user):
            self._count(user, 1)
        else:
            await self._wait(user)

    def release(self, user: str) -> None:
        """Give a slot back."""
        self._count(user, -1)
        while users := [name for name in self._waiters if self._is_free_for(name)]:
            name = min(users, key=self._taken_by_user.__getitem__)
            waiter = self._waiters[name][0]
            self._remove_waiter(name, waiter)
            if not waiter.cancelled():
                self._count(name, 1)
                waiter.set_result(None)

    def has_slot_for(self, user: str) -> bool:
        """Whether a call would get a slot at once."""
        return user not in self._waiters and self._is_free_for(user)

    async def _wait(self, user: str) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(user, deque()).append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                self._remove_waiter(user, waiter)
            else:  # it got a slot in the same round of the loop
                self.release(user)
            raise

    def _is_free_for(self, user: str) -> bool:
        if not user:
            return self._taken < self._total
        return has_free_slot(self._taken_by_user[user], self._taken, self._total)

    def _count(self, user: str, change: int) -> None:
        self._taken += change
        self._taken_by_user[user] += change
        if not self._taken_by_user[user]:
            del self._taken_by_user[user]

    def _remove_waiter(self, user: str, waiter: asyncio.Future[None]) -> None:
        waiters = self._waiters.get(user)
        if waiters is not None and waiter in waiters:
            waiters.remove(waiter)
            if not waiters:
                del self._waiters[user]
