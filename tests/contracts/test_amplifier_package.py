"""A generated package as a module of Amplifier: installed, and from its folder.

The real amplifier-core runs in processes of their own: its engine can abort an interpreter that
ends by itself, so each of them ends with `os._exit`.
"""

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from servers.recorder import Answer

from openapi_tools import generate_package

if importlib.util.find_spec("amplifier_core") is None:
    pytest.skip("amplifier-core is not installed", allow_module_level=True)

SPEC = Path(__file__).parents[2] / "specs" / "museum.yaml"
SHIM = "amplifier_module_tool_museum"
TOOLS = [
    *("get_museum_hours", "create_special_event", "list_special_events", "get_special_event"),
    *("update_special_event", "delete_special_event", "buy_museum_tickets", "get_ticket_code"),
]
HOURS = [{"date": "2023-09-11", "timeOpen": "09:00", "timeClose": "18:00"}]
SECRET = "hunter2"
CREDENTIALS = {"MuseumPlaceholderAuth": ["me", "${MUSEUM_PASSWORD}"]}

BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
HEAD = """
import asyncio, json, os, sys
from pathlib import Path
from amplifier_core import ModuleCoordinator, ToolResult
from amplifier_core.loader import ModuleLoader
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation import ToolValidator

task = json.loads(sys.argv[1])


class Source:
    def resolve(self):
        return Path(task["folder"])


class Resolver:
    def resolve(self, module_id, source_hint=None, profile_hint=None):
        assert (module_id, source_hint) == ("tool-museum", task["folder"])
        return Source()


async def used(mount):
    # Mount, call two tools, unmount.
    coordinator = MockCoordinator()
    assert isinstance(coordinator, ModuleCoordinator)
    cleanup = await mount(coordinator)
    tools = dict(coordinator.get("tools"))
    found = {"tools": list(tools), "names": [tool.name for tool in tools.values()]}
    results = [await tools[name].execute(given) for name, given in task.get("calls", ())]
    found["results"] = [
        [result.success, result.output, result.get_serialized_output()] for result in results
    ]
    found["own"] = [isinstance(result, ToolResult) for result in results]
    found["shown"] = [str(result) for result in results]
    await cleanup()
    found["left"] = list(coordinator.get("tools"))
    after = await tools["get_museum_hours"].execute({})
    return found | {"after": [after.success, after.error["message"]]}


def checks(result):
    return [result.passed, [[c.name, c.passed, c.severity, c.message] for c in result.checks]]


def main(run):
    said = json.dumps(asyncio.run(run))
    print(said, flush=True)
    sys.stderr.flush()
    os._exit(0)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The distribution as it was generated."""
    place = tmp_path_factory.mktemp("generated") / "museum"
    generate_package(SPEC, place, name="museum")
    return place


@pytest.fixture(scope="module")
def installed(folder, tmp_path_factory):
    """A folder for the path, with the distribution installed in it from its wheel."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: it builds the wheel")
    wheels, target = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("installed")
    run = [sys.executable, "-B", "-c", BUILD, str(wheels)]
    ended = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    with zipfile.ZipFile(wheels / ended.stdout.strip()) as wheel:
        wheel.extractall(target)
    return target


async def amplifier(code, *, installed=None, **task):
    """Run code in a process that has amplifier-core; what it hands to `main`."""
    variables = {**os.environ, "MUSEUM_PASSWORD": SECRET, "PYTHONDONTWRITEBYTECODE": "1"}
    variables |= {"PYTHONPATH": str(installed)} if installed else {}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HEAD + code, json.dumps(task)),
        env=variables,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return json.loads(said)


def calling(recorder):
    """A task that calls two tools, of which one needs credentials."""
    recorder.answers += [
        Answer(body=json.dumps(HOURS).encode()),
        Answer(status=201, body=b'{"eventId": "1"}'),
    ]
    event = {
        "name": "Pirate Coding Workshop",
        "location": "Computer Room",
        "eventDescription": "Captain Blackbeard shares his love of the C.",
        "dates": ["2023-09-05"],
        "price": 45,
    }
    return {
        "config": {"base_url": recorder.url, "credentials": CREDENTIALS},
        "calls": [["get_museum_hours", {}], ["create_special_event", event]],
    }


def assert_used(found, recorder):
    assert found["tools"] == found["names"] == TOOLS
    assert found["results"] == [
        [True, HOURS, json.dumps(HOURS)],
        [True, {"eventId": "1"}, '{"eventId": "1"}'],
    ]
    assert found["own"] == [True, True], "they are Amplifier's own results"
    assert found["shown"] == [json.dumps(HOURS), '{"eventId": "1"}']
    assert found["left"] == []
    assert found["after"][0] is False
    assert "closed" in found["after"][1]
    assert [(one.method, one.target) for one in recorder.requests] == [
        ("GET", "/museum-hours"),
        ("POST", "/special-events"),
    ]
    assert recorder.last.header("Authorization") == "Basic bWU6aHVudGVyMg=="


@pytest.mark.long
async def test_an_installed_package_is_mounted_by_its_entry_point(installed, recorder):
    code = """
