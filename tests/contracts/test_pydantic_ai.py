"""The tools as Pydantic-AI's: with the real package, a scripted model and a server on loopback."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from pet_shop import ALBUM, DOCUMENT, NOT_FOUND, PHOTO, PNG, found, published, toolsets

from openapi_tools import (
    Context,
    Select,
    Settings,
    SettingsError,
    ToolResult,
    load_tools,
    require_approval,
)
from openapi_tools.contracts.pydantic_ai import to_tools

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")

from pydantic_ai import (
    Agent,
    BinaryImage,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessagesTypeAdapter,
)
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import ToolDenied

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic_ai.models.function import AgentInfo
    from servers.recorder import Recorder

    from openapi_tools import Toolset


@pytest.fixture(params=["loaded", "generated"])
def shop(request: pytest.FixtureRequest, recorder: Recorder, tmp_path: Path) -> Iterator[Toolset]:
    yield from toolsets(request.param, tmp_path, recorder.url)


def call(name: str, call_id: str = "1", /, **args: Any) -> ToolCallPart:
    return ToolCallPart(name, args, call_id)


def scripted(*script: Any) -> FunctionModel:
    """Return a model that says what the script says."""
    left = list(script)

    def say(_messages: Any, _info: AgentInfo) -> ModelResponse:
        said = left.pop(0)
        return ModelResponse([TextPart(said)] if isinstance(said, str) else said)

    return FunctionModel(say)


def returned(messages: Any) -> list[ToolReturnPart]:
    """Return what the model was told of its calls."""
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


async def run(toolset: Any, *script: Any, deps: Any = None, **options: Any) -> list[ToolReturnPart]:
    agent = Agent(scripted(*script), tools=to_tools(toolset, **options), deps_type=object)
    ended = await agent.run("Go.", deps=deps)
    return returned(ended.all_messages())


async def test_an_agent_calls_corrects_itself_and_is_told_what_went_wrong(
    shop: Toolset, recorder: Recorder
) -> None:
    recorder.answers += [found(3), NOT_FOUND, PHOTO]

    refused, rex, missing, photo = await run(
        shop,
        [call("get_pet", petId="three")],
        [call("get_pet", "2", petId=3)],
        [call("get_pet", "3", petId=9)],
        [call("get_photo", "4", petId=3)],
        "Done.",
    )

    assert (refused.outcome, refused.tool_name, refused.tool_call_id) == ("failed", "get_pet", "1")
    assert refused.content == "/petId: expected an integer, got 'three' (a string)."
    assert (rex.outcome, rex.content) == ("success", '{"id": 3, "name": "Rex"}')
    assert (rex.tool_call_id, rex.metadata["status"]) == ("2", 200)
    assert missing.outcome == "failed"
    assert "404" in str(missing.content)
    assert "no pet 9" in missing.model_response_str()
    assert photo.content == BinaryImage(PNG, media_type="image/png")
    assert [file.media_type for file in photo.files] == ["image/png"]
    assert [request.target for request in recorder.requests] == [
        *("/pets/3", "/pets/9", "/pets/3/photo")
    ]


async def test_images_and_texts_are_items(shop: Toolset) -> None:
    shop.add_input_guardrails([lambda *_: ToolResult.ok(ALBUM)])

    (part,) = await run(shop, [call("get_pet", petId=3)], "Done.")

    assert part.content == [BinaryImage(PNG, media_type="image/png"), "Rex"]


async def test_failing_often_does_not_end_a_run(shop: Toolset, recorder: Recorder) -> None:
    recorder.answer = NOT_FOUND
    wrong = [[call("get_pet", petId="?")]] * 4
    missing = [[call("get_pet", petId=9)]] * 4

    parts = await run(shop, *wrong, *missing, "Done.")

    assert [part.outcome for part in parts] == ["failed"] * 8
    assert len(recorder.requests) == 4


async def test_what_was_said_can_be_stored_and_read_again(
    shop: Toolset, recorder: Recorder
) -> None:
    recorder.answers += [found(3), PHOTO]
    script = [[call("get_pet", petId=3), call("get_photo", "2", petId=3)], "Done."]
    agent = Agent(scripted(*script), tools=to_tools(shop))

    messages = (await agent.run("Go.")).all_messages()
    stored = ModelMessagesTypeAdapter.dump_json(messages)

    again = returned(ModelMessagesTypeAdapter.validate_json(stored))
    assert [part.content for part in again] == [part.content for part in returned(messages)]
    assert again[0].metadata["status"] == 200


async def test_reads_run_beside_each_other_and_the_rest_alone(
    shop: Toolset, recorder: Recorder
) -> None:
    calls = [call("get_pet", f"call_{number}", petId=number) for number in range(4)]
    running, most = 0, {}

    async def count(one: Any, _context: Any) -> None:
        nonlocal running
        running += 1
        await asyncio.sleep(0)
        most[one.name] = max(most.get(one.name, 0), running)
        running -= 1

    shop.add_input_guardrails([count])
    calls += [call("sell_pet", f"call_{number}", petId=number) for number in range(4, 8)]

    parts = await run(shop, calls, "Done.")

    assert [part.tool_call_id for part in parts] == [f"call_{number}" for number in range(8)]
    assert most["get_pet"] > 1
    assert most["sell_pet"] == 1


async def test_arguments_of_any_name_reach_the_tool(shop: Toolset, recorder: Recorder) -> None:
    config = {"$ref": "r", "config": "c", "run_manager": "m", "self": "s", "title": "t"}

    refused, _ = await run(
        shop,
        [call("get_pet", petId=3, self=1, ctx=2, run=3)],
        [call("add_pet", body={"name": "Rex", "config": config})],
        "Done.",
    )

    assert [line.partition(":")[0] for line in refused.content.splitlines()] == [
        *("/self", "/ctx", "/run")
    ]
    assert json.loads(recorder.last.body)["config"] == config


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("[1]", "the arguments of a call have to be an object, not list."),
        ("null", "/petId: required but not given."),
        ("3", "the arguments of a call have to be an object, not int."),
        ('{"petId": 3', "the arguments of a call are not valid JSON: EOF while parsing an object"),
        ('{"petId": NaN}', "the arguments of a call are not valid JSON: expected value"),
        ('"x"', "the arguments of a call have to be an object, not str."),
    ],
)
@pytest.mark.parametrize("approval", [False, True])
async def test_arguments_that_are_no_object_are_answered_in_words_and_end_no_run(
    shop: Toolset, recorder: Recorder, args: str, words: str, approval: bool
) -> None:
    recorder.answer = found(3)
    wrong = [[ToolCallPart("get_pet", args, "1")]] * 4
    rule = Select(names="get_pet") if approval else None

    *parts, right = await run(
        shop, *wrong, [call("get_photo", "2", petId=3)], "Done.", approval=rule
    )

    assert [part.outcome for part in parts] == ["failed"] * 4
    assert all(part.content.startswith(words) for part in parts)
    assert (right.outcome, right.tool_call_id) == ("success", "2")
    assert len(recorder.requests) == 1


@pytest.mark.parametrize("args", ["", None, {}])
async def test_no_arguments_at_all_are_none(shop: Toolset, recorder: Recorder, args: Any) -> None:
    (part,) = await run(shop, [ToolCallPart("get_pet", args, "1")], "Done.")

    assert part.content == "/petId: required but not given."


def approving(toolset: Any, *script: Any, **options: Any) -> Any:
    return Agent(
        scripted(*script),
        tools=to_tools(toolset, **options),
        output_type=[str, DeferredToolRequests],
        deps_type=object,
    )


async def test_approval_is_asked_and_what_is_granted_is_sent(
    shop: Toolset, recorder: Recorder
) -> None:
    shop.add_input_guardrails([require_approval()])
    calls = [call("sell_pet", "a", petId=3), call("sell_pet", "b", petId=4)]
    agent = approving(shop, [*calls, call("get_pet", "c", petId=3)], "Done.")

    asked = await agent.run("Go.")

    assert [part.tool_call_id for part in asked.output.approvals] == ["a", "b"]
    assert [request.method for request in recorder.requests] == ["GET"]

    answers = DeferredToolResults(approvals={"a": True, "b": ToolDenied("Rex stays.")})
    ended = await agent.run(message_history=asked.all_messages(), deferred_tool_results=answers)

    parts = {part.tool_call_id: part for part in returned(ended.new_messages())}
    assert (parts["a"].outcome, parts["b"].outcome) == ("success", "denied")
    assert [(one.method, one.target) for one in recorder.requests[1:]] == [("DELETE", "/pets/3")]


async def test_nobody_is_asked_about_a_call_that_cannot_be_made(
    shop: Toolset, recorder: Recorder
) -> None:
    wrong, right = [call("sell_pet", "1", petId="x")], [call("sell_pet", "2", petId=3)]
    agent = approving(shop, wrong, right, approval=True)

    asked = await agent.run("Go.")

    (refused,) = returned(asked.all_messages())
    assert refused.content == "/petId: expected an integer, got 'x' (a string)."
    assert [part.tool_call_id for part in asked.output.approvals] == ["2"]
    assert recorder.requests == []


async def test_which_tools_need_approval(shop: Toolset) -> None:
    shop["add_pet"].add_input_guardrails([require_approval()])

    def asking(**options: Any) -> list[str]:
        return [tool.name for tool in to_tools(shop, **options) if tool.requires_approval]

    assert asking() == ["add_pet"]
    assert asking(approval=Select(methods="DELETE")) == ["sell_pet", "add_pet"]
    assert asking(approval=lambda tool: tool.read_only) == ["get_pet", "get_photo", "add_pet"]
    assert asking(approval=True) == [tool.name for tool in shop]
    with pytest.raises(SettingsError, match="a rule is"):
        to_tools(shop, approval="DELETE")  # type: ignore[arg-type] # what is wrong


async def test_the_context_comes_from_the_run(shop: Toolset, recorder: Recorder) -> None:
    async def context(run: Any) -> Context:
        return Context(credentials={"key": run.deps})

    await run(shop, [call("get_pet", petId=3)], "Done.", deps="mine", context=context)
    await run(shop, [call("get_pet", petId=3)], "Done.", context={"credentials": {"key": "yours"}})
    await run(shop, [call("get_pet", petId=3)], "Done.")

    sent = [request.header("X-Key") for request in recorder.requests]
    assert sent == ["mine", "yours", "everybody"]


class Mine:
    """A context of somebody's own."""

    credentials = {"key": "mine"}  # noqa: RUF012 -- nobody changes it
    shop = "Rex & Co"


