"""Our tools in Amplifier: what a plan may say, how results are translated, and its own engine."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conformance import NOTE, PAGE, PAGE_TEXT, PICTURE
from documents import document, operation
from obligations import SPEC
from packages import Coordinator
from pet_shop import ALBUM, PNG

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
from openapi_tools.contracts.amplifier import mount
from openapi_tools.toolsets.amplifier_tool import AmplifierTool, adapt_tools, translate_result

pytest.importorskip("amplifier_core", reason="amplifier-core is not installed")

from amplifier_core.testing import MockCoordinator

HERE = Path(__file__).parent
GET = "get_inventory"
IMAGE = f"[image: image/png, {len(PNG)} bytes]"
RUN = "import os, pytest, sys; code = pytest.main(sys.argv[1:]); sys.stdout.flush(); os._exit(code)"


@pytest.mark.long
@pytest.mark.parametrize("name", ["amplifier_engine.py", "amplifier_engine_package.py"])
def test_amplifiers_own_engine_runs_the_tools(name):
    # In a process of their own: the engine can abort an interpreter that ends by itself.
    options = ["-n0", "--no-cov", "-q", "-p", "no:cacheprovider", str(HERE / name)]

    ran = subprocess.run(
        [sys.executable, "-B", "-c", RUN, *options],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr


# Without an engine: results and hooks alone


@pytest.mark.parametrize("fails", [False, True])
async def test_events_are_emitted_and_a_failing_hook_fails_no_call(recorder, fails):
    events = []

    async def emit(event, data):
        events.append(event)
        if fails:
            raise OSError

    hooks = SimpleNamespace(emit=emit)
    tool = load_tools(SPEC, settings=Settings(base_url=recorder.url, anonymous=True))[GET]

    result = await AmplifierTool(tool, SimpleNamespace(hooks=hooks)).execute({})

    assert result.success
    assert events == [f"{GET}:started", f"{GET}:completed"]


TRANSLATED = [
    (ToolResult.ok({"a": [1, None, True]}), {"a": [1, None, True]}, '{"a":[1,null,true]}'),
    (ToolResult.ok(""), "", "Success"),
    (ToolResult.ok(None), None, "Success"),
    (ToolResult.ok("a\x00b\ud800c"), "a\x00b\ud800c", "abc"),
    (ToolResult.ok("é"), "é", "é"),
    (ToolResult.failed("http", "no", facts={"status": 500, "body": "x"}), "no", "no"),
    (ToolResult(success=False), None, "Error: Failed"),
    (ToolResult(success=False, error={"message": "no"}), "no", "no"),
]


@pytest.mark.parametrize(("result", "output", "text"), TRANSLATED, ids=range(len(TRANSLATED)))
def test_a_result_is_translated(result, output, text):
    translation = translate_result(result)

    assert translation.output == output
    assert str(translation).startswith(text)
    assert str(translation) == translation.get_serialized_output()
    assert not hasattr(translation, "to_dict")
    assert translation.error is None or "body" not in translation.error


def test_texts_beside_images_stay_texts():
    translation = translate_result(ToolResult.ok(ALBUM).for_call("1"))

    assert translation.output == str(translation) == f"{IMAGE}\nRex"
    assert [block.type for block in translation.content] == ["image", "text"]
    assert "content" not in translation.model_dump(mode="python")
    copy = translation.model_copy(update={"output": "x"})
    assert (copy.output, copy.content, copy.tool_call_id) == ("x", translation.content, "1")


# The module `tool-openapi`


def document_of(name):
    paths = {"/x": {"get": operation(operationId=name), "post": operation(operationId="make")}}
    return document(paths, servers=[{"url": "http://127.0.0.1:9"}])


@pytest.mark.parametrize("config", [None, {}, {"specs": []}], ids=str)
async def test_without_configuration_nothing_is_mounted(config):
    coordinator = Coordinator()

    cleanup = await mount(coordinator, config)

    assert coordinator.tools == {}
    await cleanup()


async def test_one_configuration_may_name_several_documents():
    coordinator = Coordinator()
    specs = [{"spec": document_of("a")}, {"spec": document_of("b"), "settings": {"prefix": "two_"}}]

    cleanup = await mount(coordinator, {"specs": specs})

    assert list(coordinator.tools) == ["a", "make", "two_b", "two_make"]
    first = coordinator.tools["a"]
    await cleanup()
    await cleanup()
    assert coordinator.tools == {}
    assert "closed" in str(await first.execute({}))


FAULTS = [
    ("x", SettingsError, "configuration: must be a mapping by name, not str."),
    ({"url": "x"}, SettingsError, "configuration: unknown key 'url'; expected one of spec, specs"),
    ({"spec": document_of("a"), "overlays": 7}, SettingsError, "overlays: expected a list of URLs"),
    ({"spec": None}, SettingsError, "configuration: 'spec' is missing; set it to the URL"),
    ({"specs": {}}, SettingsError, "configuration: 'specs' must be a list of mappings, not dict."),
    ({"specs": ["x"]}, SettingsError, "specs/0: must be a mapping by name, not str."),
    ({"specs": [{"specs": []}]}, SettingsError, "specs/0: unknown key 'specs'; expected one"),
    ({"specs": [], "spec": "x"}, SettingsError, "'specs' cannot be combined with other keys; put"),
    ({"specs": [{"spec": document_of("a")}, {}]}, SettingsError, "specs/1: 'spec' is missing; set"),
    ({"spec": document_of("a"), "select": {"tags": ["slip"]}}, SettingsError,
     "select: no tool has the tag 'slip'. The document has no tags."),
    ({"spec": "no/such/file.yaml"}, SourceError, "no/such/file.yaml"),
    ({"spec": {"openapi": "9"}}, DocumentError, "9"),
    ({"spec": 5}, SourceError, "int"),
    ({"specs": [{"spec": document_of("a"), "credentials": {"key": "${NOT_SET_ANYWHERE}"}}]},
     CredentialsError, "specs/0: the document has no security scheme 'key'; it has none at all."),
    ({"specs": [{"spec": document_of("a"), "settings": {"timeout": -1}}]}, SettingsError,
     "specs/0: timeout: input should be greater than 0"),
    ({"specs": [{"spec": document_of("a")}, {"spec": document_of("b")}]}, SettingsError,
     "specs/1: specs/0 has a tool of the same name, make; set"),
    ({"specs": [{"spec": document_of("a")}, {"spec": document_of("b"), "select": {"tag": "x"}}]},
     SettingsError, "specs/1: select: unknown key 'tag'"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "kind", "text"), FAULTS, ids=[row[2][:40] for row in FAULTS])
async def test_a_wrong_configuration_says_where_and_mounts_nothing(config, kind, text):
    coordinator = Coordinator()

    with pytest.raises(kind) as caught:
        await mount(coordinator, config)

    assert text in str(caught.value)
    assert coordinator.tools == {}


async def test_what_cannot_be_called_is_logged(caplog):
    spec = document_of("a")
    spec["paths"]["/bad"] = {"get": {"parameters": [{"$ref": "#/nowhere"}], "responses": {}}}

    cleanup = await mount(Coordinator(), {"specs": [{"spec": spec}]})

    (record,) = [record for record in caplog.records if record.name == "openapi_tools"]
    assert record.getMessage().startswith("specs/0: skipped GET /bad: ")
    await cleanup()


async def test_a_mounted_tool_takes_calls_and_a_context(recorder):
    coordinator = MockCoordinator()
    settings = Settings(base_url=recorder.url, anonymous=True)
    cleanup = await load_tools(SPEC, settings=settings).mount(coordinator)
    tool = coordinator.get("tools", "get_inventory")
    context, seen = Context(credentials={"api_key": "hunter2"}), []
    tool.add_input_guardrails([lambda _, context: seen.append(context.state)])

    called = await tool({"id": "1", "name": "get_inventory"}, context)
    executed = await tool.execute({}, context=context)
    plain = await tool.execute({})
    wrong = [await tool(value) for value in (5, {"name": "another", "id": "2"})]

    assert (called.success, called.tool_call_id, executed.success) == (True, "1", True)
    sent = [request.header("api_key") for request in recorder.requests]
    assert (sent, seen) == (["hunter2", "hunter2", None], [None, None, coordinator])
    assert plain.success
    assert [result.error["type"] for result in wrong] == ["invalid_input"] * 2
    assert [content.text for content in called.as_content()] == ["{}"]
    await cleanup()


@pytest.mark.parametrize(("says", "sent"), [(True, True), (False, False), (None, False)])
async def test_a_context_that_approves_goes_before_the_coordinator(recorder, says, sent):
    coordinator = MockCoordinator()  # it approves nothing
    toolset = load_tools(SPEC, settings=Settings(base_url=recorder.url, anonymous=True))
    toolset.add_input_guardrails([require_approval(Select())])
    cleanup = await toolset.mount(coordinator)

    context = None if says is None else Context(approve=lambda _: says)
    result = await coordinator.get("tools", "get_inventory").execute({}, context=context)

    assert result.success is sent
    await cleanup()


@pytest.mark.parametrize("says", ["Allow", "Deny"])
async def test_a_call_of_call_tool_is_approved_as_its_tool(shop, recorder, says):
    asked = []

    async def request_approval(prompt, *_):
        asked.append(prompt)
        return says

    coordinator = MockCoordinator()
    coordinator.approval_system = SimpleNamespace(request_approval=request_approval)
    shop.add_input_guardrails([require_approval()])
    with adapt_tools(coordinator, shop.meta_tools()) as tools:
        *_, call_tool = tools
        await call_tool.execute({"name": "sell_pet", "arguments": {"petId": 7}})

    assert asked == ['Call sell_pet (DELETE /pets/{petId})?\n  "petId": 7']
    assert [request.target for request in recorder.requests] == ["/pets/7"] * (says == "Allow")


class Failing:
    """A coordinator, or an id, whose code fails."""

    def __getattribute__(self, name):
        raise RuntimeError("hunter2")


@pytest.mark.parametrize("arguments", [{"_tool_call_id": 10**5000}, {"_tool_call_id": Failing()}])
async def test_a_hostile_coordinator_and_a_hostile_id_raise_nothing(recorder, arguments):
    settings = Settings(base_url=recorder.url, anonymous=True)
    tool = load_tools(SPEC, settings=settings)["get_inventory"]

    result = await AmplifierTool(tool, Failing()).execute(arguments)

    assert result.tool_call_id == ""


async def test_both_loops_show_the_line_about_the_next_page(shop, recorder):
    recorder.responses += [PAGE, PICTURE]
    page = translate_result(await shop["get_pet"].execute({"petId": 7}))
    picture = translate_result(await shop["get_photo"].execute({"petId": 7}))

    assert (page.output, page.content) == (json.loads(PAGE_TEXT), None)
    assert str(page) == page.model_dump() == f"{PAGE_TEXT}\n\n{NOTE}"
    assert str(picture) == picture.model_dump() == f"{IMAGE}\n\n{NOTE}"
    assert [block.type for block in picture.content] == ["image", "text"]
    assert picture.content[1].text == NOTE
