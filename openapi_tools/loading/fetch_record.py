"""The responses to one load of a document, for the same load in another process."""

from __future__ import annotations

from collections import deque
from typing import Any

from openapi_tools.errors import CallError
from openapi_tools.loading.source import Source


class FetchRecord:
    """The results of one load's fetches, by URL, in order.

    The load that fetches adds them. `replay` is for a load that takes them instead of sending
    requests, in memory only: a document may be for one user, or not to be stored.
    """

    def __init__(self) -> None:
        self._results: dict[str, deque[Any]] = {}
        self._is_replay = False

    def replay(self) -> FetchRecord:
        """Return the record for another load, which takes each result once."""
        other = FetchRecord()
        other._results = {url: deque(results) for url, results in self._results.items()}
        other._is_replay = True
        return other

    def add_result(self, url: str, result: Source | CallError) -> None:
        """Add the result of a fetch."""
        if not self._is_replay:
            data: Any = result
            if isinstance(result, CallError):  # which cannot be pickled
                data = result.kind, result.reason, result.facts
            self._results.setdefault(url, deque()).append(data)

    def take_result(self, url: str, *, is_conditional: bool) -> Source | CallError | None:
        """Return the next result of a URL; None if a request has to be sent.

        Args:
            url: The address.
            is_conditional: Whether this process has a copy that may still be good (304).
        """
        results = self._results.get(url)
        if not self._is_replay or not results:
            return None
        result = results.popleft()
        # A 304 is of use only to a process that has a copy, too.
        if isinstance(result, Source):
            return result if result.data is not None or is_conditional else None
        kind, reason, facts = result
        return CallError(kind, reason, **facts)
