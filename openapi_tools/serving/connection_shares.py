"""Connections of a server: which one closes for a new one, and how many a user keeps busy."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from openapi_tools.shared_state import has_free_slot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ADMITTED = "openapi_tools.admitted"
"""The key of a request's scope that says: its user is known, or its whole body was read."""
_NEVER = 4


def connection_to_close(connections: Iterable[Any]) -> Any | None:
    """Return the connection that closes for a new one; None where all have work to do.

    The ranks are: without a request that was let in, with one that is not let in yet, idle, idle
    and of a user. Of the lowest rank it is the oldest one of the address or user with the most.
    """
    ranks: dict[int, list[Any]] = {}
    for connection in connections:
        ranks.setdefault(_rank(connection), []).append(connection)
    lowest = min(ranks, default=_NEVER)
    if lowest == _NEVER:
        return None
    owners = {connection: _owner(connection) for connection in ranks[lowest]}
    counts = Counter(owners.values())
    most = max(counts.values())
    flooding = [each for each in ranks[lowest] if counts[owners[each]] == most]
    return min(flooding, key=lambda connection: connection.since)


def _rank(connection: Any) -> int:
    cycle = connection.cycle
    is_admitted = cycle is not None and ADMITTED in cycle.scope
    if cycle is not None and not cycle.response_complete:
        return _NEVER if is_admitted else 1
    if not is_admitted:
        return 0
    return 3 if _user_of(cycle.scope) is not None else 2


def _user_of(scope: Any) -> str | None:
    """Return the user of a request, whom the package `mcp` knows by their token; None without."""
    token = getattr(scope.get("user"), "access_token", None)
    return None if token is None else token.subject or token.client_id


def _owner(connection: Any) -> Any:
    user = None if connection.cycle is None else _user_of(connection.cycle.scope)
    return user or (connection.client or ("",))[0]


class BusyConnections:
    """The requests under way, each on a connection; a user has as many as are left for others."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: Counter[Any] = Counter()  # by user

    def is_full_for(self, scope: Any) -> bool:
        """Whether the user of a request has too many; callers without a user have no share."""
        user = _user_of(scope)
        return user is not None and not has_free_slot(
            self._counts[user], self._counts.total(), self._most
        )

    @contextmanager
    def count(self, scope: Any) -> Iterator[None]:
        """Count a request while the body runs."""
        user = _user_of(scope)
        self._counts[user] += 1
        try:
            yield
        finally:
            self._counts[user] -= 1
            if not self._counts[user]:
                del self._counts[user]


async def refuse_busy(send: Any) -> None:
    """Answer a request of a user who has too many under way."""
    text = b"Too many of your requests are under way on this server; wait for one to end."
    length = (b"content-length", b"%d" % len(text))
    headers = [(b"content-type", b"text/plain; charset=utf-8"), length, (b"retry-after", b"1")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": text})
