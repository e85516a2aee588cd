"""Fetch a document over HTTP: one deadline over everything, bounded decoding, one origin.

httpx bounds each single read, so that a server that sends a byte now and then is never late. Here
the clock is looked at before every read, also those of the headers and of the TLS handshake. Where
connections may go is decided by the same policy as for calls.
"""

from __future__ import annotations

import base64
import queue
import re
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import httpcore
import httpx

from openapi_tools._version import __version__
from openapi_tools.errors import CallError, SourceError
from openapi_tools.loader.source import too_large
from openapi_tools.runtime.sending import network
from openapi_tools.runtime.sending.codings import CODINGS, Decoder
from openapi_tools.runtime.sending.redirects import REDIRECT_STATUSES, redirected
from openapi_tools.runtime.sending.tls import TlsError, in_words, trusted
from openapi_tools.runtime.sending.transport import core_proxy, proxy_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from openapi_tools.runtime.settings import Settings

_HEADERS = {
    "Accept": "application/json, application/yaml;q=0.9, */*;q=0.5",
    "Accept-Encoding": CODINGS,
    "User-Agent": f"openapi-tools/{__version__}",
    "Connection": "close",
}
_OK = 200
_NOT_MODIFIED = 304
_CONDITIONS = frozenset({"if-none-match", "if-modified-since"})
_SERVER_ERRORS = 500
_ETAG = re.compile(r'(W/)?"[!#-~]{0,500}"')
_DATE = re.compile(r"[ -~]{1,60}")
_LARGEST_PORT = 65535


class Fetched(NamedTuple):
    """A document as it was sent.

    Attributes:
        data: The body, content codings undone; None when the server says that it is the same still.
        uri: The URL after redirects, without user, password and fragment.
        name: The URL that was asked for, without query as well.
        public: It came from an address of the public internet, or through a proxy, which may stand
            for any.
        etag: What the server calls this version of it; empty when it does not say, or no good name.
        modified: When it last changed, as the server says it; empty as above.
        keep: The server does not forbid to keep it (`no-store`).
    """

    data: bytes | None
    uri: str
    name: str
    public: bool
    etag: str = ""
    modified: str = ""
    keep: bool = True


def get(
    url: str,
    settings: Settings,
    *,
    deadline: float,
    found_in_public: bool = False,
    etag: str = "",
    modified: str = "",
) -> Fetched:
    """Fetch a document.

    Args:
        url: An absolute http or https URL.
        settings: For `max_document_bytes`, `allow_private`, `ca_file` and `trust_env`.
        deadline: `time.monotonic()` by which the last byte has to be there.
        found_in_public: The URL stood in a document that came from a public address; this one may
            not come from another kind, unless `allow_private` says so.
        etag: Of the version that is at hand, which need not be sent again.
        modified: When that version last changed.

    Raises:
        SourceError: It could not be had; the reason never holds user, password or query.
    """
    request = _request(url, _conditions(etag, modified))
    name = str(request.url.copy_with(query=None))
    limit = settings.max_document_bytes
    try:
        with _Transport(settings, deadline, found_in_public=found_in_public) as transport:
            response = _follow(transport, request)
            same = response.status_code == _NOT_MODIFIED
            data = None if same else b"".join(_pieces(response, limit))
            public = transport.public
    except CallError as error:
        if error.kind == "too_large":
            raise too_large(limit, name) from None
        passing = error.facts.get("status", 0) >= _SERVER_ERRORS  # type: ignore[operator]  # a number
        raise SourceError(error.reason, source=name, passing=passing) from None
    except httpcore.TimeoutException:
        reason = "no complete answer in time (timeout)."
        raise SourceError(reason, source=name, passing=True) from None
    except (httpcore.NetworkError, httpcore.ProxyError) as error:
        reason = f"the connection failed: {error}."
        raise SourceError(reason, source=name, passing=True) from None
    except (httpcore.ProtocolError, httpx.InvalidURL):
        raise SourceError("the answer is broken, or no HTTP.", source=name) from None
    return Fetched(data, str(response.request.url), name, public, **_told(response))


def _conditions(etag: str, modified: str) -> dict[str, str]:
    """Return the headers that ask for another version than the one at hand (RFC 9110, 13.1)."""
    if etag:
        return {"If-None-Match": etag}
    return {"If-Modified-Since": modified} if modified else {}


def _told(response: httpx.Response) -> dict[str, Any]:
    """Return what a server says of the version that it sent, and whether it may be kept."""
    etag, modified = (response.headers.get(name, "") for name in ("etag", "last-modified"))
    directives = response.headers.get("cache-control", "").lower().replace(" ", "").split(",")
    return {
        "etag": etag if _ETAG.fullmatch(etag) else "",
        "modified": modified if _DATE.fullmatch(modified) else "",
        "keep": "no-store" not in directives,
    }


def _request(url: str, conditions: dict[str, str]) -> httpx.Request:
    """Return the request for a URL; user and password become a header."""
    try:
        address = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        raise SourceError("the URL is not valid.") from None
    bare = address.copy_with(userinfo=b"", fragment=None)
    if not address.host or (address.port or 0) > _LARGEST_PORT:
        raise SourceError("the URL has no host, or no possible port.")
    headers = _HEADERS | conditions
    if address.userinfo:
        pair = f"{address.username}:{address.password}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    return httpx.Request("GET", bare, headers=headers)


