"""generated/ is the golden record: what specs/ give, byte for byte, and fit to be shipped."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib

import pytest
from documents import document
from packages import ROOT, SPECS, bytes_in, lint

from openapi_tools import generate_package

GENERATED = ROOT / "generated"
JOBS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = JOBS["tool"]["openapi-tools"]["generate"]
IMPORTS = {"json", "typing", "collections.abc", "openapi_tools.runtime", "__future__"}
"""What a module of tools may import besides its neighbours."""
TEST_IMPORTS = {"hashlib", "importlib", "json", "pathlib", "pytest"}
KEY = {"type": "apiKey", "in": "query", "name": "key"}


@pytest.fixture
def clone(tmp_path):
    """A copy of what generating takes and gives, as a fresh clone has it."""
    (tmp_path / "specs").mkdir()
    for path in (ROOT / "pyproject.toml", *SPECS):
        shutil.copy(path, tmp_path / path.relative_to(ROOT))
    shutil.copytree(GENERATED, tmp_path / "generated", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def generate(folder, *options):
    """Run `openapi-tools generate` in a folder; return its exit code and lines."""
    command = [sys.executable, "-m", "openapi_tools", "generate", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_specs_give_generated_byte_for_byte(clone):
    shutil.rmtree(clone / "generated")

    code, lines = generate(clone)

    assert code == 0, lines
    assert sorted(ROOT / entry["spec"] for entry in PACKAGES.values()) == SPECS
    actual, expected = bytes_in(clone / "generated"), bytes_in(GENERATED)
    assert actual.keys() == expected.keys()
    assert [name for name in expected if actual[name] != expected[name]] == []


@pytest.mark.long
def test_a_changed_description_is_reported_with_its_tool(clone):
    spec = clone / "specs" / "museum.yaml"
    text = spec.read_text(encoding="utf-8")
    was = "description: Get details about a special event."
    assert text.count(was) == 1
    spec.write_text(text.replace(was, "description: Tell about one event."), encoding="utf-8")

    code, lines = generate(clone, "--check")
    lines_of_tool = [line for line in lines if "get_special_event" in line]

    assert code == 1
    assert len(lines_of_tool) == 1
    assert "description" in lines_of_tool[0]
    assert "breaking" not in lines_of_tool[0]
    assert sum("would change" in line for line in lines) == 1
    assert sum("up to date" in line for line in lines) == len(SPECS) - 1


@pytest.mark.long
def test_the_tests_of_a_package_pass():
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=GENERATED / "museum",
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("api", PACKAGES)
def test_a_package_imports_the_runtime_and_little_else(api):
    package = f"{api}_tools"
    expected = {
        package: IMPORTS,
        f"amplifier_module_tool_{api}": {package},
        "tests": {package, *TEST_IMPORTS},
    }

    modules = {
        (path.name, module)
        for folder, allowed in expected.items()
        for path in (GENERATED / api / folder).glob("*.py")
        for module in imports(path)
        if module not in allowed and not module.startswith(".")
    }

    assert modules == set()


def imports(path):
    """Yield the modules that a file imports, its own package's with a dot in front."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def test_ruff_finds_nothing_in_generated_code():
    assert lint(GENERATED) == ""


@pytest.mark.parametrize("components", [{}, {"securitySchemes": {"key": KEY}}], ids=["", "key"])
@pytest.mark.parametrize("layout", ["package", "module"])
def test_ruff_finds_nothing_in_a_package_without_tools(layout, components, tmp_path):
    report = generate_package(document({}, components=components), tmp_path, layout=layout)

    assert report.tools == ()
    assert lint(tmp_path) == ""


@pytest.mark.long
def test_mypy_finds_nothing_in_packages_however_they_are_laid_out(tmp_path):
    """One small, one whose tools share schemas, one in a single module."""
    generate_package(ROOT / "specs" / "petstore.yaml", tmp_path, name="single", layout="module")
    folders = [str(folder) for folder in (GENERATED / "museum", GENERATED / "discord", tmp_path)]

    options = ["--strict", "--config-file=", "--explicit-package-bases"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, f"--cache-dir={tmp_path / 'cache'}", *folders],
        env={**os.environ, "MYPYPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
