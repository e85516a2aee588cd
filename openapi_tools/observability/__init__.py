"""Observe calls: events for subscribers and the log, spans and metrics for OpenTelemetry."""

from __future__ import annotations

import inspect
import logging
import os
import sys
import time
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from openapi_tools.common.options import context_value
from openapi_tools.errors import CallError, SettingsError
from openapi_tools.observability.events import Event, EventKind, log_event, logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import httpx

    from openapi_tools.model import Operation
    from openapi_tools.observability.spans import CallSpans, Telemetry
    from openapi_tools.result import ToolResult

_logger = logging.getLogger("openapi_tools")

TELEMETRY = "opentelemetry.trace"
"""OpenTelemetry's API: until it is imported, no provider can have been set in code."""
# A provider that one of these variables names needs no import: OpenTelemetry makes it at first use.
_PROVIDERS = ("OTEL_PYTHON_TRACER_PROVIDER", "OTEL_PYTHON_METER_PROVIDER")
_UNKNOWN = "_OTHER"
_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(slots=True, eq=False)
class Observation:
    """Reports the events of one call; free when nothing observes it."""

    _start_event: Event | None = None
    _subscribers: Iterable[Callable[[Event], object]] = ()
    _spans: CallSpans | None = None
    _start_time: float = field(default_factory=time.perf_counter)
    _attempts: int = 0
    _is_attempt_open: bool = False
    _is_over: bool = False
    _is_retry_reported: bool = False
    _status: int | None = None
    _previous: Observation | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._finish("error", error_type=_UNKNOWN if error is None else type(error).__name__)

    def begin_attempt(self, request: httpx.Request) -> None:
        """Report a request that is about to be sent: the first, a redirected one, or a retry."""
        if self._start_event is None or self._is_over:
            return
        if not self._is_attempt_open:
            if self._attempts and not self._is_retry_reported:
                self.report_retry(0.0, status=self._status)  # a 401 with newer credentials, say
            self._attempts += 1
            self._is_attempt_open, self._is_retry_reported = True, False
        if self._spans is not None:
            self._spans.end_request(None, "")
            self._spans.begin_request(request)

    def end_attempt(self, response: httpx.Response | None = None, *, error_type: str = "") -> None:
        """Report the end of a request; a redirect stays in the same attempt."""
        if self._start_event is None or self._is_over:
            return
        self._status = None if response is None else response.status_code
        self._is_attempt_open = self._status in _REDIRECTS
        if self._spans is not None and response is None:
            self._spans.end_request(None, error_type or _UNKNOWN)
        elif self._spans is not None and response is not None:
            protocol: bytes = response.extensions.get("http_version", b"")
            version = protocol.decode("ascii", "replace").removeprefix("HTTP/")
            self._spans.end_request(response.status_code, error_type, version)

    def report_retry(
        self,
        wait: float,
        *,
        status: int | None = None,
        error_type: str = "",
        retry_after: float | None = None,
    ) -> None:
        """Report that the call will be retried; this ends a request in progress."""
        if self._start_event is None or self._is_over:
            return
        if self._spans is not None:
            self._spans.end_request(status, error_type)
        self._is_attempt_open, self._is_retry_reported = False, True
        event = self._make_event(
            "retry", status=status, error_type=error_type, retry_after=retry_after
        )
        self.publish(replace(event, attempt=self._attempts + 1, wait=wait))

    def report_result(self, result: ToolResult) -> None:
        """Report the end of the call; only the first report counts."""
        error = result.error or {}
        status = _number_or_none(error.get("status", result.metadata.get("status")))
        if result.success:
            self._finish("completed", status=status)
        else:
            retry_after = _number_or_none(error.get("retry_after"))
            error_type = str(error.get("type", _UNKNOWN))
            self._finish("error", status=status, error_type=error_type, retry_after=retry_after)

    def _finish(
        self,
        kind: EventKind,
        *,
        status: int | None = None,
        error_type: str = "",
        retry_after: float | None = None,
    ) -> None:
        if self._previous is not None:
            # Set, not reset: a context token is valid only in the task that made it.
            _current.set(self._previous)
            self._previous = None
        if self._start_event is None or self._is_over:
            return
        self._is_over = True
        event = self._make_event(
            kind, status=status, error_type=error_type, retry_after=retry_after
        )
        # Spans first: a subscriber that fails must not leave one open.
        if self._spans is not None:
            self._spans.end_request(status, error_type)
            self._spans.end_call(error_type)
        self.publish(event)

    def _make_event(
        self, kind: EventKind, *, status: int | None, error_type: str, retry_after: float | None
    ) -> Event:
        assert self._start_event is not None  # noqa: S101 -- checked by the callers
        return replace(
            self._start_event,
            kind=kind,
            attempt=self._attempts,
            attempts=self._attempts,
            status=status,
            error_type=error_type,
            elapsed=time.perf_counter() - self._start_time,
            retry_after=retry_after,
        )

    def publish(self, event: Event) -> None:
        """Send an event to the log and to the subscribers."""
        log_event(event)
        for subscriber in tuple(self._subscribers):
            subscriber(event)

    def make_current(self, previous: Observation) -> Observation:
        """Make this the current observation until it ends, and return it."""
        self._previous = previous
        _current.set(self)
        return self


