"""Each way to ask a person shows what a write changes, and the approval is for that state."""

import json

import pytest
from cli.test_search_command import on_terminal
from mcp import Client
from mcp_api import Person
from packages import imported
from servers.tagged_pets import begin, tagged_pets

from openapi_tools import generate_package, load_tools, require_approval
from openapi_tools.contracts.mcp import create_server

CHANGES = """What changes:
  /tag: was "dog", becomes "cat"
To undo it: call patch_pet with the former values."""
CALL = {"pet_id": 1, "body": {"tag": "cat"}}


@pytest.fixture(scope="module")
def running():
    with tagged_pets() as server:
        yield server


@pytest.fixture
def server(running):
    return begin(running)


@pytest.fixture
async def toolset(server):
    async with load_tools(server.document, base_url=server.url) as found:
        found.add_input_guardrails([require_approval()])
        yield found


@pytest.mark.parametrize("mode", ["legacy", "auto"])
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

    told = ["run", spec, program, "--base-url", server.url, "--no-cache"]
    ended, shown = on_terminal(told, "y")

    assert CHANGES in shown.replace("\r\n", "\n")
    assert (ended, server.pets[1]["tag"]) == (0, "cat")


@pytest.mark.parametrize("kind", ["loaded", "generated"])
async def test_amplifiers_approval_shows_them(kind, server, toolset, tmp_path):
    pytest.importorskip("amplifier_core")
    from amplifier_core.testing import MockCoordinator

    asked = []

    class Desk:
        async def request_approval(self, prompt, *_):
            asked.append(prompt)
            return "Allow"

    coordinator = MockCoordinator()
    coordinator.approval_system = Desk()
    if kind == "loaded":
        end = await toolset.mount(coordinator)
    else:
        generate_package(server.document, tmp_path / "pets", name="pets")
        with imported(tmp_path / "pets", "pets_tools") as package:
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

    def invoked():
        context = framework.FunctionInvocationContext(function=tool, arguments=CALL, tools=[tool])
        return tool.invoke(arguments=CALL, context=context)

    server.pets[1]["tag"] = "bird"
    refused = await invoked()
    assert "needs approval" in refused[0].text or "not approved" in refused[0].text
    assert server.pets[1]["tag"] == "bird"
    assert (await tool.question(CALL)).count('was "bird"') == 1
    await invoked()
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
