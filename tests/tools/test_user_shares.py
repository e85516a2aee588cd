"""No user fills a place of a toolset for all: programs, questions, variables, calls, values."""

import asyncio
import json

import httpx
import pytest
from documents import document, operation
from programs import Shop
from servers.recorder import CannedResponse

from openapi_tools import Context, MemoryState, PendingApproval, load_tools, require_approval

BODY = {"content": {"application/json": {"schema": {"type": "object"}}}}
PATHS = {
    "/pets": {
        "get": operation(operationId="list_pets"),
        "post": operation(operationId="add_pet", requestBody=BODY),
    }
}


class Gate:
    """An input guardrail that holds the calls of some users; `held` has their names."""

    def __init__(self, *names):
        self.names, self.held = names, []
        self.opened, self.changed = asyncio.Event(), asyncio.Event()

    async def __call__(self, call, context):
        if context.user in self.names:
            self.held.append(context.user)
            self.changed.set()
            await self.opened.wait()

    async def wait_for(self, count):
        async with asyncio.timeout(30):
            while len(self.held) < count:
                self.changed.clear()
                await self.changed.wait()


def pending(call):
    raise PendingApproval(f"{call.name}?")


async def run_program(code, program, **context):
    return await code.call("run_code", {"code": program}, context=Context(**context))


@pytest.mark.long
async def test_the_programs_of_one_user_leave_places_for_others():
    pytest.importorskip("pydantic_monty")
    gate, toolset = Gate("alice"), Shop().toolset()
    toolset.add_input_guardrails([gate])
    code = toolset.code_tools()
    sleeping = [
        asyncio.create_task(run_program(code, "await get_user(1)", user="alice")) for _ in range(8)
    ]
    await gate.wait_for(8)

    refused = await run_program(code, "1", user="alice")
    other_results = [await run_program(code, "1", user=name) for name in ("bob", "carol")]
    are_running = [not task.done() for task in sleeping]
    gate.opened.set()
    ended = await asyncio.gather(*sleeping)

    assert refused.error["type"] == "rate_limited"
    assert "8 of your programs are already running" in refused.error["message"]
    assert [result.output for result in other_results] == [1, 1]
    assert all(are_running)
    assert [result.output for result in ended] == [{"name": "u1"}] * 8


@pytest.mark.long
async def test_the_questions_of_one_user_end_no_program_of_another():
    pytest.importorskip("pydantic_monty")
    toolset = Shop().toolset()
    toolset.add_input_guardrails([require_approval()])
    code, program = toolset.code_tools(), "await delete_user(7)"
    bobs = await run_program(code, program, approve=pending, user="bob")
    alices = [await run_program(code, program, approve=pending, user="alice") for _ in range(17)]

    def go_on(waiting, user):
        run = waiting.metadata["run"]
        return run_program(code, program, approve=lambda _: True, resume=run, user=user)

    bob = await go_on(bobs, "bob")
    first, second, third, last = [await go_on(alices[n], "alice") for n in (0, 1, 2, -1)]

    assert bob.output == {"name": "u7"}
    assert "nothing was repeated" in first.error["message"]
    assert "nothing was repeated" in second.error["message"]
    assert third.success
    assert last.success


