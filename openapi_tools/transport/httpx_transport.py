"""The HTTP transport of calls: the network policy below it, TLS and proxies decided here."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from openapi_tools.errors import CallError, MissingExtraError
from openapi_tools.transport.connections import Pool
from openapi_tools.transport.network_policy import NetworkPolicy
from openapi_tools.transport.sockets import Backend
from openapi_tools.transport.tls import client_context, trusted

try:
    from openapi_tools.transport.fast.fast_pool import FastPool
except ImportError:  # the extra `fast` is not installed
    FastPool = None  # type: ignore[assignment,misc]
from openapi_tools.urls import read_url

if TYPE_CHECKING:
    import ssl

    from openapi_tools.settings import Settings

__all__ = [
    "CERTIFICATE",
    "client_context",
    "core_proxy",
    "direct_pool",
    "make_transport",
    "proxy_of",
]

CERTIFICATE = "openapi_tools.certificate"
"""Extension of a request: the `ssl.SSLContext` that presents a client certificate."""

_MOST_OTHERS = 16
_IDLE_CONNECTIONS = 64


def make_transport(settings: Settings, policy: NetworkPolicy) -> httpx.AsyncBaseTransport:
    """Return a transport of its own connections.

    Nothing of the environment is used unless `trust_env` is set; then proxies are, as
    `urllib.request` finds them.

    Args:
        settings: For `concurrency`, `ca_file`, `trust_env` and `transport`.
        policy: Where connections may go.

    Raises:
        CallError: A file of certificate authorities cannot be read.
        MissingExtraError: As `direct_pool`.
    """
    return _Transport(settings, policy)


def proxy_of(url: httpx.URL) -> httpx.Proxy | None:
    """Return the proxy that the environment names for a URL, if it does.

    Raises:
        CallError: What it names cannot be used; the reason shows no part of it.
    """
    found = getproxies()
    address = found.get(url.scheme) or found.get("all")
    host = f"[{url.host}]" if ":" in url.host else url.host
    if not address or proxy_bypass(host):
        return None
    try:
        proxy = httpx.Proxy(read_url(address if "://" in address else f"http://{address}"))
    except ValueError:
        reason = f"the proxy that the environment names for {url.scheme} is no usable address."
        raise CallError("connection", reason, retryable=False) from None
    if proxy.url.scheme.startswith("socks") and importlib.util.find_spec("socksio") is None:
        reason = "the environment names a SOCKS proxy, which takes the package 'socksio'."
        raise CallError("connection", reason, retryable=False)
    return proxy


def core_proxy(proxy: httpx.Proxy) -> httpcore.Proxy:
    """Return a proxy as httpcore takes it."""
    url = httpcore.URL(
        scheme=proxy.url.raw_scheme,
        host=proxy.url.raw_host,
        port=proxy.url.port,
        target=proxy.url.raw_path,
    )
    return httpcore.Proxy(url, proxy.raw_auth, proxy.headers.raw)


def direct_pool(settings: Settings) -> type[Pool]:
    """Return what holds the connections that no proxy stands between.

    Args:
        settings: `transport` decides.

    Raises:
        MissingExtraError: The settings ask for `"fast"`, and httptools is not installed.
    """
    if settings.transport == "httpx" or (FastPool is None and settings.transport == "auto"):
        return Pool
    if FastPool is None:
        reason = "httptools is not installed: pip install 'openapi-tools[fast]'"
        raise MissingExtraError(reason, extra="fast")
    return FastPool


class _Over(httpx.AsyncHTTPTransport):
    """httpx's transport, which turns errors into its own, over connections made here."""

    def __init__(self, pool: Pool) -> None:
        # Not the parent's: it reads certificates and would make a pool of its own.
        self._pool: Pool = pool

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request the shortest way there is."""
        answer = await self._pool.answer(request)
        return await super().handle_async_request(request) if answer is None else answer


class _Transport(_Over):
    """The transport of one event loop.

    Requests with a client certificate have connections of their own: whoever else speaks to the
    same server does not present it.
    """

    def __init__(self, settings: Settings, policy: NetworkPolicy) -> None:
        self._settings = settings
        self._policy = policy
        self._others: dict[tuple[ssl.SSLContext | None, str], _Over] = {}
        super().__init__(self._make_pool(trusted(settings), None))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request over the connections it belongs to.

        Raises:
            CallError: `denied`, or a proxy that cannot be used.
        """
        context = request.extensions.get(CERTIFICATE)
        proxy = proxy_of(request.url) if self._settings.trust_env else None
        if context is None and proxy is None:
            return await super().handle_async_request(request)
        if proxy is not None:
            port = request.url.port or (443 if request.url.scheme == "https" else 80)
            self._policy.check_name(request.url.raw_host.decode("ascii"), port)
        return await (await self._other(context, proxy)).handle_async_request(request)

    async def aclose(self) -> None:
        """Close all connections."""
        for other in self._others.values():
            await other.aclose()
        await super().aclose()

    async def _other(self, context: ssl.SSLContext | None, proxy: httpx.Proxy | None) -> _Over:
        key = (context, "" if proxy is None else str(proxy.url))
        if key not in self._others:
            while len(self._others) >= _MOST_OTHERS:
                await self._others.pop(next(iter(self._others))).aclose()
            pool = self._make_pool(context or trusted(self._settings), proxy)
            self._others[key] = _Over(pool)
        return self._others[key]

    def _make_pool(self, context: ssl.SSLContext, proxy: httpx.Proxy | None) -> Pool:
        # A proxy stands where the user's environment says, and connects by names itself.
        policy = self._policy if proxy is None else NetworkPolicy(private=True)
        idle = min(self._settings.concurrency, _IDLE_CONNECTIONS)
        if proxy is None:
            return direct_pool(self._settings)(context, Backend(policy), idle=idle)
        return Pool(context, Backend(policy), idle=idle, proxy=core_proxy(proxy))
