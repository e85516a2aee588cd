"""`generate_package`: the library call behind `openapi-tools generate`."""

from __future__ import annotations

import json
import re
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from documents import document, operation
from output_folders import files_in, marks, nothing_changes, tree

import openapi_tools
from openapi_tools import (
    DocumentError,
    OutputError,
    Report,
    Select,
    Settings,
    SettingsError,
    SourceError,
    TemplateError,
    generate_package,
)

MUSEUM = Path(__file__).parents[1] / "specs" / "museum.yaml"
PATHS = {
    "/pets": {"get": operation(operationId="list_pets", tags=["pets"], summary="List pets."),
              "post": operation(operationId="add_pet", tags=["pets"], summary="Add a pet.")},
    "/shops": {"get": operation(operationId="list_shops", tags=["shops"], summary="List shops.")},
}  # fmt: skip


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, *_args: Any) -> None:
        """Leave standard error alone."""


@pytest.fixture
def address(tmp_path):
    """The address of a folder `site` on this machine."""
    (tmp_path / "site").mkdir()
    handler = partial(Quiet, directory=str(tmp_path / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def pets(**changes):
    return document({**PATHS, **changes}, servers=[{"url": "https://pets.example"}])


def test_a_report_says_what_was_done(tmp_path):
    report = generate_package(pets(), tmp_path / "out", name="pets")

    assert isinstance(report, Report)
    assert (report.api, report.output) == ("pets", tmp_path / "out")
    assert report.tools == ("list_pets", "add_pet", "list_shops")
    assert report.written == tuple(sorted(files_in(tmp_path / "out")))
    assert (report.unchanged, report.removed, report.kept, report.edited) == ((), (), (), ())
    assert (report.changes, report.skipped, report.warnings) == ((), (), ())
    assert report.drifted


def test_a_second_run_finds_everything_right(tmp_path):
    first = generate_package(pets(), tmp_path / "out", name="pets")

    with nothing_changes(tmp_path):
        second = generate_package(pets(), tmp_path / "out", name="pets")

    assert not second.drifted
    assert (second.written, second.unchanged) == ((), first.written)
    assert list(second.diff()) == []


def test_checking_gives_the_report_of_writing_and_writes_nothing(tmp_path):
    generate_package(pets(), tmp_path / "out", name="pets")
    changed = pets(**{"/shops": {"get": operation(operationId="find_shops", tags=["stores"])}})

    with nothing_changes(tmp_path):
        checked = generate_package(changed, tmp_path / "out", name="pets", check=True)
    written = generate_package(changed, tmp_path / "out", name="pets")

    assert checked == written
    assert checked.drifted
    assert list(checked.diff()) == list(written.diff())


def test_checking_where_nothing_stands_makes_no_folder(tmp_path):
    report = generate_package(pets(), tmp_path / "a" / "out", check=True)

    assert report.drifted
    assert report.changes == ()
    assert tree(tmp_path) == {}


def test_only_the_files_concerned_are_touched(tmp_path):
    out = tmp_path / "out"
    generate_package(pets(), out, name="pets")
    before = marks(out)

    shops = operation(operationId="list_shops", tags=["shops"], summary="List all shops.")
    report = generate_package(pets(**{"/shops": {"get": shops}}), out, name="pets")

    assert report.written == ("README.md", "manifest.json", "pets_tools/tools_shops.py")
    after = marks(out)
    assert {Path(path).name for path in after if after[path] != before.get(path)} >= {
        "README.md",
        "tools_shops.py",
    }
    untouched = out / "pets_tools" / "tools_pets.py"
    assert after[str(untouched)] == before[str(untouched)]


def test_changes_are_told_tool_by_tool(tmp_path):
    generate_package(pets(), tmp_path / "out", name="pets")
    query = [{"name": "limit", "in": "query", "required": True, "schema": {"type": "integer"}}]
    changed = pets(
        **{
            "/pets": {"get": operation(operationId="list_pets", tags=["pets"], parameters=query)},
            "/shops": {"get": operation(operationId="find_shops", tags=["shops"])},
            "/new": {"get": operation(operationId="new")},
        }
    )

    report = generate_package(changed, tmp_path / "out", name="pets", check=True)

    found = {(change.kind, change.tool): change for change in report.changes}
    assert found.keys() >= {
        ("schema", "list_pets"),
        ("description", "list_pets"),
        ("renamed", "find_shops"),
        ("added", "new"),
        ("removed", "add_pet"),
    }
    assert [key for key, change in found.items() if change.breaking] == [
        ("schema", "list_pets"),
        ("renamed", "find_shops"),
        ("removed", "add_pet"),
    ]
    assert found["renamed", "find_shops"].before == "list_shops"


def test_a_diff_has_the_lines_of_files_that_come_change_and_go(tmp_path):
    generate_package(pets(), tmp_path / "out", name="pets")
    changed = pets(**{"/shops": {"get": operation(operationId="list_shops", tags=["stores"])}})

    lines = list(generate_package(changed, tmp_path / "out", name="pets", check=True).diff())

    assert [line for line in lines if line.startswith("+++ ")] == [
        f"+++ {path}"
        for path in (
            *("README.md", "manifest.json", "pets_tools/index.py", "pets_tools/tools_shops.py"),
            "pets_tools/tools_stores.py",
        )
    ]
    assert '-    "list_shops": "tools_shops",' in lines
    assert '+    "list_shops": "tools_stores",' in lines
    assert not any("\n" in line for line in lines)


def sources(tmp_path):
    """The same document in every form that has no address."""
    text = json.dumps(pets())
    path = tmp_path / "pets.json"
    path.write_text(text)
    yaml = tmp_path / "pets.yaml"
    yaml.write_text(json.dumps(pets(), indent=1))
    return {
        "a dict": pets(),
        "bytes": text.encode(),
        "text": text,
        "a path": path,
        "a path as text": str(path),
        "YAML": yaml,
    }


@pytest.mark.parametrize(
    "kind", ["a dict", "bytes", "text", "a path", "a path as text", "YAML", "a URL"]
)
def test_every_source_gives_the_same_bytes(tmp_path, address, kind):
    generate_package(pets(), tmp_path / "expected", name="pets")
    (tmp_path / "site" / "pets.json").write_text(json.dumps(pets()))
    known = {**sources(tmp_path), "a URL": f"{address}/pets.json"}

    generate_package(known[kind], tmp_path / "out", name="pets")

    assert tree(tmp_path / "out") == tree(tmp_path / "expected")


def test_relative_servers_are_resolved_by_the_address(tmp_path, address):
    published = document(PATHS, servers=[{"url": "/v1"}])
    (tmp_path / "site" / "pets.json").write_text(json.dumps(published))

    generate_package(f"{address}/pets.json", tmp_path / "out", name="pets")

    text = (tmp_path / "out/pets_tools/tools_shops.py").read_text()
    assert f'servers=(Server("{address}/v1"),)' in text


def test_an_address_that_does_not_answer_leaves_the_package_alone(tmp_path, address):
    generate_package(pets(), tmp_path / "out", name="pets")

    with nothing_changes(tmp_path / "out"), pytest.raises(SourceError, match="404"):
        generate_package(f"{address}/nothing.json", tmp_path / "out", name="pets")


def test_settings_shape_the_tools(tmp_path):
    settings = Settings(prefix="my_", description_chars=16, base_url="http://unused.example")

    report = generate_package(pets(), tmp_path / "out", name="pets", settings=settings)

    assert report.tools == ("my_list_pets", "my_add_pet", "my_list_shops")
    index = (tmp_path / "out/pets_tools/index.py").read_text()
    assert 'SETTINGS: dict[str, Any] = {"description_chars": 16, "prefix": "my_"}' in index
    assert not any("unused.example" in text for text in files_in(tmp_path / "out").values())


def test_a_selection_is_what_is_written(tmp_path):
    report = generate_package(pets(), tmp_path / "out", name="pets", select=Select(methods="post"))

    assert report.tools == ("add_pet",)
    assert not (tmp_path / "out/pets_tools/tools_shops.py").exists()


def test_what_is_left_out_and_odd_is_in_the_report(tmp_path):
    secret = {"name": "token", "in": "query", "schema": {"default": "abc12345"}}
    broken = {"get": operation(parameters=[{"$ref": "#/nowhere"}])}
    paths = {"/a": {"get": operation(operationId="a", parameters=[secret])}, "/b": broken}

    report = generate_package(document(paths), tmp_path / "out")

    assert [(entry.method, entry.path) for entry in report.skipped] == [("GET", "/b")]
    assert report.warnings == ("a: the default or example of 'token' looks like a secret.",)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"layout": "file"}, SettingsError, "layout: 'file' does not exist; there are package"),
        ({"layout": None}, SettingsError, "layout: None does not exist"),
        ({"name": "a-b"}, SettingsError, "name: 'a-b' cannot be part of a package's name"),
        ({"name": "x" * 999}, SettingsError, "cannot be part of a package's name"),
        ({"select": Select(tags="no")}, SettingsError, "none of the document's 3 tools is sel"),
        ({"templates": "nowhere"}, TemplateError, "nowhere: the folder of templates cannot be"),
        ({"templates": "a\0b"}, TemplateError, "the folder of templates cannot be read"),
    ],
)
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
        (b"", DocumentError),
        ({}, DocumentError),
        ({"openapi": "3.1.0", "info": {}, "paths": 1}, DocumentError),
        ('{"openapi": "3.1.0", "info": {}, "paths": {"/a": {}, "/a": {}}}', DocumentError),
    ],
)
def test_what_does_not_load_leaves_the_package_alone(tmp_path, source, error):
    generate_package(pets(), tmp_path / "out", name="pets")

    with nothing_changes(tmp_path), pytest.raises(error):
        generate_package(source, tmp_path / "out", name="pets")


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("output", ["file", "file/out", "a\0b", "\ud800"])
def test_an_output_that_can_be_none_is_refused(tmp_path, output, check):
    (tmp_path / "file").write_text("mine")

    with nothing_changes(tmp_path), pytest.raises(OutputError):
        generate_package(pets(), tmp_path / output, name="pets", check=check)


