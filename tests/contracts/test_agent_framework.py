"""Tools in agents of the Microsoft Agent Framework: the real package, with a scripted model."""

import asyncio
import base64
import copy
import json
import logging

import pytest
from conformance import Asking
from documents import operation, tools
from pet_shop import NOT_FOUND, PHOTO, PNG

from openapi_tools import Context, OperationTool, ToolResult, require_approval
from openapi_tools.contracts.agent_framework import to_function_tools
from openapi_tools.testing.conformance_tests import Seen

pytest.importorskip("agent_framework", reason="agent-framework-core is not installed")

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    FunctionMiddleware,
    FunctionTool,
    Message,
    tool,
)

DENIED = "sell_pet needs approval, but approval is not configured."
IMAGE = f"[image: image/png, {len(PNG)} bytes]"
SELL = [("sell_pet", {"petId": 7})]


class Model(FunctionInvocationLayer, BaseChatClient):
    """A chat client whose model follows a script: for each turn, the calls that it wants.

    A call is `(name, arguments)`; after the script it says "done".
    """

    def __init__(self, *turns, **options):
        super().__init__(**options)
        self.turns = list(turns)
        self.contents = []
        self.offered = []

    def _inner_get_response(self, *, messages, stream, options, **_):
        self.contents = [content for message in messages for content in message.contents]
        self.offered = options.get("tools") or []
        calls = self.turns.pop(0) if self.turns else []
        contents = [
            Content.from_function_call(call_id=f"c{number}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(calls)
        ] or [Content.from_text("done")]
        return self._stream(contents) if stream else self._whole(contents)

    async def _whole(self, contents):
        return ChatResponse(messages=[Message("assistant", contents)])

    def _stream(self, contents):
        async def updates():
            for content in contents:
                yield ChatResponseUpdate(role="assistant", contents=[content])

        return self._build_response_stream(updates())

    @property
    def results(self):
        """The parts of each result that it was shown last."""
        return [content.items for content in self.contents if content.type == "function_result"]

    @property
    def texts(self):
        return [text_of(items) for items in self.results]


class Reading(FunctionMiddleware):
    """Keeps the contents of every result; with a middleware, the framework takes other ways."""

    def __init__(self, arguments=None):
        self.results = []
        self.arguments = arguments

    async def process(self, context, call_next):
        context.arguments = self.arguments or context.arguments
        await call_next()
        self.results.append(context.result)


def agent_of(toolset, *turns, middleware=None, **options):
    """Return an agent with tools, and its model."""
    model = Model(*turns)
    functions = to_function_tools(toolset, **options)
    return Agent(client=model, tools=functions, middleware=middleware), model


async def run_turns(toolset, *turns, **options):
    """Return the texts that a model is shown of its calls."""
    agent, model = agent_of(toolset, *turns, **options)
    await agent.run("Go.")
    return model.texts


def by_name(toolset, **options):
    return {function.name: function for function in to_function_tools(toolset, **options)}


def text_of(contents):
    return "".join(content.text or "" for content in contents)


def asked_of(recorder):
    return [f"{request.method} {request.target}" for request in recorder.requests]


class TestAgentFramework(Asking):
    def names(self, toolset):
        return list(by_name(toolset))

    def asking(self, toolset, **options):
        functions = to_function_tools(toolset, **options)
        return {one.name for one in functions if one.approval_mode == "always_require"}

    async def run_until_asked(self, toolset, *calls, **options):
        agent, model = agent_of(toolset, calls, middleware=[Reading()], **options)
        session = AgentSession()
        questions = (await agent.run("Go.", session=session)).user_input_requests

        async def answer(yes):
            replies = [one.to_function_approval_response(approved=yes) for one in questions]
            await agent.run(Message("user", replies), session=session)
            return model.texts

        return [question.function_call.name for question in questions], answer

    async def run_turns(self, toolset, *turns, **options):
        reading = Reading()
        agent, model = agent_of(toolset, *turns, middleware=[reading], **options)
        response = await agent.run("Go.")
        assert response.text == "done"
        assert sorted(model.texts) == sorted(map(text_of, reading.results))
        assert {content.exception for content in model.contents} <= {None}
        return list(map(self.read_result, model.results))

    def read_result(self, items):
        images = [item for item in items if item.type == "data"]
        assert [image.media_type for image in images] == ["image/png"] * len(images)
        assert items[0].type == "text"
        data = [base64.b64decode(image.uri.partition(",")[2]) for image in images]
        return Seen([item.text for item in items if item.type == "text"], data)


# Calls


@pytest.mark.parametrize("arguments", [None, "", "{}", {}, "null"], ids=repr)
async def test_a_tool_without_arguments_can_be_called_with_none(arguments):
    (ping,) = tools({"/ping": {"get": operation(operationId="ping")}})
    ping.add_input_guardrails([lambda *_: ToolResult.ok("pong")])

    assert await run_turns([ping], [("ping", arguments)]) == ["pong"]


class EchoTool(OperationTool):
    """A user's own tool, without an operation; its argument has the framework's name for text."""

    name = "own"
    description = "Gives back what it gets."
    input_schema = {"type": "object", "properties": {"raw": {}}}  # noqa: RUF012 -- as generated

    async def run(self, call, context=None):
        return ToolResult.ok({"id": call.id, **call.arguments})


async def test_a_tool_of_ones_own_may_have_an_argument_of_any_name():
    (text,) = await run_turns([EchoTool()], [("own", {"raw": "{"})])
    direct = await by_name([EchoTool()])["own"].invoke(arguments={"raw": "{"})

    assert json.loads(text) == {"id": "c0", "raw": "{"}
    assert json.loads(text_of(direct)) == {"id": "", "raw": "{"}


async def test_a_model_reads_that_its_arguments_are_no_object(shop, recorder):
    texts = await run_turns(shop, [("get_pet", arguments) for arguments in ('{"petId": 3', "[1]")])

    assert texts[0].startswith("the arguments of a call are not valid JSON: ")
    assert texts[1] == "the arguments of a call must be an object, not list."
    assert recorder.requests == []


# What the model is offered


async def test_the_model_is_offered_each_tool_as_definitions_show_it(shop):
    agent, model = agent_of(shop)

    await agent.run("Hello.")

    defined = copy.deepcopy(shop.definitions("openai"))
    for one in defined:
        del one["function"]["strict"]
    assert [one.to_json_schema_spec() for one in model.offered] == defined
    assert all(isinstance(function, FunctionTool) for function in model.offered)
    data = json.loads(json.dumps(model.offered[0].to_dict()))
    assert data["input_model"] == defined[0]["function"]["parameters"]


def test_what_a_client_writes_into_a_schema_stays_with_its_tool(shop):
    function, other = to_function_tools([shop["get_pet"]] * 2)

    function.parameters()["properties"].clear()

    assert function.parameters()["properties"] == {}
    assert list(other.parameters()["properties"]) == ["petId"]
    assert list(shop["get_pet"].input_schema["properties"]) == ["petId"]


# Results


async def test_a_program_reads_an_error_as_data(shop, recorder):
    recorder.response = NOT_FOUND
    reading = Reading()
    agent, model = agent_of(shop, [("get_pet", {"petId": 9})], middleware=[reading])

    await agent.run("Get.")

    result = reading.results[0][0].raw_representation
    itself = await by_name(shop)["get_pet"].invoke(arguments={"petId": 9}, skip_parsing=True)
    assert (result.is_error, result.error["status"], result.tool_call_id) == (True, 404, "c0")
    assert (itself.error, str(itself)) == (result.error, str(result))
    assert "raw_representation" not in json.dumps([content.to_dict() for content in model.contents])


async def test_a_chat_client_that_omits_images_and_a_restored_session_have_a_text(shop, recorder):
    recorder.response = PHOTO
    agent, _ = agent_of(shop, [("get_photo", {"petId": 1})])
    session = AgentSession()
    await agent.run("Show.", session=session)

    restored = AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))
    again, model = agent_of(shop)
    await again.run("And now?", session=restored)

    (result,) = [content for content in model.contents if content.type == "function_result"]
    assert result.result == IMAGE


