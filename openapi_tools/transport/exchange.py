"""One request and its answer, received in bounded steps."""

from __future__ import annotations

import re
import time
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx

from openapi_tools import http_rules
from openapi_tools.errors import CallError
from openapi_tools.http_rules import reads
from openapi_tools.observability import current, trace_headers
from openapi_tools.transport import failures, redirects
from openapi_tools.transport.connection_pool import CERTIFICATE, PROXY, REUSED
from openapi_tools.transport.failures import TRANSPORT_FAULTS
from openapi_tools.transport.http_messages import BODILESS, Decoder, learn_headers, too_large

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Collection, Generator

    from openapi_tools.settings import Settings
    from openapi_tools.shaping.files import Download

NO_TIMEOUTS = {"connect": None, "read": None, "write": None, "pool": None}
_LARGEST_READ = 1024 * 1024  # bytes of an answer that an authentication reads
_NOTHING = httpx.ByteStream(b"")
_EVENT_END = re.compile(rb"\n\n|\r\r|\r\n\r\n")
_DIGITS = 20  # of a `Content-Length`; the transport refuses longer ones


@dataclass(slots=True)  # not frozen: that doubles the cost of making one
class APIResponse:
    """A server's answer; `cut` says why a stream, or JSON without a length, lacks its end."""

    request: httpx.Request
    status: int
    headers: httpx.Headers
    content: bytes  # without its content codings
    elapsed: float = 0.0  # seconds from sending the request to the last byte
    redirects: int = 0  # how many were followed
    cut: str = ""
    unread: str = ""  # why the body of an accepted write could not be read
    attempts: int = 1  # how often the request was sent
    file: Download | None = None  # holds the content in place of `content`
    cached: str = ""  # "cached" or "revalidated" where the content was kept

    @property
    def method(self) -> str:
        """The request's method."""
        return self.request.method

    @property
    def path(self) -> str:
        """The request's path without the query: `"/pets/7"`."""
        return failures.request_path(self.request)


@dataclass(frozen=True, slots=True)
class SendOptions:
    """How a request is sent."""

    base: str = ""  # address below which redirects have to stay; empty for the whole origin
    redirects: Collection[str] = ()  # as `Operation.redirects`
    auth: httpx.Auth | None = None  # sees the request and the answer, and may send it again
    certificate: ssl.SSLContext | None = None  # presents a client certificate
    trusted: bool = True  # authentication and headers of a user's client are added
    repeatable: bool | None = None  # a second call does nothing twice; None for the method's rule
    traced: bool = False  # the program's trace context is added
    learn: Callable[..., None] | None = None  # takes secrets that others put into the request
    download: Callable[[int, httpx.Headers], Download | None] | None = None  # for files
    user: str = ""  # for limits and kept answers
    caches: bool = False  # answers may be kept
    most: int = 0  # bytes of the answer; 0 for what the settings say


