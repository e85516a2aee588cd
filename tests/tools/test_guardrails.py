"""Guardrails before and after a call, functions for failures, and approval."""

import asyncio
import copy
import logging
from typing import Any

import httpx
import pytest
from documents import document, operation, with_body
from tools.handlers import load_with_handler

from openapi_tools import (
    CallError,
    Context,
    DeniedError,
    InputError,
    OperationTool,
    Select,
    SettingsError,
    ToolCall,
    ToolResult,
    require_approval,
)
from openapi_tools.common.options import replace_context_values
from openapi_tools.tools.guardrails import describe_question

PET = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
}


class Api:
    """Tools of an API that responds to each call with a status, and what was sent to it."""

    def __init__(self, status: int = 200, paths: Any = None):
        words = {"message": "words of the API"}
        self.tools, self._requests = load_with_handler(
            document(paths or with_body(PET)), lambda _: httpx.Response(status, json=words)
        )
        self.tool = next(iter(self.tools))

    @property
    def sent(self) -> list[str]:
        """The bodies that were sent."""
        return [request.content.decode() for request in self._requests]

    async def call(self, context: Any = None) -> ToolResult:
        return await self.tool.execute({"name": "Rex", "_tool_call_id": "c1"}, context=context)

    async def refuses(self, kind: str = "denied", context: Any = None) -> str:
        """Call the tool, and return all that a result with an error of that kind says."""
        result = await self.call(context)
        assert (result.error["type"], result.tool_call_id) == (kind, "c1")
        return result.model_dump_json()


TWO = {"/x": {"get": operation(), "delete": operation()}}


async def test_input_guardrails_see_the_call_in_order_and_wrong_input_reaches_none():
    api, seen, context = Api(), [], Context(state="mine")
    for number in (1, 2):
        api.tool.add_input_guardrails(
            [lambda *arguments, number=number: seen.append((number, *arguments))]
        )

    assert (await api.tool.execute({})).is_error
    assert seen == []
    result = await api.call(context)

    call = ToolCall(id="c1", name="post_x", arguments={"name": "Rex"})
    assert (result.success, result.tool_call_id) == (True, "c1")
    assert seen == [(1, call, context), (2, call, context)]


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
    arguments = {"name": "Rex"}

    assert (await api.tool.execute(arguments)).success

    assert api.sent == ['{"name":"Rex","age":3}']
    assert arguments == {"name": "Rex"}


def refuse(*_):
    raise DeniedError("not on Sundays")


def refuse_as_python_does(*_):
    raise PermissionError("not on Sundays")


def fail(*_):
    raise RuntimeError("hunter2")


def nonsense(*_):
    return 5


@pytest.mark.parametrize(
    ("guard", "kind", "excerpt"),
    [
        (lambda *_: {"name": 5}, "invalid_input", "/name"),
        (refuse, "denied", "not on Sundays"),
        (refuse_as_python_does, "denied", "not on Sundays"),
        (lambda *_: False, "denied", "refused"),
        (fail, "denied", "fail failed (RuntimeError)"),
        (nonsense, "denied", "nonsense returned no verdict"),
    ],
)
async def test_a_guardrail_refuses_a_call(guard, kind, excerpt, caplog):
    api = Api()
    api.tool.add_input_guardrails([guard])

    with caplog.at_level(logging.ERROR):
        message = await api.refuses(kind)

    assert excerpt in message
    assert "hunter2" not in message
    assert (guard.__name__ in caplog.text) is (guard in (fail, nonsense))
    assert api.sent == []


@pytest.mark.parametrize("status", [200, 500])
async def test_an_output_guardrail_sees_and_replaces_every_result(status):
    api = Api(status)

    async def redact(result: ToolResult, context: Any) -> ToolResult:
        return ToolResult.ok(str(result).replace("words", "-----"))

    api.tool.add_output_guardrails([redact])

    assert "words" not in str(await api.call())
    for guard in (fail, nonsense):
        withheld = Api(status)
        withheld.tool.add_output_guardrails([guard])
        assert "words" not in await withheld.refuses()


async def test_functions_for_failures_see_whatever_fails_and_the_first_result_decides():
    api, seen = Api(404), []

    async def note(error: Exception, context: Any):
        seen.append(error)

    api.tool.add_on_error_func(note)
    api.tool.add_on_error_func(lambda error, context: ToolResult.ok(f"handled {context}"))
    api.tool.add_on_error_func(lambda error, context: ToolResult.ok("never asked"))

    assert str(await api.tool.execute({"name": "Rex"}, context="here")) == "handled here"
    assert str(await api.tool.execute({}, context="here")) == "handled here"

    failure, refused = seen
    assert isinstance(failure, CallError)
    assert (failure.kind, failure.facts["status"]) == ("http", 404)
    assert isinstance(refused, InputError)


async def test_functions_for_failures_that_fail_leave_the_failure_as_it_is():
    plain, guarded = Api(404), Api(404)
    guarded.tool.add_input_guardrails([lambda call, context: None])
    guarded.tool.add_on_error_func([fail, wait_for_future])

    result = await guarded.call()

    assert result.model_dump() == (await plain.call()).model_dump()
    assert result.metadata["status"] == 404


