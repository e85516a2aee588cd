"""One request and its answer, received in bounded steps."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
import time
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httpx

from openapi_tools.errors import CallError
from openapi_tools.http_rules import essence, is_json, is_sequential, names_credential, reads
from openapi_tools.observability import current, trace_headers
from openapi_tools.transport.connection_pool import CERTIFICATE, PROXY, REUSED
from openapi_tools.transport.content_codings import Decoder, too_large
from openapi_tools.transport.failures import (
    TRANSPORT_FAULTS,
    describe_request,
    is_transient,
    make_call_error,
    protocol_error,
    request_path,
    timeout_error,
)
from openapi_tools.transport.redirects import REDIRECT_STATUSES, next_request

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Collection, Generator

    from openapi_tools.settings import Settings
    from openapi_tools.shaping.files import Download

NO_TIMEOUTS = {"connect": None, "read": None, "write": None, "pool": None}
_LARGEST_READ = 1024 * 1024  # bytes of an answer that an authentication reads
_NOTHING = httpx.ByteStream(b"")
_EVENT_END = re.compile(rb"\n\n|\r\r|\r\n\r\n")
_BODILESS = (204, 304)
_SHORTEST_SECRET = 8  # shorter values of added headers are versions or kinds
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
        return request_path(self.request)

    def discard_file(self) -> None:
        """Remove the file of a response that is not used."""
        if self.file is not None:
            self.file.discard()


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


@dataclass(frozen=True, slots=True)
class SendFailure:
    """Why an attempt brought no response."""

    error: CallError
    is_unsent: bool = False  # it failed before anything of the request left
    is_stale: bool = False  # the server closed a reused connection before a response began


class Exchange:
    """One attempt at a request: sends it, follows redirects and receives the response."""

    def __init__(
        self,
        request: httpx.Request,
        options: SendOptions,
        *,
        settings: Settings,
        seconds: float,
        is_cut_off: Callable[[], bool],
    ) -> None:
        self.request = request  # after redirects the last one
        self._options = options
        self._settings = settings
        self._seconds = seconds  # of the whole call
        self._is_cut_off = is_cut_off
        self._response: httpx.Response | None = None
        self._content: bytes | bytearray = b""
        self._file: Download | None = None
        self._redirects = 0
        self._cut = self._unread = ""

    async def run(self, client: httpx.AsyncClient) -> APIResponse | SendFailure:
        """Return the response, or why there is none; a cancellation passes."""
        started = time.perf_counter()
        for name in (REUSED, PROXY):
            self.request.extensions.pop(name, None)
        try:
            while True:
                response = await self._send(client)
                redirect = await self._receive(response)
                if redirect is None:
                    break
                self.request = redirect
                self._redirects += 1
        except CallError as error:
            return SendFailure(error)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, *TRANSPORT_FAULTS) as error:
            return self._failure(error)
        return APIResponse(
            self.request,
            response.status_code,
            response.headers,
            bytes(self._content),
            elapsed=time.perf_counter() - started,
            redirects=self._redirects,
            cut=self._cut,
            unread=self._unread,
            file=self._file,
        )

    def timeout_error(self, *, is_first: bool) -> CallError:
        """Return the error for a deadline that came during the attempt."""
        # A request that waits for its proxy has not left, if no attempt or redirect came before.
        proxy = self.request.extensions.get(PROXY, "") if is_first and not self._redirects else ""
        return timeout_error(self.request, self._seconds, proxy=proxy)

    def _failure(self, error: Exception) -> SendFailure:
        unconnected = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)
        broken = (httpx.NetworkError, httpx.RemoteProtocolError)
        is_unsent = isinstance(error, unconnected) and is_transient(error)
        is_reused = bool(self.request.extensions.get(REUSED))
        call_error = make_call_error(error, self.request, self._seconds)
        current().end_attempt(error_type=call_error.kind)
        return SendFailure(
            call_error,
            is_unsent=is_unsent and not self._redirects,
            is_stale=is_reused and isinstance(error, broken) and self._response is None,
        )

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
        current().begin_attempt(request)
        if self._options.traced:
            request.headers.update(trace_headers())
        headers = [] if learn is None else request.headers.multi_items()
        if auth is None:
            response = await client.send(request, **options)
        else:
            response = await _send_with_auth(auth, client, request, options)
        self._response = response
        if learn is not None:
            learn_headers(headers, response.request, learn)
        return response

    async def _receive(self, response: httpx.Response) -> httpx.Request | None:
        """Receive the body, or return the request that a redirect asks for."""
        redirect = None
        try:
            if response.status_code < HTTPStatus.OK:  # interim, so no response
                raise protocol_error(self.request, "switched to another protocol")
            if response.status_code in REDIRECT_STATUSES:
                redirect = next_request(
                    self.request,
                    response,
                    self._redirects,
                    base=self._options.base,
                    documented=self._options.redirects,
                )
            if redirect is None:
                await self._receive_body(response)
        finally:
            if not response.is_closed:
                await response.aclose()
        current().end_attempt(response)
        # The stream knows the response. This cycle would be left to the garbage collector, and
        # thousands of calls would fill the processor's caches until it runs.
        response.stream = _NOTHING
        if isinstance(redirect, CallError):
            raise redirect
        return redirect

    async def _receive_body(self, response: httpx.Response) -> None:
        begin = self._options.download
        file = None if begin is None else begin(response.status_code, response.headers)
        try:
            await self._read_body(response, file)
            self._file = file if file is not None and file.is_file else None
        except asyncio.CancelledError:
            if not self._has_part(is_at_deadline=True) or not self._is_cut_off():
                raise
            self._cut = "timeout"
        except CallError as error:
            if error.kind == "too_large" and self._has_part():
                self._cut = error.kind
            elif self._is_accepted_write(error):
                self._unread, self._content = error.reason, b""
            else:
                status, call = response.status_code, describe_request(self.request)
                reason = f"{call} returned {status}, but {error.reason}"
                facts = {"status": status, **error.facts}
                raise CallError(error.kind, reason, **facts) from None
        finally:
            if file is not None and self._file is None:
                file.discard()

    def _is_accepted_write(self, error: CallError) -> bool:
        """Whether the server has written: a body that cannot be decoded makes that no failure."""
        is_success = self._response is not None and self._response.is_success
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
        elif self.request.method == "HEAD" or response.status_code in _BODILESS:
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
            self._content = await file.finish()

    async def _take(self, limit: int, piece: bytes) -> None:
        """Keep a piece; one that is alone, as most are, is not copied."""
        room = limit - len(self._content)
        part = piece[:room] if len(piece) > room else piece
        if not self._content:
            self._content = part
        elif isinstance(self._content, bytes):
            self._content = bytearray(self._content + part)
        else:
            self._content += part
        if len(piece) > room:
            raise too_large()

    def _has_part(self, *, is_at_deadline: bool = False) -> bool:
        """Whether an event or a line has arrived; at the deadline also some of endless JSON."""
        if self._response is None or not self._content:
            return False
        if self._response.status_code == HTTPStatus.UNAUTHORIZED and is_at_deadline:
            return False  # there is no time left to call again with newer credentials
        headers = self._response.headers
        kind = headers.get("content-type", "")
        if essence(kind) == "text/event-stream":
            return _EVENT_END.search(self._content) is not None
        if is_sequential(kind):
            return b"\n" in self._content
        return is_at_deadline and is_json(kind) and "content-length" not in headers


class Digest(httpx.DigestAuth):
    """Answers a digest challenge (RFC 7616); one that cannot be answered leaves the 401."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Do as httpx, without its errors for challenges that it cannot read."""
        with suppress(LookupError, NotImplementedError, ValueError, httpx.ProtocolError):
            yield from super().auth_flow(request)


