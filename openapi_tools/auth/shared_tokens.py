"""Tokens that outlive a process in a state that processes share."""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING

from openapi_tools.auth.tokens import StoredToken, read_token_record, token_record
from openapi_tools.state.shared_state import LEASE, SECRET, state_key

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from openapi_tools.auth.oauth2 import OAuth2
    from openapi_tools.state.shared_state import SharedState

_LONGEST_KEPT = 180 * 86400.0  # of a token in a shared state; a login lasts as long


class SharedTokenStore:
    """The tokens of one credential in a state that processes share.

    The key includes all that the user passed, so that nobody finds a token without the same secrets
    and user name. `token` is the user's token that was exchanged for the stored ones, if one was.
    """

    def __init__(
        self, state: SharedState, config: OAuth2, scheme: str, user: str, token: str = ""
    ) -> None:
        self._state, self._user = state, user
        user = f"{user} {token}" if token else user
        self._parts = [scheme, user, config.client_id, config.token_url, config.username]
        self._parts += [*sorted(config.scopes or ()), *config.secrets()]

    def __repr__(self) -> str:
        return f"SharedTokenStore({self._state!r})"

    def _key(self, origin: str) -> str:
        digest = hashlib.sha256(json.dumps([origin, *self._parts]).encode()).hexdigest()
        return state_key(f"{SECRET}token", self._user, digest)

    def lock(self, origin: str) -> AbstractAsyncContextManager[None]:
        """Return the lock under which one of all processes refreshes."""
        return self._state.lock(self._key(origin), LEASE)

    async def load(self, origin: str) -> StoredToken | None:
        """Return the entry for an API; None without a usable one."""
        value = await self._state.get(self._key(origin))
        try:
            return None if value is None else read_token_record(json.loads(value))
        except (ValueError, TypeError, LookupError, RecursionError, OverflowError):
            return None

    async def save(self, stored: StoredToken) -> None:
        """Store an entry, which replaces the one before."""
        value, token = json.dumps(token_record(stored)).encode(), stored.token
        lasts = None if token.refresh else token.expires_at
        seconds = _LONGEST_KEPT if lasts is None else max(lasts - time.time(), 1.0)
        await self._state.put(self._key(stored.origin), value, seconds)

    async def remove(self, origin: str) -> None:
        """Remove the entry for an API."""
        await self._state.remove(self._key(origin))