def _number_or_none(value: Any) -> Any:
    # A result of user code may hold anything here.
    return value if isinstance(value, int | float) else None


UNOBSERVED = Observation()  # the observation of a call that nothing observes
_current: ContextVar[Observation] = ContextVar("openapi_tools_observation", default=UNOBSERVED)
current_observation = _current.get  # of the call in progress in this task


class Observers:
    """The observers of a toolset's calls; `redact` masks secrets in a string.

    Attributes:
        subscribers: Get the events.
        is_configured: The environment names a provider of OpenTelemetry.
    """

    def __init__(
        self, address: Callable[[Operation], str] | None = None, redact: Callable[[str], str] = str
    ) -> None:
        self._address = address
        self._redact = redact
        self.subscribers: list[Callable[[Event], object]] = []
        self._telemetry: Telemetry | None = None
        self._is_telemetry_missing = False
        self.is_configured = any(map(os.getenv, _PROVIDERS))

    def subscribe(self, function: Callable[[Event], object]) -> Callable[[], None]:
        """Call a function with every event, until the returned function is called."""
        is_async = inspect.iscoroutinefunction
        if not callable(function) or is_async(function) or is_async(type(function).__call__):
            reason = "a subscriber must be a plain function, not async; for async code pass the"
            raise SettingsError(f"{reason} `put_nowait` of an asyncio.Queue, and read that queue.")
        has_failed = False

        def notify(event: Event) -> None:
            nonlocal has_failed
            try:
                function(event)
            except Exception:
                if not has_failed:
                    has_failed = True
                    _logger.exception(
                        "a subscriber to events failed; further failures are not logged"
                    )

        def unsubscribe() -> None:
            with suppress(ValueError):
                self.subscribers.remove(notify)

        self.subscribers.append(notify)
        return unsubscribe

    def observe(self, tool: str, operation: Operation, *, call_id: str = "") -> Observation:
        """Start to observe a call; the observation is the task's current one until it ends."""
        telemetry, previous = self._find_telemetry(), _current.get()
        if telemetry is None and not self.subscribers and not logger.isEnabledFor(logging.DEBUG):
            # The requests of a call inside an observed one are not those of the outer call.
            return UNOBSERVED if previous is UNOBSERVED else Observation().make_current(previous)
        url, call_id = self._url_template(operation), self._redact(call_id)
        started = Event("started", tool, operation.method, url, call_id)
        spans = None if telemetry is None else telemetry.begin_call(started)
        observation = Observation(started, self.subscribers, spans).make_current(previous)
        observation.publish(started)
        return observation

    def _find_telemetry(self) -> Telemetry | None:
        if self._is_telemetry_missing or not (self.is_configured or TELEMETRY in sys.modules):
            return None
        try:
            self._telemetry = _import_spans().find_telemetry(self._telemetry, self._redact)
        except (ImportError, StopIteration, TypeError):
            # The environment names a missing package, which OpenTelemetry logs; or it is too old.
            # Not tried again: a failed import costs milliseconds, and each call would pay for
            # it.
            self._is_telemetry_missing = True
        return self._telemetry

    def _url_template(self, operation: Operation) -> str:
        try:
            address = self._address(operation) if self._address is not None else ""
        except CallError:
            address = ""
        url = address + operation.path.partition("?")[0]
        if not url.isprintable():
            url = "".join(each if each.isprintable() else _UNPRINTABLE for each in url)
        return self._redact(url)


def trace_headers() -> dict[str, str]:
    """Return `traceparent` and `tracestate` for the current span (W3C Trace Context, 2021)."""
    headers: dict[str, str] = {}
    if TELEMETRY in sys.modules:
        with suppress(ImportError):  # an API that is too old for the extra
            _import_spans().inject_trace_headers(headers)
    return headers


def _import_spans() -> Any:
    # Imported here: it needs the extra `otel`.
    from openapi_tools.observability import spans

    return spans


def report_unknown(context: object, name: str, *, is_call: bool = True) -> None:
    """Report that a client named a tool it may not see, to the context's `unknown_tool`.

    A server counts and logs such names; `is_call` is false if the tool was only looked up.
    """
    if callable(report := context_value(context, "unknown_tool")):
        report(name, is_call=is_call)