@pytest.mark.parametrize("context", [Mine(), {"credentials": {"key": "mine"}, "shop": "Rex & Co"}])
async def test_approval_leaves_the_rest_of_a_context_as_it_is(
    shop: Toolset, recorder: Recorder, context: Any
) -> None:
    seen = []
    shop.add_input_guardrails(
        [lambda _, given: seen.append(given.shop if given is not context else given)]
        if isinstance(context, Mine)
        else [lambda _, given: seen.append(given["shop"])]
    )
    shop.add_input_guardrails([require_approval()])
    agent = approving(shop, [call("sell_pet", "a", petId=3)], "Done.", context=context)

    asked = await agent.run("Go.")
    answers = DeferredToolResults(approvals={"a": True})
    await agent.run(message_history=asked.all_messages(), deferred_tool_results=answers)

    assert seen == ["Rex & Co"]
    assert recorder.last.header("X-Key") == "mine"


@pytest.mark.parametrize(("approve", "outcome"), [(None, "failed"), (lambda _: True, "success")])
async def test_what_guardrails_changed_since_was_not_approved(
    shop: Toolset, recorder: Recorder, approve: Any, outcome: str
) -> None:
    shop.add_input_guardrails([lambda *_: {"petId": 4}, require_approval()])
    script = [call("sell_pet", "a", petId=3)], "Done."
    agent = approving(shop, *script, context=Context(approve=approve), approval=True)

    asked = await agent.run("Go.")
    answers = DeferredToolResults(approvals={"a": True})
    ended = await agent.run(message_history=asked.all_messages(), deferred_tool_results=answers)

    (part,) = returned(ended.new_messages())
    assert part.outcome == outcome
    assert [request.target for request in recorder.requests] == ["/pets/4"] * (approve is not None)


