"""`generate_package`: the library call behind `openapi-tools generate`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from documents import document, operation
from output_folders import files_in, nothing_changes, tree
from packages import import_package
from servers.site import Site, SiteResponse

from openapi_tools import (
    DocumentError,
    OutputError,
    Report,
    Select,
    Settings,
    SettingsError,
    SourceError,
    generate_package,
)

PATHS = {
    "/pets": {"get": operation(operationId="list_pets", tags=["pets"], summary="List pets."),
              "post": operation(operationId="add_pet", tags=["pets"], summary="Add a pet.")},
    "/shops": {"get": operation(operationId="list_shops", tags=["shops"], summary="List shops.")},
}  # fmt: skip
ROOT = Path(__file__).parents[1]
SHOPS = "pets_tools/tools_shops.py"
SECURED = {
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
    "security": [{"key": []}],
}
ADVICE = {"python": "pass it to its load()", "exathena": "configure it where the tools run"}


@pytest.fixture
def out(tmp_path):
    """A folder that holds the package of `pets()`."""
    generate_package(pets(), tmp_path / "out", name="pets")
    return tmp_path / "out"


def pets(**changes):
    return document({**PATHS, **changes}, servers=[{"url": "https://pets.example"}])


def test_a_report_says_what_was_done_and_a_second_run_has_nothing_to_do(tmp_path):
    report = generate_package(pets(), tmp_path / "out", name="pets")
    with nothing_changes(tmp_path):
        second = generate_package(pets(), tmp_path / "out", name="pets")

    assert isinstance(report, Report)
    assert (report.api, report.output) == ("pets", tmp_path / "out")
    assert report.tools == ("list_pets", "add_pet", "list_shops")
    assert report.written == tuple(sorted(files_in(tmp_path / "out")))
    assert (report.unchanged, report.removed, report.kept, report.edited) == ((), (), (), ())
    assert (report.changes, report.skipped, report.warnings) == ((), (), ())
    assert report.drifted
    assert "OperationTool" not in repr(report)
    assert not second.drifted
    assert (second.written, second.unchanged) == ((), report.written)
    assert list(second.diff()) == []


def test_checking_gives_the_report_of_writing_and_writes_nothing(tmp_path, out):
    query = [{"name": "limit", "in": "query", "required": True, "schema": {"type": "integer"}}]
    changed = pets(
        **{
            "/pets": {"get": operation(operationId="list_pets", tags=["pets"], parameters=query)},
            "/shops": {"get": operation(operationId="find_shops", tags=["stores"])},
            "/new": {"get": operation(operationId="new")},
        }
    )

    with nothing_changes(tmp_path):
        checked = generate_package(changed, out, name="pets", check=True)
        elsewhere = generate_package(changed, tmp_path / "a" / "b", check=True)
    written = generate_package(changed, out, name="pets")

    assert checked == written
    assert (checked.drifted, elsewhere.drifted, elsewhere.changes) == (True, True, ())
    changes = {(change.kind, change.tool): change for change in checked.changes}
    assert changes.keys() >= {("description", "list_pets"), ("added", "new")}
    assert [key for key, change in changes.items() if change.breaking] == [
        ("schema", "list_pets"),
        ("renamed", "find_shops"),
        ("removed", "add_pet"),
    ]
    assert changes["renamed", "find_shops"].before == "list_shops"
    lines = list(checked.diff())
    assert lines == list(written.diff())
    headings = [line.removeprefix("+++ ") for line in lines if line.startswith("+++ ")]
    assert headings == sorted({*checked.written, *checked.removed})
    assert '-    "list_shops": "tools_shops",' in lines
    assert '+    name = "find_shops"' in lines
    assert not any("\n" in line for line in lines)


def test_relative_servers_are_resolved_by_the_address(tmp_path):
    with Site(lambda _: SiteResponse(document(PATHS, servers=[{"url": "/v1"}]))) as site:
        generate_package(f"{site.url}/pets.json", tmp_path, name="pets")

    assert f'servers=(Server("{site.url}/v1"),)' in (tmp_path / SHOPS).read_text()


@pytest.mark.parametrize("target", ["python", "exathena"])
def test_settings_shape_the_tools_or_are_reported_to_have_no_effect(tmp_path, target):
    settings = Settings(prefix="my_", description_chars=16, max_output_chars=500)

    report = generate_package(pets(), tmp_path, name="pets", settings=settings, target=target)

    assert report.tools == ("my_list_pets", "my_add_pet", "my_list_shops")
    reason = "max_output_chars has no effect on a package"
    assert report.warnings == (f"settings: {reason}; {ADVICE[target]}.",)


@pytest.mark.parametrize("target", ["python", "exathena"])
@pytest.mark.parametrize("way", ["settings", "configuration"])
def test_a_base_url_becomes_the_server_of_the_package(tmp_path, target, way):
    """A document without a server of its own would give a package whose calls have no address."""
    address = "http://shop.example/v2"
    options = {
        "settings": {"settings": Settings(base_url=address)},
        "configuration": {"config": {"base_url": address}},
    }

    report = generate_package(pets(), tmp_path, name="pets", target=target, **options[way])

    assert report.warnings == ()
    assert any(address in text for text in files_in(tmp_path).values())
    assert not any("pets.example" in text for text in files_in(tmp_path).values())


async def test_a_package_of_a_configuration_calls_its_base_url(tmp_path, monkeypatch):
    with Site(lambda _: SiteResponse([])) as site:
        monkeypatch.setenv("SHOP_URL", f"{site.url}/{{v2}}")
        config = {"base_url": "${SHOP_URL}"}
        generate_package(pets(), tmp_path, name="pets", config=config)

        with import_package(tmp_path, "pets_tools") as package:
            async with package.load() as toolset:
                result = await toolset.call("list_shops", {})

    assert result.success, result
    assert [request.path for request in site.requests] == ["/%7Bv2%7D/shops"]


@pytest.mark.parametrize("target", ["python", "exathena"])
def test_each_option_of_a_configuration_that_a_package_cannot_hold_is_named(tmp_path, target):
    file = tmp_path / "openapi-tools.toml"
    file.write_text(
        """
        prefix = "my_"
        lock = "tools.lock"
        settings = { timeout = 5, retries = 2, cache = false, description_chars = 16 }
        credentials = { key = "${KEY}" }
        """.replace("        ", "")
    )
    (tmp_path / "tools.lock").write_text("")

    report = generate_package(
        {**pets(), **SECURED}, tmp_path / "package", name="pets", config=file, target=target
    )

    assert [line for line in report.warnings if "is not set" not in line] == [
        f"{file}: settings.retries has no effect on a package; {ADVICE[target]}.",
        f"{file}: settings.timeout has no effect on a package; {ADVICE[target]}.",
        f"{file}: credentials are never written to a package; {ADVICE[target]}.",
        f"{file}: lock has no effect on a package; its manifest is a lock.",
    ]


@pytest.mark.parametrize("is_installed", [False, True], ids=["not installed", "installed"])
def test_the_tests_of_packages_pass_from_the_root_of_a_repository(tmp_path, is_installed):
    """A user's own `pytest` collects them, too."""
    folders = [tmp_path / "generated" / name for name in ("pets", "shops")]
    for folder in folders:
        generate_package(pets(), folder, name=folder.name)
    paths = [str(folder) for folder in folders if is_installed]
    places = [str(ROOT), *paths, *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio"]

    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )

    assert "4 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"layout": None}, SettingsError, "layout must be one of package, module, not None"),
        ({"name": 5}, SettingsError, "name: 5 cannot be part of a package's name"),
        ({"select": Select(tags="shop")}, SettingsError,
         "no tool has the tag 'shop'; did you mean shops? The document has the tags pets, shops."),
        ({"target": "elm"}, SettingsError,
         "target must be one of python, exathena, skill, not 'elm'."),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_anything_is_written(tmp_path, options, error, message):
    with pytest.raises(error) as caught:
        generate_package(pets(), tmp_path / "out", **options)

    assert message in str(caught.value)
    assert len(str(caught.value)) < 300
    assert tree(tmp_path) == {}


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("nowhere.yaml", SourceError),
        ("http://127.0.0.1:9/nothing.json", SourceError),
        (b"", DocumentError),
        ({}, DocumentError),
        ({"openapi": "3.1.0", "info": {}, "paths": 1}, DocumentError),
        ('{"openapi": "3.1.0", "info": {}, "paths": {"/a": {}, "/a": {}}}', DocumentError),
    ],
)
def test_what_does_not_load_leaves_the_package_alone(tmp_path, out, source, error):
    with nothing_changes(tmp_path), pytest.raises(error):
        generate_package(source, out, name="pets")


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("output", ["file", "file/out", "a\0b", "\ud800"])
def test_an_output_that_can_be_none_is_refused(tmp_path, output, check):
    (tmp_path / "file").write_text("mine")

    with nothing_changes(tmp_path), pytest.raises(OutputError):
        generate_package(pets(), tmp_path / output, name="pets", check=check)


