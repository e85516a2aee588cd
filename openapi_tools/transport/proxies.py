"""Connections through proxies: tunnels by CONNECT (RFC 9110, section 9.3.6) and SOCKS 5 (RFC 1928).

A connection that a proxy has made is kept, reused and closed by the pool as a direct one is.
httpcore's proxy pools are not used, for two reasons. They keep a connection whose server sent more
than the response, so that the rest becomes the next response. A tunnel in which TLS fails stays in
them for ever, and counts.
"""

from __future__ import annotations

import socket
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx

from openapi_tools.transport.connections import Connection, TlsError, WireExchange, connect
from openapi_tools.transport.network_policy import NetworkPolicy, literal
from openapi_tools.transport.proxy_environment import join_authority

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

    from openapi_tools.transport.proxy_environment import Proxy

_ANYWHERE = NetworkPolicy(private=True)  # the user's environment names the proxy, no document does

_SOCKS, _REQUEST, _RESERVED = 5, 1, 0
_NO_AUTHENTICATION, _PASSWORD = 0, 2
_PASSWORD_VERSION = 1  # RFC 1929
_IPV4, _NAME, _IPV6 = 1, 3, 4
_ADDRESS_BYTES = {_IPV4: 4, _IPV6: 16}
_LONGEST = 255  # bytes of a name, a user or a password, whose length is one byte
# What a SOCKS proxy replies. Spec: RFC 1928, section 6.
_REFUSALS = {
    1: "general failure",
    2: "connection not allowed by its rules",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "the connection took too long",
    7: "command not supported",
    8: "type of address not supported",
}
# Rules of the proxy and what it can do, which do not change until the next attempt.
_LASTING_REPLIES = (2, 7, 8)
_NO_CREDENTIALS = "SOCKS: it asks for credentials; they belong in its address in the environment"


class ProxyFaultError(httpx.ProxyError):
    """A proxy that cannot be reached or refuses; nothing of the request came to the server."""

    def __init__(self, proxy: Proxy, reason: str, *, is_lasting: bool = False) -> None:
        super().__init__(reason)
        self.address = proxy.address
        self.is_lasting = is_lasting  # another attempt would fail as this one


def refusal(proxy: Proxy, status: int) -> ProxyFaultError:
    """Return the error for a proxy's response to a request that it did not pass on."""
    reason = f"it responded with {status}"
    with suppress(ValueError):  # its own words could repeat the credentials
        reason += f" {HTTPStatus(status).phrase}"
    if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        reason += "; user and password belong in its address in the environment"
    return ProxyFaultError(proxy, reason, is_lasting=status < HTTPStatus.INTERNAL_SERVER_ERROR)


async def connect_to_proxy(proxy: Proxy, context: ssl.SSLContext) -> Connection:
    """Connect to a proxy that forwards requests, by TLS if it asks for that; ProxyFaultError."""
    with _name_proxy(proxy):
        connection = await connect(proxy.host, proxy.port, _ANYWHERE)
        if proxy.scheme == "https":
            await connection.start_tls(context, proxy.host)
    return connection


async def connect_through(
    proxy: Proxy, host: str, port: int, context: ssl.SSLContext
) -> Connection:
    """Connect to a server through a proxy, which resolves the name; ProxyFaultError."""
    connection = await connect_to_proxy(proxy, context)
    open_tunnel = _open_socks_tunnel if proxy.is_socks else _open_http_tunnel
    try:
        with _name_proxy(proxy):
            await open_tunnel(connection, proxy, host, port)
    except BaseException:
        connection.abort()
        raise
    return connection


@contextmanager
def _name_proxy(proxy: Proxy) -> Iterator[None]:
    try:
        yield
    except ProxyFaultError:
        raise
    except httpx.RemoteProtocolError as error:
        raise ProxyFaultError(proxy, "its response is not valid HTTP", is_lasting=True) from error
    except httpx.TransportError as error:
        reason = str(error) or "the connection broke"
        raise ProxyFaultError(proxy, reason, is_lasting=isinstance(error, TlsError)) from error


