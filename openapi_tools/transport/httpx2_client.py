"""Sending through an `httpx2.AsyncClient`: httpx2 has classes and exceptions of its own."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import httpx
import httpx2

from openapi_tools.transport.urls import LONGEST_CACHED

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

_HTTPX2_ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)
# The errors that a call distinguishes, the narrowest first; both packages use these names.
_ERRORS = (
    *("ConnectTimeout", "TimeoutException", "DecodingError", "LocalProtocolError"),
    *("UnsupportedProtocol", "ConnectError", "ProxyError", "RemoteProtocolError"),
    *("NetworkError", "HTTPError", "InvalidURL", "StreamError"),
)
# For the URLs of `read_cached_url`.
_read_cached_url = lru_cache(maxsize=256)(httpx2.URL)


class Httpx2Client:
    """A user's client of httpx2 with those attributes of an `httpx.AsyncClient` that calls use."""

    def __init__(self, inner: httpx2.AsyncClient) -> None:
        self._inner = inner

    @property
    def headers(self) -> httpx2.Headers:
        """The default headers of the user's client."""
        return self._inner.headers

    @property
    def auth(self) -> httpx.Auth | None:
        """The authentication of the user's client."""
        return None if self._inner.auth is None else _Httpx2Auth(self._inner.auth)

    @property
    def is_closed(self) -> bool:
        """Whether the user has closed the client."""
        return self._inner.is_closed

    async def send(
        self, request: httpx.Request, *, stream: bool, follow_redirects: bool, **options: Any
    ) -> httpx.Response:
        """Return the response to a request, its body unread; raises the errors of httpx."""
        sent = _to_httpx2_request(request)
        try:
            response = await self._inner.send(
                sent, stream=stream, follow_redirects=follow_redirects, **options
            )
        except _HTTPX2_ERRORS as error:
            raise _to_httpx_error(error) from error
        if sent.headers.raw != request.headers.raw:  # hooks of the client have changed them
            request.headers = httpx.Headers(sent.headers.raw)
        converted = _to_httpx_response(response)
        converted.request = request
        return converted


class _Httpx2Auth(httpx.Auth):
    """An `httpx2.Auth` for requests of httpx."""

    def __init__(self, inner: httpx2.Auth) -> None:
        self._inner = inner
        self.requires_request_body = inner.requires_request_body
        self.requires_response_body = inner.requires_response_body

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        flow = self._inner.async_auth_flow(_to_httpx2_request(request))
        try:
            step = await anext(flow)
            while True:
                step_request = httpx.Request(
                    step.method,
                    str(step.url),
                    headers=step.headers.raw,
                    stream=_SharedStream(step.stream),
                )
                step_request.extensions = step.extensions
                response = yield step_request
                step = await flow.asend(_to_httpx2_response(response, step))
        except StopAsyncIteration:
            return
        except _HTTPX2_ERRORS as error:
            raise _to_httpx_error(error) from error
        finally:
            await flow.aclose()


# Each package checks with `isinstance` that a stream is one of its own.
class _SharedStream(httpx.AsyncByteStream, httpx2.AsyncByteStream):
    """A stream that both packages accept."""

    def __init__(self, pieces: Any) -> None:
        self._pieces = pieces

    # Not a generator: asyncio keeps a list of those, which costs each call some microseconds.
    def __aiter__(self) -> AsyncIterator[bytes]:
        self._iterator = aiter(self._pieces)
        return self

    async def __anext__(self) -> bytes:
        try:
            piece: bytes = await anext(self._iterator)
        except _HTTPX2_ERRORS as error:
            raise _to_httpx_error(error) from error
        return piece

    async def aclose(self) -> None:
        try:
            await self._pieces.aclose()
        except _HTTPX2_ERRORS as error:
            raise _to_httpx_error(error) from error


def _to_httpx2_request(request: httpx.Request) -> httpx2.Request:
    stream: httpx2.AsyncByteStream
    if isinstance(request.stream, httpx.ByteStream):
        stream = httpx2.ByteStream(request.read())
    else:
        stream = _SharedStream(request.stream)
    url, headers = _to_httpx2_url(request.url), request.headers.raw
    converted = httpx2.Request(request.method, url, headers=headers, stream=stream)
    converted.method = request.method  # httpx2 writes it in upper case
    converted.extensions = request.extensions
    return converted


def _to_httpx2_url(url: httpx.URL) -> httpx2.URL:
    text = str(url)
    is_cacheable = "?" not in text and "@" not in text and len(text) <= LONGEST_CACHED
    return _read_cached_url(text) if is_cacheable else httpx2.URL(text)


def _to_httpx_response(response: httpx2.Response) -> httpx.Response:
    status, headers = response.status_code, httpx.Headers(response.headers.raw)
    extensions: Any = response.extensions
    if not response.is_stream_consumed:
        unread = _SharedStream(response.stream)
        converted = httpx.Response(status, headers=headers, stream=unread, extensions=extensions)
        converted.is_closed = response.is_closed  # by a hook of the client
        return converted
    # A mock transport gave content, or a hook read it: httpx2 has decoded it.
    if "content-encoding" in headers:
        converted = httpx.Response(status, content=response.content, extensions=extensions)
        converted.headers = headers
        return converted
    stream = httpx.ByteStream(response.content)
    return httpx.Response(status, headers=headers, stream=stream, extensions=extensions)


def _to_httpx2_response(response: httpx.Response, request: httpx2.Request) -> httpx2.Response:
    # An authentication reads the body only if it needs it.

    async def content() -> AsyncIterator[bytes]:
        yield await response.aread()

    headers = [(k, v) for k, v in response.headers.raw if k.lower() != b"content-encoding"]
    body = _SharedStream(content())
    return httpx2.Response(response.status_code, headers=headers, stream=body, request=request)


def _to_httpx_error(error: Exception) -> Exception:
    kind = next(name for name in _ERRORS if isinstance(error, getattr(httpx2, name)))
    converted: Exception = getattr(httpx, kind)(str(error))
    return converted
