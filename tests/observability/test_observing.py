"""Observing: what a call tells to subscribers, to the log and to OpenTelemetry, step by step."""

from __future__ import annotations

import contextvars
import logging
import sys
from contextlib import contextmanager
from dataclasses import astuple, fields
from functools import partial
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from opentelemetry import baggage, context, metrics, trace
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.attributes import url_attributes as url_in_development
from opentelemetry.semconv.attributes import (
    error_attributes,
    http_attributes,
    network_attributes,
    server_attributes,
    url_attributes,
)
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.trace import SpanKind, StatusCode

from openapi_tools import __version__
from openapi_tools.errors import CallError, SettingsError
from openapi_tools.model import Operation
from openapi_tools.observability.observers import (
    UNOBSERVED,
    Event,
    Observers,
    current,
    trace_headers,
)
from openapi_tools.result import ToolResult

BASE = "https://api.example.com/v1"
GET_PET = Operation("GET", "/pets/{petId}")
SECRET = "hunter2-hunter2"
ANSWER = {"http_version": b"HTTP/1.1"}


def redact(text):
    return text.replace(SECRET, "***")


def observers(**providers):
    return Observers(lambda _: BASE, redact, **providers)


def request(url=f"{BASE}/pets/7", method="GET"):
    return httpx.Request(method, url)


def response(status):
    return httpx.Response(status, extensions=ANSWER)


def well(status=200):
    return ToolResult.ok({}, {"status": status})


def badly(kind="timeout", **facts):
    return ToolResult.failed(kind, f"it says {SECRET}", facts=facts)


def call_well(looking, operation=GET_PET, call_id=""):
    """Do what a caller and its sender do, for one call that is answered at once."""
    with looking.begin("get_pet", operation, call_id=call_id) as observation:
        current().attempt_started(request())
        current().attempt_ended(response(200))
        observation.ended(well())


def call_again(looking):
    """The same for a call that is answered 503, breaks, and is redirected then."""
    with looking.begin("get_pet", GET_PET, call_id="c1") as begun:
        observation = current()
        observation.attempt_started(request())
        observation.attempt_ended(response(503))
        observation.retry(0.5, status=503, retry_after=0.25)
        observation.attempt_started(request())
        observation.retry(1.5, error_type="connection")
        observation.attempt_started(request())
        observation.attempt_ended(response(302))
        observation.attempt_started(request(f"{BASE}/pets/8"))
        observation.attempt_ended(response(200))
        begun.ended(well())


@pytest.fixture
def sdk(sdk):
    sdk.observers = observers(tracer_provider=sdk.tracers, meter_provider=sdk.meters)
    return sdk


def told(looking):
    events: list[Event] = []
    looking.subscribe(events.append)
    return events


# Subscribers


def test_each_retry_is_told_with_its_cause_and_a_redirect_is_no_attempt():
    events = told(looking := observers())

    call_again(looking)

    facts = [
        (e.kind, e.attempt, e.attempts, e.status, e.error_type, e.wait, e.retry_after)
        for e in events
    ]
    assert facts == [
        ("started", 1, 0, None, "", None, None),
        ("retry", 2, 1, 503, "", 0.5, 0.25),
        ("retry", 3, 2, None, "connection", 1.5, None),
        ("completed", 3, 3, 200, "", None, None),
    ]
    assert sorted(event.elapsed for event in events) == [event.elapsed for event in events]


@pytest.mark.parametrize(
    ("result", "status", "error_type", "retry_after"),
    [
        (badly("timeout"), None, "timeout", None),
        (badly("http", status=404), 404, "http", None),
        (badly("rate_limited", status=429, retry_after=2.5), 429, "rate_limited", 2.5),
        (badly("invalid_input"), None, "invalid_input", None),
        (ToolResult(success=False, error={"status": "x"}), None, "_OTHER", None),
    ],
    ids=["timeout", "404", "429", "nothing sent", "made by a guardrail"],
)
def test_a_failed_call_tells_its_type_of_error(result, status, error_type, retry_after):
    events = told(looking := observers())

    with looking.begin("get_pet", GET_PET) as observation:
        observation.ended(result)

    last = events[-1]
    assert (last.kind, last.attempt, last.attempts) == ("error", 0, 0)
    assert (last.status, last.error_type, last.retry_after) == (status, error_type, retry_after)


