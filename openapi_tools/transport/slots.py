"""Limits on calls: the slots of an event loop, and the limits that processes share."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from openapi_tools.shared_state import LEASE, has_free_slot

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType

    from openapi_tools.shared_state import SharedState


class Slots:
    """At most `most` slots at once; a named user has as many as are left for all others.

    Callers without a name have no share, as nothing tells them apart. Of the callers that wait, the
    user with the fewest slots comes first.
    """

    def __init__(self, most: int) -> None:
        self._most, self._taken = most, 0
        self._owned: Counter[str] = Counter()  # by user
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # by user, in their order

    def of(self, user: str) -> _Slot:
        """Return a slot of a user, for `async with`."""
        return _Slot(self, user)

    async def take(self, user: str) -> None:
        """Wait for a slot."""
        if user not in self._waiting and self._is_free(user):
            self._count(user, 1)
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                self._leave(user, waiter)
            else:  # it got a slot in the same turn of the loop
                self.give(user)
            raise

    def give(self, user: str) -> None:
        """Give a slot back, to those who wait."""
        self._count(user, -1)
        while users := [name for name in self._waiting if self._is_free(name)]:
            name = min(users, key=self._owned.__getitem__)
            waiter = self._waiting[name][0]
            self._leave(name, waiter)
            if not waiter.cancelled():
                self._count(name, 1)
                waiter.set_result(None)

    def _is_free(self, user: str) -> bool:
        if not user:
            return self._taken < self._most
        return has_free_slot(self._owned[user], self._taken, self._most)

    def _count(self, user: str, change: int) -> None:
        self._taken += change
        self._owned[user] += change
        if not self._owned[user]:
            del self._owned[user]

    def _leave(self, user: str, waiter: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(user)
        if waiting is not None and waiter in waiting:
            waiting.remove(waiter)
            if not waiting:
                del self._waiting[user]


class _Slot:
    __slots__ = ("_slots", "_user")

    def __init__(self, slots: Slots, user: str) -> None:
        self._slots, self._user = slots, user

    async def __aenter__(self) -> None:
        await self._slots.take(self._user)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._slots.give(self._user)


class Limits:
    """The limits on the calls of one toolset: for each API, by its origin, and for each user."""

    def __init__(self, state: SharedState, settings: Any) -> None:
        self._state = state
        # Without a shared state the toolset's own slots bound its concurrency.
        shared = settings.state is not None and "concurrency" in settings.model_fields_set
        self._api = (settings.concurrency if shared else None, settings.rate)
        self._user = (settings.user_concurrency, settings.user_rate)

    def __bool__(self) -> bool:
        return any(limit is not None for limit in (*self._api, *self._user))

    def permits(self, origin: str, user: str) -> tuple[AbstractAsyncContextManager[None], ...]:
        """Return the limit on a user's calls to an API, and the limit on all calls to it."""
        whole = self._permit(f"limit:{origin}", *self._api)
        return self._permit(f"limit:{origin} {user}", *self._user), whole

    def _permit(
        self, key: str, concurrency: int | None, rate: float | None
    ) -> AbstractAsyncContextManager[None]:
        if concurrency is None and rate is None:
            return nullcontext()
        return self._state.rate_limit(key, concurrency=concurrency, rate=rate, seconds=LEASE)
