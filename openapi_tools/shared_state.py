"""State that processes share: bytes by key, locks and limits; `MemoryState` serves one process.

No user fills a bounded place for all: `FairShares` and `has_place` are the two rules.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import secrets
import time
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, TypeVar, runtime_checkable
from weakref import WeakKeyDictionary

from openapi_tools.errors import CallError, NotPicklableError
from openapi_tools.forks import ForkLock
from openapi_tools.json_values import digest_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable
    from contextlib import AbstractAsyncContextManager

    from pydantic import TypeAdapter

_Record = TypeVar("_Record")

LEASE = 10.0  # seconds until the place of a process that died is free again
SECRET = "secret:"  # noqa: S105 -- how keys begin whose values leave a process encrypted only
BURST = 0.04  # seconds' worth of calls that may come early
AHEAD = 0.25  # seconds before its turn in which a call takes it
_LONGEST_PAUSE = 1.0
_LARGEST = 64 * 1024 * 1024
_MOST_RATES = 10_000
_ANY = 10**9  # more places than holders
_LARGEST_RECORD = 16 * 1024 * 1024  # bytes of JSON; more would keep the event loop busy
_DEEPEST_RECORD = 220  # levels: those of a response, which has 200, and some around it
_SWEEP = 10.0  # seconds between two searches for values that have ended


@runtime_checkable
class SharedState(Protocol):
    """Bytes by key, locks and limits that processes share; `RedisState` and `MemoryState` are such.

    A key is `kind:name`, or `kind:user:name` with a digest of the user whose value it is: what
    stands before the last colon owns the value, for a state that has to make room.

    Methods may be called in any event loop and thread, and after a fork. Where the state cannot be
    reached they raise a `CallError` of the kind "connection".
    """

    async def get(self, key: str) -> bytes | None:
        """Return the value of a key; None without one."""
        ...

    async def put(self, key: str, value: bytes, seconds: float | None = None) -> None:
        """Keep a value, for so many seconds.

        The values of keys that begin with `secret:` leave the process encrypted only.
        """
        ...

    async def remove(self, key: str) -> None:
        """Remove the value of a key, if there is one."""
        ...

    def alone(self, key: str, seconds: float) -> AbstractAsyncContextManager[None]:
        """Let one holder at a time in, among all processes.

        The lock is kept while the holder lives, and is free `seconds` after it has died.
        """
        ...

    def turn(
        self, key: str, *, most: int | None, rate: float | None, seconds: float
    ) -> AbstractAsyncContextManager[None]:
        """Wait for one of `most` places, and for `rate` in a second; None sets no limit.

        A place is kept while its holder lives, and is free `seconds` after it has died.
        """
        ...

    async def ping(self) -> None:
        """Ask whether the state can be reached."""
        ...


class FairShares:
    """Entries of several owners in one bounded place, for the caller's thread only.

    When it is full, the oldest entry of the owner with the most leaves. So an owner who floods the
    place pushes out their own entries, and none of an owner who has less.

    Attributes:
        size: The sizes of all entries together.
    """

    def __init__(self, most: int) -> None:
        self._most, self.size = most, 0
        self._entries: dict[Hashable, dict[Any, int]] = {}  # sizes by owner and key, oldest first
        self._sizes: dict[Hashable, int] = {}  # by owner
        self._owners: dict[Any, Hashable] = {}  # by key

    def add(self, key: Any, owner: Hashable, size: int = 1) -> list[Any]:
        """Add the newest entry of an owner, and return the keys that leave, `key` among them."""
        self.remove(key)
        if size > self._most:
            return [key]
        self._owners[key] = owner
        self._entries.setdefault(owner, {})[key] = size
        self._sizes[owner] = self._sizes.get(owner, 0) + size
        self.size += size
        leaving = []
        while self.size > self._most:
            largest = max(self._sizes, key=self._sizes.__getitem__)
            oldest = next(iter(self._entries[largest]))
            self.remove(oldest)
            leaving.append(oldest)
        return leaving

    def remove(self, key: Any) -> None:
        """Remove an entry, if there is one."""
        if key not in self._owners:
            return
        owner = self._owners.pop(key)
        size = self._entries[owner].pop(key)
        self._sizes[owner] -= size
        self.size -= size
        if not self._entries[owner]:
            del self._entries[owner], self._sizes[owner]


def has_place(owned: int, taken: int, most: int) -> bool:
    """Whether a user with `owned` of the `taken` places may take another one of `most`.

    A user holds as many places as are left for all others: half of them alone, then a quarter. For
    work under way, which nobody ends for another user.
    """
    return owned < most - taken


def key_of(kind: str, user: str, name: str) -> str:
    """Return the key of a user's value; without a user all callers own it together."""
    return f"{kind}:{digest_of(user)[:16]}:{name}" if user else f"{kind}:{name}"


