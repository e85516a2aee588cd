"""Send requests to an ASGI application in this process, or serve those that one receives."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger("openapi_tools")


def application_client(app: Any, largest: int) -> httpx.AsyncClient:
    """Return a client that sends to an application; `largest` limits the bytes of a response."""

    async def call_app(scope: Any, receive: Any, send: Any) -> None:
        size = 0

        async def send_bounded(message: Any) -> None:
            nonlocal size
            await asyncio.sleep(0)  # so that a deadline can end a stream
            await send(message)  # httpx reads the whole body, and reports one that is too large
            size += len(message.get("body", b""))
            if size > largest:
                raise OSError(f"the response has more than {largest:,} bytes")

        try:
            await app(scope, receive, send_bounded)
        except Exception:
            logger.exception("the application failed at %s", scope["path"])
            raise

    return httpx.AsyncClient(transport=httpx.ASGITransport(call_app, raise_app_exceptions=False))


async def serve_request(
    respond: Callable[[httpx.Request], Awaitable[httpx.Response]],
    base_url: str,
    scope: Any,
    receive: Any,
    send: Any,
) -> None:
    """Send the response that a function returns for a request to an application.

    If the function raises a timeout, nothing is sent until the client disconnects; any other
    transport error ends the connection in the middle of a response.

    Args:
        respond: The function.
        base_url: What the URL of the request begins with.
        scope: The request, as ASGI has it.
        receive: Returns the parts of its body.
        send: Sends the parts of the response.
    """
    request = await _read_request(base_url, scope, receive)
    try:
        response = await respond(request)
    except httpx.TimeoutException:
        while (await receive())["type"] != "http.disconnect":
            pass
        return
    except httpx.TransportError:
        response = httpx.Response(200, headers={"content-length": "1"})
    lines = [(name.lower(), value) for name, value in response.headers.raw]
    status = response.status_code
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": response.content})


async def _read_request(base_url: str, scope: Any, receive: Any) -> httpx.Request:
    body = b""
    while (message := await receive()).get("more_body"):
        body += message["body"]
    body += message.get("body", b"")
    raw = scope.get("raw_path") or scope["path"].encode()
    path = raw.removeprefix(scope.get("root_path", "").encode())
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    url = base_url + (path + query).decode("ascii")
    return httpx.Request(scope["method"], url, headers=scope["headers"], content=body)
