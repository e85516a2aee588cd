"""Text 003, the design of a tool for agents: what it obliges a tool to, loaded and generated."""

import base64
import inspect
import json

import pytest
from jsonschema import Draft202012Validator
from obligations import GENERATED, KINDS, petstore
from packages import import_package
from pet_shop import PHOTO, PNG
from servers.recorder import CannedResponse

from openapi_tools import (
    CallError,
    Context,
    DeniedError,
    ImageContent,
    InputError,
    OperationTool,
    Settings,
    TextContent,
    ToolCall,
    ToolResult,
    require_approval,
)
from openapi_tools.tools.session import open_session

SOLD = ToolCall(id="c1", name="find_pets_by_status", arguments={"status": "sold"})
PETS = [{"id": 7, "name": "Zoë"}]
PETS_RESPONSE = CannedResponse(body=json.dumps(PETS).encode())


@pytest.fixture(params=KINDS)
def toolset(request, recorder):
    recorder.response = PETS_RESPONSE
    with petstore(request.param, recorder.url) as toolset:
        yield toolset


@pytest.fixture
def tool(toolset):
    return toolset[SOLD.name]


def sent_requests(recorder):
    return [f"{request.method} {request.target}" for request in recorder.requests]


# The result of a call


async def test_the_output_is_a_list_of_contents(tool, recorder):
    missing = CannedResponse(404, body=b'{"message": "no such pet"}')
    recorder.responses += [PETS_RESPONSE, PHOTO, missing]

    texts, (image,), (failed,) = [(await tool(SOLD, Context())).as_content() for _ in range(3)]

    assert texts == [TextContent(text='[{"id":7,"name":"Zoë"}]')]
    assert image == ImageContent(data=base64.b64encode(PNG).decode(), media_type="image/png")
    assert failed.type == "text"
    assert "no such pet" in failed.text


# What the context provides


async def test_credentials_come_through_the_context_of_whichever_kind(tool, recorder):
    mine = {"credentials": {"petstore_auth": "t0ken"}}

    for context in (Context(**mine), type("AgentContext", (), mine)(), mine, Context()):
        await tool(SOLD, context)

    sent = [request.header("Authorization") for request in recorder.requests]
    assert sent == ["Bearer t0ken"] * 3 + [None]


async def test_an_output_channel_comes_through_the_context(tool):
    channel = []

    def telling(call, context):
        context.state.append(f"calling {call.name}")

    tool.add_input_guardrails([telling])
    tool.add_output_guardrails([lambda result, context: context.state.append(str(result))])
    await tool(SOLD, Context(state=channel))

    assert channel == ["calling find_pets_by_status", '[{"id":7,"name":"Zoë"}]']


# The members of a tool


def test_every_operation_of_a_specification_is_a_tool(toolset):
    assert len(toolset) == toolset.counts["operations"] == 19
    assert all(isinstance(tool, OperationTool) for tool in toolset)


def test_the_schema_is_json_schema_of_the_arguments(toolset):
    for tool in toolset:
        Draft202012Validator.check_schema(tool.schema)
        assert tool.schema["type"] == "object"
        assert not tool.schema.keys() & {"oneOf", "anyOf", "allOf", "not", "enum", "$ref"}
    assert toolset["get_inventory"].schema["properties"] == {}
    assert toolset["find_pets_by_status"].schema["properties"].keys() == {"status"}
    assert toolset["find_pets_by_status"].schema["additionalProperties"] is False


def test_strict_says_that_no_argument_is_optional(toolset):
    for tool in toolset:
        assert tool.strict is (
            set(tool.schema["properties"]) == set(tool.schema.get("required", ()))
        )
    assert toolset["get_pet_by_id"].strict
    assert not toolset["find_pets_by_status"].strict


async def test_a_tool_is_called_with_a_name_and_arguments_and_a_context(tool, recorder):
    await tool(SOLD, Context())
    await tool({"name": SOLD.name, "arguments": {"status": "pending"}}, Context())

    assert [request.target.partition("=")[2] for request in recorder.requests] == [
        *("sold", "pending")
    ]
    assert inspect.iscoroutinefunction(tool.__call__)
    assert list(inspect.signature(tool).parameters) == ["call", "context"]


# The flow of a call: on_invoke, run, on_output; on_error when something is raised

STEPS = ("on_invoke", "run", "on_output", "on_error")


def noting(steps, failing=(), base=OperationTool):
    """Return what a subclass overrides: it notes each step, and fails where it should."""

    def step(name):
        async def note_step(self, subject, context):
            steps.append((name, type(subject).__name__, context))
            if name in failing:
                raise LookupError(name)
            return await getattr(base, name)(self, subject, context)

        return note_step

    return {name: step(name) for name in STEPS}


@pytest.fixture
def make_tool(recorder):
    """Makes a tool of a subclass with these members."""
    recorder.response = PETS_RESPONSE
    with import_package(GENERATED, "petstore_tools") as package:
        session = open_session(Settings(base_url=recorder.url, anonymous=True))
        yield lambda **attributes: type("Sub", (package.FindPetsByStatus,), attributes)(session)