def test_the_package_of_another_api_is_replaced_by_force_only(tmp_path):
    generate_package(pets(), tmp_path / "out", name="pets")

    for check in (False, True):
        with nothing_changes(tmp_path), pytest.raises(OutputError, match="of the API 'pets'"):
            generate_package(pets(), tmp_path / "out", name="cats", check=check)
    report = generate_package(pets(), tmp_path / "out", name="cats", force=True)

    assert "cats_tools/index.py" in report.written
    assert "pets_tools/index.py" in report.removed
    assert report.changes == ()


def test_an_edit_is_kept_refused_or_overwritten(tmp_path):
    generate_package(pets(), tmp_path / "out", name="pets")
    shops = "pets_tools/tools_shops.py"
    (tmp_path / "out" / shops).write_text("# mine\n")

    with nothing_changes(tmp_path), pytest.raises(OutputError, match="--force"):
        generate_package(pets(), tmp_path / "out", name="pets")
    checked = generate_package(pets(), tmp_path / "out", name="pets", check=True)
    assert (checked.edited, checked.written, checked.kept) == ((shops,), (shops,), ())
    only = Select(tags="pets")
    kept = generate_package(pets(), tmp_path / "out", name="pets", select=only)

    assert (kept.edited, kept.kept) == ((shops,), (shops,))
    assert (tmp_path / "out" / shops).read_text() == "# mine\n"
    assert "-# mine" not in list(kept.diff())


