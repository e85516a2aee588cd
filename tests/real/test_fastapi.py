"""Every operation of a FastAPI application under uvicorn, called through tools."""

import json

import pytest
from click.testing import CliRunner
from real.fastapi_calls import CALLS, FAILING, REFUSED

from openapi_tools import load_tools
from openapi_tools.cli import commands


@pytest.fixture(scope="module")
def toolset(running_echo):
    """The tools of the application, whose document was fetched by its URL."""
    return load_tools(f"{running_echo.url}/openapi.json")


@pytest.fixture(scope="module")
def checked(running_echo):
    """The same tools, whose responses are compared with the document."""
    return load_tools(f"{running_echo.url}/openapi.json", check_responses=True)


def test_every_operation_of_the_document_is_a_tool_and_is_called_by_some_row(toolset, echo):
    paths = echo.app.openapi()["paths"]

    operations = [(method.upper(), path) for path, item in paths.items() for method in item]

    assert len(operations) >= 25
    assert [(tool.method, tool.path) for tool in toolset] == operations
    assert (toolset.skipped, toolset.warnings) == ((), ())
    assert {tool.name for tool in toolset} == {row.tool for row in CALLS}


def row_id(value):
    return value.tool if hasattr(value, "tool") else None


@pytest.mark.parametrize("call", CALLS, ids=row_id)
async def test_what_is_sent_is_what_the_server_says_it_received(toolset, echo, call):
    result = await toolset[call.tool].execute(call.arguments)

    assert result.error is None
    assert result.output == call.output
    assert call.target in ("", echo.kept[-1].target)


@pytest.mark.parametrize("call", [*FAILING, *REFUSED], ids=row_id)
async def test_what_does_not_fit_is_not_sent_and_what_the_server_refuses_is_reported(
    toolset, echo, call
):
    result = await toolset[call.tool].execute(call.arguments)

    assert {key: result.error.get(key) for key in call.output} == call.output
    assert bool(echo.kept) is (call in FAILING)


async def test_absent_is_not_null_on_the_wire(toolset, echo):
    await toolset["update_profile"].execute({"nick": None})
    await toolset["update_profile"].execute({})
    await toolset["set_optional_profile"].execute({"body": None})
    await toolset["set_optional_profile"].execute({})

    assert [kept.body for kept in echo.kept] == [b'{"nick":null}', b"{}", b"null", b""]
    assert echo.kept[-1].header("content-type") is None


def test_a_deprecated_operation_says_so_and_the_documents_own_address_is_called(toolset, echo):
    assert [tool.name for tool in toolset if tool.deprecated] == ["old_search"]
    assert "deprecated" in toolset["old_search"].description.lower()
    request = toolset["get_item"].preview({"item_id": 1})
    assert str(request.url) == f"{echo.url}/items/1"


def test_the_command_line_proves_every_operation_of_the_document(echo):
    ran = CliRunner().invoke(commands, ["prove", f"{echo.url}/openapi.json", "--json"])

    report = json.loads(ran.stdout)
    assert (ran.exit_code, report["counts"]["failed"]) == (0, 0)
    unproved = [row for row in report["tools"] if row["verdict"] != "proved"]
    assert [(row["tool"], row["reason"]) for row in unproved] == []


@pytest.mark.parametrize("call", CALLS, ids=row_id)
async def test_what_the_server_returns_fits_its_document(checked, call):
    result = await checked[call.tool].execute(call.arguments)

    assert result.metadata["response_problems"] == []
