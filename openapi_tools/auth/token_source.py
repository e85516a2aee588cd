"""The source of access tokens for one scheme (RFC 6749): one fetch serves all callers."""

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

from openapi_tools.auth.authorization_server import PATIENCE, Channel, Endpoints, scheme_error
from openapi_tools.auth.oauth2 import CLIENT_CREDENTIALS, PASSWORD, OAuth2, choose_flow
from openapi_tools.auth.shared_tokens import SharedTokenStore
from openapi_tools.auth.token_requests import RefusedError, TokenEndpoint
from openapi_tools.auth.token_store import TokenStore
from openapi_tools.auth.tokens import StoredToken, Token
from openapi_tools.errors import CallError, CredentialsError, NotPicklableError
from openapi_tools.redaction import Redactor, Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from openapi_tools.model import SecurityScheme
    from openapi_tools.state.shared_state import SharedState

logger = logging.getLogger("openapi_tools")

T = TypeVar("T")
# The loop that runs the work may be closed at any time, and nothing tells the waiting threads.
_POLL_SECONDS = 0.5
# Each round may join work of another call, whose token has other scopes.
_MOST_ROUNDS = 4
# One renewal: metadata, a refresh, and after its refusal a request with the client's
# credentials; one in reserve.
_MOST_REQUESTS = 4
_FIRST_PAUSE, _LONGEST_PAUSE, _LONGEST_WAIT = 0.25, 5.0, 60.0


@dataclass(slots=True, eq=False)
class _Flight(Generic[T]):
    """Work that runs in one event loop, with a deadline on the monotonic clock."""

    loop: asyncio.AbstractEventLoop
    deadline: float
    done: Future[asyncio.Task[T] | None] = field(default_factory=Future)  # None if cancelled
    task: asyncio.Task[T] | None = None

    def is_lost(self) -> bool:
        """Whether the work is lost: its loop is closed, or its deadline has passed."""
        return self.loop.is_closed() or time.monotonic() > self.deadline


