from __future__ import annotations

import asyncio
import copy
import logging
from typing import Any

import httpx
import pytest
from documents import document, operation, with_body

from openapi_tools import (
    CallError,
    Context,
    DeniedError,
    InputError,
    OperationTool,
    Select,
    Settings,
    SettingsError,
    ToolCall,
    ToolResult,
    Toolset,
    load_tools,
    require_approval,
)
from openapi_tools.tools.guardrails import question_of
from openapi_tools.tools.tool_call import with_approve

PET = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
}


class Api:
    """Answers calls, and remembers what was sent."""

    def __init__(self, status: int = 200, paths: Any = None):
        self.sent: list[str] = []
        self.status = status
        client = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        settings = Settings(base_url="https://api.example.com/v1")
        self.tools: Toolset = load_tools(
            document(paths or with_body(PET)), client=client, settings=settings
        )
        self.tool = next(iter(self.tools))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request.content.decode())
        return httpx.Response(self.status, json={"message": "words of the API"})

    async def call(self, context: Any = None) -> ToolResult:
        return await self.tool.execute({"name": "Rex", "_tool_call_id": "c1"}, context=context)

    async def refuses(self, kind: str = "denied", context: Any = None) -> str:
        """Call the tool, and return the message of the error of that kind."""
        result = await self.call(context)
        assert (result.error["type"], result.tool_call_id) == (kind, "c1")
        return result.error["message"]


TWO = {"/x": {"get": operation(), "delete": operation()}}


async def test_an_input_guardrail_sees_the_call_and_its_context():
    api, seen = Api(), []
    api.tool.add_input_guardrails([lambda call, context: seen.append((call, context))])
    context = Context(state="mine")

    result = await api.tool.execute({"name": "Rex", "_tool_call_id": "call_1"}, context=context)

    assert result.success
    assert result.tool_call_id == "call_1"
    call = ToolCall(id="call_1", name="post_x", arguments={"name": "Rex"})
    assert seen == [(call, context)]


async def add_age(call, _):
    return {**call.arguments, "age": 3}


def age_in_place(call, _):
    call.arguments["age"] = 3


def age_as_call(call, _):
    return ToolCall(name="another", arguments={**call.arguments, "age": 3})


@pytest.mark.parametrize("guard", [add_age, age_in_place, age_as_call])
async def test_a_guardrail_changes_the_arguments(guard):
    api = Api()
    api.tool.add_input_guardrails([guard])
    given = {"name": "Rex"}

    assert (await api.tool.execute(given)).success

    assert api.sent == ['{"name":"Rex","age":3}']
    assert given == {"name": "Rex"}


async def test_changed_arguments_are_checked():
    api = Api()
    api.tool.add_input_guardrails([lambda call, context: {"name": 5}])

    assert "/name" in await api.refuses("invalid_input")
    assert api.sent == []


def refuse(call, context):
    raise DeniedError("not on Sundays")


def refuse_as_python_does(call, context):
    raise PermissionError("not on Sundays")


@pytest.mark.parametrize(
    ("guard", "said"),
    [
        (refuse, "not on Sundays"),
        (refuse_as_python_does, "not on Sundays"),
        (lambda call, context: False, "refuses"),
    ],
)
async def test_a_guardrail_refuses_a_call(guard, said):
    api = Api()
    api.tool.add_input_guardrails([guard])

    assert said in await api.refuses()
    assert api.sent == []


def fail(subject, context):
    raise RuntimeError("hunter2")


def nonsense(subject, context):
    return 5


@pytest.mark.parametrize("guard", [fail, nonsense])
async def test_a_guardrail_that_fails_refuses_and_keeps_its_words_to_the_log(guard, caplog):
    api = Api()
    api.tool.add_input_guardrails([guard])

    with caplog.at_level(logging.ERROR):
        assert "hunter2" not in await api.refuses()
    assert guard.__name__ in caplog.text
    assert api.sent == []


async def test_guardrails_run_in_order_and_wrong_input_reaches_none():
    api, order = Api(), []
    api.tool.add_input_guardrails([lambda call, context: order.append(1)])
    api.tool.add_input_guardrails([lambda call, context: order.append(2)])

    assert (await api.tool.execute({})).error is not None
    assert order == []
    assert (await api.call()).success
    assert order == [1, 2]


@pytest.mark.parametrize("status", [200, 500])
async def test_an_output_guardrail_sees_and_replaces_every_result(status):
    api = Api(status)

    async def redact(result: ToolResult, context: Any) -> ToolResult:
        return ToolResult.ok(str(result).replace("words", "-----"))

    api.tool.add_output_guardrails([redact])

    assert "words" not in str(await api.tool.execute({"name": "Rex", "_tool_call_id": "call_2"}))


@pytest.mark.parametrize("guard", [fail, nonsense])
async def test_an_output_guardrail_that_fails_or_gives_no_result_withholds_it(guard):
    api = Api()
    api.tool.add_output_guardrails([guard])

    result = await api.call()

    assert (result.error["type"], result.tool_call_id) == ("denied", "c1")
    assert "words of the API" not in result.model_dump_json()