# RFC 9110, section 9.3.6 (CONNECT).
async def _open_http_tunnel(connection: Connection, proxy: Proxy, host: str, port: int) -> None:
    authority = join_authority(host, port).encode("ascii")
    headers = [(b"Host", authority), *proxy.headers]
    request = httpx.Request("CONNECT", "http://" + authority.decode("ascii"), headers=headers)
    exchange = WireExchange(request, target=authority)
    await connection.write(exchange.encode_whole() or b"")
    while not exchange.status:
        exchange.feed(await _read_some(connection, proxy))
    if not HTTPStatus.OK <= exchange.status < HTTPStatus.MULTIPLE_CHOICES:
        raise refusal(proxy, exchange.status)
    # Whoever can write to the tunnel before TLS begins could put bytes in front of the
    # server's.
    if exchange.trailing_data:
        raise ProxyFaultError(proxy, "it sent data before TLS began", is_lasting=True)


async def _open_socks_tunnel(connection: Connection, proxy: Proxy, host: str, port: int) -> None:
    replies = _SocksReplies(connection, proxy)
    await _authenticate(connection, proxy, replies)
    address = _encode_address(proxy, host)
    await connection.write(bytes((_SOCKS, _REQUEST, _RESERVED)) + address + port.to_bytes(2, "big"))
    _, code, _, kind = await replies.take(4)
    if code:
        reason = _REFUSALS.get(code, f"reply {code}")
        raise ProxyFaultError(proxy, f"SOCKS: {reason}", is_lasting=code in _LASTING_REPLIES)
    # The proxy's own address at the server: nobody asks for it.
    await replies.take((_ADDRESS_BYTES.get(kind) or (await replies.take(1))[0]) + 2)
    if replies.unread:
        raise ProxyFaultError(proxy, "SOCKS: it sent data before the request", is_lasting=True)


async def _authenticate(connection: Connection, proxy: Proxy, replies: _SocksReplies) -> None:
    has_credentials = bool(proxy.user or proxy.password)
    methods = (_NO_AUTHENTICATION, _PASSWORD) if has_credentials else (_NO_AUTHENTICATION,)
    await connection.write(bytes((_SOCKS, len(methods), *methods)))
    _, method = await replies.take(2)
    if method not in methods:
        reason = "SOCKS: it does not accept a password" if has_credentials else _NO_CREDENTIALS
        raise ProxyFaultError(proxy, reason, is_lasting=True)
    if method == _PASSWORD:
        parts = [_prefix_length(proxy, part) for part in (proxy.user, proxy.password)]
        await connection.write(bytes((_PASSWORD_VERSION,)) + b"".join(parts))
        if (await replies.take(2))[1]:
            reason = "SOCKS: it does not accept the user and password"
            raise ProxyFaultError(proxy, reason, is_lasting=True)


class _SocksReplies:
    """What a SOCKS proxy sends, in pieces of known lengths."""

    def __init__(self, connection: Connection, proxy: Proxy) -> None:
        self._connection = connection
        self._proxy = proxy
        self.unread = b""

    async def take(self, size: int) -> bytes:
        """Return the next bytes, exactly so many; ProxyFaultError at the end."""
        while len(self.unread) < size:
            self.unread += await _read_some(self._connection, self._proxy)
            # A common mistake: `socks5://` in front of the address of an HTTP proxy.
            if self.unread.startswith(b"HTTP/"):
                raise ProxyFaultError(self._proxy, "it speaks HTTP, not SOCKS", is_lasting=True)
        data, self.unread = self.unread[:size], self.unread[size:]
        return data


def _encode_address(proxy: Proxy, host: str) -> bytes:
    if literal(host) is None:
        return bytes((_NAME,)) + _prefix_length(proxy, host.encode("ascii"))
    if ":" in host:
        return bytes((_IPV6,)) + socket.inet_pton(socket.AF_INET6, host)
    return bytes((_IPV4,)) + socket.inet_pton(socket.AF_INET, host)


def _prefix_length(proxy: Proxy, data: bytes) -> bytes:
    if len(data) > _LONGEST:
        reason = f"SOCKS: a name, a user or a password is longer than {_LONGEST} bytes"
        raise ProxyFaultError(proxy, reason, is_lasting=True)
    return bytes((len(data),)) + data


async def _read_some(connection: Connection, proxy: Proxy) -> bytes:
    data = await connection.read()
    if not data:
        raise ProxyFaultError(proxy, "it closed the connection")
    return data
