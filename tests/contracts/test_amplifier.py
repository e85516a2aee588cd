"""Our tools in the real amplifier-core: `amplifier_process` says what is tried, and how."""

import base64
import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from amplifier_process import KINDS, LOOPS, PET, PNG, SECRET, SPEC, observe
from documents import document, operation
from servers.recorder import Answer

from openapi_tools import (
    Context,
    CredentialsError,
    DocumentError,
    Select,
    Settings,
    SettingsError,
    SourceError,
    ToolResult,
    load_tools,
    require_approval,
)
from openapi_tools.contracts.amplifier import Presented, mount, present, translated

needs_amplifier = pytest.mark.skipif(
    importlib.util.find_spec("amplifier_core") is None, reason="amplifier-core is not installed"
)
every_kind = pytest.mark.parametrize("kind", KINDS)
ROOT = Path(__file__).parents[2]
NAMES = [
    *("update_pet", "add_pet", "find_pets_by_status", "find_pets_by_tags", "get_pet_by_id"),
    *("update_pet_with_form", "delete_pet", "upload_file", "get_inventory", "place_order"),
    *("get_order_by_id", "delete_order", "create_user", "create_users_with_list_input"),
    *("login_user", "logout_user", "get_user_by_name", "update_user", "delete_user"),
]
MESSAGE = "GET /api/v3/pet/3 answered 404 Not Found: no such pet."
IMAGE = f"[image: image/png, {len(PNG)} bytes]"


# What is mounted


@pytest.mark.long
@needs_amplifier
@every_kind
def test_what_is_mounted_is_what_amplifier_calls_a_tool(kind):
    found = observe(kind)["tools"]

    assert list(found["tools"]) == NAMES
    for name, facts in found["tools"].items():
        own_name, described, root, schema, coroutine, _, text, native = facts
        assert own_name == name
        assert (described, root, schema, coroutine) == (True, "object", True, True)
        assert text.startswith(f"<tool {name}: ")
        assert native is False, "it is a function tool, not one that a provider runs"
    assert found["tools"]["get_pet_by_id"][5] is True, "it is read-only, as the tool behind it"
    assert found["left"] == []


@pytest.mark.long
@needs_amplifier
@every_kind
def test_the_validator_of_amplifier_passes(kind):
    found = observe(kind)["tools"]["validated"]

    without = len(NAMES) if kind == "generated" else 0
    assert found["none"] == found["empty"] == [True, [], without]
    assert found["some"] == [True, [], len(NAMES)]


# What a call gives


@needs_amplifier
@every_kind
def test_every_result_is_amplifiers_own(kind):
    for name, found in observe(kind)["results"].items():
        assert found["own"], name
        assert found["fields"] == ["content", "error", "output", "success"], name
        assert found["views"][:2] == [name == "error", f"call-{name}"]
        assert found["copied"], name
        assert found["copied content"], name


SHOWN = [
    ("object", PET, json.dumps(PET, ensure_ascii=False)),
    ("list", [], "[]"),
    ("zero", 0, "0"),
    ("false", False, "false"),
    ("text", "né\nja", "né\nja"),
    ("empty text", None, "Success"),
    ("nothing", None, "Success"),
    ("image", IMAGE, IMAGE),
]


@pytest.mark.long
@needs_amplifier
@every_kind
@pytest.mark.parametrize(("name", "output", "text"), SHOWN, ids=[row[0] for row in SHOWN])
def test_a_success_is_clean_under_both_orchestrators(kind, name, output, text):
    found = observe(kind)["results"][name]

    assert found["parts"] == [True, output, None]
    assert found["serialized"] == found["loop-basic"] == text
    if isinstance(output, dict | list):  # loop-streaming writes it anew, in ASCII
        assert json.loads(found["loop-streaming"]) == output
    else:
        assert found["loop-streaming"] == text
    assert found["dump"] == {"success": True, "output": output}


