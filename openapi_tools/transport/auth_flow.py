"""Authentication by an `httpx.Auth`, and the secrets that it puts into a request."""

from __future__ import annotations

import base64
import binascii
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import httpx

from openapi_tools.common.http_rules import names_credential
from openapi_tools.transport.content_codings import Decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator

_LARGEST_AUTH_BODY = 1024 * 1024  # bytes of a response that an `httpx.Auth` reads
_SHORTEST_SECRET = 8  # shorter values of added headers are versions or kinds


class DigestAuth(httpx.DigestAuth):
    """Digest authentication (RFC 7616) that returns the 401 if it cannot meet the challenge."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Authenticate as httpx does, without its errors for challenges that it cannot read."""
        with suppress(LookupError, NotImplementedError, ValueError, httpx.ProtocolError):
            yield from super().auth_flow(request)


async def send_with_auth(
    auth: httpx.Auth, client: httpx.AsyncClient, request: httpx.Request, options: dict[str, Any]
) -> httpx.Response:
    """Return the response to the last request of an authentication's flow."""
    # `client.send(request, auth=auth)` would read all responses but the last, however long they
    # are.
    if auth.requires_request_body:
        await request.aread()
    async with aclosing(auth.async_auth_flow(request)) as flow:
        step = await anext(flow)
        while True:
            response = await client.send(step, **options)
            try:
                if auth.requires_response_body and not response.is_stream_consumed:
                    response = await _read_whole(response)
                step = await flow.asend(response)
            except StopAsyncIteration:
                return response
            except BaseException:
                await response.aclose()
                raise
            await response.aclose()


async def _read_whole(response: httpx.Response) -> httpx.Response:
    decoder = Decoder(response.headers.get("content-encoding", ""), _LARGEST_AUTH_BODY)
    pieces = [piece async for data in response.aiter_raw() for piece in decoder.feed(data)]
    decoder.finish()
    await response.aclose()
    whole = httpx.Response(
        response.status_code,
        content=b"".join(pieces),
        request=response.request,
        extensions=response.extensions,
    )
    whole.headers = response.headers  # httpx would decode by them, if they were passed
    return whole


def learn_headers(
    before: Collection[tuple[str, str]], request: httpx.Request, learn: Callable[..., None]
) -> None:
    """Pass the secrets in headers that a request did not have before to `learn`."""
    for name, value in request.headers.multi_items():
        if (name, value) not in before and names_credential(name):
            word, _, rest = value.partition(" ")
            # The whole value, what follows the first word (`Bearer …`), and the values of
            # cookies.
            secrets = [value, rest, *(c.partition("=")[2] for c in value.split("; "))]
            if word.lower() == "basic":
                with suppress(binascii.Error, UnicodeDecodeError):
                    pair = base64.b64decode(rest).decode()
                    secrets += [pair, pair.partition(":")[2]]
            learn(*(secret for secret in secrets if len(secret) >= _SHORTEST_SECRET))
