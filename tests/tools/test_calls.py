"""Tool calls as coordinators and providers have them, and the context of a call."""

import gc
from types import SimpleNamespace
from typing import Any

import pytest
from documents import document, operation
from tools.handlers import BASE, load_with_handler

from openapi_tools import Context, ToolCall
from openapi_tools.transport import APIResponse

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


KEY = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}


def pets(schemes=None, **options):
    """Return tools that take calls, the calls that they took, and the requests they sent."""
    get = operation(
        operationId="getPet",
        parameters=[{"name": "id", "in": "query", "schema": {"type": "integer"}}],
        security=[{name: []} for name in schemes or ()],
    )
    described = document({"/pet": {"get": get}}, components={"securitySchemes": schemes or {}})
    toolset, sent = load_with_handler(described, **options)
    calls: list[ToolCall] = []
    toolset.add_input_guardrails([lambda call, context: calls.append(call)])
    return toolset, calls, sent


def as_object(value):
    """The same as attributes."""
    if not isinstance(value, dict) or set(value) == {"id"}:
        return value
    return SimpleNamespace(**{name: as_object(part) for name, part in value.items()})


@pytest.mark.parametrize("call", SHAPES.values(), ids=SHAPES)
async def test_a_toolset_and_a_tool_do_what_a_call_says(call):
    toolset, calls, sent = pets()

    results = [
        await toolset.call(call),
        await toolset.call(as_object(call)),
        await toolset["get_pet"](call, None),
    ]

    assert [(result.success, result.tool_call_id) for result in results] == [(True, "call_1")] * 3
    assert calls == [CALL] * 3
    assert [str(request.url) for request in sent] == [f"{BASE}/pet?id=3"] * 3


@pytest.mark.long
async def test_calls_of_the_real_packages_are_read():
    from agent_framework import Content
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
        Content.from_function_call("call_1", "get_pet", arguments=JSON),
        CallToolRequestParams(name="get_pet", arguments={"id": 3}),
    ]
    toolset, seen, _ = pets()

    for call in calls:
        assert (await toolset.call(call)).success

    assert seen == [*[CALL] * 9, CALL.model_copy(update={"id": ""})]


@pytest.mark.parametrize(
    "call",
    [
        *("get_pet", {"name": "get_pet"}),
        *({"name": "get_pet", "arguments": none} for none in (None, "", "  ", {}, "{}")),
        {"name": "get_pet", "arguments": {}, "input": {"id": 3}},
    ],
)
async def test_a_call_without_arguments_has_none(call):
    toolset, calls, _ = pets()

    assert (await toolset.call(call)).success
    assert calls == [ToolCall(name="get_pet")]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *((call, "no tool name") for call in (None, 5, {}, {"name": ""}, {"name": 5})),
        *(({"name": "x", "arguments": text}, "not valid JSON") for text in ("{", "NaN")),
        *(({"name": "x", "arguments": value}, "object") for value in ("[1]", 5, {1: 2})),
        ({"name": "get_pets", "id": "call_1"}, "get_pet"),
    ],
)
async def test_what_is_no_call_and_unknown_tools_are_error_results(call, message):
    toolset, _, sent = pets()

    results = [await toolset.call(call), await toolset["get_pet"](call, None)]

    assert [result.error["type"] for result in results] == ["invalid_input"] * 2
    assert message in str(results[0])
    assert sent == []


async def test_arguments_that_are_no_json_and_unknown_tools_get_the_result_of_their_call():
    toolset, _, _ = pets()
    call = {"id": "call_1", "function": {"name": "get_pet", "arguments": '{"id": 3'}}

    results = [await toolset.call(call), await toolset["get_pet"](call, None)]
    unknown = await toolset.call({"name": "get_pets", "id": "call_1"})

    assert all("not valid JSON" in str(result) for result in results)
    assert [result.tool_call_id for result in (*results, unknown)] == ["call_1"] * 3


class Hostile:
    """A call whose properties run code of its own."""

    def __init__(self, failing: str):
        self._failing = failing

    def __getattr__(self, name: str) -> Any:
        if name == self._failing:
            raise RuntimeError("hunter2")
        fields = {"id": "call_1", "name": "get_pet", "arguments": {"id": 3}}
        if name in fields:
            return fields[name]
        raise AttributeError(name)


class HostileMapping(dict[str, Any]):
    def get(self, *_: Any) -> Any:
        raise RuntimeError("hunter2")

    items = keys = get


@pytest.mark.parametrize(
    "call",
    [
        Hostile("name"),
        Hostile("arguments"),
        Hostile("id"),
        HostileMapping(name="get_pet"),
        {"id": 10**5000, "name": "get_pet", "arguments": {}},
        {"id": "call_1", "name": "get_pet", "arguments": HostileMapping(id=3)},
    ],
)
async def test_a_hostile_call_is_a_result_like_any_other(call):
    toolset, _, _ = pets()
    toolset.definitions("openai_strict")

    for result in (await toolset.call(call), await toolset["get_pet"](call, None)):
        assert result.success or result.error["type"] == "invalid_input"
        assert "hunter2" not in result.model_dump_json()


@pytest.mark.parametrize(
    "context",
    [
        Context(credentials={"key": "of-this-call"}),
        {"credentials": {"key": "of-this-call"}},
        SimpleNamespace(credentials={"key": "of-this-call"}),
    ],
)
async def test_credentials_of_the_context_go_before_the_toolsets_own(context):
    toolset, _, sent = pets(KEY, credentials={"key": "of-the-toolset"})

    await toolset.call("get_pet", {}, context=context)
    await toolset.call("get_pet", {})

    assert [request.headers["X-Key"] for request in sent] == ["of-this-call", "of-the-toolset"]


async def test_the_credential_of_a_call_decides_which_alternative_is_taken():
    schemes = {**KEY, "bearer": {"type": "http", "scheme": "bearer"}}
    toolset, _, sent = pets(schemes, credentials={"key": "of-the-toolset"})

    await toolset.call("get_pet", {}, context=Context(credentials={"bearer": "of-this-call"}))

    assert sent[0].headers["Authorization"] == "Bearer of-this-call"
    assert "X-Key" not in sent[0].headers


@pytest.mark.parametrize(
    "credentials", [{"other": "hunter2"}, {"key": 5}, "hunter2", {"key": "\ud800"}]
)
async def test_wrong_credentials_of_the_context_are_an_error_result(credentials):
    toolset, _, sent = pets(KEY)

    result = await toolset.call("get_pet", {}, context={"credentials": credentials})

    assert result.error["type"] == "credentials"
    assert "hunter2" not in result.model_dump_json()
    assert sent == []


def test_a_context_does_not_show_its_credentials():
    assert "hunter2" not in repr(Context(credentials={"key": "hunter2"}))


async def test_a_response_is_freed_with_its_call_and_not_by_the_garbage_collector():
    toolset, _, _ = pets()
    await toolset["get_pet"].execute({"id": 3})
    gc.collect()
    gc.disable()
    try:
        result = await toolset["get_pet"].execute({"id": 3})
        # Not isinstance: objects of other tests may have code that raises.
        kept = [each for each in gc.get_objects() if type(each) is APIResponse]
    finally:
        gc.enable()

    assert result.success, result
    assert kept == []
