"""Every tool of the published documents, as each coordinator tells its model."""

import json

import httpx
import pytest
from corpus import entries, parameters
from pet_shop import BIG, published_sources
from tools.handlers import load_with_handler

from openapi_tools import Settings, load_tools
from openapi_tools.testing import sample

pytestmark = [pytest.mark.long, pytest.mark.untraced]


@pytest.fixture(scope="module", params=published_sources(), ids=lambda path: path.name)
def toolset(request):
    """The tools of a document, told whole."""
    settings = {"base_url": "http://localhost", "definitions": "full", "definition_bytes": 0}
    return load_tools(request.param, settings=Settings(**settings))


def names_and_words(schema, definitions, open_):
    """Return the properties' names and the descriptions that a reader of a schema can reach."""
    if isinstance(schema, list):
        return {word for part in schema for word in names_and_words(part, definitions, open_)}
    if not isinstance(schema, dict):
        return set()
    words = set()
    name = schema.get("$ref")
    if isinstance(name, str) and name not in open_:
        target = definitions[name.removeprefix("#/$defs/")]
        beside = target if "description" not in schema else {**target, "description": ""}
        words |= names_and_words(beside, definitions, open_ | {name})
    for key, value in schema.items():
        if key == "description" and isinstance(value, str):
            words.add(value)
        elif key in ("properties", "patternProperties") and isinstance(value, dict):
            words |= set(value)
            words |= names_and_words(list(value.values()), definitions, open_)
        elif key in ("items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems"):
            words |= names_and_words(value, definitions, open_)
    return words


def test_langchain(toolset):
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    from langchain_core.utils.function_calling import convert_to_openai_tool

    from openapi_tools.contracts.langchain import to_structured_tools

    lost = {}
    for tool, structured in zip(toolset, to_structured_tools(toolset), strict=True):
        schema, definition = tool.input_schema, convert_to_openai_tool(structured)["function"]
        assert (definition["name"], definition["description"]) == (tool.name, tool.description)
        definition = definition["parameters"]
        assert '"$ref":' not in json.dumps(definition).replace(r'"^\\$ref$"', "")
        assert list(definition["properties"]) == list(schema["properties"])
        assert definition.get("required", []) == schema.get("required", [])
        expected = names_and_words(schema, schema.get("$defs", {}), frozenset()) - {"", "$ref"}
        if missing := expected - names_and_words(definition, {}, frozenset()):
            lost[tool.name] = sorted(missing)[:3]

    assert lost == {}


def schemas_of(toolset):
    """Return the schemas of definitions by the names of the tools."""
    functions = [definition["function"] for definition in toolset.definitions("openai")]
    return {function["name"]: function["parameters"] for function in functions}


def test_llama_index(toolset):
    pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
    from openapi_tools.contracts.llama_index import to_tools

    schemas = schemas_of(toolset)
    for tool, native in zip(toolset, to_tools(toolset), strict=True):
        definition = native.metadata.to_openai_tool()["function"]
        assert (definition["name"], definition["description"]) == (tool.name, tool.description)
        assert definition["parameters"] == schemas[tool.name]
        assert json.loads(native.metadata.fn_schema_str) == schemas[tool.name]
        definition["parameters"]["properties"].clear()
        assert native.metadata.get_parameters_dict() == schemas[tool.name]


def test_openai_agents(toolset):
    pytest.importorskip("agents", reason="openai-agents is not installed")
    from openapi_tools.contracts.openai_agents import to_function_tools

    schemas, strict = schemas_of(toolset), toolset.definitions("openai_strict")
    strict_schemas = {each["function"]["name"]: each["function"]["parameters"] for each in strict}
    for tool, native in zip(toolset, to_function_tools(toolset), strict=True):
        assert (native.name, native.description) == (tool.name, tool.description)
        expected = strict_schemas if native.strict_json_schema else schemas
        assert native.params_json_schema == expected[tool.name]


def test_google_adk(toolset):
    pytest.importorskip("google.adk", reason="google-adk is not installed")
    from openapi_tools.contracts.google_adk import to_tools

    expected = {each["name"]: each for each in toolset.definitions("gemini")}
    for tool, native in zip(toolset, to_tools(toolset), strict=True):
        declared = native._get_declaration().model_dump(exclude_none=True)
        assert declared == expected[tool.name]
        assert (native.name, native.description) == (tool.name, tool.description)


async def test_pydantic_ai(toolset):
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    from openapi_tools.contracts.pydantic_ai import to_tools

    before = {name: json.dumps(schema) for name, schema in schemas_of(toolset).items()}
    definitions = []

    def say(_messages, info):
        definitions.extend(info.function_tools)
        return ModelResponse([TextPart("Done.")])

    await Agent(FunctionModel(say), tools=to_tools(toolset)).run("Go.")

    assert {one.name: json.dumps(one.parameters_json_schema) for one in definitions} == before
    assert {one.name: one.description for one in definitions} == {
        t.name: t.description for t in toolset
    }


CHOSEN = parameters(entry for entry in entries() if entry.path.startswith(BIG))


def respond(_):
    """Respond with anything."""
    return httpx.Response(200, json={"a": [1, None]})


@pytest.mark.parametrize("entry", CHOSEN)
async def test_mcp_lists_every_tool_and_calls_each_third(entry):
    mcp = pytest.importorskip("mcp", reason="mcp is not installed")
    from mcp_api import client_of

    from openapi_tools.contracts.mcp import create_server

    toolset, _ = load_with_handler(entry.file, respond, settings={"anonymous": True})
    server, called, good = create_server(toolset), list(toolset)[::3], 0
    async with mcp.Client(server, mode="auto") as client:
        listed = await client.list_tools()
        async with client_of(server, "legacy") as other:
            assert (await other.list_tools()).tools == listed.tools
        assert len(listed.tools) == len(toolset) == entry.operations - len(toolset.skipped)
        assert listed.next_cursor is None
        defined = toolset.definitions("mcp")
        for tool, one, seen in zip(toolset, defined, listed.tools, strict=True):
            assert (seen.name, seen.description) == (tool.name, one["description"])
            assert seen.input_schema == one["inputSchema"] or len(json.dumps(one)) > 16_000
            definition = seen.model_dump(by_alias=True, exclude_none=True)
            assert len(json.dumps(definition)) <= 16_384
            assert definition["annotations"] == tool.annotations
            assert len(definition.get("title", "")) <= 60
        # Not every sample fits: what is refused is refused with the same words.
        for tool in called:
            arguments = sample(tool.input_schema, tool.input_schema)
            result = await client.call_tool(tool.name, arguments)
            direct = await tool.execute(arguments)
            assert [part.text for part in result.content] == [p.text for p in direct.as_content()]
            assert result.is_error is direct.is_error
            assert result.structured_content == (direct.output if direct.success else None)
            good += direct.success

    assert good > len(called) * 0.9