@pytest.mark.parametrize("says", [True, False])
@pytest.mark.parametrize("way", ["one for all", "a mapping", "a function", "an async function"])
async def test_a_context_that_approves_is_asked_and_the_run_goes_on(
    shop: Toolset, recorder: Recorder, way: str, says: bool
) -> None:
    asked: list[Any] = []
    mine = Context(approve=lambda call: asked.append(call.arguments) or says)

    async def later(_run: Any) -> Context:
        return mine

    contexts = {
        "one for all": mine,
        "a mapping": {"approve": mine.approve},
        "a function": lambda _run: mine,
        "an async function": later,
    }
    shop.add_input_guardrails([require_approval()])

    sold, got = await run(
        shop,
        [call("sell_pet", petId=3)],
        [call("get_pet", "2", petId=3)],
        "Done.",
        context=contexts[way],
    )

    assert asked == [{"petId": 3}]
    assert (sold.outcome, got.outcome) == ("success" if says else "failed", "success")
    assert [request.method for request in recorder.requests] == ["DELETE"] * says + ["GET"]


async def test_a_function_whose_context_cannot_approve_defers_the_call(
    shop: Toolset, recorder: Recorder
) -> None:
    shop.add_input_guardrails([require_approval()])
    wrong, right = [call("sell_pet", "1", petId="x")], [call("sell_pet", "2", petId=3)]
    agent = approving(shop, wrong, right, "Done.", context=lambda run: Context(state=run))

    asked = await agent.run("Go.")
    (refused,) = returned(asked.all_messages())
    assert refused.content == "/petId: expected an integer, got 'x' (a string)."
    assert [part.tool_call_id for part in asked.output.approvals] == ["2"]
    assert recorder.requests == []

    answers = DeferredToolResults(approvals={"2": True})
    ended = await agent.run(message_history=asked.all_messages(), deferred_tool_results=answers)
    assert [part.outcome for part in returned(ended.new_messages())] == ["success"]
    assert [request.target for request in recorder.requests] == ["/pets/3"]


