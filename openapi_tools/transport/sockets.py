"""Connections on asyncio, to addresses that the network policy has judged, and TLS on them.

No setting turns the verification of certificates off.
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
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import aiohappyeyeballs
import certifi
import httpx

from openapi_tools.errors import CallError, CredentialsError
from openapi_tools.forks import ForkLock
from openapi_tools.redaction import excerpt
from openapi_tools.transport.network_policy import NetworkPolicy, literal, look_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.settings import Settings

_MOST_UNREAD = 256 * 1024
_FEW_UNREAD = 64 * 1024
_FIRST_PIECE = 4 * 1024
_LARGEST_PIECE = 64 * 1024
_QUICK = 0.005  # seconds in which a piece has to be processed for the next one to be larger
_NEXT_ADDRESS = 0.25  # seconds until the next address is tried, too (RFC 8305, section 5)

_ISSUER = re.compile(r"issuer|self.signed")
_NO_TLS = ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
_OF_CERTIFICATES = ("UNKNOWN_CA", "CERTIFICATE", "ACCESS_DENIED")
_SHOWN = 120
_making = ForkLock()  # OpenSSL has locks of its own that a forked process would find held


class TlsError(httpx.ConnectError):
    """TLS failed on an open connection; trying again changes nothing."""


class Stream(asyncio.Protocol):
    """One connection; it buffers what arrives, and stops reading when too much is unread."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport  # set before the stream is given to anyone
        self._unread = bytearray()
        self._has_ended = self._is_full = self._is_paused = False
        self._fault: Exception | None = None
        self._change = asyncio.Event()
        self._piece = _FIRST_PIECE
        self._given = 0.0  # when the last bytes were returned

    async def read(self) -> bytes:
        """Return the next bytes; empty at the end. Raises ReadError of httpx, or TlsError."""
        # Pieces grow for fast readers only: thousands of tiny chunks hold up the loop.
        is_slow = self._given and time.perf_counter() - self._given > _QUICK
        self._piece = _FIRST_PIECE if is_slow else min(2 * self._piece, _LARGEST_PIECE)
        if self._unread or self._has_ended:
            await asyncio.sleep(0)  # other tasks and deadlines get their turn all the same
        while not self._unread and not self._has_ended:
            await self._changed()
        if not self._unread and isinstance(self._fault, ssl.SSLError) and not self._given:
            # With TLS 1.3 a server looks at our certificate after our side of the handshake.
            raise TlsError(_tls_words(self._fault)) from self._fault
        if not self._unread and self._fault is not None:
            words = _words(self._fault) if isinstance(self._fault, OSError) else ""
            raise httpx.ReadError(words) from self._fault
        self._given = time.perf_counter()
        data = bytes(self._unread[: self._piece])
        del self._unread[: self._piece]
        if self._is_paused and len(self._unread) < _FEW_UNREAD:
            self._is_paused = False
            self._transport.resume_reading()
            # TLS holds back decrypted bytes until the next turn; only then is it known that
            # nothing follows.
            await asyncio.sleep(0)
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes; returns when there is room for more. Raises WriteError of httpx."""
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
        """Close the connection; asyncio returns the socket in the next turn of its loop."""
        self._transport.abort()

    async def start_tls(self, context: ssl.SSLContext, name: str) -> None:
        """Start TLS with a certificate for a name (RFC 8446); TlsError or ConnectError."""
        if self._unread:  # plain text must not pass for decrypted text later
            self.abort()
            raise TlsError("the server spoke before TLS began")
        try:
            context.set_alpn_protocols(["http/1.1"])
            with _errors_of_httpx():
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
        if len(self._unread) > _MOST_UNREAD:
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
            self._fault = exc
        self.eof_received()

    def pause_writing(self) -> None:
        """Note that the system takes no more bytes for now."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Note that the system takes bytes again."""
        self._is_full = False
        self._change.set()

    async def _changed(self) -> None:
        self._change.clear()
        await self._change.wait()


async def connect(host: str, port: int, policy: NetworkPolicy) -> Stream:
    """Connect to one of a host's addresses (RFC 8305); CallError (`denied`), errors of httpx."""
    with _errors_of_httpx():
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


async def _resolved(host: str, port: int) -> list[tuple[int, int, int, str, tuple[Any, ...]]]:
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