def test_a_tool_that_cannot_be_read_back_is_told_as_such(tmp_path):
    generate_package(pets(), tmp_path / "out", name="pets")
    path = tmp_path / "out/pets_tools/tools_shops.py"
    path.write_text(path.read_text().replace('"List shops."', "describe()"))

    report = generate_package(pets(), tmp_path / "out", name="pets", check=True)

    (change,) = report.changes
    assert (change.kind, change.tool, change.breaking) == ("unreadable", "list_shops", True)
    assert "pets_tools/tools_shops.py" in change.details[0]


def test_nothing_of_the_standing_package_is_run(tmp_path):
    generate_package(pets(), tmp_path / "out", name="pets")
    for path in (tmp_path / "out").rglob("*.py"):
        path.write_text(f"{path.read_text()}\nraise SystemExit\n")

    report = generate_package(pets(), tmp_path / "out", name="pets", check=True)

    assert len(report.edited) == 6


@pytest.mark.parametrize("layout", ["package", "module"])
def test_the_bytes_are_the_same_whatever_the_surroundings(tmp_path, layout, monkeypatch):
    generate_package(MUSEUM, tmp_path / "one", name="museum", layout=layout)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "Pacific/Chatham")
    monkeypatch.setattr(sys, "argv", ["other"])

    generate_package(MUSEUM, Path("deep/two"), name="museum", layout=layout)

    assert tree(tmp_path / "one") == tree(tmp_path / "deep/two")
    names = (str(tmp_path), str(Path(__file__).parents[1]))
    assert not any(name in text for text in files_in(tmp_path / "one").values() for name in names)


