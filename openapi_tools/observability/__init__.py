"""Events of calls, for subscribers, the log (DEBUG only) and OpenTelemetry."""

from __future__ import annotations

import inspect
import logging
import os
import sys
import time
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from openapi_tools.errors import CallError, SettingsError
from openapi_tools.options import member_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import httpx

    from openapi_tools.model import Operation
    from openapi_tools.observability.spans import CallSpans, Telemetry
    from openapi_tools.result import ToolResult

EventKind = Literal["started", "retry", "completed", "error"]

logger = logging.getLogger("openapi_tools.calls")
_faults = logging.getLogger("openapi_tools")

_PROVIDERS = ("OTEL_PYTHON_TRACER_PROVIDER", "OTEL_PYTHON_METER_PROVIDER")
_UNKNOWN = "_OTHER"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


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
        status: Of the answer, for instance 200; None without an answer.
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


def _log(event: Event) -> None:
    # The caller has an error already, and Python prints warnings by default.
    if not logger.isEnabledFor(logging.DEBUG):
        return
    answered = "" if event.status is None else f"status {event.status}"
    cause = ", ".join(filter(None, (event.error_type, answered)))
    match event.kind:
        case "started":
            words = "begins"
        case "retry":
            words = f"is tried again in {event.wait:.3g} s ({cause})"
        case "completed":
            words = f"ended well after {event.elapsed:.3f} s" + (f" ({cause})" if cause else "")
        case _:
            words = f"failed after {event.elapsed:.3f} s ({cause})"
    extra = {key: getattr(event, name) for key, name in _EXTRA.items()}
    logger.debug("%s: %s %s %s", event.tool, event.method, event.url, words, extra=extra)


@dataclass(slots=True, eq=False)
class Observation:
    """Reports one call's events; free when nothing observes it."""

    _started: Event | None = None
    _subscribers: Iterable[Callable[[Event], object]] = ()
    _spans: CallSpans | None = None
    _began: float = field(default_factory=time.perf_counter)
    _attempts: int = 0
    _open: bool = False
    _over: bool = False
    _announced: bool = False
    _status: int | None = None
    _previous: Observation | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._end("error", error_type=_UNKNOWN if error is None else type(error).__name__)

    def attempt_started(self, request: httpx.Request) -> None:
        """Report a request that is about to be sent: the first, a redirected one, or a retry."""
        if self._started is None or self._over:
            return
        if not self._open:
            if self._attempts and not self._announced:
                self.retry(0.0, status=self._status)  # with newer credentials, say
            self._attempts += 1
            self._open, self._announced = True, False
        if self._spans is not None:
            self._spans.request_ended(None, "")
            self._spans.request_started(request)

    def attempt_ended(
        self, response: httpx.Response | None = None, *, error_type: str = ""
    ) -> None:
        """Report the end of a request; a redirect stays in the same attempt."""
        if self._started is None or self._over:
            return
        self._status = None if response is None else response.status_code
        self._open = self._status in _REDIRECTS
        if self._spans is not None and response is None:
            self._spans.request_ended(None, error_type or _UNKNOWN)
        elif self._spans is not None and response is not None:
            protocol: bytes = response.extensions.get("http_version", b"")
            version = protocol.decode("ascii", "replace").removeprefix("HTTP/")
            self._spans.request_ended(response.status_code, error_type, version)

    def retry(
        self,
        wait: float,
        *,
        status: int | None = None,
        error_type: str = "",
        retry_after: float | None = None,
    ) -> None:
        """Report that the call will be tried again; this ends a request under way."""
        if self._started is None or self._over:
            return
        if self._spans is not None:
            self._spans.request_ended(status, error_type)
        self._open, self._announced = False, True
        facts = {"status": status, "error_type": error_type, "retry_after": retry_after}
        self.tell(self._event("retry", attempt=self._attempts + 1, wait=wait, **facts))

    def ended(self, result: ToolResult) -> None:
        """Report the end of the call; only the first report counts."""
        error = result.error or {}
        status = _number(error.get("status", result.metadata.get("status")))
        if result.success:
            self._end("completed", status=status)
        else:
            after, kind = _number(error.get("retry_after")), str(error.get("type", _UNKNOWN))
            self._end("error", status=status, error_type=kind, retry_after=after)

    def _end(self, kind: EventKind, *, error_type: str = "", **facts: Any) -> None:
        """Close spans, then report; subscribers come last, so that none can leave a span open."""
        if self._previous is not None:
            # Set, not reset: a context token is valid only in the task that made it.
            _current.set(self._previous)
            self._previous = None
        if self._started is None or self._over:
            return
        self._over = True
        event = self._event(kind, attempt=self._attempts, error_type=error_type, **facts)
        if self._spans is not None:
            self._spans.request_ended(event.status, error_type)
            self._spans.ended(error_type)
        self.tell(event)

    def _event(self, kind: EventKind, **facts: Any) -> Event:
        assert self._started is not None  # noqa: S101 -- checked by the callers
        elapsed = time.perf_counter() - self._began
        return replace(self._started, kind=kind, attempts=self._attempts, elapsed=elapsed, **facts)

    def tell(self, event: Event) -> None:
        """Send an event to the log and to the subscribers."""
        _log(event)
        for subscriber in tuple(self._subscribers):
            subscriber(event)

    def inside(self, previous: Observation) -> Observation:
        """Make this the current one until it ends, and return it."""
        self._previous = previous
        _current.set(self)
        return self


