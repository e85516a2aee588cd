"""Text 004: ExAthena's contract, one test for each sentence that obliges, by Elixir itself.

The modules are those of tests/golden/exathena, compiled against stubs of the behaviour and of Req.
"""

import json
import re
from pathlib import Path

import pytest
from elixir import (
    GOLDEN,
    STUBS,
    call_tools,
    compile_project,
    elixir,
    evaluate,
    module,
    needs_elixir,
)
from servers.recorder import CannedResponse

from openapi_tools import load_tools

SPEC = Path(__file__).parents[2] / "specs" / "petstore.yaml"

pytestmark = needs_elixir


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("petstore")
    assert compile_project(GOLDEN, folder) == ""
    return folder


@pytest.fixture(scope="module")
def toolset():
    return load_tools(SPEC)


async def ask_tools(compiled, function):
    """Return what a function of each tool's module says, by the tool's name."""
    lines = await evaluate(
        compiled,
        f"""for module <- PetstoreTools.tools() do
          text = PetstoreTools.HTTP.Text.json_text(module.{function}())
          say.({{module.name(), text}})
        end""",
    )
    return {name: json.loads(text) for name, text in (line.split(" ", 1) for line in lines)}


async def test_004_every_tool_is_a_module_with_the_callbacks_of_the_behaviour(compiled, toolset):
    results = await evaluate(
        compiled,
        """for module <- PetstoreTools.tools() do
          behaviours = Keyword.get_values(module.module_info(:attributes), :behaviour)
          given = for {name, arity} <- ExAthena.Tool.behaviour_info(:callbacks),
                      not function_exported?(module, name, arity), do: name
          say.({inspect(behaviours), inspect(given)})
        end""",
    )

    assert results == ["[[ExAthena.Tool]] []"] * len(toolset)


async def test_004_names_descriptions_and_schemas_are_those_of_the_tools(compiled, toolset):
    aspects = {"name": "name", "description": "description", "schema": "input_schema"}
    for function, aspect in aspects.items():
        results = await ask_tools(compiled, function)

        assert results == {tool.name: getattr(tool, aspect) for tool in toolset}


async def test_004_only_tools_that_read_are_parallel_safe(compiled, toolset):
    reads = {tool.name: tool.method == "GET" for tool in toolset}

    assert await ask_tools(compiled, "parallel_safe?") == reads
    assert await ask_tools(compiled, "read_only?") == reads


async def test_004_ok_holds_text_that_needs_no_more_writing(compiled, recorder):
    body = b'{"id": 3, "name": "R\xc3\xa9x", "tags": ["\\u0041"]}'

    recorder.response = CannedResponse(body=body)

    results = await call_tools(compiled, [("get_inventory", {})], base_url=recorder.url)

    assert results == [("ok", body.decode())]


async def test_004_error_holds_words_that_a_model_can_act_on(compiled, recorder):
    recorder.response = CannedResponse(404, body=b'{"message": "Pet not found"}')

    ((kind, text),) = await call_tools(
        compiled, [("get_pet_by_id", {"petId": 7})], base_url=recorder.url
    )

    assert (kind, text) == (
        "error",
        'GET /pet/7 returned 404 Not Found: {"message": "Pet not found"}',
    )


async def test_004_a_tool_keeps_nothing_and_works_against_its_context(compiled, recorder):
    tool = module("get_inventory")
    results = await evaluate(
        compiled,
        f"""
        Application.put_env(:petstore_tools, :base_url, {elixir(recorder.url + "/app")})
        Application.put_env(:petstore_tools, :credentials, api_key: "of the application")
        say.({tool}.execute(%{{}}, %ExAthena.ToolContext{{}}))
        own = %{{"petstore_tools" => [credentials: %{{"api_key" => "of the run"}}]}}
        say.({tool}.execute(%{{}}, %ExAthena.ToolContext{{assigns: own}}))
        """,
    )

    assert results == ["ok {}", "ok {}"]
    assert [request.target for request in recorder.requests] == ["/app/store/inventory"] * 2
    assert [request.header("api_key") for request in recorder.requests] == [
        "of the application",
        "of the run",
    ]


def test_004_the_behaviour_is_that_of_the_text(shared):
    text = (shared / "contract_texts" / "004.txt").read_text(encoding="utf-8")
    listed = set(re.findall(r"@callback (\w+\??)\(", text))

    assert listed == {"description", "execute", "name", "parallel_safe?", "schema"}
    assert listed <= set(re.findall(r"@callback (\w+\??)\(", STUBS.read_text(encoding="utf-8")))


async def test_004_halt_is_kept_for_what_no_other_call_can_mend(compiled):
    ((kind, text),) = await call_tools(compiled, [("get_inventory", {})], base_url="ftp://x")

    assert kind == "halt"
    assert "base_url" in text


async def test_004_tools_are_registered_as_a_list_of_modules(compiled, toolset):
    results = await evaluate(
        compiled,
        """Application.put_env(:ex_athena, :tools, PetstoreTools.tools())
        for module <- Application.get_env(:ex_athena, :tools) do
          say.({Code.ensure_loaded?(module), inspect(module)})
        end""",
    )

    assert results == [f"true {module(tool.name)}" for tool in toolset]