@needs_amplifier
@every_kind
def test_an_error_is_shown_once_under_both_orchestrators(kind):
    found = observe(kind)["results"]["error"]

    error = {"message": MESSAGE, "type": "http", "status": 404, "retryable": False}
    assert found["parts"] == [False, MESSAGE, error]
    assert found["serialized"] == found["loop-basic"] == found["loop-streaming"] == MESSAGE
    assert found["dump"] == {"success": False, "error": error}


@needs_amplifier
@every_kind
def test_an_image_is_a_block_of_its_own_and_in_no_text(kind):
    found = observe(kind)["results"]["image"]

    (block,) = found["content"]
    assert block["type"] == "image"
    assert block["source"]["media_type"] == "image/png"
    (told,) = found["event"]["content"]
    assert told["type"] == "text"
    for loop in LOOPS:
        assert block["source"]["data"] not in found[loop]


@needs_amplifier
@every_kind
def test_nothing_is_raised_whatever_comes_in_or_out(kind):
    found = observe(kind)["calls"]

    assert found["hostile"] == [False, False, False, False]
    withheld = "<lambda> gives a result that is not JSON; it was withheld."
    assert found["unshowable"] == [False, withheld]


@needs_amplifier
@every_kind
def test_the_call_id_is_found_where_the_orchestrator_keeps_it(kind):
    found = observe(kind)["calls"]

    assert (found["task"], found["input"], found["none"]) == (
        "of the task",
        "of the task",
        "",
    )
    assert found["own"] == "own"
    assert found["given"] == {}, "the input is not changed"


# Events, approval, cancellation


@needs_amplifier
@every_kind
def test_the_events_of_every_tool_are_announced_while_it_is_mounted(kind):
    found = observe(kind)["events"]

    wanted = [f"{name}:{event}" for name in NAMES for event in ("started", "completed", "error")]
    assert found["announced"] == wanted
    assert found["after"] == [[]]


@needs_amplifier
@every_kind
def test_events_keep_their_names_when_the_cleanup_function_is_dropped(kind):
    found = observe(kind)["events"]

    assert found["kept"] == found["announced"]


@needs_amplifier
@every_kind
def test_a_call_is_told_to_the_hooks_with_little_and_no_secret(kind):
    found = observe(kind)["events"]

    assert found["said"] == [True, False, False], "a hook that fails fails no call"
    first = {"tool_name": "get_pet_by_id", "tool_call_id": "1"}
    second = {**first, "tool_call_id": "2"}
    third = {"tool_name": "get_pet_by_id"}
    error = {"success": False, "error_type": "http"}
    wanted = [
        ("get_pet_by_id:started", first),
        ("get_pet_by_id:completed", {**first, "success": True}),
        ("get_pet_by_id:started", second),
        ("get_pet_by_id:error", {**second, **error}),
        ("get_pet_by_id:started", third),
        ("get_pet_by_id:error", {**third, **error, "error_type": "invalid_input"}),
    ]
    assert SECRET not in json.dumps(found["heard"])
    assert len(found["heard"]) == len(wanted)
    for (event, data), (name, facts) in zip(found["heard"], wanted, strict=True):
        assert data.pop("timestamp")
        assert event.endswith(":started") == ("duration" not in data)
        assert data.pop("duration", 0.0) >= 0
        assert (event, data) == (name, facts)


@needs_amplifier
@every_kind
@pytest.mark.parametrize(
    ("system", "text"),
    [
        ("allow", "{}"),
        ("deny", "delete_pet was not approved."),
        ("default", "delete_pet was not approved."),
        ("late", "delete_pet was not approved: no answer within 300 seconds."),
        ("broken", "Approval failed (OSError); the call was refused."),
        ("nobody", "delete_pet needs approval, but approval is not configured."),
    ],
)
def test_the_coordinators_approval_system_decides(kind, system, text):
    allowed, said, read, sent, needs = observe(kind)["approvals"]["answers"][system]

    assert (allowed, said) == (system == "allow", text)
    assert read is True, "what only reads needs no approval"
    assert sent == (["DELETE", "GET"] if allowed else ["GET"])
    assert needs is True


