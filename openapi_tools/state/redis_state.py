"""State that processes share in Redis, over redis-py: bytes by key, locks and limits by leases."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import os
import secrets
import time
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import CallError, CredentialsError, SettingsError, require_extra
from openapi_tools.redaction import Secret, excerpt
from openapi_tools.state.leased_state import AHEAD, BURST, Lease, LeasedState, Permit, new_holder
from openapi_tools.state.shared_state import SECRET, value_lock

with require_extra("redis"):
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import ExponentialBackoff, NoBackoff
    from redis.exceptions import ConnectionError as LostError
    from redis.exceptions import RedisError, ResponseError

    from openapi_tools.state.redis_channel import RedisChannel, Word

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

logger = logging.getLogger("openapi_tools")

VARIABLE = "OPENAPI_TOOLS_STATE_KEY"
# Each key is hashed once by SHA-256, which does not slow down guessing: it must be random, not a
# password. 32 characters of `openssl rand -base64` hold 192 bits or more.
_LEAST_KEY = 32
# The length that AES-GCM is made for (NIST SP 800-38D, section 5.2.1.1).
_NONCE = 12
_MARK = b"\x01"  # how encrypted values begin
_CONNECTIONS = 50  # of one event loop
_LEASE_KEYS = 1000  # names in Redis that are remembered
_PATIENCE = 3.0  # seconds for one command, with its retries
# Otherwise hundreds of calls in flight would each wait _PATIENCE for the same dead server.
_QUIET = 0.1  # seconds after a failure in which no command is tried
_RETRIES = 4  # with pauses of 0.75 s in all: as long as a restart takes
_OPEN: set[object] = set()  # generators that close connections when their event loop ends
# In a forked process: the parent's clients, which it must not close.
_LEFT_BEHIND: list[object] = []

# Removes slots that ended, and leases that end later than any can: they were taken before Redis's
# clock was set back, for instance by a failover. A value of another type is another program's.
_END_LEASES = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local function end_leases(key, lease)
  local ended = redis.pcall('ZREMRANGEBYSCORE', key, '-inf', now)
  if type(ended) == 'table' then redis.call('DEL', key) end
  local latest = string.format('(%.0f', now + lease + 60000000)
  redis.call('ZREMRANGEBYSCORE', key, latest, '+inf')
end
"""
# One script, as Redis runs each alone: no other process can take the slot between the count and
# the entry. Redis's own clock, as those of the processes may differ by more than a lease.
# Acquires or renews all leases and permits of their rates, or none; times are microseconds of
# Redis's clock. Only the last permit may be due later: nobody holds slots of others while waiting.
_ACQUIRE = (
    _END_LEASES
    + """
local holder, burst, ahead, wait = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), 0
local last, dues = #KEYS / 2, {}
local function read_due(key, interval)
  local stored = redis.pcall('GET', key)
  local due = type(stored) == 'string' and tonumber(stored) or now
  if due <= now + burst + ahead + interval + 60000000 then return math.max(due, now) end
  return now
end
for n = 1, last do
  local most, lease = tonumber(ARGV[3 * n + 1]), tonumber(ARGV[3 * n + 2])
  local interval = tonumber(ARGV[3 * n + 3])
  if wait > 0 then return {0, 0} end
  if most >= 0 then
    end_leases(KEYS[2 * n - 1], lease)
    local held = redis.call('ZSCORE', KEYS[2 * n - 1], holder)
    if not held and redis.call('ZCARD', KEYS[2 * n - 1]) >= most then return {0, 0} end
  end
  if interval > 0 then
    dues[n] = read_due(KEYS[2 * n], interval)
    wait = math.max(math.ceil(dues[n] - burst - now), 0)
    if wait > ahead then return {0, wait - ahead / 2} end
  end
end
for n = 1, last do
  local lease, interval = tonumber(ARGV[3 * n + 2]), tonumber(ARGV[3 * n + 3])
  if interval > 0 then
    local due = dues[n] + interval
    local later = math.ceil((due - now) / 1000)
    redis.call('SET', KEYS[2 * n], string.format('%.0f', due), 'PX', later)
  end
  if tonumber(ARGV[3 * n + 1]) >= 0 then
    redis.call('ZADD', KEYS[2 * n - 1], now + lease, holder)
    redis.call('PEXPIRE', KEYS[2 * n - 1], math.ceil(lease / 1000))
  end
end
return {1, wait}
"""
)
# Takes the lock of a value and returns the value, or stores one if there is none. After a lost
# connection the script runs again, and finds what it stored.
_LOCK_VALUE = (
    _END_LEASES
    + """
end_leases(KEYS[1], tonumber(ARGV[2]))
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) > 0 then
  return {0, false}
end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.ceil(ARGV[2] / 1000))
if redis.call('SET', KEYS[2], ARGV[3], 'NX', 'PX', ARGV[4]) then return {1, false} end
local stored = redis.pcall('GET', KEYS[2])
if stored == ARGV[3] then return {1, false} end
if type(stored) == 'string' then return {1, stored} end
redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
return {1, false}
"""
)
_RELEASE = """
for _, key in ipairs(KEYS) do redis.call('ZREM', key, ARGV[1]) end
"""


