"""The HTTP clients of calls: a pool of connections, with network policy, TLS and proxies."""

from __future__ import annotations

import asyncio
import contextlib
import time
from http import HTTPStatus
from http.cookiejar import CookieJar
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx

from openapi_tools.errors import missing_extra
from openapi_tools.transport.doubles import is_doubled, send_to_double
from openapi_tools.transport.http_messages import HAS_HTTPTOOLS, WireExchange
from openapi_tools.transport.network_policy import NetworkPolicy, policy_of
from openapi_tools.transport.proxy_connections import connect_through, connect_to_proxy, refusal
from openapi_tools.transport.proxy_environment import Proxy, find_proxy
from openapi_tools.transport.sockets import Stream, connect, trusted

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    from openapi_tools.settings import Settings

# Extensions of a request: the `ssl.SSLContext` of a client, whether no connection was new, and the
# address of a proxy that has not made the connection yet.
CERTIFICATE, REUSED = "openapi_tools.certificate", "openapi_tools.reused"
PROXY = "openapi_tools.proxy"
IDLE_SECONDS = 5.0

_IDLE_CONNECTIONS = 64
_PORTS = {"http": 80, "https": 443}


class _Destination(NamedTuple):
    """Where a connection leads: to a server, maybe through a proxy; without a host to a proxy."""

    scheme: str
    host: str
    port: int
    certificate: ssl.SSLContext | None
    proxy: Proxy | None = None


