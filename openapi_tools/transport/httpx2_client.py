"""Sending through an `httpx2.AsyncClient`: httpx2 has classes and exceptions of its own."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import httpx2

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

# The errors that a call distinguishes, the narrowest first; both packages use these names.
_ERRORS = (
    *("ConnectTimeout", "TimeoutException", "DecodingError", "LocalProtocolError"),
    *("UnsupportedProtocol", "ConnectError", "ProxyError", "RemoteProtocolError"),
    *("NetworkError", "HTTPError", "InvalidURL", "StreamError"),
)


class Httpx2Client:
    """A user's client of httpx2 with those attributes of an `httpx.AsyncClient` that calls use."""

    def __init__(self, inner: httpx2.AsyncClient) -> None:
        self._inner = inner

    @property
    def headers(self) -> httpx.Headers:
        """The default headers of the user's client."""
        return httpx.Headers(self._inner.headers.raw)

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
        with _raise_httpx_errors():
            response = _to_httpx_response(
                await self._inner.send(
                    _to_httpx2_request(request),
                    stream=stream,
                    follow_redirects=follow_redirects,
                    **options,
                )
            )
        response.request = request
        return response


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
        with _raise_httpx_errors():
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
            finally:
                await flow.aclose()


# Each package checks with `isinstance` that a stream is one of its own.
class _SharedStream(httpx.AsyncByteStream, httpx2.AsyncByteStream):
    """A stream that both packages accept."""

    def __init__(self, pieces: Any) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _raise_httpx_errors():
            async for piece in self._pieces:
                yield piece

    async def aclose(self) -> None:
        with _raise_httpx_errors():
            await self._pieces.aclose()


def _to_httpx2_request(request: httpx.Request) -> httpx2.Request:
    url, headers, body = str(request.url), request.headers.raw, _SharedStream(request.stream)
    converted = httpx2.Request(request.method, url, headers=headers, stream=body)
    converted.extensions = request.extensions
    return converted


def _to_httpx_response(response: httpx2.Response) -> httpx.Response:
    status, headers = response.status_code, httpx.Headers(response.headers.raw)
    extensions: Any = response.extensions
    if not response.is_stream_consumed:
        body = _SharedStream(response.stream)
        return httpx.Response(status, headers=headers, stream=body, extensions=extensions)
    # A mock transport gave content, or a hook read it: httpx2 has decoded it.
    converted = httpx.Response(status, content=response.content, extensions=extensions)
    converted.headers = headers
    return converted


def _to_httpx2_response(response: httpx.Response, request: httpx2.Request) -> httpx2.Response:
    # An authentication reads the body only if it needs it.

    async def content() -> AsyncIterator[bytes]:
        yield await response.aread()

    headers = [(k, v) for k, v in response.headers.raw if k.lower() != b"content-encoding"]
    body = _SharedStream(content())
    return httpx2.Response(response.status_code, headers=headers, stream=body, request=request)


@contextmanager
def _raise_httpx_errors() -> Iterator[None]:
    try:
        yield
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        kind = next(name for name in _ERRORS if isinstance(error, getattr(httpx2, name)))
        raise getattr(httpx, kind)(str(error)) from error