class _Connections(NamedTuple):
    """The connections of one event loop.

    Attributes:
        client: For values, which may be large.
        channel: For scripts, which are short.
    """

    client: Any
    channel: RedisChannel


class RedisState(LeasedState):
    """A `SharedState` in a Redis server, for the processes of many machines.

    Each event loop has connections of its own. They are opened when needed, opened again after a
    restart of Redis, and closed when the loop ends.

    Args:
        url: `redis://`, `rediss://` or `unix://`, as redis-py takes it.
        prefix: The beginning of all keys in Redis; a kind and a hash follow.
        key: Encrypts all values with AES-256-GCM: a secret of 32 characters or more, for instance
            from `openssl rand -base64 32`, or several separated by spaces, of which the first
            encrypts. By default the environment variable `OPENAPI_TOOLS_STATE_KEY`. Without a key,
            no tokens are stored.

    Raises:
        SettingsError: The URL is not one of Redis, or the key is too short.
    """

    def __init__(self, url: str, *, prefix: str = "openapi-tools:", key: str | None = None) -> None:
        super().__init__()
        self._url, self._prefix = Secret(url), prefix
        try:
            options = BlockingConnectionPool.from_url(url).connection_kwargs
        except (ValueError, TypeError):
            form = "redis://host:6379/0"
            raise SettingsError(f"redis: the URL is not of the form {form}.") from None
        host, port = options.get("host", "localhost"), options.get("port", 6379)
        address = options.get("path") or f"{host}:{port}"
        self._name = excerpt(f"redis://{address}", 100)
        self._secrets = _read_secrets(os.environ.get(VARIABLE, "") if key is None else key)
        self._quiet_until, self._cause, self._is_away = 0.0, "", False
        self._process = os.getpid()
        # An API's limit has the same key in each call.
        self._lease_keys = lru_cache(maxsize=_LEASE_KEYS)(self._make_lease_keys)
        self._loops: dict[
            asyncio.AbstractEventLoop, tuple[_Connections, AsyncGenerator[_Connections]]
        ] = {}

    def __repr__(self) -> str:
        return f"RedisState({self._name!r})"

    async def get(self, key: str) -> bytes | None:
        """Return the value of a key; None if it has none, or if its encryption key is missing."""
        for name in self._redis_keys(key):
            value: bytes | None = await self._run(partial(_read_value, name))
            if value is not None:
                return self._decrypt(name, value)
        return None

    async def put(self, key: str, value: bytes, seconds: float | None = None) -> None:
        """Store a value; `seconds` is its lifetime."""
        name = self._redis_keys(key)[0]
        encrypted = self._encrypt(name, value)
        lifetime = None if seconds is None else max(1, int(seconds * 1000))
        await self._run(lambda connections: connections.client.set(name, encrypted, px=lifetime))

    async def remove(self, key: str) -> None:
        """Remove the value of a key, if it has one."""
        await self._run(lambda connections: connections.client.delete(*self._redis_keys(key)))

    async def ping(self) -> None:
        """Check that Redis responds; CallError if it does not."""
        await self._run(lambda connections: connections.client.ping())

    async def acquire(self, lease: Lease) -> Permit:
        """Take a slot and a permit of its rate, as `LeasedState.acquire`."""
        return await self.acquire_all((lease,))

    async def release(self, lease: Lease) -> None:
        """Give a slot back."""
        await self.release_all((lease,))

    async def acquire_all(self, leases: Sequence[Lease]) -> Permit:
        """Take all slots and permits in one round trip, as `LeasedState.acquire_all`."""
        keys: list[str] = []
        arguments: list[Word] = [leases[0].holder, BURST * 1e6, AHEAD * 1e6]
        for lease in leases:
            keys += self._lease_keys(lease.key)
            interval = 1e6 / lease.rate if lease.rate is not None else 0
            limit = -1 if lease.concurrency is None else lease.concurrency
            arguments += (limit, int(lease.seconds * 1e6), interval)
        is_granted, wait = await self._run_script(_ACQUIRE, keys, arguments)
        return Permit(bool(is_granted), wait / 1e6)

    async def release_all(self, leases: Sequence[Lease]) -> None:
        """Give slots back in one round trip."""
        keys = [self._lease_keys(lease.key)[0] for lease in leases]
        await self._run_script(_RELEASE, keys, [leases[0].holder])

    @asynccontextmanager
    async def lock_value(
        self, key: str, value: bytes, *, lifetime: float, seconds: float
    ) -> AsyncGenerator[bytes | None]:
        """Hold the lock of a value, as `shared_state.lock_value`."""
        name = self._redis_keys(key)[0]
        lease = Lease(f"lock:{value_lock(key)}", new_holder(), 1, None, seconds)
        keys = [self._lease_keys(lease.key)[0], name]
        milliseconds = max(1, int(lifetime * 1000))
        arguments: list[Word] = [
            lease.holder,
            int(seconds * 1e6),
            self._encrypt(name, value),
            milliseconds,
        ]
        stored: bytes | None = None

        async def acquire() -> Permit:
            nonlocal stored
            is_granted, stored = await self._run_script(_LOCK_VALUE, keys, arguments)
            return Permit(bool(is_granted), 0.0)

        async with self.hold([lease], self.wait_for_permit(lease.key, acquire)):
            readable = None if stored is None else self._decrypt(name, stored)
            if readable is None and stored is not None:  # as if there were none
                await self.put(key, value, lifetime)
            yield readable

    async def aclose(self) -> None:
        """Close the running loop's connections; later calls open new ones."""
        if entry := self._loops.get(asyncio.get_running_loop()):
            await entry[1].aclose()

    def _make_lease_keys(self, key: str) -> tuple[str, str]:
        # Braces put both keys on one node of a cluster, as a script needs them.
        name = f"{{{self._redis_keys(key)[0]}}}"
        return f"{name}:leases", f"{name}:due"

    def _redis_keys(self, key: str) -> list[str]:
        # Hashed, so that the keys reveal nothing. Values are written under the first one; the
        # others are those of earlier secrets.
        is_secret = key.removeprefix("lock:").startswith(SECRET)
        if is_secret and not self._secrets:
            raise CredentialsError(
                "the shared state stores no tokens without an encryption key: "
                f"set {VARIABLE}, or pass RedisState(…, key=…)."
            )
        # A plain hash would not do: a key may be made of something easy to guess, like a password.
        salts = self._secrets if is_secret else [b""]
        kind, text = key.partition(":")[0], key.encode(errors="surrogatepass")
        digests = (hmac.digest(salt, text, "sha256").hex()[:40] for salt in salts)
        return [f"{self._prefix}{kind}:{digest}" for digest in digests]

    def _encrypt(self, name: str, value: bytes) -> bytes:
        if not self._secrets:
            return value
        nonce = secrets.token_bytes(_NONCE)
        # The name in Redis is authenticated with the value, so nobody who can write to Redis
        # can give one user another's token by copying a value to another key.
        return _MARK + nonce + AESGCM(self._secrets[0]).encrypt(nonce, value, name.encode())

    def _decrypt(self, name: str, value: bytes) -> bytes | None:
        # None: another key has encrypted it, or somebody has changed or moved it.
        if not self._secrets:
            return value
        start = len(_MARK)
        for key in self._secrets if value.startswith(_MARK) else ():
            try:
                nonce, encrypted = value[start : start + _NONCE], value[start + _NONCE :]
                return AESGCM(key).decrypt(nonce, encrypted, name.encode())
            except (InvalidTag, ValueError):
                continue
        return None

    async def _run(self, command: Callable[[_Connections], Awaitable[Any]]) -> Any:
        connections = None
        try:
            # Callers that queue behind a failed one fail with it, instead of each in its own time.
            if time.monotonic() < self._quiet_until:
                raise LostError(self._cause)
            async with asyncio.timeout(_PATIENCE):
                connections = await self._connections_of_loop()
                response = await command(connections)
        except (RedisError, OSError) as error:
            if connections is not None and isinstance(error, TimeoutError):
                # Redis hangs: later it would run what waits in the connection, for nobody.
                await connections.channel.close()
            self._note_failure(error)
            # Without the address: a model may read this, and anyone who asks for `/readyz`.
            reason = "the shared state is unreachable; nothing was sent."
            raise CallError("connection", reason, retryable=True) from None
        if self._is_away:
            self._is_away = False
            logger.warning("the shared state at %s is reachable again", self._name)
        return response

    def _note_failure(self, error: Exception) -> None:
        # The cause is logged once until the next success.
        self._cause = " ".join(str(error).split()) or f"no response in {_PATIENCE:g} s"
        self._quiet_until = time.monotonic() + _QUIET
        if not self._is_away:
            self._is_away = True
            cause = excerpt(self._cause, 200)
            logger.warning("the shared state at %s is unreachable: %s", self._name, cause)

    async def _run_script(self, script: str, keys: Sequence[str], arguments: Sequence[Word]) -> Any:
        return await self._run(
            lambda connections: connections.channel.run_script(script, keys, arguments)
        )

    async def _connections_of_loop(self) -> _Connections:
        if self._process != os.getpid():  # after a fork, the sockets are the parent's
            _LEFT_BEHIND.append(self._loops)
            self._loops, self._process = {}, os.getpid()
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            # A generator, as an event loop that ends closes its asynchronous generators.
            opening = self._open_connections(loop)
            _OPEN.add(opening)
            self._loops[loop] = await anext(opening), opening
        return self._loops[loop][0]

    async def _open_connections(
        self, loop: asyncio.AbstractEventLoop
    ) -> AsyncGenerator[_Connections]:
        backoff: Any = ExponentialBackoff(cap=0.4, base=0.05)
        retry = Retry(backoff, _RETRIES, (LostError,))
        client = Redis.from_pool(self._make_pool(retry))
        # The channel itself tries again, connecting included.
        channel = RedisChannel(self._make_pool(Retry(NoBackoff(), 0)).make_connection, retry)
        try:
            yield _Connections(client, channel)
        finally:
            _, opening = self._loops.pop(loop, (None, None))
            _OPEN.discard(opening)
            await channel.close()
            await client.aclose()

    def _make_pool(self, retry: Retry) -> BlockingConnectionPool:
        return BlockingConnectionPool.from_url(
            self._url.reveal(),
            timeout=_PATIENCE,
            retry=retry,
            # With redis-py's own timeout a cancelled call may go on: it uses `asyncio.wait_for`,
            # which swallows a cancellation in Python 3.11.
            socket_timeout=None,
            max_connections=_CONNECTIONS,
        )


async def _read_value(name: str, connections: _Connections) -> Any:
    try:
        return await connections.client.get(name)
    except ResponseError as error:
        if not str(error).startswith("WRONGTYPE"):
            raise
        return None  # something else has written a list, say, under this key


def _read_secrets(text: str) -> list[bytes]:
    keys = text.split()
    if any(len(key) < _LEAST_KEY for key in keys):
        reason = f"the key of the shared state is shorter than {_LEAST_KEY} characters"
        raise SettingsError(f"{reason}; generate one with: openssl rand -base64 32")
    return [hashlib.sha256(key.encode()).digest() for key in keys]
