"""Sends a request, and receives the whole answer under one deadline.

A connection belongs to its event loop: each loop has a client, which is closed when the loop ends.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import os
import sys
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self, cast

import httpx

from openapi_tools.errors import CallError, SettingsError
from openapi_tools.forks import importer
from openapi_tools.http_rules import is_safe, reads, repeats
from openapi_tools.shared_state import MemoryState
from openapi_tools.transport.connection_pool import make_client, uses_httptools
from openapi_tools.transport.exchange import NO_TIMEOUTS, APIResponse, Exchange, SendOptions
from openapi_tools.transport.failures import RETRIED_STATUSES, describe_request, pause, tell_retry
from openapi_tools.transport.http_messages import learn_headers
from openapi_tools.transport.network_policy import NetworkPolicy, policy_of
from openapi_tools.transport.slots import Limits, Slots

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType

    from openapi_tools.options import Client
    from openapi_tools.settings import Settings
    from openapi_tools.transport.http_cache import HttpCache

__all__ = ["Answer", "Attempts", "SendOptions", "Sender"]

_imported = importer(__name__)
_DEFAULT_OPTIONS = SendOptions()
_SAVED = 10.0
_PER_CALL = 0.1
_PATIENCE = 5.0
_UNAUTHORIZED = 401
_LEFT_BEHIND: list[object] = []  # the parent's clients in a forked process


class LoopClient:
    """The client of one event loop, and the calls that are under way in it."""

    def __init__(self, client: httpx.AsyncClient, concurrency: int) -> None:
        self.client = client
        self.slots = Slots(concurrency)
        self.under_way: set[asyncio.Timeout] = set()  # their deadlines
        self.keeper: AsyncGenerator[LoopClient]  # its end closes the client
        self._change = asyncio.Event()

    def end(self, timeout: asyncio.Timeout) -> None:
        """Note that a call has ended."""
        self.under_way.discard(timeout)
        self._change.set()

    async def close(self) -> None:
        """End the calls under way, and close the client."""
        await self.keeper.aclose()

    async def give_up(self) -> None:
        """End the calls under way: their time is over now."""
        for timeout in self.under_way:
            if not timeout.expired():
                timeout.reschedule(0)
        while self.under_way:
            self._change.clear()
            await self._change.wait()


class Sender:
    """Sends the requests of one toolset; `public`: its document came from a public address.

    With `shares` the limits of the settings hold, and answers are kept where those say so.
    Of a user's client, which is not closed, transport, authentication and headers are used.
    """

    def __init__(
        self,
        settings: Settings,
        client: Client | None = None,
        *,
        public: bool = False,
        policy: NetworkPolicy | None = None,
        shares: bool = False,
    ) -> None:
        self.settings = settings
        self.policy = policy or policy_of(settings, public_document=public)
        self.is_own = client is None
        state = (settings.state or MemoryState()) if shares else None
        self.limits = None if state is None else Limits(state, settings) or None
        self.cache: HttpCache | None = None
        if state is not None and settings.http_cache:
            # A user's client may send credentials that are not seen here.
            own = "" if client is None else uuid.uuid4().hex
            self.cache = _imported("http_cache").HttpCache(state, own)
        self.spare = _SAVED  # further attempts: each call adds a tenth, lest failures multiply
        self.is_closed = False
        if client is None and settings.transport == "fast":
            uses_httptools(settings)  # a missing package is told now, not by the first call
        self._client = None if client is None else _usable(client)
        self._process = os.getpid()
        self._clients: dict[asyncio.AbstractEventLoop, LoopClient] = {}

    async def send(
        self, request: httpx.Request, options: SendOptions = _DEFAULT_OPTIONS
    ) -> APIResponse:
        """Return the answer to one request; raises as `Attempts`."""
        async with self.attempts(describe_request(request)) as attempts:
            await attempts.send(request, options)
        return attempts.answer

    def attempts(self, about: str, timeout: float | None = None) -> Attempts:
        """Return the attempts of one call, for `async with`; `about` names it in messages."""
        return Attempts(self, about, timeout or self.settings.timeout)

    async def of_this_loop(self) -> LoopClient:
        """Return the running loop's client, made when it has none yet."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            reason = "tools are called under asyncio; no event loop of it is running."
            raise CallError("connection", reason) from None
        self._leave_parent()
        return self._clients.get(loop) or await self._added(loop)

    def _leave_parent(self) -> None:
        # The parent's objects stay in memory: to free them would close them.
        if self._process != os.getpid():
            _LEFT_BEHIND.append(self._clients)
            self._clients = {}
            self._process = os.getpid()

    async def _added(self, loop: asyncio.AbstractEventLoop) -> LoopClient:
        for other in list(self._clients):  # a copy: threads of other loops change it meanwhile
            if other.is_closed():
                self._clients.pop(other, None)
        client = self._client or make_client(self.settings, self.policy)
        here = self._clients[loop] = LoopClient(client, self.settings.concurrency)
        # A loop that ends closes the generators begun in it: the moment to close connections.
        here.keeper = self._keep(loop, here)
        return await anext(here.keeper)

    async def _keep(
        self, loop: asyncio.AbstractEventLoop, here: LoopClient
    ) -> AsyncGenerator[LoopClient]:
        try:
            yield here
        finally:
            self._clients.pop(loop, None)
            await here.give_up()
            if self._client is None:
                await here.client.aclose()

    async def aclose(self) -> None:
        """Close the connections; calls under way end with an error, later ones begin with one."""
        self.is_closed = True
        here = asyncio.get_running_loop()
        self._leave_parent()
        for loop in list(self._clients):
            client = self._clients.pop(loop, None)
            if client is None:
                continue
            if loop is here:
                await client.close()
            elif loop.is_running():
                there = asyncio.run_coroutine_threadsafe(client.close(), loop)
                await asyncio.wait([asyncio.wrap_future(there)], timeout=_PATIENCE)