async def _send_with_auth(
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
                    response = await _read_whole(response)
                step = await flow.asend(response)
            except StopAsyncIteration:
                return response
            except BaseException:
                await response.aclose()
                raise
            await response.aclose()


async def _read_whole(response: httpx.Response) -> httpx.Response:
    decoder = Decoder(response.headers.get("content-encoding", ""), _LARGEST_READ)
    pieces = [piece async for data in response.aiter_raw() for piece in decoder.feed(data)]
    decoder.finish()
    await response.aclose()
    known: dict[str, Any] = {"request": response.request, "extensions": response.extensions}
    read = httpx.Response(response.status_code, content=b"".join(pieces), **known)
    read.headers = response.headers
    return read


def learn_headers(
    before: Collection[tuple[str, str]], request: httpx.Request, learn: Callable[..., None]
) -> None:
    """Give `learn` the secrets in headers that a request did not have before."""
    for name, value in request.headers.multi_items():
        if (name, value) not in before and names_credential(name):
            word, _, rest = value.partition(" ")
            secrets = [value, rest, *(c.partition("=")[2] for c in value.split("; "))]
            if word.lower() == "basic":
                with suppress(binascii.Error, UnicodeDecodeError):
                    pair = base64.b64decode(rest).decode()
                    secrets += [pair, pair.partition(":")[2]]
            learn(*(secret for secret in secrets if len(secret) >= _SHORTEST_SECRET))
