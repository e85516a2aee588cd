"""The tools as Pydantic-AI's: with the real package, a scripted model and a server on loopback."""

import asyncio
import copy

import pytest
from conformance import Asking
from pet_shop import DOCUMENT, PHOTO, pet_response

from openapi_tools import Context, Select, load_tools, require_approval
from openapi_tools.contracts.pydantic_ai import to_tools
from openapi_tools.testing.conformance_tests import Seen

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")

from pydantic_ai import (
    Agent,
    BinaryImage,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessagesTypeAdapter,
)
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def call(name, call_id="1", /, **args):
    return ToolCallPart(name, args, call_id)


def script_model(*script):
    """Return a model that makes these calls, turn by turn."""
    left = list(script)

    def say(_messages, _info):
        return ModelResponse(left.pop(0) if left else [TextPart("Done.")])

    return FunctionModel(say)


def returned_texts(messages):
    """Return what the model read of its calls."""
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


async def run(toolset, *script, deps=None, **options):
    agent = Agent(script_model(*script), tools=to_tools(toolset, **options), deps_type=object)
    ended = await agent.run("Go.", deps=deps)
    return returned_texts(ended.all_messages())


class TestPydanticAI(Asking):
    def names(self, toolset):
        return [tool.name for tool in to_tools(toolset)]

    def asking(self, toolset, **options):
        return {tool.name for tool in to_tools(toolset, **options) if tool.requires_approval}

    async def run_until_asked(self, toolset, *calls, **options):
        turn = [call(name, str(n), **args) for n, (name, args) in enumerate(calls)]
        agent = approving(toolset, turn, **options)
        asked = await agent.run("Go.")
        waiting = asked.output.approvals

        async def answer(yes):
            parts = await grant(agent, asked, **{one.tool_call_id: yes for one in waiting})
            return [part.content for part in parts]

        return [one.tool_name for one in waiting], answer

    async def run_turns(self, toolset, *turns, **options):
        numbered = [
            [call(name, str(n), **args) for n, (name, args) in enumerate(turn)] for turn in turns
        ]
        parts = await run(toolset, *numbered, **options)
        expected = [(one.tool_name, one.tool_call_id) for turn in numbered for one in turn]
        assert [(part.tool_name, part.tool_call_id) for part in parts] == expected
        return list(map(self.read_result, parts))

    def read_result(self, part):
        content = part.content if isinstance(part.content, list) else [part.content]
        images = [one for one in content if isinstance(one, BinaryImage)]
        assert [image.media_type for image in images] == ["image/png"] * len(images)
        texts = [one for one in content if isinstance(one, str)]
        return Seen(texts, [image.data for image in images], part.outcome == "failed")


async def test_what_was_said_can_be_stored_and_read_again(shop, recorder):
    recorder.responses += [pet_response(3), PHOTO]
    script = [[call("get_pet", petId=3), call("get_photo", "2", petId=3)]]
    agent = Agent(script_model(*script), tools=to_tools(shop))

    messages = (await agent.run("Go.")).all_messages()
    stored = ModelMessagesTypeAdapter.dump_json(messages)

    again = returned_texts(ModelMessagesTypeAdapter.validate_json(stored))
    assert [part.content for part in again] == [part.content for part in returned_texts(messages)]
    assert again[0].metadata["status"] == 200


async def test_reads_run_beside_each_other_and_the_rest_alone(shop, recorder):
    calls = [call("get_pet", f"call_{number}", petId=number) for number in range(4)]
    running, most = 0, {}

    async def count(one, _context):
        nonlocal running
        running += 1
        await asyncio.sleep(0)
        most[one.name] = max(most.get(one.name, 0), running)
        running -= 1

    shop.add_input_guardrails([count])
    calls += [call("sell_pet", f"call_{number}", petId=number) for number in range(4, 8)]

    parts = await run(shop, calls)

    assert [part.tool_call_id for part in parts] == [f"call_{number}" for number in range(8)]
    assert most["get_pet"] > 1
    assert most["sell_pet"] == 1


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("[1]", "the arguments of a call must be an object, not list."),
        *((nothing, "/petId: missing required argument.") for nothing in ("null", "", None, {})),
        ('{"petId": 3', "the arguments of a call are not valid JSON: EOF while parsing an object"),
    ],
)
@pytest.mark.parametrize("approval", [False, True])
async def test_arguments_that_are_no_object_are_an_error_in_words_and_end_no_run(
    shop, recorder, args, words, approval
):
    recorder.response = pet_response(3)
    wrong = [[ToolCallPart("get_pet", args, "1")]] * 4
    rule = Select(names="get_pet") if approval else None

    *parts, right = await run(shop, *wrong, [call("get_photo", "2", petId=3)], approval=rule)

    assert [part.outcome for part in parts] == ["failed"] * 4
    assert all(part.content.startswith(words) for part in parts)
    assert (right.outcome, right.tool_call_id) == ("success", "2")
    assert len(recorder.requests) == 1


