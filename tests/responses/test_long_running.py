"""Responses that accept work: what a model reads, waiting for the end, and going on later."""

import asyncio
import copy
import json
import time
from dataclasses import replace
from functools import partial

import httpx
import pytest
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from servers.paged_server import create_app, serving

from openapi_tools import Context, Settings, load_tools
from openapi_tools.testing import Fault, mock_api
from openapi_tools.tools import follow_ups

ROUTES = APIRouter()


AT_ONCE = {"retry-after": "0"}
JOBS = {
    "make_report": ("/reports", 202, {"location": "/reports/42"}),
    "start_job": ("/jobs", 202, {"operation-location": "/states/7?api-version=2", **AT_ONCE}),
    "start_bad_job": ("/bad-jobs", 200, {"azure-asyncoperation": "/states/bad", **AT_ONCE}),
    "start_azure_job": (
        "/azure-jobs",
        202,
        {"azure-asyncoperation": "/states/plain", "location": "/results/8", **AT_ONCE},
    ),
    "start_empty_job": (
        "/empty-jobs",
        202,
        {"azure-asyncoperation": "/states/plain", "location": "/nowhere", **AT_ONCE},
    ),
    "start_moved_job": ("/moved-jobs", 202, {"location": "/moved"}),
    "start_slow_job": ("/slow-jobs", 202, {"location": "/reports/42", "retry-after": "3600"}),
    "start_shaky_job": ("/shaky-jobs", 202, {"location": "/shaky", **AT_ONCE}),
    "start_lost_job": ("/lost-jobs", 202, {"location": "/nowhere", **AT_ONCE}),
    "start_quiet_job": ("/quiet-jobs", 202, {}),
}
"""Paths that accept work, with the status and the headers of their answers."""


def accepting(status, headers):
    def begin(request: Request) -> Response:
        request.app.state.asked.clear()
        return JSONResponse({"accepted": True}, status, headers=headers)

    return begin


for name, (path, status, headers) in JOBS.items():
    route = accepting(status, headers)
    ROUTES.add_api_route(path, route, methods=["POST"], operation_id=name, status_code=status)


def is_done(request, questions=2):
    """Return whether the work has been asked for often enough."""
    request.app.state.asked.append(time.monotonic())
    return len(request.app.state.asked) > questions


@ROUTES.get("/reports/{number}", operation_id="get_report")
def get_report(request: Request, number: int) -> Response:
    if not is_done(request):
        return JSONResponse({"status": "running"}, 202)
    return JSONResponse({"id": number, "total": 7})


@ROUTES.get("/states/{name}", include_in_schema=False)
def state_of_job(request: Request, name: str) -> Response:
    if not is_done(request):
        return JSONResponse({"status": "InProgress"}, headers={"retry-after": "0"})
    if name == "bad":
        error = {"code": "NoRoom", "message": "The disk is full."}
        return JSONResponse({"status": "Failed", "error": error})
    if name == "plain":
        return JSONResponse({"status": "Succeeded"})
    return JSONResponse({"status": "Succeeded", "resourceLocation": "/results/7"})


@ROUTES.get("/results/{number}", include_in_schema=False)
def result_of_job(number: int) -> dict:
    return {"result": number}


@ROUTES.get("/moved", include_in_schema=False)
def move_report(request: Request) -> Response:
    if not is_done(request):
        return JSONResponse({"state": "queued"})
    return Response(status_code=303, headers={"location": "/results/9"})


@ROUTES.get("/shaky", include_in_schema=False)
def shaky(request: Request) -> Response:
    if not is_done(request):
        return JSONResponse({"detail": "soon"}, 503, headers={"retry-after": "0"})
    return JSONResponse({"result": 11})


@ROUTES.post("/things", operation_id="make_thing", status_code=201)
def make_thing(request: Request) -> Response:
    return JSONResponse({"id": 3}, 201, headers={"location": "/reports/3"})


@ROUTES.get("/orders/{number}", operation_id="get_order")
def get_order(request: Request, number: int) -> dict:
    return {"id": number, "status": "done" if is_done(request) else "pending"}


@pytest.fixture(scope="module")
def running():
    with serving(partial(create_app, ROUTES)) as server:
        yield server


@pytest.fixture
def server(running, monkeypatch):
    monkeypatch.setattr(follow_ups, "_FIRST_PAUSE", 0.02)
    running.kept.clear()
    return running


def load_reports(server, document=None, credentials=None, **settings):
    all_settings = Settings(base_url=server.url, cache=False, **settings)
    return load_tools(document or server.document, settings=all_settings, credentials=credentials)