@contextlib.contextmanager
def _errors_of_httpx() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise connect_error(error) from error


def connect_error(error: OSError) -> httpx.TransportError:
    """Return an error of the system as the one of httpx, with the system's reason."""
    if isinstance(error, TimeoutError):
        return httpx.ConnectTimeout(_words(error))
    if isinstance(error, ssl.SSLError):
        return TlsError(_tls_words(error))
    return httpx.ConnectError(_words(error))


def _words(error: OSError) -> str:
    """Return the system's reason, without the address that asyncio adds to it."""
    if isinstance(error, socket.gaierror):
        return str(error.strerror or "the host is not known")
    return os.strerror(error.errno) if error.errno else "no connection came about"


def _tls_words(error: ssl.SSLError) -> str:
    """Return why TLS failed, for an error of a handshake or of an alert that followed it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        text = excerpt(" ".join(str(error.verify_message).split()), _SHOWN).rstrip(".")
        other = "; Settings(ca_file=…) trusts other authorities" if _ISSUER.search(text) else ""
        return f"the server's certificate is not accepted: {text}{other}"
    reason = str(error.reason or "")
    if any(word in reason for word in _NO_TLS):
        return "the server does not speak TLS; is its address one of http?"
    if "CERTIFICATE_REQUIRED" in reason:
        return "the server asks for a client certificate"
    if "ALERT" in reason and any(word in reason for word in _OF_CERTIFICATES):
        return "the server does not accept the client certificate"
    return f"the TLS handshake failed: {reason.replace('_', ' ').lower()[:_SHOWN] or 'broken off'}"


def trusted(settings: Settings) -> ssl.SSLContext:
    """Return the context without a certificate of our own; CallError for an unreadable file."""
    try:
        return _shared(_usual(trust_env=settings.trust_env), _dated(settings.ca_file))
    except (OSError, ValueError) as error:
        reason = f"the certificate authorities cannot be read ({_reason(error)})"
        where = "look at Settings(ca_file=…)"
        if settings.trust_env:
            where += " and at SSL_CERT_FILE and SSL_CERT_DIR of the environment"
        raise CallError("connection", f"{reason}; {where}.", retryable=False) from None


def client_context(
    cert: str | Path,
    key: str | Path | None = None,
    *,
    password: str | None = None,
    ca_file: str | Path | None = None,
) -> ssl.SSLContext:
    """Return the context that presents a certificate (RFC 8446, 4.4.2), or CredentialsError."""
    try:
        context = _context(_usual(trust_env=False), _dated(ca_file))
    except (OSError, ValueError) as error:
        reason = f"the certificate authorities cannot be read ({_reason(error)})"
        raise CredentialsError(f"{reason}; look at Settings(ca_file=…).") from None
    try:
        # Without any password OpenSSL asks for one at the terminal, and waits.
        context.load_cert_chain(cert, key, password or "")
    except (OSError, ValueError) as error:
        reason = f"the client certificate cannot be used ({_reason(error)})"
        raise CredentialsError(
            f"{reason}; give PEM files of a certificate and its key, and the key's password."
        ) from None
    return context


def _usual(*, trust_env: bool) -> tuple[str, str]:
    if trust_env:
        file, folder = os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", "")
        if file or folder:
            return file, "" if file else folder
    return certifi.where(), ""


def _dated(path: str | Path | None) -> tuple[str, int]:
    """Return a file and its time of change, so that a changed one is read again."""
    return ("", 0) if path is None else (os.fspath(path), Path(path).stat().st_mtime_ns)


def _context(usual: tuple[str, str], further: tuple[str, int]) -> ssl.SSLContext:
    with _making:
        # Not `create_default_context`: it writes the keys to the file that SSLKEYLOGFILE names.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.hostname_checks_common_name = False  # RFC 9525, section 2
        context.load_verify_locations(usual[0] or None, usual[1] or None)
        if further[0]:
            context.load_verify_locations(further[0])
    return context


_shared = lru_cache(maxsize=8)(_context)  # making one takes 20 ms


def _reason(error: OSError | ValueError) -> str:
    """Return why a file could not be used, without its content."""
    if isinstance(error, ssl.SSLError):
        return str(error.reason or "no PEM").replace("_", " ").lower()
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return type(error).__name__
