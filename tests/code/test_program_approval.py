"""A person is asked in the middle of a program; what ran before never runs again."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from programs import DOCUMENT, Shop

from openapi_tools import (
    CodeLimits,
    Context,
    DeniedError,
    PendingApproval,
    load_tools,
    require_approval,
)
from openapi_tools.tools.guardrails import with_approval

WRITES = """
import asyncio
first = await call('create-item', {'body': {'n': 1}})
second, user = await asyncio.gather(delete_user(7), get_user(8))
[first, second, user]
"""
OUTPUT = [{"made": True}, {"name": "u7"}, {"name": "u8"}]


def asking(limits=None):
    shop = Shop()
    toolset = shop.toolset()
    toolset.add_input_guardrails([require_approval()])
    return shop, toolset.code_tools(limits=limits)


def pending(call):
    raise PendingApproval(f"{call.name}?")


async def run_program(code, program, **context):
    return await code.call("run_code", {"code": program}, context=Context(**context))


def sent_requests(shop):
    return [f"{request.method} {request.url.path}" for request in shop.requests]


async def test_a_person_is_asked_about_each_write_in_a_program():
    shop, code = asking()
    asked = []

    async def approve(call):
        asked.append((call.name, call.arguments))
        return call.name != "delete_user"

    result = await run_program(code, WRITES, approve=approve)
    none = await run_program(code, WRITES)

    assert asked == [("create-item", {"body": {"n": 1}}), ("delete_user", {"user_id": 7})]
    assert sent_requests(shop)[0] == "POST /items"
    assert "delete_user was not approved" in result.output
    assert "approval is not configured" in none.output
    assert not any(line.startswith("DELETE") for line in sent_requests(shop))


async def test_a_program_waits_for_a_later_answer_and_goes_on_where_it_was():
    shop, code = asking()

    first = await run_program(code, WRITES, approve=pending)
    before = sent_requests(shop)
    second = await run_program(code, WRITES, approve=lambda _: True, resume=first.metadata["run"])

    assert first.error["type"] == "denied"
    assert before == []
    assert second.output == OUTPUT
    assert sorted(sent_requests(shop)) == ["DELETE /users/7", "GET /users/8", "POST /items"]


async def test_each_question_pauses_and_an_answer_is_good_for_its_call_only():
    shop, code = asking()

    def approve(call):
        return call.name == "create-item" or pending(call)

    first = await run_program(code, WRITES, approve=pending)
    second = await run_program(code, WRITES, approve=approve, resume=first.metadata["run"])
    between = sent_requests(shop)
    third = await run_program(code, WRITES, approve=lambda _: False, resume=second.metadata["run"])

    assert second.error["message"] == "delete_user?"
    assert between[0] == "POST /items"
    assert "delete_user was not approved" in third.output
    assert sorted(sent_requests(shop)) == ["GET /users/8", "POST /items"]


async def test_nothing_is_run_for_a_wrong_name_of_a_run_or_another_program():
    shop, code = asking()

    first = await run_program(code, WRITES, approve=pending)
    name = first.metadata["run"]
    unknown = await run_program(code, WRITES, approve=lambda _: True, resume=name + "x")
    other = await run_program(code, "1", approve=lambda _: True, resume=name)
    other_user = {"approve": lambda _: True, "resume": name, "conversation": "b"}
    foreign = await code.call("run_code", {"code": WRITES}, context=other_user)
    before = sent_requests(shop)
    done = await run_program(code, WRITES, approve=lambda _: True, resume=name)
    again = await run_program(code, WRITES, approve=lambda _: True, resume=name)

    refused = (unknown, other, foreign, again)
    assert [each.error["type"] for each in refused] == ["denied"] * 4
    assert "nothing was repeated" in again.output
    assert before == []
    assert done.output == OUTPUT
    assert len(sent_requests(shop)) == 3


async def test_no_call_begins_while_a_program_waits():
    shop, code = asking()
    program = """
import asyncio
async def read():
    for number in range(3):
        await get_user(number)
