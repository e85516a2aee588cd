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
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError, CredentialsError, SettingsError, requiring
from openapi_tools.redaction import Secret, excerpt
from openapi_tools.shared_state import AHEAD, BURST, SECRET, LeasedState, Place, Turn

with requiring("redis"):
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import ExponentialBackoff
    from redis.exceptions import ConnectionError as LostError
    from redis.exceptions import RedisError, ResponseError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

logger = logging.getLogger("openapi_tools")

VARIABLE = "OPENAPI_TOOLS_STATE_KEY"
_LEAST_KEY = 32
_NONCE = 12
_MARK = b"\x01"  # how encrypted values begin
_CONNECTIONS = 50  # of one event loop
_PATIENCE = 3.0  # seconds for one command, with its retries
_QUIET = 0.1  # seconds after a failure without another try
_RETRIES = 4  # with pauses of 0.75 s in all: a restart takes so long
_OPEN: set[object] = set()  # keeps what closes connections at the end of a loop
_LEFT_BEHIND: list[object] = []  # the parent's clients in a forked process

_TAKE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local most, lease, interval = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local burst, ahead, wait = tonumber(ARGV[5]), tonumber(ARGV[6]), 0
if most >= 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  local held = redis.call('ZSCORE', KEYS[1], ARGV[1])
  if not held and redis.call('ZCARD', KEYS[1]) >= most then return {0, 0} end
end
if interval > 0 then
  local due = math.max(tonumber(redis.call('GET', KEYS[2])) or 0, now)
  wait = math.max(math.ceil(due - burst - now), 0)
  if wait > ahead then return {0, wait - ahead / 2} end
  local later = math.ceil((due + interval - now) / 1000)
  redis.call('SET', KEYS[2], string.format('%.0f', due + interval), 'PX', later)
end
if most >= 0 then
  redis.call('ZADD', KEYS[1], now + lease, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], math.ceil(lease / 1000))
