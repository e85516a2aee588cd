"""Connections to addresses that the network policy has judged: asyncio, TLS and HTTP/1.1 on them.

Messages (RFC 9112) are written and read by h11.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import select
import socket
import ssl
import time
from typing import TYPE_CHECKING, Any, cast

import aiohappyeyeballs
import h11
import httpx

from openapi_tools.redaction import excerpt
from openapi_tools.transport.network_policy import NetworkPolicy, literal, look_up

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Iterator

# For each connection, so that thousands of slow readers do not fill the memory. Reading goes on
# far below it, as stopping and going on costs two system calls.
_MOST_UNREAD_BYTES = 256 * 1024
_RESUME_BYTES = 64 * 1024
_FIRST_PIECE = 4 * 1024
_LARGEST_PIECE = 64 * 1024
_FAST_READER_SECONDS = 0.005  # the next piece is larger if one is processed in this time
_NEXT_ADDRESS_SECONDS = 0.25  # then the next address is tried, too (RFC 8305, section 5)

# OpenSSL's words for an authority that is not known: only here does `ca_file` help.
_ISSUER = re.compile(r"issuer|self.signed")
# OpenSSL's reasons, by version, when it reads plain HTTP as a TLS record.
_NOT_TLS = (
    "WRONG_VERSION_NUMBER",
    "PACKET_LENGTH_TOO_LONG",
    "RECORD_LAYER_FAILURE",
    "HTTP_REQUEST",
)
_CERTIFICATE_ALERTS = ("UNKNOWN_CA", "CERTIFICATE", "ACCESS_DENIED")
_EXCERPT_CHARS = 120
# As httpcore; h11's own 16 kB are fewer than some APIs send as links and cookies.
_LARGEST_HEAD = 100 * 1024
_SWITCHING_PROTOCOLS = 101
_FIRST_FINAL = 200


class TlsError(httpx.ConnectError):
    """TLS failed on an open connection; trying again changes nothing."""


class Connection(asyncio.Protocol):
    """One connection; it buffers what arrives, and stops reading when too much is unread."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport  # set by `connection_made`
        self._unread = bytearray()
        self._has_ended = self._is_full = self._is_paused = False
        self._lost_error: Exception | None = None
        self._change = asyncio.Event()
        self._piece = _FIRST_PIECE
        self._read_at = 0.0  # when the last bytes were returned

    async def read(self) -> bytes:
        """Return the next bytes; empty at the end. Raises ReadError of httpx, or TlsError."""
        # Pieces grow for fast readers only: thousands of tiny chunks hold up the loop.
        is_slow = self._read_at and time.perf_counter() - self._read_at > _FAST_READER_SECONDS
        self._piece = _FIRST_PIECE if is_slow else min(2 * self._piece, _LARGEST_PIECE)
        if self._unread or self._has_ended:
            await asyncio.sleep(0)  # so that other tasks and deadlines run meanwhile
        while not self._unread and not self._has_ended:
            await self._wait_for_change()
        if not self._unread and isinstance(self._lost_error, ssl.SSLError) and not self._read_at:
            # With TLS 1.3 a server looks at our certificate after our side of the handshake.
            raise TlsError(_describe_tls_error(self._lost_error)) from self._lost_error
        if not self._unread and self._lost_error is not None:
            error = self._lost_error
            reason = _describe_os_error(error) if isinstance(error, OSError) else ""
            raise httpx.ReadError(reason) from error
        self._read_at = time.perf_counter()
        data = bytes(self._unread[: self._piece])
        del self._unread[: self._piece]
        if self._is_paused and len(self._unread) < _RESUME_BYTES:
            self._is_paused = False
            self._transport.resume_reading()
            # asyncio hands over decrypted bytes in the next round of its loop. Only then is it
            # known that nothing follows.
            await asyncio.sleep(0)
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes, and return when more can be sent. Raises WriteError of httpx."""
        if not data:
            return
        if self._has_ended or self._transport.is_closing():
            raise httpx.WriteError("the connection is closed")
        self._transport.write(data)
        while self._is_full:
            if self._has_ended:  # the server may have answered before
                raise httpx.WriteError("the connection is closed")
            await self._wait_for_change()

    def abort(self) -> None:
        """Close the connection; asyncio closes the socket in the next round of its loop."""
        self._transport.abort()

    async def start_tls(self, context: ssl.SSLContext, name: str) -> None:
        """Start TLS with a certificate for a name (RFC 8446); TlsError or ConnectError."""
        if self._unread:  # or plain bytes would pass for decrypted ones
            self.abort()
            raise TlsError("the server sent data before TLS began")
        try:
            context.set_alpn_protocols(["http/1.1"])
            with _raise_httpx_errors():
                # A name's dot at the end is DNS's; no certificate has it (RFC 6066).
                transport = await asyncio.get_running_loop().start_tls(
                    self._transport, self, context, server_hostname=name.rstrip(".")
                )
        except BaseException:
            self.abort()
            raise
        if transport is None:  # closed in the meantime
            raise httpx.ConnectError("the connection was closed")
        self._transport = transport

    def is_readable(self) -> bool:
        """Whether bytes or the end have arrived: here, in TLS, or in the system's buffer."""
        transport = self._transport
        if self._unread or self._has_ended or transport.is_closing():
            return True
        sock = transport.get_extra_info("socket")
        number = -1 if sock is None else sock.fileno()
        if number < 0:
            return True
        # `select.select` fails for descriptors above 1,023, which servers with many connections
        # have.
        if not hasattr(select, "poll"):  # pragma: no cover -- Windows
            return bool(select.select([number], [], [], 0)[0])
        poll = select.poll()
        poll.register(number, select.POLLIN)
        return bool(poll.poll(0))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Buffer bytes; pause reading when there are too many."""
        self._unread += data
        if len(self._unread) > _MOST_UNREAD_BYTES:
            self._is_paused = True
            self._transport.pause_reading()
        self._change.set()

    def eof_received(self) -> None:
        """Note the end."""
        self._has_ended = True
        self._change.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end, and its reason unless an orderly end came before."""
        if not self._has_ended:
            self._lost_error = exc
        self.eof_received()

    def pause_writing(self) -> None:
        """Note that the system takes no more bytes for now."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Note that the system takes bytes again."""
        self._is_full = False
        self._change.set()

    async def _wait_for_change(self) -> None:
        self._change.clear()
        await self._change.wait()


