"""The sender of a toolset, and the attempts of one call.

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

from openapi_tools.common.http_rules import is_read_request, is_repeatable, is_safe
from openapi_tools.errors import CallError, SettingsError
from openapi_tools.state.shared_state import MemoryState
from openapi_tools.transport.auth_flow import learn_headers
from openapi_tools.transport.call_limits import Limits
from openapi_tools.transport.connection_pool import make_client
from openapi_tools.transport.exchange import (
    NO_TIMEOUTS,
    APIResponse,
    Exchange,
    SendFailure,
    SendOptions,
)
from openapi_tools.transport.failures import describe_request, timeout_error
from openapi_tools.transport.loop_client import LoopClient
from openapi_tools.transport.network_policy import NetworkPolicy, policy_of
from openapi_tools.transport.retries import RETRIED_STATUSES, report_retry, retry_delay

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType

    from openapi_tools.common.options import Client
    from openapi_tools.settings import Settings
    from openapi_tools.transport.http_cache import HttpCache

_DEFAULT_OPTIONS = SendOptions()
_RETRY_BUDGET = 10.0
_RETRIES_PER_CALL = 0.1
# After a 401 a call goes on with newer credentials, after a 304 with the cached response.
_INTERMEDIATE = frozenset({304, 401})
_CLOSE_TIMEOUT = 5.0  # seconds to wait for calls in another loop

# A forked process must not close its parent's connections, as it would by freeing these clients.
_PARENTS_CLIENTS: list[object] = []


class Sender:
    """Sends the requests of one toolset.

    Args:
        settings: Timeouts, retries, limits and the rules of connections.
        client: The user's own client, which stays open. Its transport, authentication and headers
            are used.
        public: The document came from a public address.
        policy: Replaces the network policy of the settings.
        shares: Limits and the HTTP cache of the settings are used.
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
        self.owns_client = client is None
        state = (settings.state or MemoryState()) if shares else None
        self.limits = None if state is None else Limits(state, settings) or None
        self.cache: HttpCache | None = None
        if state is not None and settings.http_cache:
            from openapi_tools.transport.http_cache import HttpCache  # needs an extra

            # A user's client may add credentials that are not seen here, so it shares nothing.
            self.cache = HttpCache(state, "" if client is None else uuid.uuid4().hex)
        # Each call adds a tenth of a retry. When an API fails, retries of many calls cannot
        # multiply its load.
        self._retry_budget = _RETRY_BUDGET
        self.is_closed = False
        self._client = None if client is None else _adapt_client(client)
        self._process = os.getpid()
        self._loop_clients: dict[asyncio.AbstractEventLoop, LoopClient] = {}

    async def send(
        self, request: httpx.Request, options: SendOptions = _DEFAULT_OPTIONS
    ) -> APIResponse:
        """Return the response to one request; raises as `Attempts.send`."""
        async with self.attempts(describe_request(request)) as attempts:
            return await attempts.send(request, options)

    def attempts(self, call_name: str, timeout: float | None = None) -> Attempts:
        """Return the attempts of one call, for `async with`; messages contain `call_name`."""
        return Attempts(self, call_name, timeout or self.settings.timeout)

    def save_for_retries(self) -> None:
        """Add the share of one call to the retries that all calls may use."""
        self._retry_budget = min(self._retry_budget + _RETRIES_PER_CALL, _RETRY_BUDGET)

    def take_retry(self) -> bool:
        """Take one retry out of the budget, and return whether there was one."""
        if self._retry_budget < 1:
            return False
        self._retry_budget -= 1
        return True

    async def loop_client(self) -> LoopClient:
        """Return the client of the running event loop, and make it at first use."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            reason = "tools must be called from a running asyncio event loop."
            raise CallError("connection", reason) from None
        self._leave_parents_clients()
        return self._loop_clients.get(loop) or await self._add_loop_client(loop)

    def _leave_parents_clients(self) -> None:
        # At each call, not by `os.register_at_fork`: a hook would run in every fork of the host
        # program, and wait for locks there.
        if self._process != os.getpid():
            _PARENTS_CLIENTS.append(self._loop_clients)
            self._loop_clients = {}
            self._process = os.getpid()

    async def _add_loop_client(self, loop: asyncio.AbstractEventLoop) -> LoopClient:
        for known_loop in list(self._loop_clients):  # a copy: other threads add and remove loops
            if known_loop.is_closed():
                self._loop_clients.pop(known_loop, None)
        client = self._client or make_client(self.settings, self.policy)
        loop_client = LoopClient(client, self.settings.concurrency)
        self._loop_clients[loop] = loop_client
        # When asyncio shuts a loop down, it closes the asynchronous generators begun in it. That
        # is the only moment at which the loop's connections can still be closed.
        loop_client.lifetime = self._close_with_loop(loop, loop_client)
        return await anext(loop_client.lifetime)

    async def _close_with_loop(
        self, loop: asyncio.AbstractEventLoop, loop_client: LoopClient
    ) -> AsyncGenerator[LoopClient]:
        try:
            yield loop_client
        finally:
            self._loop_clients.pop(loop, None)
            await loop_client.expire_calls()
            if self._client is None:
                await loop_client.client.aclose()

    async def aclose(self) -> None:
        """Close the connections; calls under way end with an error, and so do later ones."""
        self.is_closed = True
        current_loop = asyncio.get_running_loop()
        self._leave_parents_clients()
        for loop in list(self._loop_clients):
            loop_client = self._loop_clients.pop(loop, None)
            if loop_client is None:
                continue
            if loop is current_loop:
                await loop_client.aclose()
            elif loop.is_running():
                closing = asyncio.run_coroutine_threadsafe(loop_client.aclose(), loop)
                # The other loop may be blocked, and closing must not wait for it for ever.
                await asyncio.wait([asyncio.wrap_future(closing)], timeout=_CLOSE_TIMEOUT)


class Attempts:
    """The attempts of one call under one deadline, an asynchronous context manager.

    The deadline covers tokens, waiting for permits, connecting, the whole response and retries.
    """

    def __init__(self, sender: Sender, call_name: str, seconds: float) -> None:
        self._sender = sender
        self._call_name = call_name
        self.seconds = seconds
        self.count = 0  # how often a request was sent
        self._exchange: Exchange | None = None
        self._response: APIResponse | None = None  # to the last attempt, once it is complete

    async def __aenter__(self) -> Self:
        if self._sender.is_closed:
            raise self._closed_error()
        self._loop_client: LoopClient = await self._sender.loop_client()
        self._sender.save_for_retries()
        task = asyncio.current_task()
        # A cancellation that was pending before this call is somebody else's, and must pass.
        self._cancellations = 0 if task is None else task.cancelling()
        self.deadline = asyncio.get_running_loop().time() + self.seconds
        self._timeout = asyncio.timeout_at(self.deadline)
        await self._timeout.__aenter__()
        self._loop_client.deadlines.add(self._timeout)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop_client.remove_deadline(self._timeout)
        if error is not None and self._response is not None:
            self._response.discard_file()
        if isinstance(error, CallError):
            error.attempts = self.count
        try:
            await self._timeout.__aexit__(kind, error, traceback)
        except TimeoutError:
            timeout = self._timeout_error()
            timeout.attempts = self.count
            raise timeout from None
        finally:
            # The exchange knows these attempts. Without that cycle its body is freed at once.
            self._exchange = None

    @property
    def transport(self) -> httpx.AsyncBaseTransport:
        """The transport of token requests: the same connections, but nothing is added."""
        return _BareTransport(self._loop_client.client)

    async def send(self, request: httpx.Request, options: SendOptions) -> APIResponse:
        """Send a request, with redirects and retries, and return the response.

        At the deadline the events of a stream that have come are the response.

        Raises:
            CallError: No response came, or none that can be used.
        """
        if not self._sender.owns_client:
            self._add_client_headers(request, options)
        cache = self._sender.cache
        try:
            if cache is None or not options.caches or self._has_unseen_auth(request, options):
                return await self._send_with_retries(request, options)
            return await cache.send(
                request, options.user, lambda sent: self._send_with_retries(sent, options)
            )
        except asyncio.CancelledError:
            # The API has responded, and only the shared state delayed the call: a write that is
            # done is no failure.
            if self._response is None or not self._is_past_deadline():
                raise
            return self._response

    async def _send_with_retries(self, request: httpx.Request, options: SendOptions) -> APIResponse:
        settings = self._sender.settings
        for number in itertools.count(1):
            self._response = None
            exchange = self._exchange = Exchange(
                request,
                options,
                settings=settings,
                seconds=self.seconds,
                is_cut_off=self._is_cut_off,
            )
            outcome = await self._run_with_permits(exchange, request, options)
            if isinstance(outcome, APIResponse) and outcome.status not in RETRIED_STATUSES:
                return outcome
            repeatable = (
                is_repeatable(request) if options.repeatable is None else options.repeatable
            )
            delay = retry_delay(outcome, number, retries=settings.retries, repeatable=repeatable)
            if delay is None or not self._can_wait(delay) or not self._sender.take_retry():
                break
            report_retry(outcome, delay)
            await asyncio.sleep(delay)
        if isinstance(outcome, SendFailure):
            raise outcome.error
        return outcome

    async def _run_with_permits(
        self, exchange: Exchange, request: httpx.Request, options: SendOptions
    ) -> APIResponse | SendFailure:
        if (limits := self._sender.limits) is not None:
            async with self._hold_permits(limits, request, options.user):
                return await self._run(exchange)
        slots = self._loop_client.slots  # not as a context manager: its generator takes longer
        await slots.acquire(options.user)
        try:
            return await self._run(exchange)
        finally:
            slots.release(options.user)

    async def _run(self, exchange: Exchange) -> APIResponse | SendFailure:
        self.count += 1
        outcome = await exchange.run(self._loop_client.client)
        if isinstance(outcome, APIResponse):
            outcome.attempts = self.count
            self._response = None if outcome.status in _INTERMEDIATE else outcome
        return outcome

    @asynccontextmanager
    async def _hold_permits(
        self, limits: Limits, request: httpx.Request, user: str
    ) -> AsyncGenerator[None]:
        try:
            async with limits.hold(_origin_of(request.url), self._loop_client.slots, user):
                yield
        except CallError as error:
            if self.count:  # the shared state failed before a retry
                error.reason = error.reason.replace("nothing was", "nothing more was")
            raise

    def _can_wait(self, seconds: float) -> bool:
        return asyncio.get_running_loop().time() + seconds < self.deadline

    def _has_unseen_auth(self, request: httpx.Request, options: SendOptions) -> bool:
        auth = options.auth or options.certificate
        auth = auth or getattr(self._loop_client.client, "auth", None)
        return auth is not None and request.method == "GET" and is_read_request(request)

    def _add_client_headers(self, request: httpx.Request, options: SendOptions) -> None:
        client, url = self._loop_client.client, request.url
        # The user's transport resolves names: only literal addresses can be judged here.
        self._sender.policy.check_name(url.host, url.port or (443 if url.scheme == "https" else 80))
        if getattr(client, "is_closed", False) is True:
            call = describe_request(request)
            reason = f"{call} was not sent: the client passed for the tools is closed."
            raise CallError("connection", reason, retryable=False)
        if not options.trusted:
            return
        headers, lines = request.headers, request.headers.raw
        present = {name.lower() for name, _ in lines}
        missing = [line for line in client.headers.raw if line[0].lower() not in present]
        if missing:
            request.headers = httpx.Headers([*lines, *missing])
        if options.learn is not None:
            learn_headers(headers.multi_items(), request, options.learn)

    def _is_past_deadline(self) -> bool:
        # False if somebody else has cancelled the task, too: that cancellation must pass.
        task = asyncio.current_task()
        cancellations = 0 if task is None else task.cancelling() - self._cancellations
        return self._timeout.expired() and cancellations == 1

    def _is_cut_off(self) -> bool:
        # Nobody waits for half a response of a toolset that is being closed.
        return self._is_past_deadline() and not self._sender.is_closed

    def _timeout_error(self) -> CallError:
        if self._sender.is_closed:
            return self._closed_error()
        if self.count and self._exchange is not None:
            return self._exchange.timeout_error(is_first=self.count == 1)
        if self._exchange is not None and self._sender.limits is None:
            return timeout_error(self._exchange.request, self.seconds, waiting=True)
        if self._exchange is None:
            why = " while waiting for credentials; it was not sent."
        else:
            why = "; it was not sent, because the limits in the settings left no slot for it."
        reason = f"{self._call_name} timed out after {self.seconds:g} s{why}"
        return CallError("timeout", reason, retryable=True)

    def _closed_error(self) -> CallError:
        outcome = "" if is_safe(self._call_name.partition(" ")[0]) else "; it may have run"
        reason = f"was cancelled, because the toolset was closed{outcome}"
        if not self.count:
            reason = "was not sent: the toolset is closed"
        return CallError("connection", f"{self._call_name} {reason}.")


def _origin_of(url: httpx.URL) -> str:
    user = f"{url.userinfo.decode()}@" if url.userinfo else ""
    return f"{url.scheme}://{user}{url.netloc.decode()}/"


class _BareTransport(httpx.AsyncBaseTransport):
    """Sends through a client without its authentication, headers, cookies and redirects."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions = {**request.extensions, "timeout": NO_TIMEOUTS}
        return await self._client.send(request, stream=True, follow_redirects=False, auth=None)


def _adapt_client(client: Any) -> httpx.AsyncClient:
    if isinstance(client, httpx.AsyncClient):
        return client
    httpx2 = sys.modules.get("httpx2")  # the user has imported it if the client comes from it
    if httpx2 is not None and isinstance(client, httpx2.AsyncClient):
        from openapi_tools.transport.httpx2_client import Httpx2Client  # needs httpx2

        return cast("httpx.AsyncClient", Httpx2Client(client))
    methods = (getattr(client, name, None) for name in ("send", "aclose"))
    if isinstance(client, type) or not all(map(inspect.iscoroutinefunction, methods)):
        kind = f"the class {client.__name__}" if isinstance(client, type) else type(client).__name__
        reason = "pass an httpx.AsyncClient or an httpx2.AsyncClient"
        raise SettingsError(f"client: {kind} cannot send requests; {reason}.")
    return cast("httpx.AsyncClient", client)