def test_the_end_is_told_once_and_nothing_after_it():
    events = told(looking := observers())

    with looking.begin("get_pet", GET_PET) as observation:
        observation.ended(well())
        observation.ended(badly())
        observation.attempt_started(request())
        observation.attempt_ended(response(200))
        observation.retry(1, status=503)

    assert [event.kind for event in events] == ["started", "completed"]


def test_a_subscriber_is_told_until_it_unsubscribes():
    looking, first, second = observers(), [], []
    leave = looking.subscribe(first.append)
    looking.subscribe(second.append)

    call_well(looking)
    leave()
    leave()
    call_well(looking)

    assert (len(first), len(second)) == (2, 4)


def test_a_subscriber_may_leave_when_it_is_told():
    looking, events = observers(), []

    def once(event: Event):
        events.append(event)
        leave()

    leave = looking.subscribe(once)
    later = told(looking)

    call_well(looking)

    assert (len(events), len(later)) == (1, 2)


async def coroutine_function(event):
    raise AssertionError


class Async:
    async def __call__(self, event: Event):
        raise AssertionError


@pytest.mark.parametrize("function", [coroutine_function, partial(coroutine_function), Async()])
def test_a_coroutine_function_cannot_subscribe(function):
    with pytest.raises(SettingsError, match="put_nowait"):
        observers().subscribe(function)


def test_an_operation_without_a_server_is_told_by_its_path():
    def nowhere(operation: Operation) -> str:
        raise CallError("connection", "no server")

    events = told(looking := Observers(nowhere))

    call_well(looking)

    assert {event.url for event in events} == {"/pets/{petId}"}


def test_a_url_has_no_query_no_secret_and_no_line_break():
    looking = Observers(lambda _: f"https://api.example.com/{SECRET}", redact)
    events = told(looking)

    call_well(looking, Operation("GET", "/a\r\nb?action=list&key={key}"), call_id=SECRET)

    assert {event.url for event in events} == {"https://api.example.com/***/a\ufffd\ufffdb"}
    assert SECRET not in str([astuple(event) for event in events])


# Nobody looks


def test_a_call_that_nobody_looks_at_tells_nothing():
    looking = observers()

    with looking.begin("get_pet", GET_PET, call_id="c1") as observation:
        assert observation is current() is UNOBSERVED
        observation.attempt_started(request())
        observation.attempt_ended(response(200))
        observation.retry(1, status=503)
        observation.ended(well())

    assert current() is UNOBSERVED


def test_a_call_inside_another_one_is_told_of_by_its_own_observers_only():
    outer, inner = told(looking := observers()), observers()

    with looking.begin("outer", GET_PET) as observation:
        call_again(inner)
        assert current() is observation
        observation.ended(well())

    assert [(event.tool, event.attempts) for event in outer] == [("outer", 0), ("outer", 0)]
    assert current() is UNOBSERVED


def test_the_api_without_a_provider_is_nobody():
    assert type(trace.get_tracer_provider()).__module__ == "opentelemetry.trace"

    assert observers().begin("get_pet", GET_PET) is UNOBSERVED
    mute = {
        "tracer_provider": trace.NoOpTracerProvider(),
        "meter_provider": metrics.NoOpMeterProvider(),
    }
    assert observers(**mute).begin("get_pet", GET_PET) is UNOBSERVED


# The log


