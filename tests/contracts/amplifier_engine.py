"""Our tools in the real amplifier-core; `test_amplifier.py` runs these tests in their own process.

Its engine can abort an interpreter that ends by itself. What a model is shown follows the two
published orchestrators, in their own expressions:

- loop-basic emits `result` itself (it has no `to_dict`) with `tool:post`; what `hooks.emit` gives
  back is a JSON copy, another object, so it takes `json.dumps(copy)` of a dict or list, else
  `str(copy)`.
- loop-streaming does the same with `result.model_dump()`.
"""

import asyncio
import gc
import inspect
import json
import sys
from types import ModuleType, SimpleNamespace

import pytest
from amplifier_core import (
    AmplifierSession,
    ChatResponse,
    HookResult,
    ModuleCoordinator,
    TextBlock,
    ToolCall,
)
from amplifier_core import ToolResult as CoreResult
from amplifier_core.approval import ApprovalTimeoutError
from amplifier_core.loader import ModuleLoader
from amplifier_core.message_models import ChatRequest, Message, ToolSpec
from amplifier_core.validation import ToolValidator
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests
from obligations import GENERATED, NAMES, SPEC
from packages import import_package
from pet_shop import PNG
from servers.recorder import CannedResponse

from openapi_tools import Settings, SettingsError, load_tools, require_approval
from openapi_tools.common.json_values import dump_json
from openapi_tools.contracts import amplifier

KINDS = ("toolset", "module", "package")
LOOPS = ("loop-basic", "loop-streaming")
BASE_PATH = "/api/v3"
SECRET = "hunter2"
PET = {"id": 3, "name": "Rêx", "photoUrls": [], "tags": None}
IMAGE = f"[image: image/png, {len(PNG)} bytes]"
NO_PET = CannedResponse(status=404, body=b'{"message": "no such pet"}')
PLAN = {"session": {"orchestrator": {"module": "loop-test"}, "context": {"module": "context-test"}}}
WITH_SPEC = {"spec": str(SPEC)}


@pytest.fixture(scope="module", autouse=True)
def package():
    """The generated package, and the entry point, which this tree only declares."""
    sys.modules["amplifier_module_tool_openapi"] = amplifier
    with import_package(GENERATED, "petstore_tools") as package:
        yield package


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def mount(kind, package, recorder):
    """Mount the petstore's tools into a coordinator; the cleanup."""
    url, credentials, settings = recorder.url + BASE_PATH, {"api_key": SECRET}, {"anonymous": True}
    settings["show_changes"] = False  # requests are counted
    if kind == "toolset":
        toolset = load_tools(
            SPEC, settings=Settings(base_url=url, **settings), credentials=credentials
        )
        return toolset.mount
    config = {"base_url": url, "credentials": credentials, "settings": settings}
    if kind == "module":
        return lambda coordinator: amplifier.mount(coordinator, {**WITH_SPEC, **config})
    return lambda coordinator: package.mount(coordinator, config)


@pytest.fixture
async def tools(mount, coordinator):
    """The mounted tools, by name."""
    cleanup = await mount(coordinator)
    yield coordinator.get("tools")
    await cleanup()
    assert coordinator.get("tools") == {}


# What is mounted


async def test_what_is_mounted_is_what_amplifier_calls_a_tool(tools, mount, coordinator):
    assert list(tools) == NAMES
    for name, tool in tools.items():
        assert (tool.name, tool.input_schema["type"]) == (name, "object")
        assert tool.description
        assert tool.get_schema() == tool.input_schema
        assert inspect.iscoroutinefunction(tool.execute)
        assert repr(tool).startswith(f"<tool {name}: ")
        assert not hasattr(tool, "native_tool_spec"), "no provider runs it"
        assert not hasattr(tool, "_other")
    assert tools["get_pet_by_id"].read_only
    with pytest.raises(SettingsError, match="already mounted: add_pet, create_user, "):
        await mount(coordinator)


async def test_the_loader_finds_the_module_by_its_entry_point(coordinator, monkeypatch):
    monkeypatch.delitem(sys.modules, "amplifier_module_tool_openapi")
    loader = ModuleLoader()

    (listed,) = {module.type for module in await loader.discover() if module.id == "tool-openapi"}
    mount = await loader.load("tool-openapi", WITH_SPEC)
    cleanup = await mount(coordinator)

    assert (listed, list(coordinator.get("tools"))) == ("tool", NAMES)
    await cleanup()


