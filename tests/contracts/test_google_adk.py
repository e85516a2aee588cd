"""The tools as those of Google's Agent Development Kit: the real package and a scripted model."""

import itertools
import warnings

import corpus
import httpx
import pytest
from conformance import Asking
from documents import document
from pet_shop import pet_response
from tools.handlers import load_with_handler

from openapi_tools import Context, SettingsError, load_tools, require_approval
from openapi_tools.testing.conformance_tests import Seen

pytest.importorskip("google.adk", reason="google-adk is not installed")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # some of its features are experimental
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    from openapi_tools.contracts.google_adk import OperationToolset, to_tools

pytestmark = pytest.mark.filterwarnings("ignore")

CONFIRM = "adk_request_confirmation"


class Scripted(BaseLlm):
    """Makes these calls, turn by turn, and notes the declarations that it is given."""

    model: str = "scripted"
    left: list
    seen: list

    async def generate_content_async(self, llm_request, stream=False):
        tools = llm_request.config.tools or []
        self.seen.append([d for tool in tools for d in tool.function_declarations])
        parts = self.left.pop(0) if self.left else [types.Part(text="Done.")]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def call(name, call_id="1", /, **args):
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=args))


class Conversation:
    """A session of an agent."""

    def __init__(self, tools, *script):
        self.model = Scripted(left=list(script), seen=[])
        self.agent = LlmAgent(name="agent", model=self.model, tools=tools)
        self.runner = InMemoryRunner(agent=self.agent, app_name="app")
        self.session = None

    async def say(self, *parts, state=None):
        """Return the events of a turn of the user."""
        if self.session is None:
            service = self.runner.session_service
            self.session = await service.create_session(app_name="app", user_id="user", state=state)
        message = types.Content(role="user", parts=list(parts) or [types.Part(text="Go.")])
        events = self.runner.run_async(
            user_id="user", session_id=self.session.id, new_message=message
        )
        return [event async for event in events]


def responses(events):
    """Return what the model reads about its calls."""
    parts = [r for event in events for r in event.get_function_responses()]
    return [response for response in parts if response.name != CONFIRM]


def confirmations(events):
    return [c for event in events for c in event.get_function_calls() if c.name == CONFIRM]


def texts_of(response):
    value = response.response.get("result", response.response.get("error"))
    return value if isinstance(value, list) else [] if value is None else [value]


class TestGoogleADK(Asking):
    def names(self, toolset):
        return [tool.name for tool in to_tools(toolset)]

    def asking(self, toolset, *, approval=None, **options):
        tools = to_tools(toolset, require_confirmation=approval, **options)
        return {tool.name for tool in tools if tool.may_ask}

    async def run_until_asked(self, toolset, *calls, approval=None, **options):
        turn = [call(name, f"c{n}", **args) for n, (name, args) in enumerate(calls)]
        tools = to_tools(toolset, require_confirmation=approval, **options)
        conversation = Conversation(tools, turn)
        events = await conversation.say()
        waiting = confirmations(events)

        async def answer(yes):
            parts = [
                types.Part(
                    function_response=types.FunctionResponse(
                        id=each.id, name=CONFIRM, response={"confirmed": yes}
                    )
                )
                for each in waiting
            ]
            return [texts_of(r)[-1] for r in responses(await conversation.say(*parts))]

        return [each.args["originalFunctionCall"]["name"] for each in waiting], answer

    async def run_turns(self, toolset, *turns, **options):
        numbers = itertools.count()
        script = [
            [call(name, f"c{next(numbers)}", **args) for name, args in turn] for turn in turns
        ]
        events = await Conversation(to_tools(toolset, **options), *script).say()
        seen = responses(events)
        assert [r.id for r in seen] == [part.function_call.id for t in script for part in t]
        return list(map(self.read_result, seen))

    def read_result(self, response):
        blobs = [part.inline_data for part in response.parts or ()]
        assert [blob.mime_type for blob in blobs] == ["image/png"] * len(blobs)
        return Seen(texts_of(response), [blob.data for blob in blobs], "error" in response.response)


