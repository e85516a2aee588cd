from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from documents import document, operation

from openapi_tools import Context, InputError, Settings, ToolCall, load_tools
from openapi_tools.tools.tool_call import read_call

pytestmark = pytest.mark.untraced

CALL = ToolCall(id="call_1", name="get_pet", arguments={"id": 3})
JSON = '{"id": 3}'
SHAPES = {
    "ours": CALL,
    "amplifier": {"id": "call_1", "name": "get_pet", "arguments": {"id": 3}},
    "openai chat": {"id": "call_1", "type": "function",
                    "function": {"name": "get_pet", "arguments": JSON}},
    "openai responses": {"type": "function_call", "id": "fc_9", "call_id": "call_1",
                         "name": "get_pet", "arguments": JSON},
    "anthropic": {"type": "tool_use", "id": "call_1", "name": "get_pet", "input": {"id": 3}},
    "gemini": {"id": "call_1", "name": "get_pet", "args": {"id": 3}},
    "gemini part": {"functionCall": {"id": "call_1", "name": "get_pet", "args": {"id": 3}}},
    "mcp": {"jsonrpc": "2.0", "id": "call_1", "method": "tools/call",
            "params": {"name": "get_pet", "arguments": {"id": 3}}},
    "langchain": {"name": "get_pet", "args": {"id": 3}, "id": "call_1", "type": "tool_call"},
    "pydantic-ai": {"tool_name": "get_pet", "args": JSON, "tool_call_id": "call_1"},
    "llama-index": {"tool_id": "call_1", "tool_name": "get_pet", "tool_kwargs": {"id": 3}},
}  # fmt: skip


def as_object(value):
    """The same as attributes."""
    if not isinstance(value, dict) or set(value) == {"id"}:
        return value
    return SimpleNamespace(**{name: as_object(part) for name, part in value.items()})


@pytest.mark.parametrize("given", SHAPES.values(), ids=SHAPES)
def test_a_call_is_read_from_every_shape(given):
    assert read_call(given) == CALL
    assert read_call(as_object(given)) == CALL


@pytest.mark.long
def test_calls_of_the_real_packages_are_read():
    from anthropic.types import ToolUseBlock
    from google.genai.types import FunctionCall, Part
    from langchain_core.messages import ToolCall as LangChainCall
    from llama_index.core.llms.llm import ToolSelection
    from mcp.types import CallToolRequestParams
    from openai.types.chat import ChatCompletionMessageFunctionToolCall
    from openai.types.responses import ResponseFunctionToolCall
    from pydantic_ai.messages import ToolCallPart

    gemini = FunctionCall(id="call_1", name="get_pet", args={"id": 3})
    calls = [
        ChatCompletionMessageFunctionToolCall.model_validate(SHAPES["openai chat"]),
        ResponseFunctionToolCall.model_validate(SHAPES["openai responses"]),
        ToolUseBlock.model_validate({**SHAPES["anthropic"], "caller": {"type": "direct"}}),
        gemini,
        Part(function_call=gemini),
        LangChainCall(name="get_pet", args={"id": 3}, id="call_1"),
        ToolCallPart("get_pet", JSON, "call_1"),
        ToolSelection(tool_id="call_1", tool_name="get_pet", tool_kwargs={"id": 3}),
    ]
    assert [read_call(call) for call in calls] == [CALL] * len(calls)
    params = CallToolRequestParams(name="get_pet", arguments={"id": 3})
    assert read_call(params).arguments == {"id": 3}


def test_calls_of_agent_frameworks_are_read():
    from agent_framework import Content

    call = Content.from_function_call("call_1", "get_pet", arguments=JSON)

    assert read_call(call) == CALL


@pytest.mark.parametrize("arguments", [None, "", "  ", {}, "{}"])
def test_a_call_without_arguments_has_none(arguments):
    assert read_call({"name": "get_pet", "arguments": arguments}).arguments == {}


def test_an_empty_object_is_taken_before_another_name_for_arguments():
    assert read_call({"name": "x", "arguments": {}, "input": {"id": 3}}).arguments == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "no name"),
        (5, "no name"),
        ("get_pet", "no name"),
        ({}, "no name"),
        ({"name": ""}, "no name"),
        ({"name": 5}, "no name"),
        ({"name": "x", "arguments": "{"}, "not valid JSON"),
        ({"name": "x", "arguments": "NaN"}, "not valid JSON"),
        ({"name": "x", "arguments": "[1]"}, "object"),
        ({"name": "x", "arguments": 5}, "object"),
        ({"name": "x", "arguments": {1: 2}}, "object"),
    ],
)
def test_what_is_no_call_says_why(given, said):
    with pytest.raises(InputError, match=said):
        read_call(given)


def pets(schemes=None, **options):
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={})

    get = operation(
        operationId="getPet",
        parameters=[{"name": "id", "in": "query", "schema": {"type": "integer"}}],
        **({"security": [{name: []} for name in schemes]} if schemes else {}),
    )
    described = document({"/pet": {"get": get}}, components={"securitySchemes": schemes or {}})
    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    settings = Settings(base_url="https://api.example.com")
    return load_tools(described, client=client, settings=settings, **options), sent


