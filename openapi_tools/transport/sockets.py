"""Connections on plain asyncio: addresses resolved, judged and kept to.

httpcore's own connections go through anyio, which takes longer than the HTTP on top of it, and ask
the resolver themselves, after any check of ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import ssl
import time
from typing import TYPE_CHECKING, Any, NoReturn, cast

import aiohappyeyeballs
import httpcore

from openapi_tools.transport.connection_trace import note_connected
from openapi_tools.transport.dns import look_up
from openapi_tools.transport.network_policy import literal
from openapi_tools.transport.tls import TlsError, in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

from openapi_tools.transport.network_policy import NetworkPolicy

_MOST_UNREAD = 256 * 1024
_FEW_UNREAD = 64 * 1024
_FIRST_PIECE = 4 * 1024
_LARGEST_PIECE = 64 * 1024
_QUICK = 0.005
"""Seconds in which a piece has to be dealt with for the next one to be larger."""
_NEXT_ADDRESS = 0.25
"""Seconds until the next address of a host is tried beside the last one (RFC 8305, section 5)."""

_Info = tuple[int, int, int, str, tuple[Any, ...]]


class Backend(httpcore.AsyncNetworkBackend):
    """Opens connections for httpcore.

    Args:
        policy: Where they may go.
    """

    def __init__(self, policy: NetworkPolicy) -> None:
        self._policy = policy

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> Stream:
        """Connect to one of the addresses of a host.

        Spec: RFC 8305.

        Args:
            host: Name or address.
            port: Of the host.
            timeout: Seconds; None leaves it to whoever awaits this.
            local_address: Not supported.
            socket_options: Arguments of `setsockopt`.

        Raises:
            CallError: `denied`: the policy refuses the host.
            ConnectError: Of httpcore: no such host, or nobody there.
            ConnectTimeout: Of httpcore.
        """
        del local_address
        note_connected()
        with _raising(httpcore.ConnectError, httpcore.ConnectTimeout):
            async with asyncio.timeout(timeout):
                addresses = await _resolved(host, port)
                self._policy.check(host, port, (str(info[4][0]) for info in addresses))
                return await _connected(addresses, socket_options or ())


class Stream(httpcore.AsyncNetworkStream):
    """One connection.

    Args:
        wire: Takes what arrives.
        transport: Of asyncio; with TLS the one inside it.
    """

    def __init__(self, wire: _Wire, transport: asyncio.Transport) -> None:
        self._wire = wire
        self._transport = transport
        self._has_answered = False
        self._is_next_request = False
        self._piece = _FIRST_PIECE
        self._given = 0.0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 -- httpcore's signature
        """Return what has arrived, at most `max_bytes` of it; nothing at the end.

        Raises:
            ReadError: Of httpcore: the connection broke.
            ReadTimeout: Of httpcore.
        """
        wire = self._wire
        self._adapt()
        has_waited = not wire.unread and not wire.ended
        if has_waited:
            try:
                if timeout is None:
                    await wire.arrival()
                else:
                    async with asyncio.timeout(timeout):
                        await wire.arrival()
            except OSError as error:
                raise _converted(error, httpcore.ReadError, httpcore.ReadTimeout) from error
        if not wire.unread and wire.fault is not None:
            self._break(wire.fault)
        if not has_waited:
            await asyncio.sleep(0)  # others, and deadlines, get their turn all the same
        self._given = time.perf_counter()
        self._has_answered = self._is_next_request = True
        data = wire.take(min(max_bytes, self._piece))
        if wire.resume():
            # TLS holds back decrypted bytes until the next turn; only then is it known that
            # nothing follows.
            await asyncio.sleep(0)
        return data

    def _adapt(self) -> None:
        """Give larger pieces to whoever is quick: thousands of tiny chunks hold up the loop."""
        if self._given and time.perf_counter() - self._given > _QUICK:
            self._piece = _FIRST_PIECE
        else:
            self._piece = min(2 * self._piece, _LARGEST_PIECE)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 -- httpcore's signature
        """Send bytes; returns when there is room for more.

        Raises:
            ConnectionNotAvailable: Of httpcore, which then takes another connection: something
                arrived, or the end did, between the last answer and this request. Nothing is sent.
            WriteError: Of httpcore: the connection broke.
            WriteTimeout: Of httpcore.
        """
        if not buffer:
            return
        if self._is_next_request:
            self._is_next_request = False
            if self._is_readable():
                raise httpcore.ConnectionNotAvailable
        if self._wire.ended or self._transport.is_closing():
            raise httpcore.WriteError("the connection is closed")
        self._transport.write(buffer)
        if self._wire.is_full:
            with _raising(httpcore.WriteError, httpcore.WriteTimeout):
                async with asyncio.timeout(timeout):
                    await self._wire.room()

    async def aclose(self) -> None:
        """Close the connection at once; what was not sent by now is not wanted any more."""
        self.abort()
        await asyncio.sleep(0)  # asyncio gives the socket back in the next turn of its loop

    def abort(self) -> None:
        """Do as `aclose`, without waiting until asyncio has done its part."""
        self._transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 -- httpcore's signature
    ) -> Stream:
        """Return the connection with TLS over it; the server's certificate is for its name.

        Spec: RFC 8446; RFC 9110, section 4.3.4.

        Raises:
            TlsError: The certificate is not accepted, or the other side speaks no TLS.
            ConnectError: Of httpcore: the connection broke.
            ConnectTimeout: Of httpcore.
        """
        try:
            self._check_silence()
            with _raising(httpcore.ConnectError, httpcore.ConnectTimeout):
                async with asyncio.timeout(timeout):
                    secured = await asyncio.get_running_loop().start_tls(
                        self._transport,
                        self._wire,
                        ssl_context,
                        # A name's dot at the end is DNS's; no certificate has it (RFC 6066).
                        server_hostname=server_hostname and server_hostname.rstrip("."),
                    )
        except BaseException:
            self._transport.abort()
            raise
        if secured is None:  # closed in the meantime
            raise httpcore.ConnectError("the connection was closed")
        self._wire.transport = secured
        return Stream(self._wire, secured)

    def get_extra_info(self, info: str) -> Any:
        """Return what httpcore asks for: `"is_readable"`, `"ssl_object"`, `"socket"`, addresses."""
        match info:
            case "is_readable":
                return self._is_readable()
            case "client_addr":
                return self._transport.get_extra_info("sockname")
            case "server_addr":
                return self._transport.get_extra_info("peername")
            case "ssl_object" | "socket":
                return self._transport.get_extra_info(info)
        return None

    def _is_readable(self) -> bool:
        """Whether something has arrived, or the end: here, in TLS, or still with the system."""
        wire = self._wire
        if wire.unread or wire.ended or self._transport.is_closing():
            return True
        return _has_arrived(self._transport.get_extra_info("socket"))

    def _check_silence(self) -> None:
        """Refuse words in plain text that would later pass for words under TLS."""
        if self._wire.unread:
            raise TlsError("the server spoke before TLS began")

    def _break(self, fault: Exception) -> NoReturn:
        """Say what the end of a connection means to someone who waits for an answer."""
        try:
            raise fault
        except ssl.SSLError as error:
            if self._has_answered:
                raise httpcore.ReadError from error
            # With TLS 1.3 a server looks at our certificate after our side of the handshake.
            raise TlsError(in_words(error)) from error
        except OSError as error:
            raise httpcore.ReadError(_words(error)) from error


class _Wire(asyncio.Protocol):
    """Keeps what arrives until it is read, and not too much of it."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.unread = bytearray()
        self.ended = False
        self.fault: Exception | None = None
        self.is_full = False
        self._is_paused = False
        self._waiting: set[asyncio.Future[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.unread += data
        if len(self.unread) > _MOST_UNREAD and self.transport is not None:
            self._is_paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self.ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended:  # after an orderly end nothing can go wrong any more
            self.fault = exc
        self.ended = True
        self._wake()

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        self._wake()

    def take(self, most: int) -> bytes:
        """Return what is there."""
        data = bytes(self.unread[:most])
        del self.unread[:most]
        return data

    def resume(self) -> bool:
        """Let more come if there is room again; tells whether it was stopped."""
        if not self._is_paused or len(self.unread) >= _FEW_UNREAD or self.transport is None:
            return False
        self._is_paused = False
        self.transport.resume_reading()
        return True

    async def arrival(self) -> None:
        """Wait until there is something to read, or an end."""
        while not self.unread and not self.ended:
            await self._change()

    async def room(self) -> None:
        """Wait until more may be written.

        Raises:
            WriteError: Of httpcore: the other side has ended; it may have answered before.
        """
        while self.is_full:
            if self.ended:
                raise httpcore.WriteError("the connection is closed")
            await self._change()

    async def _change(self) -> None:
        change = asyncio.get_running_loop().create_future()
        self._waiting.add(change)
        try:
            await change
        finally:
            self._waiting.discard(change)

    def _wake(self) -> None:
        for change in self._waiting:
            if not change.done():
                change.set_result(None)


async def _resolved(host: str, port: int) -> list[_Info]:
    """Return the addresses of a host; an address is its own."""
    if literal(host) is not None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        address = (host, port, 0, 0) if ":" in host else (host, port)
        return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)]
    try:
        found = await look_up(host, port)
    except UnicodeError:
        raise httpcore.ConnectError("the host's name is not possible") from None
    if not found:
        raise httpcore.ConnectError("the host has no address")
    return list(found)


