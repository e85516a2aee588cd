"""What only headers tell of an answer, as each coordinator shows it to a model."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from pet_shop import PNG, toolsets
from servers.recorder import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from servers.recorder import Recorder

    from openapi_tools import Toolset

NEXT = ("Link", "</pets?page=2>; rel=next")
OUTPUT = {"id": 7, "name": "Änne"}
TEXT = '{"id": 7, "name": "Änne"}'
NOTE = "Next page: /pets?page=2 (link)"
PAGE = Answer(headers=[("Content-Type", "application/json"), NEXT], body=TEXT.encode())
PICTURE = Answer(headers=[("Content-Type", "image/png"), NEXT], body=PNG)


@pytest.fixture(params=["loaded", "generated"])
def shop(request: pytest.FixtureRequest, recorder: Recorder, tmp_path: Path) -> Iterator[Toolset]:
    recorder.answer = PAGE
    yield from toolsets(request.param, tmp_path, recorder.url)


async def test_amplifier_shows_the_line_in_both_of_its_loops(
    shop: Toolset, recorder: Recorder
) -> None:
    pytest.importorskip("amplifier_core", reason="amplifier-core is not installed")
    from openapi_tools.contracts.amplifier import translated

    page = translated(await shop["get_pet"].execute({"petId": 7}))
    recorder.answer = PICTURE
    picture = translated(await shop["get_photo"].execute({"petId": 7}))

    assert (page.output, page.content) == (OUTPUT, None)
    assert str(page) == page.get_serialized_output() == page.model_dump() == f"{TEXT}\n\n{NOTE}"
    assert page.model_dump(mode="python")["output"] == OUTPUT
    assert str(picture) == picture.model_dump() == f"[image: image/png, 16 bytes]\n\n{NOTE}"
    assert [block.type for block in picture.content] == ["image", "text"]
    assert picture.content[1].text == NOTE


async def test_agent_framework_has_it_as_a_content(shop: Toolset) -> None:
    pytest.importorskip("agent_framework", reason="agent-framework-core is not installed")
    from openapi_tools.contracts.agent_framework import to_function_tools

    tool = next(tool for tool in to_function_tools(shop) if tool.name == "get_pet")
    contents = await tool.invoke(arguments={"petId": 7})

    assert [(content.type, content.text) for content in contents] == [
        ("text", TEXT),
        ("text", NOTE),
    ]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_mcp_has_it_as_a_content(shop: Toolset, mode: str) -> None:
    mcp = pytest.importorskip("mcp", reason="the package mcp is not installed")
    from openapi_tools.contracts.mcp import create_server

    async with mcp.Client(create_server(shop), mode=mode) as client:
        answer = await client.call_tool("get_pet", {"petId": 7})

    assert [content.text for content in answer.content] == [TEXT, NOTE]
    assert answer.structured_content == OUTPUT


async def test_langchain_has_it_as_a_block(shop: Toolset) -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    from openapi_tools.contracts.langchain import to_structured_tools

    tool = next(tool for tool in to_structured_tools(shop) if tool.name == "get_pet")
    call = {"type": "tool_call", "id": "1", "name": "get_pet", "args": {"petId": 7}}
    message = await tool.ainvoke(call)

    assert message.content == [{"type": "text", "text": TEXT}, {"type": "text", "text": NOTE}]
    assert message.artifact.output == OUTPUT


async def test_pydantic_ai_has_it_in_the_text_and_beside_an_image(
    shop: Toolset, recorder: Recorder
) -> None:
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    from pydantic_ai import Agent, BinaryImage
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from openapi_tools.contracts.pydantic_ai import to_tools

    recorder.answers += [PAGE, PICTURE]
    script = [
        [ToolCallPart("get_pet", {"petId": 7})],
        [ToolCallPart("get_photo", {"petId": 7})],
        [TextPart("Done.")],
    ]
    seen: list[Any] = []

    def say(messages: Any, _info: Any) -> ModelResponse:
        seen[:] = messages
        return ModelResponse(script.pop(0))

    await Agent(FunctionModel(say), tools=to_tools(shop)).run("Go.")

    page, picture = (m.parts[0].content for m in seen if m.parts[0].part_kind == "tool-return")
    assert page == f"{TEXT}\n\n{NOTE}"
    assert picture == [BinaryImage(PNG, media_type="image/png"), NOTE]


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
async def test_llama_index_has_it_as_a_block(shop: Toolset, recorder: Recorder) -> None:
    pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
    from openapi_tools.contracts.llama_index import to_tools

    tools = {tool.metadata.name: tool for tool in to_tools(shop)}
    page = await tools["get_pet"].acall(petId=7)
    recorder.answer = PICTURE
    picture = await tools["get_photo"].acall(petId=7)

    assert [block.text for block in page.blocks] == [TEXT, NOTE]
    assert base64.b64decode(picture.blocks[0].image) == PNG
    assert picture.blocks[1].text == NOTE


async def test_a_model_of_a_provider_reads_it_after_an_empty_line(shop: Toolset) -> None:
    call = {"id": "1", "type": "function"}
    call |= {"function": {"name": "get_pet", "arguments": json.dumps({"petId": 7})}}

    result = await shop.call(call)

    assert str(result) == f"{TEXT}\n\n{NOTE}"
