"""The pool of connections whose answers httptools reads."""

from __future__ import annotations

import asyncio
import time
from types import FunctionType
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

from openapi_tools.transport.connections import IDLE_SECONDS, Pool, opened
from openapi_tools.transport.fast.fast_answers import read_answer
from openapi_tools.transport.fast.fast_requests import outgoing

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    from openapi_tools.transport.fast.fast_answers import Careful, Plain
    from openapi_tools.transport.fast.fast_requests import Outgoing, Place
    from openapi_tools.transport.sockets import Backend, Stream

_PIECE = 64 * 1024
_THEIRS = "httpcore"
_FAULTS = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError)
_PORTS = {b"http": 80, b"https": 443}


class FastPool(Pool):
    """The direct connections to all servers of one client.

    What is unusual about a request is left to `Pool`, whose connections are httpcore's.

    Args:
        context: For https.
        backend: Opens them.
        idle: How many are kept that carry nothing.
    """

    def __init__(self, context: ssl.SSLContext, backend: Backend, *, idle: int) -> None:
        super().__init__(context, backend, idle=idle)
        self._most_idle = idle
        self._open: set[_Connection] = set()
        # Those that carry nothing: the one that has waited longest is the first, here and there.
        self._idle: dict[_Connection, float] = {}
        self._at: dict[Place, dict[_Connection, None]] = {}

    async def answer(self, request: httpx.Request) -> httpx.Response | None:
        """Send a request, and return the answer as soon as its head is there.

        Returns:
            None when it was not sent and `handle_async_request` has to take it.

        Raises:
            CallError: `denied`.
            TransportError: Of httpx, of any kind.
        """
        sent = None if _is_watched(request) else outgoing(request)
        if sent is None:
            return None
        try:
            while True:
                connection = self._kept(sent.place) or await self._opened(sent, request)
                try:
                    return await connection.exchange(sent, request)
                except httpcore.ConnectionNotAvailable:  # nothing was sent
                    continue
        except _FAULTS as error:
            raise _as_httpx(error) from error

    async def aclose(self) -> None:
        """Close all connections."""
        await super().aclose()
        for connection in list(self._open):
            self.drop(connection)
        await asyncio.sleep(0)  # asyncio gives sockets back in the next turn of its loop

    def keep(self, connection: _Connection) -> None:
        """Keep a connection for the next request, unless all were closed meanwhile."""
        if connection not in self._open:
            return
        self._idle[connection] = time.monotonic() + IDLE_SECONDS
        self._at.setdefault(connection.place, {})[connection] = None
        if len(self._idle) > self._most_idle:
            self.drop(next(iter(self._idle)))

    def drop(self, connection: _Connection) -> None:
        """Close a connection at once."""
        self._open.discard(connection)
        if connection in self._idle:
            self._take_out(connection)
        connection.stream.abort()

    def _kept(self, place: Place) -> _Connection | None:
        """Return the connection to a place that was used last, if one is kept."""
        now = time.monotonic()
        while self._idle:
            oldest = next(iter(self._idle))
            if self._idle[oldest] >= now:
                break
            self.drop(oldest)
        if place not in self._at:
            return None
        connection = next(reversed(self._at[place]))
        self._take_out(connection)
        return connection

    def _take_out(self, connection: _Connection) -> None:
        """Keep a connection no longer."""
        del self._idle[connection]
        here = self._at[connection.place]
        del here[connection]
        if not here:
            del self._at[connection.place]

    async def _opened(self, sent: Outgoing, request: httpx.Request) -> _Connection:
        scheme, host, port = sent.place
        origin = httpcore.Origin(scheme, host, port or _PORTS[scheme])
        stream = await opened(self._backend, self._context, origin, request.extensions)
        connection = _Connection(self, sent.place, stream)
        self._open.add(connection)
        return connection