async def test_declarations_are_those_of_the_gemini_profile(shop):
    conversation = Conversation(to_tools(shop))
    await conversation.say()

    (declared,) = conversation.model.seen
    expected = {each["name"]: each for each in shop.definitions("gemini")}
    assert [each.name for each in declared] == list(expected)
    for each in declared:
        assert each.parameters_json_schema == expected[each.name]["parameters_json_schema"]
        assert each.response_json_schema is None


async def test_a_setting_declares_responses():
    schema = {"type": "array", "items": {"type": "integer"}}
    content = {"application/json": {"schema": schema}}
    get = {"operationId": "ids", "responses": {"200": {"description": "ok", "content": content}}}
    toolset, _ = load_with_handler(
        document({"/x": {"get": get}}),
        lambda _: httpx.Response(200, json=[1]),
        settings={"response_schemas": True},
    )
    conversation = Conversation(to_tools(toolset), [call("ids")])

    (response,) = responses(await conversation.say())

    ((declared,), *_) = conversation.model.seen
    assert response.response == {"result": [1]}
    assert declared.response_json_schema["anyOf"][0]["required"] == ["result"]


async def test_a_toolset_has_a_prefix_a_filter_and_a_life_cycle(shop, recorder):
    recorder.response = pet_response(3)
    toolset = OperationToolset(shop, tool_filter=["get_pet"], tool_name_prefix="shop")
    conversation = Conversation([toolset], [call("shop_get_pet", petId=3)])

    (response,) = responses(await conversation.say())

    assert '"name":"Rex"' in response.response["result"]
    assert [each.name for each in conversation.model.seen[0]] == ["shop_get_pet"]
    await conversation.runner.close()
    assert (await shop["get_pet"].execute({"petId": 3})).is_error


async def test_a_filter_may_be_a_function(shop):
    toolset = OperationToolset(shop, tool_filter=lambda tool, _: tool.name.startswith("sell"))

    assert [tool.name for tool in await toolset.get_tools()] == ["sell_pet"]


def test_a_wrong_rule_is_refused(shop):
    with pytest.raises(SettingsError, match="a rule is a Select or a function"):
        OperationToolset(shop, require_confirmation="sell_pet")


async def test_a_question_shows_the_call(shop):
    tools = to_tools(shop, require_confirmation=True)
    conversation = Conversation(tools, [call("sell_pet", petId=3)])

    (asked,) = confirmations(await conversation.say())

    hint = asked.args["toolConfirmation"]["hint"]
    assert hint.startswith("Call sell_pet (DELETE /pets/{petId})?")
    assert '"petId": 3' in hint


async def test_no_person_is_asked_about_invalid_arguments(shop, recorder):
    shop.add_input_guardrails([require_approval()])
    events = await Conversation(to_tools(shop), [call("sell_pet", petId="x")]).say()

    (response,) = responses(events)
    assert response.response == {"error": "/petId: expected an integer, got 'x' (a string)."}
    assert confirmations(events) == []
    assert recorder.requests == []


@pytest.mark.parametrize("says", [True, False])
async def test_a_context_that_approves_is_asked_and_the_run_goes_on(shop, recorder, says):
    asked = []
    context = Context(approve=lambda one: asked.append(one.arguments) or says)
    shop.add_input_guardrails([require_approval()])

    await Conversation(to_tools(shop, context=context), [call("sell_pet", petId=3)]).say()

    assert asked == [{"petId": 3}]
    assert [request.method for request in recorder.requests] == ["DELETE"] * says


async def test_the_context_comes_from_the_session(shop, recorder):
    async def context(run):
        return Context(credentials={"key": run.state["key"]})

    tools = to_tools(shop, context=context)
    await Conversation(tools, [call("get_pet", petId=3)]).say(state={"key": "mine"})

    assert recorder.last.header("X-Key") == "mine"


@pytest.mark.long
@pytest.mark.parametrize("entry", corpus.parameters(e for e in corpus.entries() if e.operations))
def test_every_tool_of_a_published_document_mounts(entry):
    toolset = corpus.toolset_of(entry)

    tools = to_tools(toolset)

    assert [tool.name for tool in tools] == [tool.name for tool in toolset]


def test_museums_tools_mount():
    toolset = load_tools("specs/museum.yaml")

    assert [tool.name for tool in to_tools(toolset)] == [tool.name for tool in toolset]
