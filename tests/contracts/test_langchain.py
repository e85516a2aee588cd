"""The tools as LangChain's: with the real package, a scripted model and a server on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from documents import operation, tools, with_body
from pet_shop import ALBUM, DOCUMENT, NOT_FOUND, PHOTO, PNG, found, published, toolsets

from openapi_tools import (
    Context,
    Settings,
    SettingsError,
    ToolResult,
    load_tools,
    require_approval,
)
from openapi_tools.contracts.langchain import to_structured_tools, without_references

pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from servers.recorder import Recorder

    from openapi_tools import ToolCall, Toolset


@pytest.fixture(params=["loaded", "generated"])
def shop(request: pytest.FixtureRequest, recorder: Recorder, tmp_path: Path) -> Iterator[Toolset]:
    yield from toolsets(request.param, tmp_path, recorder.url)


class Scripted(BaseChatModel):
    """A model that says what the script says."""

    script: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return super().bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    def _generate(self, messages: Any, *_: Any, **options: Any) -> ChatResult:
        assert [tool["type"] for tool in options["tools"]] == ["function"] * 4
        said = self.script.pop(0)
        calls = [] if isinstance(said, str) else said
        message = AIMessage(said if isinstance(said, str) else "", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def call(name: str, call_id: str = "1", **args: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "args": args}


async def run(script: list[Any], toolset: Any, config: Any = None, **options: Any) -> list[Any]:
    """Run an agent's loop; return the messages that answer tool calls."""
    offered = {tool.name: tool for tool in to_structured_tools(toolset, **options)}
    model = Scripted(script=script).bind_tools(list(offered.values()))
    messages: list[BaseMessage] = [HumanMessage("Go.")]
    while True:
        said = await model.ainvoke(messages, config)
        messages.append(said)
        if not said.tool_calls:
            return [message for message in messages if isinstance(message, ToolMessage)]
        calls = [offered[one["name"]].ainvoke(one, config) for one in said.tool_calls]
        messages += await asyncio.gather(*calls)


async def test_an_agent_calls_corrects_itself_and_is_told_what_went_wrong(
    shop: Toolset, recorder: Recorder
) -> None:
    recorder.answers += [found(3), NOT_FOUND, PHOTO]
    script = [
        [call("get_pet", petId="three")],
        [call("get_pet", "2", petId=3)],
        [call("get_pet", "3", petId=9)],
        [call("get_photo", "4", petId=3)],
        "Done.",
    ]

    refused, rex, missing, photo = await run(script, shop)

    assert (refused.status, refused.name, refused.tool_call_id) == ("error", "get_pet", "1")
    assert refused.content == "/petId: expected an integer, got 'three' (a string)."
    assert (rex.status, json.loads(rex.content)) == ("success", {"id": 3, "name": "Rex"})
    assert isinstance(rex.artifact, ToolResult)
    assert (rex.artifact.output, rex.artifact.tool_call_id) == ({"id": 3, "name": "Rex"}, "2")
    assert rex.artifact.metadata["status"] == 200
    assert (missing.status, missing.artifact.error["status"]) == ("error", 404)
    assert missing.content == str(missing.artifact)
    assert "no pet 9" in missing.content
    assert [request.target for request in recorder.requests] == [
        "/pets/3",
        "/pets/9",
        "/pets/3/photo",
    ]
    image = {"type": "image", "base64": base64.b64encode(PNG).decode(), "mime_type": "image/png"}
    assert photo.content == [image]
    assert [block["type"] for block in photo.content_blocks] == ["image"]


async def test_images_and_texts_are_blocks(shop: Toolset) -> None:
    shop.add_input_guardrails([lambda *_: ToolResult.ok(ALBUM)])

    (message,) = await run([[call("get_pet", petId=3)], "Done."], shop)

    assert [block["type"] for block in message.content] == ["image", "text"]
    assert message.content[1]["text"] == "Rex"