def approving(toolset, *script, **options):
    tools, outputs = to_tools(toolset, **options), [str, DeferredToolRequests]
    return Agent(script_model(*script), tools=tools, output_type=outputs, deps_type=object)


async def grant(agent, asked, **approvals):
    """Return what the model is told once the questions of a run are answered."""
    results = DeferredToolResults(approvals=approvals)
    ended = await agent.run(message_history=asked.all_messages(), deferred_tool_results=results)
    return returned_texts(ended.new_messages())


async def test_the_context_comes_from_the_run(shop, recorder):
    async def context(run):
        return Context(credentials={"key": run.deps})

    (part,) = await run(shop, [call("get_pet", petId=3)], deps="mine", context=context)

    assert recorder.last.header("X-Key") == "mine"
    assert part.metadata["status"] == 200


@pytest.mark.parametrize("says", [True, False])
async def test_a_context_that_approves_is_asked_and_the_run_goes_on(shop, recorder, says):
    asked = []
    context = Context(approve=lambda one: asked.append(one.arguments) or says)
    shop.add_input_guardrails([require_approval()])

    turns = [call("sell_pet", petId=3)], [call("get_pet", "2", petId=3)]
    sold, got = await run(shop, *turns, context=context)

    assert asked == [{"petId": 3}]
    assert (sold.outcome, got.outcome) == ("success" if says else "failed", "success")
    assert [request.method for request in recorder.requests] == ["DELETE"] * says + ["GET"]


@pytest.mark.parametrize("way", ["a rule", "a function whose context cannot approve"])
async def test_a_call_is_deferred_once_it_can_be_made(shop, recorder, way):
    if way == "a rule":
        options = {"approval": True}
    else:
        options = {"context": lambda run: Context(state=run)}
        shop.add_input_guardrails([require_approval()])
    wrong, right = [call("sell_pet", "1", petId="x")], [call("sell_pet", "2", petId=3)]
    agent = approving(shop, wrong, right, **options)

    asked = await agent.run("Go.")
    (refused,) = returned_texts(asked.all_messages())
    assert refused.content == "/petId: expected an integer, got 'x' (a string)."
    assert [part.tool_call_id for part in asked.output.approvals] == ["2"]
    assert recorder.requests == []

    (part,) = await grant(agent, asked, **{"2": True})
    assert part.outcome == "success"
    assert [request.target for request in recorder.requests] == ["/pets/3"]


async def test_a_question_about_call_tool_says_which_tool_it_calls(shop):
    shop.add_input_guardrails([require_approval()])
    arguments = {"name": "sell_pet", "arguments": {"petId": 3}}

    asked = await approving(shop.meta_tools(), [call("call_tool", **arguments)]).run("Go.")

    assert asked.output.metadata == {"1": {"tool": "sell_pet", "arguments": {"petId": 3}}}


async def test_guardrails_see_the_run_where_no_context_is_given(shop):
    seen = []
    shop.add_input_guardrails([lambda _, context: seen.append(context.state.deps)])

    await run(shop, [call("get_pet", petId=3)], deps="mine")

    assert seen == ["mine"]


async def test_a_call_that_nobody_approves_here_is_denied(shop, recorder):
    """A guardrail that was added after the tools had been made asks the context, or refuses."""
    functions = to_tools(shop)
    shop.add_input_guardrails([require_approval()])
    agent = Agent(script_model([call("sell_pet", petId=3)]), tools=functions)

    (part,) = returned_texts((await agent.run("Go.")).all_messages())

    assert part.content == "sell_pet needs approval, but approval is not configured."
    assert recorder.requests == []


def test_what_a_tool_is(shop):
    tools = {tool.name: tool for tool in to_tools(shop)}

    assert tools["get_pet"].metadata == {"annotations": shop["get_pet"].annotations}
    assert [tool.sequential for tool in tools.values()] == [False, True, False, True]


def test_what_clients_of_providers_make_of_a_schema_does_not_change_it():
    from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

    tool = load_tools(DOCUMENT)["add_pet"]
    before = copy.deepcopy(tool.input_schema)
    (function,) = to_tools([tool])

    walked = OpenAIJsonSchemaTransformer(function.function_schema.json_schema, strict=True).walk()

    assert walked != before
    assert tool.input_schema == before