def _usable(client: Any) -> httpx.AsyncClient:
    """Return a user's client as calls use it; `SettingsError` where it cannot send."""
    if isinstance(client, httpx.AsyncClient):
        return client
    httpx2 = sys.modules.get("httpx2")  # imported by the user, if the client is of it
    if httpx2 is not None and isinstance(client, httpx2.AsyncClient):
        from openapi_tools.transport.httpx2_client import Httpx2Client

        return cast("httpx.AsyncClient", Httpx2Client(client))
    methods = (getattr(client, name, None) for name in ("send", "aclose"))
    if isinstance(client, type) or not all(map(inspect.iscoroutinefunction, methods)):
        kind = f"the class {client.__name__}" if isinstance(client, type) else type(client).__name__
        reason = "give an httpx.AsyncClient or an httpx2.AsyncClient"
        raise SettingsError(f"client: {kind} cannot be used here; {reason}.")
    return cast("httpx.AsyncClient", client)


class Attempts:
    """The attempts of one call under one deadline, an asynchronous context manager.

    The deadline covers tokens, waiting for a turn, connecting, the whole answer, further attempts.
    """

    def __init__(self, sender: Sender, about: str, seconds: float) -> None:
        self._sender = sender
        self._about = about
        self.seconds = seconds
        self._exchange: Exchange | None = None
        self._answer: APIResponse | None = None
        self._is_written = False  # the response to a write is there, whatever follows it
        self.count = 0  # how often a request was sent

    async def __aenter__(self) -> Self:
        sender = self._sender
        if sender.is_closed:
            raise self._closed()
        self._client = await sender.of_this_loop()
        sender.spare = min(sender.spare + _PER_CALL, _SAVED)
        self.deadline = asyncio.get_running_loop().time() + self.seconds
        self._timeout = asyncio.timeout_at(self.deadline)
        await self._timeout.__aenter__()
        self._client.under_way.add(self._timeout)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        self._client.end(self._timeout)
        try:
            await self._timeout.__aexit__(kind, error, traceback)
        except TimeoutError:
            error = self._timed_out()
            self.discard()
            if error is not None:
                error.attempts = self.count
                raise error from None
            return True  # with the events of the stream
        if error is not None:
            self.discard()
        if isinstance(error, CallError):
            error.attempts = self.count
        return False

    def discard(self) -> None:
        """Remove the file of an answer that is not used."""
        if self._exchange is not None and self._exchange.file is not None:
            self._exchange.file.discard()

    @property
    def answer(self) -> APIResponse:
        """The answer to the last request; the part that arrived of a stream that was cut."""
        if self._answer is None:
            assert self._exchange is not None  # noqa: S101 -- `send` came first
            self._answer = self._exchange.answer(self.count)
        return self._answer

    @property
    def transport(self) -> httpx.AsyncBaseTransport:
        """For token requests: the same connections, nothing added to the requests."""
        return _BareTransport(self._client.client)

    async def send(self, request: httpx.Request, options: SendOptions) -> APIResponse:
        """Return the answer to a request, which is completed; redirects in its origin followed."""
        if not self._sender.is_own:
            self._prepare(request, options)
        if self._sender.cache is not None and options.caches:
            return await self._answered(self._sender.cache, request, options)
        return await self._sent(request, options)

    async def _answered(
        self, cache: HttpCache, request: httpx.Request, options: SendOptions
    ) -> APIResponse:
        """Return the answer that is kept for a request, or send it."""
        own_auth = options.auth or options.certificate or getattr(self._client.client, "auth", None)
        if own_auth is not None and request.method == "GET" and reads(request):  # not in the key
            return await self._sent(request, options)
        kept = await cache.answered(request, options.user, lambda sent: self._sent(sent, options))
        if kept is not None:
            known = httpx.Headers(kept.headers, encoding="utf-8")
            self._answer = APIResponse(
                request, kept.status, known, kept.content, attempts=self.count
            )
            self._answer.cached = kept.how
        return self.answer

    async def _sent(self, request: httpx.Request, options: SendOptions) -> APIResponse:
        retries = self._sender.settings.retries
        for count in itertools.count(1):
            exchange = await self._attempt(request, options)
            if exchange.error is None and exchange.status not in RETRIED_STATUSES:
                break
            repeatable = repeats(request) if options.repeatable is None else options.repeatable
            wait = pause(exchange, count, retries=retries, repeatable=repeatable)
            if wait is None or not self._spend(wait):
                break
            tell_retry(exchange, wait)
            await asyncio.sleep(wait)
        if exchange.error is not None:
            raise exchange.error
        return self.answer

    async def _attempt(self, request: httpx.Request, options: SendOptions) -> Exchange:
        self._answer, self._is_written = None, False
        exchange = self._exchange = Exchange(request, self._sender.settings, options, self.seconds)
        exchange.begun = self.count > 0  # an attempt before it may have run
        limits = self._sender.limits
        slot = self._client.slots.of(options.user)
        async with slot if limits is None else self._turn(limits, slot, request, options):
            self.count += 1
            await exchange.run(self._client.client)
            is_refused = exchange.error is not None or exchange.status == _UNAUTHORIZED
            self._is_written = not (is_refused or reads(request))
        return exchange

    @asynccontextmanager
    async def _turn(
        self, limits: Limits, slot: Any, request: httpx.Request, options: SendOptions
    ) -> AsyncGenerator[None]:
        """Wait for the turns of the user, of this process and of the API."""
        origin = str(request.url.join("/"))
        of_user, of_api = limits.permits(origin, options.user)
        try:
            async with of_user, slot, of_api:
                yield
        except CallError as error:
            if self.count:  # the state went away before a further attempt
                error.reason = error.reason.replace("nothing was", "nothing more was")
            raise

    def _spend(self, wait: float) -> bool:
        """Whether there is time for another attempt; takes it from those of the toolset."""
        in_time = asyncio.get_running_loop().time() + wait < self.deadline
        if not in_time or self._sender.spare < 1:
            return False
        self._sender.spare -= 1
        return True

    def _prepare(self, request: httpx.Request, options: SendOptions) -> None:
        """Add the headers that a user set on their client and the request lacks."""
        client, url = self._client.client, request.url
        # Names are resolved by the user's transport: only literal addresses can be judged.
        self._sender.policy.check_name(url.host, url.port or (443 if url.scheme == "https" else 80))
        if getattr(client, "is_closed", False) is True:
            reason = f"{describe_request(request)} was not sent: the client given for the tools is closed."
            raise CallError("connection", reason, retryable=False)
        if not options.trusted:
            return
        headers = request.headers
        present = {name.lower() for name, _ in headers.raw}
        missing = [line for line in client.headers.raw if line[0].lower() not in present]
        if missing:
            request.headers = type(headers)([*headers.raw, *missing])
        if options.learn is not None:
            learn_headers(headers.multi_items(), request, options.learn)

    def _timed_out(self) -> CallError | None:
        """Return the error at the end of the time; None for a stream that had some events.

        None, too, where a write has its response, and only the shared state kept the call.
        """
        if self._is_written:
            return None
        if self._sender.is_closed:
            return self._closed()
        if self._exchange is None:
            why = ", before the credentials for it were there; it was not sent."
        elif self._sender.limits is not None and not self._exchange.begun:
            why = "; it was not sent, other calls had all the turns that the limits of the settings"
            why += " allow."
        else:
            return self._exchange.ended_by("timeout")
        reason = f"{self._about} timed out after {self.seconds:g} s{why}"
        return CallError("timeout", reason, retryable=True)

    def _closed(self) -> CallError:
        """Return the error for a call after the toolset was closed, or in the middle of it."""
        reason = f"{self._about} was given up: the toolset is closed"
        if self._exchange is None or not self._exchange.begun:
            return CallError("connection", f"{reason}; it was not sent.")
        safe = is_safe(self._about.partition(" ")[0])
        return CallError("connection", reason + ("." if safe else "; it may have run."))


class _BareTransport(httpx.AsyncBaseTransport):
    """Sends through a client without its authentication, headers, cookies and redirects."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions = {**request.extensions, "timeout": NO_TIMEOUTS}
        return await self._client.send(request, stream=True, follow_redirects=False, auth=None)