@needs_amplifier
@every_kind
def test_whoever_is_asked_sees_the_call(kind):
    asked = observe(kind)["approvals"]["asked"]

    prompt = 'Call delete_pet (DELETE /pet/{petId})?\n  "petId": 7'
    assert asked == [prompt, ["Allow", "Deny"], 300.0, "deny"]


@needs_amplifier
@every_kind
def test_a_session_that_is_cancelled_at_once_sends_no_more(kind):
    error, sent = observe(kind)["calls"]["stopped"]

    assert error["type"] == "denied"
    assert error["message"] == "get_pet_by_id was not called: the session ends."
    assert sent == 0


# The same without an engine: results and hooks alone


class Desk:
    """A coordinator that keeps what it is told."""

    def __init__(self, *, approve=None, fails=False):
        self.heard = []
        self.contributors = []
        self.fails = fails
        self.hooks = self.cancellation = self
        self.is_immediate = False
        self.approval_system = None if approve is None else self
        self.answer = approve

    def register_contributor(self, channel, name, callback):
        self.contributors.append((channel, name, callback))

    async def emit(self, event, data):
        if self.fails:
            raise OSError
        self.heard.append((event, data))

    async def request_approval(self, prompt, *rest):
        self.heard.append((prompt, {}))
        return self.answer


def presented(desk, url):
    paths = {"/x": {"get": operation(operationId="look"), "post": operation(operationId="make")}}
    paths["/x"]["post"] |= {
        "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}
    }
    return present(desk, load_tools(document(paths, servers=[{"url": url}])))


@needs_amplifier
async def test_events_are_announced_for_as_long_as_the_tools_are_presented():
    desk = Desk()

    with presented(desk, "http://127.0.0.1:9") as tools:
        ((channel, name, callback),) = desk.contributors
        during = callback()

    assert (channel, name) == ("observability.events", "openapi-tools")
    assert during == [f"{t.name}:{e}" for t in tools for e in ("started", "completed", "error")]
    assert callback() == []


@needs_amplifier
@pytest.mark.parametrize("fails", [False, True])
async def test_a_presented_tool_calls_and_tells(recorder, fails):
    desk = Desk(fails=fails)

    with presented(desk, recorder.url) as (look, make):
        good = await look.execute({"_tool_call_id": "1"})
        bad = await look.execute({"nothing": 1})
        look.add_input_guardrails([lambda call, context: context.state is desk])
        guarded = await look.execute({})
        desk.is_immediate = True
        stopped = await make.execute({})

    assert (str(good), good.success, good.tool_call_id, good.is_error) == ("{}", True, "1", False)
    assert good.metadata["status"] == 200
    assert bad.error["type"] == "invalid_input"
    assert guarded.success
    assert stopped.error["type"] == "denied"
    assert (look.name, make.get_schema()) == ("look", make.input_schema)
    assert (look.description, look.read_only, make.read_only) == (look.description, True, False)
    assert repr(look).startswith("<tool look")
    assert [event for event, _ in desk.heard] == (
        []
        if fails
        else [
            *("look:started", "look:completed", "look:started", "look:error"),
            *("look:started", "look:completed", "make:started", "make:error"),
        ]
    )
    with pytest.raises(AttributeError):
        _ = look._something


@needs_amplifier
@pytest.mark.parametrize("listeners", [[], ["somebody"]])
async def test_an_event_that_nobody_hears_costs_nothing(recorder, listeners):
    desk = Desk()
    desk.list_handlers = lambda event: {event: listeners}

    with presented(desk, recorder.url) as (look, _):
        await look.execute({})

    assert bool(desk.heard) is bool(listeners)


