"""Long work as tasks of MCP: a client that declares the extension polls, others get the handle."""

import asyncio
import json
from contextlib import asynccontextmanager
from typing import Literal

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from fragile_state import FragileState
from mcp import Client, MCPError, types
from mcp.client.extension import ClientExtension, ResultClaim
from mcp_api import host_server
from pydantic import Field
from servers.paged_server import serving

from openapi_tools import CallError, MemoryState, load_tools
from openapi_tools.contracts import mcp_tasks
from openapi_tools.contracts.mcp import create_server
from openapi_tools.contracts.mcp_messages import JOB
from openapi_tools.contracts.mcp_tasks import EXTENSION, add_tasks
from openapi_tools.state.redis_state import RedisState


class Task(types.Result):
    """A task, as a client reads it."""

    result_type: Literal["task"] = Field(alias="resultType", default="task")
    task_id: str = Field(alias="taskId")
    status: str
    status_message: str | None = Field(alias="statusMessage", default=None)
    poll_interval_ms: int = Field(alias="pollIntervalMs")
    ttl_ms: int = Field(alias="ttlMs")
    created_at: str = Field(alias="createdAt")


class Params(types.RequestParams):
    task_id: str = Field(alias="taskId")


class TaskResult(types.Result):
    model_config = types.Result.model_config | {"extra": "allow"}


def make_request(method, task_id):
    class TaskRequest(types.Request[Params, Literal[method]]):
        method: str
        params: Params
        name_param = "taskId"

    return TaskRequest(method=method, params=Params(taskId=task_id))


async def tasks(session, method, task_id):
    """Send `tasks/…`, and return its response as plain data."""
    response = await session.send_request(make_request(f"tasks/{method}", task_id), TaskResult)
    return response.model_dump(by_alias=True)


class Polling(ClientExtension):
    """A client that waits for the end of tasks; it keeps what it saw."""

    identifier = EXTENSION

    def __init__(self):
        self.seen = []

    def claims(self):
        return [ResultClaim(result_type="task", model=Task, resolve=self.resolve)]

    async def resolve(self, task, context):
        self.seen.append(task)
        while True:
            state = await tasks(context.session, "get", task.task_id)
            self.seen.append(state)
            if state["status"] != "working":
                return types.CallToolResult.model_validate(state["result"])
            await asyncio.sleep(0.01)


def create_app():
    app = FastAPI()
    app.state.kept, app.state.asked = [], []

    @app.middleware("http")
    async def keep(request: Request, pass_on):
        app.state.kept.append(request)
        return await pass_on(request)

    @app.post("/reports", operation_id="make_report", status_code=202)
    def make_report():
        app.state.asked.clear()
        headers = {"location": "/reports/42", "retry-after": "0.01"}
        return JSONResponse({"accepted": True}, 202, headers=headers)

    @app.get("/reports/{number}", operation_id="get_report")
    def get_report(number: int):
        app.state.asked.append(number)
        headers = {"retry-after": "0.01"}
        if len(app.state.asked) == 2:
            return JSONResponse({"status": "busy"}, 503, headers=headers)
        if len(app.state.asked) < 4:
            share = {"status": "running", "percentComplete": 25 * len(app.state.asked)}
            return JSONResponse(share, 202, headers=headers)
        return {"id": number, "total": 7}

    @app.post("/failures", operation_id="fail", status_code=202)
    def fail():
        return JSONResponse({}, 202, headers={"operation-location": "/states/bad"})

    @app.get("/states/bad", operation_id="get_state")
    def get_state():
        return {"status": "Failed", "error": {"message": "The disk is full."}}

    @app.get("/quick", operation_id="be_quick")
    def be_quick():
        return {"done": True}

    return app


@pytest.fixture(scope="module")
def running():
    with serving(create_app) as server:
        yield server


@pytest.fixture
async def served(running, monkeypatch):
    """Return a server of the API's tools, with tasks."""
    running.kept.clear()
    monkeypatch.setattr(mcp_tasks, "_PAUSE", 0.02)
    async with load_tools(running.document, base_url=running.url, state=MemoryState()) as toolset:
        server = create_server(toolset)
        add_tasks(server, lambda: toolset)
        yield server


