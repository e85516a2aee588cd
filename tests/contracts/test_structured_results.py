"""Results by declared schemas: what MCP's clients and Pydantic-AI accept and read."""

import httpx
import pytest
from documents import document, operation
from tools.handlers import load_with_handler

from openapi_tools.contracts.mcp import create_server

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import Client
from mcp_api import COMMAND, MODES, Api, write_document

PET = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
PNG = b"\x89PNG\r\n\x1a\n"


def operation_returning(schema, *, kind="application/json"):
    content = {kind: {"schema": schema}}
    return operation(responses={"200": {"description": "ok", "content": content}})


DOCUMENT = document(
    {
        "/pet": {"get": {**operation_returning(PET), "operationId": "get_pet"}},
        "/pets": {
            "get": {**operation_returning({"type": "array", "items": PET}), "operationId": "pets"}
        },
        "/vague": {"get": {**operation(), "operationId": "vague"}},
    }
)
RESPONSES = {
    "the documented object": ("get_pet", httpx.Response(200, json={"id": 1}), {"id": 1}),
    "another object": ("get_pet", httpx.Response(200, json={"ID": "x"}), {"ID": "x"}),
    "a list in place of an object": (
        *("get_pet", httpx.Response(200, json=[1])),
        {"result": [1]},
    ),
    "a list": ("pets", httpx.Response(200, json=[{"id": 1}]), {"result": [{"id": 1}]}),
    "a list with a next page": (
        "pets",
        httpx.Response(200, json=[], headers={"link": '</v1/pets?page=2>; rel="next"'}),
        {"result": []},
    ),
    "a string": ("vague", httpx.Response(200, text="fine"), {"result": "fine"}),
    "nothing": ("vague", httpx.Response(204), {"result": None}),
    "an image": (
        *("vague", httpx.Response(200, content=PNG, headers={"content-type": "image/png"})),
        {"result": "[image: image/png, 8 bytes]"},
    ),
}  # fmt: skip


def pets(response, **settings):
    toolset, _ = load_with_handler(DOCUMENT, lambda _: response, settings=settings)
    return toolset


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "response", "structured"), RESPONSES.values(), ids=RESPONSES)
async def test_the_sdk_accepts_every_response(mode, name, response, structured):
    server = create_server(pets(response, response_schemas=True))

    async with Client(server, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        result = await client.call_tool(name, {})  # which raises for a result that does not fit

    assert tools[name].output_schema["type"] == "object"
    assert not result.is_error
    note = result.structured_content.pop("note", "")
    assert result.structured_content == structured
    assert bool(note) is ("link" in response.headers)


@pytest.mark.parametrize("mode", MODES)
async def test_an_error_needs_no_structure(mode):
    server = create_server(pets(httpx.Response(404, json={"id": "x"}), response_schemas=True))

    async with Client(server, mode=mode) as client:
        await client.list_tools()
        result = await client.call_tool("get_pet", {})

    assert result.is_error
    assert result.structured_content is None


async def test_no_schema_is_declared_unless_it_is_asked_for():
    server = create_server(pets(httpx.Response(200, json=[1])))

    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        result = await client.call_tool("pets", {})

    assert [tool.output_schema for tool in tools] == [None] * 3
    assert result.structured_content is None


async def test_fastmcps_client_reads_what_serve_declares(tmp_path):
    fastmcp = pytest.importorskip("fastmcp", reason="fastmcp is not installed")
    transports = pytest.importorskip("fastmcp.client.transports", reason="no fastmcp")
    async with Api() as api:
        options = ["--base-url", api.url, "--response-schemas"]
        command, *arguments = [*COMMAND, "serve", write_document(tmp_path), *options]
        server = transports.StdioTransport(command=command, args=arguments)
        async with fastmcp.Client(server) as client:
            schemas = {tool.name: tool.output_schema for tool in await client.list_tools()}
            result = await client.call_tool("list_pets", {})

    assert schemas["list_pets"] == {"type": "object"}
    assert result.structured_content == {"result": [{"id": 1}, {"id": 2}]}


async def test_pydantic_ai_returns_what_its_schema_declares():
    pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from openapi_tools.contracts.pydantic_ai import to_tools

    script = [ToolCallPart("pets", {}, "1"), TextPart("Done.")]
    descriptions = []

    def say(_messages, info):
        descriptions.append({tool.name: tool.description for tool in info.function_tools})
        return ModelResponse([script.pop(0)])

    toolset = pets(httpx.Response(200, json=[{"id": 1}]), response_schemas=True)
    agent = pydantic_ai.Agent(
        FunctionModel(say),  # it reads no schemas, so that they are in the descriptions
        tools=to_tools(toolset),
        capabilities=[pydantic_ai.capabilities.IncludeToolReturnSchemas()],
    )
    ended = await agent.run("Go.")

    (returned,) = [p for m in ended.all_messages() for p in m.parts if p.part_kind == "tool-return"]
    assert returned.content == {"result": [{"id": 1}]}
    assert '"result"' in descriptions[0]["pets"]


async def test_pydantic_ai_gets_an_image_as_an_image():
    pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from openapi_tools.contracts.pydantic_ai import to_tools

    script = [ToolCallPart("vague", {}, "1"), TextPart("Done.")]
    image = httpx.Response(200, content=PNG, headers={"content-type": "image/png"})
    toolset = pets(image, response_schemas=True)
    model = FunctionModel(lambda _messages, _info: ModelResponse([script.pop(0)]))
    ended = await pydantic_ai.Agent(model, tools=to_tools(toolset)).run("Go.")

    (returned,) = [p for m in ended.all_messages() for p in m.parts if p.part_kind == "tool-return"]
    assert returned.content.data == PNG