class ConnectionPool(httpx.AsyncBaseTransport):
    """The connections of one event loop to all servers; client certificates have their own."""

    def __init__(self, settings: Settings, policy: NetworkPolicy) -> None:
        self._settings = settings
        self._policy = policy
        self._context = trusted(settings)
        self._is_fast = uses_httptools(settings)
        self._open: dict[Stream, _Destination] = {}
        # Connections without a request and when they expire, the oldest first.
        self._idle: dict[Stream, float] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and return the answer as soon as its head has arrived."""
        if is_doubled():
            certificate = request.extensions.get(CERTIFICATE)
            return await send_to_double(request, self._policy, certificate or self._context)
        proxy = find_proxy(request.url) if self._settings.trust_env else None
        if proxy is None:
            exchange = WireExchange(request, fast=self._is_fast)
            return await self._send(request, exchange, _destination_of(request))
        return await self._send_through(proxy, request)

    async def _send_through(self, proxy: Proxy, request: httpx.Request) -> httpx.Response:
        destination = _destination_of(request, proxy)
        # Kept connections lead to other hosts, too.
        self._policy.check_name(destination.host, destination.port)
        if destination.scheme == "https" or proxy.is_socks:
            return await self._send(request, WireExchange(request, fast=self._is_fast), destination)
        # Spec: RFC 9112, section 3.2.2. One connection takes requests for all origins.
        target = b"%b://%b%b" % (request.url.raw_scheme, request.url.netloc, request.url.raw_path)
        exchange = WireExchange(
            request, fast=self._is_fast, target=target, proxy_headers=proxy.headers
        )
        response = await self._send(request, exchange, _Destination("http", "", 0, None, proxy))
        if response.status_code == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            await response.aclose()
            raise refusal(proxy, response.status_code)
        return response

    async def _send(
        self, request: httpx.Request, exchange: WireExchange, destination: _Destination
    ) -> httpx.Response:
        stream = self._kept(destination)
        if stream is None:
            request.extensions[REUSED] = False
            stream = await self._open_stream(destination, request)
        else:
            request.extensions.setdefault(REUSED, True)
        return await self._exchanged(stream, exchange)

    async def aclose(self) -> None:
        """Close all connections."""
        for stream in list(self._open):
            self._drop(stream)
        await asyncio.sleep(0)  # asyncio returns sockets in the next turn of its loop

    def release(self, stream: Stream, *, keep: bool) -> None:
        """Keep a connection for the next request, or close it."""
        if not keep or stream not in self._open:
            self._drop(stream)
            return
        self._idle[stream] = time.monotonic() + IDLE_SECONDS
        if len(self._idle) > min(self._settings.concurrency, _IDLE_CONNECTIONS):
            self._drop(next(iter(self._idle)))

    def _drop(self, stream: Stream) -> None:
        self._open.pop(stream, None)
        self._idle.pop(stream, None)
        stream.abort()

    def _kept(self, destination: _Destination) -> Stream | None:
        """Return the connection to a destination that was used last, if one is kept and usable."""
        now = time.monotonic()
        while self._idle and (oldest := next(iter(self._idle))) and self._idle[oldest] < now:
            self._drop(oldest)
        for stream in reversed(list(self._idle)):
            if self._open[stream] == destination:
                # What arrived since the last answer would pass for the next one.
                if not stream.is_readable():
                    del self._idle[stream]
                    return stream
                self._drop(stream)
        return None

    async def _open_stream(self, destination: _Destination, request: httpx.Request) -> Stream:
        scheme, host, port, context, proxy = destination
        if proxy is None:
            stream = await connect(host, port, self._policy)
        else:
            request.extensions[PROXY] = proxy.address  # stays if the deadline comes first
            if host:
                stream = await connect_through(proxy, host, port, self._context)
            else:
                stream = await connect_to_proxy(proxy, self._context)
            del request.extensions[PROXY]
        if scheme == "https":
            await stream.start_tls(context or self._context, host)
        self._open[stream] = destination
        return stream

    async def _exchanged(self, stream: Stream, exchange: WireExchange) -> httpx.Response:
        try:
            await _write(stream, exchange)
            first = b""
            while not exchange.status:
                first = exchange.feed(await stream.read())
        except BaseException as error:
            self._drop(stream)
            if not isinstance(error, GeneratorExit):
                await asyncio.sleep(0)  # as in `aclose`
            raise
        body = _Body(self, stream, exchange, first)
        if exchange.is_complete:
            body.release()
        extensions = {"http_version": exchange.version, "reason_phrase": exchange.reason}
        return _Response(
            exchange.status, headers=exchange.headers, stream=body, extensions=extensions
        )


class _Response(httpx.Response):
    """An answer whose redirect, if it is one, httpx does not read."""

    has_redirect_location = False  # redirects are judged and followed by `exchange`


class _Body(httpx.AsyncByteStream):
    """The body of an answer, which releases its connection at its end."""

    def __init__(
        self, pool: ConnectionPool, stream: Stream, exchange: WireExchange, first: bytes
    ) -> None:
        self._pool = pool
        self._stream: Stream | None = stream
        self._exchange = exchange
        self._first = first

    def release(self) -> None:
        """Give the connection back; it is closed unless the answer was read to its end."""
        stream, self._stream = self._stream, None
        if stream is not None:
            self._pool.release(stream, keep=self._exchange.can_be_followed)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            first, self._first = self._first, b""
            if first:
                yield first
            while self._stream is not None:
                piece = self._exchange.feed(await self._stream.read())
                if self._exchange.is_complete:
                    self.release()
                if piece:
                    yield piece
        except httpx.TransportError:
            await self.aclose()
            raise
        finally:
            self.release()

    async def aclose(self) -> None:
        """Close the connection unless the answer was read to its end."""
        if self._stream is not None:
            self.release()
            await asyncio.sleep(0)  # as in `ConnectionPool.aclose`


class _NoCookies(CookieJar):
    """A jar that stays empty: cookies of one answer are not sent by the next call."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        """Ignore the cookies of an answer."""

    def add_cookie_header(self, request: Any) -> None:
        """Add no cookie."""


def make_client(settings: Settings, policy: NetworkPolicy | None = None) -> httpx.AsyncClient:
    """Return a client that adds nothing to a request, or raise `CallError` as `trusted` does."""
    return httpx.AsyncClient(
        transport=ConnectionPool(settings, policy or policy_of(settings)),
        trust_env=False,  # proxies are the transport's; .netrc is not wanted
        timeout=None,  # noqa: S113 -- a call has a deadline for all of it
        cookies=_NoCookies(),
    )


def uses_httptools(settings: Settings) -> bool:
    """Return whether httptools reads the heads of answers; it must where `fast` is asked for."""
    if settings.transport == "fast" and not HAS_HTTPTOOLS:
        raise missing_extra("httptools", "fast")
    return settings.transport != "httpx" and HAS_HTTPTOOLS


async def _write(stream: Stream, exchange: WireExchange) -> None:
    """Write a request, or the part of it that a server takes before it answers."""
    try:
        whole = exchange.at_once()
        if whole is not None:
            await stream.write(whole)
            return
        async with contextlib.aclosing(exchange.pieces()) as pieces:
            async for piece in pieces:
                await stream.write(piece)
    except httpx.WriteError:
        return  # the server may have answered before it had everything


def _destination_of(request: httpx.Request, proxy: Proxy | None = None) -> _Destination:
    url = request.url
    if url.scheme not in _PORTS:
        raise httpx.UnsupportedProtocol(f"{url.scheme!r} is not http or https")
    host, port = url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]
    return _Destination(url.scheme, host, port, request.extensions.get(CERTIFICATE), proxy)