async def test_the_variables_of_one_user_push_out_none_of_another(monkeypatch):
    pytest.importorskip("pydantic_monty")
    from openapi_tools.code import code_tools

    monkeypatch.setattr(code_tools, "_LEAST_VARIABLES", code_tools._VARIABLES_BYTES // 4)
    code = Shop().toolset().code_tools()
    bob = {"user": "bob", "conversation": "b"}
    await code.call("run_code", {"code": "x = 1"}, context=bob)
    for number in range(6):
        alice = {"user": "alice", "conversation": f"a{number}"}
        await code.call("run_code", {"code": "x = 2"}, context=alice)
    results = {
        name: await code.call(
            "run_code", {"code": "x"}, context={"user": user, "conversation": name}
        )
        for name, user in (("b", "bob"), ("a0", "alice"), ("a5", "alice"))
    }

    assert results["b"].output == 1
    assert results["a0"].is_error
    assert results["a5"].output == 2


async def test_the_slow_calls_of_one_user_leave_slots_for_others():
    arrived, opened, users = asyncio.Event(), asyncio.Event(), []

    async def respond(request):
        users.append(request.headers["authorization"])
        if users.count("Bearer alice") == 2:
            arrived.set()
        if users[-1] == "Bearer alice":
            await opened.wait()
        return httpx.Response(200, json=[])

    def call_as(user):
        context = Context(user=user, credentials={"key": user})
        return tools.call("list_pets", context=context)

    scheme = {"key": {"type": "http", "scheme": "bearer"}}
    about = document(
        PATHS,
        servers=[{"url": "https://api.example.com"}],
        components={"securitySchemes": scheme},
        security=[{"key": []}],
    )
    client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
    async with client, load_tools(about, client=client, concurrency=4) as tools:
        flood = [asyncio.create_task(call_as("alice")) for _ in range(20)]
        await asyncio.wait_for(arrived.wait(), 20)
        other_results = await asyncio.gather(*(call_as(name) for name in ("bob", "carol", "dan")))
        before = users.count("Bearer alice")
        given_up = flood.pop()
        given_up.cancel()
        opened.set()
        ended = await asyncio.gather(*flood)

    assert all(result.success for result in other_results)
    assert before == 2
    assert all(result.success for result in ended)
    assert users.count("Bearer alice") == 19


async def test_callers_without_a_name_have_all_slots():
    barrier = asyncio.Barrier(4)

    async def respond(_):
        await barrier.wait()
        return httpx.Response(200, json=[])

    client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
    settings = {"base_url": "https://api.example.com", "concurrency": 4}
    async with client, load_tools(document(PATHS), client=client, **settings) as tools:
        results = await asyncio.gather(*(tools.call("list_pets") for _ in range(8)))

    assert all(result.success for result in results)


async def test_many_writes_of_one_user_forget_no_write_of_another(recorder):
    recorder.response = CannedResponse(201, body=json.dumps({"text": "x" * 500}).encode())
    state = MemoryState(most_bytes=10_000)
    async with load_tools(document(PATHS), base_url=recorder.url, state=state) as tools:

        def add(user, key):
            return tools.call("add_pet", context=Context(user=user, idempotency_key=key))

        await add("bob", "step-1")
        for number in range(40):
            await add("alice", f"step-{number}")
        count = len(recorder.requests)
        again = await add("bob", "step-1")
        newest = await add("alice", "step-39")

    assert (again.metadata["replayed"], newest.metadata["replayed"]) == (True, True)
    assert len(recorder.requests) == count == 41


async def test_cached_responses_of_a_user_forget_no_write_of_theirs(recorder):
    pytest.importorskip("hishel")
    body, headers = json.dumps({"text": "x" * 2000}).encode(), [("Cache-Control", "max-age=600")]
    recorder.response = CannedResponse(
        headers=[("Content-Type", "application/json"), *headers], body=body
    )
    query = {"name": "q", "in": "query", "schema": {"type": "string"}}
    paths = {
        "/pets": {
            "get": operation(operationId="list_pets", parameters=[query]),
            "post": operation(operationId="add_pet", requestBody=BODY),
        }
    }
    settings = {"state": MemoryState(most_bytes=20_000), "http_cache": True}
    async with load_tools(document(paths), base_url=recorder.url, **settings) as tools:
        context = Context(user="bob", idempotency_key="step-1")
        await tools.call("add_pet", context=context)
        for number in range(30):
            await tools.call("list_pets", {"q": str(number)}, context=Context(user="bob"))
        again = await tools.call("add_pet", context=context)

    assert again.metadata["replayed"]
    assert [request.method for request in recorder.requests].count("POST") == 1
