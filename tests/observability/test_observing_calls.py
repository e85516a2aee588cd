"""Observing: what calls of real tools against real servers tell, and what they never do."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from documents import document, operation
from opentelemetry import baggage, context, trace
from servers.faults import Faults
from servers.recorder import Answer

from openapi_tools import DeniedError, Select, Settings, load_tools
from openapi_tools.observability.observers import UNOBSERVED, current

if TYPE_CHECKING:
    from openapi_tools.observability.observers import Event

ID = {"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}
QUERY = {"name": "q", "in": "query", "schema": {"type": "string"}}
GET_PET = operation(operationId="get_pet", parameters=[ID, QUERY])
SECRETS = {"header": "header-key-0123", "query": "query-key-4567"}
SCHEMES = {
    place: {"type": "apiKey", "in": place, "name": f"X-{place}"} for place in ("header", "query")
}
BUSY = Answer(503, [("Retry-After", "0")])


def pets(url, **given):
    """The tools of an API at `url`, `get_pet` and `add_pet`, that wants two keys."""
    paths = {"/pets/{petId}": {"get": GET_PET}, "/pets": {"post": operation(operationId="add_pet")}}
    made = document(
        paths,
        servers=[{"url": f"{url}/v1"}],
        components={"securitySchemes": SCHEMES},
        security=[{"header": [], "query": []}],
    )
    settings = Settings(**{"timeout": 10, **given})
    return load_tools(made, credentials=SECRETS, settings=settings)


def told(toolset):
    events: list[Event] = []
    toolset.subscribe(events.append)
    return events


async def hang(peer):
    await peer.request()
    await peer.hang()


async def test_a_call_is_told_from_its_start_to_its_end(recorder):
    async with pets(recorder.url) as toolset:
        events = told(toolset)

        result = await toolset["get_pet"].execute({"petId": 7, "_tool_call_id": "c1"})

    url = f"{recorder.url}/v1/pets/{{petId}}"
    assert result.success
    assert [(e.kind, e.tool, e.method, e.url, e.call_id, e.status) for e in events] == [
        ("started", "get_pet", "GET", url, "c1", None),
        ("completed", "get_pet", "GET", url, "c1", 200),
    ]
    assert events[-1].attempts == result.metadata["attempts"] == 1


async def test_attempts_are_told_as_the_result_counts_them(recorder, sdk):
    recorder.answers.extend([BUSY, BUSY])
    async with sdk.watch(pets(recorder.url, retries=2)) as toolset:
        events = told(toolset)

        result = await toolset["get_pet"].execute({"petId": 7})

    assert [(e.kind, e.attempt, e.status, e.retry_after) for e in events] == [
        ("started", 1, None, None),
        ("retry", 2, 503, 0),
        ("retry", 3, 503, 0),
        ("completed", 3, 200, None),
    ]
    assert events[-1].attempts == result.metadata["attempts"] == len(recorder.requests) == 3
    assert sdk.outcomes() == [(503, "503"), (503, "503"), (200, None)]
    assert [s.attributes.get("http.request.resend_count") for s in sdk.requests] == [None, 1, 2]


async def test_a_request_with_a_newer_token_is_another_attempt(recorder, sdk):
    recorder.answers.append(Answer(401))
    tokens = iter(("stale-token", "fresh-token"))
    made = document(
        {"/a": {"get": operation(operationId="a", security=[{"token": []}])}},
        servers=[{"url": recorder.url}],
        components={"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    )
    toolset = load_tools(made, credentials={"token": lambda: next(tokens)})
    async with sdk.watch(toolset):
        events = told(toolset)

        result = await toolset["a"].execute({})

    assert [(e.kind, e.status, e.attempts) for e in events[1:]] == [
        ("retry", 401, 1),
        ("completed", 200, 2),
    ]
    assert result.metadata["attempts"] == len(recorder.requests) == 2
    assert sdk.outcomes() == [(401, "401"), (200, None)]
    assert "-token" not in str(events) + sdk.as_text()


async def test_a_followed_redirect_is_a_request_but_no_attempt(recorder, sdk):
    recorder.answers.append(Answer(302, [("Location", "/v1/pets/8")]))
    async with sdk.watch(pets(recorder.url)) as toolset:
        events = told(toolset)

        await toolset["get_pet"].execute({"petId": 7})

    assert (events[-1].attempts, len(recorder.requests)) == (1, 2)
    assert sdk.outcomes() == [(302, None), (200, None)]
    assert sdk.requests[1].attributes["http.request.resend_count"] == 1
    assert sdk.requests[1].attributes["url.full"].startswith(f"{recorder.url}/v1/pets/8")


async def test_a_call_that_runs_out_of_time_is_a_timeout_in_events_and_spans(sdk):
    async with Faults(hang) as server, sdk.watch(pets(server.url, timeout=0.2)) as toolset:
        events = told(toolset)

        await toolset["get_pet"].execute({"petId": 7})

    assert [(e.kind, e.error_type) for e in events] == [("started", ""), ("error", "timeout")]
    assert [span.attributes["error.type"] for span in sdk.spans] == ["timeout", "timeout"]


async def test_a_cancelled_call_says_so_and_leaves_no_span_open(sdk):
    async with Faults(hang) as server, sdk.watch(pets(server.url)) as toolset:
        events = told(toolset)
        task = asyncio.create_task(toolset["get_pet"].execute({"petId": 7}))
        await server.until(lambda: bool(server.requests))

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert [(e.kind, e.error_type) for e in events][1:] == [("error", "CancelledError")]
    assert [span.attributes["error.type"] for span in sdk.spans] == ["CancelledError"] * 2


async def test_calls_that_a_closed_toolset_gives_up_are_told_as_errors(sdk):
    async with Faults(hang) as server:
        toolset = sdk.watch(pets(server.url))
        events = told(toolset)
        task = asyncio.create_task(toolset["get_pet"].execute({"petId": 7}))
        await server.until(lambda: bool(server.requests))

        await toolset.aclose()
        await task
        await toolset["get_pet"].execute({"petId": 7})

    assert [(e.kind, e.error_type, e.attempts) for e in events] == [
        ("started", "", 0),
        ("error", "connection", 1),
        ("started", "", 0),
        ("error", "connection", 0),
    ]
    assert (len(sdk.calls), len(sdk.requests)) == (2, 1)


@pytest.mark.parametrize(
    ("status", "kind"), [(401, "auth"), (404, "http"), (429, "rate_limited"), (500, "http")]
)
async def test_an_error_answer_is_told_with_its_type_and_status(status, kind, recorder, sdk):
    recorder.answer = Answer(status)
    async with sdk.watch(pets(recorder.url)) as toolset:
        events = told(toolset)

        await toolset["get_pet"].execute({"petId": 7})

    assert (events[-1].kind, events[-1].error_type, events[-1].status) == ("error", kind, status)
    assert sdk.outcomes() == [(status, str(status))]
    assert sdk.calls[0].attributes["error.type"] == kind


async def test_what_is_refused_before_sending_has_no_attempt(recorder):
    async with pets(recorder.url) as toolset:
        events = told(toolset)

        await toolset["get_pet"].execute({"petId": "seven"})
        toolset.add_input_guardrails([lambda call, context: False])
        await toolset["get_pet"].execute({"petId": 7})
        await toolset.call("no_such_tool", {})

    assert [(e.kind, e.error_type, e.attempts) for e in events[1::2]] == [
        ("error", "invalid_input", 0),
        ("error", "denied", 0),
    ]
    assert len(events) == 4
    assert recorder.requests == []


async def test_the_end_that_is_told_is_the_one_that_guardrails_let_through(recorder):
    def withhold(result: Any, context: Any):
        raise DeniedError("not for you")

    async with pets(recorder.url) as toolset:
        toolset.add_output_guardrails([withhold])
        events = told(toolset)

        await toolset["get_pet"].execute({"petId": 7})

    assert (events[-1].error_type, events[-1].attempts) == ("denied", 1)


async def test_a_selection_shares_its_subscribers(recorder):
    async with pets(recorder.url) as toolset:
        events = told(toolset.select(Select(names=["get_pet"])))

        await toolset["add_pet"].execute({})

    assert [event.tool for event in events] == ["add_pet", "add_pet"]


async def test_a_tool_called_from_a_guardrail_is_a_call_of_its_own(recorder, sdk):
    async with sdk.watch(pets(recorder.url)) as toolset:

        async def look_first(call: Any, context: Any):
            await toolset["get_pet"].execute({"petId": 7})

        toolset["add_pet"].add_input_guardrails([look_first])
        events = told(toolset)

        await toolset["add_pet"].execute({})

    assert [(e.kind, e.tool, e.attempts) for e in events] == [
        ("started", "add_pet", 0),
        ("started", "get_pet", 0),
        ("completed", "get_pet", 1),
        ("completed", "add_pet", 1),
    ]
    inner, outer = sdk.calls
    assert inner.parent.span_id == outer.context.span_id
    parents = [span.parent.span_id for span in sdk.requests]
    assert parents == [inner.context.span_id, outer.context.span_id]


async def test_concurrent_calls_do_not_mix_their_spans(recorder, sdk):
    recorder.answers.extend([BUSY] * 5)
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
    assert current() is UNOBSERVED
    assert trace.get_current_span() is trace.INVALID_SPAN


class OddError(Exception):
    """None of Python's own, nor derived from one but the root."""