async def test_without_waiting_a_model_reads_which_tool_to_ask(server):
    async with load_reports(server) as tools:
        result = await tools.call("make_report", {})

        assert (
            result.header_note
            == 'The operation is still running: call get_report with {"number": 42}'
        )
        assert result.output == {"accepted": True}
        ask = {"tool": "get_report", "arguments": {"number": 42}}
        job = {"tool": "make_report", "url": f"{server.url}/reports/42", "ask": ask}
        assert result.metadata["job"] == job
        assert len(server.kept) == 1
        asked = result.metadata["job"]["ask"]
        assert (await tools.call(asked["tool"], asked["arguments"])).success


async def test_without_such_a_tool_the_address_is_named(server):
    async with load_reports(server) as tools:
        result = await tools.call("start_job", {})

    assert (
        result.header_note
        == "The operation is still running; its status is at /states/7?api-version=2"
    )
    assert json.loads(json.dumps(result.metadata["job"]))["tool"] == "start_job"


ENDS = {
    "make_report": {"id": 42, "total": 7},
    "start_job": {"result": 7},
    "start_azure_job": {"result": 8},
    "start_empty_job": {"status": "Succeeded"},
    "start_moved_job": {"result": 9},
    "start_shaky_job": {"result": 11},
}


@pytest.mark.parametrize("name", ENDS)
async def test_waiting_ends_with_the_result_of_the_work(server, name):
    async with load_reports(server) as tools:
        result = await tools.call(name, {}, wait=20)

    assert (result.success, result.output) == (True, ENDS[name])
    assert (result.header_note, "job" in result.metadata) == ("", False)
    assert {request.method for request in server.kept[1:]} == {"GET"}


@pytest.mark.parametrize("place", ["settings", "context", "operation", "mapping"])
async def test_the_wait_may_stand_in_several_places(server, place):
    settings = {"wait": 20} if place == "settings" else {}
    context = {"context": Context(wait=20), "mapping": {"wait": 20}}.get(place)
    async with load_reports(server, **settings) as tools:
        if place == "operation":
            tool = tools["start_job"]
            tool._operation = replace(tool.operation, wait=20.0)
        result = await tools.call("start_job", {}, context=context)

    assert result.output == {"result": 7}


async def test_failed_work_is_an_error_with_its_own_words(server):
    async with load_reports(server) as tools:
        result = await tools.call("start_bad_job", {}, wait=20)

    assert result.error["type"] == "http"
    assert str(result) == (
        "POST /bad-jobs was accepted, but the operation failed: The disk is full. (NoRoom)"
    )
    assert result.error["body"]["error"]["code"] == "NoRoom"


async def test_a_question_that_fails_is_the_result(server):
    async with load_reports(server) as tools:
        result = await tools.call("start_lost_job", {}, wait=20)

    assert str(result) == "GET /nowhere returned 404 Not Found: Not Found."
    assert result.metadata["job"]["url"] == f"{server.url}/nowhere"


async def test_a_server_is_not_asked_before_it_says(server):
    async with load_reports(server) as tools:
        began = time.monotonic()
        result = await tools.call("start_slow_job", {}, wait=5)

    assert time.monotonic() - began < 2
    assert len(server.kept) == 1
    assert result.header_note.endswith("after 3600 s")
    assert result.metadata["job"]["retry_after"] == 3600


async def test_out_of_time_the_job_goes_on_later(server):
    async with load_reports(server) as tools:
        early = await tools.call("make_report", {}, wait=0.03)
        job = json.loads(json.dumps(early.metadata["job"]))
        assert (
            early.header_note
            == 'The operation is still running: call get_report with {"number": 42}'
        )
        late = await tools.resume(job, wait=20)

    assert late.output == {"id": 42, "total": 7}
    assert len([r for r in server.kept if r.method == "POST"]) == 1


async def test_a_status_resource_is_asked_again_where_the_caller_waits(server):
    async with load_reports(server, wait=20) as tools:
        await tools.call("start_quiet_job", {})
        first = await tools.call("get_order", {"number": 7})
        assert first.output["status"] == "pending"
        assert first.header_note == ""
        done = await tools.call("get_order", {"number": 7}, wait=20)

    assert done.output == {"id": 7, "status": "done"}


@pytest.mark.parametrize("name", ["start_quiet_job", "make_thing"])
async def test_other_responses_are_no_long_running_operations(server, name):
    async with load_reports(server) as tools:
        result = await tools.call(name, {}, wait=20)

    assert "job" not in result.metadata
    assert "goes on" not in result.header_note
    assert len(server.kept) == 1


