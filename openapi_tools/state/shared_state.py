"""State that processes share: bytes by key, locks and limits; `MemoryState` serves one process.

Two rules keep one user from filling a bounded resource: `FairShares` evicts entries, and
`has_free_slot` refuses work.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar, runtime_checkable

from openapi_tools.common.json_values import digest_of
from openapi_tools.state.leased_state import AHEAD, BURST, FULL, Lease, LeasedState, Permit

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable
    from contextlib import AbstractAsyncContextManager

    from pydantic import TypeAdapter

_Record = TypeVar("_Record")

LEASE = 10.0  # seconds until the slot of a process that died is free again
SECRET = "secret:"  # noqa: S105 -- how keys begin whose values leave a process encrypted only
# Bytes of all values of a `MemoryState`: some hundred large responses, or tokens and keys of
# writes for every user of a server.
_MOST_BYTES = 64 * 1024 * 1024
# Each user and API has a rate of its own. Above this many, those whose next call is due already
# are forgotten: they would be granted at once anyway.
_MOST_RATES = 10_000
_LARGEST_RECORD = 16 * 1024 * 1024  # bytes of JSON; more would keep the event loop busy
_DEEPEST_RECORD = 220  # levels: those of a response, which has 200, and some around it
_SWEEP = 10.0  # seconds between two searches for expired values


@runtime_checkable
class SharedState(Protocol):
    """Bytes by key, locks and limits that processes share, such as `RedisState` and `MemoryState`.

    A key is `kind:name`, or `kind:user:name` with a digest of the user who owns the value. A state
    of bounded size evicts by owner: the part before the last colon.

    Methods may be called in any event loop and thread, and after a fork. If the state cannot be
    reached, they raise a `CallError` of the kind "connection".
    """

    async def get(self, key: str) -> bytes | None:
        """Return the value of a key; None if it has none."""
        ...

    async def put(self, key: str, value: bytes, seconds: float | None = None) -> None:
        """Store a value; `seconds` is its lifetime, None for no end.

        Values of keys that begin with `secret:` must be encrypted before they leave the process.
        """
        ...

    async def remove(self, key: str) -> None:
        """Remove the value of a key, if it has one."""
        ...

    def lock(self, key: str, seconds: float) -> AbstractAsyncContextManager[None]:
        """Hold a lock that all processes share.

        A holder renews it while it lives. If the holder dies, the lock is free after `seconds`.
        """
        ...

    def rate_limit(
        self, key: str, *, concurrency: int | None, rate: float | None, seconds: float
    ) -> AbstractAsyncContextManager[None]:
        """Hold one of `concurrency` slots, of which `rate` are granted per second.

        None sets no limit. A holder renews its slot while it lives. If the holder dies, the slot
        is free after `seconds`.
        """
        ...

    async def ping(self) -> None:
        """Check that the state can be reached."""
        ...


# A plain LRU would let one busy user evict what all others have stored.
class FairShares:
    """Entries of several owners in one bounded store; not thread-safe.

    When it is full, the oldest entry of the owner with the most is evicted. So an owner who floods
    the store evicts their own entries, and none of an owner who has fewer.

    Attributes:
        size: The total size of all entries.
    """

    def __init__(self, most: int) -> None:
        self._most, self.size = most, 0
        self._entries: dict[Hashable, dict[Any, int]] = {}  # sizes by owner and key, oldest first
        self._sizes: dict[Hashable, int] = {}  # by owner
        self._owners: dict[Any, Hashable] = {}  # by key

    def add(self, key: Any, owner: Hashable, size: int = 1) -> list[Any]:
        """Add the newest entry of an owner, and return the evicted keys, maybe `key` among them."""
        self.remove(key)
        if size > self._most:
            return [key]
        self._owners[key] = owner
        self._entries.setdefault(owner, {})[key] = size
        self._sizes[owner] = self._sizes.get(owner, 0) + size
        self.size += size
        evicted = []
        while self.size > self._most:
            # Owners are few beside entries (users, or kinds of values), so a scan is cheaper
            # than a heap that every `add` and `remove` has to keep in order.
            largest = max(self._sizes, key=self._sizes.__getitem__)
            oldest = next(iter(self._entries[largest]))
            self.remove(oldest)
            evicted.append(oldest)
        return evicted

    def remove(self, key: Any) -> None:
        """Remove an entry, if it exists."""
        if key not in self._owners:
            return
        owner = self._owners.pop(key)
        size = self._entries[owner].pop(key)
        self._sizes[owner] -= size
        self.size -= size
        if not self._entries[owner]:
            del self._entries[owner], self._sizes[owner]


def has_free_slot(owned: int, taken: int, most: int) -> bool:
    """Return whether a user with `owned` of the `taken` slots may take another one of `most`.

    A user may hold as many slots as are still free: half of all if nobody else has any, then a
    quarter. This is for work in progress, which is never cancelled in favour of another user.
    """
    return owned < most - taken


def state_key(kind: str, user: str, name: str) -> str:
    """Return the key of a user's value; without a user, all callers share it."""
    return f"{kind}:{digest_of(user)[:16]}:{name}" if user else f"{kind}:{name}"


def lock_value(
    state: SharedState, key: str, value: bytes, *, lifetime: float, seconds: float
) -> AbstractAsyncContextManager[bytes | None]:
    """Hold the lock of a value; yield the stored one, or store `value` and yield None.

    A state that can do so in fewer round trips has a method of this name. `value` is unique, so
    that a state recognises what it has stored itself.
    """
    in_one_step = getattr(state, "lock_value", None) or partial(_lock_in_steps, state)
    lock: AbstractAsyncContextManager[bytes | None] = in_one_step(
        key, value, lifetime=lifetime, seconds=seconds
    )
    return lock