class Exchange:
    """One attempt at a request, after redirects the last, and its answer as far as it came."""

    def __init__(
        self, request: httpx.Request, settings: Settings, options: SendOptions, seconds: float
    ) -> None:
        self.request = request
        self.response: httpx.Response | None = None
        self.error: CallError | None = None
        self.begun = False  # it has its turn
        self.unsent = False  # it failed before anything of it left
        self.stale = False  # a kept connection was closed before an answer began
        self._settings = settings
        self._options = options
        self._seconds = seconds  # of the whole call
        self._started = time.perf_counter()
        self._received: bytes | bytearray = b""
        self._redirects = 0
        self._is_repeated = False  # an attempt before it may have run
        self._cut = self._unread = ""
        self.file: Download | None = None

    @property
    def status(self) -> int:
        """The status of the answer; 0 for none."""
        return 0 if self.response is None else self.response.status_code

    async def run(self, client: httpx.AsyncClient) -> None:
        """Send the request, follow redirects, and receive the answer or note the error."""
        self._is_repeated, self.begun = self.begun, True
        for name in (REUSED, PROXY):
            self.request.extensions.pop(name, None)
        try:
            while (following := await self._exchange(client)) is not None:
                self.request = following
                self._redirects += 1
        except CallError as error:
            self.error = error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, *TRANSPORT_FAULTS) as error:
            failed = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)
            is_passing = isinstance(error, failed) and failures.is_transient(error)
            self.unsent = is_passing and not self._redirects
            is_broken = isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError))
            reused = self.request.extensions.get(REUSED, False)
            self.stale = bool(reused and is_broken and self.response is None)
            self.error = failures.make_call_error(error, self.request, self._seconds)
            current().attempt_ended(error_type=self.error.kind)

    def ended_by(self, cause: str) -> CallError | None:
        """Keep a stream's events or the start of JSON at a deadline; else return the error."""
        if self._has_part(begun=True):
            self._cut = cause
            return None
        is_first = not self._is_repeated and not self._redirects
        proxy = self.request.extensions.get(PROXY, "") if is_first else ""
        waiting = not self.begun
        return failures.timeout_error(self.request, self._seconds, waiting=waiting, proxy=proxy)

    async def _exchange(self, client: httpx.AsyncClient) -> httpx.Request | None:
        """Send the request; return the one that a redirect asks for, or receive the response."""
        request, response = self.request, await self._send(client)
        try:
            if response.status_code < 200:  # noqa: PLR2004 -- interim, so not an answer
                raise failures.protocol_error(request, "switched to another protocol")
            following = redirects.next_request(
                request,
                response,
                self._redirects,
                base=self._options.base,
                documented=self._options.redirects,
            )
            if following is None:
                await self._receive(response)
        finally:
            if not response.is_closed:
                await response.aclose()
        current().attempt_ended(response)
        # The stream knows the response: freed one by one by the garbage collector, calls would fill
        # the processor's caches.
        response.stream = _NOTHING
        if isinstance(following, CallError):
            raise following
        return following

    async def _send(self, client: httpx.AsyncClient) -> httpx.Response:
        request, auth, learn = self.request, self._options.auth, self._options.learn
        request.extensions["timeout"] = NO_TIMEOUTS
        options: dict[str, Any] = {"stream": True, "follow_redirects": False}
        if auth is None and self._options.trusted:
            auth = getattr(client, "auth", None)
        if auth is not None or not self._options.trusted:
            options["auth"] = None
        if self._options.certificate is not None:
            request.extensions[CERTIFICATE] = self._options.certificate
        current().attempt_started(request)
        if self._options.traced:
            request.headers.update(trace_headers())
        before = [] if learn is None else request.headers.multi_items()
        if auth is None:
            response = await client.send(request, **options)
        else:
            response = await _send_with(auth, client, request, options)
        self.response = response
        if learn is not None:
            learn_headers(before, response.request, learn)
        return response

    async def _receive(self, response: httpx.Response) -> None:
        begin = self._options.download
        file = None if begin is None else begin(response.status_code, response.headers)
        try:
            await self._read_body(response, file)
            self.file = file if file is not None and file.is_file else None
        except CallError as error:
            if error.kind == "too_large" and self._has_part():
                self._cut = error.kind
            elif self._is_accepted_write(error):
                self._unread, self._received = error.reason, b""
            else:
                status = response.status_code
                reason = f"{failures.describe_request(self.request)} answered {status}, but {error.reason}"
                facts = {"status": status, **error.facts}
                raise CallError(error.kind, reason, **facts) from None
        finally:
            if file is not None and self.file is None:
                file.discard()

    def _is_accepted_write(self, error: CallError) -> bool:
        """Whether the server has written: a body that cannot be decoded makes that no failure."""
        is_success = 200 <= self.status < 300  # noqa: PLR2004
        return error.kind == "decode" and is_success and not reads(self.request)

    async def _read_body(self, response: httpx.Response, file: Download | None) -> None:
        limit, setting = self._settings.max_response_bytes, "max_response_bytes"
        limit = min(limit, self._options.most or limit)
        if file is not None:
            limit, setting = file.limit, "max_file_bytes"
        take = partial(self._take, limit) if file is None else file.take
        if response.is_stream_consumed:
            # A mock transport gave content, and httpx has decoded it.
            await take(response.content)
        elif self.request.method == "HEAD" or response.status_code in BODILESS:
            async for _ in response.aiter_raw():
                pass
        else:
            declared = response.headers.get("content-length", "")
            if declared.isdecimal() and len(declared) <= _DIGITS and int(declared) > limit:
                raise too_large(int(declared), setting)
            coding = response.headers.get("content-encoding")
            decoder = Decoder(coding, limit, setting) if coding else None
            async for data in response.aiter_raw():
                for piece in (data,) if decoder is None else decoder.feed(data):
                    await take(piece)
            if decoder is not None:
                decoder.finish()
        if file is not None:
            self._received = await file.finish()

    async def _take(self, limit: int, piece: bytes) -> None:
        """Keep a piece; one that is alone, as most are, is not copied."""
        room = limit - len(self._received)
        part = piece[:room] if len(piece) > room else piece
        if not self._received:
            self._received = part
        elif isinstance(self._received, bytes):
            self._received = bytearray(self._received + part)
        else:
            self._received += part
        if len(piece) > room:
            raise too_large()

    def _has_part(self, *, begun: bool = False) -> bool:
        """Whether an event or a line has arrived; `begun`: or some of JSON without a length."""
        if self.response is None or not self._received:
            return False
        headers = self.response.headers
        kind = headers.get("content-type", "")
        if http_rules.essence(kind) == "text/event-stream":
            return _EVENT_END.search(self._received) is not None
        if http_rules.is_sequential(kind):
            return b"\n" in self._received
        return begun and http_rules.is_json(kind) and "content-length" not in headers

    def answer(self, attempts: int) -> APIResponse:
        """Return the answer that was received in so many attempts."""
        response = self.response
        assert response is not None  # noqa: S101 -- callers have received one
        status, headers, content = response.status_code, response.headers, bytes(self._received)
        elapsed = time.perf_counter() - self._started
        done = (elapsed, self._redirects, self._cut, self._unread, attempts, self.file)
        return APIResponse(self.request, status, headers, content, *done)


