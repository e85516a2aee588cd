"""Every definition of the published documents, by the types of the providers' own packages."""

import asyncio
from functools import cache

import corpus
import pytest
from pydantic import TypeAdapter

from openapi_tools import load_tools
from openapi_tools.providers.definitions import PROFILES
from openapi_tools.providers.namespaces import MOST_FUNCTIONS

pytestmark = [pytest.mark.long, pytest.mark.untraced]

CHECKED = {
    "openai": ("openai.types.chat", "ChatCompletionFunctionToolParam"),
    "openai_strict": ("openai.types.chat", "ChatCompletionFunctionToolParam"),
    "openai_responses": ("openai.types.responses", "FunctionToolParam"),
    "anthropic": ("anthropic.types", "ToolParam"),
    "gemini": ("google.genai.types", "FunctionDeclaration"),
    "mcp": ("mcp.types", "Tool"),
}
DEFERRED = {
    "openai": ("openai.types.responses", "ToolParam"),
    "openai_responses": ("openai.types.responses", "ToolParam"),
    "anthropic": ("anthropic.types", "ToolUnionParam"),
}
RESPONSES = {"openai_responses": "output_schema", "gemini": "response_json_schema"}


@cache
def adapter_of(module, name):
    types = pytest.importorskip(module, reason=f"{module.partition('.')[0]} is not installed")
    return TypeAdapter(getattr(types, name))


def check_types(place, definitions):
    """Fail unless the package takes each definition, with every key of it."""
    adapter = adapter_of(*place)
    for definition in definitions:
        result = adapter.validate_python(definition)
        if hasattr(result, "model_dump"):
            result = result.model_dump(by_alias=True, exclude_none=True, mode="json")
            aliases = {"parametersJsonSchema": "parameters_json_schema",
                       "responseJsonSchema": "response_json_schema"}  # fmt: skip
            result = {aliases.get(key, key): value for key, value in result.items()}
        elif "tools" in result:
            result = {**result, "tools": list(result["tools"])}  # read one by one
        assert result == definition


@pytest.fixture(scope="module", params=corpus.parameters(corpus.entries()))
def toolset(request):
    return load_tools(request.param.file, response_schemas=True)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_package_of_a_provider_takes_every_definition(toolset, profile):
    definitions = toolset.definitions(profile)

    assert len(definitions) == len(toolset)
    check_types(CHECKED[profile], definitions)
    if key := RESPONSES.get(profile):
        assert all(definition[key]["type"] == "object" for definition in definitions)


def test_programs_of_a_model_may_call_every_tool(toolset):
    definitions = toolset.definitions("openai_responses", programmatic=True)

    assert all(each["allowed_callers"] == ["direct", "programmatic"] for each in definitions)
    check_types(CHECKED["openai_responses"], definitions)


@pytest.mark.parametrize("profile", DEFERRED)
def test_the_package_takes_every_deferred_definition(toolset, profile):
    search, *rest = toolset.definitions(profile, defer=True)

    check_types(DEFERRED[profile], [search, *rest])
    if profile != "anthropic":
        names = [function["name"] for space in rest for function in space["tools"]]
        assert sorted(names) == sorted(tool.name for tool in toolset)
        assert sum(len(space["tools"]) > MOST_FUNCTIONS for space in rest) == 0


def test_the_package_takes_every_tool_of_a_server(toolset):
    contracts = pytest.importorskip("openapi_tools.contracts.mcp", reason="mcp is not installed")
    listed = asyncio.run(contracts.VisibleTools(toolset).list_tools()).tools

    assert [tool.name for tool in listed] == [tool.name for tool in toolset]
    assert all(tool.output_schema["type"] == "object" for tool in listed)
