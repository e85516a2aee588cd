"""Test doubles of the network: transports, their clients and responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Respond = Callable[[httpx.Request], Awaitable[httpx.Response]]

# Raised by a client whose server closes the connection, or does not respond.
RESET_ERROR: type[httpx.TransportError] = httpx.ReadError
TIMEOUT_ERROR: type[httpx.TransportError] = httpx.ReadTimeout


class FunctionTransport(httpx.AsyncBaseTransport):
    """A transport that gets its responses from a function; request bodies have been read."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response of the function."""
        await request.aread()
        return await self._respond(request)


class _MockClient(httpx.AsyncClient):
    """A client for calls only: `load_tools` fetches the document without it."""

    fetches_documents = False


def make_client(
    transport: httpx.AsyncBaseTransport,
    options: Mapping[str, Any],
    *,
    needs_credentials: bool = False,
    fetches_documents: bool = True,
) -> httpx.AsyncClient:
    """Return a client for `load_tools`.

    Args:
        transport: Sends the requests.
        options: Options of `httpx.AsyncClient`.
        needs_credentials: Whether a call without its credentials is refused, as usual.
        fetches_documents: Whether documents are fetched with this client, too.
    """
    kind = httpx.AsyncClient if fetches_documents else _MockClient
    # A client with `auth` sends calls without credentials; this one adds nothing.
    client_options = options if needs_credentials else {"auth": httpx.Auth(), **options}
    return kind(transport=transport, **client_options)


def make_network_transport() -> httpx.AsyncBaseTransport:
    """Return a transport over the network that keeps no connections."""
    # Documents are fetched in another event loop than that of the calls.
    return httpx.AsyncHTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))


def make_response(
    status: int, headers: httpx.Headers | Mapping[str, str], content: bytes = b""
) -> httpx.Response:
    """Return a response; header values that are not ASCII are written in UTF-8."""
    lines = httpx.Headers(headers, encoding="utf-8")
    return httpx.Response(status, headers=lines, content=content)


def copy_response(value: object) -> httpx.Response | None:
    """Return a copy of a response, as each can be sent only once; None for other values."""
    if not isinstance(value, httpx.Response):
        return None
    return httpx.Response(value.status_code, headers=value.headers, content=value.content)