async def _connected(addresses: list[_Info], options: Iterable[Any]) -> Stream:
    """Connect to the first address that answers."""
    sock = await aiohappyeyeballs.start_connection(addresses, happy_eyeballs_delay=_NEXT_ADDRESS)
    try:
        for option in options:
            sock.setsockopt(*option)
        loop = asyncio.get_running_loop()
        transport, wire = await loop.create_connection(_Wire, sock=sock)
    except BaseException:
        sock.close()
        raise
    return Stream(wire, transport)


def _has_arrived(sock: Any) -> bool:
    """Whether the system holds something for a socket, or its end."""
    number = -1 if sock is None else sock.fileno()
    if number < 0:
        return True
    if not hasattr(select, "poll"):  # pragma: no cover -- Windows
        return bool(select.select([number], [], [], 0)[0])
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(0))


@contextlib.contextmanager
def _raising(kind: type[Exception], late: type[Exception]) -> Iterator[None]:
    """Raise errors of the system as those of httpcore."""
    try:
        yield
    except OSError as error:
        raise _converted(error, kind, late) from error


def _converted(error: OSError, kind: type[Exception], late: type[Exception]) -> Exception:
    """Return an error of the system as one of httpcore."""
    if isinstance(error, TimeoutError):
        return late(_words(error))
    if isinstance(error, ssl.SSLError):
        return TlsError(in_words(error))
    return kind(_words(error))


def _words(error: OSError) -> str:
    """Return the system's reason, without the address that asyncio adds to it."""
    if isinstance(error, socket.gaierror):
        return str(error.strerror or "the host is not known")
    return os.strerror(error.errno) if error.errno else "no connection came about"
