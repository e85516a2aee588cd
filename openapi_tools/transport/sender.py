"""Sending a request, and receiving the whole answer under one deadline.

asyncio only: the deadline, the turns and the connections are asyncio's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi_tools.errors import CallError
from openapi_tools.http_rules import is_safe
from openapi_tools.redaction import learn_headers
from openapi_tools.transport.client_pool import Homes, usable_client, with_defaults
from openapi_tools.transport.deadlines import Deadline
from openapi_tools.transport.exchange import Answer, Exchange, Terms
from openapi_tools.transport.network_policy import policy_of
from openapi_tools.transport.retries import RETRIED_STATUSES, Budget, Outcome, Rule, again
from openapi_tools.transport.transport_errors import closed_client, named

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx
    import httpx2

    from openapi_tools.settings import Settings
    from openapi_tools.transport.client_pool import Home
    from openapi_tools.transport.network_policy import NetworkPolicy

__all__ = ["Answer", "Line", "Sender", "Terms"]


_USUAL_TERMS = Terms()


class Sender:
    """Sends the requests of one toolset.

    Args:
        settings: `timeout`, `concurrency`, `retries` and `max_response_bytes` are its limits.
        client: A client of the user's own: its transport, authentication and headers are used, it
            is never closed; its cookies, timeouts and redirects are not.
        public: The document came from a public address.
        policy: Where it may connect to; by default as the settings and `public` have it.

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
        self._settings = settings
        self._policy = policy or policy_of(settings, public_document=public)
        self._own = client is None
        used = None if client is None else usable_client(client)
        self._homes = Homes(settings, used, self._policy)
        self._budget = Budget()
        self._closed = False

    async def send(self, request: httpx.Request, terms: Terms = _USUAL_TERMS) -> Answer:
        """Return the answer to one request, as `perform` and `Line.send` do.

        Args:
            request: Its extensions and headers are completed.
            terms: How it is sent.

        Raises:
            CallError: As `perform`.
        """

        async def work(line: Line) -> None:
            await line.send(request, terms)

        return (await self.perform(work, named(request))).answer

    async def perform(self, work: Callable[[Line], Awaitable[None]], about: str) -> Line:
        """Do what a call takes under one deadline, and return how it went.

        The deadline covers everything: tokens, waiting for a turn, connecting, sending, the answer
        to its last byte, further attempts. An endless stream of events ends there, with the events
        it had.

        Args:
            work: Sends requests on the line that it is given.
            about: What messages call it: `"GET /pets/7"`.

        Raises:
            CallError: `connection`, `timeout`, `protocol`, `decode`, `too_large` or `redirect`,
                with `retryable` where known; or what `work` raises.
        """
        if self._closed:
            raise _closed(about, sent=False)
        home = self._homes.here() or await self._homes.of_this_loop()
        line = Line(home, self._settings, self._budget)
        if not self._own:
            # Names are resolved by the user's transport: what can be seen is seen to.
            line.policy = self._policy
        self._budget.earn()
        try:
            with Deadline(home.deadlines, self._settings.timeout) as deadline:
                line.deadline = deadline.when
                await work(line)
        except TimeoutError:  # only ever that of the deadline: an exchange turns others into errors
            error = _closed(about, sent=line.begun) if self._closed else line.timed_out(about)
            if error is not None:
                error.attempts = line.attempts
                raise error from None
        except CallError as error:
            error.attempts = line.attempts
            raise
        return line

    async def aclose(self) -> None:
        """Close the connections; calls under way end with an error, later ones begin with one."""
        self._closed = True
        await self._homes.aclose()


class Line:
    """The way of one call to its server, open until a deadline.

    Attributes:
        request: What was sent last; None as long as nothing was.
        attempts: How often something was sent.
        deadline: By the loop's clock.
        policy: Where a client of the user's may go; None for the toolset's own, which knows.
    """

    __slots__ = (
        "_answer",
        "_budget",
        "_exchange",
        "_home",
        "_settings",
        "attempts",
        "deadline",
        "policy",
    )

    def __init__(self, home: Home, settings: Settings, budget: Budget) -> None:
        self._home = home
        self._settings = settings
        self._budget = budget
        self.policy: NetworkPolicy | None = None
        self._exchange: Exchange | None = None
        self._answer: Answer | None = None
        self.attempts = 0
        self.deadline = 0.0

    @property
    def request(self) -> httpx.Request | None:
        """What was sent last; None as long as nothing was."""
        return None if self._exchange is None else self._exchange.request

    @property
    def begun(self) -> bool:
        """Whether a request has left, or was about to."""
        return self._exchange is not None and self._exchange.begun

    @property
    def answer(self) -> Answer:
        """The answer to it; what there is of a stream that was cut."""
        if self._answer is not None:
            return self._answer
        assert self._exchange is not None  # noqa: S101 -- `send` came first
        return self._exchange.answer(self.attempts)

    @property
    def transport(self) -> httpx.AsyncBaseTransport:
        """What carries requests for tokens: the same connections, nothing added to them."""
        from openapi_tools.transport.bare_transport import Carrier

        return Carrier(self._home.client)

    async def send(self, request: httpx.Request, terms: Terms) -> Answer:
        """Return the answer to a request, redirects inside its origin followed.

        Spec: RFC 9110, section 15.4 for redirects; only those of GET and HEAD are followed.

        Args:
            request: Its extensions and headers are completed.
            terms: How it is sent.

        Raises:
            CallError: As `Sender.perform`.
        """
        if self.policy is not None:
            self._prepare(request, terms, self.policy)
        outcome = await self._attempt(request, terms)
        if outcome.error is not None or outcome.status in RETRIED_STATUSES:

            async def attempt() -> Outcome:
                return await self._attempt(request, terms)

            outcome = await again(attempt, outcome, self._rule(request, terms))
        if outcome.error is not None:
            raise outcome.error
        self._answer = outcome.answer
        return self.answer

    async def _attempt(self, request: httpx.Request, terms: Terms) -> Outcome:
        """Return what comes of sending a request once."""
        self._answer = None
        exchange = self._exchange = Exchange(request, self._settings, terms)
        try:
            turns = self._home.turns
            await turns.acquire()
            try:
                self.attempts += 1
                await exchange.run(self._home.client)
            finally:
                turns.release()
        except CallError as error:
            stale = self.policy is None and exchange.stale
            return Outcome(error=error, unsent=exchange.unsent, stale=stale)
        return Outcome(exchange.answer(self.attempts))

    def _rule(self, request: httpx.Request, terms: Terms) -> Rule:
        retries = self._settings.retries
        return Rule(request, retries, terms.keyed, self.deadline, self._budget)

    def _prepare(self, request: httpx.Request, terms: Terms, policy: NetworkPolicy) -> None:
        """Let a client of the user's add what it has, where that may go."""
        client, url = self._home.client, request.url
        policy.check_name(url.host, url.port or (443 if url.scheme == "https" else 80))
        if getattr(client, "is_closed", False) is True:
            raise closed_client(request)
        before = request.headers.multi_items() if terms.learn is not None else []
        if terms.trusted:
            with_defaults(request, client)
        if terms.learn is not None:
            learn_headers(before, request, terms.learn)

    def timed_out(self, about: str) -> CallError | None:
        """Return the error at the end of the time; None for a stream that had some events.

        Args:
            about: What messages call it.
        """
        if self._exchange is None:
            reason = f"{about} timed out after {self._settings.timeout:g} s"
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
