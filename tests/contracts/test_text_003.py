"""Text 003, the design of a tool for agents: one test for each sentence that obliges a tool.

Each holds for tools of a document and for those of a package generated from it.
"""

import base64
import inspect
from functools import partial
from pathlib import Path

import httpx
import pytest
from jsonschema import Draft202012Validator
from packages import imported

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
    load_tools,
    require_approval,
)
from openapi_tools.tools.toolset import open_session

ROOT = Path(__file__).parents[2]
PIXEL = base64.b64decode("R0lGODlhAQABAAAAACwAAAAAAQABAAA=")
SOLD = ToolCall(id="c1", name="find_pets_by_status", arguments={"status": "sold"})
PETS = [{"id": 7, "name": "Zoë"}]


class Api:
    """The pet store: keeps what it was asked, and answers as told."""

    def __init__(self):
        self.requests = []
        self.answer = httpx.Response(200, json=PETS)

    def client(self):
        return httpx.AsyncClient(transport=httpx.MockTransport(self._answered))

    @property
    def asked(self):
        return [f"{request.method} {request.url.path}" for request in self.requests]

    def _answered(self, request):
        self.requests.append(request)
        return self.answer


@pytest.fixture
def api():
    return Api()


KEYLESS = Settings(anonymous=True)


@pytest.fixture(params=["loaded", "generated"])
def load(request, api):
    """Gives the pet store's tools, of either kind."""
    if request.param == "loaded":
        yield partial(
            load_tools, ROOT / "specs" / "petstore.yaml", settings=KEYLESS, client=api.client()
        )
    else:
        with imported(ROOT / "generated" / "petstore", "petstore_tools") as package:
            yield partial(package.load, settings=KEYLESS, client=api.client())


@pytest.fixture
def toolset(load):
    return load()


@pytest.fixture
def tool(toolset):
    return toolset[SOLD.name]


# The result of a call


async def test_a_call_gives_the_result_type(tool, api):
    assert type(await tool(SOLD, Context())) is ToolResult
    assert api.asked == ["GET /api/v3/pet/findByStatus"]


@pytest.mark.parametrize(("status", "failed"), [(200, False), (400, True), (500, True)])
async def test_a_result_tells_success_from_failure(tool, api, status, failed):
    api.answer = httpx.Response(status, json=PETS)

    result = await tool(SOLD, Context())

    assert (result.is_error, result.success) == (failed, not failed)


async def test_what_cannot_be_sent_is_a_failure_too(tool, api):
    wrong = await tool(ToolCall(name=tool.name, arguments={"status": "lost"}), Context())
    other = await tool(ToolCall(name="get_inventory"), Context())

    assert (wrong.is_error, other.is_error) == (True, True)
    assert "'lost' is not one of" in str(wrong)
    assert "this tool is find_pets_by_status" in str(other)
    assert api.asked == []


async def test_the_output_is_a_list_of_contents(tool, api):
    found = (await tool(SOLD, Context())).as_content()
    api.answer = httpx.Response(404, json={"message": "no such pet"})
    failed = (await tool(SOLD, Context())).as_content()

    assert found == [TextContent(text='[{"id": 7, "name": "Zoë"}]')]
    assert [content.type for content in failed] == ["text"]
    assert "no such pet" in failed[0].text


async def test_an_image_is_an_image_content(tool, api):
    api.answer = httpx.Response(200, headers={"Content-Type": "image/gif"}, content=PIXEL)

    (image,) = (await tool(SOLD, Context())).as_content()

    assert image == ImageContent(data=base64.b64encode(PIXEL).decode(), media_type="image/gif")


async def test_a_result_has_fields_of_its_own_beside_these(tool, api):
    api.answer = httpx.Response(429, headers={"Retry-After": "3"}, json={"message": "slow down"})

    result = await tool(SOLD, Context())

    assert result.error["type"] == "rate_limited"
    assert (result.metadata["status"], result.tool_call_id) == (429, "c1")


# The arguments of a call


def test_arguments_are_defined_by_a_json_schema(toolset):
    for tool in toolset:
        Draft202012Validator.check_schema(tool.schema)
        assert tool.schema["type"] == "object"
        assert not tool.schema.keys() & {"oneOf", "anyOf", "allOf", "not", "enum", "$ref"}


async def test_a_tool_may_have_no_arguments(toolset, api):
    result = await toolset["get_inventory"](ToolCall(name="get_inventory"), Context())

    assert toolset["get_inventory"].schema["properties"] == {}
    assert (result.is_error, api.asked) == (False, ["GET /api/v3/store/inventory"])


# What the context provides


async def test_credentials_come_through_the_context(load, api):
    toolset = load(credentials={"api_key": "of the toolset"})
    call = ToolCall(name="get_inventory")

    await toolset["get_inventory"](call, Context(credentials={"api_key": "of the call"}))
    await toolset["get_inventory"](call, Context())

    assert [r.headers["api_key"] for r in api.requests] == ["of the call", "of the toolset"]


