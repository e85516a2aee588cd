"""What credentials add to a request."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Additions:
    """Name and value pairs that are sent besides the arguments, which cannot replace them.

    Attributes:
        headers: For instance `(("Authorization", "Bearer …"),)`.
        query: Unencoded, for instance `(("api_key", "…"),)`.
        cookies: Sent as they are, for instance `(("session", "…"),)`.
    """

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    cookies: tuple[tuple[str, str], ...] = field(default=(), repr=False)