def test_the_package_of_another_api_is_replaced_by_force_only(tmp_path, out):
    for check in (False, True):
        with nothing_changes(tmp_path), pytest.raises(OutputError, match="of the API 'pets'"):
            generate_package(pets(), out, name="cats", check=check)
    report = generate_package(pets(), out, name="cats", force=True)

    assert "cats_tools/index.py" in report.written
    assert "pets_tools/index.py" in report.removed
    assert report.changes == ()


FORMS = {"package": {}, "module": {"layout": "module"}, "exathena": {"target": "exathena"}}


@pytest.mark.parametrize(
    ("first", "second"),
    [("package", "module"), ("module", "package"), ("package", "exathena"),
     ("exathena", "package")],
)  # fmt: skip
def test_one_layout_or_target_never_hides_or_replaces_another(tmp_path, first, second):
    generate_package(pets(), tmp_path, name="pets", **FORMS[first])

    refused = pytest.raises(OutputError, match=f"is here in the layout '{first}'")
    with nothing_changes(tmp_path), refused:
        generate_package(pets(), tmp_path, name="pets", force=True, **FORMS[second])


@pytest.mark.parametrize(
    ("old", "new", "tool"),
    [('"List shops."', "describe()", "list_shops"), ("from typing", "x = (\nfrom typing", SHOPS)],
)
def test_what_cannot_be_read_back_is_reported_as_such_and_not_as_added(out, old, new, tool):
    text = (out / SHOPS).read_text()
    assert old in text
    (out / SHOPS).write_text(text.replace(old, new))

    report = generate_package(pets(), out, name="pets", check=True)

    (change,) = report.changes
    assert (change.kind, change.tool, change.breaking) == ("unreadable", tool, True)
    assert SHOPS in change.details[0]