# Approval


async def test_a_streaming_agent_asks_too(shop, recorder):
    shop.add_input_guardrails([require_approval()])
    agent, model = agent_of(shop, SELL)
    session = AgentSession()

    updates = [update async for update in agent.run("Go.", session=session, stream=True)]
    (question,) = [r for update in updates for r in update.user_input_requests]
    reply = Message("user", [question.to_function_approval_response(approved=True)])
    _ = [update async for update in agent.run(reply, session=session, stream=True)]

    assert (model.texts, asked_of(recorder)) == (["{}"], ["DELETE /pets/7"])


async def test_an_approval_is_for_the_arguments_that_were_shown(shop, recorder):
    shop.add_input_guardrails([require_approval()])
    agent, _ = agent_of(shop, SELL, middleware=[Reading({"petId": 8})])
    session = AgentSession()
    waiting = await agent.run("Sell pet 7.", session=session)
    (question,) = waiting.user_input_requests
    reply = Message("user", [question.to_function_approval_response(approved=True)])

    response = await agent.run(reply, session=session)

    (question,) = response.user_input_requests
    assert question.function_call.parse_arguments() == {"petId": 8}
    assert recorder.requests == []


@pytest.mark.parametrize("decision", [None, True, False])
async def test_invoking_a_tool_yourself_is_no_approval(shop, recorder, decision):
    asked = []
    shop.add_input_guardrails([require_approval()])
    context = (
        None if decision is None else Context(approve=lambda call: asked.append(call) or decision)
    )
    function = by_name(shop, context=context)["sell_pet"]

    invoked = text_of(await function.invoke(arguments={"petId": 7}, tool_call_id="c"))
    called = await function(petId=7)

    assert invoked == {None: DENIED, True: "{}", False: "sell_pet was not approved."}[decision]
    assert called.success is (decision is True)
    calls = [(call.id, call.name, call.arguments) for call in asked[:1]]
    assert calls == ([] if decision is None else [("c", *SELL[0])])
    assert asked_of(recorder) == ["DELETE /pets/7"] * (2 if decision else 0)


