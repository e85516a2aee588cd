"""The HTTP clients of calls: a pool of connections, with network policy, TLS and proxies.

Test doubles such as respx replace the sending functions of httpx or httpcore, which the pool's own
connections do not pass. While a double is in place, requests are sent through these functions.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import sys
import time
from functools import cached_property, partial
from http.cookiejar import CookieJar
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx

from openapi_tools.transport.connections import Connection, WireExchange, connect
from openapi_tools.transport.network_policy import NetworkPolicy, policy_of
from openapi_tools.transport.proxies import connect_through, connect_to_proxy, refusal
from openapi_tools.transport.proxy_environment import Proxy, find_proxy
from openapi_tools.transport.tls_contexts import server_tls_context

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, AsyncIterator

    from openapi_tools.settings import Settings

# Extensions of a request: the `ssl.SSLContext` of a client, whether no connection was new, and the
# address of a proxy that has not made the connection yet.
CERTIFICATE, REUSED = "openapi_tools.certificate", "openapi_tools.reused"
PROXY = "openapi_tools.proxy"
# As httpx. Servers close idle connections after 5 s (Node) to 75 s (nginx), and a request on one
# that is about to close fails.
IDLE_SECONDS = 5.0

# A file descriptor each, also between bursts.
_MOST_IDLE_CONNECTIONS = 64
_PROXY_AUTH_REQUIRED = 407
_PORTS = {"http": 80, "https": 443}
_PLAIN_OPTIONS = {"stream": True, "follow_redirects": False}
_httpx_logger = logging.getLogger("httpx")
# The functions of httpx and httpcore that are known not to be replaced, by class; and the last
# attributes of httpx's client that were judged, by whether one of them is replaced.
_genuine_functions: dict[type, object] = {}
_judged_attributes: dict[bool, list[tuple[str, object]]] = {}


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
        self._open: dict[Connection, _Destination] = {}
        # Connections without a request and when they expire, the oldest first.
        self._idle: dict[Connection, float] = {}
        self._doubles = DoubledTransports(policy)

    @cached_property
    def _context(self) -> ssl.SSLContext:
        # The certificate authorities take 20 ms and 2 MB, and plain HTTP needs none.
        return server_tls_context(self._settings)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and return the response as soon as its head has arrived."""
        if is_doubled():
            certificate = request.extensions.get(CERTIFICATE)
            return await self._doubles.send(request, certificate or self._context)
        proxy = find_proxy(request.url) if self._settings.trust_env else None
        destination = _find_destination(request, proxy)
        if proxy is not None:
            # Open connections lead to other hosts, too.
            self._policy.check_name(destination.host, destination.port)
        is_forwarded = proxy is not None and not proxy.is_socks and destination.scheme == "http"
        if proxy is not None and is_forwarded:
            destination = _Destination("http", "", 0, None, proxy)
            exchange = _forwarded_exchange(request, proxy)
        else:
            exchange = WireExchange(request)
        connection = self._take_idle(destination)
        if connection is not None:
            request.extensions.setdefault(REUSED, True)
        else:
            request.extensions[REUSED] = False
            connection = await self._open_connection(destination, request)
        try:
            await _write(connection, exchange.encode_whole() or exchange.encode_pieces())
            first_piece = b""
            while not exchange.status:
                first_piece = exchange.feed(await connection.read())
        except BaseException as error:
            self._drop(connection)
            if not isinstance(error, GeneratorExit):
                await asyncio.sleep(0)  # as in `aclose`
            raise
        body = _ResponseBody(self, connection, exchange, first_piece)
        if proxy is not None and is_forwarded and exchange.status == _PROXY_AUTH_REQUIRED:
            await body.aclose()
            raise refusal(proxy, exchange.status)
        if exchange.is_complete:
            body.release()
        return _Response(
            exchange.status,
            headers=exchange.headers,
            stream=body,
            extensions={"http_version": exchange.version, "reason_phrase": exchange.reason},
        )

    async def aclose(self) -> None:
        """Close all connections."""
        for connection in list(self._open):
            self._drop(connection)
        await self._doubles.aclose()
        await asyncio.sleep(0)  # asyncio closes sockets in the next round of its loop

    def release(self, connection: Connection, *, keep: bool) -> None:
        """Keep a connection for the next request, or close it."""
        if not keep or connection not in self._open:
            self._drop(connection)
            return
        self._idle[connection] = time.monotonic() + IDLE_SECONDS
        if len(self._idle) > min(self._settings.concurrency, _MOST_IDLE_CONNECTIONS):
            self._drop(next(iter(self._idle)))

    def _drop(self, connection: Connection) -> None:
        self._open.pop(connection, None)
        self._idle.pop(connection, None)
        connection.abort()

    def _take_idle(self, destination: _Destination) -> Connection | None:
        # The one that was used last, as the others come closer to the server's own limit on
        # idle ones.
        now = time.monotonic()
        while self._idle and (oldest := next(iter(self._idle))) and self._idle[oldest] < now:
            self._drop(oldest)
        for connection in reversed(list(self._idle)):
            if self._open[connection] == destination:
                # What arrived since the last response would pass for the next one.
                if not connection.is_readable():
                    del self._idle[connection]
                    return connection
                self._drop(connection)
        return None

    async def _open_connection(
        self, destination: _Destination, request: httpx.Request
    ) -> Connection:
        scheme, host, port, certificate, proxy = destination
        # Before anything is opened: an unreadable file fails here.
        context = None
        if scheme == "https":
            context = certificate or self._context
        if proxy is None:
            connection = await connect(host, port, self._policy)
        else:
            request.extensions[PROXY] = proxy.address  # stays if the deadline comes first
            if host:
                connection = await connect_through(proxy, host, port, self._context)
            else:
                connection = await connect_to_proxy(proxy, self._context)
            del request.extensions[PROXY]
        if context is not None:
            await connection.start_tls(context, host)
        self._open[connection] = destination
        return connection


