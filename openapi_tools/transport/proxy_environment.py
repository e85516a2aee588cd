"""The proxies that environment variables name, and the hosts that `NO_PROXY` excludes from them.

No standard defines these variables. Names, addresses and networks are read as by curl, lower-case
variables first as by urllib, and ports as by Go.
"""

from __future__ import annotations

from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import getproxies, proxy_bypass

from openapi_tools.errors import CallError
from openapi_tools.transport.network_policy import numeric_address
from openapi_tools.transport.urls import read_url

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    import httpx

_PROXY_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_ORIGIN_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Proxy:
    """One proxy; its credentials are in no representation."""

    scheme: str  # http, https, socks5 or socks5h
    host: str
    port: int
    user: bytes = field(default=b"", repr=False)
    password: bytes = field(default=b"", repr=False)

    @property
    def address(self) -> str:
        """Host and port, for messages."""
        return join_authority(self.host, self.port)

    @property
    def is_socks(self) -> bool:
        """Whether it speaks SOCKS 5, not HTTP."""
        return self.scheme.startswith("socks")

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """What a request to the proxy itself has in addition (RFC 9110, section 11.7.2)."""
        if not self.user and not self.password:
            return []
        credentials = b64encode(self.user + b":" + self.password)
        return [(b"Proxy-Authorization", b"Basic " + credentials)]


def find_proxy(url: httpx.URL) -> Proxy | None:
    """Return the proxy for a URL, if there is one; CallError for an address that is unusable."""
    proxies = getproxies()
    address = proxies.get(url.scheme) or proxies.get("all")
    if not address or _is_excluded(url, proxies):
        return None
    try:
        return _read_proxy(address)
    except ValueError:
        reason = f"the proxy that the environment names for {url.scheme} is not a usable address"
        schemes = ", ".join(_PROXY_PORTS)
        expected = f"expected SCHEME://HOST:PORT with one of the schemes {schemes}"
        raise CallError("connection", f"{reason}; {expected}.", retryable=False) from None


def join_authority(host: str, port: int) -> str:
    """Return host and port as in a URL (RFC 3986, section 3.2)."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@lru_cache(maxsize=8)
def _read_proxy(address: str) -> Proxy:
    url = read_url(address if "://" in address else f"http://{address}")
    if url.scheme not in _PROXY_PORTS or not url.host:
        raise ValueError(url.scheme)
    user, password = url.username.encode(), url.password.encode()
    host = url.raw_host.decode("ascii")
    return Proxy(url.scheme, host, url.port or _PROXY_PORTS[url.scheme], user, password)


class _Exclusion(NamedTuple):
    """An entry of `NO_PROXY`; `*` is a name without characters."""

    name: str
    network: IPv4Network | IPv6Network | None
    port: int | None


def _is_excluded(url: httpx.URL, proxies: dict[str, str]) -> bool:
    if "no" not in proxies:
        # macOS and Windows keep exclusions in their settings, which hold if no variable is set.
        return bool(proxy_bypass(f"[{url.host}]" if ":" in url.host else url.host))
    names = {host.lower().rstrip(".") for host in (url.host, url.raw_host.decode("ascii"))}
    address: IPv4Address | IPv6Address | None = None
    with suppress(ValueError):
        address = ip_address(numeric_address(url.host) or url.host)
    port = url.port or _ORIGIN_PORTS.get(url.scheme)
    return any(
        entry.port in (None, port) and _is_match(entry, names, address)
        for entry in _read_exclusions(proxies["no"])
    )


def _is_match(
    entry: _Exclusion, names: set[str], address: IPv4Address | IPv6Address | None
) -> bool:
    if entry.network is not None:
        return address is not None and address in entry.network
    if not entry.name:
        return True
    # The end of an address is no domain: "0.1" does not mean 10.0.0.1.
    suffix = f".{entry.name}"
    return address is None and any(n == entry.name or n.endswith(suffix) for n in names)


@lru_cache(maxsize=8)
def _read_exclusions(no_proxy: str) -> tuple[_Exclusion, ...]:
    entries = map(_read_exclusion, no_proxy.replace(",", " ").split())
    return tuple(entry for entry in entries if entry is not None)


def _read_exclusion(entry: str) -> _Exclusion | None:
    host, port = _split_port(entry)
    if port and not port.isdecimal():
        return None
    number = int(port) if port else None
    with suppress(ValueError):
        return _Exclusion("", ip_network(host, strict=False), number)
    if host == "*":
        return _Exclusion("", None, number)
    name = host.lower().removeprefix("*").strip(".")
    return _Exclusion(name, None, number) if name else None


def _split_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        host, _, end = entry[1:].partition("]")
        prefix, _, port = end.partition(":")
        return host + prefix, port
    host, _, port = entry.partition(":")
    # Without brackets, more than one colon is an IPv6 address or network.
    return (entry, "") if ":" in port else (host, port)
