"""The document alone decides the bytes; what did not change is not touched."""

import ast
import copy
import json
import os
import shutil
import subprocess
import sys

import pytest
import yaml
from documents import document
from output_folders import marks
from packages import SPECS, bytes_in, describe_tools, differences, import_package

from openapi_tools import Select, generate_package, load_tools

pytestmark = pytest.mark.untraced

SPECS_BY_NAME = {path.stem: path for path in SPECS}
USUAL = sorted(SPECS_BY_NAME.keys() - {"discord"})
ENUM = {"name": "é", "in": "query", "schema": {"enum": ["ß", 1, 1.0, None, True]}}
NUMBER = {"name": "e", "in": "query", "schema": {"type": "number", "default": 1e-7}}
PATHS = {
    f"/{tag}/{method}": {
        method: {
            "operationId": f"{tag} {method}",
            "summary": f"Grüße an {tag} 🚀",
            "tags": [tag],
            "parameters": [ENUM, NUMBER],
        }
    }
    for tag in ("straße", "日本", "Ελλάδα")
    for method in ("get", "post")
}
"""Paths whose words depend on encodings, if anything does."""

ASCII = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
ENVIRONMENTS = (
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C", **ASCII},
    {"PYTHONHASHSEED": "12345", "TZ": "Pacific/Auckland", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"},
    {"PYTHONHASHSEED": "7", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.ISO8859-9", "LANG": "tr_TR"},
)


@pytest.mark.long
def test_the_surroundings_of_a_run_change_nothing(tmp_path):
    trees = [
        generated_in(tmp_path / place, environment)
        for place, environment in zip(("a", "some where/b", "ç"), ENVIRONMENTS, strict=True)
    ]

    assert len(trees[0]) > 50
    assert trees[0] == trees[1] == trees[2]


def generated_in(folder, environment):
    """Return the files that the command line writes; documents are named after the folder."""
    folder.mkdir(parents=True)
    words = folder / f"{folder.name} words.json"
    servers = [{"url": "https://api.example.com"}]
    text = json.dumps(document(PATHS, servers=servers), ensure_ascii=False)
    words.write_text(text, encoding="utf-8")
    tables = [table("words", words), table("module", words, layout="module")]
    for path in SPECS:
        shutil.copy(path, folder / f"{folder.name}{path.name}")
        tables.append(table(path.stem, folder / f"{folder.name}{path.name}"))
    (folder / "pyproject.toml").write_text("".join(tables), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "openapi_tools", "generate"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        check=True,
    )
    return bytes_in(folder / "out")


def table(name, spec, **options):
    fields = {"spec": spec.name, "output": f"out/{name}", **options}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()]
    return "\n".join([f"[tool.openapi-tools.generate.{name}]", *lines, "\n"])


@pytest.mark.long
@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_json_and_yaml_of_the_same_data_give_the_same_package(path, tmp_path):
    root = load_tools(path).document
    if path.suffix == ".json":
        twin, text = "twin.yaml", yaml.safe_dump(root, sort_keys=False, allow_unicode=True)
    else:
        twin, text = "twin.json", json.dumps(root, indent=3)
    (tmp_path / twin).write_text(text, encoding="utf-8")

    assert package_of(path, tmp_path / "out") == package_of(tmp_path / twin, tmp_path / "out")


def package_of(source, output, **options):
    """Return the files of a document's package, generated over what stands there."""
    generate_package(source, output, name="api", **options)
    return bytes_in(output)


@pytest.fixture
def museum():
    return load_tools(SPECS_BY_NAME["museum"]).document


def find_touched(before, after, output):
    """Return the files that generating `after` over `before` writes, removes or adds.

    The others keep more than their bytes: they are the very files that stood there.
    """
    old, before_marks = package_of(before, output), marks(output)
    new, after_marks = package_of(after, output), marks(output)
    changed = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    same = {str(output / name) for name in old.keys() - changed}

    assert {path for path in same if before_marks[path] != after_marks[path]} == set()
    return changed


def test_only_the_files_that_a_change_concerns_are_touched(museum, tmp_path):
    described, grown = copy.deepcopy(museum), copy.deepcopy(museum)
    described["info"]["description"] = "Another museum."
    operation = {"operationId": "listShops", "tags": ["Shops"], "summary": "List shops"}
    grown["paths"] = {"/shops": {"get": operation}, **grown["paths"]}
    files = {"README.md", "api_tools/index.py", "api_tools/tools_shops.py", "manifest.json"}

    assert find_touched(museum, described, tmp_path) == {"manifest.json"}
    assert find_touched(described, museum, tmp_path) == {"manifest.json"}
    assert find_touched(museum, grown, tmp_path) == files
    assert find_touched(grown, museum, tmp_path) == files


@pytest.mark.long
def test_a_changed_definition_touches_the_one_place_where_it_stands(tmp_path):
    discord = load_tools(SPECS_BY_NAME["discord"]).document
    changed = copy.deepcopy(discord)
    definition = changed["components"]["schemas"]["BaseCreateMessageCreateRequest"]
    definition["properties"]["flags"]["minimum"] = 0

    assert find_touched(discord, changed, tmp_path) == {"api_tools/schemas.py", "manifest.json"}


@pytest.mark.parametrize("name", [*USUAL, pytest.param("discord", marks=pytest.mark.long)])
def test_a_selection_changes_nothing_in_the_tools_that_are_left(name, tmp_path):
    path = SPECS_BY_NAME[name]
    loaded = load_tools(path)
    select = Select(names=[tool.name for tool in loaded][::3])
    package_of(path, tmp_path / "all")
    package_of(path, tmp_path / "some", select=select)
    whole, selected = classes_in(tmp_path / "all"), classes_in(tmp_path / "some")

    with import_package(tmp_path / "some", "api_tools") as package:
        facts = describe_tools(package.load())

    assert differences(facts, describe_tools(loaded.select(select))) == []
    assert len(selected) == len(select.names)
    # A schema that several tools share may be left with one of them, and moves there.
    changed = {name for name, text in selected.items() if text != whole[name]}
    assert {name for name in changed if "schemas" not in whole[name]} == set()


def classes_in(folder):
    sources = [path.read_text(encoding="utf-8") for path in folder.glob("*/tools*.py")]
    return {
        node.name: ast.get_source_segment(source, node)
        for source in sources
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef)
    }