async def test_the_loop_of_one_tool_is_no_approval_for_another(shop, recorder):
    shop.add_input_guardrails([require_approval()])
    functions = by_name(shop)

    @tool(approval_mode="never_require")
    async def sly(ctx: FunctionInvocationContext) -> str:
        return text_of(await functions["sell_pet"].invoke(arguments={"petId": 7}, context=ctx))

    model = Model([("sly", {})])
    await Agent(client=model, tools=[sly, *functions.values()]).run("Go.")

    assert model.texts == [DENIED]
    assert recorder.requests == []


async def test_a_tool_that_no_longer_asks_is_not_approved_either(shop, recorder):
    shop.add_input_guardrails([require_approval()])
    function = by_name(shop)["sell_pet"]
    function.approval_mode = "never_require"
    model = Model(SELL)

    await Agent(client=model, tools=[function]).run("Go.")

    assert model.texts == [DENIED]
    assert recorder.requests == []


# What belongs to a call


async def test_each_run_brings_its_own_credentials(shop, recorder):
    async def by_kwargs(invocation):
        await asyncio.sleep(0)
        return {"credentials": {"key": invocation.kwargs["token"]}}

    agent, model = agent_of(shop, context=by_kwargs)

    async def run(token):
        model.turns.append([("get_pet", {"petId": 1})])
        await agent.run("Get.", function_invocation_kwargs={"token": token})

    await asyncio.gather(run("t-one"), run("t-two"))

    keys = sorted(request.header("X-Key") for request in recorder.requests)
    assert keys == ["t-one", "t-two"]
    assert "t-one" not in str([content.to_dict() for content in model.contents])


async def test_without_a_context_guardrails_see_the_frameworks(shop):
    seen = []
    shop.add_input_guardrails([lambda _, context: seen.append(context.state)])
    agent, _ = agent_of(shop, [("get_pet", {"petId": 7})])
    session = AgentSession()

    await agent.run("Get.", session=session, function_invocation_kwargs={"user": "ada"})

    (invocation,) = seen
    assert (invocation.function.name, invocation.arguments) == ("get_pet", {"petId": 7})
    assert invocation.kwargs["user"] == "ada"
    assert invocation.session is session


async def test_a_function_for_contexts_that_fails_ends_the_call_there(shop, recorder):
    def failing(_):
        raise LookupError("the vault of ada is locked")

    (text,) = await run_turns(shop, [("get_pet", {"petId": 7})], context=failing)

    assert "vault" not in text
    assert recorder.requests == []


# What the framework does with every function


async def test_the_framework_still_traces_every_call(shop, monkeypatch):
    from agent_framework import observability
    from opentelemetry.trace import NoOpTracer

    spans = []

    class Tracer(NoOpTracer):
        def start_as_current_span(self, name, *args, attributes=None, **options):
            spans.append((name, attributes))
            return super().start_as_current_span(name, *args, attributes=attributes, **options)

    monkeypatch.setattr(observability, "get_tracer", Tracer)
    await run_turns(shop, [("get_photo", {"petId": "lost"})], [("get_pet", {"petId": 1})])

    traced = [(name, facts["gen_ai.tool.call.id"]) for name, facts in spans if "tool" in name]
    assert traced == [("execute_tool get_photo", "c0"), ("execute_tool get_pet", "c0")]


async def test_a_limit_of_invocations_holds(shop, recorder):
    function = by_name(shop)["get_pet"]
    function.max_invocations = 2
    model = Model([("get_pet", {"petId": number}) for number in range(4)])

    await Agent(client=model, tools=[function]).run("Get.")

    assert len(recorder.requests) == function.invocation_count == 2


async def test_arguments_in_the_wrong_place_are_the_callers_fault(shop):
    function = by_name(shop)["get_pet"]

    with pytest.raises(TypeError, match="pet"):
        await function.invoke(pet=1)
    with pytest.raises(TypeError, match="positional"):
        await function(1)


async def test_secrets_stand_in_no_log(shop, caplog):
    with caplog.at_level(logging.DEBUG):
        await run_turns(shop, [("get_pet", {"petId": 1})])
        context = Context(credentials={"key": "t0ken"})
        await run_turns(shop, [("get_pet", {"petId": 1})], context=context)

    assert "get_pet" in caplog.text
    assert "everybody" not in caplog.text
    assert "t0ken" not in caplog.text