def connect(server, *extensions, mode="auto"):
    return Client(server, mode=mode, extensions=list(extensions))


async def test_a_client_with_the_extension_polls_until_the_work_has_ended(served, running):
    polling = Polling()
    async with connect(served, polling) as client:
        result = await client.call_tool("make_report", {})

    assert result.structured_content == {"id": 42, "total": 7}
    first, *states = polling.seen
    assert (first.status, first.ttl_ms, first.poll_interval_ms) == ("working", 86_400_000, 10)
    assert [state["status"] for state in states][-1] == "completed"
    messages = [state.get("statusMessage") for state in states]
    assert "the operation is running: 25" in messages
    assert any("503" in (message or "") for message in messages)
    assert {request.method for request in running.kept} == {"POST", "GET"}
    assert [request.method for request in running.kept].count("POST") == 1


async def test_failed_work_is_a_result_with_an_error(served):
    async with connect(served, Polling()) as client:
        result = await client.call_tool("fail", {})

    assert result.is_error
    assert "The disk is full." in result.content[0].text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_another_client_gets_the_handle(served, mode):
    async with connect(served, mode=mode) as client:
        result = await client.call_tool("make_report", {})

        assert (
            'The operation is still running: call get_report with {"number": 42}'
            in result.content[-1].text
        )
        asked = await client.call_tool("get_report", {"number": 42})
        assert asked.structured_content["percentComplete"] == 25
        with pytest.raises(MCPError) as error:
            await tasks(client.session, "get", "some")
        assert error.value.error.code == -32021
        assert error.value.error.data == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}


async def test_a_call_that_ends_at_once_is_no_task(served):
    polling = Polling()
    async with connect(served, polling) as client:
        assert (await client.call_tool("be_quick", {})).structured_content == {"done": True}

    assert polling.seen == []


async def test_a_cancelled_task_is_not_asked_for_again(served, running):
    async with connect(served, Polling()) as client:
        task = await client.session.call_tool("make_report", {}, allow_claimed=True)
        assert await tasks(client.session, "update", task.task_id) is not None
        await tasks(client.session, "cancel", task.task_id)
        await asyncio.sleep(0.05)
        state = await tasks(client.session, "get", task.task_id)

    assert state["status"] == "cancelled"
    assert "may still be running" in state["statusMessage"]
    assert [request.method for request in running.kept] == ["POST"]


async def test_an_unknown_task_is_refused(served):
    async with connect(served, Polling()) as client:
        for method in ("get", "update", "cancel"):
            with pytest.raises(MCPError) as error:
                await tasks(client.session, method, "made-up")
            assert error.value.error.code == types.INVALID_PARAMS


async def test_a_task_belongs_to_its_user_and_to_every_worker(running, redis_server):
    user = ["ada"]

    @asynccontextmanager
    async def client_of_a_worker():
        def context(_):
            return {"user": user[0]}

        state = RedisState(redis_server.url)
        async with load_tools(running.document, base_url=running.url, state=state) as toolset:
            server = create_server(toolset, context=context)
            add_tasks(server, lambda: toolset, context)
            async with connect(server, Polling()) as client:
                yield client

    async with client_of_a_worker() as client:
        task = await client.session.call_tool("make_report", {}, allow_claimed=True)
    async with client_of_a_worker() as client:
        user[0] = "bob"
        with pytest.raises(MCPError, match="unknown task"):
            await tasks(client.session, "get", task.task_id)
        user[0] = "ada"
        assert (await tasks(client.session, "get", task.task_id))["status"] == "working"


async def test_an_impatient_client_does_not_make_the_api_respond_more_often(
    served, running, monkeypatch
):
    monkeypatch.setattr(mcp_tasks._Task, "pause", 5.0)
    async with connect(served, Polling()) as client:
        task = await client.session.call_tool("make_report", {}, allow_claimed=True)
        states = [await tasks(client.session, "get", task.task_id) for _ in range(5)]

    assert {state["status"] for state in states} == {"working"}
    assert [request.method for request in running.kept] == ["POST"]