async def connect(host: str, port: int, policy: NetworkPolicy) -> Connection:
    """Connect to one of a host's addresses (RFC 8305); CallError (`denied`), errors of httpx."""
    with _raise_httpx_errors():
        addresses = await _resolve(host, port)
        policy.check(host, port, (str(info[4][0]) for info in addresses))
        # Not `loop.create_connection(host, …)`, which would resolve the name again,
        # and DNS could then return an address that nobody has judged (DNS rebinding).
        sock = await aiohappyeyeballs.start_connection(
            addresses, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS
        )
        try:
            loop = asyncio.get_running_loop()
            _, connection = await loop.create_connection(Connection, sock=sock)
        except BaseException:
            sock.close()
            raise
    return connection


async def _resolve(host: str, port: int) -> list[tuple[int, int, int, str, tuple[Any, ...]]]:
    if literal(host) is not None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        address = (host, port, 0, 0) if ":" in host else (host, port)
        return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)]
    try:
        addresses = await look_up(host, port)
    except UnicodeError:
        raise httpx.ConnectError("the host name is invalid") from None
    if not addresses:
        raise httpx.ConnectError("the host has no address")
    return list(addresses)


@contextlib.contextmanager
def _raise_httpx_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _convert_error(error) from error


def _convert_error(error: OSError) -> httpx.TransportError:
    if isinstance(error, TimeoutError):
        return httpx.ConnectTimeout(_describe_os_error(error))
    if isinstance(error, ssl.SSLError):
        return TlsError(_describe_tls_error(error))
    return httpx.ConnectError(_describe_os_error(error))


def _describe_os_error(error: OSError) -> str:
    # Without the address that asyncio adds to it.
    if isinstance(error, socket.gaierror):
        return str(error.strerror or "the host is unknown")
    return os.strerror(error.errno) if error.errno else "the connection failed"


