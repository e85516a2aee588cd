"""What is told of a call: events, for subscribers and for the log.

The log tells at INFO what did not go smoothly, at DEBUG everything. Nothing is a warning: the
caller has the error in the result already, and Python prints warnings where nobody set up logging.
"""

from __future__ import annotations

import inspect
import logging
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from openapi_tools.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

EventKind = Literal["started", "retry", "completed", "error"]

logger = logging.getLogger("openapi_tools.calls")
_faults = logging.getLogger("openapi_tools")

LEVEL = logging.DEBUG
"""Of every record: whoever calls a tool has its result, and needs no log to know it."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a call; it holds no input, no output and no header.

    Attributes:
        kind: `started`, then any number of `retry`, then either `completed` or `error`.
        tool: The tool's name.
        method: Upper case, for instance `"GET"`.
        url: The server's address and the path as the document has it, without a query:
            `"https://api.example.com/v1/pets/{petId}"`.
        call_id: Names the call where the coordinator gave it an id; else empty.
        attempt: Which attempt this is about: the first for `started`, the next for `retry`, else
            the last that was made; 0 when none was.
        attempts: How many were made so far.
        status: Of the answer, for instance 200; None when there was none.
        error_type: One of `errors.ERROR_TYPES`, or the name of the exception that ended the call,
            for instance `"CancelledError"`; empty when nothing went wrong.
        elapsed: Seconds since the call began.
        wait: Seconds until the next attempt; for `retry` only.
        retry_after: Seconds that the server asked for, if it did.
    """

    kind: EventKind
    tool: str
    method: str
    url: str
    call_id: str = ""
    attempt: int = 1
    attempts: int = 0
    status: int | None = None
    error_type: str = ""
    elapsed: float = 0.0
    wait: float | None = None
    retry_after: float | None = None


_EXTRA = {f"openapi_{item.name}": item.name for item in fields(Event)}


class Subscribers:
    """Functions that are told of events."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[_Subscriber] = []

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, function: Callable[[Event], object]) -> Callable[[], None]:
        """Add a function, and return one that takes it out again.

        Raises:
            SettingsError: It is a coroutine function, for which a call does not wait, or not one.
        """
        if not callable(function) or any(
            map(inspect.iscoroutinefunction, (function, type(function).__call__))
        ):
            reason = "a subscriber is a plain function; give the `put_nowait` of an asyncio.Queue"
            raise SettingsError(f"{reason} and wait for its events elsewhere.")
        entry = _Subscriber(function)
        self._entries.append(entry)

        def unsubscribe() -> None:
            if entry in self._entries:
                self._entries.remove(entry)

        return unsubscribe

    def tell(self, event: Event) -> None:
        """Call each function, in the order in which they were added."""
        for entry in tuple(self._entries):
            entry.tell(event)


@dataclass(slots=True, eq=False)
class _Subscriber:
    """A function that is told of events, and whether it has failed before."""

    function: Callable[[Event], object]
    failed: bool = False

    def tell(self, event: Event) -> None:
        try:
            self.function(event)
        except Exception:  # noqa: BLE001 -- code of users may raise anything
            if not self.failed:
                self.failed = True
                _faults.exception("a subscriber to events failed; this is said once")


def log(event: Event) -> None:
    """Write an event to the log, in words and as `extra`."""
    if logger.isEnabledFor(LEVEL):
        extra = {key: getattr(event, name) for key, name in _EXTRA.items()}
        words = (event.tool, event.method, event.url, _said(event))
        logger.log(LEVEL, "%s: %s %s %s", *words, extra=extra)


def _said(event: Event) -> str:
    """Return what happened, in words."""
    answered = "" if event.status is None else f"status {event.status}"
    cause = ", ".join(filter(None, (event.error_type, answered)))
    match event.kind:
        case "started":
            return "begins"
        case "retry":
            return f"is tried again in {event.wait:.3g} s ({cause})"
        case "completed":
            return f"ended well after {event.elapsed:.3f} s" + (f" ({cause})" if cause else "")
    return f"failed after {event.elapsed:.3f} s ({cause})"
