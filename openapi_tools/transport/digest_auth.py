"""HTTP's digest authentication, for servers that get it wrong too.

Spec: RFC 7616.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import Generator

_FAULTS = (LookupError, NotImplementedError, ValueError, httpx.ProtocolError)
"""What httpx raises over a challenge that it cannot read, or does not know."""


class Digest(httpx.Auth):
    """Answers a challenge; one that cannot be answered leaves the 401 as it is.

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
