"""The tools as the OpenAI Agents SDK's: with the real package, a scripted model and a server."""

import base64
import itertools
import json

import corpus
import pytest
from conformance import Asking
from pet_shop import pet_response

from openapi_tools import Context, load_tools, require_approval
from openapi_tools.testing.conformance_tests import Seen

pytest.importorskip("agents", reason="openai-agents is not installed")

from agents import Agent, ItemHelpers, Model, ModelResponse, RunConfig, Runner, Usage
from agents.items import ToolCallOutputItem
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from openapi_tools.contracts.openai_agents import to_function_tools

CONFIG = RunConfig(tracing_disabled=True)


def call(name, call_id="1", arguments=None):
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return ResponseFunctionToolCall(
        type="function_call", name=name, call_id=call_id, arguments=text
    )


def final_message():
    part = ResponseOutputText(type="output_text", text="Done.", annotations=[])
    return ResponseOutputMessage(
        id="msg", type="message", role="assistant", status="completed", content=[part]
    )


class Scripted(Model):
    """Makes these calls, turn by turn."""

    def __init__(self, *script):
        self.left = list(script)

    async def get_response(self, *_args, **_options):
        output = self.left.pop(0) if self.left else [final_message()]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_args, **_options):
        raise NotImplementedError


def agent_of(toolset, *script, **options):
    return Agent(name="agent", model=Scripted(*script), tools=to_function_tools(toolset, **options))


def outputs(result):
    """Return the items that the model reads about its calls."""
    return [item for item in result.new_items if isinstance(item, ToolCallOutputItem)]


async def run(toolset, *script, deps=None, **options):
    agent = agent_of(toolset, *script, **options)
    return outputs(await Runner.run(agent, "Go.", context=deps, run_config=CONFIG, max_turns=99))


def texts_of(item):
    output = item.raw_item["output"]
    return [output] if isinstance(output, str) else [
        part["text"] for part in output if part["type"] == "input_text"
    ]  # fmt: skip


class TestOpenAIAgents(Asking):
    def names(self, toolset):
        return [tool.name for tool in to_function_tools(toolset)]

    def asking(self, toolset, **options):
        tools = to_function_tools(toolset, **options)
        return {tool.name for tool in tools if tool.needs_approval is not False}

    async def run_until_asked(self, toolset, *calls, **options):
        turn = [call(name, str(n), arguments) for n, (name, arguments) in enumerate(calls)]
        agent = agent_of(toolset, turn, **options)
        result = await Runner.run(agent, "Go.", run_config=CONFIG)
        waiting = result.interruptions

        async def answer(yes):
            state = result.to_state()
            for item in waiting:
                state.approve(item) if yes else state.reject(item)
            resumed = await Runner.run(agent, state, run_config=CONFIG)
            return [texts_of(item)[-1] for item in outputs(resumed)]

        return [item.name for item in waiting], answer

    async def run_turns(self, toolset, *turns, **options):
        # The SDK refuses a second call with the same id.
        numbers = itertools.count()
        script = [[call(name, str(next(numbers)), args) for name, args in turn] for turn in turns]
        items = await run(toolset, *script, **options)
        call_ids = [one.call_id for turn in script for one in turn]
        assert [item.raw_item["call_id"] for item in items] == call_ids
        return list(map(self.read_result, items))

    def read_result(self, item):
        output = item.raw_item["output"]
        parts = [] if isinstance(output, str) else output
        urls = [part["image_url"] for part in parts if part["type"] == "input_image"]
        prefix = "data:image/png;base64,"
        images = [base64.b64decode(url.removeprefix(prefix), validate=True) for url in urls]
        return Seen(texts_of(item), images, None)


async def test_a_strict_definition_is_used_where_the_sdk_takes_it(shop):
    tools = {tool.name: tool for tool in to_function_tools(shop)}

    assert tools["get_pet"].strict_json_schema
    assert tools["get_pet"].params_json_schema["required"] == ["petId"]


async def test_a_null_for_an_optional_argument_is_not_sent(recorder):
    parameter = {"name": "q", "in": "query", "schema": {"type": "string"}}
    paths = {"/x": {"get": {"operationId": "find", "parameters": [parameter], "responses": {}}}}
    document = {"openapi": "3.1.1", "info": {"title": "t", "version": "1"}, "paths": paths}
    async with load_tools(document, base_url=recorder.url) as toolset:
        await run(toolset, [call("find", arguments={"q": None})])

    assert recorder.last.target == "/x"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("[1]", "the arguments of a call must be an object, not list."),
        ("", "/petId: missing required argument."),
        ('{"petId": 3', "the arguments of a call are not valid JSON: EOF while parsing an object"),
    ],
)
async def test_arguments_that_are_no_object_are_an_error_in_words(shop, arguments, words):
    (item,) = await run(shop, [call("get_pet", "1", arguments)])

    assert texts_of(item)[0].startswith(words)


async def test_the_context_comes_from_the_run(shop, recorder):
    async def context(run):
        return Context(credentials={"key": run.context})

    await run(shop, [call("get_pet", arguments={"petId": 3})], deps="mine", context=context)

    assert recorder.last.header("X-Key") == "mine"


@pytest.mark.parametrize("says", [True, False])
async def test_a_context_that_approves_is_asked_and_the_run_goes_on(shop, recorder, says):
    asked = []
    context = Context(approve=lambda one: asked.append(one.arguments) or says)
    shop.add_input_guardrails([require_approval()])

    await run(shop, [call("sell_pet", arguments={"petId": 3})], context=context)

    assert asked == [{"petId": 3}]
    assert [request.method for request in recorder.requests] == ["DELETE"] * says


async def test_no_person_is_asked_about_invalid_arguments(shop, recorder):
    shop.add_input_guardrails([require_approval()])

    (item,) = await run(shop, [call("sell_pet", arguments={"petId": "x"})])

    assert texts_of(item) == ["/petId: expected an integer, got 'x' (a string)."]
    assert recorder.requests == []


async def test_a_model_corrects_itself_and_the_run_ends_with_its_words(shop, recorder):
    recorder.response = pet_response(3)
    script = [call("get_pet", "1", {"petId": "x"})], [call("get_pet", "2", {"petId": 3})]

    result = await Runner.run(agent_of(shop, *script), "Go.", run_config=CONFIG)

    assert result.final_output == "Done."
    assert ItemHelpers.text_message_outputs(result.new_items) == "Done."
    assert [request.target for request in recorder.requests] == ["/pets/3"]


@pytest.mark.long
@pytest.mark.parametrize("entry", corpus.parameters(e for e in corpus.entries() if e.operations))
def test_every_tool_of_a_published_document_mounts(entry):
    toolset = corpus.toolset_of(entry)

    tools = to_function_tools(toolset)

    assert [tool.name for tool in tools] == [tool.name for tool in toolset]
