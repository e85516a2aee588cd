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


# By class, the function that was found to be its own.
_own_functions: dict[type, object] = {}


def is_doubled() -> bool:
    """Whether a test double has replaced a sending function of httpx or httpcore."""
    return _is_replaced(httpx.AsyncHTTPTransport) or _is_replaced(httpcore.AsyncConnectionPool)


async def send_to_double(
    request: httpx.Request, policy: NetworkPolicy, context: ssl.SSLContext
) -> httpx.Response:
    """Send a request by httpx; where the double lets it pass, its address is judged first."""
    host = request.url.raw_host.decode("ascii")
    port = request.url.port or (443 if request.url.scheme == "https" else 80)
    request.extensions["trace"] = partial(_judge, policy, host, port)
    transport = httpx.AsyncHTTPTransport(
        verify=context, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
    )
    return await transport.handle_async_request(request)


def _is_replaced(owner: Any) -> bool:
    function = owner.handle_async_request
    if function is _own_functions.get(owner):
        return False
    while not inspect.isfunction(function) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__  # of a tracer; calls have spans of their own
    if not inspect.isfunction(function):
        return True  # a mock
    # A double may be there when this module is imported, so that the function of that moment proves
    # nothing. Wrappers copy a function's names, but not the file in which it was written.
    if inspect.getfile(function) != inspect.getfile(inspect.unwrap(owner.aclose)):
        return True
    _own_functions[owner] = function
    return False


async def _judge(
    policy: NetworkPolicy, host: str, port: int, event: str, info: dict[str, Any]
) -> None:
    """Judge the address of a new connection, as httpcore's extension `trace` reports it."""
    if event == "connection.connect_tcp.complete":
        stream = info["return_value"]
        try:
            policy.check(host, port, [stream.get_extra_info("server_addr")[0]])
        except BaseException:
            await stream.aclose()
            raise
