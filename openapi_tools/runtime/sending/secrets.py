"""Secrets in a request that others put there: an `httpx.Auth`, or a client of the user's."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import httpx

_NAMES = ("auth", "cookie", "credential", "key", "pass", "secret", "session", "signature", "token")
_SHORTEST = 8
"""A shorter value of a header says what is meant, a version or a kind."""
_SECRET = re.compile("|".join(_NAMES), re.IGNORECASE)


def learn_headers(
    before: Collection[tuple[str, str]], request: httpx.Request, learn: Callable[..., None]
) -> None:
    """Tell of the secrets in headers that were added, by what their names say.

    Args:
        before: The headers that were there.
        request: With those that were added.
        learn: Is told of the secrets.
    """
    for name, value in request.headers.multi_items():
        if (name, value) not in before and _SECRET.search(name):
            word, _, rest = value.partition(" ")
            secrets = [value, rest, *(c.partition("=")[2] for c in value.split("; "))]
            if word.lower() == "basic":
                secrets += _in_basic(rest)
            learn(*(secret for secret in secrets if len(secret) >= _SHORTEST))


def _in_basic(encoded: str) -> list[str]:
    """Return user and password of basic authentication, and the password."""
    try:
        pair = base64.b64decode(encoded).decode()
    except (binascii.Error, UnicodeDecodeError):
        return []
    return [pair, pair.partition(":")[2]]
