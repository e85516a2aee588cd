"""Sends a request, and receives the whole answer under one deadline."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from openapi_tools.errors import CallError
from openapi_tools.http_rules import is_safe
from openapi_tools.redaction import learn_headers
from openapi_tools.transport.client_pool import (
    BareTransport,
    ClientPool,
    usable_client,
    with_defaults,
)
from openapi_tools.transport.exchange import Answer, Exchange, SendOptions
from openapi_tools.transport.network_policy import policy_of
from openapi_tools.transport.retries import RETRIED_STATUSES, Budget, Outcome, RetryRule, retried
from openapi_tools.transport.transport_errors import closed_client, named

if TYPE_CHECKING:
    from types import TracebackType

    import httpx
    import httpx2

    from openapi_tools.settings import Settings
    from openapi_tools.transport.network_policy import NetworkPolicy

__all__ = ["Answer", "Attempts", "SendOptions", "Sender"]


_DEFAULT_OPTIONS = SendOptions()


class Sender:
    """Sends the requests of one toolset.

    Args:
        settings: `timeout`, `concurrency`, `retries` and `max_response_bytes` are its limits.
        client: The user's own client, never closed: its transport, authentication and headers are
            used; its cookies, timeouts and redirects are not.
        public: The document came from a public address.
        policy: Where it may connect to; by default as the settings and `public` have it.

    Attributes:
        is_own: It sends with clients of its own.
        clients: One for each event loop.
        budget: Of further attempts.
        is_closed: Calls end with an error.

    Raises:
        SettingsError: The client cannot send under asyncio.
    """

    def __init__(
        self,
        settings: Settings,
        client: httpx.AsyncClient | httpx2.AsyncClient | None = None,
        *,
        public: bool = False,
        policy: NetworkPolicy | None = None,
    ) -> None:
        self.settings = settings
        self.policy = policy or policy_of(settings, public_document=public)
        self.is_own = client is None
        used = None if client is None else usable_client(client)
        self.clients = ClientPool(settings, used, self.policy)
        self.budget = Budget()
        self.is_closed = False

    async def send(self, request: httpx.Request, options: SendOptions = _DEFAULT_OPTIONS) -> Answer:
        """Return the answer to one request.

        Args:
            request: Its extensions and headers are completed.
            options: How it is sent.

        Raises:
            CallError: As `Attempts`.
        """
        async with self.attempts(named(request)) as attempts:
            await attempts.send(request, options)
        return attempts.answer

    def attempts(self, about: str) -> Attempts:
        """Return the attempts of one call, to be entered with `async with`.

        Args:
            about: Names the call in messages: `"GET /pets/7"`.
        """
        return Attempts(self, about)

    async def aclose(self) -> None:
        """Close the connections; calls under way end with an error, later ones begin with one."""
        self.is_closed = True
        await self.clients.aclose()


class Attempts:
    """The attempts of one call under one deadline, an asynchronous context manager.

    The deadline covers everything inside: tokens, waiting for a turn, connecting, sending, the
    answer to its last byte, further attempts. An endless stream of events ends there, with the
    events it had.

    Attributes:
        count: How often a request was sent.
        deadline: By the loop's clock.

    Raises:
        CallError: `connection`, `timeout`, `protocol`, `decode`, `too_large` or `redirect`, with
            `retryable` where known.
    """

    def __init__(self, sender: Sender, about: str) -> None:
        self._sender = sender
        self._settings = sender.settings
        self._about = about
        self._exchange: Exchange | None = None
        self._answer: Answer | None = None
        self.count = 0

    async def __aenter__(self) -> Self:
        if self._sender.is_closed:
            raise _closed(self._about, sent=False)
        self._client = await self._sender.clients.of_this_loop()
        self._sender.budget.earn()
        self.deadline = asyncio.get_running_loop().time() + self._settings.timeout
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
            if error is not None:
                error.attempts = self.count
                raise error from None
            return True  # with the events of the stream
        if isinstance(error, CallError):
            error.attempts = self.count
        return False

    @property
    def request(self) -> httpx.Request | None:
        """The request that was sent last; None before the first one."""
        return None if self._exchange is None else self._exchange.request

    @property
    def answer(self) -> Answer:
        """The answer to it; the part that arrived of a stream that was cut."""
        if self._answer is not None:
            return self._answer
        assert self._exchange is not None  # noqa: S101 -- `send` came first
        return self._exchange.answer(self.count)

    @property
    def transport(self) -> httpx.AsyncBaseTransport:
        """For token requests: the same connections, nothing added to the requests."""
        return BareTransport(self._client.client)

    async def send(self, request: httpx.Request, options: SendOptions) -> Answer:
        """Return the answer to a request, redirects inside its origin followed.

        Args:
            request: Its extensions and headers are completed.
            options: How it is sent.

        Raises:
            CallError: As `Attempts`.
        """
        if not self._sender.is_own:
            self._prepare(request, options)
        outcome = await self._attempt(request, options)
        if outcome.error is not None or outcome.status in RETRIED_STATUSES:

            async def attempt() -> Outcome:
                return await self._attempt(request, options)

            outcome = await retried(attempt, outcome, self._rule(request, options))
        if outcome.error is not None:
            raise outcome.error
        self._answer = outcome.answer
        return self.answer

    async def _attempt(self, request: httpx.Request, options: SendOptions) -> Outcome:
        """Send a request once."""
        self._answer = None
        exchange = self._exchange = Exchange(request, self._settings, options)
        try:
            turns = self._client.turns
            await turns.acquire()
            try:
                self.count += 1
                await exchange.run(self._client.client)
            finally:
                turns.release()
        except CallError as error:
            stale = self._sender.is_own and exchange.stale
            return Outcome(error=error, unsent=exchange.unsent, stale=stale)
        return Outcome(exchange.answer(self.count))

    def _rule(self, request: httpx.Request, options: SendOptions) -> RetryRule:
        retries = self._settings.retries
        return RetryRule(request, retries, options.keyed, self.deadline, self._sender.budget)

    def _prepare(self, request: httpx.Request, options: SendOptions) -> None:
        """Add the headers of the user's client, where they may go."""
        client, url = self._client.client, request.url
        # Names are resolved by the user's transport: only literal addresses can be judged.
        self._sender.policy.check_name(url.host, url.port or (443 if url.scheme == "https" else 80))
        if getattr(client, "is_closed", False) is True:
            raise closed_client(request)
        before = request.headers.multi_items() if options.learn is not None else []
        if options.trusted:
            with_defaults(request, client)
        if options.learn is not None:
            learn_headers(before, request, options.learn)

    def _timed_out(self) -> CallError | None:
        """Return the error at the end of the time; None for a stream that had some events."""
        if self._sender.is_closed:
            return _closed(self._about, sent=self._exchange is not None and self._exchange.begun)
        if self._exchange is None:
            reason = f"{self._about} timed out after {self._settings.timeout:g} s"
            reason += ", before the credentials for it were there; it was not sent."
            return CallError("timeout", reason, retryable=True)
        return self._exchange.ended_by("timeout")


def _closed(about: str, *, sent: bool) -> CallError:
    """Return the error for a call after the toolset was closed, or in the middle of it."""
    reason = f"{about} was given up: the toolset is closed"
    if not sent:
        return CallError("connection", f"{reason}; it was not sent.")
    safe = is_safe(about.partition(" ")[0])
    return CallError("connection", reason + ("." if safe else "; it may have run."))