async def test_calls_of_one_turn_run_beside_each_other_and_keep_their_ids(
    shop: Toolset, recorder: Recorder
) -> None:
    recorder.answer = found(1)
    script = [[call("get_pet", f"call_{number}", petId=number) for number in range(8)], "Done."]

    messages = await run(script, shop)

    ids = [f"call_{number}" for number in range(8)]
    assert [message.tool_call_id for message in messages] == ids
    assert [message.artifact.tool_call_id for message in messages] == ids
    assert sorted(request.target for request in recorder.requests) == [
        f"/pets/{number}" for number in range(8)
    ]


async def test_without_a_tool_call_the_content_is_given(shop: Toolset, recorder: Recorder) -> None:
    recorder.answers += [found(3), NOT_FOUND]
    tool = next(tool for tool in to_structured_tools(shop) if tool.name == "get_pet")

    assert await tool.ainvoke({"petId": 3}) == '{"id": 3, "name": "Rex"}'
    assert "no pet 9" in await tool.ainvoke({"petId": 9})

    with pytest.raises(ValueError, match="String tool inputs are not allowed"):
        await tool.ainvoke("3")
    tool.handle_tool_error = False
    with pytest.raises(ToolException, match="petId: required but not given"):
        await tool.ainvoke({})


async def test_what_a_tool_is(shop: Toolset) -> None:
    tools = {tool.name: tool for tool in to_structured_tools(shop)}

    assert list(tools) == ["get_pet", "sell_pet", "get_photo", "add_pet"]
    assert isinstance(tools["get_pet"], StructuredTool)
    assert tools["get_pet"].description == shop["get_pet"].description
    assert tools["get_pet"].args == shop["get_pet"].input_schema["properties"]
    assert tools["get_pet"].metadata == shop["get_pet"].annotations
    assert [tool.name for tool in to_structured_tools([shop["sell_pet"]])] == ["sell_pet"]


async def test_arguments_that_langchain_takes_for_its_own_reach_the_tool(
    shop: Toolset, recorder: Recorder
) -> None:
    config = {"$ref": "r", "config": "c", "run_manager": "m", "self": "s", "title": "t"}
    script = [
        [call("get_pet", petId=3, config={}, run_manager=1, self=2)],
        [call("add_pet", body={"name": "Rex", "title": "Sir", "config": config})],
        "Done.",
    ]

    refused, added = await run(script, shop)

    assert [line.partition(":")[0] for line in refused.content.splitlines()] == [
        "/config", "/run_manager", "/self",
    ]  # fmt: skip
    assert added.status == "success"
    assert json.loads(recorder.last.body)["config"] == config


async def test_the_context_comes_from_the_run(shop: Toolset, recorder: Recorder) -> None:
    shop.add_input_guardrails([require_approval()])
    asked: list[ToolCall] = []

    async def context(config: Any) -> Context:
        def approve(one: ToolCall) -> bool:
            asked.append(one)
            return config["configurable"]["may_sell"]

        return Context(credentials={"key": config["configurable"]["key"]}, approve=approve)

    async def sold(may_sell: bool) -> Any:
        config = {"configurable": {"key": "mine", "may_sell": may_sell}}
        script = [[call("sell_pet", petId=3)], "Done."]
        (message,) = await run(script, shop, config, context=context)
        return message

    refused, granted = await sold(False), await sold(True)

    assert (refused.status, refused.content) == ("error", "sell_pet was not approved.")
    assert granted.status == "success"
    assert [(one.id, one.name, one.arguments) for one in asked] == [
        ("1", "sell_pet", {"petId": 3})
    ] * 2
    assert [request.header("X-Key") for request in recorder.requests] == ["mine"]


async def test_guardrails_see_the_config_where_no_context_is_given(shop: Toolset) -> None:
    seen = []
    shop.add_input_guardrails([lambda _, context: seen.append(context.state["configurable"])])

    (tool, *_) = to_structured_tools(shop)
    await tool.ainvoke({"petId": 3}, {"configurable": {"user": "me"}})

    assert seen == [{"user": "me"}]


async def test_one_context_serves_all_calls(shop: Toolset, recorder: Recorder) -> None:
    script = [[call("get_pet", petId=3)], "Done."]

    await run(script, shop, context={"credentials": {"key": "mine"}})

    assert recorder.last.header("X-Key") == "mine"


