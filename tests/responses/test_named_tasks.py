"""Writes whose response names a task in its body: a handle, with the tool that asks for it."""

import asyncio
import json
import sys

import pytest
from documents import document, operation
from servers.recorder import CannedResponse, Recorder

from openapi_tools import load_tools
from openapi_tools.contracts.mcp import create_server
from openapi_tools.tools import follow_ups

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import Client

JSON = [("Content-Type", "application/json")]
ANY = {"responses": {"default": {"description": "ok"}}}
ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
PATHS = {
    "/imports": {"post": operation(operationId="start", **ANY)},
    **{
        f"/{kind}s/{{id}}/": {"get": operation(operationId=f"get_{kind}", parameters=[ID], **ANY)}
        for kind in ("task", "job", "pet")
    },
    "/report": {"get": operation(operationId="get_report", **ANY)},
}
NOTE = 'The operation is still running: call get_task with {"id": "1"}'


class Tasks(Recorder):
    """Begins work with `begun`; the work runs for one question."""

    def __init__(self, begun, status=202):
        super().__init__()
        self.begun, self.status = begun, status

    def next_response(self, request):
        if request.method == "POST":
            body = json.dumps(self.begun).replace("{url}", self.url)
            return CannedResponse(self.status, JSON, body.encode())
        is_first = len([each for each in self.requests if each.method == "GET"]) == 1
        state = {"state": "running" if is_first else "completed", "id": "1"}
        return CannedResponse(200, [*JSON, ("Retry-After", "0")], json.dumps(state).encode())


def tools_of(server):
    return load_tools(document(PATHS), base_url=server.url)


async def begin_work(body, status=202):
    """Return the result of a call that begins work so."""
    async with Tasks(body, status) as server, tools_of(server) as toolset:
        return await toolset.call("start", {})


@pytest.mark.parametrize(
    "body",
    [
        {"task": "/tasks/1/"},
        {"task": "{url}/tasks/1/"},
        {"href": "/tasks/1/"},
        {"url": "/tasks/1/", "id": 5},
        {"operation": "/tasks/1/", "state": "queued"},
        {"self": "/tasks/1/"},
        {"status_url": "/tasks/1/"},
        {"statusUri": "/tasks/1/"},
        {"taskHref": "/tasks/1/"},
        {"task": {"href": "/tasks/1/"}},
        {"data": {"links": {"self": "/tasks/1/"}}},
        {"_links": {"self": {"href": "/tasks/1/"}}},
        {"links": [{"rel": "up", "href": "/pets/1/"}, {"rel": "self", "href": "/tasks/1/"}]},
        {"id": "1", "monitor": "/tasks/1/", "message": "accepted"},
        {"url": "https://cdn.example/later", "task": "/tasks/1/"},
        {"job": "/elsewhere/1", "href": "/tasks/1/"},  # the one that a tool asks for
    ],
)
async def test_a_202_whose_body_names_the_address_of_a_task_is_a_handle(body):
    result = await begin_work(body)

    assert result.header_note == NOTE
    assert result.metadata["job"]["ask"] == {"tool": "get_task", "arguments": {"id": "1"}}
    assert result.metadata["job"]["url"].endswith("/tasks/1/")


@pytest.mark.parametrize(
    ("body", "status", "note"),
    [
        ({"task": "/tasks/1/"}, 200, NOTE),
        ({"task": "/tasks/1/", "message": "queued", "id": 3}, 200, NOTE),
        ({"href": "/tasks/1/"}, 200, NOTE),
        ({"self": "/jobs/7/", "ok": True}, 200, NOTE.replace("task", "job").replace("1", "7")),
        ({"status_url": "/tasks/1/", "name": "x"}, 202, NOTE),
        ({"url": "/pets/1/", "status": "running", "name": "x"}, 200, NOTE.replace("task", "pet")),
        ({"task": "/tasks/1/", "status": "queued", "name": "x"}, 201, NOTE),
        ({"task": "/queue/1"}, 200, "The operation is still running; its status is at /queue/1"),
        ("/tasks/1/", 202, NOTE),
    ],
)
async def test_a_200_is_one_where_the_object_says_nothing_else_or_that_work_goes_on(
    body, status, note
):
    assert (await begin_work(body, status)).header_note == note


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"id": 1, "self": "/pets/1/"}, 200),
        ({"url": "/pets/1/", "task": "/tasks/1/", "text": "a comment on a task"}, 200),
        ({"url": "/pets/1/", "name": "Rex"}, 201),
        ({"url": "/pets/1/", "status": "pending"}, 201),
        ({"task": "/tasks/1/", "state": "completed"}, 200),
        ({"task": "1"}, 202),
        ({"status": "queued", "job": "n/a"}, 202),
        ({"task": "two words /tasks/1/"}, 202),
        ([{"task": "/tasks/1/"}], 202),
        ([{"task": "/tasks/1/"}], 200),
        ("/tasks/1/", 200),
        ({}, 200),
        ({"task": None, "operation": 7, "links": [None, {"rel": 1}]}, 202),
    ],
)
async def test_other_bodies_begin_no_work(body, status):
    result = await begin_work(body, status)

    assert (result.success, result.header_note) == (True, "")
    assert "job" not in result.metadata


@pytest.mark.parametrize("to", ["https://evil.example/tasks/1", "//evil.example/tasks/1"])
async def test_a_task_at_another_origin_is_not_asked_for(to):
    result = await begin_work({"task": to})

    assert result.header_note.startswith(
        "The operation is still running; its status URL is not requested: it leads"
    )
    assert "evil.example" not in result.header_note


async def test_a_read_of_a_resource_with_a_task_begins_none():
    response = CannedResponse(200, JSON, b'{"task": "/tasks/1/"}')
    async with Recorder(response) as server, tools_of(server) as toolset:
        result = await toolset.call("get_report", {})

    assert result.header_note == ""


async def test_waiting_ends_with_the_task(monkeypatch):
    monkeypatch.setattr(follow_ups, "_FIRST_PAUSE", 0.01)
    async with Tasks({"task": "/tasks/1/"}) as server, tools_of(server) as toolset:
        result = await toolset.call("start", {}, wait=20)

    assert result.output == {"state": "completed", "id": "1"}
    assert [each.target for each in server.requests] == ["/imports", "/tasks/1/", "/tasks/1/"]


async def test_an_mcp_client_reads_which_tool_to_ask():
    begin = Tasks({"task": "/tasks/1/"})
    async with begin as server, Client(create_server(tools_of(server))) as client:
        result = await client.call_tool("start", {})

    assert not result.is_error
    assert result.content[-1].text.endswith(NOTE)


async def test_the_command_line_says_which_tool_to_ask(tmp_path):
    path = tmp_path / "api.json"
    async with Tasks({"task": "/tasks/1/"}) as server:
        path.write_text(json.dumps(document(PATHS, servers=[{"url": server.url}])))
        command = (sys.executable, "-m", "openapi_tools", "call", str(path), "start")
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
        out, err = await process.communicate()

    assert process.returncode == 0
    assert json.loads(out) == {"task": "/tasks/1/"}
    assert NOTE in err.decode()
