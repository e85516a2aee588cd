"""The fixtures for pytest, and the classes of tests to inherit."""

import subprocess
import sys
from pathlib import Path

import pytest
from packages import import_package

from openapi_tools import load_tools, pytest_plugin
from openapi_tools.providers.definitions import PROFILES
from openapi_tools.testing import conformance_tests
from openapi_tools.testing.conformance_tests import ToolConformance

ROOT = Path(__file__).parents[2]
PETSTORE = ROOT / "specs" / "petstore.yaml"
PLUGIN = ("-p", "openapi_tools.pytest_plugin", "-p", "no:cacheprovider")


class TestPetstore(ToolConformance):
    document = PETSTORE

    @pytest.fixture(autouse=True)
    def generated(self):
        with import_package(ROOT / "generated" / "petstore", "petstore_tools") as self.package:
            yield


class TestGeneratedMuseum(ToolConformance):
    document = ROOT / "specs" / "museum.yaml"
    package = None

    def toolset(self, client):
        with import_package(ROOT / "generated" / "museum", "museum_tools") as package:
            return package.load(client=client)


class TestCafe(ToolConformance):
    document = ROOT / "specs" / "cafe.yaml"
    # The sample of its `oneOf` lacks the properties of the branch that the mapping names.
    uncalled = ("create_menu_item",)


@pytest.mark.long
class TestDiscord(ToolConformance):
    document = ROOT / "specs" / "discord.json"
    # The document says `enum: []` beside the `oneOf` that lists the values.
    uncalled = ("get_guild_join_requests", "action_guild_join_request")


async def test_the_mock_of_a_test_is_given_by_a_fixture(openapi_mock):
    api = openapi_mock(PETSTORE)

    assert (await load_tools(api, settings={"anonymous": True}).call("get_inventory", {})).success
    assert api.assert_called("get_inventory")


async def test_a_cassette_is_beside_its_test(openapi_cassette):
    async with load_tools(PETSTORE, client=openapi_cassette.client()) as toolset:
        result = await toolset.call("get_order_by_id", {"orderId": 10})

    assert (result.output["id"], result.output["petId"]) == (10, 198772)


TESTS = """
import asyncio
from openapi_tools.testing.conformance_tests import ToolConformance

def test_wrong(openapi_mock):
    asyncio.run(openapi_mock("{spec}").client().get("/pet/x"))

def test_tape(openapi_cassette):
    pass

class TestTools(ToolConformance):
    document = "{spec}"

    def toolset(self, client):
        made = super().toolset(client)
        made["get_inventory"].add_input_guardrails([lambda *_: False])
        return made
"""


@pytest.mark.long
def test_what_is_wrong_fails_the_tests_of_a_project(tmp_path):
    (tmp_path / "test_tools.py").write_text(TESTS.format(spec=PETSTORE))
    command = [sys.executable, "-m", "pytest", "-q", *PLUGIN, "--openapi-record=none", "-rA"]

    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    output = ran.stdout
    assert "path parameter 'petId': 'x' is not of type 'integer'" in output
    assert "cassettes/test_tools/test_tape.json: no such cassette" in output
    assert "{'get_inventory': [" in output
    assert "1 failed, 3 passed, 1 skipped, 2 errors" in output


def test_every_run_of_pytest_imports_the_plugin_and_nothing_else_of_the_package():
    new = "print(*sorted({*sys.modules} - old))"
    code = f"import sys, pytest; old = {{*sys.modules}}; import {pytest_plugin.__name__}; {new}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    names = ran.stdout.split()
    ours = {name for name in names if name.partition(".")[0] == "openapi_tools"}
    package = {"openapi_tools", "openapi_tools._version"}
    lazy = {"openapi_tools.common", "openapi_tools.common.lazy_names"}
    assert ours == {*package, *lazy, "openapi_tools.pytest_plugin"}
    assert {"asyncio", "httpx", "jsonschema_rs", "pydantic"}.isdisjoint(names)


def test_the_profiles_of_the_tests_are_those_of_the_package():
    assert set(conformance_tests.PROFILES) == set(PROFILES)
