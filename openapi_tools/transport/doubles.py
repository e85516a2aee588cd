"""Test doubles that replace the sending functions of httpx or httpcore, as respx does.

The toolset's own connections do not pass these functions, so that a request has to be given to
them where a double has taken their place.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

if TYPE_CHECKING:
    import ssl

    from openapi_tools.transport.network_policy import NetworkPolicy


# The functions of httpx and httpcore that no double has replaced, by class.
_genuine_functions: dict[type, object] = {}


def is_doubled() -> bool:
    """Whether a test double has replaced a sending function of httpx or httpcore."""
    return _is_replaced(httpx.AsyncHTTPTransport) or _is_replaced(httpcore.AsyncConnectionPool)


def _is_replaced(owner: Any) -> bool:
    function = owner.handle_async_request
    if function is _genuine_functions.get(owner):
        return False
    while not inspect.isfunction(function) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__  # of a tracer; calls have spans of their own
    if not inspect.isfunction(function):
        return True  # a mock
    # A double may be there when this module is imported, so that the function of that moment proves
    # nothing. Wrappers copy a function's names, but not the file in which it was written.
    if inspect.getfile(function) != inspect.getfile(inspect.unwrap(owner.aclose)):
        return True
    _genuine_functions[owner] = function
    return False


class DoubledTransports:
    """The transports of httpx through which a pool gives its requests to a test double."""

    def __init__(self, policy: NetworkPolicy) -> None:
        self._policy = policy
        self._transports: dict[ssl.SSLContext, httpx.AsyncHTTPTransport] = {}

    async def send(self, request: httpx.Request, context: ssl.SSLContext) -> httpx.Response:
        """Send a request by httpx; a double may let it pass to a server."""
        host = request.url.raw_host.decode("ascii")
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        request.extensions["trace"] = partial(self._check_address, host, port)
        if context not in self._transports:
            # Only new connections are checked, so that none is kept for another host's policy.
            limits = httpx.Limits(max_keepalive_connections=0)
            self._transports[context] = httpx.AsyncHTTPTransport(
                verify=context, trust_env=False, limits=limits
            )
        return await self._transports[context].handle_async_request(request)

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            await transport.aclose()

    async def _check_address(self, host: str, port: int, event: str, info: dict[str, Any]) -> None:
        # After the connection, since httpcore resolves the name itself: only now is the address
        # known. Nothing of the request has been sent yet.
        if event == "connection.connect_tcp.complete":
            stream = info["return_value"]
            try:
                self._policy.check(host, port, [stream.get_extra_info("server_addr")[0]])
            except BaseException:
                await stream.aclose()
                raise