def test_a_record_says_in_words_and_as_data_what_happened(caplog):
    caplog.set_level(logging.INFO, "openapi_tools.calls")
    looking = observers()
    call_again(looking)
    assert caplog.records == []
    caplog.set_level(logging.DEBUG, "openapi_tools.calls")

    call_again(looking)
    with looking.begin("get_pet", GET_PET) as observation:
        observation.ended(badly("http", status=500))

    words = [record.getMessage().partition("{petId} ")[2] for record in caplog.records]
    assert words[:3] == [
        "begins",
        "is tried again in 0.5 s (status 503)",
        "is tried again in 1.5 s (connection)",
    ]
    assert words[3].startswith("ended well after 0.")
    assert words[3].endswith(" s (status 200)")
    assert words[5].startswith("failed after 0.")
    assert words[5].endswith(" s (http, status 500)")
    retry = caplog.records[1]
    assert retry.getMessage().startswith(f"get_pet: GET {BASE}/pets/{{petId}} is")
    assert {name: getattr(retry, f"openapi_{name}") for name in ("tool", "call_id", "wait")} == {
        "tool": "get_pet",
        "call_id": "c1",
        "wait": 0.5,
    }
    assert all(hasattr(retry, f"openapi_{item.name}") for item in fields(Event))


# OpenTelemetry


def test_a_call_is_a_span_and_each_request_a_client_span_below_it(sdk):
    call_well(sdk.observers, call_id="c1")

    call, sent = sdk.span("execute_tool get_pet"), sdk.span("GET /v1/pets/{petId}")
    assert (call.kind, sent.kind) == (SpanKind.INTERNAL, SpanKind.CLIENT)
    assert sent.parent.span_id == call.context.span_id
    assert dict(call.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_pet",
        "gen_ai.tool.call.id": "c1",
    }
    assert dict(sent.attributes) == {
        "http.request.method": "GET",
        "server.address": "api.example.com",
        "server.port": 443,
        "url.full": f"{BASE}/pets/7",
        "url.template": "/v1/pets/{petId}",
        "http.response.status_code": 200,
        "network.protocol.version": "1.1",
    }
    assert {span.status.status_code for span in (call, sent)} == {StatusCode.UNSET}
    assert call.start_time <= sent.start_time <= sent.end_time <= call.end_time
    scope = call.instrumentation_scope
    assert (scope.name, scope.version) == ("openapi_tools", __version__)


def test_every_name_is_one_of_the_semantic_conventions(sdk, monkeypatch):
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "POST")
    homes = (error_attributes, gen_ai_attributes, http_attributes, network_attributes)
    homes += (server_attributes, url_attributes, url_in_development)
    known = {value for home in homes for value in vars(home).values() if isinstance(value, str)}

    call_again(sdk.observers)

    used = {name for span in sdk.spans for name in span.attributes}
    assert used - known == set()
    assert len(used) == 13
    assert {span.instrumentation_scope.schema_url for span in sdk.spans} <= set(
        map(attrgetter("value"), Schemas)
    )


def test_a_long_id_of_a_call_is_cut(sdk):
    call_well(sdk.observers, call_id="c" * 1000)

    assert sdk.span("execute_tool get_pet").attributes["gen_ai.tool.call.id"] == "c" * 256


@pytest.mark.parametrize(
    ("result", "of_call", "of_request"),
    [
        (badly("timeout"), "timeout", "timeout"),
        (badly("too_large", status=200), "too_large", "too_large"),
        (badly("http", status=404), "http", "404"),
        (badly("decode", status=500), "decode", "500"),
        (well(), None, None),
    ],
    ids=["timeout", "too large", "404", "broken 500", "cut stream of events"],
)
def test_a_request_that_did_not_end_ends_as_its_call_does(sdk, result, of_call, of_request):
    with sdk.observers.begin("get_pet", GET_PET) as observation:
        observation.attempt_started(request())
        observation.ended(result)

    [sent], call = sdk.requests, sdk.span("execute_tool get_pet")
    status = (result.error or result.metadata).get("status")
    assert sent.attributes.get("http.response.status_code") == status
    assert sent.attributes.get("error.type") == of_request
    assert call.attributes.get("error.type") == of_call
    assert {span.status.status_code for span in (sent, call)} == {
        StatusCode.ERROR if of_call else StatusCode.UNSET
    }


