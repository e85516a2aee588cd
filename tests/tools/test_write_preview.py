"""A person who approves a write sees what changes; a lost update is prevented, the undo named."""

import json
from types import SimpleNamespace

import pytest
from cli.test_search_command import on_terminal
from mcp import Client
from mcp_api import MODES, Person
from packages import import_package
from servers.tagged_pets import begin, tagged_pets

from openapi_tools import Context, Preview, Settings, generate_package, load_tools, require_approval
from openapi_tools.contracts.mcp import create_server
from openapi_tools.tools import write_preview
from openapi_tools.tools.guardrails import describe_question

MERGE, STEPS = "application/merge-patch+json", "application/json-patch+json"


@pytest.fixture(scope="module")
def running():
    with tagged_pets() as server:
        yield server


@pytest.fixture
def server(running):
    return begin(running)


def load_orders(server, **settings):
    toolset = load_tools(server.document, settings=Settings(base_url=server.url, **settings))
    toolset.add_input_guardrails([require_approval()])
    return toolset


async def asked_about(server, name, arguments, *, before=lambda: None, **settings):
    """Return the question about a call, and the result after a yes."""
    questions = []
    async with load_orders(server, **settings) as toolset:

        def approve(call):
            questions.append(describe_question(toolset[name], call))
            before()
            return True

        result = await toolset.call(name, arguments, context=Context(approve=approve))
    return questions[0].splitlines(), result


def sent_requests(server):
    return [f"{request.method} {request.url.path}" for request in server.kept]


async def test_a_put_shows_each_property_that_changes_and_how_to_undo_it(server):
    lines, result = await asked_about(server, "put_pet", {"pet_id": 1, "name": "Max"})

    assert lines == [
        "Call put_pet (PUT /pets/{pet_id})?",
        '  "pet_id": 1',
        '  "name": "Max"',
        "What changes:",
        '  /name: was "Rex", becomes "Max"',
        '  /tag: was "dog", is removed',
        '  /password: was "***", is removed',
        "To undo it: call put_pet with the previous state.",
    ]
    assert result.success
    assert sent_requests(server) == ["GET /pets/1", "PUT /pets/1"]
    assert server.kept[1].headers["if-match"].startswith('"')


async def test_a_lost_update_is_prevented_and_reported(server):
    def meanwhile():
        server.pets[1]["name"] = "Bello"

    _, result = await asked_about(server, "put_pet", {"pet_id": 1, "name": "Max"}, before=meanwhile)

    assert result.error["status"] == 412
    assert "changed by another after it was read for approval" in result.error["message"]
    assert "read it again" in result.error["message"]
    assert server.pets[1]["name"] == "Bello"
    assert sent_requests(server) == ["GET /pets/1", "PUT /pets/1"]


CASES = [
    ("patch_pet", {"pet_id": 1, "body": {"tag": "cat"}}, ['/tag: was "dog", becomes "cat"'],
     "call patch_pet with the previous values"),
    ("patch_pet", {"pet_id": 1, "body": {"age": 3, "name": "Rex"}}, ["/age: is new, becomes 3"],
     "call patch_pet with the previous values"),
    ("patch_pet", {"pet_id": 1, "body": {"name": "Rex"}}, ["no property changes"],
     "call patch_pet with the previous values"),
    ("patch_pet", {"pet_id": 1, "body": {"password": "sesame-2"}},
     ['/password: was "***", becomes "***"'], "call patch_pet with the previous values"),
    ("delete_pet", {"pet_id": 1},
     ['deletes {"id": 1, "name": "Rex", "tag": "dog", "password": "***"}'],
     "call put_pet with the previous state"),
    ("put_pet", {"pet_id": 2, "name": "Kim"},
     ["it does not exist yet (404): the call creates it"], "call delete_pet"),
    ("delete_pet", {"pet_id": 2},
     ["it does not exist yet (404): the call finds nothing to change"], "no tool does"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "changes", "undo"), CASES)
async def test_what_changes_and_the_undo_are_reported(name, arguments, changes, undo, server):
    seen = []

    def approve(preview: Preview) -> bool:
        seen.append(preview)
        return True

    settings = Settings(base_url=server.url, approve=approve)
    async with load_tools(server.document, settings=settings) as toolset:
        await toolset.call(name, arguments)

    (preview,) = seen
    assert list(preview.changes) == changes
    assert preview.undo == undo


