"""The tools as LlamaIndex's: with the real package, a scripted model and a server on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from pet_shop import ALBUM, DOCUMENT, NOT_FOUND, PHOTO, PNG, found, published, toolsets

from openapi_tools import Context, Settings, ToolResult, load_tools
from openapi_tools.contracts.llama_index import to_tools

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")

from llama_index.core.agent.workflow import FunctionAgent, ReActAgent, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.objects import SimpleToolNodeMapping
from llama_index.core.tools import FunctionTool
from llama_index.core.tools.calling import acall_tool, call_tool

# What LlamaIndex's agents look at, when they are made, are all their attributes, the old ones too.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from servers.recorder import Recorder

    from openapi_tools import Toolset


@pytest.fixture(params=["loaded", "generated"])
def shop(request: pytest.FixtureRequest, recorder: Recorder, tmp_path: Path) -> Iterator[Toolset]:
    yield from toolsets(request.param, tmp_path, recorder.url)


def call(name: str, call_id: str = "1", /, **args: Any) -> ToolCallBlock:
    return ToolCallBlock(tool_call_id=call_id, tool_name=name, tool_kwargs=args)


async def run(toolset: Any, *script: Any, **options: Any) -> tuple[list[Any], list[Any]]:
    """Run an agent; return what its tools gave, and the messages that the model saw at last."""
    left, seen = list(script), []

    def say(messages: Any, **_: Any) -> ChatMessage:
        seen[:] = messages
        said = left.pop(0)
        blocks = [TextBlock(text=said)] if isinstance(said, str) else said
        return ChatMessage(role="assistant", blocks=blocks)

    model = MockFunctionCallingLLM(response_generator=say, is_chat_model=True)
    agent = FunctionAgent(tools=to_tools(toolset, **options), llm=model, streaming=False)
    handler = agent.run(user_msg="Go.")
    results = [
        event async for event in handler.stream_events() if isinstance(event, ToolCallResult)
    ]
    await handler
    return results, [message for message in seen if message.role == "tool"]


async def test_an_agent_calls_corrects_itself_and_is_told_what_went_wrong(
    shop: Toolset, recorder: Recorder
) -> None:
    recorder.answers += [found(3), NOT_FOUND, PHOTO]

    results, messages = await run(
        shop,
        [call("get_pet", petId="three")],
        [call("get_pet", "2", petId=3)],
        [call("get_pet", "3", petId=9)],
        [call("get_photo", "4", petId=3)],
        "Done.",
    )

    refused, rex, missing, photo = (result.tool_output for result in results)
    assert [message.blocks for message in messages] == [
        one.blocks for one in (refused, rex, missing, photo)
    ]
    assert [message.additional_kwargs["tool_call_id"] for message in messages] == [*"1234"]
    assert refused.is_error
    assert refused.content == "/petId: expected an integer, got 'three' (a string)."
    assert not rex.is_error
    assert json.loads(rex.content) == {"id": 3, "name": "Rex"}
    assert isinstance(rex.raw_output, ToolResult)
    assert rex.raw_output.metadata["status"] == 200
    assert rex.raw_input == {"args": (), "kwargs": {"petId": 3}}
    assert missing.is_error
    assert missing.raw_output.error["status"] == 404
    assert "no pet 9" in missing.content
    (block,) = photo.blocks
    assert isinstance(block, ImageBlock)
    assert block.image_mimetype == "image/png"
    assert block.image == base64.b64encode(PNG)
    assert [request.target for request in recorder.requests] == [
        *("/pets/3", "/pets/9", "/pets/3/photo")
    ]


async def test_images_and_texts_are_blocks(shop: Toolset) -> None:
    shop.add_input_guardrails([lambda *_: ToolResult.ok(ALBUM)])

    (result,), _ = await run(shop, [call("get_pet", petId=3)], "Done.")

    image, text = result.tool_output.blocks
    assert (image.image_mimetype, text.text) == ("image/png", "Rex")


async def test_calls_of_one_turn_are_all_answered(shop: Toolset, recorder: Recorder) -> None:
    recorder.answer = found(1)
    calls = [call("get_pet", f"call_{number}", petId=number) for number in range(8)]

    results, messages = await run(shop, calls, "Done.")

    assert len(messages) == 8
    assert {result.tool_id: result.tool_kwargs for result in results} == {
        f"call_{number}": {"petId": number} for number in range(8)
    }
    assert sorted(request.target for request in recorder.requests) == [
        f"/pets/{number}" for number in range(8)
    ]


async def test_arguments_of_any_name_reach_the_tool(shop: Toolset, recorder: Recorder) -> None:
    config = {"$ref": "r", "config": "c", "run_manager": "m", "self": "s", "title": "t"}

    (refused, _), _ = await run(
        shop,
        [call("get_pet", petId=3, self=1, ctx=2)],
        [call("add_pet", body={"name": "Rex", "config": config})],
        "Done.",
    )

    lines = refused.tool_output.content.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["/self", "/ctx"]
    assert json.loads(recorder.last.body)["config"] == config


async def test_the_context_of_a_call(shop: Toolset, recorder: Recorder) -> None:
    async def context() -> Context:
        return Context(credentials={"key": "mine"})

    await run(shop, [call("get_pet", petId=3)], "Done.", context=context)
    await run(shop, [call("get_pet", petId=3)], "Done.", context={"credentials": {"key": "yours"}})
    await run(shop, [call("get_pet", petId=3)], "Done.")

    sent = [request.header("X-Key") for request in recorder.requests]
    assert sent == ["mine", "yours", "everybody"]


async def test_a_tool_is_called_without_an_agent(shop: Toolset, recorder: Recorder) -> None:
    recorder.answer = found(3)
    (tool, *_) = to_tools(shop)
    tool.partial_params = {"petId": 3}

    outputs = [
        await tool.acall(),
        await asyncio.to_thread(tool.call),
        await asyncio.to_thread(tool),
        await asyncio.to_thread(call_tool, tool, {"petId": 3}),
        await acall_tool(tool, {"petId": 3}),
    ]

    assert [output.raw_output.output["id"] for output in outputs] == [3] * 5


async def test_call_works_beside_a_running_event_loop(shop: Toolset) -> None:
    shop.add_input_guardrails([lambda one, _: ToolResult.ok(one.arguments)])
    (tool, *_) = to_tools(shop)

    assert tool.call(petId=3).raw_output.output == {"petId": 3}


def test_what_a_tool_is(shop: Toolset) -> None:
    made = {tool.metadata.name: tool for tool in to_tools(shop)}

    assert list(made) == ["get_pet", "sell_pet", "get_photo", "add_pet"]
    assert all(isinstance(tool, FunctionTool) for tool in made.values())
    assert [tool.metadata.name for tool in to_tools([shop["sell_pet"]])] == ["sell_pet"]


def test_what_an_agent_that_reads_text_is_told() -> None:
    toolset = load_tools(DOCUMENT)
    agent = ReActAgent(tools=to_tools(toolset), llm=MockFunctionCallingLLM())

    (message,) = agent.formatter.format(agent.tools, [])

    for tool in toolset:
        assert f"Tool Name: {tool.name}\n" in message.content
        assert f"Tool Args: {json.dumps(tool.input_schema)}\n" in message.content


def test_tools_can_be_searched_for() -> None:
    toolset = load_tools(DOCUMENT)
    mapping = SimpleToolNodeMapping.from_objects(to_tools(toolset))

    text = mapping.to_node(to_tools(toolset)[3]).get_content()

    assert f"Tool schema: {toolset['add_pet'].input_schema}" in text


@pytest.mark.long
@pytest.mark.parametrize("source", published(), ids=lambda path: path.name)
def test_every_tool_of_published_documents_is_told_whole(source: Path) -> None:
    toolset = load_tools(source, settings=Settings(base_url="http://localhost"))

    for tool, made in zip(toolset, to_tools(toolset), strict=True):
        definition = made.metadata.to_openai_tool()
        assert definition["function"] == {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
        }
        assert json.loads(made.metadata.fn_schema_str) == tool.input_schema
        definition["function"]["parameters"]["properties"].clear()
        assert made.metadata.get_parameters_dict() == tool.input_schema
