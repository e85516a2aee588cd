"""The tools as LangChain's: with the real package, a scripted model and a server on loopback."""

import asyncio
import base64
import json

import jsonschema_rs
import pytest
from conformance import MINE, Conformance
from documents import operation, tools, with_body
from pet_shop import DOCUMENT, NOT_FOUND, pet_response

from openapi_tools import Context, Settings, SettingsError, load_tools, require_approval
from openapi_tools.contracts.langchain import inline_references, to_structured_tools
from openapi_tools.testing.conformance_tests import Seen

pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool


class Scripted(BaseChatModel):
    """A model that makes the calls of a script, turn by turn."""

    script: list

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **_):
        return super().bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    def _generate(self, messages, *_, **options):
        assert {tool["type"] for tool in options["tools"]} == {"function"}
        message = AIMessage("", tool_calls=self.script.pop(0) if self.script else [])
        return ChatResult(generations=[ChatGeneration(message=message)])


def call(name, call_id="1", **args):
    return {"type": "tool_call", "id": call_id, "name": name, "args": args}


def by_name(toolset, **options):
    return {tool.name: tool for tool in to_structured_tools(toolset, **options)}


async def run(toolset, *turns, config=None, **options):
    """Run an agent's loop; return the messages that answer tool calls."""
    offered = by_name(toolset, **options)
    model = Scripted(script=list(turns)).bind_tools(list(offered.values()))
    messages = [HumanMessage("Go.")]
    while True:
        reply = await model.ainvoke(messages, config)
        messages.append(reply)
        if not reply.tool_calls:
            return [message for message in messages if isinstance(message, ToolMessage)]
        calls = [offered[one["name"]].ainvoke(one, config) for one in reply.tool_calls]
        messages += await asyncio.gather(*calls)


class TestLangChain(Conformance):
    def names(self, toolset):
        return list(by_name(toolset))

    async def run_turns(self, toolset, *turns, **options):
        numbered = [
            [call(name, str(n)) | {"args": args} for n, (name, args) in enumerate(turn)]
            for turn in turns
        ]
        messages = await run(toolset, *numbered, **options)
        ids = [one["id"] for turn in numbered for one in turn]
        assert [message.tool_call_id for message in messages] == ids
        assert [message.artifact.tool_call_id for message in messages] == ids
        assert [message.name for message in messages] == [n for turn in turns for n, _ in turn]
        return list(map(self.read_result, messages))

    def read_result(self, message):
        blocks = message.content
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        assert [b["type"] for b in message.content_blocks] == [b["type"] for b in blocks]
        assert all(b["mime_type"] == "image/png" for b in blocks if b["type"] == "image")
        return Seen(
            [block["text"] for block in blocks if block["type"] == "text"],
            [base64.b64decode(block["base64"]) for block in blocks if block["type"] == "image"],
            message.status == "error",
            message.artifact,
        )


async def test_without_a_tool_call_the_content_is_given(shop, recorder):
    recorder.responses += [pet_response(3), NOT_FOUND]
    tool = by_name(shop)["get_pet"]

    assert await tool.ainvoke({"petId": 3}) == '{"id":3,"name":"Rex"}'
    assert "no pet 9" in await tool.ainvoke({"petId": 9})

    with pytest.raises(ValueError, match="String tool inputs are not allowed"):
        await tool.ainvoke("3")
    tool.handle_tool_error = False
    with pytest.raises(ToolException, match="petId: missing required argument"):
        await tool.ainvoke({})


async def test_what_a_tool_is(shop):
    tool = by_name(shop)["get_pet"]

    assert isinstance(tool, StructuredTool)
    assert tool.description == shop["get_pet"].description
    assert tool.args == shop["get_pet"].input_schema["properties"]
    assert tool.metadata == shop["get_pet"].annotations


async def test_the_context_comes_from_the_run(shop, recorder):
    shop.add_input_guardrails([require_approval()])
    asked = []

    async def context(config):
        def approve(one):
            asked.append((one.id, one.name, one.arguments))
            return config["configurable"]["may_sell"]

        return Context(**MINE, approve=approve)

    def run_sale(may_sell):
        config = {"configurable": {"may_sell": may_sell}}
        return run(shop, [call("sell_pet", petId=3)], config=config, context=context)

    (refused,), (granted,) = await run_sale(False), await run_sale(True)

    assert (refused.status, refused.content) == ("error", "sell_pet was not approved.")
    assert granted.status == "success"
    assert asked == [("1", "sell_pet", {"petId": 3})] * 2
    assert [request.header("X-Key") for request in recorder.requests] == ["mine"]


async def test_guardrails_see_the_config_where_no_context_is_given(shop):
    seen = []
    shop.add_input_guardrails([lambda _, context: seen.append(context.state["configurable"])])

    await by_name(shop)["get_pet"].ainvoke({"petId": 3}, {"configurable": {"user": "me"}})

    assert seen == [{"user": "me"}]


