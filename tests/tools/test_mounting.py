from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from documents import document, operation
from packages import Coordinator

from openapi_tools import CredentialsError, Select, Settings, SettingsError, load_tools
from openapi_tools.tools import packages
from openapi_tools.tools.packages import options_of

ROOT = Path(__file__).parents[2]


class Bare:
    """A coordinator that can only mount."""

    def __init__(self):
        self.names: list[str | None] = []

    async def mount(self, point: str, tool: Any, name: str | None = None):
        self.names.append(name)


def toolset(url="http://127.0.0.1:9"):
    paths = {"/a": {"get": operation(operationId="a"), "post": operation(operationId="b")}}
    return load_tools(document(paths), settings=Settings(base_url=url))


async def test_tools_are_mounted_under_their_names_and_unmounted_again():
    coordinator, tools = Coordinator("mine"), toolset()

    cleanup = await tools.mount(coordinator)

    assert coordinator.tools == {"mine": None, "a": tools["a"], "b": tools["b"]}
    await cleanup()
    assert coordinator.tools == {"mine": None}
    await cleanup()


async def test_a_coordinator_that_can_only_mount_is_enough_and_cleaning_up_closes():
    coordinator, tools = Bare(), toolset()

    await (await tools.mount(coordinator))()

    assert coordinator.names == ["a", "b"]
    assert "closed" in str(await tools["a"].execute({}))


async def test_a_mounted_tool_is_never_replaced():
    coordinator = Coordinator("b")

    with pytest.raises(
        SettingsError, match="mounted already: b; load or generate yours with a prefix"
    ):
        await toolset().mount(coordinator)

    assert coordinator.tools == {"b": None}


async def test_all_tools_are_mounted_or_none():
    coordinator = Coordinator(full=1)

    with pytest.raises(RuntimeError, match="full"):
        await toolset().mount(coordinator)

    assert coordinator.tools == {}


async def test_a_cleanup_that_is_cancelled_still_ends():
    coordinator, tools = Coordinator(), toolset()
    waiting, go = asyncio.Event(), asyncio.Event()

    async def unmount(point: str, name: str):
        waiting.set()
        await go.wait()
        del coordinator.tools[name]

    cleanup = await tools.mount(coordinator)
    coordinator.unmount = unmount
    task = asyncio.create_task(cleanup())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others)

    assert coordinator.tools == {}
    assert "closed" in str(await tools["a"].execute({}))


async def test_a_coordinator_of_a_known_package_gets_the_tools_in_its_words(monkeypatch):
    # What such a coordinator is comes from a table; the real ones have tests of their own.
    left = []

    @contextmanager
    def present(coordinator: Any, tools: Any):
        yield [SimpleNamespace(name=tool.name, own=tool) for tool in tools]
        left.append(coordinator)

    package, contract = ModuleType("a_package"), ModuleType("a_contract")
    package.Coordinator, contract.present = Coordinator, present
    monkeypatch.setitem(sys.modules, "a_package", package)
    monkeypatch.setitem(sys.modules, "a_contract", contract)
    row = ("a_package", "Coordinator", "a_contract")
    monkeypatch.setattr(packages, "_PRESENTERS", (("not_there", "X", "y"), row))
    coordinator, tools = Coordinator(), toolset()

    cleanup = await tools.mount(coordinator)

    assert {name: tool.own for name, tool in coordinator.tools.items()} == {
        tool.name: tool for tool in tools
    }
    assert left == []
    await cleanup()
    assert (left, coordinator.tools) == ([coordinator], {})
    bare = Bare()
    await (await tools.mount(bare))()
    assert left == [coordinator]


@pytest.mark.parametrize("folder", [None, "petstore"], ids=["loaded", "generated"])
def test_mounting_elsewhere_imports_no_package_of_a_coordinator(folder):
    get = "import petstore_tools; tools = petstore_tools.load()"
    if folder is None:
        get = "import openapi_tools; tools = openapi_tools.load_tools('specs/petstore.yaml')"
    code = f"""
import asyncio, sys
{get}
class Coordinator:
    async def mount(self, point, tool, name=None):
        assert tool is tools[name]
asyncio.run(tools.mount(Coordinator()))
assert "amplifier_core" not in sys.modules
"""
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'generated' / 'petstore'}"}

    ran = subprocess.run([sys.executable, "-B", "-c", code], cwd=ROOT, env=env, check=False)

    assert ran.returncode == 0


async def test_what_is_no_coordinator_is_refused():
    with pytest.raises(SettingsError, match="dict is not a coordinator"):
        await toolset().mount({})


def test_a_plan_without_configuration_gives_the_defaults():
    for nothing in (None, {}):
        options = options_of(nothing)

        assert options["select"] is None
        assert options["credentials"] == {}
        assert options["settings"].base_url is None


