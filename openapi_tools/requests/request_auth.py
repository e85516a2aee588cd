"""The part of a request that credentials add."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class RequestAuth:
    """Sent besides the arguments, which cannot replace it.

    Attributes:
        headers: Name and value pairs, for instance `(("Authorization", "Bearer …"),)`.
        query: Unencoded, for instance `(("api_key", "…"),)`.
        cookies: Sent unchanged, for instance `(("session", "…"),)`.
        httpx_auth: An `httpx.Auth` that sees the finished request and its answer.
        certificate: A TLS context that presents a client certificate.
    """

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    cookies: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    httpx_auth: Any = field(default=None, repr=False)
    certificate: ssl.SSLContext | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        pairs = self.headers or self.query or self.cookies
        return bool(pairs) or self.httpx_auth is not None or self.certificate is not None


def joined(parts: Iterable[RequestAuth]) -> RequestAuth:
    """Return one value for all schemes of a requirement; at most one has `httpx_auth`."""
    parts = [part for part in parts if part]
    return RequestAuth(
        headers=tuple(pair for part in parts for pair in part.headers),
        query=tuple(pair for part in parts for pair in part.query),
        cookies=tuple(pair for part in parts for pair in part.cookies),
        httpx_auth=next((p.httpx_auth for p in parts if p.httpx_auth is not None), None),
        certificate=next((p.certificate for p in parts if p.certificate is not None), None),
    )