async def test_invoke_works_where_no_event_loop_runs(shop, recorder):
    recorder.response = pet_response(3)
    tool = by_name(shop)["get_pet"]

    for _ in range(2):
        message = await asyncio.to_thread(tool.invoke, call("get_pet", petId=3))
        assert (message.artifact.tool_call_id, message.artifact.output["id"]) == ("1", 3)
    refused = await asyncio.to_thread(tool.invoke, call("get_pet", self=3))
    assert refused.status == "error"

    with pytest.raises(SettingsError, match=r"await ainvoke\(\) instead"):
        tool.invoke({"petId": 3})


async def test_a_tools_function_can_be_called_from_a_guardrail_of_another(shop, recorder):
    tools = by_name(shop)

    async def look_first(*_):
        await tools["get_pet"].coroutine(petId=1)

    shop["sell_pet"].add_input_guardrails([look_first])
    await tools["sell_pet"].ainvoke(call("sell_pet", petId=3))

    requests = [(one.method, one.target) for one in recorder.requests]
    assert requests == [("GET", "/pets/1"), ("DELETE", "/pets/3")]


def parameters_of(tool):
    """Return the parameters that a model reads."""
    (structured,) = to_structured_tools([tool])
    function = convert_to_openai_tool(structured)["function"]
    assert (function["name"], function["description"]) == (tool.name, tool.description)
    return function["parameters"]


def test_recursion_is_cut_in_words():
    body = parameters_of(load_tools(DOCUMENT)["add_pet"])["properties"]["body"]

    assert body["properties"]["parents"]["items"] == {
        "type": "object",
        "description": "Takes the same values as `body`.",
    }
    assert body["properties"]["tag"] == {
        "type": "string",
        "enum": ["cat", "dog"],
        "description": "How it is found.",
    }


def test_a_property_named_as_a_keyword_stays():
    toolset = load_tools(DOCUMENT, settings=Settings(definitions="full"))
    config = parameters_of(toolset["add_pet"])["properties"]["body"]["properties"]["config"]

    assert set(config["properties"]) == {"config", "run_manager", "self", "title", "properties"}
    assert config["patternProperties"] == {
        r"^\$ref$": {"type": "string", "description": "The $ref."}
    }
    assert config["required"] == ["$ref"]


REF = {"$ref": "#/$defs/Node"}
NODE = {"type": "object", "properties": {"next": REF, "value": {"type": "integer"}}}
WIDENED = [
    ({"not": REF}, {}),
    ({"if": REF, "then": {"required": ["a"]}}, {"then": {"required": ["a"]}}),
    ({"oneOf": [REF, {"type": "null"}]}, {"anyOf": "kept"}),
    ({"oneOf": [REF], "anyOf": [{"type": "null"}]}, {"anyOf": [{"type": "null"}], "allOf": "kept"}),
    ({"enum": [{"$ref": "x"}]}, {}),
    ({"default": {"title": "x"}, "type": "object"}, {"type": "object"}),
    ({"dependentSchemas": {"$ref": {"required": ["a"]}}}, {"dependentSchemas": {}}),
    ({"properties": {"title": True, "a": False}}, {"properties": {"title": {}, "a": {"not": {}}}}),
    ({"$ref": "#/$defs/Any"}, {}),
    ({"$ref": "#/$defs/Text", "minLength": 3}, {"allOf": [{"type": "string"}], "minLength": 3}),
    ({"additionalProperties": False}, {"additionalProperties": False}),
]


@pytest.mark.parametrize(("schema", "expected"), WIDENED, ids=[str(row[0]) for row in WIDENED])
def test_what_is_written_out_takes_all_that_the_schema_takes(schema, expected):
    definitions = {"Node": NODE, "Any": True, "Text": {"type": "string"}}
    whole = {"type": "object", "properties": {"a": schema}, "$defs": definitions}

    written = inline_references(whole)["properties"]["a"]

    assert list(written) == list(expected)
    assert [one for one in expected if expected[one] not in ("kept", written[one])] == []


def test_nothing_grows_without_bounds():
    """Forty definitions of which each holds the next one twice: a million million in all."""
    schemas = {
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

    assert len(json.dumps(parameters_of(tool))) < 1_000_000


def test_a_schema_that_is_nested_deep_is_cut():
    schema = {"type": "string"}
    for _ in range(90):
        schema = {"type": "array", "items": schema}
    (tool,) = tools(with_body(schema))

    text = json.dumps(parameters_of(tool))

    assert text.count('"array"') == 79


def test_operations_without_arguments_are_tools_too():
    (tool,) = tools({"/x": {"get": operation()}})

    assert parameters_of(tool) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "value", [{"name": "Rex", "parents": [{"name": "Max", "parents": []}]}, {}]
)
def test_a_recursive_schema_refuses_nothing_that_the_tool_takes(value):
    tool = load_tools(DOCUMENT)["add_pet"]
    whole = jsonschema_rs.validator_for(tool.input_schema)
    validator = jsonschema_rs.validator_for(parameters_of(tool))

    assert validator.is_valid({"body": value}) == whole.is_valid({"body": value})
