"""Sending a request, and receiving the whole answer under one deadline.

asyncio only: the deadline, the turns and the connections are asyncio's.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openapi_tools.errors import CallError
from openapi_tools.runtime.media import essence, is_sequential
from openapi_tools.runtime.sending.clients import (
    Homes,
    check_client,
    drop_if_poisoned,
    with_defaults,
)
from openapi_tools.runtime.sending.codings import Decoder, too_large
from openapi_tools.runtime.sending.faults import (
    TRANSPORT_FAULTS,
    broken_protocol,
    closed,
    closed_client,
    failure,
    in_answer,
    path_of,
    timed_out,
)
from openapi_tools.runtime.sending.redirects import REDIRECT_STATUSES, redirected

if TYPE_CHECKING:
    from collections.abc import Iterable

    import httpx

    from openapi_tools.runtime.settings import Settings

_BODILESS_STATUSES = frozenset({204, 304})
_NO_TIMEOUTS = {"connect": None, "read": None, "write": None, "pool": None}
_EVENT_END = re.compile(rb"\n\n|\r\r|\r\n\r\n")
_DIGITS = 20
"""Of a `Content-Length`; the transport refuses longer ones."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered.

    Attributes:
        method: What was asked, for instance `"GET"`.
        path: Of the request that was answered, without the query: `"/pets/7"`.
        status: For instance 200.
        headers: As sent.
        content: The body without its content codings.
        elapsed: Seconds from handing over the request to the last byte.
        redirects: How many were followed.
        cut: Why a stream of events ends here: `"timeout"`, `"too_large"`; empty when it is whole.
    """

    method: str
    path: str
    status: int
    headers: httpx.Headers
    content: bytes
    elapsed: float = 0.0
    redirects: int = 0
    cut: str = ""


class Sender:
    """Sends the requests of one toolset.

    Args:
        settings: `timeout`, `concurrency` and `max_response_bytes` are its limits.
        client: A client of the user's own: its transport, authentication and headers are used, it
            is never closed; its cookies, timeouts and redirects are not.

    Raises:
        SettingsError: The client cannot send under asyncio.
    """

    def __init__(self, settings: Settings, client: httpx.AsyncClient | None = None) -> None:
        if client is not None:
            check_client(client)
        self._settings = settings
        self._own = client is None
        self._homes = Homes(settings, client)
        self._closed = False

    async def send(self, request: httpx.Request) -> Answer:
        """Return the answer to a request, redirects inside its origin followed.

        The deadline covers everything: waiting for a turn, connecting, sending, the answer to its
        last byte. An endless stream of events ends there, with the events it had.

        Spec: RFC 9110, section 15.4 for redirects; only those of GET and HEAD are followed.

        Args:
            request: Its extensions and headers are completed; its credentials go to its own origin.

        Raises:
            CallError: `connection`, `timeout`, `protocol`, `decode`, `too_large` or `redirect`,
                with `retryable` where known.
        """
        if self._closed:
            raise closed(request, sent=False)
        home = await self._homes.of_this_loop()
        exchange = _Exchange(request, self._settings)
        if not self._own:
            if getattr(home.client, "is_closed", False) is True:
                raise closed_client(request)
            with_defaults(request, home.client)
        try:
            async with asyncio.timeout(self._settings.timeout) as deadline:
                home.begin(deadline)
                try:
                    async with home.turns:
                        return await exchange.run(home.client)
                finally:
                    home.end(deadline)
        except TimeoutError:  # only ever that of the deadline: `run` turns all others into errors
            if self._closed:
                raise closed(request, sent=exchange.begun) from None
            return exchange.ended_by("timeout")

    async def aclose(self) -> None:
        """Close the connections; calls under way end with an error, later ones begin with one."""
        self._closed = True
        await self._homes.aclose()


class _Exchange:
    """One call on its way, and what was received so far."""

    def __init__(self, request: httpx.Request, settings: Settings) -> None:
        self._request = request
        self._settings = settings
        self._started = time.perf_counter()
        self._response: httpx.Response | None = None
        self._received = bytearray()
        self._redirects = 0
        self._cut = ""
        self.begun = False

    async def run(self, client: httpx.AsyncClient) -> Answer:
        """Send the request, follow redirects, and receive the answer.

        Raises:
            CallError: The transport failed, or the answer is none that can be given on.
        """
        import httpx

        self.begun = True
        try:
            while (response := await self._exchange(client)).status_code in REDIRECT_STATUSES:
                following = redirected(self._request, response, self._redirects)
                if following is None:
                    break
                self._request = following
                self._redirects += 1
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, *TRANSPORT_FAULTS) as error:
            raise failure(error, self._request, self._settings.timeout) from None
        return self._answer()

    def ended_by(self, cause: str) -> Answer:
        """Return what there is at the end of the time: a stream's events, when it has some.

        Raises:
            CallError: There is nothing.
        """
        if self._has_event():
            self._cut = cause
            return self._answer()
        raise timed_out(self._request, self._settings.timeout, waiting=not self.begun)

    async def _exchange(self, client: httpx.AsyncClient) -> httpx.Response:
        self._request.extensions["timeout"] = _NO_TIMEOUTS
        response = await client.send(self._request, stream=True, follow_redirects=False)
        self._response = response
        try:
            if response.status_code < 200:  # noqa: PLR2004 -- an interim answer is none
                raise broken_protocol(self._request, "switched to another protocol")
            if not _leads_elsewhere(response):
                await self._receive(response)
        finally:
            await response.aclose()
        await drop_if_poisoned(response)
        return response

    async def _receive(self, response: httpx.Response) -> None:
        try:
            await self._take_all(response)
        except CallError as error:
            if error.kind != "too_large" or not self._has_event():
                raise in_answer(error, self._request, response.status_code) from None
            self._cut = error.kind

    async def _take_all(self, response: httpx.Response) -> None:
        limit = self._settings.max_response_bytes
        if response.is_stream_consumed:
            # A mock transport gave content, and httpx has decoded it.
            self._take([response.content])
            return
        decoder = None
        if not self._is_bodiless(response):
            _check_declared(response, limit)
            decoder = Decoder(response.headers.get("content-encoding", ""), limit)
        async for data in response.aiter_raw():
            if decoder is not None:
                self._take(decoder.feed(data))
        if decoder is not None:
            decoder.finish()

    def _take(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            room = self._settings.max_response_bytes - len(self._received)
            self._received += piece[:room] if len(piece) > room else piece
            if len(piece) > room:
                raise too_large()

    def _is_bodiless(self, response: httpx.Response) -> bool:
        return self._request.method == "HEAD" or response.status_code in _BODILESS_STATUSES

    def _has_event(self) -> bool:
        """Whether a whole event of a stream, or a line of JSON lines, has arrived."""
        if self._response is None or not self._received:
            return False
        kind = self._response.headers.get("content-type", "")
        if essence(kind) == "text/event-stream":
            return _EVENT_END.search(self._received) is not None
        return is_sequential(kind) and b"\n" in self._received

    def _answer(self) -> Answer:
        response = self._response
        assert response is not None  # noqa: S101 -- there is one wherever this is called
        return Answer(
            method=self._request.method,
            path=path_of(self._request),
            status=response.status_code,
            headers=response.headers,
            content=bytes(self._received),
            elapsed=time.perf_counter() - self._started,
            redirects=self._redirects,
            cut=self._cut,
        )


def _leads_elsewhere(response: httpx.Response) -> bool:
    return response.status_code in REDIRECT_STATUSES and "location" in response.headers


def _check_declared(response: httpx.Response, limit: int) -> None:
    """Refuse an answer at its header when that says that it is too large."""
    declared = response.headers.get("content-length", "")
    if declared.isdecimal() and len(declared) <= _DIGITS and int(declared) > limit:
        raise too_large(int(declared))