# httpx builds the next request of a redirect even if it follows none, and fails at a bad
# `Location`.
class _Response(httpx.Response):
    """A response whose redirect, if it is one, httpx does not read."""

    has_redirect_location = False  # redirects are judged and followed by `exchange`


class _ResponseBody(httpx.AsyncByteStream):
    """The body of a response, which releases its connection at its end."""

    def __init__(
        self,
        pool: ConnectionPool,
        connection: Connection,
        exchange: WireExchange,
        first_piece: bytes,
    ) -> None:
        self._pool = pool
        self._connection: Connection | None = connection
        self._exchange = exchange
        self._first_piece = first_piece

    def release(self) -> None:
        """Give the connection back; it is closed unless the response was read to its end."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.release(connection, keep=self._exchange.can_reuse_connection)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            first_piece, self._first_piece = self._first_piece, b""
            if first_piece:
                yield first_piece
            while self._connection is not None:
                piece = self._exchange.feed(await self._connection.read())
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
        """Close the connection unless the response was read to its end."""
        if self._connection is not None:
            self.release()
            await asyncio.sleep(0)  # as in `ConnectionPool.aclose`


# httpx has no switch for its jar.
class _NoCookies(CookieJar):
    """A jar that stays empty: cookies of one response are not sent by the next call."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        """Ignore the cookies of a response."""

    def add_cookie_header(self, request: Any) -> None:
        """Add no cookie."""


class _PoolClient(httpx.AsyncClient):
    """A client that adds nothing to a request, so most requests go straight to its pool."""

    def __init__(self, pool: ConnectionPool) -> None:
        super().__init__(
            transport=pool,
            trust_env=False,  # proxies are the transport's; .netrc is not wanted
            timeout=None,  # each call has one deadline
            cookies=_NoCookies(),
        )
        self._pool = pool

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request as httpx does."""
        # httpx's own steps (authentication, hooks, redirects, cookies) change nothing here and take
        # a third of a request's time. They run only where they would be noticed: if httpx's log is
        # on, or if a test or a tracer has replaced a method.
        is_plain = options == _PLAIN_OPTIONS and not request.url.userinfo and not self.is_closed
        if not is_plain or _httpx_logger.isEnabledFor(logging.INFO) or _is_client_changed():
            return await super().send(request, **options)
        try:
            response = await self._pool.handle_async_request(request)
        except httpx.RequestError as error:
            error.request = request
            raise
        response.request = request
        return response