async def test_tasks_over_http(served):
    polling = Polling()
    async with host_server(served) as url, Client(url, mode="auto", extensions=[polling]) as client:
        assert EXTENSION in client.server_capabilities.extensions
        result = await client.call_tool("make_report", {})

    assert result.structured_content == {"id": 42, "total": 7}
    assert len(polling.seen) > 2


@pytest.fixture
async def fragile(running, monkeypatch):
    """Return a server of the API's tools with tasks, and its state."""
    running.kept.clear()
    monkeypatch.setattr(mcp_tasks, "_PAUSE", 0.02)
    state = FragileState()
    async with load_tools(running.document, base_url=running.url, state=state) as toolset:
        server = create_server(toolset)
        add_tasks(server, lambda: toolset)
        yield server, state


async def test_work_whose_task_cannot_be_kept_is_the_plain_result_with_its_handle(fragile, running):
    server, state = fragile
    state.is_gone = True
    async with connect(server, Polling()) as client:
        result = await client.session.call_tool("make_report", {}, allow_claimed=True)

    assert isinstance(result, types.CallToolResult)
    assert not result.is_error
    assert (
        'The operation is still running: call get_report with {"number": 42}'
        in result.content[-1].text
    )
    assert result.meta[JOB]["tool"] == "make_report"
    assert [request.method for request in running.kept] == ["POST"]


@pytest.mark.parametrize("method", ["get", "update", "cancel"])
async def test_tasks_say_in_words_that_the_state_is_away(fragile, method):
    server, state = fragile
    async with connect(server, Polling()) as client:
        task = await client.session.call_tool("make_report", {}, allow_claimed=True)
        state.is_gone = True
        with pytest.raises(MCPError) as error:
            await tasks(client.session, method, task.task_id)
        state.is_gone = False
        again = await tasks(client.session, "get", task.task_id)

    assert "the shared state is unreachable" in error.value.error.message
    assert "redis" not in error.value.error.message
    assert again["status"] == "working"


async def test_a_result_that_cannot_be_kept_is_reported(fragile):
    server, state = fragile
    async with connect(server, Polling()) as client:
        task = await client.session.call_tool("fail", {}, allow_claimed=True)
        await asyncio.sleep(0.02)
        put, state.put = state.put, state_that_fails
        response = await tasks(client.session, "get", task.task_id)
        state.put = put

    assert response["status"] == "completed"
    assert "The disk is full." in str(response["result"])


async def state_that_fails(*_):
    raise CallError("connection", "the shared state is unreachable; nothing was sent.")


WHOLE = {
    "task_id": "x",
    "job": {"tool": "get_report", "url": "/"},
    "asked": 1.0,
    "created": "",
    "updated": "",
}
DAMAGED = {
    "nothing": b"",
    "no JSON": b"\xff\xfe\x00",
    "another value": b"[1, 2]",
    "null": b"null",
    "no job": b'{"task_id": "x", "asked": 1.0, "created": "", "updated": ""}',
    "a wrong job": json.dumps({**WHOLE, "job": {"tool": 7, "url": []}}).encode(),
    "a wrong state": json.dumps({**WHOLE, "status": "odd"}).encode(),
    "no number": json.dumps({**WHOLE, "asked": 7}).replace("7", "NaN").encode(),
    "deep": b"[" * 100_000,
    "deep inside": json.dumps({**WHOLE, "result": 7}).replace("7", "[" * 100_000).encode(),
    "nested": json.dumps({**WHOLE, "result": {"a": 7}})
    .replace("7", "[" * 500 + "]" * 500)
    .encode(),
    "large": b'"' + b"x" * 17 * 1024 * 1024 + b'"',
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
async def test_a_damaged_task_is_reported_in_words(fragile, damaged, running):
    server, state = fragile
    async with connect(server, Polling()) as client:
        task = await client.session.call_tool("make_report", {}, allow_claimed=True)
        await state.damage(damaged, "task:")
        for method in ("get", "update", "cancel"):
            with pytest.raises(MCPError) as error:
                await tasks(client.session, method, task.task_id)
            assert error.value.error.code == types.INVALID_PARAMS
            assert "the record of this task is damaged" in error.value.error.message

    assert [request.method for request in running.kept] == ["POST"]