@pytest.mark.parametrize("config", [None, {}, {"base_url": "http://127.0.0.1:9"}], ids=str)
@pytest.mark.parametrize(
    ("name", "needed", "without"),
    [
        ("openapi_tools.contracts.amplifier", WITH_SPEC, 0),
        ("amplifier_module_tool_petstore", {}, len(NAMES)),
    ],
)
async def test_the_validator_of_amplifier_passes(name, needed, without, config):
    checked = await ToolValidator().validate(name, config=config and {**needed, **config})

    tools = [one for one in checked.checks if one.message.endswith("implements Tool interface")]
    assert checked.passed
    assert [check.message for check in checked.checks if not check.passed] == []
    assert len(tools) == (len(NAMES) if config else without)


MODULES = {
    "module": f"""
from openapi_tools.contracts import amplifier
from openapi_tools.common.json_values import dump_json

async def mount(coordinator, config=None):
    return await amplifier.mount(coordinator, config or {WITH_SPEC})
""",
    "package": "from petstore_tools import mount\n",
}


class TestAmplifiersOwnTests(ToolBehaviorTests, ToolStructuralTests):
    @pytest.fixture(params=MODULES)
    def module_path(self, request, tmp_path):
        (tmp_path / "__init__.py").write_text(MODULES[request.param])
        return tmp_path


# What a call gives


async def read_display(loop, coordinator, result):
    """Return what a model is shown by an orchestrator."""
    data = result
    if loop == "loop-basic" and hasattr(result, "to_dict"):
        data = result.to_dict()
    elif loop == "loop-streaming":
        data = result.model_dump() if hasattr(result, "model_dump") else str(result)
    post = await coordinator.hooks.emit("tool:post", {"tool_name": "x", "result": data})
    copy = post.data.get("result")
    return json.dumps(copy) if isinstance(copy, dict | list) else str(copy)


def typed_response(media_type, body):
    return CannedResponse(headers=[("Content-Type", media_type)], body=body)


DISPLAYED = {
    "object": (CannedResponse(body=json.dumps(PET).encode()), PET, dump_json(PET)),
    "list": (CannedResponse(body=b"[]"), [], "[]"),
    "zero": (CannedResponse(body=b"0"), 0, "0"),
    "false": (CannedResponse(body=b"false"), False, "false"),
    "text": (typed_response("text/plain", "né\nja".encode()), "né\nja", "né\nja"),
    "empty text": (typed_response("text/plain", b""), None, "Success"),
    "nothing": (CannedResponse(status=204, headers=[]), None, "Success"),
    "image": (typed_response("image/png", PNG), IMAGE, IMAGE),
}


async def call_pet(tools, recorder, response):
    recorder.response = response
    result = await tools["get_pet_by_id"].execute({"petId": 3, "_tool_call_id": "call-1"})
    assert isinstance(result, CoreResult)
    assert sorted(type(result).model_fields) == ["content", "error", "output", "success"]
    assert (result.tool_call_id, result.metadata["status"]) == ("call-1", response.status)
    assert str(result.model_copy()) == str(result) == result.get_serialized_output()
    assert result.model_copy().content == result.content
    return result


@pytest.mark.parametrize("row", DISPLAYED)
async def test_a_success_is_clean_under_both_orchestrators(tools, coordinator, recorder, row):
    response, output, text = DISPLAYED[row]

    result = await call_pet(tools, recorder, response)
    basic, streaming = [await read_display(loop, coordinator, result) for loop in LOOPS]

    assert (result.success, result.output, result.error) == (True, output, None)
    assert str(result) == basic == text
    if isinstance(output, dict | list):  # loop-streaming writes it again, in ASCII
        assert json.loads(streaming) == output
    else:
        assert streaming == text
    assert result.model_dump(mode="python") == {"success": True, "output": output}


async def test_an_error_is_shown_once_under_both_orchestrators(tools, coordinator, recorder):
    result = await call_pet(tools, recorder, NO_PET)

    message = "GET /api/v3/pet/3 returned 404 Not Found: no such pet."
    error = {"message": message, "type": "http", "status": 404, "retryable": False}
    assert (result.is_error, result.output, result.error) == (True, message, error)
    assert str(result) == message
    assert [await read_display(loop, coordinator, result) for loop in LOOPS] == [message] * 2
    assert result.model_dump(mode="python") == {"success": False, "error": error}


async def test_an_image_is_a_block_of_its_own_and_in_no_text(tools, coordinator, recorder):
    result = await call_pet(tools, recorder, DISPLAYED["image"][0])

    (block,) = json.loads(result.model_dump_json())["content"]
    assert (block["type"], block["source"]["media_type"]) == ("image", "image/png")
    (hook_block,) = result.safe_hook_presentation()["content"]
    assert hook_block["type"] == "text"
    for loop in LOOPS:
        assert block["source"]["data"] not in await read_display(loop, coordinator, result)