@needs_amplifier
async def test_a_long_or_strange_argument_cannot_hide_what_is_asked(recorder):
    desk = Desk(approve="Allow")

    with presented(desk, recorder.url) as (_, make):
        make.add_input_guardrails([require_approval()])
        result = await make.execute({"body": {"x": "\x1b[2J" + "y" * 5000}})

    assert result.success
    (prompt,) = [text for text, _ in desk.heard if text.startswith("Call")]
    assert prompt.isascii()
    assert prompt.replace("\n", "").isprintable()
    assert prompt.endswith(" characters)")
    assert len(prompt) < 1200


TRANSLATED = [
    (ToolResult.ok({"a": [1, None, True]}), {"a": [1, None, True]}, '{"a": [1, null, true]}'),
    (ToolResult.ok(""), "", "Success"),
    (ToolResult.ok(None), None, "Success"),
    (ToolResult.ok("a\x00b\ud800c"), "a\x00b\ud800c", "abc"),
    (ToolResult.ok("é"), "é", "é"),
    (ToolResult.failed("http", "no", facts={"status": 500, "body": "x"}), "no", "no"),
    (ToolResult(success=False), None, "Error: Failed"),
    (ToolResult(success=False, error={"message": "no"}), "no", "no"),
    (ToolResult.ok({1}), "the result cannot be shown (TypeError).", "the result cannot be shown"),
]


@needs_amplifier
@pytest.mark.parametrize(
    ("result", "output", "text"), TRANSLATED, ids=[ascii(row[0].output)[:20] for row in TRANSLATED]
)
def test_a_result_is_translated(result, output, text):
    made = translated(result)

    assert made.output == output
    assert str(made).startswith(text)
    assert str(made) == made.get_serialized_output()
    assert not hasattr(made, "to_dict")
    assert made.error is None or "body" not in made.error


@needs_amplifier
def test_texts_beside_images_stay_texts():
    data = base64.b64encode(PNG).decode()
    image = {"base64": data, "media_type": "image/png", "bytes": len(PNG)}

    made = translated(ToolResult.ok(["before", image]).for_call("1"))

    assert made.output == str(made) == f"before\n{IMAGE}"
    assert [block.type for block in made.content] == ["text", "image"]
    assert "content" not in made.model_dump(mode="python")
    copy = made.model_copy(update={"output": "x"})
    assert (copy.output, copy.content, copy.tool_call_id) == ("x", made.content, "1")


# A session


@needs_amplifier
@every_kind
@pytest.mark.parametrize("loop", LOOPS)
def test_a_session_runs_a_call_an_error_a_parameterless_call_and_parallel_calls(kind, loop):
    answer, offered, messages, left = observe(kind)["session"][loop]

    assert (answer, offered, left) == ("done", NAMES, [])
    missing = "GET /api/v3/pet/9 answered 404 Not Found: no such pet."
    wrong = "/petId: expected an integer, got 'three' (a string)."
    told = {
        "a": json.dumps(PET, ensure_ascii=loop == "loop-streaming"),
        "b": missing,
        "c": '{"sold": 2}',
        "d": "[]",
        "e": "[]",
        "f": wrong,
    }
    shown = {message["id"]: message["content"] for message in messages}
    assert list(shown) == list(told)
    assert shown == told
    for message in messages:
        assert message["known"] == ("" if loop == "loop-basic" else message["id"])


# Amplifier's own tests

BEHAVIOUR = """
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests


class TestBehaviour(ToolBehaviorTests):
    pass


class TestStructure(ToolStructuralTests):
    pass
"""
SHIMS = {
    "module": """
from openapi_tools.contracts import amplifier

CONFIG = {"spec": SPEC, "base_url": "http://127.0.0.1:9"}


async def mount(coordinator, config=None):
    return await amplifier.mount(coordinator, config or CONFIG)
""",
    "loaded": """
from openapi_tools import Settings, load_tools


async def mount(coordinator, config=None):
    toolset = load_tools(SPEC, settings=Settings(base_url="http://127.0.0.1:9"))
    return await toolset.mount(coordinator)
""",
    "generated": "from petstore_tools import mount\n",
    "unconfigured": "from openapi_tools.contracts.amplifier import mount\n",
}


