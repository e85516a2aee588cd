"""Whether a request opened its connection: one that was kept may have been closed meanwhile."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Trip:
    """One attempt to get a request to its server.

    Attributes:
        connected: It opened a connection of its own.
        answered: The head of an answer came back.
    """

    connected: bool = False
    answered: bool = False


_under_way: ContextVar[Trip | None] = ContextVar("openapi_tools_trip", default=None)


def begin_trip() -> Trip:
    """Return a new trip, the one that this task is on from now."""
    trip = Trip()
    _under_way.set(trip)
    return trip


def note_connected() -> None:
    """Note that a connection is opened for the trip that this task is on."""
    trip = _under_way.get()
    if trip is not None:
        trip.connected = True