class _Connection:
    """One connection, for one request after another.

    Attributes:
        place: Where it leads.
        stream: What it is made of.
    """

    __slots__ = ("_pool", "place", "stream")

    def __init__(self, pool: FastPool, place: Place, stream: Stream) -> None:
        self._pool = pool
        self.place = place
        self.stream = stream

    async def exchange(self, sent: Outgoing, request: httpx.Request) -> httpx.Response:
        """Send a request and return the answer.

        Raises:
            ConnectionNotAvailable: Of httpcore: the connection had ended, and nothing was sent.
            Exception: Of httpcore, of any other kind.
        """
        timeouts = request.extensions.get("timeout", {})
        try:
            is_sent = await self._send(sent, timeouts.get("write"))
            answer, first = await self._receive(sent.method, timeouts.get("read"))
        except BaseException as error:
            self._pool.drop(self)
            if not isinstance(error, GeneratorExit):
                await asyncio.sleep(0)  # as `Stream.aclose`; the end of a loop comes first, too
            raise
        body = _Body(self, answer, first, timeouts.get("read"))
        body.may_follow = is_sent and not sent.is_last
        if answer.is_complete:
            body.end()
        extensions = {
            "http_version": answer.version,
            "reason_phrase": answer.reason,
            "network_stream": self.stream,
        }
        return httpx.Response(
            answer.status, headers=answer.headers, stream=body, extensions=extensions
        )

    def release(self, *, to_next: bool) -> None:
        """Give the connection back, or close it."""
        if to_next:
            self._pool.keep(self)
        else:
            self._pool.drop(self)

    async def _send(self, sent: Outgoing, seconds: float | None) -> bool:
        """Write a request; tells whether all of it left."""
        try:
            whole = sent.at_once()
            await self.stream.write(whole or sent.head, seconds)
            if whole is None:
                async for piece in sent.pieces():
                    await self.stream.write(piece, seconds)
        except httpcore.WriteError:
            return False  # the server may have answered before it had everything
        return True

    async def _receive(self, method: bytes, seconds: float | None) -> tuple[Plain | Careful, bytes]:
        """Return the answer as soon as its head is there, and what of its body came along."""
        unread = await self._some(seconds)
        found = read_answer(unread, len(unread), method)
        while found is None:
            data = await self._some(seconds)
            unread += data
            found = read_answer(unread, len(data), method)
        answer, first = found
        while not answer.status:
            first = answer.feed(await self._some(seconds))
        return answer, first

    async def _some(self, seconds: float | None) -> bytes:
        data = await self.stream.read(_PIECE, seconds)
        if not data:
            reason = "the server disconnected without sending an answer"
            raise httpcore.RemoteProtocolError(reason)
        return data


class _Body(httpx.AsyncByteStream):
    """What is read of an answer's body.

    Attributes:
        may_follow: Another request may take the connection, if the answer leaves it usable.
    """

    __slots__ = ("_answer", "_connection", "_first", "_seconds", "may_follow")

    def __init__(
        self,
        connection: _Connection,
        answer: Plain | Careful,
        first: bytes,
        seconds: float | None,
    ) -> None:
        self._connection: _Connection | None = connection
        self._answer = answer
        self._first = first
        self._seconds = seconds
        self.may_follow = False

    def end(self) -> None:
        """Have the connection given back, or closed unless all has been read."""
        connection, self._connection = self._connection, None
        if connection is not None:
            answer = self._answer
            to_next = self.may_follow and answer.is_complete and not answer.is_last
            connection.release(to_next=to_next)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the pieces of the body as they arrive.

        Raises:
            TransportError: Of httpx, of any kind.
        """
        try:
            first, self._first = self._first, b""
            if first:
                yield first
            while self._connection is not None:
                data = await self._connection.stream.read(_PIECE, self._seconds)
                piece = self._answer.feed(data)
                if self._answer.is_complete:
                    self.end()
                if piece:
                    yield piece
        except _FAULTS as error:
            await self.aclose()
            raise _as_httpx(error) from error
        finally:
            self.end()

    async def aclose(self) -> None:
        """Close the connection unless the answer was read to its end."""
        if self._connection is not None:
            self.end()
            await asyncio.sleep(0)  # as `Stream.aclose`


def _is_watched(request: httpx.Request) -> bool:
    """Whether someone looks on at what httpx and httpcore do: test doubles, tracers."""
    return (
        "trace" in request.extensions
        or not _is_from("httpx", httpx.AsyncHTTPTransport.handle_async_request)
        or not _is_from("httpcore", httpcore.AsyncConnectionPool.handle_async_request)
    )


def _is_from(package: str, method: Any) -> bool:
    """Whether a method is the package's own, which nobody has replaced or wrapped."""
    home = method.__globals__["__name__"] if type(method) is FunctionType else ""
    return str(home).startswith(f"{package}.")


def _as_httpx(error: Exception) -> httpx.TransportError:
    """Return an error of httpcore as the one of httpx that has its name."""
    names = (kind.__name__ for kind in type(error).__mro__ if kind.__module__.startswith(_THEIRS))
    kind: type[httpx.TransportError] = getattr(httpx, next(names))
    return kind(str(error))