async def run():
    loader = ModuleLoader()
    listed = [module for module in await loader.discover() if module.id == "tool-museum"]
    found = await used(await loader.load("tool-museum", task["config"]))
    return found | {"listed": [[module.type, module.mount_point] for module in listed]}


main(run())
"""

    found = await amplifier(code, installed=installed, **calling(recorder))

    assert_used(found, recorder)
    assert found["listed"] == [["tool", "tools"]]


def test_a_wheel_holds_the_packages_and_says_what_it_needs(installed):
    (info,) = installed.glob("*.dist-info")
    metadata = message_from_string((info / "METADATA").read_text(encoding="utf-8"))

    assert metadata["Name"] == "museum-tools"
    assert metadata["Version"] == "1.2.1"
    assert metadata.get_all("Requires-Dist") == ["openapi-tools>=0.1"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "| `get_museum_hours` | GET /museum-hours |" in str(metadata.get_payload())
    assert {path.name for path in installed.iterdir()} == {info.name, "museum_tools", SHIM}
    assert (installed / "museum_tools" / "py.typed").is_file()


@pytest.mark.long
@pytest.mark.parametrize("way", ["source", "path"])
async def test_a_package_is_mounted_from_its_folder(folder, recorder, way):
    code = """
async def by_source():
    coordinator = MockCoordinator()
    await coordinator.mount("module-source-resolver", Resolver())
    loader = ModuleLoader(coordinator=coordinator)
    mount = await loader.load(
        "tool-museum", task["config"], source_hint=task["folder"], coordinator=coordinator
    )
    return await used(mount)


async def by_path():
    sys.path.insert(0, task["folder"])
    raw = ModuleLoader()._load_filesystem("tool-museum")
    mount = await ModuleLoader().load("tool-museum", task["config"])
    assert raw is sys.modules["museum_tools"].mount
    return await used(mount)


main(by_source() if task["way"] == "source" else by_path())
"""

    found = await amplifier(code, folder=str(folder), way=way, **calling(recorder))

    assert_used(found, recorder)


async def test_a_session_mounts_it_from_a_plan_and_closes_it(installed, recorder, tmp_path):
    for name in ("loop_test", "context_test"):
        point = name.partition("_")[0].replace("loop", "orchestrator")
        (tmp_path / f"amplifier_module_{name}").mkdir()
        (tmp_path / f"amplifier_module_{name}" / "__init__.py").write_text(
            "from types import SimpleNamespace\n\n\n"
            "async def mount(coordinator, config):\n"
            f"    await coordinator.mount({point!r}, SimpleNamespace())\n"
        )
    code = """
from amplifier_core import AmplifierSession


async def run():
    sys.path.insert(0, task["modules"])
    parts = {"orchestrator": {"module": "loop-test"}, "context": {"module": "context-test"}}
    plan = {"session": parts, "tools": [{"module": "tool-museum", "config": task["config"]}]}
    session = AmplifierSession(plan)
    await session.initialize()
    tools = dict(session.coordinator.get("tools"))
    result = await tools["get_museum_hours"].execute({})
    await session.cleanup()
    after = await tools["get_museum_hours"].execute({})
    return [list(tools), result.success, result.output, after.success, after.error["message"]]


main(run())
"""

    task = calling(recorder)
    found = await amplifier(code, installed=installed, modules=str(tmp_path), config=task["config"])

    assert found[:4] == [TOOLS, True, HOURS, False]
    assert "closed" in found[4]


@pytest.mark.long
@pytest.mark.parametrize("config", [None, {}, {"select": {"methods": ["GET"]}}], ids=str)
async def test_the_validator_of_amplifier_passes(folder, config):
    code = """
