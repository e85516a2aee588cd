"""A token, and what a token endpoint may answer."""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from openapi_tools.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

_LEEWAY = 30.0
_PART = 4
_LONGEST_LIFE = 10 * 365 * 86400.0
_LONGEST = 16 * 1024
"""Characters of a token; few servers take a header line that is longer than half of this."""
_USABLE = re.compile(r"[\x21-\x7e]+")
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class Token:
    """What lets a client in for some time.

    Attributes:
        access: Sent to the API.
        refresh: Exchanged for the next token; None when there is none.
        issued_at: Seconds since the epoch.
        expires_at: As above; None when nobody said.
        scopes: Those that were asked for; None when nobody knows, as a person chose them.
    """

    access: Secret
    refresh: Secret | None = None
    issued_at: float = 0.0
    expires_at: float | None = None
    scopes: frozenset[str] | None = None

    def is_due(self, now: float) -> bool:
        """Whether it is time for the next one: a little before it expires."""
        if self.expires_at is None:
            return False
        # A token for a minute must not be fetched anew for each call.
        leeway = min(_LEEWAY, max(self.expires_at - self.issued_at, 0.0) / _PART)
        return now >= self.expires_at - leeway

    def is_over(self, now: float) -> bool:
        """Whether it has expired."""
        return self.expires_at is not None and now >= self.expires_at

    def covers(self, wanted: frozenset[str]) -> bool:
        """Whether it was asked for with these scopes, or nobody can say."""
        return self.scopes is None or wanted <= self.scopes

    def secrets(self) -> tuple[str, ...]:
        """Return both texts, for a redactor."""
        return tuple(part.reveal() for part in (self.access, self.refresh) if part)


def read_token(
    members: Mapping[str, Any], *, asked: frozenset[str] | None, before: Secret | None
) -> Token | str:
    """Return the token of an answer, or what is wrong with it.

    Spec: RFC 6749, section 5.1; RFC 6750, section 1.1.

    Args:
        members: The answer's JSON object.
        asked: The scopes that were asked for, None when that is not known.
        before: The refresh token that stays good when the answer has no new one.
    """
    access, refresh = members.get("access_token"), members.get("refresh_token")
    kind = members.get("token_type", "bearer")
    if not is_sendable(access):
        return f"has no access_token that could be sent, of at most {_LONGEST} characters"
    if not isinstance(kind, str) or kind.lower() != "bearer":
        return "gives a token whose token_type is not bearer, which cannot be used"
    if refresh is not None and refresh != "" and not is_sendable(refresh):
        return f"has a refresh_token that is not text of at most {_LONGEST} characters"
    now = time.time()
    lifetime = _lifetime(members.get("expires_in"))
    return Token(
        Secret(access),
        Secret(refresh) if refresh else before,
        issued_at=now,
        expires_at=None if lifetime is None else now + lifetime,
        scopes=asked,
    )


def is_sendable(text: object) -> TypeGuard[str]:
    """Whether something is a text that can stand in a header, as every token must.

    Spec: RFC 6750, section 2.1.

    Args:
        text: Of an answer or a file.
    """
    return isinstance(text, str) and len(text) <= _LONGEST and bool(_USABLE.fullmatch(text))


def _lifetime(value: object) -> float | None:
    """Return seconds; None for what is no lifetime at all: the API then says when it is over."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # An integer in JSON may be longer than any float.
    seconds = min(value, _LONGEST_LIFE)
    return float(seconds) if math.isfinite(seconds) and seconds > 0 else None