@asynccontextmanager
async def _lock_in_steps(
    state: SharedState, key: str, value: bytes, *, lifetime: float, seconds: float
) -> AsyncGenerator[bytes | None]:
    async with state.lock(value_lock(key), seconds):
        stored = await state.get(key)
        if stored is None:
            await state.put(key, value, lifetime)
        yield stored


def value_lock(key: str) -> str:
    """Return the key of the lock of a value."""
    return f"{key}:turn"


def read_record(value: bytes, shape: TypeAdapter[_Record]) -> _Record:
    """Parse a stored record.

    Raises:
        ValueError: The record is damaged: not JSON, of another shape, nested too deeply, or too
            large. The message contains nothing of the record.
    """
    if len(value) > _LARGEST_RECORD:
        raise ValueError(f"it has more than {_LARGEST_RECORD} bytes")
    try:
        record = json.loads(value, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:
        raise ValueError("it is not JSON") from None
    if _is_deep(record):
        raise ValueError("it is nested too deeply")
    try:
        return shape.validate_python(record)
    except ValueError:
        raise ValueError("it does not have the form of this version's records") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are no JSON (RFC 8259, section 6)


def _is_deep(record: Any) -> bool:
    level = [record] if isinstance(record, dict | list) else []
    for _ in range(_DEEPEST_RECORD):
        inner = (node.values() if isinstance(node, dict) else node for node in level)
        level = [n for nodes in inner for n in nodes if isinstance(n, dict | list)]
        if not level:
            return False
    return True


class MemoryState(LeasedState):
    """The state of one process, for any of its event loops and threads.

    Args:
        most_bytes: The limit of all values together. Above it, the oldest value of the owner with
            the most bytes is evicted. The owner is the part of a key before the last colon: a
            kind, or a kind and a user.
    """

    pause = 0.002

    def __init__(self, *, most_bytes: int = _MOST_BYTES) -> None:
        super().__init__()
        self._most = most_bytes
        self._lock = threading.RLock()
        self._values: dict[str, tuple[bytes, float]] = {}
        self._shares = FairShares(most_bytes)
        self._swept_at = 0.0  # when expired values were last removed
        self._leases: dict[str, dict[str, float]] = {}  # by key and holder: the end of the lease
        self._next_call_at: dict[str, float] = {}  # by key of a rate
        self._process = os.getpid()

    async def get(self, key: str) -> bytes | None:
        """Return the value of a key; None if it has none."""
        with self._lock:
            value, end = self._values.get(key, (None, 0.0))
            return value if end > time.monotonic() else None

    async def put(self, key: str, value: bytes, seconds: float | None = None) -> None:
        """Store a value; `seconds` is its lifetime."""
        now = time.monotonic()
        with self._lock:
            if self._shares.size + len(value) > self._most and now > self._swept_at + _SWEEP:
                self._swept_at = now
                for expired in [k for k, (_, end) in self._values.items() if end <= now]:
                    self._drop_value(expired)
            self._values[key] = (value, now + (float("inf") if seconds is None else seconds))
            # The kind is part of the owner: cached responses must not evict the keys of writes.
            for evicted in self._shares.add(key, key.rpartition(":")[0], len(value)):
                del self._values[evicted]

    async def remove(self, key: str) -> None:
        """Remove the value of a key, if it has one."""
        with self._lock:
            self._drop_value(key)

    async def ping(self) -> None:
        """Do nothing: memory can always be reached."""

    def _drop_value(self, key: str) -> None:
        if self._values.pop(key, None) is not None:
            self._shares.remove(key)

    async def acquire(self, lease: Lease) -> Permit:
        """Take a slot and a permit of its rate, as `LeasedState.acquire`."""
        now = time.monotonic()
        limit, rate = lease.concurrency, lease.rate
        with self._lock:
            ends = self._live_leases(lease, now)
            if limit is not None and lease.holder not in ends and len(ends) >= limit:
                return FULL
            wait = 0.0
            if rate is not None:
                due = max(self._next_call_at.get(lease.key, now), now)
                wait = max(due - BURST - now, 0.0)
                if wait > AHEAD:
                    # Before it is due, as an attempt within AHEAD of that takes it.
                    return Permit(is_granted=False, wait=wait - AHEAD / 2)
                if len(self._next_call_at) > _MOST_RATES:
                    later = {key: at for key, at in self._next_call_at.items() if at > now}
                    self._next_call_at = later
                self._next_call_at[lease.key] = due + 1 / rate
            if limit is not None:
                ends[lease.holder] = now + lease.seconds
            return Permit(is_granted=True, wait=wait)

    def _live_leases(self, lease: Lease, now: float) -> dict[str, float]:
        if lease.concurrency is None:
            return {}
        if self._process != os.getpid():  # after a fork the holders are in the other process
            self._leases, self._process = {}, os.getpid()
        ends = self._leases.setdefault(lease.key, {})
        for holder in [holder for holder, end in ends.items() if end <= now]:
            del ends[holder]
        return ends

    async def release(self, lease: Lease) -> None:
        """Give a slot back."""
        with self._lock:
            ends = self._leases.get(lease.key, {})
            ends.pop(lease.holder, None)
            if not ends:
                self._leases.pop(lease.key, None)
