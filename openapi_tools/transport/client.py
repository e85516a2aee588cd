"""The client of a toolset: it hands a request to its transport, and that is nearly all."""

from __future__ import annotations

from http.cookiejar import CookieJar
from typing import Any

import httpx


class DirectClient(httpx.AsyncClient):
    """A client that adds nothing to a request and keeps nothing of an answer.

    What httpx does beyond handing a request over (cookies, redirects, hooks, a look at the next
    place) is done here or not wanted, and takes as long as all of a call but the network. Where an
    `auth` goes along, the request goes httpx's own way.

    Args:
        transport: What sends.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        super().__init__(
            transport=transport,
            trust_env=False,  # proxies are the transport's; what is left is .netrc
            timeout=None,
            cookies=_NoCookies(),
            follow_redirects=False,
        )

    async def send(
        self, request: httpx.Request, *, stream: bool = False, auth: Any = None, **options: Any
    ) -> httpx.Response:
        """Return the answer to a request, its body unread when `stream` is set.

        Raises:
            Exception: Whatever the transport raises.
        """
        if not stream or auth is not None or self.is_closed:
            return await super().send(request, stream=stream, auth=auth, **options)
        # Asked as httpx asks, for test doubles that answer here.
        transport = self._transport_for_url(request.url)
        response = await transport.handle_async_request(request)
        response.request = request
        return response


class _NoCookies(CookieJar):
    """A jar that stays empty: what one call is told is not repeated by the next."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        """Take none."""
