"""Toolsets in coordinators: all tools or none, and connections until the last one lets go."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from documents import document, operation
from packages import Coordinator

from openapi_tools import Select, Settings, SettingsError, load_tools

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


async def test_a_coordinator_that_can_only_mount_is_enough_and_cleaning_up_closes():
    coordinator, tools = Bare(), toolset()

    await (await tools.mount(coordinator))()

    assert coordinator.names == ["a", "b"]
    assert "closed" in str(await tools["a"].execute({}))


@pytest.mark.parametrize("coordinator", [Coordinator("b"), {}], ids=["taken", "no coordinator"])
async def test_a_mounted_tool_is_never_replaced(coordinator):
    is_coordinator = isinstance(coordinator, Coordinator)
    message = (
        "already mounted: b; load or generate yours with a prefix"
        if is_coordinator
        else "dict is not a"
    )

    with pytest.raises(SettingsError, match=message):
        await toolset().mount(coordinator)

    assert not is_coordinator or coordinator.tools == {"b": None}


async def test_all_tools_are_mounted_or_none_and_stay_usable(recorder):
    coordinator, tools = Coordinator(full=1), toolset(recorder.url)

    with pytest.raises(RuntimeError, match="full"):
        await tools.mount(coordinator)

    assert coordinator.tools == {}
    assert (await tools["a"].execute({})).success
    await tools.aclose()


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
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*tasks)

    assert coordinator.tools == {}
    assert "closed" in str(await tools["a"].execute({}))


def test_mounting_elsewhere_imports_no_package_of_a_coordinator():
    code = """
import asyncio, sys
import openapi_tools, petstore_tools
class Coordinator:
    async def mount(self, point, tool, name=None):
        assert tool is tools[name]
for tools in (petstore_tools.load(), openapi_tools.load_tools('specs/petstore.yaml')):
    asyncio.run(tools.mount(Coordinator()))
assert "amplifier_core" not in sys.modules
"""
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'generated' / 'petstore'}"}

    ran = subprocess.run([sys.executable, "-B", "-c", code], cwd=ROOT, env=env, check=False)

    assert ran.returncode == 0


async def test_tools_in_two_coordinators_stay_usable_until_both_let_go(recorder):
    tools = toolset(recorder.url)
    first, second = Coordinator("mine"), Coordinator()
    take_first = await tools.select(Select(methods="GET")).mount(first)
    take_second = await tools.select(Select(methods="POST")).mount(second)

    await take_first()
    await take_first()
    assert first.tools == {"mine": None}
    assert (await second.tools["b"].execute({})).success
    kept = tools["b"]
    await take_second()

    assert "closed" in str(await kept.execute({}))
