"""The HTTP clients of calls: a pool of connections, with network policy, TLS and proxies."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import ssl
import time
from functools import partial
from http.cookiejar import CookieJar
from types import FunctionType
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from openapi_tools.errors import CallError, missing_extra
from openapi_tools.http_rules import read_url
from openapi_tools.transport.http_messages import HAS_HTTPTOOLS, WireExchange
from openapi_tools.transport.network_policy import NetworkPolicy, policy_of
from openapi_tools.transport.sockets import Stream, connect, connect_error, trusted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from openapi_tools.settings import Settings

# Extensions of a request: the `ssl.SSLContext` of a client, and whether no connection was new.
CERTIFICATE, REUSED = "openapi_tools.certificate", "openapi_tools.reused"
IDLE_SECONDS = 5.0

_IDLE_CONNECTIONS = 64
_PORTS = {"http": 80, "https": 443}

_Place = tuple[str, str, int, ssl.SSLContext | None]


class ConnectionPool(httpx.AsyncBaseTransport):
    """The connections of one event loop to all servers; client certificates have their own."""

    def __init__(self, settings: Settings, policy: NetworkPolicy) -> None:
        self._settings = settings
        self._policy = policy
        self._context = trusted(settings)
        self._is_fast = uses_httptools(settings)
        self._open: dict[Stream, _Place] = {}
        # Connections without a request and when they expire, the oldest first.
        self._idle: dict[Stream, float] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and return the answer as soon as its head has arrived."""
        proxy = proxy_of(request.url) if self._settings.trust_env else None
        if proxy is not None or _is_doubled():
            return await self._sent_by_httpx(request, proxy)
        place = _place_of(request)
        exchange = WireExchange(request, fast=self._is_fast)
        stream = self._kept(place)
        if stream is None:
            request.extensions[REUSED] = False
            stream = await self._opened(place)
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

    def _kept(self, place: _Place) -> Stream | None:
        """Return the connection to a place that was used last, if one is kept and usable."""
        now = time.monotonic()
        while self._idle and (oldest := next(iter(self._idle))) and self._idle[oldest] < now:
            self._drop(oldest)
        for stream in reversed(list(self._idle)):
            if self._open[stream] == place:
                # What arrived since the last answer would pass for the next one.
                if not stream.is_readable():
                    del self._idle[stream]
                    return stream
                self._drop(stream)
        return None

    async def _opened(self, place: _Place) -> Stream:
        scheme, host, port, context = place
        stream = await connect(host, port, self._policy)
        if scheme == "https":
            await stream.start_tls(context or self._context, host)
        self._open[stream] = place
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

    async def _sent_by_httpx(
        self, request: httpx.Request, proxy: httpx.Proxy | None
    ) -> httpx.Response:
        """Send a request through a proxy or a test double, over a connection for it alone."""
        # httpx does not tell whether bytes follow an answer, so no connection is used twice.
        request.extensions[REUSED] = False
        host, port = _place_of(request)[1:3]
        if proxy is None:
            request.extensions["trace"] = partial(_judge, self._policy, host, port)
        else:
            self._policy.check_name(host, port)
        transport = httpx.AsyncHTTPTransport(
            verify=request.extensions.get(CERTIFICATE) or self._context,
            trust_env=False,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            proxy=proxy,
        )
        try:
            return await transport.handle_async_request(request)
        except httpx.ConnectError as error:
            raise _with_reason(error) from error


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


async def _judge(
    policy: NetworkPolicy, host: str, port: int, event: str, info: dict[str, Any]
) -> None:
    """Judge the address that httpx connected to, as httpcore's extension `trace` tells it."""
    if event == "connection.connect_tcp.complete":
        stream = info["return_value"]
        try:
            policy.check(host, port, [stream.get_extra_info("server_addr")[0]])
        except BaseException:
            await stream.aclose()
            raise


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


def proxy_of(url: httpx.URL) -> httpx.Proxy | None:
    """Return the environment's proxy for a URL, if any; an unusable one is a `CallError`."""
    found = getproxies()
    address = found.get(url.scheme) or found.get("all")
    host = f"[{url.host}]" if ":" in url.host else url.host
    if not address or proxy_bypass(host):
        return None
    try:
        proxy = httpx.Proxy(read_url(address if "://" in address else f"http://{address}"))
    except ValueError:
        reason = f"the proxy that the environment names for {url.scheme} is not a usable address."
        raise CallError("connection", reason, retryable=False) from None
    if proxy.url.scheme.startswith("socks") and importlib.util.find_spec("socksio") is None:
        reason = "the environment names a SOCKS proxy, which takes the package 'socksio'."
        raise CallError("connection", reason, retryable=False)
    return proxy


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


def _place_of(request: httpx.Request) -> _Place:
    url = request.url
    if url.scheme not in _PORTS:
        raise httpx.UnsupportedProtocol(f"{url.scheme!r} is not http or https")
    host, port = url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]
    return url.scheme, host, port, request.extensions.get(CERTIFICATE)


def _is_doubled() -> bool:
    """Whether a test double has replaced the sending methods of httpx or httpcore."""
    # Tracers wrap them in objects of other types; calls have spans of their own.
    sending: dict[str, Any] = {
        "httpx.": httpx.AsyncHTTPTransport.handle_async_request,
        "httpcore.": httpcore.AsyncConnectionPool.handle_async_request,
    }
    # Wrappers copy `__module__`, but not their globals.
    return any(
        type(method) is FunctionType and not method.__globals__["__name__"].startswith(package)
        for package, method in sending.items()
    )


def _with_reason(error: httpx.ConnectError) -> httpx.TransportError:
    """Return an error of httpx with the system's own reason, if it holds one."""
    cause: BaseException | None = error
    found: httpx.TransportError = error
    while cause is not None:
        if isinstance(cause, OSError) and (cause.errno or isinstance(cause, ssl.SSLError)):
            found = connect_error(cause)
        cause = cause.__cause__ or cause.__context__
    return found
