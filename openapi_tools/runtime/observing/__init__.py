"""Telling what calls do, to whoever looks: subscribers, the log, OpenTelemetry."""

from openapi_tools.runtime.observing.events import Event
from openapi_tools.runtime.observing.observers import (
    UNOBSERVED,
    Observation,
    Observers,
    current,
    trace_headers,
)

__all__ = ["UNOBSERVED", "Event", "Observation", "Observers", "current", "trace_headers"]