@pytest.mark.long
@needs_amplifier
@pytest.mark.parametrize("kind", SHIMS)
def test_amplifiers_behaviour_and_structure_tests_pass(kind, tmp_path):
    package = tmp_path / "amplifier-module-tool-openapi" / "amplifier_module_tool_openapi"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"SPEC = {str(SPEC)!r}\n{SHIMS[kind]}")
    (package.parent / "test_it.py").write_text(BEHAVIOUR)
    # Without a configuration there is no tool whose behaviour could be tested.
    chosen = ["test_it.py::TestStructure"] if kind == "unconfigured" else ["test_it.py"]
    scope = "asyncio_default_fixture_loop_scope=function"
    options = ["-q", "-p", "no:cacheprovider", "-o", scope, "-W", "error", "--rootdir=.", *chosen]
    path = os.pathsep.join(map(str, (ROOT, ROOT / "generated" / "petstore")))
    code = "import os, pytest, sys; code = pytest.main(sys.argv[1:]); sys.stdout.flush()"

    ran = subprocess.run(
        [sys.executable, "-B", "-c", f"{code}; os._exit(code)", *options],
        cwd=package.parent,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ("1 passed" if kind == "unconfigured" else "8 passed") in ran.stdout


# The module `tool-openapi`


class Coordinator:
    """As much of a coordinator as the contract asks for."""

    def __init__(self):
        self.tools = {}

    async def mount(self, point, tool, name=None):
        assert point == "tools"
        self.tools[name or tool.name] = tool

    async def unmount(self, point, name=None):
        del self.tools[name]

    def get(self, point, name=None):
        return self.tools


def described(name):
    paths = {"/x": {"get": operation(operationId=name), "post": operation(operationId="make")}}
    return document(paths, servers=[{"url": "http://127.0.0.1:9"}])


def test_the_package_declares_the_module():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    declared = project["entry-points"]["amplifier.modules"]
    assert declared == {"tool-openapi": "openapi_tools.contracts.amplifier:mount"}


@needs_amplifier
def test_the_loader_finds_the_module_by_its_entry_point(tmp_path):
    # What an installer makes of pyproject.toml: this tree may be installed from an older one.
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (entry,) = declared["project"]["entry-points"]["amplifier.modules"].items()
    info = tmp_path / "openapi_tools_here-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: openapi-tools-here\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[amplifier.modules]\n{entry[0]} = {entry[1]}\n")
    code = """
import asyncio, os, sys
from amplifier_core.loader import ModuleLoader
from amplifier_core.testing import MockCoordinator


async def main():
    loader = ModuleLoader()
    (listed,) = {m.type for m in await loader.discover() if m.id == "tool-openapi"}
    coordinator = MockCoordinator()
    mount = await loader.load("tool-openapi", {"spec": sys.argv[1]})
    cleanup = await mount(coordinator)
    print(listed, len(coordinator.get("tools")))
    await cleanup()


asyncio.run(main())
sys.stdout.flush()
os._exit(0)
"""

    ran = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", code, str(SPEC)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.stdout, ran.returncode) == (f"tool {len(NAMES)}\n", 0), ran.stderr


@pytest.mark.parametrize("config", [None, {}, {"specs": []}], ids=str)
async def test_without_configuration_nothing_is_mounted(config):
    coordinator = Coordinator()

    cleanup = await mount(coordinator, config)

    assert coordinator.tools == {}
    await cleanup()


async def test_a_plan_says_all_that_load_tools_takes(recorder, monkeypatch):
    monkeypatch.setenv("PETS_KEY", SECRET)
    coordinator = Coordinator()
    config = {
        "spec": str(SPEC),
        "select": {"tags": ["store"], "methods": ["GET"]},
        "credentials": {"api_key": "${PETS_KEY}"},
        "base_url": recorder.url,
        "settings": {"prefix": "pets_"},
    }

    cleanup = await mount(coordinator, config)

    assert list(coordinator.tools) == ["pets_get_inventory", "pets_get_order_by_id"]
    assert (await coordinator.tools["pets_get_inventory"].execute({})).success
    assert recorder.last.header("api_key") == SECRET
    await cleanup()
    assert coordinator.tools == {}


