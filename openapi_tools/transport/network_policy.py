"""Where connections may go: one policy for calls, token requests, documents and their `$ref`.

A document from the internet must not open a way to hosts behind the reader's firewall. Names prove
nothing: all addresses are judged, and the connection is made to one that was judged.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError
from openapi_tools.redaction import excerpt
from openapi_tools.transport.urls import InvalidUrlError, read_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.settings import Settings

# A resolver that does not respond takes minutes for each name, and its threads cannot be ended.
_MOST_LOOKUPS = 64

# Not the tables of `ipaddress`: they differ between versions of Python, and addresses that clouds
# use are missing there.
# 168.63.129.16 is Azure's, a public address by its number. 64:ff9b:1::/48 is NAT64 inside one
# network, which chooses where the IPv4 address is.
_SPECIAL = {
    "cloud metadata": "169.254.169.254 168.63.129.16 100.100.100.200 192.0.0.192 "
    "fd00:ec2::254 fd20:ce::254",
    "loopback": "127.0.0.0/8 ::1",
    "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fec0::/10 64:ff9b:1::/48",
    "link-local": "169.254.0.0/16 fe80::/10",
    "unique-local": "fc00::/7",
    "carrier-grade NAT": "100.64.0.0/10",
    "unspecified": "0.0.0.0 ::",
    "multicast": "224.0.0.0/4 ff00::/8",
    "reserved": "0.0.0.0/8 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 "
    "198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 2001:db8::/32 3fff::/20",
}
_NETWORKS = tuple(
    (ip_network(n), kind) for kind, listed in _SPECIAL.items() for n in listed.split()
)
_CARRIERS = {  # networks with an IPv4 address from a byte on
    IPv6Network("::ffff:0:0/96"): 12,  # mapped
    IPv6Network("::ffff:0:0:0/96"): 12,  # translated
    IPv6Network("::/96"): 12,  # compatible
    IPv6Network("64:ff9b::/96"): 12,  # NAT64
    IPv6Network("2002::/16"): 2,  # 6to4
    IPv6Network("2001::/32"): 4,  # Teredo: its server; the client is inverted at the end
}
_TEREDO = IPv6Network("2001::/32")
_PROTOCOLS = IPv6Network("2001::/23")
_GLOBAL = IPv6Network("2000::/3")
# RFC 5214, section 6.1: the interface identifier that holds an IPv4 address, local or global.
_ISATAP = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")


@dataclass(frozen=True)
class NetworkPolicy:
    """Where connections may go."""

    private: bool  # whether loopback, private and similar addresses may be reached
    exempt: tuple[str, int] | None = None  # the host and port of the user's own API

    def check(self, host: str, port: int, addresses: Iterable[str]) -> None:
        """Refuse a host (CallError, `denied`) when one of its addresses is not a public one."""
        # The user named this host in `base_url`; a document that names it gains nothing.
        if self.private or (host.lower(), port) == self.exempt:
            return
        for kind in filter(None, map(kind_of, addresses)):
            article = "an" if kind[0] in "aeiou" and kind != "unique-local" else "a"
            reason = (
                f"the host {excerpt(host, 100)!r} has {article} {kind} address, which is "
                "guarded; Settings(allow_private=True) allows it."
            )
            raise CallError("denied", reason, retryable=False)

    def check_name(self, host: str, port: int) -> None:
        """Refuse a host by its name alone, for connections that a proxy makes."""
        if address := _address_of(host):
            self.check(host, port, [address])


class DocumentPolicy(NetworkPolicy):
    """Where one document may be fetched from; its redirects stay public after a public address."""

    def __init__(self, settings: Settings, *, public: bool) -> None:
        super().__init__(private=True)
        self._settings = settings
        self.public = public

    def check(self, host: str, port: int, addresses: Iterable[str]) -> None:
        """As `NetworkPolicy.check`; notes a public address."""
        addresses = list(addresses)
        policy_of(self._settings, public_document=self.public).check(host, port, addresses)
        self.public = self.public or any(not kind_of(address) for address in addresses)

    def check_name(self, host: str, port: int) -> None:
        """As `NetworkPolicy.check_name`; a name whose address is unknown counts as public."""
        super().check_name(host, port)
        self.public = self.public or _address_of(host) is None


def policy_of(settings: Settings, *, public_document: bool = False) -> NetworkPolicy:
    """Return where the tools of a document may go; `allow_private` comes before its own address."""
    if settings.allow_private is not None:
        return NetworkPolicy(settings.allow_private)
    exempt = None
    with suppress(InvalidUrlError):
        if settings.base_url is not None:
            url = read_url(settings.base_url)
            port = url.port or (443 if url.scheme == "https" else 80)
            exempt = url.raw_host.decode("ascii").lower(), port
    return NetworkPolicy(private=not public_document, exempt=exempt)


def kind_of(address: str) -> str:
    """Return the kind of an address (RFC 6890), such as `"private"`; empty for a public one."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    kind = next((kind for network, kind in _NETWORKS if ip in network), "")
    if kind or isinstance(ip, IPv4Address):
        return kind
    inner = next(filter(None, map(kind_of, map(str, _embedded_addresses(ip)))), "")
    if inner or any(ip in network for network in _CARRIERS):
        return inner
    return "" if ip in _GLOBAL and ip not in _PROTOCOLS else "reserved"


def literal(host: str) -> str | None:
    """Return a host that is an address in its usual form; None for a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return host
    return None


@lru_cache(maxsize=1024)
def _address_of(host: str) -> str | None:
    name = host.lower().rstrip(".")
    # RFC 6761, section 6.3: always the loopback, without asking DNS.
    if name == "localhost" or name.endswith(".localhost"):
        return "127.0.0.1"
    return numeric_address(name)


def numeric_address(host: str) -> str | None:
    """Return a host that is an address in any form; None for a name."""
    if (address := literal(host)) is not None:
        return address
    with suppress(OSError, ValueError):
        # `127.1`, `0x7f.1` or `2130706433`, as the C library reads them.
        return socket.inet_ntoa(socket.inet_aton(host))
    return None


def _embedded_addresses(address: IPv6Address) -> Iterator[IPv4Address]:
    packed = address.packed
    for network, offset in _CARRIERS.items():
        if address in network:
            yield IPv4Address(packed[offset : offset + 4])
    if address in _TEREDO:
        yield IPv4Address(bytes(byte ^ 0xFF for byte in packed[12:]))
    if packed[8:12] in _ISATAP:
        yield IPv4Address(packed[12:])


# Not the loop's default executor: hanging lookups would take its few threads from all other
# work, and `asyncio.run` would wait for them at its end.
class _Lookup(threading.Thread):
    """A thread of its own class, so that lookups that hang can be counted."""


async def look_up(host: str, port: int) -> list[Any]:
    """Return `socket.getaddrinfo` for TCP, from a thread of its own, as a lookup may hang."""
    if sum(isinstance(thread, _Lookup) for thread in threading.enumerate()) >= _MOST_LOOKUPS:
        raise OSError(f"{_MOST_LOOKUPS} other lookups are waiting")
    future: Future[list[Any]] = Future()
    future.set_running_or_notify_cancel()  # or a cancelled task would cancel it

    def run() -> None:
        try:
            future.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            future.set_exception(error)

    _Lookup(target=run, name=f"look up {host:.60}", daemon=True).start()
    return await asyncio.wrap_future(future)