def _describe_tls_error(error: ssl.SSLError) -> str:
    # Of a handshake, or of an alert that followed it.
    if isinstance(error, ssl.SSLCertVerificationError):
        text = excerpt(" ".join(str(error.verify_message).split()), _EXCERPT_CHARS).rstrip(".")
        hint = "; add its authority with Settings(ca_file=…)" if _ISSUER.search(text) else ""
        return f"the server's certificate is not trusted: {text}{hint}"
    reason = str(error.reason or "")
    if any(word in reason for word in _NOT_TLS):
        return "the server does not use TLS; should its URL begin with http://?"
    if "CERTIFICATE_REQUIRED" in reason:
        return "the server asks for a client certificate"
    if "ALERT" in reason and any(word in reason for word in _CERTIFICATE_ALERTS):
        return "the server does not accept the client certificate"
    words = reason.replace("_", " ").lower()[:_EXCERPT_CHARS] or "aborted"
    return f"the TLS handshake failed: {words}"


class WireExchange:
    """One request and its response as bytes; errors are those of httpx.

    Attributes:
        status: The status of the final response; 0 until its head has come.
        reason: Its reason phrase.
        version: Its version, as `b"HTTP/1.1"`.
        headers: Its header lines.
        is_complete: The response has ended.
    """

    def __init__(
        self,
        request: httpx.Request,
        *,
        target: bytes | None = None,
        proxy_headers: Collection[tuple[bytes, bytes]] = (),
    ) -> None:
        self._request = request
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
        self.status, self.reason, self.version = 0, b"", b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.is_complete = False
        try:
            target = target or request.url.raw_path
            headers = _replace_headers(request.headers.raw, proxy_headers)
            event = h11.Request(method=request.method, target=target, headers=headers)
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        self._head = self._encode(event)

    @property
    def can_reuse_connection(self) -> bool:
        """Whether the connection can carry another request after the complete response."""
        states, rest = (self._h11.our_state, self._h11.their_state), self._h11.trailing_data[0]
        return self.is_complete and states == (h11.DONE, h11.DONE) and not rest

    @property
    def trailing_data(self) -> bytes:
        """What has come behind the response."""
        return self._h11.trailing_data[0]

    def encode_whole(self) -> bytes | None:
        """Return the bytes of the request; None if its body comes in pieces."""
        if not isinstance(self._request.stream, httpx.ByteStream):
            return None
        body = b"".join(self._request.stream)
        content = self._encode(h11.Data(body)) if body else b""
        return b"".join((self._head, content, self._encode(h11.EndOfMessage())))

    async def encode_pieces(self) -> AsyncGenerator[bytes]:
        """Yield the bytes of the request as its body comes."""
        yield self._head
        async for piece in self._request.stream:  # type: ignore[union-attr] # of an AsyncClient
            yield self._encode(h11.Data(piece))
        yield self._encode(h11.EndOfMessage())

    def _encode(self, event: h11.Request | h11.Data | h11.EndOfMessage) -> bytes:
        try:
            return self._h11.send(event) or b""
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error

    def feed(self, data: bytes) -> bytes:
        """Take what the server sent, nothing at its end, and return the part of the body in it."""
        # h11's message for this names its own states.
        if not data and not self.status:
            reason = "the server disconnected without sending a response"
            raise httpx.RemoteProtocolError(reason)
        body = []
        try:
            self._h11.receive_data(data)
            while (event := self._h11.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.Data):
                    body.append(bytes(event.data))
                elif isinstance(event, h11.Response | h11.InformationalResponse):
                    # Other interim responses (RFC 9110, section 15.2) announce the final one.
                    status = event.status_code
                    if status >= _FIRST_FINAL or status == _SWITCHING_PROTOCOLS:
                        self.status, self.reason = event.status_code, event.reason
                        self.version = b"HTTP/" + event.http_version
                        self.headers = event.headers.raw_items()
                else:  # the end of the message, or another protocol after a 101
                    self.is_complete = True
                    break
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        return body[0] if len(body) == 1 else b"".join(body)


def _replace_headers(
    headers: list[tuple[bytes, bytes]], replacements: Collection[tuple[bytes, bytes]]
) -> list[tuple[bytes, bytes]]:
    if not replacements:
        return headers
    names = {name.lower() for name, _ in replacements}
    return [*(line for line in headers if line[0].lower() not in names), *replacements]