async def test_one_configuration_may_name_several_documents():
    coordinator = Coordinator()
    specs = [{"spec": described("a")}, {"spec": described("b"), "settings": {"prefix": "two_"}}]

    cleanup = await mount(coordinator, {"specs": specs})

    assert list(coordinator.tools) == ["a", "make", "two_b", "two_make"]
    first = coordinator.tools["a"]
    await cleanup()
    await cleanup()
    assert coordinator.tools == {}
    assert "closed" in str(await first.execute({}))


@pytest.mark.parametrize(
    ("second", "error"),
    [
        ({"spec": described("b")}, "specs/1: specs/0 has a tool of the same name, make; give"),
        ({"spec": {"openapi": "9"}}, "9"),
        ({"spec": described("b"), "select": {"tag": "x"}}, "specs/1: select: there is no 'tag'"),
    ],
    ids=["a name twice", "no document", "a wrong part"],
)
async def test_of_several_documents_all_are_mounted_or_none(second, error):
    coordinator = Coordinator()

    with pytest.raises((SettingsError, DocumentError), match=error):
        await mount(coordinator, {"specs": [{"spec": described("a")}, second]})

    assert coordinator.tools == {}


FAULTS = [
    ("x", SettingsError, "configuration: must be a mapping by name, not str."),
    ({"url": "x"}, SettingsError, "configuration: there is no 'url'; there are spec, specs, sel"),
    ({"base_url": "x"}, SettingsError, "configuration: there is no 'spec'; give the URL or"),
    ({"spec": None}, SettingsError, "configuration: there is no 'spec'; give the URL or"),
    ({"specs": {}}, SettingsError, "configuration: 'specs' must be a list of mappings, not dict."),
    ({"specs": ["x"]}, SettingsError, "specs/0: must be a mapping by name, not str."),
    ({"specs": [{"specs": []}]}, SettingsError, "specs/0: there is no 'specs'; there are spec, se"),
    ({"specs": [], "spec": "x"}, SettingsError, "configuration: 'specs' stands alone; put what"),
    ({"specs": [{"spec": described("a")}, {}]}, SettingsError, "specs/1: there is no 'spec'; give"),
    ({"spec": described("a"), "select": {"tags": ["slip"]}}, SettingsError,
     "select: no operation of the document is like that"),
    ({"specs": [{"select": {}}]}, SettingsError, "specs/0: there is no 'spec'; give the URL or"),
    ({"spec": "no/such/file.yaml"}, SourceError, "no/such/file.yaml"),
    ({"spec": {"openapi": "9"}}, DocumentError, "9"),
    ({"spec": 5}, SourceError, "int"),
    ({"spec": described("a"), "base_url": "x"}, SettingsError, "base_url: the address 'x' begins"),
    ({"specs": [{"spec": described("a"), "credentials": {"key": "${NOT_SET_ANYWHERE}"}}]},
     CredentialsError, "specs/0: the document has no security scheme 'key'; it has none at all."),
    ({"specs": [{"spec": described("a"), "settings": {"timeout": -1}}]}, SettingsError,
     "specs/0: timeout: input should be greater than 0"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "kind", "text"), FAULTS, ids=[row[2][:40] for row in FAULTS])
async def test_a_wrong_configuration_says_where_and_mounts_nothing(config, kind, text):
    coordinator = Coordinator()

    with pytest.raises(kind) as caught:
        await mount(coordinator, config)

    assert text in str(caught.value)
    assert coordinator.tools == {}


async def test_what_cannot_be_called_is_logged(caplog):
    spec = described("a")
    spec["paths"]["/bad"] = {"get": {"parameters": [{"$ref": "#/nowhere"}], "responses": {}}}

    cleanup = await mount(Coordinator(), {"specs": [{"spec": spec}]})

    (record,) = [record for record in caplog.records if record.name == "openapi_tools"]
    assert record.getMessage().startswith("specs/0: skipped GET /bad: ")
    await cleanup()