async def test_invoke_works_where_no_event_loop_runs(shop: Toolset, recorder: Recorder) -> None:
    recorder.answer = found(3)
    (tool, *_) = to_structured_tools(shop)

    for _ in range(2):
        message = await asyncio.to_thread(tool.invoke, call("get_pet", petId=3))
        assert (message.artifact.tool_call_id, message.artifact.output["id"]) == ("1", 3)
    refused = await asyncio.to_thread(tool.invoke, call("get_pet", self=3))
    assert refused.status == "error"

    with pytest.raises(SettingsError, match=r"await ainvoke\(\) instead"):
        tool.invoke({"petId": 3})


async def test_a_tools_function_can_be_called_from_a_guardrail_of_another(
    shop: Toolset, recorder: Recorder
) -> None:
    recorder.answer = found(3)
    tools = {tool.name: tool for tool in to_structured_tools(shop)}

    async def look_first(*_: Any) -> None:
        await tools["get_pet"].coroutine(petId=1)

    shop["sell_pet"].add_input_guardrails([look_first])
    await tools["sell_pet"].ainvoke(call("sell_pet", petId=3))

    assert [(one.method, one.target) for one in recorder.requests] == [
        *(("GET", "/pets/1"), ("DELETE", "/pets/3"))
    ]


async def test_cancelling_ends_a_call(shop: Toolset) -> None:
    waiting = asyncio.Event()

    async def wait(*_: Any) -> None:
        waiting.set()
        await asyncio.Event().wait()

    shop.add_input_guardrails([wait])
    (tool, *_) = to_structured_tools(shop)
    task = asyncio.create_task(tool.ainvoke(call("get_pet", petId=3)))
    await waiting.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


def shown(tool: Any) -> dict[str, Any]:
    """Return the parameters that a model is told of."""
    (structured,) = to_structured_tools([tool])
    function = convert_to_openai_tool(structured)["function"]
    assert (function["name"], function["description"]) == (tool.name, tool.description)
    parameters: dict[str, Any] = function["parameters"]
    return parameters


def test_recursion_is_cut_in_words() -> None:
    body = shown(load_tools(DOCUMENT)["add_pet"])["properties"]["body"]

    assert body["properties"]["parents"]["items"] == {
        "type": "object",
        "description": "Takes what `body` takes.",
    }
    assert body["properties"]["tag"] == {
        "type": "string",
        "enum": ["cat", "dog"],
        "description": "How it is found.",
    }


def test_a_property_named_as_a_keyword_stays() -> None:
    config = shown(load_tools(DOCUMENT)["add_pet"])["properties"]["body"]["properties"]["config"]

    assert set(config["properties"]) == {"config", "run_manager", "self", "title", "properties"}
    assert config["patternProperties"] == {
        r"^\$ref$": {"type": "string", "description": "The $ref."}
    }
    assert config["required"] == ["$ref"]


REF: dict[str, Any] = {"$ref": "#/$defs/Node"}
NODE = {"type": "object", "properties": {"next": REF, "value": {"type": "integer"}}}
WIDENED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"not": REF}, {}),
    ({"if": REF, "then": {"required": ["a"]}}, {"then": {"required": ["a"]}}),
    ({"oneOf": [REF, {"type": "null"}]}, {"anyOf": "kept"}),
    ({"oneOf": [REF], "anyOf": [{"type": "null"}]}, {"anyOf": [{"type": "null"}]}),
    ({"enum": [{"$ref": "x"}]}, {}),
    ({"default": {"title": "x"}, "type": "object"}, {"type": "object"}),
    ({"dependentSchemas": {"$ref": {"required": ["a"]}}}, {"dependentSchemas": {}}),
    ({"properties": {"title": True, "a": False}}, {"properties": {"title": {}, "a": {"not": {}}}}),
    ({"$ref": "#/$defs/Any"}, {}),
    ({"$ref": "#/$defs/Text", "minLength": 3}, {"allOf": [{"type": "string"}], "minLength": 3}),
    ({"additionalProperties": False}, {"additionalProperties": False}),
]


