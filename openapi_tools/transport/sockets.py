"""Connections on asyncio: addresses resolved, judged by the network policy, then connected to."""

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
import httpx

from openapi_tools.transport.network_policy import literal, look_up
from openapi_tools.transport.tls import TlsError, in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.transport.network_policy import NetworkPolicy

_MOST_UNREAD = 256 * 1024
_FEW_UNREAD = 64 * 1024
_FIRST_PIECE = 4 * 1024
_LARGEST_PIECE = 64 * 1024
_QUICK = 0.005
"""Seconds in which a piece has to be processed for the next one to be larger."""
_NEXT_ADDRESS = 0.25
"""Seconds until the next address of a host is tried beside the last one (RFC 8305, section 5)."""

_Address = tuple[int, int, int, str, tuple[Any, ...]]


class Stream(asyncio.Protocol):
    """One connection; one task reads and writes it.

    It buffers what arrives, and stops reading from the socket when too much is unread.
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._unread = bytearray()
        self._has_ended = False
        self._fault: Exception | None = None
        self._is_full = False
        self._is_paused = False
        self._change: asyncio.Future[None] | None = None
        self._has_answered = False
        self._piece = _FIRST_PIECE
        self._given = 0.0

    async def read(self) -> bytes:
        """Return the next bytes; empty at the end.

        Raises:
            ReadError: Of httpx: the connection broke.
            TlsError: TLS failed before the server sent anything.
        """
        self._adapt()
        if self._unread or self._has_ended:
            await asyncio.sleep(0)  # other tasks and deadlines get their turn all the same
        while not self._unread and not self._has_ended:
            await self._changed()
        if not self._unread and self._fault is not None:
            self._break(self._fault)
        self._given = time.perf_counter()
        self._has_answered = True
        data = bytes(self._unread[: self._piece])
        del self._unread[: self._piece]
        if self._resume():
            # TLS holds back decrypted bytes until the next turn; only then is it known that
            # nothing follows.
            await asyncio.sleep(0)
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes; returns when there is room for more.

        Raises:
            WriteError: Of httpx: the connection broke, or the server ended it.
        """
        assert self._transport is not None  # noqa: S101 -- set by `connect`
        if not data:
            return
        if self._has_ended or self._transport.is_closing():
            raise httpx.WriteError("the connection is closed")
        self._transport.write(data)
        while self._is_full:
            if self._has_ended:  # the server may have answered before
                raise httpx.WriteError("the connection is closed")
            await self._changed()

    def abort(self) -> None:
        """Close the connection at once; unsent bytes are dropped.

        asyncio returns the socket in the next turn of its loop.
        """
        if self._transport is not None:
            self._transport.abort()

    async def start_tls(self, context: ssl.SSLContext, name: str) -> None:
        """Start TLS; the server's certificate has to be for a name.

        Spec: RFC 8446; RFC 9110, section 4.3.4.

        Raises:
            TlsError: The certificate is not accepted, or the other side speaks no TLS.
            ConnectError: Of httpx: the connection broke.
        """
        assert self._transport is not None  # noqa: S101 -- set by `connect`
        if self._unread:  # plain text must not pass for decrypted text later
            self.abort()
            raise TlsError("the server spoke before TLS began")
        try:
            context.set_alpn_protocols(["http/1.1"])
            with _connecting():
                # A name's dot at the end is DNS's; no certificate has it (RFC 6066).
                self._transport = await asyncio.get_running_loop().start_tls(
                    self._transport, self, context, server_hostname=name.rstrip(".")
                )
        except BaseException:
            self.abort()
            raise
        if self._transport is None:  # closed in the meantime
            raise httpx.ConnectError("the connection was closed")

    def is_readable(self) -> bool:
        """Whether bytes or the end have arrived: here, in TLS, or in the system's buffer."""
        if self._unread or self._has_ended or self._transport is None:
            return True
        if self._transport.is_closing():
            return True
        return _has_arrived(self._transport.get_extra_info("socket"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Buffer bytes; pause reading when there are too many."""
        self._unread += data
        if len(self._unread) > _MOST_UNREAD and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Note the end."""
        self._has_ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end, and its reason unless an orderly end came before."""
        if not self._has_ended:
            self._fault = exc
        self._has_ended = True
        self._wake()

    def pause_writing(self) -> None:
        """Note that the system takes no more bytes for now."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Note that it does again."""
        self._is_full = False
        self._wake()

    def _adapt(self) -> None:
        """Grow pieces for fast readers only: thousands of tiny chunks hold up the loop."""
        if self._given and time.perf_counter() - self._given > _QUICK:
            self._piece = _FIRST_PIECE
        else:
            self._piece = min(2 * self._piece, _LARGEST_PIECE)

    def _resume(self) -> bool:
        """Resume reading once there is room; tells whether it was paused."""
        if not self._is_paused or len(self._unread) >= _FEW_UNREAD or self._transport is None:
            return False
        self._is_paused = False
        self._transport.resume_reading()
        return True

    async def _changed(self) -> None:
        """Wait for the next event of the connection."""
        self._change = asyncio.get_running_loop().create_future()
        try:
            await self._change
        finally:
            self._change = None

    def _wake(self) -> None:
        if self._change is not None and not self._change.done():
            self._change.set_result(None)

    def _break(self, fault: Exception) -> NoReturn:
        """Raise the reason for a connection's end."""
        if isinstance(fault, ssl.SSLError) and not self._has_answered:
            # With TLS 1.3 a server looks at our certificate after our side of the handshake.
            raise TlsError(in_words(fault)) from fault
        words = _words(fault) if isinstance(fault, OSError) else ""
        raise httpx.ReadError(words) from fault


async def connect(host: str, port: int, policy: NetworkPolicy) -> Stream:
    """Connect to one of a host's addresses.

    Spec: RFC 8305.

    Raises:
        CallError: `denied`: the policy refuses the host.
        ConnectError: Of httpx: no such host, or no server there.
        ConnectTimeout: Of httpx.
    """
    with _connecting():
        addresses = await _resolved(host, port)
        policy.check(host, port, (str(info[4][0]) for info in addresses))
        sock = await aiohappyeyeballs.start_connection(
            addresses, happy_eyeballs_delay=_NEXT_ADDRESS
        )
        try:
            loop = asyncio.get_running_loop()
            _, stream = await loop.create_connection(Stream, sock=sock)
        except BaseException:
            sock.close()
            raise
    return stream


async def _resolved(host: str, port: int) -> list[_Address]:
    """Return the addresses of a host; an address is its own."""
    if literal(host) is not None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        address = (host, port, 0, 0) if ":" in host else (host, port)
        return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)]
    try:
        found = await look_up(host, port)
    except UnicodeError:
        raise httpx.ConnectError("the host's name is not possible") from None
    if not found:
        raise httpx.ConnectError("the host has no address")
    return list(found)


def _has_arrived(sock: Any) -> bool:
    """Whether the system holds bytes for a socket, or its end."""
    number = -1 if sock is None else sock.fileno()
    if number < 0:
        return True
    if not hasattr(select, "poll"):  # pragma: no cover -- Windows
        return bool(select.select([number], [], [], 0)[0])
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(0))


@contextlib.contextmanager
def _connecting() -> Iterator[None]:
    """Raise errors of the system as those of httpx."""
    try:
        yield
    except OSError as error:
        raise connect_error(error) from error


def connect_error(error: OSError) -> httpx.TransportError:
    """Return an error of the system as the one of httpx, with the system's reason."""
    if isinstance(error, TimeoutError):
        return httpx.ConnectTimeout(_words(error))
    if isinstance(error, ssl.SSLError):
        return TlsError(in_words(error))
    return httpx.ConnectError(_words(error))


def _words(error: OSError) -> str:
    """Return the system's reason, without the address that asyncio adds to it."""
    if isinstance(error, socket.gaierror):
        return str(error.strerror or "the host is not known")
    return os.strerror(error.errno) if error.errno else "no connection came about"