@pytest.mark.parametrize("to", ["https://evil.example/jobs/1", "/api/../jobs/1", "file:///etc/x"])
async def test_work_outside_of_the_api_is_not_asked(server, to):
    asked = []

    def respond(request):
        asked.append(str(request.url))
        return httpx.Response(202, headers={"location": to})

    client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
    settings = Settings(base_url=f"{server.url}/api", cache=False)
    tools = load_tools(server.document, settings=settings, client=client)

    result = await tools.call("make_report", {}, wait=5)

    assert result.success
    assert len(asked) == 1
    assert result.header_note.startswith(
        "The operation is still running; its status URL is not requested: it leads"
    )
    assert "evil" not in result.header_note
    resumed = await tools.resume({"tool": "make_report", "url": to}, wait=5)
    assert resumed.error["type"] == "denied"
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (None, "a job must have a tool and a url"),
        ({"tool": "make_report"}, "a job must have a tool and a url"),
        ({"tool": ["x"], "url": "/"}, "a job must have a tool and a url"),
        ({"tool": "nope", "url": "/"}, "no tool is called 'nope'"),
        ({"tool": "make_report", "url": "/reports/42?_method=DELETE"}, "may change the method"),
        ({"tool": "make_report", "url": "/a\r\nX: 1"}, "it is not a URL"),
    ],
)
async def test_a_job_that_cannot_be_asked_is_an_error(server, job, message):
    async with load_reports(server) as tools:
        result = await tools.resume(job)

    assert message in str(result)
    assert server.kept == []


@pytest.mark.parametrize("wait", [-1, "long", float("nan"), float("inf")])
async def test_a_wrong_wait_is_an_error_before_anything_is_sent(server, wait):
    async with load_reports(server) as tools:
        result = await tools.call("make_report", {}, wait=wait)

    assert "'wait' must be a number of seconds" in str(result)
    assert server.kept == []


async def test_credentials_go_with_each_question(server):
    document = copy.deepcopy(server.document)
    document.setdefault("components", {})["securitySchemes"] = {
        "key": {"type": "apiKey", "in": "query", "name": "key"},
        "word": {"type": "http", "scheme": "bearer"},
    }
    document["security"] = [{"key": [], "word": []}]
    secrets = {"key": "long-work-key-1", "word": "long-work-word-2"}
    async with load_reports(server, document, secrets) as tools:
        begun = await tools.call("start_job", {})
        pending = await tools.call("get_order", {"number": 7}, wait=0.01)
        server.kept.clear()
        result = await tools.call("start_job", {}, wait=20)

    assert "long-work" not in f"{begun}{begun.metadata}{pending}{pending.metadata}"
    assert pending.metadata["job"]["url"] == f"{server.url}/orders/7"
    assert result.output == {"result": 7}
    assert len(server.kept) == 5
    for request in server.kept:
        assert request.query_params["key"] == "long-work-key-1"
        assert request.headers["authorization"] == "Bearer long-work-word-2"


async def test_questions_are_reported_as_attempts_of_the_call(server):
    events = []
    async with load_reports(server) as tools:
        tools.subscribe(lambda event: events.append((event.kind, event.status, event.wait)))
        await tools.call("make_report", {}, wait=20)

    assert [kind for kind, *_ in events] == ["started", "retry", "retry", "retry", "completed"]
    assert [wait for *_, wait in events[1:4]] == [0.02, 0.04, 0.08]
    assert {status for _, status, _ in events[1:4]} == {202}


async def test_output_guardrails_see_what_comes_of_a_job(server):
    seen = []
    async with load_reports(server) as tools:
        tools.add_output_guardrails([lambda result, context: seen.append(result.output)])
        job = (await tools.call("make_report", {})).metadata["job"]
        result = await tools.resume(job, wait=20)

    assert seen == [{"accepted": True}, {"id": 42, "total": 7}] == [seen[0], result.output]


async def test_cancellation_ends_the_waiting(server):
    async with load_reports(server) as tools:
        task = asyncio.create_task(tools.call("make_report", {}, wait=60))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


FAULTS = {
    "hangs": Fault.slow(60),
    "breaks": Fault.reset(),
    "breaks once": [Fault.reset(), {"id": 42}],
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_poll_without_a_response_leaves_a_job(server, fault):
    acceptance = (202, None, {"location": "/reports/42"})
    question = FAULTS[fault]
    api = mock_api(server.document, responses={"make_report": acceptance, "get_report": question})
    settings = Settings(base_url=server.url, cache=False)
    tools = load_tools(server.document, settings=settings, client=api.client())

    began = time.monotonic()
    result = await tools.call("make_report", {}, wait=0.3)

    assert time.monotonic() - began < 5
    assert [call.tool for call in api.calls].count("make_report") == 1
    if fault == "breaks once":
        assert result.output == {"id": 42}
    else:
        assert result.metadata["job"]["url"] == f"{server.url}/reports/42"
        assert "call get_report" in result.header_note
