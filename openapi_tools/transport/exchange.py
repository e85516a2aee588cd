"""One request and its response, received in bounded steps."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import httpx

from openapi_tools.common.http_rules import essence, is_json, is_read_request, is_sequential
from openapi_tools.errors import CallError
from openapi_tools.observability import UNOBSERVED, current_observation, trace_headers
from openapi_tools.transport.auth_flow import learn_headers, send_with_auth
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
    from collections.abc import Callable, Collection

    from openapi_tools.settings import Settings
    from openapi_tools.state.file_store import Download

# A call has one deadline; the client's own timeouts restart with every byte.
NO_TIMEOUTS = {"connect": None, "read": None, "write": None, "pool": None}
_EMPTY_STREAM = httpx.ByteStream(b"")
_EVENT_END = re.compile(rb"\n\n|\r\r|\r\n\r\n")
_BODILESS = (204, 304)
_BROKEN = (httpx.NetworkError, httpx.RemoteProtocolError)
_MOST_DIGITS = 20  # of a `Content-Length`; the transport refuses longer ones


@dataclass(slots=True)  # not frozen: that doubles the cost of making one
class APIResponse:
    """The response of an API.

    Attributes:
        request: The request; after redirects the last one.
        status: The status.
        headers: The headers.
        content: The body, without its content codings.
        elapsed: Seconds from sending the request to the last byte.
        redirects: How many were followed.
        cut: Why the end of a stream, or of JSON without a length, is missing: `"timeout"` or
            `"too_large"`; empty if it is not.
        unread: Why the body of an accepted write could not be decoded.
        attempts: How often the request was sent.
        file: Holds the body in place of `content`.
        cached: `"cached"` or `"revalidated"` if the response came from the HTTP cache.
    """

    request: httpx.Request
    status: int
    headers: httpx.Headers
    content: bytes
    elapsed: float = 0.0
    redirects: int = 0
    cut: str = ""
    unread: str = ""
    attempts: int = 1
    file: Download | None = None
    cached: str = ""

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
    """How a request is sent.

    Attributes:
        base: The URL below which redirects have to stay; empty for the whole origin.
        redirects: As `Operation.redirects`.
        auth: The authentication, which sees request and response and may send the request again.
        certificate: The client certificate to present.
        trusted: Whether authentication and headers of the user's client are added.
        repeatable: Whether sending the request twice does no more than once; None for the rule of
            its method.
        traced: Whether the program's trace context is added.
        learn: Called with the secrets that others put into the request.
        download: Begins a file for a response with a status and headers; None to use memory.
        user: The user, for limits and cached responses.
        caches: Whether cached responses may be used.
        max_bytes: The largest response; 0 for the limit in the settings.
    """

    base: str = ""
    redirects: Collection[str] = ()
    auth: httpx.Auth | None = None
    certificate: ssl.SSLContext | None = None
    trusted: bool = True
    repeatable: bool | None = None
    traced: bool = False
    learn: Callable[..., None] | None = None
    download: Callable[[int, httpx.Headers], Download | None] | None = None
    user: str = ""
    caches: bool = False
    max_bytes: int = 0


@dataclass(frozen=True, slots=True)
class SendFailure:
    """Why an attempt returned no response.

    Attributes:
        error: The error of the call, if no retry follows.
        is_unsent: It failed before any byte of the request was sent.
        is_stale: The server closed a reused connection before a response began.
    """

    error: CallError
    is_unsent: bool = False
    is_stale: bool = False


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
                try:
                    response = await self._send(client)
                except _BROKEN:
                    if self._begins_hop_again():
                        continue
                    raise
                redirect = await self._receive(response)
                if redirect is None:
                    break
                self.request = redirect
                self.request.extensions.pop(REUSED, None)
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
        is_unsent = isinstance(error, unconnected) and is_transient(error)
        is_reused = bool(self.request.extensions.get(REUSED))
        call_error = make_call_error(error, self.request, self._seconds)
        current_observation().end_attempt(error_type=call_error.kind)
        return SendFailure(
            call_error,
            is_unsent=is_unsent and not self._redirects,
            is_stale=is_reused and isinstance(error, _BROKEN) and self._response is None,
        )

    def _begins_hop_again(self) -> bool:
        # Some servers close the connection after a redirect without a word. Another attempt
        # would begin with the redirect, and end the same way.
        is_stale = self._redirects and self.request.extensions.get(REUSED)
        if not is_stale or not is_read_request(self.request):
            return False
        self.request.extensions[REUSED] = False  # also behind another reused one: once is enough
        current_observation().end_attempt(error_type="connection")
        return True

    async def _send(self, client: httpx.AsyncClient) -> httpx.Response:
        request, auth, learn = self.request, self._options.auth, self._options.learn
        request.extensions["timeout"] = NO_TIMEOUTS
        options: dict[str, Any] = {"stream": True, "follow_redirects": False}
        if auth is None and self._options.trusted:
            auth = getattr(client, "auth", None)
        # Explicitly None, as httpx takes its client's authentication otherwise, and user and
        # password of the URL.
        if auth is not None or not self._options.trusted:
            options["auth"] = None
        if self._options.certificate is not None:
            request.extensions[CERTIFICATE] = self._options.certificate
        if (observation := current_observation()) is not UNOBSERVED:
            observation.begin_attempt(request)
        if self._options.traced:
            request.headers.update(trace_headers())
        headers = [] if learn is None else request.headers.multi_items()
        if auth is None:
            response = await client.send(request, **options)
        else:
            response = await send_with_auth(auth, client, request, options)
        self._response = response
        if learn is not None:
            learn_headers(headers, response.request, learn)
        return response

    async def _receive(self, response: httpx.Response) -> httpx.Request | None:
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
        if (observation := current_observation()) is not UNOBSERVED:
            observation.end_attempt(response)
        # The stream knows the response. This cycle would be left to the garbage collector, and
        # thousands of calls would fill the processor's caches until it runs.
        response.stream = _EMPTY_STREAM
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
        # The server has done the write. That its response cannot be decoded does not make it a
        # failure: a model must not try again.
        is_success = self._response is not None and self._response.is_success
        return error.kind == "decode" and is_success and not is_read_request(self.request)

    async def _read_body(self, response: httpx.Response, file: Download | None) -> None:
        limit, setting = self._settings.max_response_bytes, "max_response_bytes"
        limit = min(limit, self._options.max_bytes or limit)
        if file is not None:
            limit, setting = file.limit, "max_file_bytes"
        take = partial(self._take, limit) if file is None else file.receive
        if response.is_stream_consumed:
            # The content is that of a mock transport, and httpx has decoded it.
            await take(response.content)
        elif self.request.method == "HEAD" or response.status_code in _BODILESS:
            async for _ in response.aiter_raw():
                pass
        else:
            declared = response.headers.get("content-length", "")
            if declared.isdecimal() and len(declared) <= _MOST_DIGITS and int(declared) > limit:
                raise too_large(int(declared), setting)
            coding = response.headers.get("content-encoding")
            decoder = Decoder(coding, limit, setting) if coding else None
            async for data in _raw_pieces(response):
                for piece in (data,) if decoder is None else decoder.feed(data):
                    await take(piece)
            await response.aclose()
            if decoder is not None:
                decoder.finish()
        if file is not None:
            self._content = await file.finish()

    async def _take(self, limit: int, piece: bytes) -> None:
        # Most bodies are one piece, which is not copied.
        free = limit - len(self._content)
        part = piece[:free] if len(piece) > free else piece
        if not self._content:
            self._content = part
        elif isinstance(self._content, bytes):
            self._content = bytearray(self._content + part)
        else:
            self._content += part
        if len(piece) > free:
            raise too_large()

    def _has_part(self, *, is_at_deadline: bool = False) -> bool:
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
        # Watches of etcd, Kubernetes and Docker are JSON values without an end. With a length
        # the rest was on its way, so half a value is no result.
        return is_at_deadline and is_json(kind) and "content-length" not in headers


def _raw_pieces(response: httpx.Response) -> httpx.AsyncByteStream:
    # Not `aiter_raw`: it adds a generator to those that each piece passes.
    if response.is_closed:  # by a hook of the user's client
        raise httpx.StreamClosed
    return cast("httpx.AsyncByteStream", response.stream)
