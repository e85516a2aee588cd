"""Access tokens of one scheme: kept, refreshed in time, fetched once for all callers (RFC 6749)."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeGuard, TypeVar, cast

from openapi_tools.auth.authorization_server import PATIENCE, Channel, Endpoints, fault
from openapi_tools.auth.oauth2 import CLIENT_CREDENTIALS, PASSWORD, OAuth2, chosen_flow
from openapi_tools.auth.tokens import Grants, RefusedError, SharedTokens, Stored, Token, TokenStore
from openapi_tools.errors import CallError, CredentialsError, NotPicklableError
from openapi_tools.redaction import Redactor, Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from openapi_tools.model import SecurityScheme
    from openapi_tools.shared_state import SharedState

logger = logging.getLogger("openapi_tools")

T = TypeVar("T")
_LOOK = 0.5
_ROUNDS = 4
_REQUESTS = 4
_FIRST_PAUSE, _LONGEST_PAUSE, _LONGEST_WAIT = 0.25, 5.0, 60.0


@dataclass(slots=True, eq=False)
class _Flight(Generic[T]):
    """Work under way in one event loop, with a deadline on the monotonic clock."""

    loop: asyncio.AbstractEventLoop
    over_at: float
    done: Future[asyncio.Task[T] | None] = field(default_factory=Future)  # None if cancelled
    task: asyncio.Task[T] | None = None

    def is_lost(self) -> bool:
        """Whether the work is lost: its loop is closed, or its deadline has passed."""
        return self.loop.is_closed() or time.monotonic() > self.over_at


class SingleFlight(Generic[T]):
    """Shares work among callers in all loops and threads; to cancel a caller does not end it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.RLock()
        self._flight: _Flight[T] | None = None
        self._process = os.getpid()

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of the work under way, else of `work`; raise its error."""
        while True:
            flight = self._joined(work)
            waiting = asyncio.wrap_future(flight.done)
            try:
                while not waiting.done() and not flight.is_lost():
                    await asyncio.wait({waiting}, timeout=_LOOK)
                if waiting.done() and (task := waiting.result()) is not None:
                    return task.result()
            finally:
                waiting.cancel()

    def begin(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        """Begin the work unless it is under way, and do not wait for it."""
        self._joined(work)

    async def aclose(self) -> None:
        """Cancel the work under way in this loop, and wait for its end."""
        with self._lock:
            flight = self._flight
        if flight is None or flight.loop is not asyncio.get_running_loop():
            return
        if (task := flight.task) is not None:
            task.cancel()
            await asyncio.wait({task})

    def _joined(self, work: Callable[[], Coroutine[Any, Any, T]]) -> _Flight[T]:
        with self._lock:
            if self._process != os.getpid():  # the work is in another process
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
        if not task.cancelled():
            task.exception()  # else asyncio logs it when no caller waits any more
        flight.done.set_result(None if task.cancelled() else task)


class _Wanted(NamedTuple):
    """A request for a token: the scopes, and the refused token to replace."""

    channel: Channel
    scopes: frozenset[str]
    refused: Secret | None


class Tokens:
    """The access tokens that one credential gives; CredentialsError where it can give none."""

    def __init__(
        self,
        config: OAuth2,
        scheme: SecurityScheme,
        name: str,
        shared: tuple[SharedState, str] | None = None,
    ) -> None:
        self._scheme = scheme
        self._name = name
        self._flow = chosen_flow(config, scheme, name)
        self._redactor = Redactor()
        self._redactor.learn(*config.secrets())
        self._configure(config)
        self._store = TokenStore(config.token_file) if config.token_file else None
        self._own = config  # `shared` is a state, and the user in it
        self._shared = None if shared is None else SharedTokens(shared[0], config, name, shared[1])
        access = cast("Secret | None", config.access_token)
        refresh = cast("Secret | None", config.refresh_token)
        self._token: Token | None = None
        if access or refresh:
            # Expired if there is only a refresh token.
            self._token = Token(access or Secret(""), refresh, expires_at=None if access else 0.0)
        self._stored_token: Token | None = None
        self._refused_refresh: Secret | None = None
        self._flights: SingleFlight[Token] = SingleFlight(PATIENCE * _REQUESTS)
        self._failures = 0
        self._quiet_until = 0.0
        self._last: CallError | None = None

    def _configure(self, config: OAuth2) -> None:
        self._config = config
        self._endpoints = Endpoints(config, self._scheme, self._name)
        self._grants = Grants(config, self._redactor)

    def __repr__(self) -> str:
        return f"Tokens({self._name!r})"

    def __reduce__(self) -> NoReturn:
        raise NotPicklableError("tokens are not pickled; make them where they are needed.")

    def secrets(self) -> tuple[str, ...]:
        """Return the secrets that the user gave, for a redactor."""
        return self._config.secrets()

    async def token(
        self, channel: Channel, *, scopes: Iterable[str] = (), stale: str | None = None
    ) -> str:
        """Return an access token to send; a failure is a CallError."""
        refused = None if stale is None else Secret(stale)
        del stale
        channel.learn(*self._config.secrets())
        configured = self._config.scopes
        requested = frozenset(scopes if configured is None else configured)
        wanted = _Wanted(channel, requested, refused)
        token = await self._found(wanted)
        channel.learn(*token.secrets())
        return token.access.reveal()

    async def _found(self, wanted: _Wanted) -> Token:
        """Return the token in memory, or the result of one fetch that all callers share."""
        for _ in range(_ROUNDS):
            token = self._token
            if self._fits(token, wanted):
                return token
            begun = False

            def renew() -> Coroutine[Any, Any, Token]:
                nonlocal begun
                begun = True
                return self._renewed(wanted)

            try:
                token = await self._flights.run(renew)
            except CallError as error:
                # Another call may have asked for more scopes than this one needs.
                if getattr(error, "code", "") == "invalid_scope" and not begun:
                    continue
                raise error.copy() from None
            if token.access != wanted.refused and self._covers(token, wanted):
                return token
            if begun:
                break
        reason = "the authorization server gave no other token than the one refused."
        raise fault(self._name, reason)

    def _fits(self, token: Token | None, wanted: _Wanted) -> TypeGuard[Token]:
        if token is None or token.access == wanted.refused or token.is_due(time.time()):
            return False
        return self._covers(token, wanted)

    def _covers(self, token: Token, wanted: _Wanted) -> bool:
        """Whether a new request would add no scope; a user's token keeps its scopes."""
        return token.covers(wanted.scopes) or self._flow not in (CLIENT_CREDENTIALS, PASSWORD)

    async def _renewed(self, wanted: _Wanted) -> Token:
        """Return a new token; one call at a time does this."""
        token = self._token
        if self._fits(token, wanted):
            return token  # another call fetched it
        origin = wanted.channel.api_origin
        try:
            async with nullcontext() if self._shared is None else self._shared.alone(origin):
                new = await self._next(wanted)
                if new is not self._token:
                    self._token = new
                    await self._keep(wanted.channel, new)
        except CallError:
            token = self._token
            if token is None or token.is_over(time.time()) or token.access == wanted.refused:
                raise
            if self._covers(token, wanted):
                return token  # good for some seconds more
            raise
        return new

    async def _next(self, wanted: _Wanted) -> Token:
        channel = wanted.channel
        token = await self._newest(channel)
        if token is not self._token and self._fits(token, wanted):
            return token
        said = ""
        if token is not None and token.refresh is not None and self._covers(token, wanted):
            secrets, keep = {"refresh_token": token.refresh}, token.refresh
            try:
                new = await self._asked(channel, "refresh_token", secrets=secrets, keep=keep)
                return replace(new, scopes=token.scopes)
            except RefusedError as error:
                if error.code != "invalid_grant":
                    raise
                self._refused_refresh = token.refresh
                said = error.reason
        parts: dict[str, Any] = {"scopes": wanted.scopes.union(token.scopes or () if token else ())}
        if self._flow == CLIENT_CREDENTIALS:
            return await self._asked(channel, "client_credentials", **parts)
        if self._flow == PASSWORD:
            secrets = {"password": Secret(self._config.revealed("password"))}
            parts |= {"username": self._config.username, "secrets": secrets}
            return await self._asked(channel, "password", **parts)
        reason = "no usable token is stored, and only a login can get one"
        if said:
            reason = f"its refresh token is good no more: {said.rstrip('.')}"
        login = f"openapi-tools login SPEC {self._name} --token-file"
        file = self._config.token_file or "FILE"
        raise fault(self._name, f"{reason}; log in (again): {login} {file}", path=file)

    async def _newest(self, channel: Channel) -> Token | None:
        """Return the newer of the tokens in memory and in the file, if not refused for good."""
        token = self._token
        stored = await self._stored(channel)
        if stored is not None and (token is None or stored.token.issued_at > token.issued_at):
            token = stored.token
            self._redactor.learn(*token.secrets(), passing=True)
            channel.learn(*token.secrets())
        refused = self._refused_refresh
        if token is not None and refused is not None and token.refresh == refused:
            token = replace(token, refresh=None)
        return token

    async def _stored(self, channel: Channel) -> Stored | None:
        """Return the newest stored entry for this API; another process may have refreshed it."""
        place = {"origin": channel.api_origin, "scheme": self._name}
        client = self._own.client_id
        try:
            found = other = None
            if self._store is not None:
                found = await asyncio.to_thread(self._store.load, **place, client_id=client)
            if self._shared is not None:
                other = await self._shared.load(channel.api_origin)
        except CredentialsError as error:
            path = self._config.token_file or ""
            raise fault(self._name, error.reason, path=path) from None
        if found is None or (other and other.token.issued_at > found.token.issued_at):
            found = other
        if found is not None:
            self._stored_token = found.token
            endpoint = self._own.token_url or found.token_endpoint
            if (self._config.client_id, self._config.token_url) != (found.client_id, endpoint):
                # The user saw this endpoint at the login.
                changed: dict[str, Any] = {"client_id": found.client_id, "token_url": endpoint}
                self._configure(replace(self._config, **changed))
        return found

    async def _keep(self, channel: Channel, token: Token) -> None:
        """Store a new token for other processes; a failure does not end the call."""
        if (self._store is None and self._shared is None) or token is self._stored_token:
            return
        try:
            endpoint = await self._endpoints.token(channel, self._flow)
            stored = Stored(channel.api_origin, self._name, self._config.client_id, endpoint, token)
            if self._shared is not None:
                await self._shared.save(stored)
            if self._store is not None:
                await asyncio.to_thread(self._store.save, stored)
        except (CredentialsError, CallError) as error:
            logger.warning("a new token for %r is not kept: %s", self._name, error.reason)

    async def _asked(self, channel: Channel, grant: str, **parts: Any) -> Token:
        """Ask the token endpoint, unless it has just failed several times."""
        if self._last is not None and time.monotonic() < self._quiet_until:
            raise self._last.copy()
        try:
            url = await self._endpoints.token(channel, self._flow, refresh=grant == "refresh_token")
            token = await self._grants.ask(channel, url, grant, **parts)
        except CallError as error:
            code = error.code if isinstance(error, RefusedError) else None
            if code == "invalid_scope" or (code == "invalid_grant" and grant == "refresh_token"):
                raise
            # Retrying a wrong password fails again, and may lock the account.
            is_wrong = code is not None and grant == "password"
            self._pause(error, least=_LONGEST_WAIT if is_wrong else 0.0)
            raise
        self._failures, self._last = 0, None
        return token

    def _pause(self, error: CallError, *, least: float = 0.0) -> None:
        """Pause requests after repeated failures, or as the server asks."""
        self._failures += 1
        pause = _FIRST_PAUSE * 2 ** min(self._failures - 2, 16) if self._failures > 1 else 0.0
        asked = error.wait if isinstance(error, RefusedError) else error.facts.get("retry_after")
        wait = float(asked) if isinstance(asked, int | float) else 0.0
        until = max(least, min(pause, _LONGEST_PAUSE), min(wait, _LONGEST_WAIT))
        self._last, self._quiet_until = error, time.monotonic() + until