async def test_the_call_id_is_found_where_the_orchestrator_keeps_it(tools, coordinator):
    async def called_id(arguments):
        return (await tools["get_inventory"].execute(arguments)).tool_call_id

    contexts, arguments = {asyncio.current_task(): {"tool_call_id": "of the task"}}, {}
    coordinator._tool_dispatch_contexts = contexts
    assert await called_id(arguments) == await called_id({"_tool_call_id": "own"}) == "of the task"
    assert arguments == {}, "the input is not changed"

    coordinator._tool_dispatch_contexts = {}
    assert [await called_id({}), await called_id({"_tool_call_id": "own"})] == ["", "own"]


# Events, approval, cancellation


async def test_the_events_of_every_tool_are_announced_while_it_is_mounted(mount, coordinator):
    cleanup = await mount(coordinator)
    during = await coordinator.collect_contributions("observability.events")
    await cleanup()
    await mount(coordinator)  # its cleanup function is dropped
    gc.collect()

    events = ("started", "completed", "error")
    names = [f"{name}:{event}" for name in NAMES for event in events]
    assert during == [names]
    assert await coordinator.collect_contributions("observability.events") == [[], names]


async def test_a_call_is_reported_to_the_hooks_with_little_and_no_secret(
    tools, coordinator, recorder
):
    events = []

    async def hear(event, data):
        events.append((event, data))
        return HookResult(action="continue")

    async def fail(event, data):
        raise RuntimeError("a broken hook")

    for event in ("started", "completed", "error"):
        name = f"get_pet_by_id:{event}"
        coordinator.hooks.register(name, fail, 0, f"fail {event}")
        coordinator.hooks.register(name, hear, 1, f"hear {event}")
    recorder.responses += [CannedResponse(), CannedResponse(status=500, body=SECRET.encode())]
    inputs = [{"petId": 3, "_tool_call_id": "1"}, {"petId": 3, "_tool_call_id": "2"}, {}]

    successes = [(await tools["get_pet_by_id"].execute(arguments)).success for arguments in inputs]

    assert successes == [True, False, False], "a hook that fails fails no call"
    assert SECRET not in json.dumps(events)
    for event, data in events:
        assert data.pop("timestamp")
        assert event.endswith(":started") == ("duration" not in data)
        assert data.pop("duration", 0.0) >= 0
        assert data.pop("tool_name") == "get_pet_by_id"
    assert events == [
        ("get_pet_by_id:started", {"tool_call_id": "1"}),
        ("get_pet_by_id:completed", {"tool_call_id": "1", "success": True}),
        ("get_pet_by_id:started", {"tool_call_id": "2"}),
        ("get_pet_by_id:error", {"tool_call_id": "2", "success": False, "error_type": "http"}),
        ("get_pet_by_id:started", {}),
        ("get_pet_by_id:error", {"success": False, "error_type": "invalid_input"}),
    ]


REFUSED = "delete_pet was not approved"
APPROVALS = {
    "allow": ("Allow", "{}"),
    "deny": ("Deny", f"{REFUSED}."),
    "default": ("deny", f"{REFUSED}."),
    "late": (ApprovalTimeoutError(), f"{REFUSED}: no answer within 300 seconds."),
    "broken": (OSError(), "Approval failed (OSError); the call was refused."),
    "nobody": (None, "delete_pet needs approval, but approval is not configured."),
}


@pytest.mark.parametrize("system", APPROVALS)
async def test_the_coordinators_approval_system_decides(mount, recorder, system):
    answer, text = APPROVALS[system]
    asked = []

    async def request_approval(*question):
        asked.append(question)
        if isinstance(answer, Exception):
            raise answer
        return answer

    session = SimpleNamespace(session_id="s", parent_id=None, config=PLAN)
    elicitation = answer and SimpleNamespace(request_approval=request_approval)
    coordinator = ModuleCoordinator(session, elicitation)
    cleanup = await mount(coordinator)
    for tool in coordinator.get("tools").values():
        tool.add_input_guardrails([require_approval()])
    delete = coordinator.get("tools", "delete_pet")
    result = await delete.execute({"petId": 7})
    read = await coordinator.get("tools", "get_inventory").execute({})
    await cleanup()

    assert (result.success, str(result)) == (system == "allow", text)
    assert (delete.needs_approval, read.success) == (True, True)
    sent = [request.method for request in recorder.requests]
    assert sent == (["DELETE", "GET"] if result.success else ["GET"])
    question = 'Call delete_pet (DELETE /pet/{petId})?\n  "petId": 7'
    expected = [] if answer is None else [(question, ["Allow", "Deny"], 300.0, "deny")]
    assert asked == expected


async def test_a_session_that_is_cancelled_at_once_sends_no_more(tools, coordinator, recorder):
    await coordinator.request_cancel(True)

    result = await tools["get_pet_by_id"].execute({"petId": 3})

    assert result.error["type"] == "denied"
    assert result.error["message"] == "get_pet_by_id was not called, because the session is ending."
    assert recorder.requests == []


# A session


