"""Agents with scripted models find a tool, call it wrongly, correct the call, and ask a person."""

import asyncio
import json

import httpx
import pytest
from documents import document, operation

from openapi_tools import Context, Select, load_tools, require_approval

ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
DOCUMENT = document(
    {
        "/pets/{id}": {
            "get": operation(operationId="get_pet", summary="Get a pet.", parameters=[ID]),
            "delete": operation(operationId="delete_pet", summary="Remove it.", parameters=[ID]),
        },
        "/pets": {"get": operation(operationId="list_pets", summary="List the pets.")},
    },
    servers=[{"url": "http://pets.example.com"}],
)
REX = '{"id":1,"name":"Rex"}'
STEPS = [
    ("search_tools", {"query": "get one pet\nremove a pet"}),
    ("describe_tools", {"names": ["delete_pet"]}),
    ("call_tool", {"name": "get_pets", "arguments": {"id": 1}}),
    ("call_tool", {"name": "get_pet", "arguments": {"id": "one"}}),
    ("call_tool", {"name": "get_pet", "arguments": {"id": 1}}),
    ("call_tool", {"name": "delete_pet", "arguments": {"id": 1}}),
]
QUESTION = 'Call delete_pet (DELETE /pets/{id})?\n  "id": 1'
REFUSED = "delete_pet was not approved."


@pytest.fixture
def sent():
    """The requests that reached the API."""
    return []


@pytest.fixture
def pets(sent):
    """The tools of the API, which ask before they change anything."""

    def answer(request):
        sent.append((request.method, request.url.path))
        return httpx.Response(200, json=json.loads(REX) if request.method == "GET" else {})

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    toolset = load_tools(DOCUMENT, client=client, show_changes=False)
    toolset.add_input_guardrails([require_approval()])
    return toolset


def check(answers, sent, *, granted):
    """Check what the model was told, step by step, and what the API got."""
    found, told, unknown, wrong, right, deleted = answers
    assert "get_pet(id: int)" in found
    assert "delete_pet(id: int)" in found
    assert told.startswith("delete_pet: DELETE /pets/{id}")
    assert "did you mean get_pet" in unknown
    assert "/id: expected an integer, got 'one'" in wrong
    assert right == REX
    assert ("approved" in deleted) is not granted
    assert sent == [("GET", "/pets/1"), *([("DELETE", "/pets/1")] if granted else [])]


@pytest.mark.parametrize("granted", [True, False])
async def test_langchain(pets, sent, granted):
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    from openapi_tools.contracts.langchain import to_structured_tools

    asked = []
    context = Context(approve=lambda call: asked.append((call.name, call.arguments)) or granted)
    offered = {tool.name: tool for tool in to_structured_tools(pets.meta_tools(), context=context)}
    calls = [{"type": "tool_call", "id": "1", "name": n, "args": a} for n, a in STEPS]

    answers = [(await offered[call["name"]].ainvoke(call)).content for call in calls]

    check(answers, sent, granted=granted)
    assert asked == [("delete_pet", {"id": 1})]
    if not granted:
        assert answers[-1] == REFUSED


@pytest.mark.parametrize("granted", [True, False])
@pytest.mark.parametrize("rule", [None, True])
async def test_pydantic_ai(pets, sent, granted, rule):
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from openapi_tools.contracts.pydantic_ai import to_tools

    steps = [[ToolCallPart(n, a, str(i))] for i, (n, a) in enumerate(STEPS)]
    steps = steps if rule is None else steps[3:4] + steps[5:]
    left = [*steps, [TextPart("Done.")]]
    model = FunctionModel(lambda *_: ModelResponse(left.pop(0)))
    approval = None if rule is None else lambda tool: not tool.read_only
    tools = to_tools(pets.meta_tools(), approval=approval)
    agent = Agent(model, tools=tools, output_type=[str, DeferredToolRequests])

    def answered(request, granted):
        return DeferredToolResults(approvals={request.tool_call_id: granted})

    first = await agent.run("Go.")
    (request,) = first.output.approvals
    about = first.output.metadata[request.tool_call_id]
    history, answer = first.all_messages(), answered(request, granted)
    last = await agent.run(message_history=history, deferred_tool_results=answer)

    parts = [part for message in last.all_messages() for part in message.parts]
    told = [part.content for part in parts if part.part_kind == "tool-return"]
    assert (request.tool_name, about) == (
        *("call_tool", {"tool": "delete_pet", "arguments": {"id": 1}}),
    )
    if rule is None:
        assert told[4] == REX
        check([*told[:-1], "" if granted else "not approved"], sent, granted=granted)
    else:
        assert sent == ([("DELETE", "/pets/1")] if granted else [])


