"""Locks and limits by leases, for states that processes share."""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

from openapi_tools.errors import CallError, NotPicklableError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

BURST = 0.04  # seconds: calls of that time may come early
AHEAD = 0.25  # seconds: a permit due sooner is taken now, which saves a round trip
_LONGEST_PAUSE = 1.0
_ANY = 10**9  # more slots than holders


class Limit(NamedTuple):
    """How many holders a key may have at once, and how many slots it grants per second."""

    key: str
    concurrency: int | None
    rate: float | None


class Lease(NamedTuple):
    """A slot that a holder asks for, which ends after `seconds` unless it is renewed."""

    key: str
    holder: str
    concurrency: int | None
    rate: float | None
    seconds: float


class Permit(NamedTuple):
    """The outcome of a request for a lease.

    Attributes:
        is_granted: Whether the holder has the slot.
        wait: Seconds: until the call may begin if it is granted, else until the next attempt.
    """

    is_granted: bool
    wait: float


FULL = Permit(is_granted=False, wait=0.0)


class LeasedState(ABC):
    """Locks and limits by leases: a holder renews its lease while it lives.

    A subclass implements `get`, `put`, `remove`, `ping`, `acquire` and `release`.
    """

    pause = 0.01  # seconds until the next attempt to get a slot, on average

    def __init__(self) -> None:
        self._queues: WeakKeyDictionary[Any, dict[str, list[Any]]] = WeakKeyDictionary()

    @abstractmethod
    async def acquire(self, lease: Lease) -> Permit:
        """Take a slot, and a permit of its rate that is due within AHEAD seconds.

        Without a free slot the outcome is FULL. A call that may begin soon takes one round trip,
        and no caller waits for another to return.
        """

    @abstractmethod
    async def release(self, lease: Lease) -> None:
        """Give a slot back."""

    async def acquire_all(self, leases: Sequence[Lease]) -> Permit:
        """Take all slots and permits of one holder, or none of them.

        A state that can do so in one round trip overrides this, and returns FULL if a permit before
        the last one is not due yet. By default it is FULL for several, which are then taken one by
        one.
        """
        return await self.acquire(leases[0]) if len(leases) == 1 else FULL

    async def release_all(self, leases: Sequence[Lease]) -> None:
        """Give slots back."""
        for lease in leases:
            await self.release(lease)

    def __reduce__(self) -> NoReturn:
        raise NotPicklableError("a shared state cannot be pickled; create it in each process.")

    def lock(self, key: str, seconds: float) -> AbstractAsyncContextManager[None]:
        """Hold a lock, as `SharedState.lock`."""
        return self.rate_limit(f"lock:{key}", concurrency=1, rate=None, seconds=seconds)

    @asynccontextmanager
    async def rate_limit(
        self, key: str, *, concurrency: int | None, rate: float | None, seconds: float
    ) -> AsyncGenerator[None]:
        """Hold a slot, as `SharedState.rate_limit`."""
        lease = Lease(key, new_holder(), concurrency, rate, seconds)
        permit = self.wait_for_permit(key, partial(self.acquire, lease))
        async with self.hold([lease], permit):
            yield

    def hold_at_once(
        self, limits: Sequence[Limit], seconds: float
    ) -> AbstractAsyncContextManager[bool]:
        """Return a context that holds a slot of each limit, if one round trip grants them all.

        It yields whether it holds them.
        """
        holder = new_holder()
        leases = [
            Lease(limit.key, holder, limit.concurrency, limit.rate, seconds) for limit in limits
        ]
        queues = self._queues_of_loop()
        if any(lease.key in queues for lease in leases):  # others came earlier and still wait
            return nullcontext(False)
        return self.hold(leases, self.acquire_all(leases))

    @asynccontextmanager
    async def hold(
        self, leases: Sequence[Lease], permit: Awaitable[Permit]
    ) -> AsyncGenerator[bool]:
        """Hold leases once their permit is granted; yields False if it is refused."""
        held = [lease for lease in leases if lease.concurrency is not None]
        renewal: _Renewal | None = None
        try:
            is_granted, wait = await permit
            held = held if is_granted else []
            renewal = _Renewal(self, held) if held else None
            if is_granted and wait:
                await asyncio.sleep(wait)
            yield is_granted
        finally:
            if renewal is not None:
                renewal.end()
            if held:
                with suppress(CallError, TimeoutError):  # the lease ends by itself
                    async with asyncio.timeout(1):
                        await self.release_all(held)

    async def wait_for_permit(self, key: str, acquire: Callable[[], Awaitable[Permit]]) -> Permit:
        """Ask until a permit is granted, in the order of the callers."""
        async with self._wait_in_queue(key):
            while not (permit := await acquire()).is_granted:
                # Random, so that processes do not ask in step.
                pause = self.pause * random.uniform(0.5, 1.5)  # noqa: S311 -- no secret
                await asyncio.sleep(min(permit.wait, _LONGEST_PAUSE) or pause)
            return permit

    def _queues_of_loop(self) -> dict[str, list[Any]]:
        return self._queues.setdefault(asyncio.get_running_loop(), {})

    @asynccontextmanager
    async def _wait_in_queue(self, key: str) -> AsyncGenerator[None]:
        # Callers of one event loop ask the state one at a time, in the order in which they came.
        queues = self._queues_of_loop()
        queue = queues.setdefault(key, [asyncio.Lock(), 0])
        queue[1] += 1
        try:
            async with queue[0]:
                yield
        finally:
            queue[1] -= 1
            if not queue[1]:
                queues.pop(key, None)


def new_holder() -> str:
    """Return a unique name for a holder."""
    return f"{random.getrandbits(64):016x}"  # not a secret; a forked process is seeded again


class _Renewal:
    """Renews leases until their holder ends."""

    def __init__(self, state: LeasedState, leases: Sequence[Lease]) -> None:
        self._state, self._leases = state, leases
        # Twice within a lease, so that one lost renewal does not lose the slot.
        self._pause = leases[0].seconds / 3
        self._task: asyncio.Task[None] | None = None
        # Most holders end earlier, and need no task.
        self._timer = asyncio.get_running_loop().call_later(self._pause, self._begin)

    def end(self) -> None:
        """Stop renewing the leases."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._renew())

    async def _renew(self) -> None:
        # Without limits, so that a state that lost its data accepts the holder again.
        renewals = [lease._replace(concurrency=_ANY, rate=None) for lease in self._leases]
        while True:
            for renewal in renewals:
                with suppress(CallError):  # the state may be reachable again before the lease ends
                    await self._state.acquire(renewal)
            await asyncio.sleep(self._pause)
