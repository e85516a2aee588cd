"""The limits on calls that processes share by a state: for each API and for each user."""

from __future__ import annotations

from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from openapi_tools.state.leased_state import LeasedState, Limit
from openapi_tools.state.shared_state import LEASE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

    from openapi_tools.state.shared_state import SharedState
    from openapi_tools.transport.loop_client import Slots

_UNLIMITED = (None, None)
_UNLIMITED_CALL = nullcontext()


class Limits:
    """The limits on the calls of one toolset: for each API, by its origin, and for each user."""

    def __init__(self, state: SharedState, settings: Any) -> None:
        self._state = state
        # Without a shared state the toolset's own slots bound its concurrency.
        shared = settings.state is not None and "concurrency" in settings.model_fields_set
        self._api = (settings.concurrency if shared else None, settings.rate)
        self._user = (settings.user_concurrency, settings.user_rate)

    def __bool__(self) -> bool:
        return any(limit is not None for limit in (*self._api, *self._user))

    @asynccontextmanager
    async def hold(self, origin: str, slots: Slots, user: str) -> AsyncGenerator[None]:
        """Hold what a user's call to an API needs: of the user, of the process, of the API."""
        # By origin, so that two documents of one API share its limits.
        of_user = Limit(f"limit:{origin} {user}", *self._user)
        of_api = Limit(f"limit:{origin}", *self._api)
        limits = [limit for limit in (of_user, of_api) if limit[1:] != _UNLIMITED]
        state = self._state
        if isinstance(state, LeasedState) and slots.has_slot_for(user):
            async with slots.slot(user), state.hold_at_once(limits, LEASE) as is_granted:
                if is_granted:
                    yield
                    return
        # The user's own permit comes first: who waits for it takes no place from others.
        async with self._permit(of_user), slots.slot(user), self._permit(of_api):
            yield

    def _permit(self, limit: Limit) -> AbstractAsyncContextManager[None]:
        key, concurrency, rate = limit
        if (concurrency, rate) == _UNLIMITED:
            return _UNLIMITED_CALL
        return self._state.rate_limit(key, concurrency=concurrency, rate=rate, seconds=LEASE)