await asyncio.gather(delete_user(7), read())
"""

    first = await run_program(code, program, approve=pending)
    before = sent_requests(shop)
    await asyncio.sleep(0.05)

    assert sent_requests(shop) == before
    done = await run_program(code, program, approve=lambda _: True, resume=first.metadata["run"])
    assert done.success, done.output
    assert len(sent_requests(shop)) == 4


async def test_a_question_does_not_take_the_time_of_the_program():
    _, code = asking(CodeLimits(seconds=1))

    async def slowly(call):
        await asyncio.sleep(1.2)
        return True

    result = await run_program(code, "await delete_user(7)", approve=slowly)

    assert result.success, result.output


async def test_an_approval_that_fails_refuses_the_call():
    shop, code = asking()

    def fail(call):
        raise DeniedError("only pets may be deleted")

    result = await run_program(code, "await delete_user(7)", approve=fail)

    assert "only pets may be deleted" in result.output
    assert shop.requests == []


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_over_mcp_the_client_is_asked_and_no_write_is_repeated(mode, action):
    pytest.importorskip("mcp", reason="mcp is not installed")
    from mcp import Client, types

    from openapi_tools.contracts.mcp import create_server

    shop, code = asking()
    asked = []

    async def answer(_, params):
        asked.append(params.message)
        return types.ElicitResult(action=action if "delete_user" in params.message else "accept")

    async with Client(create_server(code), mode=mode, elicitation_callback=answer) as client:
        result = await client.call_tool("run_code", {"code": WRITES})
        later = await client.call_tool("run_code", {"code": "first"})

    assert [line.partition("\n")[0] for line in asked] == [
        "Call create-item (POST /items)?",
        "Call delete_user (DELETE /users/{user-id})?",
    ]
    assert sent_requests(shop).count("POST /items") == 1
    assert sent_requests(shop).count("DELETE /users/7") == (action == "accept")
    assert result.is_error == (action == "decline")
    assert later.content[0].text == '{"made":true}'


async def test_the_approval_of_a_program_is_not_that_of_a_call_with_its_text():
    shop = Shop()
    code_of = {"name": "code", "in": "query", "schema": {"type": "string"}}
    wipe = {"operationId": "wipe", "parameters": [code_of], "responses": {"200": {}}}
    document = {**DOCUMENT, "paths": {"/items": {"delete": wipe}}}
    client = httpx.AsyncClient(transport=httpx.MockTransport(shop))
    toolset = load_tools(document, client=client)
    toolset.add_input_guardrails([require_approval()])
    code = toolset.code_tools()
    itself = "s = ?\nawait wipe(code=s.replace(chr(63), repr(s)))"
    program = {"code": itself.replace("?", repr(itself))}

    context = with_approval(None, code["run_code"], program)
    result = await code.call("run_code", program, context=context)

    assert "wipe was not approved" in result.output
    assert shop.requests == []


async def test_programs_that_wait_keep_no_others_from_running():
    shop, code = asking()
    questions = [
        await run_program(code, f"await delete_user({number})", approve=pending)
        for number in range(20)
    ]

    other = await run_program(code, "1")
    first, last = [
        await run_program(code, f"await delete_user({number})", approve=lambda _: True, resume=run)
        for number in (0, 19)
        for run in [questions[number].metadata["run"]]
    ]

    assert other.output == 1
    assert "nothing was repeated" in first.output
    assert last.success
    assert sent_requests(shop) == ["DELETE /users/19"]


async def test_a_program_that_goes_on_without_a_person_to_ask_is_refused(caplog):
    shop, code = asking()

    first = await run_program(code, WRITES, approve=pending)
    second = await run_program(code, WRITES, resume=first.metadata["run"])

    assert "create-item was not approved" in second.output
    assert (sent_requests(shop), caplog.records) == ([], [])


def test_a_program_of_an_event_loop_that_has_ended_is_gone(caplog):
    shop, code = asking()

    first = asyncio.run(run_program(code, WRITES, approve=pending))
    resumed = run_program(code, WRITES, approve=lambda _: True, resume=first.metadata["run"])

    assert "nothing was repeated" in asyncio.run(resumed).output
    assert (sent_requests(shop), caplog.records) == ([], [])


async def test_closed_tools_end_the_programs_that_wait():
    shop, code = asking()
    program = "await delete_user(7)"
    waiting = await run_program(code, program, approve=pending)

    await code.aclose()
    resumed = await run_program(
        code, program, approve=lambda _: True, resume=waiting.metadata["run"]
    )

    assert "has ended; nothing was repeated" in str(resumed)
    assert sent_requests(shop) == []