def read_record(value: bytes, shape: TypeAdapter[_Record]) -> _Record:
    """Return a record of a state from its JSON.

    Raises:
        ValueError: It is damaged: no JSON, of another shape, nested too deep, or too large. The
            message shows nothing of the record.
    """
    if len(value) > _LARGEST_RECORD:
        raise ValueError(f"it has more than {_LARGEST_RECORD} bytes")
    try:
        record = json.loads(value, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError:
        raise ValueError("it is not JSON") from None
    if _is_deep(record):
        raise ValueError("it is nested too deep")
    try:
        return shape.validate_python(record)
    except ValueError:
        raise ValueError("it has another shape than the records of this version") from None


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


class Place(NamedTuple):
    """A place that a holder asks for."""

    key: str
    holder: str
    most: int | None
    rate: float | None
    seconds: float


class Turn(NamedTuple):
    """A turn: taken, and due in `wait` seconds; or not, and asked for again after so many."""

    is_taken: bool
    wait: float


FULL = Turn(is_taken=False, wait=0.0)


class LeasedState(ABC):
    """Waits for places that are leased: a holder renews its place while it lives."""

    pause = 0.01  # seconds until the next look for a free place, on average

    def __init__(self) -> None:
        self._queues: WeakKeyDictionary[Any, dict[str, list[Any]]] = WeakKeyDictionary()

    @abstractmethod
    async def take(self, place: Place) -> Turn:
        """Take a place and a turn of its rate that is due within AHEAD seconds; FULL for no place.

        So a call takes one round trip, and no caller waits for another to come back.
        """

    @abstractmethod
    async def give(self, place: Place) -> None:
        """Give a place back."""

    def __reduce__(self) -> NoReturn:
        raise NotPicklableError("a shared state is not pickled; make it where it is needed.")

    def alone(self, key: str, seconds: float) -> AbstractAsyncContextManager[None]:
        """Let one holder in, as `SharedState.alone`."""
        return self.turn(f"alone:{key}", most=1, rate=None, seconds=seconds)

    @asynccontextmanager
    async def turn(
        self, key: str, *, most: int | None, rate: float | None, seconds: float
    ) -> AsyncGenerator[None]:
        """Wait for a turn, as `SharedState.turn`."""
        place = Place(key, secrets.token_hex(8), most, rate, seconds)
        keeper: asyncio.Task[None] | None = None
        try:
            async with self._queue(key):
                while not (turn := await self.take(place)).is_taken:
                    pause = self.pause * random.uniform(0.5, 1.5)  # noqa: S311 -- no secret
                    await asyncio.sleep(min(turn.wait, _LONGEST_PAUSE) or pause)
            if most is not None:
                keeper = asyncio.create_task(self._kept(place))
            if turn.wait:
                await asyncio.sleep(turn.wait)
            yield
        finally:
            if keeper is not None:
                keeper.cancel()
            if most is not None:
                with suppress(CallError, TimeoutError):  # else its lease ends
                    async with asyncio.timeout(1):
                        await self.give(place)

    async def _kept(self, place: Place) -> None:
        while True:
            await asyncio.sleep(place.seconds / 3)
            with suppress(CallError):  # it may be reached in time for the next one
                await self.take(place._replace(most=_ANY, rate=None))  # also a forgotten one

    @asynccontextmanager
    async def _queue(self, key: str) -> AsyncGenerator[None]:
        """Wait behind the loop's other callers for a key: one of them looks, in their order."""
        queues = self._queues.setdefault(asyncio.get_running_loop(), {})
        queue = queues.setdefault(key, [asyncio.Lock(), 0])
        queue[1] += 1
        try:
            async with queue[0]:
                yield
        finally:
            queue[1] -= 1
            if not queue[1]:
                queues.pop(key, None)


class MemoryState(LeasedState):
    """The state of one process, for any of its event loops and threads.

    Args:
        most_bytes: Of all values. Above it the oldest value leaves of the owner (what stands before
            the last colon of a key: a kind, or a kind and a user) with the most bytes.
    """

    pause = 0.002

    def __init__(self, *, most_bytes: int = _LARGEST) -> None:
        super().__init__()
        self._most = most_bytes
        self._lock = ForkLock()
        self._values: dict[str, tuple[bytes, float]] = {}
        self._shares = FairShares(most_bytes)
        self._swept = 0.0  # when ended values were last removed
        self._places: dict[str, dict[str, float]] = {}  # by key and holder: the end of the lease
        self._due: dict[str, float] = {}  # by key: when the next call of a rate is due
        self._process = os.getpid()

    async def get(self, key: str) -> bytes | None:
        """Return the value of a key; None without one."""
        with self._lock:
            value, until = self._values.get(key, (None, 0.0))
            return value if until > time.monotonic() else None

    async def put(self, key: str, value: bytes, seconds: float | None = None) -> None:
        """Keep a value, for so many seconds."""
        now = time.monotonic()
        with self._lock:
            if self._shares.size + len(value) > self._most and now > self._swept + _SWEEP:
                self._swept = now
                for ended in [k for k, (_, end) in self._values.items() if end <= now]:
                    self._drop(ended)
            self._values[key] = (value, now + (float("inf") if seconds is None else seconds))
            # The kind is part of the owner: cached responses must not push out the keys of writes.
            for leaving in self._shares.add(key, key.rpartition(":")[0], len(value)):
                del self._values[leaving]

    async def remove(self, key: str) -> None:
        """Remove the value of a key, if there is one."""
        with self._lock:
            self._drop(key)

    async def ping(self) -> None:
        """Do nothing: it can be reached."""

    def _drop(self, key: str) -> None:
        if self._values.pop(key, None) is not None:
            self._shares.remove(key)

    async def take(self, place: Place) -> Turn:
        """Take a place and a turn of its rate, as `LeasedState.take`."""
        now = time.monotonic()
        with self._lock:
            held = self._held(place, now)
            if place.most is not None and place.holder not in held and len(held) >= place.most:
                return FULL
            wait = 0.0
            if place.rate is not None:
                due = max(self._due.get(place.key, now), now)
                wait = max(due - BURST - now, 0.0)
                if wait > AHEAD:
                    return Turn(is_taken=False, wait=wait - AHEAD / 2)
                if len(self._due) > _MOST_RATES:
                    self._due = {key: later for key, later in self._due.items() if later > now}
                self._due[place.key] = due + 1 / place.rate
            if place.most is not None:
                held[place.holder] = now + place.seconds
            return Turn(is_taken=True, wait=wait)

    def _held(self, place: Place, now: float) -> dict[str, float]:
        """Return the places of a key that are held: the ends of their leases by holder."""
        if place.most is None:
            return {}
        if self._process != os.getpid():  # the holders are in another process
            self._places, self._process = {}, os.getpid()
        held = self._places.setdefault(place.key, {})
        for holder in [holder for holder, end in held.items() if end <= now]:
            del held[holder]
        return held

    async def give(self, place: Place) -> None:
        """Give a place back."""
        with self._lock:
            held = self._places.get(place.key, {})
            held.pop(place.holder, None)
            if not held:
                self._places.pop(place.key, None)


class Limits:
    """The limits of the calls of one toolset: for each API, by its origin, and for each user."""

    def __init__(self, state: SharedState, settings: Any) -> None:
        self._state = state
        shared = settings.state is not None and "concurrency" in settings.model_fields_set
        self._api = (settings.concurrency if shared else None, settings.rate)
        self._user = (settings.user_concurrency, settings.user_rate)

    def __bool__(self) -> bool:
        return any(limit is not None for limit in (*self._api, *self._user))

    def turns(self, origin: str, user: str) -> tuple[AbstractAsyncContextManager[None], ...]:
        """Return what waits for a turn among the calls of a user to an API, and among all."""
        whole = self._turn(f"limit:{origin}", *self._api)
        return self._turn(f"limit:{origin} {user}", *self._user), whole

    def _turn(
        self, key: str, most: int | None, rate: float | None
    ) -> AbstractAsyncContextManager[None]:
        if most is None and rate is None:
            return nullcontext()
        return self._state.turn(key, most=most, rate=rate, seconds=LEASE)
