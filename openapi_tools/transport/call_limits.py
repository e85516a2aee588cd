"""The limits on calls that processes share by a state: for each API and for each user."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from openapi_tools.state.shared_state import LEASE

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from openapi_tools.state.shared_state import SharedState


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

    def permits(self, origin: str, user: str) -> tuple[AbstractAsyncContextManager[None], ...]:
        """Return the limit on a user's calls to an API, and the limit on all calls to it."""
        # By origin, so that two documents of one API share its limits.
        whole = self._permit(f"limit:{origin}", *self._api)
        return self._permit(f"limit:{origin} {user}", *self._user), whole

    def _permit(
        self, key: str, concurrency: int | None, rate: float | None
    ) -> AbstractAsyncContextManager[None]:
        if concurrency is None and rate is None:
            return nullcontext()
        return self._state.rate_limit(key, concurrency=concurrency, rate=rate, seconds=LEASE)
