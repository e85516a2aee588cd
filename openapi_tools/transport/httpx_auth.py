"""Authentication by `httpx.Auth`: flows driven with bounded reading, and digest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from openapi_tools.transport.content_encoding import Decoder

if TYPE_CHECKING:
    from collections.abc import Generator

_LARGEST = 1024 * 1024
_FAULTS = (LookupError, NotImplementedError, ValueError, httpx.ProtocolError)
"""Raised by httpx for a challenge that it cannot read, or does not know."""


class Digest(httpx.Auth):
    """Answers a digest challenge; one that cannot be answered leaves the 401.

    Spec: RFC 7616.

    Args:
        user: Of the account.
        password: Of the account.
    """

    def __init__(self, user: str, password: str) -> None:
        self._inner = httpx.DigestAuth(user, password)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Do what httpx does."""
        flow = self._inner.auth_flow(request)
        try:
            step = next(flow)
            while True:
                response = yield step
                step = flow.send(response)
        except (StopIteration, *_FAULTS):
            return


async def send_with(
    auth: httpx.Auth, client: httpx.AsyncClient, request: httpx.Request, options: dict[str, Any]
) -> httpx.Response:
    """Return the answer to the last request of an authentication's flow.

    httpx would read the answers before it, however long they are.

    Args:
        auth: May send the request again, and others before it.
        client: Sends each of them.
        request: The request of the call.
        options: Arguments of `client.send`.

    Raises:
        CallError: An answer that the authentication wants to read is too large or badly coded.
        Exception: As the client and the authentication raise it.
    """
    if auth.requires_request_body:
        await request.aread()
    flow = auth.async_auth_flow(request)
    try:
        step = await anext(flow)
        while True:
            response = await client.send(step, **options)
            try:
                if auth.requires_response_body:
                    response = await _read(response)
                step = await flow.asend(response)
            except StopAsyncIteration:
                return response
            except BaseException:
                await response.aclose()
                raise
            await response.aclose()
    finally:
        await flow.aclose()


async def _read(response: httpx.Response) -> httpx.Response:
    """Return an answer with its content."""
    decoder = Decoder(response.headers.get("content-encoding", ""), _LARGEST)
    pieces: list[bytes] = []
    if response.is_stream_consumed:
        return response
    async for data in response.aiter_raw():
        pieces.extend(decoder.feed(data))
    decoder.finish()
    await response.aclose()
    read = httpx.Response(
        response.status_code,
        content=b"".join(pieces),
        request=response.request,
        extensions=response.extensions,
    )
    read.headers = response.headers
    return read