def test_a_request_may_end_with_an_error_of_its_own(sdk):
    with sdk.observers.begin("get_pet", GET_PET) as observation:
        observation.attempt_started(request())
        observation.attempt_ended(response(200), error_type="decode")
        observation.attempt_started(request())
        observation.attempt_ended(error_type="connection")
        observation.attempt_started(request())
        observation.attempt_ended()
        observation.ended(well())

    assert [span.attributes["error.type"] for span in sdk.requests] == [
        "decode",
        "connection",
        "_OTHER",
    ]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"{BASE}/a?key={SECRET}&b=1", f"{BASE}/a?key=REDACTED&b=REDACTED"),
        (f"{BASE}/a?{SECRET}", f"{BASE}/a?REDACTED"),
        (f"{BASE}/a?", f"{BASE}/a?"),
        (f"{BASE}/a/{SECRET}/b", f"{BASE}/a/***/b"),
        (f"https://user:{SECRET}@api.example.com/a#f", "https://api.example.com/a"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
        ("http://127.0.0.1:8080/%C3%A9%2F", "http://127.0.0.1:8080/%C3%A9%2F"),
    ],
)
def test_the_full_url_of_a_request_shows_no_secret_and_no_value_of_the_query(sdk, url, shown):
    with sdk.observers.begin("get_pet", GET_PET, call_id=SECRET) as observation:
        observation.attempt_started(request(url))
        observation.ended(badly())

    assert sdk.requests[0].attributes["url.full"] == shown
    assert SECRET not in "".join(span.to_json() for span in sdk.spans)
    assert SECRET not in str(sdk.measured)


@pytest.mark.parametrize(
    ("url", "address", "port"),
    [
        ("https://api.example.com/a", "api.example.com", 443),
        ("http://api.example.com/a", "api.example.com", 80),
        ("http://[::1]:8080/a", "::1", 8080),
        ("http://b\u00fccher.example/a", "xn--bcher-kva.example", 80),
    ],
)
def test_the_server_of_a_request_is_told_by_name_and_port(sdk, url, address, port):
    with sdk.observers.begin("get_pet", GET_PET) as observation:
        observation.attempt_started(request(url))
        observation.ended(well())

    attributes = sdk.requests[0].attributes
    assert (attributes["server.address"], attributes["server.port"]) == (address, port)


@pytest.mark.parametrize(
    ("method", "known", "name", "counted", "original"),
    [
        ("PATCH", None, "PATCH /v1/a", "PATCH", None),
        ("QUERY", None, "QUERY /v1/a", "QUERY", None),
        ("PURGE", None, "HTTP /v1/a", "_OTHER", "PURGE"),
        ("PURGE", "GET,PURGE", "PURGE /v1/a", "PURGE", None),
        ("PATCH", "GET,PURGE", "HTTP /v1/a", "_OTHER", "PATCH"),
    ],
)
def test_a_method_that_is_not_known_is_one_of_many(
    method, known, name, counted, original, monkeypatch, sdk
):
    if known is not None:
        monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", known)

    with sdk.observers.begin("a", Operation(method, "/a")) as observation:
        observation.attempt_started(request(method=method))
        observation.ended(well())

    [sent] = sdk.requests
    assert sent.name == name
    assert sent.attributes["http.request.method"] == counted
    assert sent.attributes.get("http.request.method_original") == original
    assert sdk.measured[0].attributes["http.request.method"] == counted