async def test_guardrails_of_a_toolset_are_on_its_tools_and_no_others():
    api = Api(paths=TWO)
    api.tools.select(Select(methods="DELETE")).add_input_guardrails([refuse])

    assert (await api.tools.call("get_x", {})).success
    assert (await api.tools.call("delete_x", {})).error["type"] == "denied"


@pytest.mark.parametrize(
    "context",
    [
        *(None, {}, Context(), {"approve": lambda call: None}, {"approve": fail}),
        *(Context(approve=lambda call, choice=choice: choice) for choice in (False, "yes", 1)),
    ],
)
async def test_without_a_clear_yes_nothing_is_sent(context):
    api = Api()
    api.tool.add_input_guardrails([require_approval()])

    await api.refuses(context=context)
    assert api.sent == []


@pytest.mark.parametrize(
    "rule", [None, Select(methods="DELETE"), lambda tool: tool.method == "DELETE"]
)
def test_a_rule_says_which_tools_need_approval(rule):
    api = Api(paths=TWO)
    api.tools.add_input_guardrails([require_approval(rule)])

    assert {t.method: t.needs_approval for t in api.tools} == {"GET": False, "DELETE": True}
    with pytest.raises(SettingsError, match="rule"):
        require_approval("DELETE")


class PlainTool(OperationTool):
    """A tool for subclasses with steps of their own; the rest is another tool's."""

    def __init__(self, tool: OperationTool):
        super().__init__(tool._session)
        self._tool = tool

    name = property(lambda self: self._tool.name)
    description = property(lambda self: self._tool.description)
    input_schema = property(lambda self: self._tool.input_schema)
    operation = property(lambda self: self._tool.operation)


@pytest.mark.parametrize(
    ("step", "outcome", "kind"),
    [
        ("run", {"success": True}, "protocol"),
        *(("on_invoke", verdict, "denied") for verdict in (False, 0, "", {}, "no")),
    ],
)
async def test_a_step_of_a_subclass_that_gives_something_else_is_an_error_result(
    step, outcome, kind
):
    async def other(*_: Any) -> Any:
        return outcome

    api = Api()
    tool = type("Sub", (PlainTool,), {step: other})(api.tool)

    result = await tool.execute({"name": "Rex"})

    assert result.error["type"] == kind
    assert api.sent == []


async def wait_for_future(*_):
    future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    future.cancel()
    return await future


def cancels_at_once(*_):
    raise asyncio.CancelledError


@pytest.mark.parametrize("stops", [wait_for_future, cancels_at_once])
async def test_what_a_guardrail_waits_for_may_be_cancelled_and_the_call_is_refused(stops):
    asked, guarded, withheld = Api(), Api(), Api()
    asked.tool.add_input_guardrails([require_approval()])
    guarded.tool.add_input_guardrails([stops])
    withheld.tool.add_output_guardrails([stops])

    for api in (asked, guarded, withheld):
        await api.refuses(context={"approve": stops})
    assert asked.sent == guarded.sent == []


async def test_what_was_approved_is_what_is_sent():
    api, asked = Api(), []
    api.tool.add_input_guardrails([require_approval(), add_age])

    def approve(call: ToolCall) -> bool:
        asked.append(dict(call.arguments))
        call.arguments["name"] = "***"
        return True

    assert (await api.call(Context(approve=approve))).success

    assert asked == [{"name": "Rex", "age": 3}]
    assert api.sent == ['{"name":"Rex","age":3}']


async def test_true_is_not_1_when_a_guardrail_changes_it():
    api = Api(paths=with_body({"type": "object", "properties": {"v": {}}}))
    api.tool.add_input_guardrails([lambda call, context: {"v": True}])

    assert (await api.tool.execute({"v": 1})).success
    assert api.sent == ['{"v":true}']


async def test_one_result_for_many_calls_answers_each_of_them():
    api, shared = Api(), ToolResult.ok("from the cache")
    api.tool.add_input_guardrails([lambda call, context: shared])

    for call_id in "012":
        result = await api.tool.execute({"name": "a", "_tool_call_id": call_id})
        assert (result.output, result.tool_call_id) == ("from the cache", call_id)


@pytest.mark.parametrize("output", [object(), {"a": object()}, float("nan"), "\ud800"])
@pytest.mark.parametrize("add", ["input_guardrails", "output_guardrails", "on_error_func"])
async def test_a_result_that_cannot_be_shown_is_withheld(add, output):
    fails = add == "on_error_func"
    api = Api(404 if fails else 200)
    getattr(api.tool, f"add_{add}")([lambda *_: ToolResult.ok(output)])

    (await api.refuses("http" if fails else "denied")).encode()


def test_a_person_is_asked_about_every_argument_in_plain_characters():
    api = Api(paths={"/x\u202e/{id}": {"delete": operation()}})
    call = ToolCall(name="x", arguments={"n": "x\u202e\x9b" * 2000, "id": 1})

    question = describe_question(api.tool, call)

    assert question.isascii()
    assert '"id": 1' in question
    assert len(question) < 4500


def test_a_context_with_another_approver_can_be_copied():
    both = replace_context_values(Context(state="mine"), approve=lambda call: True)
    assert copy.copy(both).state == "mine"
