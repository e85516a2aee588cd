"""Connections of a server: which one to close for a new one, and how many a user may keep busy."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from openapi_tools.state.shared_state import has_free_slot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ADMITTED = "openapi_tools.admitted"
"""The key in a request's scope that is set once its user is known, or its whole body was read."""
_BUSY = 4


def connection_to_close(connections: Iterable[Any]) -> Any | None:
    """Return the connection to close for a new one; None if all are busy.

    The first to close are those that never had an admitted request, then those whose request is not
    admitted yet, then idle ones, then idle ones of a user. Within a rank, the oldest connection of
    the address or user with the most is closed.
    """
    ranks: dict[int, list[Any]] = {}
    for connection in connections:
        ranks.setdefault(_rank(connection), []).append(connection)
    lowest = min(ranks, default=_BUSY)
    if lowest == _BUSY:
        return None
    owners = {connection: _owner(connection) for connection in ranks[lowest]}
    counts = Counter(owners.values())
    largest = max(counts.values())
    flooding = [each for each in ranks[lowest] if counts[owners[each]] == largest]
    return min(flooding, key=lambda connection: connection.since)


def _rank(connection: Any) -> int:
    cycle = connection.cycle
    is_admitted = cycle is not None and ADMITTED in cycle.scope
    if cycle is not None and not cycle.response_complete:
        return _BUSY if is_admitted else 1
    if not is_admitted:
        return 0
    return 3 if _find_user(cycle.scope) is not None else 2


def _find_user(scope: Any) -> str | None:
    # The package `mcp` has put the user of a bearer token into the scope.
    token = getattr(scope.get("user"), "access_token", None)
    return None if token is None else token.subject or token.client_id


def _owner(connection: Any) -> Any:
    user = None if connection.cycle is None else _find_user(connection.cycle.scope)
    return user or (connection.client or ("",))[0]


class BusyConnections:
    """The requests in progress, each on a connection; a user may have as many as are still free."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: Counter[Any] = Counter()  # by user

    def is_full_for(self, scope: Any) -> bool:
        """Whether the user of a request has too many; anonymous callers have no share."""
        user = _find_user(scope)
        return user is not None and not has_free_slot(
            self._counts[user], self._counts.total(), self._most
        )

    @contextmanager
    def count(self, scope: Any) -> Iterator[None]:
        """Count a request while the body runs."""
        user = _find_user(scope)
        self._counts[user] += 1
        try:
            yield
        finally:
            self._counts[user] -= 1
            if not self._counts[user]:
                del self._counts[user]


async def refuse_busy(send: Any) -> None:
    """Refuse a request of a user who has too many in progress."""
    text = b"Too many of your requests are in progress on this server; wait for one to end."
    length = (b"content-length", b"%d" % len(text))
    headers = [(b"content-type", b"text/plain; charset=utf-8"), length, (b"retry-after", b"1")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": text})