end
return {1, wait}
"""
"""Takes or renews a place, and a turn of a rate; times are of Redis, in microseconds."""


class RedisState(LeasedState):
    """A `SharedState` in a Redis server, for the processes of many machines.

    Connections are of the running event loop; they are made when needed, again after a restart of
    Redis, and closed when the loop ends.

    Args:
        url: `redis://`, `rediss://` or `unix://`, as redis-py takes it.
        prefix: How the keys in Redis begin; the rest of them is a kind and a hash.
        key: Encrypts all values, AES-256 in GCM mode: a secret of 32 characters or more, for
            instance `openssl rand -base64 32`, or several with spaces between, of which the first
            encrypts. By default the environment variable `OPENAPI_TOOLS_STATE_KEY`; without a key
            no tokens are kept.

    Raises:
        SettingsError: The address cannot be one of Redis, or the key is too short.
    """

    def __init__(self, url: str, *, prefix: str = "openapi-tools:", key: str | None = None) -> None:
        super().__init__()
        self._url, self._prefix = Secret(url), prefix
        try:
            known = BlockingConnectionPool.from_url(url).connection_kwargs
        except (ValueError, TypeError):
            form = "redis://host:6379/0"
            raise SettingsError(f"redis: the address is not of the form {form}.") from None
        place = known.get("path") or f"{known.get('host', 'localhost')}:{known.get('port', 6379)}"
        self._name = excerpt(f"redis://{place}", 100)
        self._keys = _keys(os.environ.get(VARIABLE, "") if key is None else key)
        self._quiet_until, self._cause, self._is_away = 0.0, "", False
        self._process = os.getpid()
        self._clients: dict[asyncio.AbstractEventLoop, tuple[Any, AsyncGenerator[Any]]] = {}

    def __repr__(self) -> str:
        return f"RedisState({self._name!r})"

    async def get(self, key: str) -> bytes | None:
        """Return the value of a key; None without one, or without the key that encrypted it."""
        for name in self._names(key):
            async with self._asked() as client:
                try:
                    value: bytes | None = await client.get(name)
                except ResponseError as error:
                    if not str(error).startswith("WRONGTYPE"):
                        raise
                    return None  # a list or the like in the place of a value
            if value is not None:
                return self._opened(name, value)
        return None

    async def put(self, key: str, value: bytes, seconds: float | None = None) -> None:
        """Keep a value, for so many seconds."""
        name = self._names(key)[0]
        sealed = self._sealed(name, value)
        async with self._asked() as client:
            lasts = None if seconds is None else max(1, int(seconds * 1000))
            await client.set(name, sealed, px=lasts)

    async def remove(self, key: str) -> None:
        """Remove the value of a key, if there is one."""
        async with self._asked() as client:
            await client.delete(*self._names(key))

    async def ping(self) -> None:
        """Ask whether Redis answers; CallError when it does not."""
        async with self._asked() as client:
            await client.ping()

    async def take(self, place: Place) -> Turn:
        """Take a place and a turn of its rate, as `LeasedState.take`."""
        most = -1 if place.most is None else place.most
        interval = 1e6 / place.rate if place.rate is not None else 0
        lease = int(place.seconds * 1e6)
        given = (place.holder, most, lease, interval, BURST * 1e6, AHEAD * 1e6)
        async with self._asked() as client:
            script = client.register_script(_TAKE)
            is_taken, wait = await script(keys=self._places(place), args=given)
        return Turn(bool(is_taken), wait / 1e6)

    async def give(self, place: Place) -> None:
        """Give a place back."""
        async with self._asked() as client:
            await client.zrem(self._places(place)[0], place.holder)

    async def aclose(self) -> None:
        """Close the running loop's connections; later calls make new ones."""
        if known := self._clients.get(asyncio.get_running_loop()):
            await known[1].aclose()

    def _places(self, place: Place) -> tuple[str, str]:
        name = f"{{{self._names(place.key)[0]}}}"  # in braces: of one node of a cluster
        return f"{name}:places", f"{name}:due"

    def _names(self, key: str) -> list[str]:
        """Return the names that a key may have in Redis, the first for now; they tell nothing."""
        is_secret = key.removeprefix("alone:").startswith(SECRET)
        if is_secret and not self._keys:
            reason = "the shared state keeps no tokens without a key that encrypts them"
            raise CredentialsError(f"{reason}: set {VARIABLE}, or give RedisState(…, key=…).")
        # What a key is made of may be easy to guess, a password for instance.
        hashed = self._keys if is_secret else [b""]
        kind, text = key.partition(":")[0], key.encode()
        digests = (hmac.digest(secret, text, "sha256").hex()[:40] for secret in hashed)
        return [f"{self._prefix}{kind}:{digest}" for digest in digests]

    def _sealed(self, name: str, value: bytes) -> bytes:
        if not self._keys:
            return value
        nonce = secrets.token_bytes(_NONCE)
        return _MARK + nonce + AESGCM(self._keys[0]).encrypt(nonce, value, name.encode())

    def _opened(self, name: str, value: bytes) -> bytes | None:
        """Return a value as it was put; None for one of another key, or that was tampered with."""
        if not self._keys:
            return value
        start = len(_MARK)
        for key in self._keys if value.startswith(_MARK) else ():
            try:
                nonce, sealed = value[start : start + _NONCE], value[start + _NONCE :]
                return AESGCM(key).decrypt(nonce, sealed, name.encode())
            except (InvalidTag, ValueError):
                continue
        return None

    @asynccontextmanager
    async def _asked(self) -> AsyncGenerator[Any]:
        """Yield a client for one command, which may take a while; a failure is a CallError."""
        try:
            if time.monotonic() < self._quiet_until:  # callers that wait in a row fail together
                raise LostError(self._cause)
            async with asyncio.timeout(_PATIENCE):
                yield await self._client()
        except (RedisError, OSError) as error:
            self._note_failure(error)
            # A model, and strangers who ask whether the server is ready, read this message.
            reason = "the shared state is unreachable; nothing was sent."
            raise CallError("connection", reason, retryable=True) from None
        if self._is_away:
            self._is_away = False
            logger.warning("the shared state at %s is reachable again", self._name)

    def _note_failure(self, error: Exception) -> None:
        """Keep the cause, and log it once until the next success."""
        self._cause = " ".join(str(error).split()) or f"no response in {_PATIENCE:g} s"
        self._quiet_until = time.monotonic() + _QUIET
        if not self._is_away:
            self._is_away = True
            cause = excerpt(self._cause, 200)
            logger.warning("the shared state at %s is unreachable: %s", self._name, cause)

    async def _client(self) -> Any:
        """Return the running loop's client."""
        if self._process != os.getpid():
            _LEFT_BEHIND.append(self._clients)
            self._clients, self._process = {}, os.getpid()
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            keeper = self._opened_in(loop)  # a loop that ends closes its generators
            _OPEN.add(keeper)
            self._clients[loop] = await anext(keeper), keeper
        return self._clients[loop][0]

    async def _opened_in(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[Any]:
        """Yield a client, which is closed in the end."""
        retry: Any = Retry(ExponentialBackoff(cap=0.4, base=0.05), _RETRIES, (LostError,))
        # With redis-py's own timeout a cancelled call may go on: `asyncio.wait_for` of Python 3.11.
        own: Any = {"retry": retry, "socket_timeout": None, "max_connections": _CONNECTIONS}
        pool = BlockingConnectionPool.from_url(self._url.reveal(), timeout=_PATIENCE, **own)
        client = Redis.from_pool(pool)
        try:
            yield client
        finally:
            _, keeper = self._clients.pop(loop, (None, None))
            _OPEN.discard(keeper)
            await client.aclose()


def _keys(text: str) -> list[bytes]:
    keys = text.split()
    if any(len(key) < _LEAST_KEY for key in keys):
        reason = f"the key of the shared state is shorter than {_LEAST_KEY} characters"
        raise SettingsError(f"{reason}; make one: openssl rand -base64 32")
    return [hashlib.sha256(key.encode()).digest() for key in keys]