async def test_a_token_comes_through_a_context_of_another_kind(tool, api):
    own = type("AgentContext", (), {"credentials": {"petstore_auth": "t0ken"}})()

    for context in (own, {"credentials": {"petstore_auth": "t0ken"}}):
        await tool(SOLD, context)

    assert [r.headers["authorization"] for r in api.requests] == ["Bearer t0ken"] * 2


async def test_an_output_channel_comes_through_the_context(tool):
    channel = []

    def telling(call, context):
        context.state.append(f"calling {call.name}")

    tool.add_input_guardrails([telling])
    tool.add_output_guardrails([lambda result, context: context.state.append(str(result))])
    await tool(SOLD, Context(state=channel))

    assert channel == ["calling find_pets_by_status", '[{"id": 7, "name": "Zoë"}]']


# What guardrails see to


async def test_a_guardrail_sees_to_proper_arguments(tool, api):
    def only_sold(call, context):
        if call.arguments.get("status") != "sold":
            raise DeniedError("only sold pets may be listed.")

    tool.add_input_guardrails([only_sold])
    refused = await tool(ToolCall(name=tool.name, arguments={"status": "pending"}), Context())
    allowed = await tool(SOLD, Context())

    assert (refused.error["type"], str(refused)) == ("denied", "only sold pets may be listed.")
    assert not allowed.is_error
    assert len(api.requests) == 1


async def test_a_guardrail_asks_for_human_approval(toolset, api):
    asked = []

    async def person(call):
        asked.append(call)
        return call.arguments["petId"] == 7

    delete = toolset["delete_pet"]
    delete.add_input_guardrails([require_approval()])
    wanted = [ToolCall(id="c", name="delete_pet", arguments={"petId": pet}) for pet in (7, 8)]
    results = [await delete(call, Context(approve=person)) for call in wanted]
    nobody = await delete(wanted[0], Context())

    assert asked == wanted
    assert [result.is_error for result in (*results, nobody)] == [False, True, True]
    assert {result.error["type"] for result in (results[1], nobody)} == {"denied"}
    assert api.asked == ["DELETE /api/v3/pet/7"]


# The kind of tool that this package makes


def test_every_operation_of_a_specification_is_a_tool(toolset):
    assert len(toolset) == toolset.counts["operations"] == 19
    assert all(isinstance(tool, OperationTool) for tool in toolset)


# The members of a tool


def test_a_name_identifies_a_tool(toolset):
    names = [tool.name for tool in toolset]

    assert len(set(names)) == len(names)
    assert all(toolset[name].name == name for name in names)


def test_a_description_tells_what_a_tool_does(toolset):
    assert toolset["find_pets_by_status"].description.startswith("Finds Pets by status.")
    assert all(tool.description.strip() for tool in toolset)


def test_the_schema_is_that_of_the_arguments(tool):
    assert tool.schema["properties"].keys() == {"status"}
    assert tool.schema["additionalProperties"] is False


def test_strict_says_that_no_argument_is_optional(toolset):
    for tool in toolset:
        assert tool.strict is (
            set(tool.schema["properties"]) == set(tool.schema.get("required", ()))
        )
    assert toolset["get_pet_by_id"].strict
    assert not toolset["find_pets_by_status"].strict


def test_a_tool_is_called_with_a_call_and_a_context(tool):
    assert inspect.iscoroutinefunction(tool.__call__)
    assert list(inspect.signature(tool).parameters) == ["call", "context"]


async def test_a_call_holds_a_name_and_arguments(tool, api):
    await tool(SOLD, Context())
    await tool({"name": SOLD.name, "arguments": {"status": "pending"}}, Context())

    assert [r.url.params["status"] for r in api.requests] == ["sold", "pending"]


# The flow of a call: on_invoke, run, on_output; on_error when something is raised

STEPS = ("on_invoke", "run", "on_output", "on_error")


def noting(steps, failing=(), base=OperationTool):
    """Return what a subclass overrides: it notes each step, and fails where it should."""

    def step(name):
        async def noted(self, subject, context):
            steps.append((name, type(subject).__name__, context))
            if name in failing:
                raise LookupError(name)
            return await getattr(base, name)(self, subject, context)

        return noted

    return {name: step(name) for name in STEPS}


class Written(OperationTool):
    """A tool that somebody wrote by hand."""

    name = "find_pets_by_status"
    description = "Finds pets."
    input_schema = {  # noqa: RUF012 -- as generated tools have it
        "type": "object",
        "properties": {"status": {"enum": ["sold"]}},
        "additionalProperties": False,
    }