def test_a_report_shows_itself_in_short(tmp_path):
    report = generate_package(pets(), tmp_path / "out", name="pets")

    assert "_before" not in repr(report)
    assert "OperationTool" not in repr(report)


def test_the_public_names_are_there():
    assert openapi_tools.generate_package is generate_package
    assert {"generate_package", "Report", "OutputError", "TemplateError"} <= {
        *openapi_tools.__all__
    }


def test_the_bytes_do_not_depend_on_where_a_document_lies(tmp_path):
    inner = {"type": "string", "description": "word " * 40}
    entry = {
        "swagger": "2.0",
        "info": {"title": "t", "version": "1"},
        "paths": {
            "/x": {
                "post": {
                    "operationId": "x",
                    "parameters": [
                        {"name": "body", "in": "body", "schema": {"$ref": "#/definitions/a.b"}},
                        {"$ref": "more/other.json#/parameters/p"},
                    ],
                    "responses": {"200": {"description": "ok"}},
                }
            }
        },
        "definitions": {
            "a.b": {"properties": {"o": {"$ref": "#/definitions/c.d/properties/inner"}}},
            "c.d": {"type": "object", "properties": {"inner": inner}},
        },
    }
    other = {"parameters": {"p": {"name": "p", "in": "query", "type": "string"}}}
    trees = []
    for folder in (tmp_path / "here", tmp_path / "far" / "away"):
        (folder / "more").mkdir(parents=True)
        (folder / "spec.json").write_text(json.dumps(entry))
        (folder / "more" / "other.json").write_text(json.dumps(other))
        out = folder / "out"
        generate_package(folder / "spec.json", out, name="t")
        trees.append({p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()})

    assert trees[0] == trees[1]
    index = trees[0][Path("t_tools/schemas.py")].decode()
    assert re.search(r"^INNER_[0-9A-Z]+: ", index, re.MULTILINE), "the name is made with a hash"


def secured(scheme, method="get"):
    operation = {"operationId": "x", "summary": "s", "responses": {"200": {"description": "ok"}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {"/x": {method: {**operation, "security": [{"k": []}]}}},
        "components": {"securitySchemes": {"k": scheme}},
    }


KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}


def test_another_kind_of_credential_is_a_breaking_change_of_the_tools(tmp_path):
    generate_package(secured(KEY), tmp_path / "out")

    basic = secured({"type": "http", "scheme": "basic"})
    report = generate_package(basic, tmp_path / "out", check=True)

    (change,) = report.changes
    assert (change.kind, change.tool, change.breaking) == ("operation", "x", True)
    assert "scheme 'k': type was 'apiKey', is 'http' now" in change.details


def test_a_tool_that_only_read_and_now_changes_things_breaks(tmp_path):
    generate_package(secured(KEY), tmp_path / "out")

    report = generate_package(secured(KEY, "delete"), tmp_path / "out", check=True)

    assert [(change.kind, change.breaking) for change in report.changes] == [("operation", True)]


def test_one_layout_never_hides_another(tmp_path):
    generate_package(secured(KEY), tmp_path / "out")

    with pytest.raises(OutputError, match="is here in the layout 'package'"):
        generate_package(secured(KEY), tmp_path / "out", layout="module")


def test_a_setting_without_effect_is_a_warning(tmp_path):
    settings = Settings(base_url="http://localhost:1", prefix="my_")

    report = generate_package(secured(KEY), tmp_path / "out", settings=settings)

    assert [text for text in report.warnings if text.startswith("settings: ")] == [
        "settings: base_url has no effect on a package; give it to its load()."
    ]


def test_a_file_that_cannot_be_read_makes_no_tool_an_added_one(tmp_path):
    generate_package(secured(KEY), tmp_path / "out")
    (tmp_path / "out" / "t_tools" / "tools.py").write_text(
        "# Code generated by openapi-tools. DO NOT EDIT.\nx = (\nOperationTool\n"
    )

    report = generate_package(secured(KEY), tmp_path / "out", check=True)

    assert [change.kind for change in report.changes] == ["unreadable"]


def test_a_name_of_another_type_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="name: 5 cannot be part of a package's name"):
        generate_package(secured(KEY), tmp_path / "out", name=5)  # type: ignore[arg-type]
