"""Spans and metrics for OpenTelemetry (semantic conventions 1.44.0), imported after its API."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from opentelemetry import context, metrics, trace
from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from openapi_tools._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx
    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider

    from openapi_tools.observability.events import Event

_SCOPE = "openapi_tools"
# The version of the semantic conventions that the names of attributes are from.
_SCHEMA = "https://opentelemetry.io/schemas/1.44.0"
_DURATION = "http.client.request.duration"
# The semantic conventions for HTTP metrics recommend these for http.client.request.duration.
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
# Known methods of the semantic conventions, by RFC 9110 and RFC 5789 (PATCH), and QUERY. A
# model or document may name any other, and each would be a new series of a metric.
_METHODS = "CONNECT,DELETE,GET,HEAD,OPTIONS,PATCH,POST,PUT,QUERY,TRACE"
_METHODS_VARIABLE = "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS"
_OTHER = "_OTHER"
# The word that the semantic conventions ask for in `url.full`.
_REDACTED = "REDACTED"
_PORTS = {"http": 80, "https": 443}
_NOOP = ("opentelemetry.trace", "opentelemetry.metrics")
_FAILED = 400
_NANOSECONDS = 1_000_000_000
_LONGEST_ID = 256
_INSTRUMENTATION = "opentelemetry.instrumentation.utils"


class Telemetry:
    """The tracer and the histogram of a toolset; each is None if its provider is a no-op."""

    def __init__(
        self, tracers: TracerProvider, meters: MeterProvider, redact: Callable[[str], str]
    ) -> None:
        self.providers = (tracers, meters)
        self.redact = redact
        self.methods = frozenset(os.environ.get(_METHODS_VARIABLE, _METHODS).split(","))
        self.tracer = self.durations = None
        if not _is_noop(tracers):
            self.tracer = trace.get_tracer(_SCOPE, __version__, tracers, _SCHEMA)
        if not _is_noop(meters):
            meter = metrics.get_meter(_SCOPE, __version__, meters, _SCHEMA)
            description = "Duration of HTTP client requests."
            self.durations = meter.create_histogram(
                _DURATION, "s", description, explicit_bucket_boundaries_advisory=_BUCKETS
            )

    def begin_call(self, started: Event) -> CallSpans:
        """Begin the span of a call."""
        return CallSpans(self, started)


def find_telemetry(previous: Telemetry | None, redact: Callable[[str], str]) -> Telemetry | None:
    """Return the telemetry of the current providers, which may change; None if all are no-ops."""
    tracers, meters = trace.get_tracer_provider(), metrics.get_meter_provider()
    if previous is not None and previous.providers == (tracers, meters):
        return previous
    if _is_noop(tracers) and _is_noop(meters):
        return None
    return Telemetry(tracers, meters, redact)


def inject_trace_headers(headers: dict[str, str]) -> None:
    """Add `traceparent` and `tracestate` for the current span (W3C Trace Context, 2021)."""
    TraceContextTextMapPropagator().inject(headers)


def has_tracer() -> bool:
    """Return whether a program has set a provider of spans, which do nothing otherwise."""
    return not _is_noop(trace.get_tracer_provider())


def _is_noop(provider: object) -> bool:
    # The API's own providers do nothing until a program sets others.
    return type(provider).__module__.startswith(_NOOP)


class CallSpans:
    """The span of one call and those of its requests."""

    def __init__(self, telemetry: Telemetry, started: Event) -> None:
        self._telemetry = telemetry
        self._template = urlsplit(started.url).path
        self._requests = 0
        self._request: _RequestSpan | None = None
        self._before = context.get_current()
        self._span: Span | None = None
        if telemetry.tracer is not None:
            operation = "execute_tool"
            attributes = {"gen_ai.operation.name": operation, "gen_ai.tool.name": started.tool}
            if started.call_id:
                attributes["gen_ai.tool.call.id"] = started.call_id[:_LONGEST_ID]
            name = f"{operation} {started.tool}"
            self._span = telemetry.tracer.start_span(name, attributes=attributes)
            context.attach(trace.set_span_in_context(self._span))

    def begin_request(self, request: httpx.Request) -> None:
        """Begin the span of a request that will be sent next."""
        telemetry = self._telemetry
        # All unknown methods share one value in metrics.
        method = request.method if request.method in telemetry.methods else _OTHER
        labels: dict[str, Any] = {
            "http.request.method": method,
            "server.address": request.url.raw_host.decode("ascii", "replace"),
            "server.port": request.url.port or _PORTS.get(request.url.scheme, 0),
        }
        started = _RequestSpan(labels, time.perf_counter(), time.time_ns(), context.get_current())
        inside = started.before
        if telemetry.tracer is not None:
            started.span = telemetry.tracer.start_span(
                f"{'HTTP' if method == _OTHER else method} {self._template}".strip(),
                kind=SpanKind.CLIENT,
                attributes=labels | self._request_attributes(request),
                start_time=started.began,
            )
            inside = trace.set_span_in_context(started.span)
        # The context from before is attached again, so that no token has to be kept.
        context.attach(_suppress_instrumentation(inside))
        self._request = started
        self._requests += 1

    def _request_attributes(self, request: httpx.Request) -> dict[str, Any]:
        attributes: dict[str, Any] = {"url.full": self._telemetry.redact(_redact_url(request.url))}
        if self._template:
            attributes["url.template"] = self._template
        if request.method not in self._telemetry.methods:
            attributes["http.request.method_original"] = request.method
        if self._requests:
            attributes["http.request.resend_count"] = self._requests
        return attributes

    def end_request(self, status: int | None, error_type: str, protocol: str = "") -> None:
        """End the span of the request in progress."""
        request, self._request = self._request, None
        if request is None:
            return
        outcome: dict[str, Any] = {}
        if status is not None:
            outcome["http.response.status_code"] = status
        is_error = status is not None and status >= _FAILED
        if is_error or error_type:
            outcome["error.type"] = str(status) if is_error else error_type
        if protocol:
            outcome["network.protocol.version"] = protocol
        elapsed = time.perf_counter() - request.started
        if self._telemetry.durations is not None:
            self._telemetry.durations.record(elapsed, request.labels | outcome)
        if request.span is not None:
            _end_span(request.span, outcome, request.began + int(elapsed * _NANOSECONDS))
        context.attach(request.before)

    def end_call(self, error_type: str) -> None:
        """End the span of the call."""
        if self._span is not None:
            _end_span(self._span, {"error.type": error_type} if error_type else {})
            context.attach(self._before)


@dataclass(slots=True, eq=False)
class _RequestSpan:
    """A request in progress: its metric attributes, its start, the context before it."""

    labels: dict[str, Any]
    started: float
    began: int
    before: Context
    span: Span | None = None


def _suppress_instrumentation(inside: Context) -> Context:
    # Instrumented HTTP clients would make a second span of each request.
    utils = sys.modules.get(_INSTRUMENTATION)
    if utils is None:  # then no client is instrumented
        return inside
    before = context.attach(inside)
    try:
        with utils.suppress_http_instrumentation():
            return context.get_current()
    finally:
        context.detach(before)


def _end_span(span: Span, outcome: dict[str, Any], at: int | None = None) -> None:
    span.set_attributes(outcome)
    if "error.type" in outcome:
        span.set_status(StatusCode.ERROR)
    span.end(at)


def _redact_url(url: httpx.URL) -> str:
    # Without user, fragment and values of the query.
    path, mark, query = url.raw_path.decode("ascii", "replace").partition("?")
    pairs = (pair.partition("=") for pair in query.split("&"))
    # A pair without a name may be a value.
    hidden = (f"{name}={_REDACTED}" if equals else _REDACTED for name, equals, _ in pairs)
    authority = url.netloc.decode("ascii", "replace")
    return f"{url.scheme}://{authority}{path}{mark}{'&'.join(hidden) if query else ''}"
