"""How `serve`, `browse` and mocks read HTTP/1.1, and which requests are meant for them.

Needs uvicorn. The parser is h11 whatever else is installed: httptools, which uvicorn prefers, takes
two `Host` headers and hides the authority of an absolute target.

Spec: RFC 9112, sections 3.2, 3.2.2, 6.1 and 6.3; RFC 9110, sections 7.2 and 15.5.20.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from openapi_tools.errors import SettingsError
from openapi_tools.redaction import excerpt

if TYPE_CHECKING:
    import socket
    from collections.abc import Collection, Iterable, Iterator

logger = logging.getLogger("openapi_tools.serving")

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# DNS names, IPv4 and IPv6 addresses. RFC 3986 allows more characters in a host, but no server has
# such a name.
_AUTHORITY = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{0,5}))?", re.ASCII)
_ABSOLUTE = re.compile(r"https?://([^/?#]*)(/.*)?", re.IGNORECASE | re.DOTALL)
_LARGEST_PORT = 65535
_DEFAULT_PORT = "80"
_CAN_RESPOND = (h11.IDLE, h11.SEND_RESPONSE)


class RequestProtocol(H11Protocol):
    """Reads requests with h11, and ends a connection whose framing is broken at any moment."""

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, unless a response has started; nothing else is sent."""
        if self.cycle is not None:
            self.cycle.disconnected = True  # its app may be about to send a response
        if self.conn.our_state in _CAN_RESPOND:
            super().send_400_response(msg)
        else:
            self.transport.close()


PARSING: dict[str, Any] = {
    "http": RequestProtocol,
    "ws": "none",
    "loop": "asyncio",  # uvloop, where it is installed, would run workers and mocks only
    # A token may have 16 KiB, which is h11's default for a whole head.
    "h11_max_incomplete_event_size": 64 * 1024,
}
"""The options of `uvicorn.Config` that decide how bytes become requests."""


def make_server(app: Any) -> uvicorn.Server:
    """Return a server of an ASGI application that logs next to nothing, as tests want it."""
    return uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", **PARSING))


@contextmanager
def serve_in_thread(server: uvicorn.Server, listener: socket.socket) -> Iterator[str]:
    """Run a server on a listening socket while the body runs; yields its URL."""
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


class RequestRefusedError(Exception):
    """A request that is not served.

    Attributes:
        status: The status of the response, for instance 421.
        message: For the client; it repeats nothing of the request.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class HostCheck:
    """Refuses requests for other hosts (DNS rebinding), and those that servers read differently.

    Args:
        hosts: Names and addresses of this server; one with a port is for that port only.
        advice: The message for a client whose request names another host.
        probes: Paths that may also be requested by the IP address of the connection, as a kubelet,
            a load balancer or Prometheus does. With DNS rebinding, a request has the name of a
            foreign site instead.

    Raises:
        SettingsError: One of `hosts` is not a host.
    """

    def __init__(self, hosts: Iterable[str], *, advice: str, probes: Collection[str] = ()) -> None:
        self._hosts = {_parse_configured_host(host) for host in hosts}
        self._advice, self._probes = advice, probes

    def __call__(self, scope: Any) -> Any:
        """Return the ASGI scope of a request with its host in `Host`, and a path as its target.

        Raises:
            RequestRefusedError: 421 for another host; 400 if an absolute target has it, for
                several or malformed hosts, and for a body with two lengths.
        """
        names = [name for name, _ in scope["headers"]]
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) > 1:
            raise RequestRefusedError(400, "Send one Host header.")
        has_codings = b"transfer-encoding" in names
        if has_codings and (b"content-length" in names or scope["http_version"] == "1.0"):
            raise RequestRefusedError(400, "Send either Content-Length or Transfer-Encoding.")
        authority, scope = _split_target(scope)
        is_absolute = bool(authority)
        # Section 3.2.2: an absolute target overrides Host.
        value = authority if is_absolute else b"".join(hosts)
        host, port = _parse_authority(value.decode("latin-1"))
        if not self._is_own(scope, host, port):
            logger.warning("a request for another host, %a, is refused", excerpt(host, 100))
            raise RequestRefusedError(400 if is_absolute else 421, self._advice)
        line = f"{host}:{port}" if port else host
        other_headers = [pair for pair in scope["headers"] if pair[0] != b"host"]
        return {**scope, "headers": [(b"host", line.encode()), *other_headers]}

    def _is_own(self, scope: Any, host: str, port: str) -> bool:
        if not self._hosts.isdisjoint([(host, ""), (host, port or _DEFAULT_PORT)]):
            return True
        server = scope.get("server")
        return (
            scope["path"] in self._probes
            and server is not None
            and host == _normalize_address(server[0])
        )


class HostGuard:
    """ASGI middleware that passes only the requests that a `HostCheck` accepts."""

    def __init__(self, app: Any, check: HostCheck) -> None:
        self._app, self._check = app, check

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Run the app, or refuse the request."""
        if scope["type"] == "http":
            try:
                # In place: the connection reads from its scope who the user is, and that the
                # request was admitted.
                scope.update(self._check(scope))
            except RequestRefusedError as refused:
                await send_refusal(send, refused.status, refused.message)
                return
        await self._app(scope, receive, send)


async def send_refusal(send: Any, status: int, message: str) -> None:
    """Send a response whose body is one line, and close the connection."""
    body = message.encode()
    length = (b"content-length", b"%d" % len(body))
    headers = [(b"content-type", b"text/plain; charset=utf-8"), length, (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def normalize_host(text: str) -> str:
    """Return a host, with its port if it has one, in the form that `HostCheck` puts into `Host`.

    Raises:
        SettingsError: It is not a host.
    """
    host, port = _parse_configured_host(text)
    return f"{host}:{port}" if port else host


def _parse_configured_host(text: str) -> tuple[str, str]:
    try:
        host, port = _parse_authority(text)
    except RequestRefusedError:
        host = port = ""
    if not host:
        hint = "expected a host name or address, optionally with a port, such as tools.example.com"
        raise SettingsError(f"{excerpt(text, 100)!r} is not a host; {hint}.")
    return host, port


def _split_target(scope: Any) -> tuple[bytes, Any]:
    # The authority is empty unless the target is absolute; the scope returned has its path.
    target = scope["raw_path"].decode("latin-1")
    if target.startswith("/") or target == "*":
        return b"", scope
    match = _ABSOLUTE.fullmatch(target)
    if match is None or not match[1]:
        raise RequestRefusedError(400, "The target of the request is not a path.")
    path = match[2] or "/"
    return match[1].encode("latin-1"), {**scope, "raw_path": path.encode(), "path": unquote(path)}


def _parse_authority(text: str) -> tuple[str, str]:
    if not text:  # allowed (RFC 9110, section 7.2), and the name of no server
        return "", ""
    match = _AUTHORITY.fullmatch(text.lower())
    if match is None or int(match[2] or 0) > _LARGEST_PORT:
        raise RequestRefusedError(400, "The host of the request is malformed.")
    host, port = match[1], match[2]
    if host.startswith("["):
        host = _normalize_address(host.strip("[]"))
    return host, str(int(port)) if port else ""


def _normalize_address(text: str) -> str:
    # An IP address has many spellings; other strings are returned as they are.
    with suppress(ValueError):
        address = ipaddress.ip_address(text)
        return f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004
    return text
