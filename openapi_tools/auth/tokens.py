"""Access tokens and refresh tokens, and their form where they are stored (RFC 6749, 1.4 and 1.5).

Nothing here needs the network's modules: a command line checks its file of tokens without them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeGuard

from openapi_tools.auth.origin_policy import is_protected
from openapi_tools.redaction import Secret

LONGEST_TOKEN = 16 * 1024  # characters of a token; few servers take half as many in a header
_SENDABLE = re.compile(r"[\x21-\x7e]+")
_KEY_FIELDS = ("origin", "scheme", "client_id", "token_endpoint")


@dataclass(frozen=True, slots=True)
class Token:
    """An access token and its refresh token; times are in seconds since the epoch."""

    access: Secret
    refresh: Secret | None = None
    issued_at: float = 0.0
    expires_at: float | None = None  # None if unknown
    scopes: frozenset[str] | None = None  # None if a user chose them

    def is_due(self, now: float) -> bool:
        """Whether it is time to replace it: a little before it expires."""
        if self.expires_at is None:
            return False
        # A token of one minute must not be fetched for each call.
        return now >= self.expires_at - min(30.0, max(self.expires_at - self.issued_at, 0.0) / 4)

    def is_over(self, now: float) -> bool:
        """Whether it has expired."""
        return self.expires_at is not None and now >= self.expires_at

    def covers(self, scopes: frozenset[str]) -> bool:
        """Whether it was requested with these scopes, or with unknown ones."""
        return self.scopes is None or scopes <= self.scopes

    def secrets(self) -> tuple[str, ...]:
        """Return both tokens, for a redactor."""
        return tuple(part.reveal() for part in (self.access, self.refresh) if part)


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A stored token, for an API's origin, a scheme's name and a client."""

    origin: str
    scheme: str
    client_id: str
    token_endpoint: str
    token: Token

    @property
    def key(self) -> tuple[str, str, str]:
        """The API, scheme and client."""
        return self.origin, self.scheme, self.client_id


def is_sendable(text: object) -> TypeGuard[str]:
    """Whether a value can be sent in a header, as a token is (RFC 6750, section 2.1)."""
    return isinstance(text, str) and len(text) <= LONGEST_TOKEN and bool(_SENDABLE.fullmatch(text))


def token_record(stored: StoredToken) -> dict[str, Any]:
    """Return a stored token as JSON, with its secrets."""
    token = stored.token
    return {
        **{name: getattr(stored, name) for name in _KEY_FIELDS},
        "access_token": token.access.reveal(),
        "refresh_token": token.refresh.reveal() if token.refresh else None,
        "issued_at": token.issued_at,
        "expires_at": token.expires_at,
        "scopes": None if token.scopes is None else sorted(token.scopes),
    }


def read_token_record(item: dict[str, Any]) -> StoredToken:
    """Return a stored token from JSON; ValueError, TypeError, LookupError, OverflowError."""
    names = {name: item[name] for name in _KEY_FIELDS}
    access, refresh, expires_at = item["access_token"], item["refresh_token"], item["expires_at"]
    if not all(isinstance(name, str) for name in names.values()) or not is_sendable(access):
        raise TypeError
    if not is_protected(names["token_endpoint"]) or not (refresh is None or is_sendable(refresh)):
        raise TypeError
    token = Token(
        Secret(access),
        None if refresh is None else Secret(refresh),
        issued_at=float(item["issued_at"]),
        expires_at=None if expires_at is None else float(expires_at),
        scopes=None if item["scopes"] is None else frozenset(map(str, item["scopes"])),
    )
    return StoredToken(**names, token=token)