def make_client(settings: Settings, policy: NetworkPolicy | None = None) -> httpx.AsyncClient:
    """Return a client that adds nothing to a request."""
    return _PoolClient(ConnectionPool(settings, policy or policy_of(settings)))


async def _write(connection: Connection, message: bytes | AsyncGenerator[bytes]) -> None:
    try:
        if isinstance(message, bytes):
            await connection.write(message)
            return
        async with contextlib.aclosing(message) as pieces:
            async for piece in pieces:
                await connection.write(piece)
    except httpx.WriteError:
        return  # the server may have responded before it had everything


def _find_destination(request: httpx.Request, proxy: Proxy | None) -> _Destination:
    url = request.url
    if url.scheme not in _PORTS:
        raise httpx.UnsupportedProtocol(f"{url.scheme!r} is not http or https")
    host, port = url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]
    return _Destination(url.scheme, host, port, request.extensions.get(CERTIFICATE), proxy)


def _forwarded_exchange(request: httpx.Request, proxy: Proxy) -> WireExchange:
    # Spec: RFC 9112, section 3.2.2. One connection takes requests for all origins.
    target = b"%b://%b%b" % (request.url.raw_scheme, request.url.netloc, request.url.raw_path)
    return WireExchange(request, target=target, proxy_headers=proxy.headers)


def is_doubled() -> bool:
    """Whether a test double has replaced a sending function of httpx or httpcore."""
    # httpx imports httpcore when it needs it; before that, nothing of it can be replaced.
    httpcore = sys.modules.get("httpcore")
    return _is_replaced(httpx.AsyncHTTPTransport) or (
        httpcore is not None and _is_replaced(httpcore.AsyncConnectionPool)
    )


def _is_replaced(owner: Any) -> bool:
    function = owner.handle_async_request
    if function is _genuine_functions.get(owner):
        return False
    while not inspect.isfunction(function) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__  # of a tracer; calls have spans of their own
    if not _is_written_with(owner, function):
        return True
    _genuine_functions[owner] = function
    return False


def _is_written_with(owner: Any, function: Any) -> bool:
    # A double may be in place when this module is imported, so the function at that time proves
    # nothing. Wrappers copy a function's names, but not the file in which it is written.
    sibling = inspect.unwrap(owner.aclose)
    are_functions = inspect.isfunction(function) and inspect.isfunction(sibling)  # not mocks
    return are_functions and inspect.getfile(function) == inspect.getfile(sibling)


def _is_client_changed() -> bool:
    attributes = [*vars(httpx.AsyncClient).items()]
    for is_changed, known in _judged_attributes.items():
        if attributes == known:
            return is_changed
    # `stream` is made by contextlib, and nothing is sent through it.
    values = [value for name, value in attributes if name != "stream"]
    methods = [each for each in values if callable(each) or hasattr(each, "__wrapped__")]
    is_changed = not all(_is_written_with(httpx.AsyncClient, each) for each in methods)
    _judged_attributes[is_changed] = attributes
    return is_changed


class DoubledTransports:
    """The transports of httpx through which a pool gives its requests to a test double."""

    def __init__(self, policy: NetworkPolicy) -> None:
        self._policy = policy
        self._transports: dict[ssl.SSLContext, httpx.AsyncHTTPTransport] = {}

    async def send(self, request: httpx.Request, context: ssl.SSLContext) -> httpx.Response:
        """Send a request by httpx; a double may let it pass to a server."""
        host = request.url.raw_host.decode("ascii")
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        request.extensions["trace"] = partial(self._check_address, host, port)
        if context not in self._transports:
            # Only new connections are checked, so that none is kept for another host's policy.
            limits = httpx.Limits(max_keepalive_connections=0)
            self._transports[context] = httpx.AsyncHTTPTransport(
                verify=context, trust_env=False, limits=limits
            )
        return await self._transports[context].handle_async_request(request)

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            await transport.aclose()

    async def _check_address(self, host: str, port: int, event: str, info: dict[str, Any]) -> None:
        # httpcore resolves the name itself, so the address is known only after the connection is
        # made. Nothing of the request has been sent yet.
        if event == "connection.connect_tcp.complete":
            stream = info["return_value"]
            try:
                self._policy.check(host, port, [stream.get_extra_info("server_addr")[0]])
            except BaseException:
                await stream.aclose()
                raise