async def test_a_delete_without_a_put_is_undone_by_the_post_of_its_collection(server):
    document = {**server.document, "paths": {**server.document["paths"]}}
    item = document["paths"]["/pets/{pet_id}"]
    document["paths"]["/pets/{pet_id}"] = {"delete": item["delete"]}
    server.document, whole = document, server.document
    lines, _ = await asked_about(server, "delete_pet", {"pet_id": 1})
    server.document = whole

    assert lines[-1] == "To undo it: call add_pet with the previous state (it may get another id)."


UNREAD = {
    "the read needs more arguments": ("cancel_order", {"number": 1}, {}),
    "it is not wanted": ("delete_pet", {"pet_id": 1}, {"show_changes": False}),
}


@pytest.mark.parametrize("why", UNREAD)
async def test_nothing_is_read_where_no_read_is_known(why, server):
    name, arguments, settings = UNREAD[why]

    lines, _ = await asked_about(server, name, arguments, **settings)

    assert "What changes:" not in lines
    assert [call for call in sent_requests(server) if call.startswith("GET")] == []


async def test_a_read_that_needs_approval_itself_is_not_made(server):
    seen = []
    rules = {"approve": lambda preview: seen.append(preview) or True, "approve_for": "all"}
    settings = Settings(base_url=server.url, **rules)
    async with load_tools(server.document, settings=settings) as toolset:
        result = await toolset.call("delete_pet", {"pet_id": 1})

    assert result.success
    assert [(preview.tool, preview.changes) for preview in seen] == [("delete_pet", ())]
    assert sent_requests(server) == ["DELETE /pets/1"]


async def test_a_state_that_is_too_large_is_not_compared(server):
    server.pets[1]["tag"] = "x" * 300_000

    lines, result = await asked_about(server, "delete_pet", {"pet_id": 1})

    assert "What changes:" not in lines
    assert result.success


async def test_a_slow_read_is_not_waited_for(server, monkeypatch):
    monkeypatch.setattr(write_preview, "_SECONDS", 0.1)
    server.pets[1]["delay"] = 1.0

    lines, result = await asked_about(server, "delete_pet", {"pet_id": 1})

    assert "What changes:" not in lines
    assert result.success


async def test_the_read_has_the_credentials_of_the_call_and_is_one(server):
    document = {**server.document, "security": [{"key": []}]}
    document["components"] = {
        **document["components"],
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    }
    async with load_tools(document, base_url=server.url) as toolset:
        toolset.add_input_guardrails([require_approval()])
        context = Context(credentials={"key": "mine-1234"}, approve=lambda call: True)
        await toolset.call("delete_pet", {"pet_id": 1}, context=context)

    assert [request.headers["x-key"] for request in server.kept] == ["mine-1234", "mine-1234"]


async def test_without_an_approver_nothing_is_read(server):
    async with load_orders(server) as toolset:
        result = await toolset.call("delete_pet", {"pet_id": 1})

    assert result.error["type"] == "denied"
    assert server.kept == []


PATCHES = {
    MERGE: ({"tag": None, "owner": {"city": "Bern"}},
            ['/tag: was "dog", becomes null', '/owner: is new, becomes {"city": "Bern"}']),
    STEPS: ([{"op": "replace", "path": "/name", "value": "Max"}, {"op": "remove", "path": "/tag"},
             {"op": "test", "path": "/id", "value": 1}, {"op": "move", "from": "/a", "path": "/b"},
             {"op": "replace", "path": "/password", "value": "n"}],
            ['/name: was "Rex", becomes "Max"', '/tag: was "dog", is removed',
             "move from /a to /b", '/password: was "***", becomes "***"']),
}  # fmt: skip


@pytest.mark.parametrize("kind", PATCHES)
async def test_patches_are_read_by_their_kind(kind, server):
    body, changes = PATCHES[kind]
    root = json.loads(json.dumps(server.document))
    operation = root["paths"]["/pets/{pet_id}"]["patch"]
    operation["requestBody"] = {"content": {kind: {"schema": {}}}, "required": True}
    seen = []

    def refuse(preview):
        seen.append(preview)
        return False

    async with load_tools(root, base_url=server.url, approve=refuse) as toolset:
        await toolset.call("patch_pet", {"pet_id": 1, "body": body})

    assert list(seen[0].changes) == changes
    assert sent_requests(server) == ["GET /pets/1"]


# Each coordinator's question