class Digest(httpx.DigestAuth):
    """Answers a digest challenge (RFC 7616); one that cannot be answered leaves the 401."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Do as httpx, without its errors for challenges that it cannot read."""
        with suppress(LookupError, NotImplementedError, ValueError, httpx.ProtocolError):
            yield from super().auth_flow(request)


async def _send_with(
    auth: httpx.Auth, client: httpx.AsyncClient, request: httpx.Request, options: dict[str, Any]
) -> httpx.Response:
    """Return the answer to the last request of an authentication's flow."""
    # httpx would read the answers before it, however long they are.
    if auth.requires_request_body:
        await request.aread()
    async with aclosing(auth.async_auth_flow(request)) as flow:
        step = await anext(flow)
        while True:
            response = await client.send(step, **options)
            try:
                if auth.requires_response_body and not response.is_stream_consumed:
                    response = await _read(response)
                step = await flow.asend(response)
            except StopAsyncIteration:
                return response
            except BaseException:
                await response.aclose()
                raise
            await response.aclose()


async def _read(response: httpx.Response) -> httpx.Response:
    decoder = Decoder(response.headers.get("content-encoding", ""), _LARGEST_READ)
    pieces = [piece async for data in response.aiter_raw() for piece in decoder.feed(data)]
    decoder.finish()
    await response.aclose()
    known: dict[str, Any] = {"request": response.request, "extensions": response.extensions}
    read = httpx.Response(response.status_code, content=b"".join(pieces), **known)
    read.headers = response.headers
    return read
