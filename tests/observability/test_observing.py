"""Observing: what calls tell subscribers, the log and OpenTelemetry, and what they never do."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import astuple, fields
from functools import partial
from operator import attrgetter
from types import SimpleNamespace

import httpx
import pytest
from documents import document, operation
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
from opentelemetry.trace import StatusCode
from servers import documents
from servers.faults import Faults, hang, make_response, reply_with, stalling
from servers.recorder import CannedResponse

from openapi_tools import DeniedError, Select, Settings, ToolResult, __version__, load_tools
from openapi_tools.errors import SettingsError
from openapi_tools.model import Operation
from openapi_tools.observability import UNOBSERVED, Observers, current_observation
from openapi_tools.observability.events import Event

ID = {"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}
QUERY = {"name": "q", "in": "query", "schema": {"type": "string"}}
GET_PET = operation(operationId="get_pet", parameters=[ID, QUERY])
PATHS = {"/pets/{petId}": {"get": GET_PET}, "/pets": {"post": operation(operationId="add_pet")}}
SECRETS = {"header": "header-key-0123", "query": "query-key-4567"}
SCHEMES = {
    place: {"type": "apiKey", "in": place, "name": f"X-{place}"} for place in ("header", "query")
}
BUSY = CannedResponse(503, [("Retry-After", "0")])
OK = b"HTTP/1.1 200 OK\r\n"


def pets(url, client=None, **options):
    """The tools of an API at `url`, `get_pet` and `add_pet`, that wants two keys."""
    security = {
        "components": {"securitySchemes": SCHEMES},
        "security": [{"header": [], "query": []}],
    }
    root = document(PATHS, servers=[{"url": f"{url}/v1"}], **security)
    settings = Settings(**{"timeout": 10, **options})
    return load_tools(root, credentials=SECRETS, settings=settings, client=client)


def client_of(handle=lambda _: httpx.Response(200)):
    return httpx.AsyncClient(transport=httpx.MockTransport(handle))


def collect_events(toolset):
    events: list[Event] = []
    toolset.subscribe(events.append)
    return events


async def get_pet(toolset, call_id="c1"):
    return await toolset["get_pet"].execute({"petId": 7, "_tool_call_id": call_id})


async def observe_call(sdk, url, *arguments, **settings):
    """Return what one call tells, and its result."""
    tools = pets(url, *arguments, **settings)
    async with sdk.watch(tools) if sdk else tools as toolset:
        events = collect_events(toolset)
        return events, await get_pet(toolset)


async def call_again(sdk):
    """Make a call that gets a 503, breaks, and is redirected then; return what is told."""

    async def behave(peer):
        while True:
            await peer.request()
            match len(peer.server.requests):
                case 1:
                    await peer.write(make_response(b"", "Retry-After: 0", status="503 Unavailable"))
                case 2:
                    peer.reset()
                case 3:
                    place = "Location: /v1/pets/8?opaque"
                    await peer.write(make_response(b"", place, status="302 Found"))
                case _:
                    await peer.write(make_response())

    async with Faults(behave) as server:
        events, result = await observe_call(sdk, server.url, retries=2)
    assert len(server.requests) == 4
    return events, result


# Subscribers


async def test_each_retry_is_reported_with_its_cause_and_a_redirect_is_a_request_but_no_attempt(
    sdk,
):
    events, result = await call_again(sdk)

    facts = attrgetter("kind", "attempt", "attempts", "status", "error_type", "retry_after")
    assert [facts(event) for event in events] == [
        ("started", 1, 0, None, "", None),
        ("retry", 2, 1, 503, "", 0),
        ("retry", 3, 2, None, "connection", None),
        ("completed", 3, 3, 200, "", None),
    ]
    assert [event.wait is None for event in events] == [True, False, False, True]
    assert sorted(event.elapsed for event in events) == [event.elapsed for event in events]
    assert result.metadata["attempts"] == 3
    assert sdk.outcomes() == [(503, "503"), (None, "connection"), (302, None), (200, None)]
    assert [s.attributes.get("http.request.resend_count") for s in sdk.requests] == [None, 1, 2, 3]
    # What has no name in a query may be a secret value.
    assert sdk.requests[3].attributes["url.full"].endswith("/v1/pets/8?REDACTED")


async def test_a_request_with_a_newer_token_is_another_attempt(recorder, sdk):
    recorder.responses.append(CannedResponse(401))
    tokens = iter(("stale-token", "fresh-token"))
    root = document(
        {"/a": {"get": operation(operationId="a", security=[{"token": []}])}},
        servers=[{"url": recorder.url}],
        components={"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    )
    async with sdk.watch(load_tools(root, credentials={"token": lambda: next(tokens)})) as toolset:
        events = collect_events(toolset)

        result = await toolset["a"].execute({})

    assert [(e.kind, e.status, e.attempts) for e in events[1:]] == [
        ("retry", 401, 1),
        ("completed", 200, 2),
    ]
    assert result.metadata["attempts"] == len(recorder.requests) == 2
    assert sdk.outcomes() == [(401, "401"), (200, None)]
    assert "-token" not in str(events) + sdk.as_text()


LARGE = reply_with(make_response(b"x" * 100))
BROKEN = reply_with(make_response(b"x", "Content-Encoding: gzip", status="500 Oops"))
STREAM = stalling(OK + b"Content-Type: text/event-stream\r\n\r\ndata: 1\n\n")


@pytest.mark.parametrize(
    ("behave", "status", "of_call", "of_request"),
    [
        (hang, None, "timeout", "timeout"),
        (LARGE, 200, "too_large", "too_large"),
        (reply_with(make_response(status="401 Unauthorized")), 401, "auth", "401"),
        (reply_with(make_response(status="404 Not Found")), 404, "http", "404"),
        (
            reply_with(make_response(b"", "Retry-After: 2.5", status="429 Wait")),
            429,
            "rate_limited",
            "429",
        ),
        (reply_with(make_response(status="500 Oops")), 500, "http", "500"),
        (BROKEN, 500, "decode", "500"),
        (STREAM, 200, "", None),
    ],
    ids=["timeout", "too large", "401", "404", "429", "500", "broken 500", "cut stream"],
)
async def test_a_call_and_its_request_end_with_a_status_and_a_type_of_error(
    behave, status, of_call, of_request, sdk
):
    async with Faults(behave) as server:
        events, _ = await observe_call(sdk, server.url, timeout=0.3, max_response_bytes=50)

    last = events[-1]
    assert (len(events), last.kind, last.status) == (2, "error" if of_call else "completed", status)
    assert (last.error_type, last.retry_after) == (of_call, 2.5 if status == 429 else None)
    assert sdk.outcomes() == [(status, of_request)]
    assert sdk.calls[0].attributes.get("error.type", "") == of_call
    ended = StatusCode.ERROR if of_call else StatusCode.UNSET
    assert [span.status.status_code for span in sdk.spans] == [ended, ended]


async def test_a_cancelled_call_says_so_and_leaves_no_span_open(sdk):
    async with Faults(hang) as server, sdk.watch(pets(server.url)) as toolset:
        events = collect_events(toolset)
        task = asyncio.create_task(get_pet(toolset))
        await server.wait_until(lambda: bool(server.requests))

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert [(e.kind, e.error_type) for e in events][1:] == [("error", "CancelledError")]
    assert [span.attributes["error.type"] for span in sdk.spans] == ["CancelledError"] * 2


async def test_calls_that_a_closed_toolset_gives_up_are_reported_as_errors(sdk):
    async with Faults(hang) as server:
        toolset = sdk.watch(pets(server.url))
        events = collect_events(toolset)
        task = asyncio.create_task(get_pet(toolset))
        await server.wait_until(lambda: bool(server.requests))

        await toolset.aclose()
        await task
        await get_pet(toolset)

    assert [(e.kind, e.error_type, e.attempts) for e in events] == [
        ("started", "", 0),
        ("error", "connection", 1),
        ("started", "", 0),
        ("error", "connection", 0),
    ]
    assert (len(sdk.calls), len(sdk.requests)) == (2, 1)


async def test_what_is_refused_before_sending_has_no_attempt(recorder):
    async with pets(recorder.url) as toolset:
        events = collect_events(toolset)

        await toolset["get_pet"].execute({"petId": "seven"})
        toolset.add_input_guardrails([lambda call, context: False])
        await get_pet(toolset)
        await toolset.call("no_such_tool", {})

    assert [(e.kind, e.error_type, e.attempt, e.attempts) for e in events[1::2]] == [
        ("error", "invalid_input", 0, 0),
        ("error", "denied", 0, 0),
    ]
    assert len(events) == 4
    assert recorder.requests == []


def withhold(result, context):
    raise DeniedError("not for you")


@pytest.mark.parametrize(
    ("guard", "kind"),
    [(withhold, "denied"), (lambda *_: ToolResult(success=False, error={"status": "x"}), "_OTHER")],
    ids=["denied", "a result of its own"],
)
async def test_the_end_that_is_reported_is_the_one_that_guardrails_let_through(
    guard, kind, recorder
):
    async with pets(recorder.url) as toolset:
        toolset.add_output_guardrails([guard])
        events = collect_events(toolset)

        await get_pet(toolset)

    assert (events[-1].error_type, events[-1].status, events[-1].attempts) == (kind, None, 1)


async def test_a_subscriber_gets_events_until_it_unsubscribes(recorder):
    first, second, once = [], [], []

    def leave_at_once(event):
        once.append(event)
        leave_early()

    async with pets(recorder.url) as toolset:
        leave = toolset.subscribe(first.append)
        leave_early = toolset.subscribe(leave_at_once)
        toolset.select(Select(names=["add_pet"])).subscribe(second.append)
        for _ in range(2):
            await get_pet(toolset)
            leave()

    assert (len(first), len(once), len(second)) == (2, 1, 4)


async def coroutine_function(event):
    raise AssertionError


class Async:
    async def __call__(self, event: Event):
        raise AssertionError


@pytest.mark.parametrize(
    "function",
    [None, 7, "see", coroutine_function, partial(coroutine_function), Async()],
    ids=lambda it: type(it).__name__,
)
def test_only_a_plain_function_can_subscribe(function):
    with pytest.raises(
        SettingsError, match="a subscriber must be a plain function, not async; for async"
    ):
        pets("http://api.test").subscribe(function)


async def test_a_subscriber_that_raises_changes_no_call(recorder, caplog):
    def fail(event: Event):
        raise asyncio.QueueFull

    async with pets(recorder.url) as toolset:
        toolset.subscribe(fail)
        events = collect_events(toolset)

        results = [await get_pet(toolset) for _ in range(2)]

    assert [result.success for result in results] == [True, True]
    assert len(events) == 4
    assert ["subscriber" in record.getMessage() for record in caplog.records] == [True]


async def test_an_operation_without_a_server_is_identified_by_its_path():
    async with load_tools(document(PATHS)) as toolset:
        events = collect_events(toolset)
        await get_pet(toolset)

    assert {event.url for event in events} == {"/pets/{petId}"}


def test_a_url_has_no_query_no_secret_and_no_line_break():
    looking = Observers(lambda _: "https://api.test/s3cret", lambda text: text.replace("s3", "*"))
    events = collect_events(looking)

    with looking.observe("a", Operation("GET", "/a\r\nb?key={key}"), call_id="s3"):
        pass

    assert {event.url for event in events} == {"https://api.test/*cret/a\ufffd\ufffdb"}
    assert "s3" not in str([astuple(event) for event in events])


# Calls beside and inside one another


@pytest.mark.parametrize("observed", [True, False])
async def test_a_call_from_a_guardrail_is_reported_by_its_own_observers_only(
    observed, recorder, sdk
):
    async with sdk.watch(pets(recorder.url)) as toolset, pets(recorder.url) as other:

        async def look_first(call, context):
            await get_pet(toolset if observed else other)

        toolset["add_pet"].add_input_guardrails([look_first])
        events = collect_events(toolset)

        await toolset["add_pet"].execute({})

    inside = [("started", "get_pet", 0), ("completed", "get_pet", 1)] if observed else []
    assert [(e.kind, e.tool, e.attempts) for e in events] == [
        ("started", "add_pet", 0),
        *inside,
        ("completed", "add_pet", 1),
    ]
    *inner, outer = sdk.calls
    assert [span.parent.span_id for span in inner] == [outer.context.span_id] * observed
    calls = [span.context.span_id for span in sdk.calls]
    assert [span.parent.span_id for span in sdk.requests] == calls
    assert current_observation() is UNOBSERVED


async def test_concurrent_calls_do_not_mix_their_spans(recorder, sdk):
    recorder.responses.extend([BUSY] * 5)
    async with sdk.watch(pets(recorder.url, retries=5)) as toolset:
        calls = [
            toolset["get_pet"].execute({"petId": i, "_tool_call_id": str(i)}) for i in range(30)
        ]

        await asyncio.gather(*calls)

    names = {span.context.span_id: span.attributes["gen_ai.tool.call.id"] for span in sdk.calls}
    asked = [span.attributes["url.full"].partition("?")[0] for span in sdk.requests]
    assert sorted(names.values(), key=int) == [str(i) for i in range(30)]
    assert [url.rpartition("/")[2] for url in asked] == [
        names[span.parent.span_id] for span in sdk.requests
    ]
    assert len(asked) == len(recorder.requests) == 35
    assert trace.get_current_span() is trace.INVALID_SPAN


async def test_a_span_of_the_program_is_the_parent_and_is_current_again_afterwards(sdk):
    with sdk.tracers.get_tracer("program").start_as_current_span("agent") as agent:
        await call_again(sdk)
        assert trace.get_current_span() is agent

    assert sdk.calls[0].parent.span_id == agent.get_span_context().span_id


def test_an_end_in_another_task_than_the_beginning_breaks_nothing(sdk, caplog):
    looking = sdk.observers()
    begin = partial(looking.observe, "get_pet", Operation("GET", "/pets"))
    observation = contextvars.copy_context().run(begin)

    sent = httpx.Request("GET", "https://api.example.com/pets")
    contextvars.copy_context().run(observation.begin_attempt, sent)
    contextvars.copy_context().run(observation.report_result, ToolResult.ok({}))

    assert [span.name for span in sdk.spans] == ["GET /pets", "execute_tool get_pet"]
    assert caplog.records == []


# The log


async def test_a_record_says_in_words_and_as_data_what_happened(caplog):
    caplog.set_level(logging.INFO, "openapi_tools.calls")
    await call_again(None)
    assert caplog.records == []
    caplog.set_level(logging.DEBUG, "openapi_tools.calls")

    await call_again(None)
    await observe_call(None, "http://127.0.0.1", client_of(lambda _: httpx.Response(500)))

    records = [record for record in caplog.records if record.name == "openapi_tools.calls"]
    words = [record.getMessage().partition("{petId} ")[2] for record in records]
    assert [re.sub(r"\d\S* s", "N s", line) for line in words] == [
        "started",
        "will be retried in N s (status 503)",
        "will be retried in N s (connection)",
        "completed after N s (status 200)",
        "started",
        "failed after N s (http, status 500)",
    ]
    retry = records[1]
    assert retry.getMessage().startswith("get_pet: GET http://127.0.0.1:")
    assert (retry.openapi_tool, retry.openapi_call_id) == ("get_pet", "c1")
    assert all(hasattr(retry, f"openapi_{item.name}") for item in fields(Event))


async def test_no_secret_is_in_an_event_a_record_or_a_span(recorder, sdk, caplog):
    caplog.set_level(logging.DEBUG)
    recorder.response = CannedResponse(
        404, body=b'{"you sent": "header-key-0123 and query-key-4567"}'
    )
    async with sdk.watch(pets(recorder.url)) as toolset:
        events = collect_events(toolset)

        for identifier in (*SECRETS.values(), "c1"):
            call = {"petId": 7, "q": "my words", "_tool_call_id": identifier}
            await toolset["get_pet"].execute(call)

    sent = recorder.last
    assert (sent.header("x-header"), "query-key-4567" in sent.target) == ("header-key-0123", True)
    assert (len(events), len(sdk.calls), len(sdk.requests)) == (6, 3, 3)
    records = [vars(record) for record in caplog.records if record.name == "openapi_tools.calls"]
    assert len(records) == 6
    for text in (str(events), sdk.as_text(), str(records), caplog.text):
        assert [secret for secret in SECRETS.values() if secret in text] == []
    for text in (str(events), sdk.as_text(), str(records)):
        assert "my" not in text.replace("my_", "")
    assert sdk.requests[0].attributes["url.full"].endswith("?q=REDACTED&X-query=REDACTED")


# OpenTelemetry


async def test_a_call_is_two_events_and_a_span_and_each_request_a_client_span_below_it(
    recorder, sdk
):
    async with sdk.watch(pets(recorder.url)) as toolset:
        events = collect_events(toolset)
        await get_pet(toolset, "c" * 1000)

    facts = ("get_pet", "GET", f"{recorder.url}/v1/pets/{{petId}}", "c" * 1000)
    assert [(e.kind, e.status, e.tool, e.method, e.url, e.call_id) for e in events] == [
        ("started", None, *facts),
        ("completed", 200, *facts),
    ]
    [call], [sent] = sdk.calls, sdk.requests
    assert (call.name, sent.name) == ("execute_tool get_pet", "GET /v1/pets/{petId}")
    assert sent.parent.span_id == call.context.span_id
    assert dict(call.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_pet",
        "gen_ai.tool.call.id": "c" * 256,
    }
    measured = {
        "http.request.method": "GET",
        "server.address": "127.0.0.1",
        "server.port": recorder.port,
        "http.response.status_code": 200,
        "network.protocol.version": "1.1",
    }
    url = f"{recorder.url}/v1/pets/7?X-query=REDACTED"
    template = {"url.full": url, "url.template": "/v1/pets/{petId}"}
    assert dict(sent.attributes) == measured | template
    assert {span.status.status_code for span in (call, sent)} == {StatusCode.UNSET}
    assert call.start_time <= sent.start_time <= sent.end_time <= call.end_time
    scope = call.instrumentation_scope
    assert (scope.name, scope.version) == ("openapi_tools", __version__)
    [point] = sdk.measured
    assert dict(point.attributes) == measured
    assert point.sum == pytest.approx((sent.end_time - sent.start_time) / 1e9, abs=1e-6)
    assert point.explicit_bounds == (
        0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
    )  # fmt: skip


def _minor_versions(newest):
    """Return the addresses of all minor versions up to the one after `newest`, without a patch."""
    stem, _, last = newest.rpartition(".")[0].rpartition(".")
    return {f"{stem}.{minor}" for minor in range(int(last) + 2)}


async def test_every_name_is_one_of_the_semantic_conventions(sdk, monkeypatch):
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "POST")
    homes = (error_attributes, gen_ai_attributes, http_attributes, network_attributes)
    homes += (server_attributes, url_attributes, url_in_development)
    conventions = {
        value for home in homes for value in vars(home).values() if isinstance(value, str)
    }

    await call_again(sdk)

    used = {name for span in sdk.spans for name in span.attributes}
    assert used - conventions == set()
    assert len(used) == 13
    # The package of the conventions may be a version behind that of the API.
    versions = {span.instrumentation_scope.schema_url for span in sdk.spans}
    *_, newest = map(attrgetter("value"), Schemas)
    assert {url.rpartition(".")[0] for url in versions} <= _minor_versions(newest)
    ends = ("http.response.status_code", "error.type")
    measured = {tuple(map(point.attributes.get, ends)) for point in sdk.measured}
    assert measured == set(sdk.outcomes())


@pytest.mark.parametrize(
    ("url", "visible_url", "address", "port"),
    [
        ("https://api.test", "https://api.test", "api.test", 443),
        ("http://api.test", "http://api.test", "api.test", 80),
        ("http://[::1]:8080", "http://[::1]:8080", "::1", 8080),
        ("http://b\u00fccher.test", "http://xn--bcher-kva.test", "xn--bcher-kva.test", 80),
        ("http://127.0.0.1:8080/%C3%A9%2F", "http://127.0.0.1:8080/%C3%A9%2F", "127.0.0.1", 8080),
        (f"http://a.test/{SECRETS['header']}", "http://a.test/***", "a.test", 80),
    ],
)
async def test_the_server_of_a_request_is_reported_by_name_and_port(
    url, visible_url, address, port, sdk
):
    await observe_call(sdk, url, client_of())

    attributes = sdk.requests[0].attributes
    assert attributes["url.full"] == f"{visible_url}/v1/pets/7?X-query=REDACTED"
    assert (attributes["server.address"], attributes["server.port"]) == (address, port)


@pytest.mark.parametrize(
    ("method", "known_methods", "name", "counted", "original"),
    [
        ("PATCH", None, "PATCH /p", "PATCH", None),
        ("QUERY", None, "QUERY /p", "QUERY", None),
        ("PURGE", None, "HTTP /p", "_OTHER", "PURGE"),
        ("PURGE", "GET,PURGE", "PURGE /p", "PURGE", None),
        ("PATCH", "GET,PURGE", "HTTP /p", "_OTHER", "PATCH"),
    ],
)
async def test_a_method_that_is_not_known_is_one_of_many(
    method, known_methods, name, counted, original, monkeypatch, sdk
):
    if known_methods is not None:
        monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", known_methods)
    spelling = method if method == "PURGE" else method.lower()
    root = documents.document(version="3.2.0", method=spelling)
    settings = Settings(base_url="http://api.test")
    async with sdk.watch(load_tools(root, client=client_of(), settings=settings)) as toolset:
        await toolset["call"].execute({})

    [sent] = sdk.requests
    assert sent.name == name
    assert sent.attributes["http.request.method"] == counted
    assert sent.attributes.get("http.request.method_original") == original
    assert sdk.measured[0].attributes["http.request.method"] == counted


async def test_spans_need_no_meter_and_measurements_no_tracer(recorder, sdk):
    mute_tracers, mute_meters = trace.NoOpTracerProvider(), metrics.NoOpMeterProvider()
    counts = []
    for providers in (
        {"tracer_provider": mute_tracers, "meter_provider": mute_meters},
        {"meter_provider": mute_meters},
        {"tracer_provider": mute_tracers},
    ):
        async with sdk.watch(pets(recorder.url), **providers) as toolset:
            for _ in range(2):
                await get_pet(toolset)
        counts.append((len(sdk.spans), sum(point.count for point in sdk.measured)))

    assert counts == [(0, 0), (4, 0), (4, 2)]


async def test_an_instrumented_client_makes_no_second_span(sdk, monkeypatch):
    @contextmanager
    def suppress_http_instrumentation():
        token = context.attach(context.set_value("suppressed", True))
        yield
        context.detach(token)

    instrumentation = SimpleNamespace(suppress_http_instrumentation=suppress_http_instrumentation)
    monkeypatch.setitem(sys.modules, "opentelemetry.instrumentation.utils", instrumentation)
    seen = []

    def look(*_):
        seen.append(context.get_value("suppressed"))
        return httpx.Response(200)

    async with sdk.watch(pets("http://127.0.0.1", client_of(look))) as toolset:
        toolset.add_input_guardrails([lambda *_: look() and None])
        toolset.add_output_guardrails([lambda *_: look() and None])
        await get_pet(toolset)

    assert seen == [None, True, None]


# Trace context


async def test_the_trace_context_goes_to_the_api_when_asked_for_but_no_baggage(recorder, sdk):
    recorder.responses.append(BUSY)
    state = trace.TraceState([("vendor", "value")])
    remote = trace.SpanContext(1, 2, True, trace.TraceFlags(1), state)
    inside = baggage.set_baggage("user", "7")
    async with sdk.watch(pets(recorder.url, trace_context=True, retries=1)) as toolset:
        token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(remote), inside))

        await get_pet(toolset)

        context.detach(token)

    sent = [request.header("traceparent").split("-") for request in recorder.requests]
    assert [(int(trace_id, 16), int(span_id, 16)) for _, trace_id, span_id, _ in sent] == [
        (1, span.context.span_id) for span in sdk.requests
    ]
    assert recorder.last.header("tracestate") == "vendor=value"
    assert recorder.last.header("baggage") is None


@pytest.mark.parametrize("why", ["not asked for", "no span", "another server"])
async def test_the_trace_context_stays_at_home_otherwise(why, recorder, sdk):
    elsewhere = {"get": {**GET_PET, "servers": [{"url": recorder.url}]}}
    root = document({"/pets/{petId}": elsewhere}, servers=[{"url": "http://127.0.0.1:9"}])
    asked = Settings(trace_context=True)
    away = load_tools(root, settings=asked) if why == "another server" else None
    toolset = away or pets(recorder.url, trace_context=why == "no span")
    async with toolset if why == "no span" else sdk.watch(toolset):
        result = await get_pet(toolset)

    assert result.success
    assert len(sdk.requests) == (why != "no span")
    assert recorder.last.header("traceparent") is None


CALL = """
import asyncio, sys
{before}
import httpx
from openapi_tools import Settings, load_tools

client = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(200)))
settings = Settings(base_url="http://127.0.0.1", trace_context=True)
toolset = load_tools({document}, settings=settings, client=client)
toolset.subscribe(lambda event: print(event.kind))
asyncio.run(toolset.call("call", {{}}))
print(any(name.startswith("opentelemetry.") for name in sys.modules))
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "provider", "imported"),
    [
        ("", "", False),
        ("sys.modules['opentelemetry'] = None", "sdk_tracer_provider", False),
        ("", "no_such_provider", True),
    ],
    ids=["not asked for", "not installed", "no such provider"],
)
def test_a_call_needs_no_open_telemetry_and_imports_none_unless_asked(before, provider, imported):
    program = CALL.format(before=before, document=documents.document())
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "OTEL_PYTHON_TRACER_PROVIDER": provider},
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout.split() == ["started", "completed", str(imported)]
