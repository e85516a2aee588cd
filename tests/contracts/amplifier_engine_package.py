"""A generated package as a module of the real amplifier-core: installed, and from its folder.

`test_amplifier.py` runs these tests in a process of their own.
"""

import importlib
import json
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path
from types import SimpleNamespace

import pytest
from amplifier_core import ToolResult as CoreResult
from amplifier_core.loader import ModuleLoader
from amplifier_core.validation import ToolValidator
from servers.recorder import CannedResponse

from openapi_tools import generate_package
from openapi_tools.common.json_values import dump_json

MUSEUM = Path(__file__).parents[2] / "specs" / "museum.yaml"
SHIM = "amplifier_module_tool_museum"
TOOLS = [
    *("get_museum_hours", "create_special_event", "list_special_events", "get_special_event"),
    *("update_special_event", "delete_special_event", "buy_museum_tickets", "get_ticket_code"),
]
HOURS = [{"date": "2023-09-11", "timeOpen": "09:00", "timeClose": "18:00"}]
EVENT = {
    "name": "Pirate Coding Workshop",
    "location": "Computer Room",
    "eventDescription": "Captain Blackbeard shares his love of the C.",
    "dates": ["2023-09-05"],
    "price": 45,
}
BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The distribution as it was generated."""
    place = tmp_path_factory.mktemp("generated") / "museum"
    generate_package(MUSEUM, place, name="museum")
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


@pytest.fixture(autouse=True)
def forget():
    """Forget what a test imports, and where from."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name in [name for name in sys.modules if name.startswith(("museum_tools", SHIM))]:
        del sys.modules[name]


@pytest.fixture
def shim(folder, monkeypatch):
    """The package that Amplifier looks for, imported from the folder."""
    monkeypatch.syspath_prepend(folder)
    return importlib.import_module(SHIM)


@pytest.fixture
def config(recorder, monkeypatch):
    monkeypatch.setenv("MUSEUM_PASSWORD", "hunter2")
    recorder.responses += [
        CannedResponse(body=json.dumps(HOURS).encode()),
        CannedResponse(status=201, body=b'{"eventId": "1"}'),
    ]
    credentials = {"MuseumPlaceholderAuth": ["me", "${MUSEUM_PASSWORD}"]}
    return {"base_url": recorder.url, "credentials": credentials}


async def assert_usable(mount, coordinator, recorder):
    """Mount, call two tools of which one needs credentials, and unmount."""
    cleanup = await mount(coordinator)
    tools = dict(coordinator.get("tools"))
    hours = await tools["get_museum_hours"].execute({})
    event = await tools["create_special_event"].execute(EVENT)
    await cleanup()
    after = await tools["get_museum_hours"].execute({})

    assert list(tools) == [tool.name for tool in tools.values()] == TOOLS
    assert all(isinstance(result, CoreResult) for result in (hours, event))
    assert (hours.success, hours.output, str(hours)) == (True, HOURS, dump_json(HOURS))
    assert (event.success, str(event)) == (True, '{"eventId":"1"}')
    assert coordinator.get("tools") == {}
    assert not after.success
    assert "closed" in str(after)
    sent = [(one.method, one.target) for one in recorder.requests]
    assert sent == [("GET", "/museum-hours"), ("POST", "/special-events")]
    assert recorder.last.header("Authorization") == "Basic bWU6aHVudGVyMg=="


async def test_an_installed_package_is_mounted_by_its_entry_point(
    installed, config, coordinator, recorder, monkeypatch
):
    monkeypatch.syspath_prepend(installed)
    loader = ModuleLoader()

    (listed,) = {m.type: m for m in await loader.discover() if m.id == "tool-museum"}.values()
    mount = await loader.load("tool-museum", config)

    assert (listed.type, listed.mount_point) == ("tool", "tools")
    await assert_usable(mount, coordinator, recorder)


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


async def test_a_package_is_mounted_from_its_source(folder, config, coordinator, recorder):
    class Resolver:
        def resolve(self, module_id, source_hint=None, profile_hint=None):
            assert (module_id, source_hint) == ("tool-museum", str(folder))
            return SimpleNamespace(resolve=lambda: folder)

    await coordinator.mount("module-source-resolver", Resolver())
    loader = ModuleLoader(coordinator=coordinator)
    mount = await loader.load(
        "tool-museum", config, source_hint=str(folder), coordinator=coordinator
    )

    await assert_usable(mount, coordinator, recorder)


@pytest.mark.usefixtures("shim")
async def test_a_package_is_mounted_from_its_path(config, coordinator, recorder):
    raw = ModuleLoader()._load_filesystem("tool-museum")
    mount = await ModuleLoader().load("tool-museum", config)

    assert raw is sys.modules["museum_tools"].mount
    await assert_usable(mount, coordinator, recorder)


@pytest.mark.parametrize("config", [None, {}, {"select": {"methods": ["GET"]}}], ids=str)
@pytest.mark.usefixtures("shim")
async def test_the_validator_of_amplifier_passes_a_package(folder, config):
    names = [name for name in TOOLS if not config or name.startswith(("get", "list"))]
    for named in (str(folder / SHIM), SHIM):
        checked = await ToolValidator().validate(named, config=config)

        assert checked.passed
        assert [c for c in checked.checks if not c.passed or c.severity != "info"] == []
        messages = [c.message for c in checked.checks if c.name == "protocol_compliance"]
        assert messages == [f"Tool '{name}' implements Tool interface" for name in names]