@pytest.mark.parametrize(
    ("names", "asked"), [("delete_*", True), ("run_code", True), ("get_*", True), ("none", False)]
)
def test_a_rule_about_a_tool_asks_about_each_program_that_may_call_it(names, asked):
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    pytest.importorskip("agent_framework", reason="agent-framework-core is not installed")
    pytest.importorskip("pydantic_monty", reason="pydantic-monty is not installed")
    from openapi_tools.contracts.agent_framework import to_function_tools
    from openapi_tools.contracts.pydantic_ai import to_tools

    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200)))
    code = load_tools(DOCUMENT, client=client, show_changes=False).code_tools()
    rule = Select(names=[names])

    search, run = to_tools(code, approval=rule)
    framework = [tool.approval_mode for tool in to_function_tools(code, approval=rule)]

    assert (search.requires_approval, run.requires_approval) == (False, asked)
    assert framework == ["never_require", "always_require" if asked else "never_require"]


@pytest.mark.parametrize("granted", [True, False])
async def test_agent_framework(pets, sent, granted):
    pytest.importorskip("agent_framework", reason="agent-framework-core is not installed")
    from agent_framework import (
        Agent,
        AgentSession,
        BaseChatClient,
        ChatResponse,
        Content,
        FunctionInvocationLayer,
        Message,
    )

    from openapi_tools.contracts.agent_framework import to_function_tools

    class Model(FunctionInvocationLayer, BaseChatClient):
        """Makes the calls of the script, and keeps what it was told."""

        left, texts = list(STEPS), ()

        def _inner_get_response(self, *, messages, **_):
            contents = [content for message in messages for content in message.contents]
            results = [each.items for each in contents if each.type == "function_result"]
            self.texts = [" ".join(item.text for item in items) for items in results]
            return self._answer()

        async def _answer(self):
            if not self.left:
                return ChatResponse(messages=[Message("assistant", [Content.from_text("done")])])
            name, given = self.left.pop(0)
            call = Content.from_function_call(f"c{len(self.left)}", name, arguments=given)
            return ChatResponse(messages=[Message("assistant", [call])])

    model = Model()
    agent = Agent(client=model, tools=to_function_tools(pets.meta_tools()))
    session = AgentSession()
    ended = await agent.run("Go.", session=session)
    # The framework knows the name of a tool only: reads through `call_tool` are asked for, too.
    while questions := ended.user_input_requests:
        yes = [granted or "delete" not in str(one.function_call.arguments) for one in questions]
        pairs = zip(questions, yes, strict=True)
        replies = [one.to_function_approval_response(approved=each) for one, each in pairs]
        ended = await agent.run(Message("user", replies), session=session)

    answers = model.texts
    check([*answers[:5], "" if granted else "not approved"], sent, granted=granted)


@pytest.mark.parametrize("says", ["Allow", "Deny"])
async def test_amplifier(pets, sent, says):
    pytest.importorskip("amplifier_core", reason="amplifier-core is not installed")
    from amplifier_core.testing import MockCoordinator

    from openapi_tools.contracts.amplifier import present

    coordinator, asked = MockCoordinator(), []

    class Approval:
        async def request_approval(self, prompt, *_):
            asked.append(prompt)
            return says

    coordinator.approval_system = Approval()
    with present(coordinator, pets.meta_tools()) as tools:
        offered = {tool.name: tool for tool in tools}
        results = [await offered[name].execute(given) for name, given in STEPS]

    check([result.get_serialized_output() for result in results], sent, granted=says == "Allow")
    assert asked == [QUESTION]


@pytest.mark.parametrize("granted", [True, False])
async def test_llama_index(pets, sent, granted):
    pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
    from openapi_tools.contracts.llama_index import to_tools

    context = Context(approve=lambda _: granted)
    offered = {tool.metadata.name: tool for tool in to_tools(pets.meta_tools(), context=context)}

    answers = [str((await offered[name].acall(**given)).content) for name, given in STEPS]

    check(answers, sent, granted=granted)


@pytest.mark.parametrize("granted", [True, False])
async def test_a_program_in_langchain_asks_in_its_middle(pets, sent, granted):
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    pytest.importorskip("pydantic_monty", reason="pydantic-monty is not installed")
    from openapi_tools.contracts.langchain import to_structured_tools

    asked = []
    context = Context(approve=lambda call: asked.append(call.name) or granted)
    offered = {tool.name: tool for tool in to_structured_tools(pets.code_tools(), context=context)}
    found = await offered["search"].ainvoke({"query": "remove a pet"})
    code = """
pet = await get_pet(id=1)
try:
    await delete_pet(id=pet["id"])
    said = "gone"
except ApiError as error:
    said = str(error)
[pet["name"], said]
"""

    answer = await offered["run_code"].ainvoke({"code": code})

    assert "delete_pet(id: int)" in found
    name, said = json.loads(answer)
    assert (name, asked) == ("Rex", ["delete_pet"])
    assert said == "gone" if granted else REFUSED.rstrip(".") in said
    assert len(sent) == 1 + granted


async def test_many_calls_at_once_keep_their_ids_and_answers(pets):
    from openapi_tools.result import ToolCall

    call_tool = pets.meta_tools()["call_tool"]
    given = {"name": "get_pet", "arguments": {"id": 1}}
    calls = [ToolCall(id=f"c{n}", name="call_tool", arguments=given) for n in range(20)]

    results = await asyncio.gather(*map(call_tool, calls))

    assert [result.tool_call_id for result in results] == [call.id for call in calls]