CHANGES = """What changes:
  /tag: was "dog", becomes "cat"
To undo it: call patch_pet with the previous values."""
CALL = {"pet_id": 1, "body": {"tag": "cat"}}


@pytest.fixture
async def toolset(server):
    async with load_tools(server.document, base_url=server.url) as tools:
        tools.add_input_guardrails([require_approval()])
        yield tools


@pytest.mark.parametrize("mode", MODES)
async def test_an_elicitation_over_mcp_shows_them(mode, server, toolset):
    person = Person()
    async with Client(create_server(toolset), mode=mode, elicitation_callback=person) as client:
        result = await client.call_tool("patch_pet", CALL)

    assert not result.is_error
    assert [question.partition("\n")[2].split("\n", 2)[2] for question in person.asked] == [CHANGES]
    assert server.pets[1]["tag"] == "cat"
    assert [request.headers.get("if-match") is not None for request in server.kept][-1]


async def test_a_stateless_answer_is_good_for_the_state_that_was_shown(server, toolset):
    person = Person(before=lambda: server.pets[1].update(tag="bird"))
    async with Client(create_server(toolset), mode="auto", elicitation_callback=person) as client:
        await client.call_tool("patch_pet", CALL)

    first, second = person.asked
    assert ['was "dog"' in first, 'was "bird"' in second] == [True, True]
    assert server.pets[1]["tag"] == "cat"


def test_a_terminal_shows_them(server, tmp_path):
    pytest.importorskip("pydantic_monty")
    spec, program = tmp_path / "pets.json", tmp_path / "program.py"
    spec.write_text(json.dumps(server.document))
    program.write_text("await patch_pet(pet_id=1, body={'tag': 'cat'})")

    command = ["run", spec, program, "--base-url", server.url, "--no-cache"]
    ended, screen = on_terminal(command, "y")

    assert CHANGES in screen.replace("\r\n", "\n")
    assert (ended, server.pets[1]["tag"]) == (0, "cat")


@pytest.mark.parametrize("kind", ["loaded", "generated"])
async def test_amplifiers_approval_shows_them(kind, server, toolset, tmp_path):
    pytest.importorskip("amplifier_core")
    from amplifier_core.testing import MockCoordinator

    asked = []

    async def request_approval(prompt, *_):
        asked.append(prompt)
        return "Allow"

    coordinator = MockCoordinator()
    coordinator.approval_system = SimpleNamespace(request_approval=request_approval)
    if kind == "loaded":
        end = await toolset.mount(coordinator)
    else:
        generate_package(server.document, tmp_path / "pets", name="pets")
        with import_package(tmp_path / "pets", "pets_tools") as package:
            end = await package.mount(coordinator, {"base_url": server.url})
            for tool in coordinator.get("tools").values():
                tool.add_input_guardrails([require_approval()])
    result = await coordinator.get("tools", "patch_pet").execute(CALL)
    await end()

    assert result.success
    assert asked[0].endswith(CHANGES)


async def test_the_question_of_a_function_tool_shows_them(server, toolset):
    framework = pytest.importorskip("agent_framework")
    from openapi_tools.contracts.agent_framework import to_function_tools

    tool = next(tool for tool in to_function_tools(toolset) if tool.name == "patch_pet")

    assert (await tool.question(CALL)).endswith(CHANGES)

    def invoke():
        context = framework.FunctionInvocationContext(function=tool, arguments=CALL, tools=[tool])
        return tool.invoke(arguments=CALL, context=context)

    server.pets[1]["tag"] = "bird"
    refused = await invoke()
    assert "needs approval" in refused[0].text or "not approved" in refused[0].text
    assert server.pets[1]["tag"] == "bird"
    assert (await tool.question(CALL)).count('was "bird"') == 1
    await invoke()
    assert server.pets[1]["tag"] == "cat"


async def test_a_client_that_does_not_see_the_read_is_not_shown_the_state(server, toolset):
    person = Person()
    hidden = create_server(toolset, visible=lambda tool, _: tool.name != "get_pet")
    async with Client(hidden, mode="legacy", elicitation_callback=person) as client:
        await client.call_tool("patch_pet", CALL)
    whole = create_server(toolset)
    async with Client(whole, mode="legacy", elicitation_callback=person) as client:
        await client.call_tool("patch_pet", {**CALL, "body": {"tag": "bird"}})

    assert ["What changes:" in question for question in person.asked] == [False, True]
    assert [request.method for request in server.kept] == ["PATCH", "GET", "PATCH"]
