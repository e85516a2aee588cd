"""Requests besides the calls themselves, over the same connections."""

from __future__ import annotations

import httpx

_NO_TIMEOUTS = {"connect": None, "read": None, "write": None, "pool": None}


class Carrier(httpx.AsyncBaseTransport):
    """A transport that sends through a client without what the client would add.

    Args:
        client: Of the toolset, or the user's; neither its authentication nor its headers or
            cookies go along, and redirects are not followed.
    """

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; its time is bounded by whoever asks for it."""
        request.extensions = {**request.extensions, "timeout": _NO_TIMEOUTS}
        return await self._client.send(request, stream=True, follow_redirects=False, auth=None)

    async def aclose(self) -> None:
        """Leave the client open: it is not this one's own."""