@pytest.mark.parametrize("fault", [ValueError, asyncio.QueueFull, OddError])
async def test_a_subscriber_that_raises_changes_no_call(fault, recorder, caplog):
    def fail(event: Event):
        raise fault

    async with pets(recorder.url) as toolset:
        toolset.subscribe(fail)
        events = told(toolset)

        results = [await toolset["get_pet"].execute({"petId": 7}) for _ in range(2)]

    assert [result.success for result in results] == [True, True]
    assert len(events) == 4
    assert ["subscriber" in record.getMessage() for record in caplog.records] == [True]


async def test_no_secret_is_in_an_event_a_record_or_a_span(recorder, sdk, caplog):
    caplog.set_level(logging.DEBUG)
    recorder.answer = Answer(404, body=b'{"you sent": "header-key-0123 and query-key-4567"}')
    async with sdk.watch(pets(recorder.url)) as toolset:
        events = told(toolset)

        for identifier in (*SECRETS.values(), "c1"):
            call = {"petId": 7, "q": "my words", "_tool_call_id": identifier}
            await toolset["get_pet"].execute(call)

    sent = recorder.last
    assert (sent.header("x-header"), "query-key-4567" in sent.target) == ("header-key-0123", True)
    assert (len(events), len(sdk.calls), len(sdk.requests)) == (6, 3, 3)
    assert len([r for r in caplog.records if r.name == "openapi_tools.calls"]) == 6
    own = [vars(record) for record in caplog.records if record.name == "openapi_tools.calls"]
    for text in (str(events), sdk.as_text(), str(own), caplog.text):
        assert [secret for secret in SECRETS.values() if secret in text] == []
    for text in (str(events), sdk.as_text(), str(own)):
        assert "my" not in text.replace("my_", "")
    assert sdk.requests[0].attributes["url.full"].endswith("?q=REDACTED&X-query=REDACTED")