@pytest.mark.parametrize(("schema", "expected"), WIDENED, ids=[str(row[0]) for row in WIDENED])
def test_what_is_written_out_takes_all_that_the_schema_takes(
    schema: dict[str, Any], expected: dict[str, Any]
) -> None:
    definitions = {"Node": NODE, "Any": True, "Text": {"type": "string"}}
    whole = {"type": "object", "properties": {"a": schema}, "$defs": definitions}

    written = without_references(whole)["properties"]["a"]

    assert list(written) == list(expected)
    assert [one for one in expected if expected[one] not in ("kept", written[one])] == []


def test_nothing_grows_without_bounds() -> None:
    """Forty definitions of which each holds the next one twice: a million million in all."""
    schemas: dict[str, Any] = {
        f"S{number}": {
            "type": "object",
            "properties": {
                name: {"$ref": f"#/components/schemas/S{number + 1}"} for name in ("a", "b")
            },
        }
        for number in range(40)
    }
    schemas["S40"] = {"type": "string"}
    body = with_body({"type": "array", "items": {"$ref": "#/components/schemas/S0"}})
    (tool,) = tools(body, components={"schemas": schemas})

    assert len(json.dumps(shown(tool))) < 1_000_000


def test_a_schema_that_is_nested_deep_is_cut() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(90):
        schema = {"type": "array", "items": schema}
    (tool,) = tools(with_body(schema))

    text = json.dumps(shown(tool))

    assert text.count('"array"') == 79


def names_and_words(schema: Any, definitions: dict[str, Any], open_: frozenset[str]) -> set[str]:
    """Return the properties' names and the descriptions that a reader of a schema can reach."""
    if isinstance(schema, list):
        return {word for part in schema for word in names_and_words(part, definitions, open_)}
    if not isinstance(schema, dict):
        return set()
    found_: set[str] = set()
    name = schema.get("$ref")
    if isinstance(name, str) and name not in open_:
        target = definitions[name.removeprefix("#/$defs/")]
        beside = target if "description" not in schema else {**target, "description": ""}
        found_ |= names_and_words(beside, definitions, open_ | {name})
    for key, value in schema.items():
        if key == "description" and isinstance(value, str):
            found_.add(value)
        elif key in ("properties", "patternProperties") and isinstance(value, dict):
            found_ |= set(value)
            found_ |= names_and_words(list(value.values()), definitions, open_)
        elif key in ("items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems"):
            found_ |= names_and_words(value, definitions, open_)
    return found_


@pytest.mark.long
@pytest.mark.parametrize("source", published(), ids=lambda path: path.name)
def test_every_tool_of_published_documents_is_told_whole(source: Path) -> None:
    lost = {}
    for tool in load_tools(source, settings=Settings(base_url="http://localhost")):
        schema, told = tool.input_schema, shown(tool)
        definitions = schema.get("$defs", {})
        assert '"$ref":' not in json.dumps(told).replace(r'"^\\$ref$"', "")
        assert list(told["properties"]) == list(schema["properties"])
        assert told.get("required", []) == schema.get("required", [])
        wanted = names_and_words(schema, definitions, frozenset()) - {"", "$ref"}
        missing = wanted - names_and_words(told, {}, frozenset())
        if missing:
            lost[tool.name] = sorted(missing)[:3]

    assert lost == {}


def test_operations_without_arguments_are_tools_too() -> None:
    (tool,) = tools({"/x": {"get": operation()}})

    assert shown(tool) == {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.parametrize(
    "value", [{"name": "Rex", "parents": [{"name": "Max", "parents": []}]}, {}]
)
def test_a_recursive_schema_refuses_nothing_that_the_tool_takes(value: Any) -> None:
    tool = load_tools(DOCUMENT)["add_pet"]
    whole = jsonschema_rs.validator_for(tool.input_schema)
    told = jsonschema_rs.validator_for(shown(tool))

    assert told.is_valid({"body": value}) == whole.is_valid({"body": value})