async def test_a_call_goes_through_on_invoke_run_and_on_output(make_tool):
    steps, context = [], Context()
    tool = make_tool(**noting(steps))

    result = await tool(SOLD, context)
    executed = await tool.execute({"status": "sold", "_tool_call_id": "c2"})

    assert steps[:3] == [
        ("on_invoke", "ToolCall", context),
        ("run", "ToolCall", context),
        ("on_output", "ToolResult", context),
    ]
    assert [name for name, *_ in steps[3:]] == ["on_invoke", "run", "on_output"]
    assert (result.output, executed.output, executed.tool_call_id) == (PETS, PETS, "c2")


async def test_each_step_may_decide(make_tool, recorder):
    async def on_invoke(self, call, context):
        raise DeniedError("not on Sundays.")

    async def run(self, call, context=None):
        return ToolResult.ok([call.id, call.arguments, context.state])

    async def on_output(self, output, context):
        return ToolResult.ok(len(output.output))

    refused = await make_tool(on_invoke=on_invoke)(SOLD, Context())
    ran = await make_tool(run=run)(SOLD, Context(state="mine"))
    assert recorder.requests == []
    changed = await make_tool(on_output=on_output)(SOLD, Context())

    assert (refused.error["type"], str(refused)) == ("denied", "not on Sundays.")
    assert (ran.output, changed.output) == (["c1", {"status": "sold"}, "mine"], 1)


@pytest.mark.parametrize("failing", ["on_invoke", "run", "on_output"])
async def test_on_error_gives_the_result_when_something_is_raised(make_tool, failing):
    async def on_error(self, error, context):
        return ToolResult.failed("protocol", f"{type(error).__name__} in {error}: {context.state}")

    attributes = noting([], failing=[failing]) | {"on_error": on_error}
    result = await make_tool(**attributes)(SOLD, Context(state="mine"))
    worse = await make_tool(**noting([], failing=[failing, "on_error"]))(SOLD, Context())

    assert result.is_error
    assert str(result) == f"LookupError in {failing}: mine"
    assert worse.is_error, "a failing on_error raises nothing"
    assert "LookupError" in str(worse)


async def test_the_steps_can_be_called_by_themselves(tool):
    result = await tool.run(SOLD, Context())
    handled = await tool.on_error(InputError("no such status."), Context())

    assert await tool.on_invoke(SOLD, Context()) == SOLD
    assert await tool.on_output(result, Context()) is result
    assert (result.output, handled.error["type"]) == (PETS, "invalid_input")


# What can be added to a tool


async def test_input_guardrails_see_to_proper_arguments(tool, recorder):
    async def read_status(call, context):
        return {"status": context.state}

    def only_sold(call, context):
        if call.arguments["status"] != "sold":
            raise DeniedError("only sold pets may be listed.")

    tool.add_input_guardrails([read_status, only_sold])
    changed = await tool(ToolCall(name=tool.name), Context(state="sold"))
    refused = await tool(SOLD, Context(state="pending"))

    assert (changed.is_error, refused.error["type"]) == (False, "denied")
    assert str(refused) == "only sold pets may be listed."
    assert sent_requests(recorder) == ["GET /pet/findByStatus?status=sold"]


async def test_a_guardrail_asks_for_human_approval(toolset, recorder):
    seen = []

    async def person(call):
        seen.append(call)
        return call.arguments["petId"] == 7

    delete = toolset["delete_pet"]
    delete.add_input_guardrails([require_approval()])
    expected = [ToolCall(id="c", name="delete_pet", arguments={"petId": pet}) for pet in (7, 8)]
    results = [await delete(call, Context(approve=person)) for call in expected]
    nobody = await delete(expected[0], Context())

    assert seen == expected
    assert [result.is_error for result in (*results, nobody)] == [False, True, True]
    assert {result.error["type"] for result in (results[1], nobody)} == {"denied"}
    assert sent_requests(recorder) == ["DELETE /pet/7"]


async def test_output_guardrails_can_be_added(tool):
    async def first(result, context):
        return ToolResult.ok(result.output[: context.state])

    def no_secret(result, context):
        if "Zoë" in str(result):
            raise DeniedError("names of pets are private.")

    tool.add_output_guardrails([first, no_secret])
    nothing = await tool(SOLD, Context(state=0))
    withheld = await tool(SOLD, Context(state=1))

    assert (nothing.output, str(withheld)) == ([], "names of pets are private.")


async def test_a_function_for_errors_can_be_added(tool, recorder):
    seen = []

    async def explain(error, context):
        seen.append((error, context))
        return ToolResult.failed("http", "the shop is closed.")

    tool.add_on_error_func(explain)
    context = Context()
    fine = await tool(SOLD, context)
    recorder.response = CannedResponse(503)
    failed = await tool(SOLD, context)

    assert (fine.is_error, str(failed)) == (False, "the shop is closed.")
    ((error, received),) = seen
    assert isinstance(error, CallError)
    assert received is context


async def test_what_is_added_to_a_toolset_is_added_to_each_tool(toolset):
    toolset.add_input_guardrails([lambda *_: False])
    toolset.add_on_error_func(lambda *_: ToolResult.failed("denied", "closed."))
    toolset.add_output_guardrails(
        [lambda result, _: ToolResult.failed("denied", f"{result} For good.")]
    )

    results = [
        await toolset.call("get_inventory", {}, context=Context()),
        await toolset.call("get_pet_by_id", {"petId": 1}, context=Context()),
    ]

    assert [str(result) for result in results] == ["closed. For good."] * 2
