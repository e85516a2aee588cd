"""Who looks at the calls of a toolset, and what one call tells them.

The caller of a tool begins an observation, the sender finds it with `current()`:

```python
with session.observers.begin(tool.name, operation, call_id=call_id) as observation:
    result = await outcome_of_the_call()
    observation.ended(result)
```

```python
observation = current()
while True:
    observation.attempt_started(request)         # before each request that is sent
    if may_carry_trace_context:
        request.headers.update(trace_headers())  # of the span that has just begun
    response = await client.send(request)        # and the body is read
    observation.attempt_ended(response)          # a failure needs no call of its own
    if not again(response):
        break
    observation.retry(wait, status=response.status_code, retry_after=asked)
    await asyncio.sleep(wait)
```
"""

from __future__ import annotations

import os
import sys
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self

from openapi_tools.errors import CallError
from openapi_tools.observability.call_events import LEVEL, Event, Subscribers, log, logger

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    import httpx
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from openapi_tools.model import Operation
    from openapi_tools.observability.call_events import EventKind
    from openapi_tools.observability.spans import CallSpans, Telemetry
    from openapi_tools.result import ToolResult

_PROVIDERS = ("OTEL_PYTHON_TRACER_PROVIDER", "OTEL_PYTHON_METER_PROVIDER")
_UNKNOWN = "_OTHER"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Observation:
    """One call, as it tells what happens; what nobody looks at tells nothing and costs nothing.

    Requests have to be started and ended in the tasks in which they are sent. A request that broke
    need not be ended: the next thing told about the call, its end at the latest, does so. One that
    follows another answer than a redirect is a retry, also when nobody said so.

    Args:
        started: The call's first event; None when nobody looks.
        subscribers: Are told of events.
        spans: Of OpenTelemetry.
    """

    __slots__ = (
        "_announced",
        "_attempts",
        "_began",
        "_facts",
        "_open",
        "_over",
        "_previous",
        "_spans",
        "_status",
        "_subscribers",
    )

    def __init__(
        self,
        started: Event | None = None,
        subscribers: Subscribers | None = None,
        spans: CallSpans | None = None,
    ) -> None:
        self._facts = started
        self._subscribers = subscribers
        self._spans = spans
        self._began = time.perf_counter()
        self._attempts = 0
        self._open = self._over = self._announced = False
        self._status: int | None = None
        self._previous: Observation | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end("error", error_type=_UNKNOWN if error is None else type(error).__name__)

    def attempt_started(self, request: httpx.Request) -> None:
        """Tell that a request is about to be sent: the first, one after a redirect, or a retry."""
        if self._facts is None or self._over:
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
        """Tell that a request ended; what follows a redirect is still the same attempt.

        Args:
            response: What came back, read as far as it will be; None when nothing did.
            error_type: What was wrong with it besides its status.
        """
        if self._facts is None or self._over:
            return
        self._status = None if response is None else response.status_code
        self._open = self._status in _REDIRECTS
        if self._spans is None:
            return
        if response is None:
            self._spans.request_ended(None, error_type or _UNKNOWN)
            return
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
        """Tell that the call will be tried again; a request that is under way ended so.

        Args:
            wait: Seconds until then.
            status: Of the answer that was not good enough.
            error_type: Of the failure, when there was no answer.
            retry_after: Seconds that the server asked for.
        """
        if self._facts is None or self._over:
            return
        if self._spans is not None:
            self._spans.request_ended(status, error_type)
        self._open, self._announced = False, True
        self.tell(
            self._event(
                "retry",
                attempt=self._attempts + 1,
                status=status,
                error_type=error_type,
                wait=wait,
                retry_after=retry_after,
            )
        )

    def ended(self, result: ToolResult) -> None:
        """Tell how the call ended; only the first time counts."""
        if self._facts is None:
            self._restore()
            return
        error = result.error or {}
        status = _number(error.get("status", result.metadata.get("status")))
        if result.success:
            self._end("completed", status=status)
        else:
            after, kind = _number(error.get("retry_after")), str(error.get("type", _UNKNOWN))
            self._end("error", status=status, error_type=kind, retry_after=after)

    def _end(self, kind: EventKind, *, error_type: str = "", **facts: Any) -> None:
        """Close what is open, then tell; subscribers come last, so that none can leave it open."""
        self._restore()
        if self._facts is None or self._over:
            return
        self._over = True
        event = self._event(kind, attempt=self._attempts, error_type=error_type, **facts)
        if self._spans is not None:
            self._spans.request_ended(event.status, error_type)
            self._spans.ended(error_type)
        self.tell(event)

    def _restore(self) -> None:
        """Make current what was so before."""
        if self._previous is not None:
            # Set, not reset: a token is good in the task that made it only.
            _current.set(self._previous)
            self._previous = None

    def _event(self, kind: EventKind, **facts: Any) -> Event:
        known = self._facts
        assert known is not None  # noqa: S101 -- nobody looks otherwise
        return Event(
            kind,
            known.tool,
            known.method,
            known.url,
            known.call_id,
            attempts=self._attempts,
            elapsed=time.perf_counter() - self._began,
            **facts,
        )

    def tell(self, event: Event) -> None:
        """Tell the log and the subscribers of an event."""
        log(event)
        if self._subscribers:
            self._subscribers.tell(event)

    def inside(self, previous: Observation) -> Observation:
        """Make this the current one until it ends, and return it."""
        self._previous = previous
        _current.set(self)
        return self