def test_a_plan_names_everything_that_load_tools_takes(monkeypatch):
    monkeypatch.setenv("PETS_TOKEN", "s3cret")
    monkeypatch.setenv("PETS_URL", "http://localhost:8000")

    options = options_of(
        {
            "base_url": "${PETS_URL}",
            "credentials": {"bearer": "${PETS_TOKEN}", "basic": ["me", "${PETS_TOKEN}"]},
            "select": {"tags": ["pets"], "deprecated": False},
            "settings": {"timeout": 5},
        }
    )

    assert options["settings"].base_url == "http://localhost:8000"
    assert options["settings"].timeout == 5
    assert options["credentials"] == {"bearer": "${PETS_TOKEN}", "basic": ["me", "${PETS_TOKEN}"]}
    assert options["select"].tags == ("pets",)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"spec": "x"}, "configuration: there is no 'spec'; there are base_url"),
        ({"select": {"tag": "x"}}, "select: there is no 'tag'; there are tags"),
        ({"select": {"tags": 5}}, "select: 'tags' must be a text or a list of texts, not 5"),
        ({"select": {"names": [1]}}, "select: 'names' must be a text or a list of texts"),
        ({"select": {"deprecated": "no"}}, "select: 'deprecated' must be true or false"),
        ({"base_url": "${NOT_SET_ANYWHERE}"}, "variable NOT_SET_ANYWHERE is not set"),
        ({"select": ["x"]}, "select: must be a mapping by name, not list"),
        ({"settings": {"timout": 1}}, "did you mean timeout"),
        ({"credentials": "secret"}, "credentials: must be a mapping by name, not str"),
        ("config", "configuration: must be a mapping by name, not str"),
        ({1: 2}, "configuration: must be a mapping by name"),
    ],
)
def test_a_plan_that_says_something_else_is_refused(config, message):
    with pytest.raises(SettingsError, match=message) as caught:
        options_of(config)

    assert "secret" not in str(caught.value)


def test_a_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("PETS_TOKEN", raising=False)

    options = options_of({"credentials": {"bearer": "${PETS_TOKEN}"}})
    schemes = {"bearer": {"type": "http", "scheme": "bearer"}}
    root = document({}, components={"securitySchemes": schemes})

    with pytest.raises(CredentialsError, match="'bearer': the environment variable PETS_TOKEN"):
        load_tools(root, **options)


async def test_tools_in_two_coordinators_stay_usable_until_both_let_go(recorder):
    tools = toolset(recorder.url)
    first, second = Coordinator(), Coordinator()
    take_first = await tools.select(Select(methods="GET")).mount(first)
    take_second = await tools.select(Select(methods="POST")).mount(second)

    await take_first()
    await take_first()
    assert (await second.tools["b"].execute({})).success
    kept = tools["b"]
    await take_second()

    assert "closed" in str(await kept.execute({}))


async def test_a_toolset_that_could_not_be_mounted_stays_usable(recorder):
    tools = toolset(recorder.url)
    with pytest.raises(RuntimeError, match="full"):
        await tools.mount(Coordinator(full=1))

    assert (await tools["a"].execute({})).success
    await tools.aclose()


@pytest.mark.parametrize(
    ("config", "member", "value"),
    [
        ({"base_url": "http://${ONE}/v${TWO}"}, "base_url", "http://1.example/v2"),
        ({"settings": {"base_url": "http://${ONE}"}}, "base_url", "http://1.example"),
    ],
)
def test_variables_stand_inside_of_longer_texts(monkeypatch, config, member, value):
    monkeypatch.setenv("ONE", "1.example")
    monkeypatch.setenv("TWO", "2")

    assert getattr(options_of(config)["settings"], member) == value


async def test_a_credential_may_be_put_together_from_variables(monkeypatch, recorder):
    monkeypatch.setenv("ONE", "me")
    monkeypatch.setenv("TWO", "${ONE}")
    plan = {"base_url": recorder.url, "credentials": {"a": "x${ONE}:${TWO}"}}
    root = document(
        {"/a": {"get": operation(operationId="a", security=[{"a": []}])}},
        components={"securitySchemes": {"a": {"type": "apiKey", "in": "header", "name": "X-A"}}},
    )

    async with load_tools(root, **options_of(plan)) as tools:
        await tools["a"].execute({})

    assert ("X-A", "xme:${ONE}") in recorder.requests[-1].headers


@pytest.mark.parametrize("given", ["hunter2", "ftp://hunter2", "http://me:hunter2@x.example"])
def test_what_the_environment_has_is_not_shown(monkeypatch, given):
    monkeypatch.setenv("ADDRESS", given)

    for config in ({"base_url": "${ADDRESS}"}, {"settings": {"base_url": "${ADDRESS}"}}):
        with pytest.raises(
            SettingsError, match=r"base_url: \$\{ADDRESS\} gives no http://"
        ) as error:
            options_of(config)
        assert "hunter2" not in str(error.value)


def test_a_password_that_stands_in_an_address_is_not_shown(monkeypatch):
    monkeypatch.setenv("HOST", "x.example")

    with pytest.raises(SettingsError, match=r"base_url: \$\{HOST\} gives no http://") as error:
        options_of({"base_url": "http://me:hunter2@${HOST}"})
    assert "hunter2" not in str(error.value)


def test_another_fault_beside_an_address_is_told_as_it_is(monkeypatch):
    monkeypatch.setenv("ADDRESS", "hunter2")

    with pytest.raises(SettingsError, match="timeout"):
        options_of({"base_url": "${ADDRESS}", "settings": {"timeout": -1}})