class Loop:
    """An orchestrator that treats tools and results as the published ones do."""

    def __init__(self, loop):
        self.loop = loop

    async def execute(self, prompt, context, providers, tools, hooks, coordinator):
        (provider,) = providers.values()
        while True:
            specs = [
                ToolSpec(name=t.name, description=t.description, parameters=t.input_schema)
                for t in tools.values()
            ]
            request = ChatRequest(messages=[Message(role="user", content=prompt)], tools=specs)
            response = await provider.complete(request)
            if not response.tool_calls:
                return response.content[0].text
            for message in await asyncio.gather(
                *(self.call(call, tools, coordinator) for call in response.tool_calls)
            ):
                await context.add_message(message)

    async def call(self, call, tools, coordinator):
        data = {"tool_name": call.name, "tool_input": call.arguments}
        await coordinator.hooks.emit("tool:pre", data)
        if self.loop == "loop-streaming":
            if not hasattr(coordinator, "_tool_dispatch_contexts"):
                coordinator._tool_dispatch_contexts = {}
            contexts = coordinator._tool_dispatch_contexts
            contexts[asyncio.current_task()] = {"tool_call_id": call.id}
        result = await tools[call.name].execute(call.arguments)
        content = await read_display(self.loop, coordinator, result)
        return {"id": call.id, "content": content, "known": result.tool_call_id}


class Scripted:
    """A provider that asks for the calls it was given, turn by turn."""

    name = "scripted"

    def __init__(self, *turns):
        self.turns = list(turns)
        self.offered = []

    async def complete(self, request, **_):
        self.offered = [tool.name for tool in request.tools]
        calls = self.turns.pop(0) if self.turns else None
        return ChatResponse(content=[TextBlock(text="done")], tool_calls=calls)


class Memory:
    """A context manager that only keeps what it is told."""

    def __init__(self):
        self.messages = []

    async def add_message(self, message):
        self.messages.append(message)


def module(name, point, value):
    """Make a module of Amplifier that mounts a value."""

    async def mount(coordinator, config=None):
        await coordinator.mount(point, value)

    stub = ModuleType(name)
    stub.mount = mount
    sys.modules[name] = stub


def make_call(call_id, name, **arguments):
    return ToolCall(id=call_id, name=name, arguments=arguments)


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_session_runs_a_call_an_error_a_parameterless_call_and_parallel_calls(
    kind, mount, recorder, loop
):
    module("amplifier_module_loop_test", "orchestrator", Loop(loop))
    module("amplifier_module_context_test", "context", Memory())
    name, config = ("tool-openapi", WITH_SPEC) if kind == "module" else ("tool-petstore", {})
    options = {"base_url": recorder.url + BASE_PATH, "settings": {"anonymous": True}}
    entry = {"module": name, "config": {**config, **options}}
    session = AmplifierSession({**PLAN, "tools": [] if kind == "toolset" else [entry]})
    await session.initialize()
    coordinator = session.coordinator
    if kind == "toolset":
        coordinator.register_cleanup(await mount(coordinator))
    both = asyncio.Barrier(2)

    async def together(*_):
        await both.wait()

    for parallel in ("find_pets_by_status", "find_pets_by_tags"):
        coordinator.get("tools", parallel).add_input_guardrails([together])
    provider = Scripted(
        [make_call("a", "get_pet_by_id", petId=3)],
        [make_call("b", "get_pet_by_id", petId=9)],
        [make_call("c", "get_inventory")],
        [make_call("d", "find_pets_by_status", status="sold"),
         make_call("e", "find_pets_by_tags", tags=["x"])],
        [make_call("f", "get_pet_by_id", petId="three")],
    )  # fmt: skip
    bodies = [json.dumps(PET).encode(), b'{"sold": 2}', b"[]", b"[]"]
    recorder.responses += [CannedResponse(body=body) for body in bodies]
    recorder.responses.insert(1, NO_PET)
    await coordinator.mount("providers", provider, name="scripted")

    answer = await session.execute("do it")
    messages = coordinator.get("context").messages
    tool = coordinator.get("tools", "get_inventory")
    await session.cleanup()

    assert (answer, provider.offered) == ("done", NAMES)
    assert [(message["id"], message["content"]) for message in messages] == [
        ("a", dump_json(PET) if loop == "loop-basic" else json.dumps(PET)),
        ("b", "GET /api/v3/pet/9 returned 404 Not Found: no such pet."),
        ("c", '{"sold":2}' if loop == "loop-basic" else '{"sold": 2}'),
        ("d", "[]"),
        ("e", "[]"),
        ("f", "/petId: expected an integer, got 'three' (a string)."),
    ]
    known = {message["known"] for message in messages}
    assert known == ({""} if loop == "loop-basic" else set("abcdef"))
    assert coordinator.get("tools") == {}
    assert "closed" in str(await tool.execute({}))