async def test_functions_for_failures_see_whatever_fails_and_the_first_answer_decides():
    api, seen = Api(404), []

    async def note(error: Exception, context: Any):
        seen.append(error)

    api.tool.add_on_error_func(note)
    api.tool.add_on_error_func(lambda error, context: ToolResult.ok(f"handled {context}"))
    api.tool.add_on_error_func(lambda error, context: ToolResult.ok("never asked"))

    assert str(await api.tool.execute({"name": "Rex"}, context="here")) == "handled here"
    assert str(await api.tool.execute({}, context="here")) == "handled here"

    answered, refused = seen
    assert isinstance(answered, CallError)
    assert (answered.kind, answered.facts["status"]) == ("http", 404)
    assert isinstance(refused, InputError)


@pytest.mark.parametrize("stops", ["fail", "cancelled"])
async def test_a_function_for_failures_that_fails_leaves_the_failure_as_it_is(stops):
    api = Api(404)
    api.tool.add_on_error_func(globals()[stops])

    assert (await api.call()).error["status"] == 404


async def test_an_error_answer_keeps_its_facts_past_guardrails():
    plain, guarded = Api(404), Api(404)
    guarded.tool.add_input_guardrails([lambda call, context: None])

    expected = await plain.tool.execute({"name": "Rex"})
    result = await guarded.tool.execute({"name": "Rex"})

    assert result.model_dump() == expected.model_dump()
    assert result.metadata["status"] == 404


async def test_guardrails_of_a_toolset_are_on_its_tools_and_no_others():
    api = Api(paths=TWO)
    api.tools.select(Select(methods="DELETE")).add_input_guardrails([refuse])

    assert (await api.tools.call("get_x", {})).success
    assert (await api.tools.call("delete_x", {})).error["type"] == "denied"
    assert (await api.tools["delete_x"].execute({})).error["type"] == "denied"


async def test_functions_are_added_to_each_tool_of_a_toolset():
    api = Api(500, paths=TWO)
    api.tools.add_on_error_func(lambda error, context: ToolResult.ok("handled"))
    api.tools.add_output_guardrails(iter([lambda result, context: ToolResult.ok("guarded")]))

    assert [str(await tool.execute({})) for tool in api.tools] == ["guarded", "guarded"]


async def test_approval_is_asked_for_what_writes_and_gets_the_call():
    api, asked = Api(paths=TWO), []
    api.tools.add_input_guardrails([require_approval()])

    async def approve(call: ToolCall) -> bool:
        asked.append(call.name)
        return True

    context = Context(approve=approve)
    assert [(await tool.execute({}, context=context)).success for tool in api.tools] == [True, True]
    assert asked == ["delete_x"]
    assert [tool.needs_approval for tool in api.tools] == [False, True]


@pytest.mark.parametrize(
    "context",
    [
        None,
        {},
        Context(),
        Context(approve=lambda call: False),
        Context(approve=lambda call: "yes"),  # type: ignore[arg-type,return-value]
        {"approve": lambda call: None},
        {"approve": fail},
    ],
)
async def test_without_a_clear_yes_nothing_is_sent(context):
    api = Api()
    api.tool.add_input_guardrails([require_approval()])

    await api.refuses(context=context)
    assert api.sent == []


async def test_what_was_approved_is_what_is_sent():
    api, asked = Api(), []
    api.tool.add_input_guardrails([require_approval(), add_age])

    context = {"approve": lambda call: asked.append(call.arguments) or True}
    assert (await api.tool.execute({"name": "Rex"}, context=context)).success

    assert asked == [{"name": "Rex", "age": 3}]
    assert api.sent == ['{"name":"Rex","age":3}']


@pytest.mark.parametrize(
    "rule", [Select(methods="GET"), lambda tool: tool.method == "GET", lambda tool: tool.read_only]
)
def test_a_rule_says_which_tools_need_approval(rule):
    api = Api(paths=TWO)
    api.tools.add_input_guardrails([require_approval(rule)])

    assert {t.method: t.needs_approval for t in api.tools} == {"GET": True, "DELETE": False}


def test_a_rule_that_is_none_is_refused():
    with pytest.raises(SettingsError, match="rule"):
        require_approval("DELETE")


class Own(OperationTool):
    """A tool of which some steps are the user's own; the rest is another tool's."""

    def __init__(self, tool: OperationTool):
        super().__init__(tool._session)
        self._tool = tool
        self.steps: list[str] = []

    name = property(lambda self: self._tool.name)
    description = property(lambda self: self._tool.description)
    input_schema = property(lambda self: self._tool.input_schema)
    operation = property(lambda self: self._tool.operation)

    async def on_invoke(self, call: ToolCall, context: Any) -> Any:
        self.steps.append("on_invoke")
        return await super().on_invoke(call, context)

    async def run(self, call: ToolCall, context: Any = None) -> ToolResult:
        self.steps.append("run")
        return await super().run(call, context)

    async def on_output(self, result: ToolResult, context: Any) -> ToolResult:
        self.steps.append("on_output")
        return await super().on_output(result, context)

    async def on_error(self, error: Exception, context: Any) -> ToolResult:
        self.steps.append("on_error")
        return await super().on_error(error, context)