def _follow(transport: _Transport, request: httpx.Request) -> httpx.Response:
    """Return the answer to a request, redirects inside the origin followed."""
    followed = 0
    is_conditional = not _CONDITIONS.isdisjoint(request.headers)
    while True:
        response = transport.handle_request(request)
        response.request = request
        if response.status_code == _OK or (
            response.status_code == _NOT_MODIFIED and is_conditional
        ):
            return response
        moved = response.status_code in REDIRECT_STATUSES
        target = redirected(request, response, followed) if moved else None
        response.close()
        if target is None:
            status = response.status_code
            raise CallError("http", f"the server answered with status {status}.", status=status)
        request, followed = target, followed + 1


def _pieces(response: httpx.Response, limit: int) -> Iterator[bytes]:
    """Yield the body, content codings undone, while it stays below the limit."""
    declared = response.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit:
        raise CallError("too_large", "")
    decoder = Decoder(response.headers.get("content-encoding", ""), limit)
    left = limit
    for chunk in response.iter_raw():
        for piece in decoder.feed(chunk):
            left -= len(piece)
            if left < 0:
                raise CallError("too_large", "")
            yield piece
    decoder.finish()


class _Transport(httpx.BaseTransport):
    """One connection after another, all of them under one deadline."""

    def __init__(self, settings: Settings, deadline: float, *, found_in_public: bool) -> None:
        self._settings = settings
        self._deadline = deadline
        self._context = trusted(settings)
        self._pools: list[httpcore.ConnectionPool] = []
        self.public = found_in_public

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        answer = self._pool(url).handle_request(
            httpcore.Request(
                request.method,
                httpcore.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
            )
        )
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer))

    def close(self) -> None:
        for pool in self._pools:
            pool.close()

    def _pool(self, url: httpx.URL) -> httpcore.ConnectionPool:
        """Return a pool for one connection: what is public is not known before the one before."""
        # Once something public has answered, what follows is its word and not the user's.
        policy = network.policy_of(self._settings, public_document=self.public)
        proxy = proxy_of(url) if self._settings.trust_env else None
        backend = _Backend(policy, self._deadline, self._note)
        if proxy is not None:
            port = url.port or (443 if url.scheme == "https" else 80)
            policy.check_name(url.raw_host.decode("ascii"), port)
            self.public = True
            anywhere = network.NetworkPolicy(private=True)
            backend = _Backend(anywhere, self._deadline, lambda _: None)
        pool = httpcore.ConnectionPool(
            ssl_context=self._context,
            network_backend=backend,
            proxy=None if proxy is None else core_proxy(proxy),
        )
        self._pools.append(pool)
        return pool

    def _note(self, address: str) -> None:
        """Note where a connection led."""
        self.public = self.public or not network.kind_of(address)


class _Body(httpx.SyncByteStream):
    """The body of an answer, as it arrives."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        return self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


class _Backend(httpcore.NetworkBackend):
    """Opens connections whose every step ends by a deadline."""

    def __init__(
        self, policy: network.NetworkPolicy, deadline: float, note: Callable[[str], None]
    ) -> None:
        self._policy = policy
        self._deadline = deadline
        self._note = note
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Try the host's addresses in turn, each for its share of the time."""
        addresses = _addresses(host, port, _left(self._deadline, timeout, httpcore.ConnectTimeout))
        self._policy.check(host, port, addresses)
        fault: Exception = httpcore.ConnectError("the host has no address")
        for number, address in enumerate(addresses):
            left = _left(self._deadline, timeout, httpcore.ConnectTimeout)
            share = left / (len(addresses) - number)
            try:
                stream = self._inner.connect_tcp(
                    address, port, share, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                fault = error
            else:
                self._note(address)
                return _Stream(stream, self._deadline)
        raise fault


class _Stream(httpcore.NetworkStream):
    """A connection whose every step ends by a deadline."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: float) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(self._deadline, timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left(self._deadline, timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(self._deadline, timeout, httpcore.ConnectTimeout)
        name = server_hostname and server_hostname.rstrip(".")
        try:
            return _Stream(self._inner.start_tls(ssl_context, name, left), self._deadline)
        except httpcore.ConnectError as error:
            if isinstance(error.__cause__, ssl.SSLError):
                raise TlsError(in_words(error.__cause__)) from error
            raise

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _addresses(host: str, port: int, left: float) -> list[str]:
    """Return the IP addresses of a host, in the seconds that are left.

    The system's resolver cannot be told when to give up, so a thread waits for it that the end of
    the process does not wait for.
    """
    if network.literal(host) is not None:
        return [host]
    answers: queue.SimpleQueue[list[str] | str] = queue.SimpleQueue()
    threading.Thread(target=_resolve, args=(host, port, answers), daemon=True).start()
    try:
        answer = answers.get(timeout=left)
    except queue.Empty:
        raise httpcore.ConnectTimeout from None
    if isinstance(answer, str):
        raise httpcore.ConnectError(f"the host is not known ({answer})")
    return answer


def _resolve(host: str, port: int, answers: queue.SimpleQueue[list[str] | str]) -> None:
    """Put the addresses of a host where they are waited for, or the name of the error."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        answers.put(type(error).__name__)
    else:
        answers.put([str(address[0]) for *_, address in found])


def _left(deadline: float, timeout: float | None, late: type[Exception]) -> float:
    """Return the seconds that a step may take: until the deadline, or less when asked for."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise late
    return left if timeout is None else min(left, timeout)
