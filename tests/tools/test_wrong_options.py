"""Options of another type than they should be: taken as they are meant, or refused in words."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import re
import subprocess
import sys
from typing import Any

import pytest
from documents import document, operation
from packages import import_package

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
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS

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
    ("settings", "http://127.0.0.1", "settings: expected Settings(timeout=10), or a dict of"),
    ("settings", Settings, "settings, not the class Settings."),
    ("settings", 7, "not int."),
    ("settings", False, "not bool."),
    ("settings", {"base": "x"}, "base: unknown setting"),
    ("settings", {"transport": "fast"}, "transport: this setting was removed"),
    ("settings", {1: "x"}, "settings: must be a mapping by name"),
    ("select", "get_a", 'select: expected Select(tags=["…"]), a dict of its conditions, or a'),
    ("select", ["get_a"], "not list."),
    ("select", Select, "not the class Select."),
    ("select", {"tag": "b"}, "select: unknown key 'tag'; expected one of tags"),
    ("select", {"tags": 7}, "select: 'tags' must be a string or a list of strings, not 7."),
    ("credentials", SECRET, 'must be a mapping by scheme name, {"bearerAuth": "…"}, not str'),
    ("credentials", [("key", SECRET)], "not list;"),
    ("credentials", 7, "not int;"),
]


def load_generated(folder, options):
    generate_package(ROOT, folder / "own", name="given")
    with import_package(folder / "own", "given_tools") as package:
        return package.load(**options)


WAYS = {
    "load_tools": lambda _, options: load_tools(ROOT, **options),
    "aload_tools": lambda _, options: asyncio.run(aload_tools(ROOT, **options)),
    "generate_package": lambda folder, options: generate_package(ROOT, folder / "out", **options),
    "load of a package": load_generated,
}


@pytest.mark.parametrize("folder", ["a\0b", "/proc/none/a"])
def test_a_folder_that_cannot_be_created_is_an_error_of_the_settings(folder):
    with pytest.raises(SettingsError, match=r"record: the folder .* cannot be created \("):
        load_tools(ROOT, record=folder)


@pytest.mark.parametrize(
    ("option", "value", "message"), WRONG, ids=[f"{w[0]}-{w[2]}" for w in WRONG]
)
def test_an_option_of_a_wrong_type_is_refused_with_the_right_form(option, value, message, tmp_path):
    kind = CredentialsError if option == "credentials" else SettingsError
    for way in WAYS.values():
        with pytest.raises(OpenAPIToolsError, match=re.escape(message)) as caught:
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
    ("selection", "message"),
    [
        ({"tags": 7}, "'tags' must be a string or a list of strings"),
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
def test_a_field_of_a_selection_of_a_wrong_type_is_refused(selection, message):
    with pytest.raises(SettingsError, match=re.escape(message)):
        Select.parse(selection)


def test_a_selection_takes_any_collection_of_texts():
    assert Select(tags={"b"}, names=iter(["get_*"])) == Select(tags=["b"], names=("get_*",))


ADD = ["add_input_guardrails", "add_output_guardrails", "add_on_error_func"]


@pytest.mark.parametrize("on", ["toolset", "tool"])
@pytest.mark.parametrize("add", ADD)
async def test_one_function_is_meant_as_a_list_of_it(on, add):
    def pass_result(*_: Any) -> ToolResult:
        return ToolResult.ok("from a guardrail")

    for value in (pass_result, [pass_result]):
        toolset = load_tools(ROOT, settings=Settings(base_url="http://127.0.0.1:1", timeout=5))
        getattr(toolset if on == "toolset" else toolset["get_a"], add)(value)

        assert (await toolset["get_a"].execute({})).output == "from a guardrail"


@pytest.mark.parametrize("value", [None, 7, "guard", ["guard"], [None]], ids=repr)
@pytest.mark.parametrize("add", ADD)
def test_what_is_no_function_is_refused_as_a_guardrail(add, value):
    toolset = load_tools(ROOT)

    for target in (toolset, toolset["get_a"]):
        with pytest.raises(
            SettingsError, match=r"expected a list of functions, not (str|int|NoneTyp)"
        ):
            getattr(target, add)(value)


LOADS = ("aload_tools", "load of a package", "load_tools")


@pytest.mark.parametrize("way", LOADS)
def test_fields_of_settings_are_arguments_and_refine_settings(way, tmp_path):
    settings = Settings(timeout=7, retries=2)

    (session,) = WAYS[way](tmp_path, {"settings": settings, "retries": 3}).sessions
    (plain,) = WAYS[way](tmp_path, {"base_url": "http://127.0.0.1:9"}).sessions

    assert (session.settings.timeout, session.settings.retries) == (7, 3)
    assert session.settings.model_fields_set == {"timeout", "retries"}
    assert (settings.retries, plain.settings.base_url) == (2, "http://127.0.0.1:9")


MISTAKES = [
    ({"base_ulr": "x"}, "base_ulr: unknown setting; did you mean base_url"),
    ({"credential": {}}, "credential: unknown setting; did you mean credentials"),
    ({"time_out": 3}, "did you mean timeout"),
    ({"transport": "fast"}, "transport: this setting was removed"),
    ({"timeout": "soon"}, "timeout: input should be a valid number"),
    ({"settings": 7, "timeout": 3}, "settings: expected Settings(timeout=10)"),
    ({"settings": {"timeot": 3}, "timeout": 3}, "timeot: unknown setting; did you mean timeout?"),
]


@pytest.mark.parametrize("way", LOADS)
@pytest.mark.parametrize(("options", "message"), MISTAKES, ids=[row[1] for row in MISTAKES])
def test_a_wrong_setting_is_reported_with_the_nearest_names(way, options, message, tmp_path):
    with pytest.raises(SettingsError, match=re.escape(message)):
        WAYS[way](tmp_path, options)


TYPED = """
from pathlib import Path
from openapi_tools import Settings, load_tools
load_tools("a", settings=Settings(), base_url="http://a", timeout=3, ca_file=Path("x"), drop=["y"])
load_tools("a", timeot=3)
load_tools("a", timeout="soon")
"""


@pytest.mark.long
def test_a_type_checker_finds_wrong_settings(tmp_path):
    (tmp_path / "typed.py").write_text(TYPED)
    mypy = [sys.executable, "-m", "mypy", "--cache-dir", tmp_path / "cache"]
    command = [*mypy, tmp_path / "typed.py"]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout

    assert 'typed.py:5: error: Unexpected keyword argument "timeot"' in output
    assert 'typed.py:6: error: Argument "timeout" to "load_tools" has incompatible type' in output
    assert "Found 2 errors" in output


@pytest.mark.parametrize("wrong", [7, ["a.toml"], b"a.toml"])
def test_a_configuration_of_a_wrong_type_is_refused(wrong):
    with pytest.raises(SettingsError, match="config: expected a path, as"):
        load_tools(ROOT, config=wrong)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"timeout": 0}, "timeout: input should be greater than 0, not 0."),
        ({"concurrency": "many"}, "concurrency: input should be a valid integer"),
        ({"body": "round"}, "body: input should be 'flat' or 'nested', not 'round'."),
        ({"tmeout": SECRET}, "tmeout: unknown setting; did you mean timeout?"),
        ({"zzz": SECRET}, "zzz: unknown setting."),
        ({"server_variables": {"a": 1}}, "server_variables.a: input should be a valid string"),
        ({"base_url": SECRET.encode() + b"\xff"}, "base_url: "),
        (
            {"base_url": f"me:{SECRET}@host"},
            "base_url: the URL must begin with http:// or https://.",
        ),
        ({"base_url": ""}, "base_url: the URL '' must begin with http:// or https://."),
        ({"base_url": "ftp://h/x"}, "base_url: the URL 'ftp://h/x' must begin with"),
        ({"base_url": "localhost:8000"}, "did you mean 'http://localhost:8000'?"),
        ({"base_url": "api.example/v1"}, "did you mean 'http://api.example/v1'?"),
    ],
    ids=repr,
)
def test_a_wrong_setting_is_an_error_of_the_package_that_names_it(settings, message):
    with pytest.raises(SettingsError) as caught:
        Settings(**settings)

    assert isinstance(caught.value, OpenAPIToolsError)
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_there_is_a_line_for_each_fault_and_none_is_long():
    with pytest.raises(SettingsError) as caught:
        Settings(timeout="x" * 10_000, **{"y" * 10_000: "z"}, body=[1] * 10_000)

    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert all(len(line) < 200 for line in lines)


def test_settings_can_be_validated_copied_pickled_and_looked_at():
    settings = Settings(timeout=3)

    assert pickle.loads(pickle.dumps(settings)) == settings
    assert settings.model_copy(update={"timeout": 4.0}).timeout == 4
    assert list(inspect.signature(Settings).parameters) == list(Settings.model_fields)
    for url in ("http://localhost:8000/v1", "HTTPS://api.example", "http://[::1]"):
        assert Settings(base_url=url).base_url == url
    with pytest.raises(SettingsError, match="timeout"):
        Settings.model_validate({"timeout": -1})


def test_who_sets_nothing_gets_the_defaults():
    settings = Settings()

    for name in Settings.model_fields:
        assert getattr(DEFAULT_SETTINGS, name) == getattr(settings, name)
