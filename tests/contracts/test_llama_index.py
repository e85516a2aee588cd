"""The tools as LlamaIndex's: with the real package, a scripted model and a server on loopback."""

import asyncio
import base64
import json

import pytest
from conformance import Conformance
from pet_shop import DOCUMENT

from openapi_tools import ToolResult, load_tools
from openapi_tools.contracts.llama_index import to_tools
from openapi_tools.testing.conformance_tests import Seen

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")

from llama_index.core.agent.workflow import FunctionAgent, ReActAgent, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.objects import SimpleToolNodeMapping
from llama_index.core.tools import FunctionTool
from llama_index.core.tools.calling import acall_tool, call_tool

# What LlamaIndex's agents look at, when they are made, are all their attributes, the old ones too.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")


class TestLlamaIndex(Conformance):
    def names(self, toolset):
        functions = to_tools(toolset)
        assert all(isinstance(tool, FunctionTool) for tool in functions)
        return [tool.metadata.name for tool in functions]

    async def run_turns(self, toolset, *turns, **options):
        left = [
            [
                ToolCallBlock(tool_call_id=f"{turn}.{n}", tool_name=name, tool_kwargs=args)
                for n, (name, args) in enumerate(calls)
            ]
            for turn, calls in enumerate(turns)
        ]
        tool_messages = []

        def say(messages, **_):
            tool_messages[:] = [message for message in messages if message.role == "tool"]
            blocks = left.pop(0) if left else [TextBlock(text="Done.")]
            return ChatMessage(role="assistant", blocks=blocks)

        model = MockFunctionCallingLLM(response_generator=say, is_chat_model=True)
        agent = FunctionAgent(tools=to_tools(toolset, **options), llm=model, streaming=False)
        handler = agent.run(user_msg="Go.")
        try:
            events = [e async for e in handler.stream_events() if isinstance(e, ToolCallResult)]
            await handler
        except asyncio.CancelledError:
            await handler.cancel_run()
            raise
        events.sort(key=lambda event: event.tool_id)
        tool_messages.sort(key=lambda message: message.additional_kwargs["tool_call_id"])
        assert [message.blocks for message in tool_messages] == [
            e.tool_output.blocks for e in events
        ]
        return [self.read_result(event.tool_output) for event in events]

    def read_result(self, output):
        images = [block for block in output.blocks if isinstance(block, ImageBlock)]
        assert all(image.image_mimetype == "image/png" for image in images)
        assert output.raw_input["args"] == ()
        return Seen(
            [block.text for block in output.blocks if isinstance(block, TextBlock)],
            [base64.b64decode(image.image) for image in images],
            output.is_error,
            output.raw_output,
        )


async def test_a_tool_is_called_without_an_agent(shop):
    shop.add_input_guardrails([lambda one, _: ToolResult.ok(one.arguments)])
    (tool, *_) = to_tools(shop)
    tool.partial_params = {"petId": 3}

    outputs = [
        await tool.acall(),
        tool.call(),  # beside the running event loop
        await asyncio.to_thread(tool.call),
        await asyncio.to_thread(tool),
        await asyncio.to_thread(call_tool, tool, {"petId": 3}),
        await acall_tool(tool, {"petId": 3}),
    ]

    assert [output.raw_output.output for output in outputs] == [{"petId": 3}] * 6


def test_what_an_agent_that_reads_text_and_a_search_receive():
    toolset = load_tools(DOCUMENT)
    functions = to_tools(toolset)
    agent = ReActAgent(tools=functions, llm=MockFunctionCallingLLM())

    (message,) = agent.formatter.format(agent.tools, [])
    node = SimpleToolNodeMapping.from_objects(functions).to_node(functions[3])

    defined = {one["name"]: one["inputSchema"] for one in toolset.definitions("mcp")}
    assert f"Tool schema: {defined['add_pet']}" in node.get_content()
    for name, schema in defined.items():
        assert f"Tool Name: {name}\n" in message.content
        assert f"Tool Args: {json.dumps(schema)}\n" in message.content