def test_requests_are_measured_in_seconds_with_the_usual_buckets(sdk):
    call_again(sdk.observers)

    points = {
        (point.attributes.get("http.response.status_code"), point.attributes.get("error.type")): (
            point
        )
        for point in sdk.measured
    }
    assert set(points) == {(503, "503"), (None, "connection"), (302, None), (200, None)}
    assert points[200, None].explicit_bounds == (
        0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
    )  # fmt: skip
    assert dict(points[200, None].attributes) == {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "network.protocol.version": "1.1",
        "server.address": "api.example.com",
        "server.port": 443,
    }
    [well_ended] = [span for span in sdk.requests if span.attributes.get("error.type") is None][1:]
    in_span = (well_ended.end_time - well_ended.start_time) / 1e9
    assert points[200, None].sum == pytest.approx(in_span, abs=1e-6)


def test_spans_need_no_meter_and_measurements_no_tracer(sdk):
    mute_tracers, mute_meters = trace.NoOpTracerProvider(), metrics.NoOpMeterProvider()

    call_well(observers(tracer_provider=sdk.tracers, meter_provider=mute_meters))
    assert (len(sdk.spans), len(sdk.measured)) == (2, 0)

    call_well(observers(tracer_provider=mute_tracers, meter_provider=sdk.meters))
    assert (len(sdk.spans), len(sdk.measured)) == (2, 1)


def test_a_meter_of_an_older_api_is_given_no_advice(sdk):
    made, measured = [], []

    class Histogram:
        def record(self, value: float, attributes: Any):
            measured.append(attributes)

    class OldMeter:
        def create_histogram(self, name: str, unit: str, description: str) -> Histogram:
            made.append(name)
            return Histogram()

    class OldMeters:
        def get_meter(self, *_: Any) -> OldMeter:
            return OldMeter()

    looking = observers(tracer_provider=sdk.tracers, meter_provider=OldMeters())
    call_well(looking)
    call_well(looking)

    assert [point["http.response.status_code"] for point in measured] == [200, 200]
    assert made == ["http.client.request.duration"]


def test_a_span_of_the_program_is_the_parent_and_is_current_again_afterwards(sdk):
    tracer = sdk.tracers.get_tracer("program")

    with tracer.start_as_current_span("agent") as agent:
        call_again(sdk.observers)
        assert trace.get_current_span() is agent

    assert sdk.span("execute_tool get_pet").parent.span_id == agent.get_span_context().span_id


def test_an_instrumented_client_makes_no_second_span(sdk, monkeypatch):
    @contextmanager
    def suppress_http_instrumentation():
        token = context.attach(context.set_value("suppressed", True))
        yield
        context.detach(token)

    instrumentation = SimpleNamespace(suppress_http_instrumentation=suppress_http_instrumentation)
    monkeypatch.setitem(sys.modules, "opentelemetry.instrumentation.utils", instrumentation)
    key = "suppressed"

    with sdk.observers.begin("get_pet", GET_PET) as observation:
        before = context.get_value(key)
        observation.attempt_started(request())
        during = context.get_value(key)
        observation.attempt_ended(response(200))
        after = context.get_value(key)
        observation.ended(well())

    assert (before, during, after) == (None, True, None)


def test_an_end_in_another_task_than_the_beginning_breaks_nothing(sdk, caplog):
    observation = contextvars.copy_context().run(sdk.observers.begin, "get_pet", GET_PET)

    contextvars.copy_context().run(observation.attempt_started, request())
    contextvars.copy_context().run(observation.ended, well())

    assert [span.name for span in sdk.spans] == ["GET /v1/pets/{petId}", "execute_tool get_pet"]
    assert caplog.records == []


# Trace context


def test_the_trace_context_holds_the_state_of_the_trace_but_no_baggage():
    state = trace.TraceState([("vendor", "value")])
    remote = trace.SpanContext(1, 2, is_remote=True, trace_flags=1, trace_state=state)
    inside = baggage.set_baggage("user", "7")
    token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(remote), inside))
    headers = trace_headers()
    context.detach(token)

    assert headers == {"traceparent": f"00-{1:032x}-{2:016x}-01", "tracestate": "vendor=value"}


def test_without_a_span_there_is_no_trace_context():
    assert trace_headers() == {}
