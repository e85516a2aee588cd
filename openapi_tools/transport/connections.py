"""The pool of connections: httpcore's, with connections that carry one request at a time.

httpcore guards each connection with locks, which HTTP/2 needs and which let other tasks run between
the choice of a connection and its use: of many calls under way most then find theirs taken, and
choose again. A connection of HTTP/1.1 changes its state between two awaits and needs no lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import httpcore

if TYPE_CHECKING:
    import ssl

    import httpx

    from openapi_tools.transport.sockets import Backend, Stream

IDLE_SECONDS = 5.0


class Pool(httpcore.AsyncConnectionPool):
    """The connections to all servers of one client.

    Args:
        context: For https.
        backend: Opens them.
        idle: How many are kept that carry nothing.
        proxy: Through which all of them lead, if any.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        backend: Backend,
        *,
        idle: int,
        proxy: httpcore.Proxy | None = None,
    ) -> None:
        super().__init__(
            ssl_context=context,
            proxy=proxy,
            max_connections=None,
            max_keepalive_connections=idle,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=backend,
        )
        self._context = context
        self._backend = backend
        self._is_direct = proxy is None

    async def answer(self, request: httpx.Request) -> httpx.Response | None:  # noqa: ARG002 -- a faster pool's to use
        """Return the answer where there is a shorter way to it than by httpcore: none here."""
        return None

    def create_connection(self, origin: httpcore.Origin) -> httpcore.AsyncConnectionInterface:
        """Return a connection that its first request will open."""
        if self._is_direct:
            return _Connection(origin, self._context, self._backend)
        return super().create_connection(origin)


class _Connection(httpcore.AsyncConnectionInterface):
    """One connection to one origin, for one request after another."""

    def __init__(self, origin: httpcore.Origin, context: ssl.SSLContext, backend: Backend) -> None:
        self._origin = origin
        self._context = context
        self._backend = backend
        self._http: httpcore.AsyncHTTP11Connection | None = None
        self._has_failed = False

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        if self._http is None:
            try:
                stream = await opened(
                    self._backend, self._context, self._origin, request.extensions
                )
            except BaseException:
                self._has_failed = True
                raise
            self._http = httpcore.AsyncHTTP11Connection(
                self._origin, stream, keepalive_expiry=IDLE_SECONDS
            )
            self._http._state_lock = _Unlocked()  # type: ignore[assignment]  # noqa: SLF001 -- as said above
        return await self._http.handle_async_request(request)

    async def aclose(self) -> None:
        if self._http is not None:
            await self._http.aclose()

    def info(self) -> str:
        return "connecting" if self._http is None else self._http.info()

    def can_handle_request(self, origin: httpcore.Origin) -> bool:
        return origin == self._origin

    def is_available(self) -> bool:
        return self._http is not None and self._http.is_available()

    def has_expired(self) -> bool:
        if self._http is None:
            return self._has_failed
        return self._http.has_expired() or (self._http.is_idle() and self._has_surplus())

    def _has_surplus(self) -> bool:
        """Whether bytes came along with the last answer that are none of it."""
        assert self._http is not None  # noqa: S101 -- asked of open connections only
        return bool(self._http._h11_state.trailing_data[0])  # noqa: SLF001 -- nobody else tells

    def is_idle(self) -> bool:
        return self._has_failed if self._http is None else self._http.is_idle()

    def is_closed(self) -> bool:
        return self._has_failed if self._http is None else self._http.is_closed()


async def opened(
    backend: Backend, context: ssl.SSLContext, origin: httpcore.Origin, extensions: Any
) -> Stream:
    """Return a new connection, with TLS where the origin says so.

    Args:
        backend: Opens it.
        context: For https.
        origin: Where it leads.
        extensions: Of the request: `timeout` and `sni_hostname`.

    Raises:
        CallError: `denied`.
        TlsError: As `Stream.start_tls`.
        ConnectError: Of httpcore.
        ConnectTimeout: Of httpcore.
    """
    host = origin.host.decode("ascii")
    seconds = extensions.get("timeout", {}).get("connect")
    stream = await backend.connect_tcp(host, origin.port, seconds)
    if origin.scheme != b"https":
        return stream
    context.set_alpn_protocols(["http/1.1"])
    name = extensions.get("sni_hostname") or host
    return await stream.start_tls(context, name, seconds)


class _Unlocked:
    """A lock for what nobody else holds."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let nobody in, as nobody waits."""
