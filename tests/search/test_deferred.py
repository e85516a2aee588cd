"""Definitions for the providers' own search, in the forms of their packages."""

import logging
import re

import pytest
from documents import document, operation
from profile_rules import faults
from pydantic import TypeAdapter

from openapi_tools import SettingsError, load_tools
from openapi_tools.providers.definitions import PROFILES
from openapi_tools.toolsets.adapters import warn_about_tokens

TAGS = ("Pets & Owners", "pets_owners", "ünï", "", None)


def shop():
    """A document with a tag of each kind."""
    paths = {
        f"/things{n}": {"get": operation(operationId=f"get_{n}", **({"tags": [t]} if t else {}))}
        for n, t in enumerate(TAGS)
    }
    return load_tools(document(paths))


def large(count, **fields):
    """Return so many tools."""
    paths = {
        f"/things{n}": {"get": operation(operationId=f"get_{n}", summary="x" * 400, **fields)}
        for n in range(count)
    }
    return load_tools(document(paths))


@pytest.mark.untraced
def test_anthropics_come_behind_its_search_and_are_marked():
    types = pytest.importorskip("anthropic.types", reason="anthropic is not installed")
    toolset = shop()

    search, *tools = toolset.definitions("anthropic", defer=True)

    assert search == {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    assert [tool.pop("defer_loading") for tool in tools] == [True] * len(TAGS)
    assert tools == toolset.definitions("anthropic")
    checked = TypeAdapter(list[types.ToolUnionParam])
    checked.validate_python(toolset.definitions("anthropic", defer=True))


def test_openais_are_functions_of_namespaces_by_tag():
    types = pytest.importorskip("openai.types.responses", reason="openai is not installed")
    toolset = shop()

    definitions = toolset.definitions("openai", defer=True)

    search, *spaces = definitions
    assert search == {"type": "tool_search"}
    names = [space["name"] for space in spaces]
    assert names == ["pets_owners", "uni", "other"]
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in names)
    assert spaces[0]["description"] == "Pets & Owners: get_0, get_1"
    functions = [function for space in spaces for function in space["tools"]]
    assert [function["name"] for function in functions] == [tool.name for tool in toolset]
    plain = [each["function"] for each in toolset.definitions("openai")]
    assert [{**f, "defer_loading": None} for f in functions] == [
        {"type": "function", **each, "defer_loading": None} for each in plain
    ]
    assert all(function["defer_loading"] is True for function in functions)
    checked = TypeAdapter(list[types.ToolParam])
    assert len(checked.validate_python(definitions)) == len(definitions)


def test_a_namespace_describes_itself_in_few_words():
    _, space = large(9, tags=["  all\nof \u202ethem "]).definitions("openai", defer=True)

    assert space["name"] == "all_of_them"
    assert len(space["description"]) <= 300
    assert space["description"].startswith("all of")
    assert "\n" not in space["description"]


def test_more_tools_than_a_request_takes_are_no_remark_when_they_are_deferred():
    toolset = large(200)

    toolset.definitions("openai", defer=True)
    deferred = toolset.warnings
    toolset.definitions("openai")

    assert deferred == ()
    assert "accepts 128 tools in one request" in toolset.warnings[0]


@pytest.mark.parametrize("profile", ["openai_strict", "gemini", "mcp"])
def test_other_profiles_name_those_that_defer(profile):
    with pytest.raises(SettingsError, match="use anthropic, openai or openai_responses"):
        shop().definitions(profile, defer=True)


def test_large_definitions_are_reported_once_for_a_toolset(caplog):
    toolset = large(300)

    with caplog.at_level(logging.WARNING, "openapi_tools"):
        warn_about_tokens(toolset)
        warn_about_tokens(toolset)
        warn_about_tokens(toolset.meta_tools())
        warn_about_tokens(shop())
        warn_about_tokens(list(toolset))

    (record,) = caplog.records
    assert "these 300 tools take more than 20,000 tokens" in record.message
    ways = ("select", "meta_tools()", "code_tools()", "defer=True")
    assert all(way in record.message for way in ways)


@pytest.mark.parametrize(
    ("module", "function", "package"),
    [
        ("toolsets.amplifier_tool", "adapt_tools", "amplifier_core"),
        ("contracts.langchain", "to_structured_tools", "langchain_core"),
        ("contracts.pydantic_ai", "to_tools", "pydantic_ai"),
        ("contracts.agent_framework", "to_function_tools", "agent_framework"),
        ("contracts.google_adk", "to_tools", "google.adk"),
        ("contracts.llama_index", "to_tools", "llama_index.core"),
        ("contracts.openai_agents", "to_function_tools", "agents"),
        ("contracts.mcp", "create_server", "mcp"),
    ],
)
def test_each_coordinators_adapter_says_so(caplog, module, function, package):
    pytest.importorskip(package, reason=f"{package} is not installed")
    adapt = getattr(__import__(f"openapi_tools.{module}", fromlist=["x"]), function)
    arguments = (Coordinator(),) if function == "adapt_tools" else ()

    with caplog.at_level(logging.WARNING, "openapi_tools"):
        adapt(*arguments, large(200))
        first = [record.message for record in caplog.records]
        adapt(*arguments, shop())

    assert len(first) == len(caplog.records) == 1
    assert "more than 20,000 tokens" in first[0]


class Coordinator:
    """Takes contributors, as Amplifier's does."""

    def register_contributor(self, *_):
        """Take one."""


@pytest.mark.parametrize("profile", ["openai", "openai_responses"])
def test_a_thousand_untagged_operations_are_in_small_namespaces(profile):
    paths = {
        "/rpc": {"post": operation(operationId="call")},
        **{f"/{n}": {"get": operation(operationId=f"get_{n}")} for n in range(999)},
    }
    toolset = load_tools(document(paths))

    _, *spaces = toolset.definitions(profile, defer=True)

    names = [function["name"] for space in spaces for function in space["tools"]]
    assert sorted(names) == sorted(tool.name for tool in toolset)
    assert len(names) == 1000
    assert max(len(space["tools"]) for space in spaces) <= 9
    assert len({space["name"] for space in spaces}) == len(spaces)


LONG = "long_" * 60


def test_names_beyond_the_limits_are_cut_and_stay_different():
    paths = {
        f"/{LONG}{tail}": {
            "get": operation(
                operationId=f"{LONG}{tail}",
                tags=[f"{LONG}{tail}"],
                parameters=[{"name": f"{LONG}{tail}", "in": "query", "schema": {"type": "string"}}],
            )
        }
        for tail in "ab"
    }
    toolset = load_tools(document(paths))

    for profile in PROFILES:
        named = [each.get("function", each) for each in toolset.definitions(profile)]
        assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", each["name"]) for each in named)
        assert len({each["name"] for each in named}) == 2
        assert [
            fault for each in toolset.definitions(profile) for fault in faults(profile, each)
        ] == []
    for profile in ("openai", "openai_responses"):
        _, *spaces = toolset.definitions(profile, defer=True)
        assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", space["name"]) for space in spaces)
        assert len({space["name"] for space in spaces}) == 2
