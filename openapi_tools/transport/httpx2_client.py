"""Sending through an `httpx2.AsyncClient`: httpx2 has classes and exceptions of its own."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import httpx2

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

_ERRORS = (
    *("ConnectTimeout", "TimeoutException", "DecodingError", "LocalProtocolError"),
    *("UnsupportedProtocol", "ConnectError", "ProxyError", "RemoteProtocolError"),
    *("NetworkError", "HTTPError", "InvalidURL", "StreamError"),
)
"""The kinds that a call tells apart, the narrowest first; both packages use these names."""


class Httpx2Client:
    """The members of an `httpx.AsyncClient` that calls use, over a user's client of httpx2."""

    def __init__(self, inner: httpx2.AsyncClient) -> None:
        self._inner = inner

    @property
    def headers(self) -> httpx.Headers:
        """The default headers of the user's client."""
        return httpx.Headers(self._inner.headers.raw)

    @property
    def auth(self) -> httpx.Auth | None:
        """The authentication of the user's client."""
        return None if self._inner.auth is None else _Auth(self._inner.auth)

    @property
    def is_closed(self) -> bool:
        """Whether the user has closed the client."""
        return self._inner.is_closed

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Return the answer to a request, its body unread; raises the errors of httpx."""
        with _errors_of_httpx():
            response = _received(await self._inner.send(_sent(request), **options))
        response.request = request
        return response


class _Auth(httpx.Auth):
    """An `httpx2.Auth` for requests of httpx."""

    def __init__(self, inner: httpx2.Auth) -> None:
        self._inner = inner
        self.requires_request_body = inner.requires_request_body
        self.requires_response_body = inner.requires_response_body

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        flow = self._inner.async_auth_flow(_sent(request))
        with _errors_of_httpx():
            try:
                step = await anext(flow)
                while True:
                    body, extensions = _Body(step.stream), step.extensions
                    asked = httpx.Request(
                        step.method, str(step.url), headers=step.headers.raw, stream=body
                    )
                    asked.extensions = extensions
                    step = await flow.asend(_shown((yield asked), step))
            except StopAsyncIteration:
                return
            finally:
                await flow.aclose()


class _Body(httpx.AsyncByteStream, httpx2.AsyncByteStream):
    """A body as both packages take it."""

    def __init__(self, pieces: Any) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of_httpx():
            async for piece in self._pieces:
                yield piece

    async def aclose(self) -> None:
        with _errors_of_httpx():
            await self._pieces.aclose()


def _sent(request: httpx.Request) -> httpx2.Request:
    url, headers, body = str(request.url), request.headers.raw, _Body(request.stream)
    made = httpx2.Request(request.method, url, headers=headers, stream=body)
    made.extensions = request.extensions
    return made


def _received(response: httpx2.Response) -> httpx.Response:
    status, headers = response.status_code, httpx.Headers(response.headers.raw)
    known: Any = response.extensions
    if not response.is_stream_consumed:
        body = _Body(response.stream)
        return httpx.Response(status, headers=headers, stream=body, extensions=known)
    # A mock transport gave content, or a hook read it: httpx2 has decoded it.
    answer = httpx.Response(status, content=response.content, extensions=known)
    answer.headers = headers
    return answer


def _shown(response: httpx.Response, request: httpx2.Request) -> httpx2.Response:
    """Return an answer for an authentication, which reads the body only if it needs it."""

    async def content() -> AsyncIterator[bytes]:
        yield await response.aread()

    headers = [(k, v) for k, v in response.headers.raw if k.lower() != b"content-encoding"]
    body = _Body(content())
    return httpx2.Response(response.status_code, headers=headers, stream=body, request=request)


@contextmanager
def _errors_of_httpx() -> Iterator[None]:
    try:
        yield
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        kind = next(name for name in _ERRORS if isinstance(error, getattr(httpx2, name)))
        raise getattr(httpx, kind)(str(error)) from error