def _number(value: Any) -> Any:
    """Return what a result of somebody else's making says, if it is a number."""
    return value if isinstance(value, int | float) else None


UNOBSERVED = Observation()
"""A call that nobody looks at."""

_current: ContextVar[Observation] = ContextVar("openapi_tools_observation", default=UNOBSERVED)


def current() -> Observation:
    """Return the observation of the call that is under way in this task."""
    return _current.get()


class Observers:
    """Who looks at the calls of a toolset.

    Args:
        address: Gives the address below which the path of an operation lies, or raises CallError.
        redact: Replaces what is secret in a text.
        tracer_provider: Of OpenTelemetry, instead of the one of the process.
        meter_provider: Of OpenTelemetry, instead of the one of the process.
    """

    __slots__ = (
        "_address",
        "_asked",
        "_meters",
        "_off",
        "_redact",
        "_subscribers",
        "_telemetry",
        "_tracers",
    )

    def __init__(
        self,
        address: Callable[[Operation], str] | None = None,
        redact: Callable[[str], str] = str,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        self._address = address
        self._redact = redact
        self._tracers = tracer_provider
        self._meters = meter_provider
        self._subscribers = Subscribers()
        self._telemetry: Telemetry | None = None
        self._off = False
        self._asked = bool(tracer_provider or meter_provider) or any(
            map(os.environ.get, _PROVIDERS)
        )

    def subscribe(self, function: Callable[[Event], object]) -> Callable[[], None]:
        """Have a function called with every event of every call, until what this returns is called.

        Args:
            function: Called in the task of the call, which waits for it: it has to be quick, for
                instance `queue.put_nowait`. What it raises is logged once and changes nothing.

        Raises:
            SettingsError: It is a coroutine function; nobody would wait for it.
        """
        return self._subscribers.add(function)

    def begin(self, tool: str, operation: Operation, *, call_id: str = "") -> Observation:
        """Begin to observe a call; it is the current one of this task until it ends.

        Args:
            tool: The tool's name.
            operation: What it calls.
            call_id: Names the call, where it has an id.
        """
        telemetry, previous = self._find_telemetry(), _current.get()
        if telemetry is None and not self._subscribers and not logger.isEnabledFor(LEVEL):
            # The call may stand inside another one that is observed, and is none of its requests.
            return UNOBSERVED if previous is UNOBSERVED else Observation().inside(previous)
        started = Event(
            "started", tool, operation.method, self._url(operation), self._redact(call_id)
        )
        spans = None
        if telemetry is not None:
            from openapi_tools.observability.spans import CallSpans

            spans = CallSpans(telemetry, started)
        observation = Observation(started, self._subscribers, spans).inside(previous)
        observation.tell(started)
        return observation

    def _find_telemetry(self) -> Telemetry | None:
        # Without the API nobody has set a provider, so it is not imported for that.
        if self._off or not (self._asked or "opentelemetry.trace" in sys.modules):
            return None
        try:
            from openapi_tools.observability.spans import find_telemetry

            self._telemetry = find_telemetry(
                self._telemetry, self._redact, tracers=self._tracers, meters=self._meters
            )
        except (ImportError, StopIteration):
            # What the environment names is not installed; OpenTelemetry itself logs which.
            self._off = True
        return self._telemetry

    def _url(self, operation: Operation) -> str:
        try:
            address = self._address(operation) if self._address is not None else ""
        except CallError:
            address = ""
        url = address + operation.path.partition("?")[0]
        if not url.isprintable():
            url = "".join(
                char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in url
            )
        return self._redact(url)


def trace_headers() -> dict[str, str]:
    """Return the headers that tell a server of the current span; none where there is none.

    Spec: W3C Trace Context, Recommendation of 2021, `traceparent` and `tracestate`.
    """
    headers: dict[str, str] = {}
    if "opentelemetry.trace" in sys.modules:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(headers)
    return headers