def test_nothing_of_the_standing_package_is_run(out):
    for path in out.rglob("*.py"):
        path.write_text(f"{path.read_text()}\nraise SystemExit\n")

    report = generate_package(pets(), out, name="pets", check=True)

    assert len(report.edited) == 6


def secured_document(scheme, method="get"):
    paths = {"/x": {method: operation(operationId="x", summary="s", security=[{"k": []}])}}
    return document(paths, components={"securitySchemes": {"k": scheme, "o": FLOWS}})


KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}
FLOWS = {"type": "oauth2", "flows": {"password": {"tokenUrl": "https://a/t", "scopes": {}}}}


@pytest.mark.parametrize(
    ("changed", "detail"),
    [
        (secured_document({"type": "http", "scheme": "basic"}),
         "scheme 'k': type was 'apiKey', is 'http' now"),
        (secured_document(KEY, "delete"), "method was 'GET', is 'DELETE' now"),
    ],
    ids=["credential", "method"],
)  # fmt: skip
def test_another_credential_or_a_read_that_now_changes_things_breaks(tmp_path, changed, detail):
    generate_package(secured_document(KEY), tmp_path / "out")

    report = generate_package(changed, tmp_path / "out", check=True)

    (change,) = report.changes
    assert (change.kind, change.tool, change.breaking) == ("operation", "x", True)
    assert detail in change.details
