"""An `httpx.Auth` driven without surprises: httpx reads the answers it passes over, unbounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from openapi_tools.transport.content_encoding import Decoder

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_LARGEST = 1024 * 1024


class Bounded(httpx.Auth):
    """Does what another one does, and reads no more of an answer than that needs.

    Args:
        inner: What authenticates.
    """

    def __init__(self, inner: httpx.Auth) -> None:
        self._inner = inner
        self.requires_request_body = inner.requires_request_body

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Yield requests, and take the answers to them."""
        if self.requires_request_body:
            await request.aread()
        flow = self._inner.async_auth_flow(request)
        try:
            step = await anext(flow)
            while True:
                response = yield step
                if self._inner.requires_response_body:
                    await _read(response)
                step = await flow.asend(response)
                await response.aclose()
                # httpx reads what is passed over; there is nothing left to read.
                response.stream = httpx.ByteStream(b"")
                response._content = b""  # noqa: SLF001 -- no other way to say that it was read
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()


async def _read(response: httpx.Response) -> None:
    """Read an answer for an authentication that wants to see it.

    Raises:
        CallError: It is too large, or its coding is broken.
    """
    decoder = Decoder(response.headers.get("content-encoding", ""), _LARGEST)
    pieces: list[bytes] = []
    async for data in response.aiter_raw():
        pieces.extend(decoder.feed(data))
    decoder.finish()
    response._content = b"".join(pieces)  # noqa: SLF001 -- as above