@pytest.fixture(params=["generated", "written"])
def base(request, api):
    """A class of tools that users subclass, and what makes a tool of it."""
    with imported(ROOT / "generated" / "petstore", "petstore_tools") as package:
        kind = package.FindPetsByStatus
        if request.param == "written":
            kind = type("Own", (Written,), {"operation": kind.operation})
        yield kind


@pytest.fixture
def made(base, api):
    """Makes a tool of a subclass with these members."""
    return lambda **members: type("Sub", (base,), members)(
        open_session(KEYLESS, client=api.client())
    )


async def test_a_call_goes_through_on_invoke_run_and_on_output(made, api):
    steps, context = [], Context()

    result = await made(**noting(steps))(SOLD, context)

    assert steps == [
        ("on_invoke", "ToolCall", context),
        ("run", "ToolCall", context),
        ("on_output", "ToolResult", context),
    ]
    assert result.output == PETS


async def test_on_invoke_may_refuse_a_call_before_it_runs(made, api):
    async def on_invoke(self, call, context):
        raise DeniedError("not on Sundays.")

    result = await made(on_invoke=on_invoke)(SOLD, Context())

    assert (result.error["type"], str(result)) == ("denied", "not on Sundays.")
    assert api.asked == []


async def test_run_is_what_gives_the_result(made, api):
    async def run(self, call, context=None):
        return ToolResult.ok([call.id, call.arguments, context.state])

    result = await made(run=run)(SOLD, Context(state="mine"))

    assert result.output == ["c1", {"status": "sold"}, "mine"]
    assert api.asked == []


async def test_on_output_may_change_the_result(made):
    async def on_output(self, output, context):
        return ToolResult.ok(len(output.output))

    assert (await made(on_output=on_output)(SOLD, Context())).output == 1


@pytest.mark.parametrize("failing", ["on_invoke", "run", "on_output"])
async def test_on_error_gives_the_result_when_something_is_raised(made, failing):
    async def on_error(self, error, context):
        return ToolResult.failed("protocol", f"{type(error).__name__} in {error}: {context.state}")

    members = noting([], failing=[failing]) | {"on_error": on_error}
    result = await made(**members)(SOLD, Context(state="mine"))

    assert result.is_error
    assert str(result) == f"LookupError in {failing}: mine"


async def test_a_failing_on_error_is_a_failure_and_raises_nothing(made):
    members = noting([], failing=["run", "on_error"])

    result = await made(**members)(SOLD, Context())

    assert result.is_error
    assert "LookupError" in str(result)


async def test_execute_takes_the_same_way(made):
    steps = []

    result = await made(**noting(steps)).execute({"status": "sold", "_tool_call_id": "c2"})

    assert [name for name, *_ in steps] == ["on_invoke", "run", "on_output"]
    assert result.tool_call_id == "c2"


async def test_the_steps_can_be_called_by_themselves(tool, api):
    found = await tool.run(SOLD, Context())
    handled = await tool.on_error(InputError("no such status."), Context())

    assert await tool.on_invoke(SOLD, Context()) == SOLD
    assert await tool.on_output(found, Context()) is found
    assert (found.output, handled.error["type"]) == (PETS, "invalid_input")


# What can be added to a tool


async def test_input_guardrails_can_be_added(tool, api):
    async def sold(call, context):
        return {"status": context.state}

    tool.add_input_guardrails([sold, lambda call, context: call.arguments["status"] == "sold"])
    changed = await tool(ToolCall(name=tool.name), Context(state="sold"))
    refused = await tool(SOLD, Context(state="pending"))

    assert [changed.is_error, refused.is_error] == [False, True]
    assert [r.url.params["status"] for r in api.requests] == ["sold"]


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


async def test_a_function_for_errors_can_be_added(tool, api):
    seen = []

    async def explain(error, context):
        seen.append((error, context))
        return ToolResult.failed("http", "the shop is closed.")

    tool.add_on_error_func(explain)
    context = Context()
    fine = await tool(SOLD, context)
    api.answer = httpx.Response(503, json={"message": "closed"})
    failed = await tool(SOLD, context)

    assert (fine.is_error, str(failed)) == (False, "the shop is closed.")
    ((error, given),) = seen
    assert isinstance(error, CallError)
    assert given is context


async def test_what_is_added_to_a_toolset_is_added_to_each_tool(toolset):
    toolset.add_input_guardrails([lambda call, context: False])
    toolset.add_on_error_func(lambda error, context: ToolResult.failed("denied", "closed."))
    toolset.add_output_guardrails(
        [lambda result, context: ToolResult.failed("denied", f"{result} For good.")]
    )

    results = [
        await toolset.call(name, arguments, context=Context())
        for name, arguments in [("get_inventory", {}), ("get_pet_by_id", {"petId": 1})]
    ]

    assert [str(result) for result in results] == ["closed. For good."] * 2