class SingleFlight(Generic[T]):
    """Shares work among callers in all loops and threads; cancelling a caller does not end it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.RLock()
        self._flight: _Flight[T] | None = None
        self._process = os.getpid()

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of the running work, or else of `work`; raise its error."""
        while True:
            flight = self._join(work)
            waiting = asyncio.wrap_future(flight.done)
            try:
                # Not `wait_for`: a cancelled caller must not cancel what the others wait for.
                while not waiting.done() and not flight.is_lost():
                    await asyncio.wait({waiting}, timeout=_POLL_SECONDS)
                if waiting.done() and (task := waiting.result()) is not None:
                    return task.result()
            finally:
                waiting.cancel()

    def start(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        """Start the work unless it runs, and do not wait for it."""
        self._join(work)

    async def aclose(self) -> None:
        """Cancel the work that runs in this loop, and wait for its end."""
        with self._lock:
            flight = self._flight
        if flight is None or flight.loop is not asyncio.get_running_loop():
            return
        if (task := flight.task) is not None:
            task.cancel()
            await asyncio.wait({task})

    def _join(self, work: Callable[[], Coroutine[Any, Any, T]]) -> _Flight[T]:
        with self._lock:
            if self._process != os.getpid():  # the work is in another process
                self._flight, self._process = None, os.getpid()
            if self._flight is None or self._flight.is_lost():
                self._flight = self._start(work)
            return self._flight

    def _start(self, work: Callable[[], Coroutine[Any, Any, T]]) -> _Flight[T]:
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


class _TokenRequest(NamedTuple):
    """A request for a token: the scopes, and the refused token to replace."""

    channel: Channel
    scopes: frozenset[str]
    refused: Secret | None


class TokenSource:
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
        self._flow = choose_flow(config, scheme, name)
        self._redactor = Redactor()
        self._redactor.learn(*config.secrets())
        self._configure(config)
        self._store = TokenStore(config.token_file) if config.token_file else None
        self._initial_config = config  # `shared` is a state, and the user in it
        self._shared = (
            None if shared is None else SharedTokenStore(shared[0], config, name, shared[1])
        )
        access = cast("Secret | None", config.access_token)
        refresh = cast("Secret | None", config.refresh_token)
        self._token: Token | None = None
        if access or refresh:
            # Expired if there is only a refresh token.
            self._token = Token(access or Secret(""), refresh, expires_at=None if access else 0.0)
        self._stored_token: Token | None = None
        self._refused_refresh: Secret | None = None
        # One request for all callers: many servers revoke a refresh token that is used twice
        # (RFC 9700, section 4.14.2).
        self._flights: SingleFlight[Token] = SingleFlight(PATIENCE * _MOST_REQUESTS)
        self._failures = 0
        self._quiet_until = 0.0
        self._last_error: CallError | None = None

    def _configure(self, config: OAuth2) -> None:
        self._config = config
        self._endpoints = Endpoints(config, self._scheme, self._name)
        self._token_endpoint = TokenEndpoint(config, self._redactor)

    def __repr__(self) -> str:
        return f"TokenSource({self._name!r})"

    def __reduce__(self) -> NoReturn:
        raise NotPicklableError("tokens cannot be pickled; create them in each process.")

    def secrets(self) -> tuple[str, ...]:
        """Return the secrets that the user gave, for a redactor."""
        return self._config.secrets()

    async def token(
        self, channel: Channel, *, scopes: Iterable[str] = (), stale: str | None = None
    ) -> str:
        """Return an access token to send; raise a CallError if there is none."""
        refused = None if stale is None else Secret(stale)
        del stale
        channel.learn(*self._config.secrets())
        configured = self._config.scopes
        requested = frozenset(scopes if configured is None else configured)
        request = _TokenRequest(channel, requested, refused)
        token = await self._find_token(request)
        channel.learn(*token.secrets())
        return token.access.reveal()

    async def _find_token(self, request: _TokenRequest) -> Token:
        for _ in range(_MOST_ROUNDS):
            token = self._token
            if self._fits(token, request):
                return token
            begun = False

            def renew() -> Coroutine[Any, Any, Token]:
                nonlocal begun
                begun = True
                return self._renew(request)

            try:
                token = await self._flights.run(renew)
            except CallError as error:
                # Another call may have asked for more scopes than this one needs.
                if getattr(error, "code", "") == "invalid_scope" and not begun:
                    continue
                raise error.copy() from None
            if token.access != request.refused and self._covers(token, request):
                return token
            if begun:
                break
        reason = "the authorization server returned the token again that the API refused."
        raise scheme_error(self._name, reason)

    def _fits(self, token: Token | None, request: _TokenRequest) -> TypeGuard[Token]:
        if token is None or token.access == request.refused or token.is_due(time.time()):
            return False
        return self._covers(token, request)

    def _covers(self, token: Token, request: _TokenRequest) -> bool:
        # A user has consented to the scopes of their token; a new request would add none.
        return token.covers(request.scopes) or self._flow not in (CLIENT_CREDENTIALS, PASSWORD)

    async def _renew(self, request: _TokenRequest) -> Token:
        # One call at a time gets here, and one process if they share a state.
        token = self._token
        if self._fits(token, request):
            return token  # another call fetched it
        origin = request.channel.api_origin
        try:
            async with nullcontext() if self._shared is None else self._shared.lock(origin):
                new = await self._fetch_next(request)
                if new is not self._token:
                    self._token = new
                    await self._store_token(request.channel, new)
        except CallError:
            token = self._token
            if token is None or token.is_over(time.time()) or token.access == request.refused:
                raise
            if self._covers(token, request):
                return token  # good for some seconds more
            raise
        return new

    async def _fetch_next(self, request: _TokenRequest) -> Token:
        channel = request.channel
        token = await self._find_newest(channel)
        if token is not self._token and self._fits(token, request):
            return token
        refusal = ""
        if token is not None and token.refresh is not None and self._covers(token, request):
            try:
                new = await self._request_token(
                    channel,
                    "refresh_token",
                    secrets={"refresh_token": token.refresh},
                    refresh_token=token.refresh,
                )
                return replace(new, scopes=token.scopes)
            except RefusedError as error:
                if error.code != "invalid_grant":
                    raise
                self._refused_refresh = token.refresh
                refusal = error.reason
        # The new token replaces the old one for all callers, so it gets the scopes of both.
        scopes = request.scopes.union(token.scopes or () if token else ())
        if self._flow == CLIENT_CREDENTIALS:
            return await self._request_token(channel, "client_credentials", scopes=scopes)
        if self._flow == PASSWORD:
            return await self._request_token(
                channel,
                "password",
                parameters={"username": self._config.username},
                secrets={"password": Secret(self._config.reveal("password"))},
                scopes=scopes,
            )
        reason = "there is no valid token, and only a login can get one"
        if refusal:
            reason = f"its refresh token is no longer valid: {refusal.rstrip('.')}"
        login = f"openapi-tools login SPEC {self._name} --token-file"
        file = self._config.token_file or "FILE"
        raise scheme_error(self._name, f"{reason}; log in (again): {login} {file}", path=file)

    async def _find_newest(self, channel: Channel) -> Token | None:
        token = self._token
        stored = await self._load_stored(channel)
        if stored is not None and (token is None or stored.token.issued_at > token.issued_at):
            token = stored.token
            self._redactor.learn(*token.secrets(), temporary=True)
            channel.learn(*token.secrets())
        refused = self._refused_refresh
        # Only the refresh token that was refused; a newer one, of a login meanwhile, is tried
        # again.
        if token is not None and refused is not None and token.refresh == refused:
            token = replace(token, refresh=None)
        return token

    async def _load_stored(self, channel: Channel) -> StoredToken | None:
        # Another process may have refreshed the token meanwhile.
        try:
            entry = shared = None
            if self._store is not None:
                entry = await asyncio.to_thread(
                    self._store.load,
                    origin=channel.api_origin,
                    scheme=self._name,
                    client_id=self._initial_config.client_id,
                )
            if self._shared is not None:
                shared = await self._shared.load(channel.api_origin)
        except CredentialsError as error:
            path = self._config.token_file or ""
            raise scheme_error(self._name, error.reason, path=path) from None
        if entry is None or (shared and shared.token.issued_at > entry.token.issued_at):
            entry = shared
        if entry is not None:
            self._stored_token = entry.token
            endpoint = self._initial_config.token_url or entry.token_endpoint
            if (self._config.client_id, self._config.token_url) != (entry.client_id, endpoint):
                # The user saw this endpoint at the login.
                client_id = entry.client_id
                self._configure(replace(self._config, client_id=client_id, token_url=endpoint))
        return entry

    async def _store_token(self, channel: Channel, token: Token) -> None:
        # A failure to store it does not end the call, which has a token.
        if (self._store is None and self._shared is None) or token is self._stored_token:
            return
        try:
            endpoint = await self._endpoints.find_token_url(channel, self._flow)
            stored = StoredToken(
                channel.api_origin, self._name, self._config.client_id, endpoint, token
            )
            if self._shared is not None:
                await self._shared.save(stored)
            if self._store is not None:
                await asyncio.to_thread(self._store.save, stored)
        except (CredentialsError, CallError) as error:
            logger.warning("a new token for %r was not stored: %s", self._name, error.reason)

    async def _request_token(
        self,
        channel: Channel,
        grant_type: str,
        *,
        parameters: Mapping[str, str] | None = None,
        secrets: Mapping[str, Secret] | None = None,
        scopes: frozenset[str] | None = None,
        refresh_token: Secret | None = None,
    ) -> Token:
        if self._last_error is not None and time.monotonic() < self._quiet_until:
            raise self._last_error.copy()
        try:
            url = await self._endpoints.find_token_url(
                channel, self._flow, refresh=grant_type == "refresh_token"
            )
            token = await self._token_endpoint.request_token(
                channel,
                url,
                grant_type,
                parameters=parameters,
                secrets=secrets,
                scopes=scopes,
                refresh_token=refresh_token,
            )
        except CallError as error:
            code = error.code if isinstance(error, RefusedError) else None
            is_refresh = grant_type == "refresh_token"
            if code == "invalid_scope" or (code == "invalid_grant" and is_refresh):
                raise
            # A wrong password stays wrong, and more attempts may lock the account.
            is_wrong = code is not None and grant_type == "password"
            self._pause_requests(error, least=_LONGEST_WAIT if is_wrong else 0.0)
            raise
        self._failures, self._last_error = 0, None
        return token

    def _pause_requests(self, error: CallError, *, least: float = 0.0) -> None:
        # After repeated failures, or as the server asks.
        self._failures += 1
        pause = _FIRST_PAUSE * 2 ** min(self._failures - 2, 16) if self._failures > 1 else 0.0
        delay = error.wait if isinstance(error, RefusedError) else error.facts.get("retry_after")
        wait = float(delay) if isinstance(delay, int | float) else 0.0
        until = max(least, min(pause, _LONGEST_PAUSE), min(wait, _LONGEST_WAIT))
        self._last_error, self._quiet_until = error, time.monotonic() + until
