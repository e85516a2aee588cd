"""The events of calls, and their log records at DEBUG."""

from __future__ import annotations

import logging
from dataclasses import dataclass, fields
from typing import Literal

EventKind = Literal["started", "retry", "completed", "error"]

logger = logging.getLogger("openapi_tools.calls")


@dataclass(frozen=True, slots=True)
class Event:
    """A step of a call; it holds no input, no output and no header.

    Attributes:
        kind: `started`, then any number of `retry`, then either `completed` or `error`.
        tool: The tool's name.
        method: Upper case, for instance `"GET"`.
        url: The server's address and the path as the document has it, without a query:
            `"https://api.example.com/v1/pets/{petId}"`.
        call_id: The coordinator's id of the call; may be empty.
        attempt: Number of the attempt: the first for `started`, the next for `retry`, else the
            last that was made; 0 for none.
        attempts: Number of attempts so far.
        status: The status of the response, for instance 200; None without one.
        error_type: One of `errors.ERROR_TYPES`, or the name of the exception that ended the call,
            for instance `"CancelledError"`; empty without an error.
        elapsed: Seconds since the call began.
        wait: Seconds until the next attempt; for `retry` only.
        retry_after: Seconds that the server asked for.
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


def log_event(event: Event) -> None:
    """Log an event at DEBUG, with its fields as `extra`."""
    # Never higher: the caller has the error already, and Python prints warnings by default.
    if not logger.isEnabledFor(logging.DEBUG):
        return
    status = "" if event.status is None else f"status {event.status}"
    cause = ", ".join(filter(None, (event.error_type, status)))
    match event.kind:
        case "started":
            step = "started"
        case "retry":
            step = f"will be retried in {event.wait:.3g} s ({cause})"
        case "completed":
            step = f"completed after {event.elapsed:.3f} s" + (f" ({cause})" if cause else "")
        case _:
            step = f"failed after {event.elapsed:.3f} s ({cause})"
    extra = {key: getattr(event, name) for key, name in _EXTRA.items()}
    logger.debug("%s: %s %s %s", event.tool, event.method, event.url, step, extra=extra)