@pytest.mark.parametrize(
    ("status", "steps"),
    [
        (200, ["on_invoke", "run", "on_output"]),
        (500, ["on_invoke", "run", "on_error", "on_output"]),
    ],
)
async def test_the_steps_of_a_subclass_are_taken(status, steps):
    tool = Own(Api(status).tool)

    result = await tool.execute({"name": "Rex"})

    assert tool.steps == steps
    assert result.success == (status == 200)


async def test_a_step_that_gives_no_result_is_an_error_result():
    class Wrong(Own):
        async def run(self, call: ToolCall, context: Any = None) -> Any:
            return {"success": True}

    result = await Wrong(Api().tool).execute({"name": "Rex"})

    assert result.error["type"] == "protocol"


async def test_cancelling_passes_through_guardrails():
    api, started = Api(), asyncio.Event()

    async def wait(call: ToolCall, context: Any):
        started.set()
        await asyncio.Event().wait()

    api.tool.add_input_guardrails([wait])
    task = asyncio.create_task(api.tool.execute({"name": "Rex"}))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def cancelled(*_):
    future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    future.cancel()
    return await future


def cancels_at_once(*_):
    raise asyncio.CancelledError


@pytest.mark.parametrize("stops", [cancelled, cancels_at_once])
async def test_what_a_guardrail_waits_for_may_be_cancelled_and_the_call_is_refused(stops):
    asked, guarded, withheld = Api(), Api(), Api()
    asked.tool.add_input_guardrails([require_approval()])
    guarded.tool.add_input_guardrails([stops])
    withheld.tool.add_output_guardrails([stops])

    for api in (asked, guarded, withheld):
        await api.refuses(context={"approve": stops})
    assert asked.sent == guarded.sent == []


async def test_an_approver_cannot_change_what_is_sent():
    api = Api()
    api.tool.add_input_guardrails([require_approval()])

    def approve(call: ToolCall) -> bool:
        call.arguments["name"] = "***"
        return True

    assert (await api.tool.execute({"name": "Rex"}, context=Context(approve=approve))).success
    assert api.sent == ['{"name":"Rex"}']


async def test_true_is_not_1_when_a_guardrail_changes_it():
    api = Api(paths=with_body({"type": "object", "properties": {"v": {}}}))
    api.tool.add_input_guardrails([lambda call, context: {"v": True}])

    assert (await api.tool.execute({"v": 1})).success
    assert api.sent == ['{"v":true}']


async def test_one_result_for_many_calls_answers_each_of_them():
    api, shared = Api(), ToolResult.ok("from the cache")
    api.tool.add_input_guardrails([lambda call, context: shared])

    results = [await api.tool.execute({"name": "a", "_tool_call_id": str(n)}) for n in range(3)]

    assert [result.tool_call_id for result in results] == ["0", "1", "2"]


@pytest.mark.parametrize("output", [object(), {"a": object()}, float("nan"), "\ud800"])
async def test_a_result_that_cannot_be_shown_is_withheld(output):
    first, second, third = Api(), Api(), Api(404)
    first.tool.add_input_guardrails([lambda call, context: ToolResult.ok(output)])
    second.tool.add_output_guardrails([lambda result, context: ToolResult.ok(output)])
    third.tool.add_on_error_func(lambda error, context: ToolResult.ok(output))

    for api, kind in ((first, "denied"), (second, "denied"), (third, "http")):
        result = await api.call()
        assert result.error["type"] == kind
        result.model_dump_json().encode()


@pytest.mark.parametrize("verdict", [False, 0, "", {}, "no"])
async def test_a_step_of_a_subclass_that_gives_no_call_refuses(verdict):
    class Odd(Own):
        async def on_invoke(self, call: ToolCall, context: Any) -> Any:
            return verdict

    api = Api()
    result = await Odd(api.tool).execute({"name": "Rex"})

    assert result.error["type"] == "denied"
    assert api.sent == []


def test_a_person_is_asked_about_every_argument_in_plain_characters():
    api = Api(paths={"/x\u202e/{id}": {"delete": operation()}})
    call = ToolCall(name="x", arguments={"n": "x\u202e\x9b" * 2000, "id": 1})

    question = question_of(api.tool, call)

    assert question.isascii()
    assert '"id": 1' in question
    assert len(question) < 1500


def test_a_context_with_another_approver_can_be_copied():
    both = with_approve(Context(state="mine"), lambda call: True)
    assert copy.copy(both).state == "mine"
