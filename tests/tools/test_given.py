"""Options of another type than they should be: taken as they are meant, or refused in words."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from documents import document, operation
from packages import imported

from openapi_tools import (
    CredentialsError,
    OpenAPIToolsError,
    Select,
    Settings,
    SettingsError,
    ToolResult,
    aload_tools,
    generate_package,
    load_tools,
)

SECRET = "s3cr3t-value"
KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}
ROOT = document(
    {
        "/a": {"get": operation(operationId="get_a"), "post": operation(operationId="add_a")},
        "/b": {"get": operation(operationId="get_b", tags=["b"])},
    },
    components={"securitySchemes": {"key": KEY}},
)
WRONG = [
    ("settings", "http://127.0.0.1", "settings: give Settings(base_url=…, …), not str."),
    ("settings", Settings, "settings: give Settings(base_url=…, …), not the class Settings."),
    ("settings", 7, "not int."),
    ("settings", False, "not bool."),
    ("settings", {"base": "x"}, "base: unknown setting"),
    ("settings", {1: "x"}, "settings: must be a mapping by name"),
    ("select", "get_a", "select: give Select(tags=…, methods=…, …), not str."),
    ("select", ["get_a"], "not list."),
    ("select", Select, "not the class Select."),
    ("select", {"tag": "b"}, "select: there is no 'tag'; there are tags, methods"),
    ("select", {"tags": 7}, "select: 'tags' must be a text or a list of texts, not 7."),
    ("credentials", SECRET, "credentials: give a mapping by scheme name, {'scheme name': …}, not"),
    ("credentials", [("key", SECRET)], "not list."),
    ("credentials", 7, "not int."),
]


def load_generated(folder, given):
    generate_package(ROOT, folder / "own", name="given")
    with imported(folder / "own", "given_tools") as package:
        package.load(**given)


WAYS = {
    "load_tools": lambda _, given: load_tools(ROOT, **given),
    "aload_tools": lambda _, given: asyncio.run(aload_tools(ROOT, **given)),
    "generate_package": lambda folder, given: generate_package(ROOT, folder / "out", **given),
    "load of a package": load_generated,
}


@pytest.mark.parametrize(("option", "value", "said"), WRONG, ids=[f"{w[0]}-{w[2]}" for w in WRONG])
def test_an_option_of_a_wrong_type_is_refused_with_the_right_form(option, value, said, tmp_path):
    kind = CredentialsError if option == "credentials" else SettingsError
    for way in WAYS.values():
        with pytest.raises(OpenAPIToolsError, match=re.escape(said)) as caught:
            way(tmp_path, {option: value})

        assert type(caught.value) is kind
        assert SECRET not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_mappings_and_a_function_are_taken_as_they_are_meant():
    by_mapping = load_tools(ROOT, select={"methods": "get"}, settings={"prefix": "x_"})
    by_function = load_tools(ROOT, select=lambda tool: tool.method == "POST")

    assert [tool.name for tool in by_mapping] == ["x_get_a", "x_get_b"]
    assert [tool.name for tool in by_function] == ["add_a"]
    assert [tool.name for tool in by_mapping.select({"tags": ["b"]})] == ["x_get_b"]


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"tags": 7}, "'tags' must be a text or a list of texts"),
        ({"names": [7]}, "'names' must be"),
        ({"methods": None}, "'methods' must be"),
        ({"paths": {"/a": 1, 2: 3}}, "'paths' must be"),
        ({"deprecated": "no"}, "'deprecated' must be true or false"),
        ({"read_only": 1}, "'read_only' must be true or false"),
        ({"exclude": "pets"}, "not str"),
        ({"where": "get_a"}, "'where' must be a function of the tool"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_member_of_a_selection_of_a_wrong_type_is_refused(members, said):
    with pytest.raises(SettingsError, match=re.escape(said)):
        Select(**members)


def test_a_selection_takes_any_collection_of_texts():
    assert Select(tags={"b"}, names=iter(["get_*"])) == Select(tags=["b"], names=("get_*",))


ADD = ["add_input_guardrails", "add_output_guardrails", "add_on_error_func"]


@pytest.mark.parametrize("on", ["toolset", "tool"])
@pytest.mark.parametrize("add", ADD)
async def test_one_function_is_meant_as_a_list_of_it(on, add):
    def answer(*_: Any) -> ToolResult:
        return ToolResult.ok("from a guardrail")

    for given in (answer, [answer]):
        toolset = load_tools(ROOT, settings=Settings(base_url="http://127.0.0.1:1", timeout=5))
        getattr(toolset if on == "toolset" else toolset["get_a"], add)(given)

        assert (await toolset["get_a"].execute({})).output == "from a guardrail"


@pytest.mark.parametrize("value", [None, 7, "guard", ["guard"], [None]], ids=repr)
@pytest.mark.parametrize("add", ADD)
def test_what_is_no_function_is_refused_as_a_guardrail(add, value):
    toolset = load_tools(ROOT)

    for target in (toolset, toolset["get_a"]):
        with pytest.raises(SettingsError, match=r"give a list of functions, not (str|int|NoneTyp)"):
            getattr(target, add)(value)


@pytest.mark.parametrize("value", [None, 7, "see"])
def test_what_is_no_function_is_refused_as_a_subscriber(value):
    with pytest.raises(SettingsError, match="a subscriber is a plain function"):
        load_tools(ROOT).subscribe(value)