async def run():
    path = checks(await ToolValidator().validate(task["path"], config=task["config"]))
    sys.path.insert(0, task["folder"])
    name = checks(await ToolValidator().validate(Path(task["path"]).name, config=task["config"]))
    return [path, name]


main(run())
"""

    for passed, found in await amplifier(
        code, folder=str(folder), path=str(folder / SHIM), config=config
    ):
        assert passed
        assert [check for check in found if not check[1] or check[2] != "info"] == []
        messages = [message for name, _, _, message in found if name == "protocol_compliance"]
        wanted = [name for name in TOOLS if not config or name.startswith(("get", "list"))]
        assert messages == [f"Tool '{name}' implements Tool interface" for name in wanted]


async def test_mounting_needs_no_configuration(folder):
    code = """
async def run():
    sys.path.insert(0, task["folder"])
    from amplifier_module_tool_museum import __amplifier_module_type__, mount

    found = [__amplifier_module_type__]
    for arguments in ((), (None,), ({},)):
        coordinator = MockCoordinator()
        cleanup = await mount(coordinator, *arguments)
        found.append(list(coordinator.get("tools")))
        await cleanup()
        await cleanup()
        assert not coordinator.get("tools")
    return found


main(run())
"""

    assert await amplifier(code, folder=str(folder)) == ["tool", TOOLS, TOOLS, TOOLS]


FAULTS = [
    ({"baseurl": "x"}, "configuration: there is no 'baseurl'; there are base_url, credentials,"),
    ({"base_url": "museum"}, "base_url: the address 'museum' begins with neither http://"),
    ({"base_url": "${MUSEUM_URL}"},
     "'base_url': the environment variable MUSEUM_URL is not set or empty."),
    ({"base_url": 5}, "base_url: input should be a valid string"),
    ({"credentials": {"x": "y"}}, "'x'"),
    ({"credentials": "x"}, "credentials: must be a mapping by name, not str."),
    ({"credentials": {"MuseumPlaceholderAuth": "x"}}, "MuseumPlaceholderAuth"),
    ({"credentials": {"MuseumPlaceholderAuth": ["me", "${NOTHING}"]}},
     "'MuseumPlaceholderAuth': the environment variable NOTHING is not set or empty."),
    ({"select": {"tag": "Events"}}, "select: there is no 'tag'; there are tags, methods,"),
    ({"select": ["Events"]}, "select: must be a mapping by name, not list."),
    ({"settings": {"timeout": -1}}, "timeout: input should be greater than 0"),
    ({"settings": {"time_out": 1}}, "time_out: unknown setting; did you mean timeout?"),
    ({"settings": {"prefix": "x_"}}, "prefix was decided when the package was generated"),
    ({"settings": {"check_answers": True}}, "check_answers needs the document"),
    ([], "configuration: must be a mapping by name, not list."),
]  # fmt: skip


async def test_a_wrong_configuration_is_told_in_one_line_and_mounts_nothing(folder):
    code = """
async def run():
    sys.path.insert(0, task["folder"])
    from amplifier_module_tool_museum import mount
    from openapi_tools import OpenAPIToolsError

    said = []
    for config in task["configs"]:
        coordinator = MockCoordinator()
        try:
            await mount(coordinator, config)
        except OpenAPIToolsError as error:
            said.append([str(error), list(coordinator.get("tools"))])
    return said


main(run())
"""
    configs = [config for config, _ in FAULTS]

    said = await amplifier(code, folder=str(folder), configs=configs)

    assert len(said) == len(FAULTS)
    for (text, mounted), (_, expected) in zip(said, FAULTS, strict=True):
        assert expected in text
        assert "\n" not in text
        assert mounted == []


async def test_a_tool_of_somebody_else_is_not_replaced(folder):
    code = """
from amplifier_core.testing import MockTool


async def run():
    sys.path.insert(0, task["folder"])
    from amplifier_module_tool_museum import mount
    from openapi_tools import OpenAPIToolsError

    coordinator = MockCoordinator()
    mine = MockTool("get_special_event")
    await coordinator.mount("tools", mine, name=mine.name)
    try:
        await mount(coordinator)
    except OpenAPIToolsError as error:
        assert coordinator.get("tools", mine.name) is mine
        return [str(error), list(coordinator.get("tools"))]


main(run())
"""

    said, mounted = await amplifier(code, folder=str(folder))

    assert (
        said == "tools of these names are mounted already: get_special_event; "
        "load or generate yours with a prefix, or select others."
    )
    assert mounted == ["get_special_event"]