async def test_guardrails_see_the_run_where_no_context_is_given(shop: Toolset) -> None:
    seen = []
    shop.add_input_guardrails([lambda _, context: seen.append(context.state.deps)])

    await run(shop, [call("get_pet", petId=3)], "Done.", deps="mine")

    assert seen == ["mine"]


async def test_a_call_that_nobody_approves_here_is_denied(
    shop: Toolset, recorder: Recorder
) -> None:
    """A guardrail that was added after the tools had been made asks the context, or refuses."""
    made = to_tools(shop)
    shop.add_input_guardrails([require_approval()])
    agent = Agent(scripted([call("sell_pet", petId=3)], "Done."), tools=made)

    (part,) = returned((await agent.run("Go.")).all_messages())

    assert part.content == "sell_pet needs approval, but approval is not configured."
    assert recorder.requests == []


async def test_an_unknown_tool_is_pydantic_ais_to_tell(shop: Toolset) -> None:
    with pytest.raises(UnexpectedModelBehavior, match="exceeded max retries"):
        await run(shop, [call("get_cat")], [call("get_cat")], "Done.")


def test_what_a_tool_is(shop: Toolset) -> None:
    tools = {tool.name: tool for tool in to_tools(shop)}

    assert list(tools) == ["get_pet", "sell_pet", "get_photo", "add_pet"]
    assert tools["get_pet"].metadata == {"annotations": shop["get_pet"].annotations}
    assert [tool.sequential for tool in tools.values()] == [False, True, False, True]
    assert [tool.name for tool in to_tools([shop["sell_pet"]])] == ["sell_pet"]


@pytest.mark.long
@pytest.mark.parametrize("source", published(), ids=lambda path: path.name)
async def test_every_tool_of_published_documents_reaches_the_model_as_it_is(source: Path) -> None:
    toolset = load_tools(source, settings=Settings(base_url="http://localhost"))
    before = {tool.name: copy.deepcopy(tool.input_schema) for tool in toolset}
    told = []

    def say(_messages: Any, info: AgentInfo) -> ModelResponse:
        told.extend(info.function_tools)
        return ModelResponse([TextPart("Done.")])

    await Agent(FunctionModel(say), tools=to_tools(toolset)).run("Go.")

    assert {one.name: one.parameters_json_schema for one in told} == before
    assert {one.name: one.description for one in told} == {
        tool.name: tool.description for tool in toolset
    }


def test_what_clients_of_providers_make_of_a_schema_does_not_change_it() -> None:
    from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

    tool = load_tools(DOCUMENT)["add_pet"]
    before = copy.deepcopy(tool.input_schema)
    (made,) = to_tools([tool])

    walked = OpenAIJsonSchemaTransformer(made.function_schema.json_schema, strict=True).walk()

    assert walked != before
    assert tool.input_schema == before