def _number(value: Any) -> Any:
    """Return a number, and None for other values that results of user code hold."""
    return value if isinstance(value, int | float) else None


UNOBSERVED = Observation()  # the observation of a call that nothing observes
_current: ContextVar[Observation] = ContextVar("openapi_tools_observation", default=UNOBSERVED)
current = _current.get  # returns the observation of the call that is under way in this task


class Observers:
    """The observers of a toolset's calls; `redact` masks secrets in texts."""

    def __init__(
        self, address: Callable[[Operation], str] | None = None, redact: Callable[[str], str] = str
    ) -> None:
        self._address = address
        self._redact = redact
        self._subscribers: list[Callable[[Event], object]] = []
        self._telemetry: Telemetry | None = None
        self._off = False
        self._asked = any(map(os.getenv, _PROVIDERS))

    def subscribe(self, function: Callable[[Event], object]) -> Callable[[], None]:
        """Call a function with every event, until the returned function is called."""
        is_async = inspect.iscoroutinefunction
        if not callable(function) or is_async(function) or is_async(type(function).__call__):
            reason = "a subscriber is a plain function; give the `put_nowait` of an asyncio.Queue"
            raise SettingsError(f"{reason} and wait for its events elsewhere.")
        has_failed = False

        def tell(event: Event) -> None:
            nonlocal has_failed
            try:
                function(event)
            except Exception:  # noqa: BLE001 -- code of users may raise anything
                if not has_failed:
                    has_failed = True
                    _faults.exception("a subscriber to events failed; this is said once")

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._subscribers.remove(tell)

        self._subscribers.append(tell)
        return unsubscribe

    def begin(self, tool: str, operation: Operation, *, call_id: str = "") -> Observation:
        """Begin to observe a call, as the current observation of this task until it ends."""
        telemetry, previous = self._find_telemetry(), _current.get()
        if telemetry is None and not self._subscribers and not logger.isEnabledFor(logging.DEBUG):
            # A call inside an observed one is not one of its requests.
            return UNOBSERVED if previous is UNOBSERVED else Observation().inside(previous)
        url, call_id = self._url(operation), self._redact(call_id)
        started = Event("started", tool, operation.method, url, call_id)
        spans = None if telemetry is None else telemetry.begin(started)
        observation = Observation(started, self._subscribers, spans).inside(previous)
        observation.tell(started)
        return observation

    def _find_telemetry(self) -> Telemetry | None:
        # A provider can only be set after an import of the API.
        if self._off or not (self._asked or "opentelemetry.trace" in sys.modules):
            return None
        try:
            from openapi_tools.observability.spans import find_telemetry

            self._telemetry = find_telemetry(self._telemetry, self._redact)
        except (ImportError, StopIteration, TypeError):
            # The environment names a missing package, which OpenTelemetry logs; or it is too old.
            self._off = True
        return self._telemetry

    def _url(self, operation: Operation) -> str:
        try:
            address = self._address(operation) if self._address is not None else ""
        except CallError:
            address = ""
        url = address + operation.path.partition("?")[0]
        shown = (char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in url)
        return self._redact("".join(shown))


def trace_headers() -> dict[str, str]:
    """Return `traceparent` and `tracestate` for the current span (W3C Trace Context, 2021)."""
    headers: dict[str, str] = {}
    if "opentelemetry.trace" in sys.modules:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(headers)
    return headers


def report_unknown(context: object, name: str, *, is_call: bool = True) -> None:
    """Report a tool that a client named and does not see, where the context has a function for it.

    A server counts and logs such names; `is_call` is false for one that was only looked up.
    """
    if callable(report := member_of(context, "unknown_tool")):
        report(name, is_call=is_call)