@pytest.mark.parametrize("given", SHAPES.values(), ids=SHAPES)
async def test_a_toolset_and_a_tool_do_what_a_call_says(given):
    toolset, sent = pets()
    seen: list[ToolCall] = []
    toolset.add_input_guardrails([lambda call, context: seen.append(call)])

    results = [await toolset.call(given), await toolset["get_pet"](given, None)]

    assert [(result.success, result.tool_call_id) for result in results] == [(True, "call_1")] * 2
    assert seen == [CALL, CALL]
    assert [str(request.url) for request in sent] == ["https://api.example.com/pet?id=3"] * 2


async def test_a_call_by_name_needs_no_arguments():
    toolset, _ = pets()
    assert (await toolset.call("get_pet")).success


@pytest.mark.parametrize(
    "given", [None, 5, {}, {"name": "x", "arguments": "{"}, {"name": "get_pets", "id": "call_1"}]
)
async def test_what_is_no_call_and_unknown_tools_are_error_results(given):
    toolset, sent = pets()

    results = [await toolset.call(given), await toolset["get_pet"](given, None)]

    assert [result.error["type"] for result in results] == ["invalid_input"] * 2
    assert sent == []


async def test_arguments_that_are_no_json_are_answered_for_their_call():
    toolset, _ = pets()
    given = {"id": "call_1", "function": {"name": "get_pet", "arguments": '{"id": 3'}}

    results = [await toolset.call(given), await toolset["get_pet"](given, None)]

    assert [result.tool_call_id for result in results] == ["call_1"] * 2
    assert all("not valid JSON" in str(result) for result in results)


async def test_an_unknown_tool_says_close_names_and_whose_call_it_answers():
    toolset, _ = pets()

    result = await toolset.call({"name": "get_pets", "id": "call_1"})

    assert "get_pet" in result.error["message"]
    assert result.tool_call_id == "call_1"


# ---------------------------------------------------------------------------- the context

KEY = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}


@pytest.mark.parametrize(
    "context",
    [
        Context(credentials={"key": "of-this-call"}),
        {"credentials": {"key": "of-this-call"}},
        SimpleNamespace(credentials={"key": "of-this-call"}),
    ],
)
async def test_credentials_of_the_context_go_before_the_toolsets_own(context):
    toolset, sent = pets(KEY, credentials={"key": "of-the-toolset"})

    await toolset.call("get_pet", {}, context=context)
    await toolset.call("get_pet", {})

    assert [request.headers["X-Key"] for request in sent] == ["of-this-call", "of-the-toolset"]


@pytest.mark.parametrize("credentials", [{"other": "hunter2"}, {"key": 5}, "hunter2"])
async def test_wrong_credentials_of_the_context_are_an_error_result(credentials):
    toolset, sent = pets(KEY)

    result = await toolset.call("get_pet", {}, context={"credentials": credentials})

    assert result.error["type"] == "credentials"
    assert "hunter2" not in result.model_dump_json()
    assert sent == []


def test_a_context_does_not_show_its_credentials():
    assert "hunter2" not in repr(Context(credentials={"key": "hunter2"}))


class Hostile:
    """A call whose properties run code of its own."""

    def __init__(self, failing: str):
        self._failing = failing

    def __getattr__(self, name: str) -> Any:
        if name == self._failing:
            raise RuntimeError("hunter2")
        known = {"id": "call_1", "name": "get_pet", "arguments": {"id": 3}}
        if name in known:
            return known[name]
        raise AttributeError(name)


class HostileMapping(dict[str, Any]):
    def get(self, *_: Any) -> Any:
        raise RuntimeError("hunter2")

    def items(self) -> Any:
        raise RuntimeError("hunter2")

    def keys(self) -> Any:
        raise RuntimeError("hunter2")


@pytest.mark.parametrize(
    "given",
    [
        Hostile("name"),
        Hostile("arguments"),
        Hostile("id"),
        HostileMapping(name="get_pet"),
        {"id": 10**5000, "name": "get_pet", "arguments": {}},
        {"id": "call_1", "name": "get_pet", "arguments": HostileMapping(id=3)},
    ],
)
async def test_a_hostile_call_is_a_result_like_any_other(given):
    toolset, _ = pets()
    toolset.definitions("openai_strict")

    for result in (await toolset.call(given), await toolset["get_pet"](given)):
        assert result.success or result.error["type"] == "invalid_input"
        assert "hunter2" not in result.model_dump_json()


async def test_hostile_arguments_of_a_call_by_name_are_read_past_their_methods():
    toolset, sent = pets()
    toolset.definitions("openai_strict")

    result = await toolset.call("get_pet", HostileMapping(id=3))

    assert result.success
    assert len(sent) == 1


async def test_the_credential_of_a_call_decides_which_alternative_is_taken():
    schemes = {**KEY, "bearer": {"type": "http", "scheme": "bearer"}}
    toolset, sent = pets(schemes, credentials={"key": "of-the-toolset"})

    await toolset.call("get_pet", {}, context=Context(credentials={"bearer": "of-this-call"}))

    assert sent[0].headers["Authorization"] == "Bearer of-this-call"
    assert "X-Key" not in sent[0].headers


async def test_a_credential_that_is_no_text_is_an_error_result():
    toolset, sent = pets(KEY)

    result = await toolset.call("get_pet", {}, context={"credentials": {"key": "\ud800"}})

    assert result.error["type"] == "credentials"
    assert sent == []