async def test_the_trace_context_goes_to_the_api_when_asked_for(recorder, sdk):
    recorder.answers.append(BUSY)
    async with sdk.watch(pets(recorder.url, trace_context=True, retries=1)) as toolset:
        token = context.attach(baggage.set_baggage("user", "7"))

        await toolset["get_pet"].execute({"petId": 7})

        context.detach(token)

    sent = [request.header("traceparent").split("-") for request in recorder.requests]
    assert [(int(trace_id, 16), int(span_id, 16)) for _, trace_id, span_id, _ in sent] == [
        (span.context.trace_id, span.context.span_id) for span in sdk.requests
    ]
    assert recorder.last.header("baggage") is None


async def test_the_trace_context_stays_at_home_unless_asked_for(recorder, sdk):
    async with sdk.watch(pets(recorder.url)) as toolset:
        await toolset["get_pet"].execute({"petId": 7})

    assert len(sdk.requests) == 1
    assert recorder.last.header("traceparent") is None


async def test_the_trace_context_does_not_go_to_a_server_that_credentials_do_not_go_to(
    recorder, sdk
):
    elsewhere = {"get": {**GET_PET, "servers": [{"url": recorder.url}]}}
    made = document({"/pets/{petId}": elsewhere}, servers=[{"url": "http://127.0.0.1:9"}])
    async with sdk.watch(load_tools(made, settings=Settings(trace_context=True))) as toolset:
        result = await toolset["get_pet"].execute({"petId": 7})

    assert result.success
    assert len(sdk.requests) == 1
    assert recorder.last.header("traceparent") is None


CALL = """
import asyncio, sys
{before}
import httpx
from openapi_tools import Settings, load_tools

paths = {{"/a": {{"get": {{"operationId": "a", "responses": {{}}}}}}}}
document = {{"openapi": "3.1.0", "info": {{"title": "t", "version": "1"}}, "paths": paths}}
client = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(200)))
settings = Settings(base_url="http://127.0.0.1", trace_context=True)
toolset = load_tools(document, settings=settings, client=client)
toolset.subscribe(lambda event: print(event.kind))
asyncio.run(toolset.call("a", {{}}))
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
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", CALL.format(before=before)],
        env={**os.environ, "OTEL_PYTHON_TRACER_PROVIDER": provider},
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout.split() == ["started", "completed", str(imported)]
