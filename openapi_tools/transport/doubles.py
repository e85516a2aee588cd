"""What stands in the place of a network in tests: transports, their clients and responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Respond = Callable[[httpx.Request], Awaitable[httpx.Response]]

# What a client raises if the server closes the connection, and if it does not respond.
RESET_ERROR: type[httpx.TransportError] = httpx.ReadError
TIMEOUT_ERROR: type[httpx.TransportError] = httpx.ReadTimeout


class FunctionTransport(httpx.AsyncBaseTransport):
    """A transport whose responses a function returns; it gets each request with its body read."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response of the function."""
        await request.aread()
        return await self._respond(request)


class _MockClient(httpx.AsyncClient):
    """A client for the calls of a document, which does not fetch the document itself."""

    fetches_documents = False


def make_client(
    transport: httpx.AsyncBaseTransport,
    options: Mapping[str, Any],
    *,
    needs_credentials: bool = False,
    fetches_documents: bool = True,
) -> httpx.AsyncClient:
    """Return a client for `load_tools`; the options are those of `httpx.AsyncClient`."""
    kind = httpx.AsyncClient if fetches_documents else _MockClient
    # An authentication that does nothing: with any, calls without credentials are sent.
    client_options = options if needs_credentials else {"auth": httpx.Auth(), **options}
    return kind(transport=transport, **client_options)


def make_network_transport() -> httpx.AsyncBaseTransport:
    """Return a transport over the network that keeps no connections."""
    # The document of the tools is fetched in another event loop than the calls run in.
    return httpx.AsyncHTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))


def make_response(
    status: int, headers: httpx.Headers | Mapping[str, str], content: bytes = b""
) -> httpx.Response:
    """Return a response; header values that are not ASCII are written in UTF-8."""
    lines = httpx.Headers(headers, encoding="utf-8")
    return httpx.Response(status, headers=lines, content=content)


def copy_response(value: object) -> httpx.Response | None:
    """Return a copy of a response, as each one is sent once; None for another value."""
    if not isinstance(value, httpx.Response):
        return None
    return httpx.Response(value.status_code, headers=value.headers, content=value.content)