@needs_amplifier
async def test_a_mounted_tool_takes_calls_and_a_context(recorder):
    from amplifier_core.testing import MockCoordinator

    coordinator = MockCoordinator()
    settings = Settings(base_url=recorder.url, anonymous=True)
    cleanup = await load_tools(SPEC, settings=settings).mount(coordinator)
    tool = coordinator.get("tools", "get_inventory")
    context = Context(credentials={"api_key": SECRET})

    called = await tool({"id": "1", "name": "get_inventory"}, context)
    executed = await tool.execute({}, context=context)
    wrong = [await tool(given) for given in (5, {"name": "another", "id": "2"})]

    assert (called.success, called.tool_call_id, executed.success) == (True, "1", True)
    assert [request.header("api_key") for request in recorder.requests] == [SECRET, SECRET]
    assert [result.error["type"] for result in wrong] == ["invalid_input"] * 2
    assert [content.text for content in called.as_content()] == ["{}"]
    await cleanup()


@needs_amplifier
@pytest.mark.parametrize("says", [True, False])
async def test_a_context_that_approves_goes_before_the_coordinator(recorder, *, says):
    from amplifier_core.testing import MockCoordinator

    coordinator = MockCoordinator()
    toolset = load_tools(SPEC, settings=Settings(base_url=recorder.url, anonymous=True))
    toolset.add_input_guardrails([require_approval(Select())])
    cleanup = await toolset.mount(coordinator)

    context = Context(approve=lambda call: says)
    result = await coordinator.get("tools", "get_inventory").execute({}, context=context)

    assert result.success is says
    await cleanup()


def test_the_installed_package_has_the_entry_point():
    found = entry_points(group="amplifier.modules", name="tool-openapi")
    assert [point.load() for point in found] == [mount]


class Failing:
    """A coordinator, or an id, whose code fails."""

    def __getattribute__(self, name):
        raise RuntimeError("hunter2")


@needs_amplifier
@pytest.mark.parametrize("given", [{"_tool_call_id": 10**5000}, {"_tool_call_id": Failing()}])
async def test_a_hostile_coordinator_and_a_hostile_id_raise_nothing(recorder, given):
    settings = Settings(base_url=recorder.url, anonymous=True)
    tool = load_tools(SPEC, settings=settings)["get_inventory"]

    result = await Presented(tool, Failing()).execute(given)

    assert result.tool_call_id == ""


NEXT = ("Link", "</pets?page=2>; rel=next")
NOTE = "Next page: /pets?page=2 (link)"
REX = '{"id": 7, "name": "Rex"}'


def answers(kind, body):
    return Answer(headers=[("Content-Type", kind), NEXT], body=body)


async def test_the_line_about_the_next_page_follows_the_text_for_a_model(shop, recorder):
    recorder.answer = answers("application/json", REX.encode())
    function = {"name": "get_pet", "arguments": '{"petId": 7}'}

    result = await shop.call({"id": "1", "type": "function", "function": function})

    assert str(result) == f"{REX}\n\n{NOTE}"


@needs_amplifier
async def test_both_loops_show_the_line_about_the_next_page(shop, recorder):
    recorder.answer = answers("application/json", REX.encode())
    page = translated(await shop["get_pet"].execute({"petId": 7}))
    recorder.answer = answers("image/png", PNG)
    picture = translated(await shop["get_photo"].execute({"petId": 7}))

    assert (page.output, page.content) == (json.loads(REX), None)
    assert str(page) == page.get_serialized_output() == page.model_dump() == f"{REX}\n\n{NOTE}"
    assert str(picture) == picture.model_dump() == f"{IMAGE}\n\n{NOTE}"
    assert [block.type for block in picture.content] == ["image", "text"]
    assert picture.content[1].text == NOTE
