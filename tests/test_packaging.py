"""What is published: the same bytes twice, a small install, types that users' checkers read."""

import json
import os
import re
import shutil
import subprocess
import sys
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
NO_NETWORK = ("No matching distribution found", "Could not find a version", "Connection")
LARGEST = 60  # MB of a base install
SOURCES = ("tests", "docs", "specs", "generated", "deploy", ".ci", "hatch_build.py", "server.json")
FREE = re.compile(
    r"MIT|BSD|Apache|ISC|Python Software Foundation|PSF|Mozilla Public License|MPL|0BSD"
)


def run(*command, cwd=ROOT, **variables):
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "COV", "PYTEST", "VIRTUAL_ENV"))
    }
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=clean | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def run_to_end(*command, cwd=ROOT, **variables):
    """Run a command that has to succeed; skip where pip or npm has no network."""
    done = run(*command, cwd=cwd, **variables)
    if done.returncode and any(words in done.stderr for words in NO_NETWORK):
        pytest.skip("packages cannot be fetched here")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip(".ci/release takes the files of a git checkout")
    folder = tmp_path_factory.mktemp("release") / "dist"
    return folder, run_to_end(".ci/release", folder, PYTHON=sys.executable)


@pytest.fixture(scope="module")
def wheel(release):
    (path,) = release[0].glob("*.whl")
    return path


def environment(folder, *what, python=sys.executable):
    """Make an environment in which pip installed something, and return its Python."""
    run_to_end(python, "-m", "venv", "--without-pip", folder)
    executable = folder / "bin" / "python"
    run_to_end(
        sys.executable,
        "-m",
        "pip",
        "--python",
        executable,
        "install",
        "--quiet",
        "--no-compile",
        *what,
    )
    return executable


def test_a_release_is_the_same_bytes_twice_and_its_base_install_is_small(release):
    folder, output = release  # the script fails where two builds differ
    names = {path.suffix: path.name for path in folder.iterdir()}
    size, count = map(int, re.search(r"base install: (\d+)M in (\d+) packages", output).groups())
    components = json.loads((folder / "sbom.json").read_text(encoding="utf-8"))["components"]

    print(f"\nbase install: {size} MB, {count} packages")  # `pytest -s` shows it
    assert {".whl", ".gz", ".json", ".md"} <= names.keys()
    assert size < LARGEST
    assert len([one for one in components if one["name"] not in ("pip", "setuptools")]) == count - 1


def test_every_package_of_a_base_install_has_a_free_licence(release):
    lines = (release[0] / "licences.md").read_text(encoding="utf-8").splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

    assert len(rows) > 10
    assert [row for row in rows if not FREE.search(row[2])] == []


def test_the_wheel_holds_the_package_with_its_types_and_templates(wheel):
    names = run_to_end(sys.executable, "-m", "zipfile", "--list", wheel)

    for name in ("py.typed", "codegen/templates/", "cli/__init__.py", "licenses/LICENSE"):
        assert name in names
    assert "tests/" not in names


VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
print(JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read()))
"""


def test_the_wheel_has_a_bill_of_materials_of_what_it_declares(wheel, tmp_path):
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if ".dist-info/sboms/" in name)
        (path,) = (path for path in archive.namelist() if path.endswith("/METADATA"))
        bill, metadata = archive.read(name), message_from_bytes(archive.read(path))
    data = json.loads(bill)
    project = data["metadata"]["component"]
    written = {
        each["value"].replace("'", '"')
        for component in data["components"]
        for each in component["properties"]
    }
    declared = {
        line.replace("'", '"')
        for line in metadata.get_all("Requires-Dist")
        if not line.startswith("openapi-tools[")
    }
    required = [each["name"] for each in data["components"] if each["scope"] == "required"]

    assert (project["name"], project["version"]) == (metadata["Name"], metadata["Version"])
    assert project["licenses"] == [{"expression": metadata["License-Expression"]}]
    assert written == declared
    assert sorted(re.match(r"[\w-]+", line)[0] for line in declared if ";" not in line) == required
    assert {"timestamp", "serialNumber"}.isdisjoint(data | data["metadata"])
    (tmp_path / "bom.json").write_bytes(bill)
    python = environment(tmp_path / "venv", "cyclonedx-python-lib[json-validation]")
    assert run_to_end(python, "-c", VALIDATE, tmp_path / "bom.json") == "None\n"


@pytest.fixture
def source(release, tmp_path):
    """The files of the sdist in a folder."""
    (archive,) = release[0].glob("*.tar.gz")
    shutil.unpack_archive(archive, tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    return folder


def test_the_sdist_holds_every_file_that_tests_read(source):
    listed = run_to_end("git", "ls-files", *SOURCES)

    assert [name for name in listed.splitlines() if not (source / name).exists()] == []
    assert not list(source.rglob("__pycache__"))


def test_tests_of_the_sdist_pass_against_the_wheel(project, source):
    """Those of the wire, the command line and generated packages; the package is not beside."""
    python, libraries = project[1], Path(pytest.__file__).parents[1]
    shutil.rmtree(source / "openapi_tools")
    where = "import openapi_tools; print(openapi_tools.__file__)"
    chosen = ("tests/requests/test_wire_table.py", "tests/test_parity.py", "tests/test_generate.py")

    location = run_to_end(python, "-c", where, cwd=source, PYTHONPATH=str(libraries))
    assert location.startswith(str(python.parents[1]))
    output = run_to_end(
        *(python, "-m", "pytest", "-q", "--no-cov", "-n0", "-p", "no:cacheprovider", *chosen),
        cwd=source,
        PYTHONPATH=str(libraries),
    )
    assert re.search(r"\d{3,} passed", output)


SMOKE = """
import asyncio
from openapi_tools import load_tools
from openapi_tools.testing import mock_client

async def main():
    client = mock_client(lambda: toolset.document, judge=False)
    toolset = load_tools("specs/museum.yaml", client=client)
    async with toolset:
        print(len(toolset), (await toolset.call("get_museum_hours", {})).success)

asyncio.run(main())
"""


def python_of(version):
    """Return a Python of this machine, also one of pyenv that is not on the path."""
    kept = Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")
    for executable in (shutil.which(f"python{version}"), *kept):
        if executable and not run(executable, "--version").returncode:
            return executable
    return None


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_the_wheel_runs_on_each_python(project, wheel, version, tmp_path):
    python = python_of(version)
    if python is None:
        pytest.skip(f"python{version} is not on this machine")
    is_ours = version == "{}.{}".format(*sys.version_info)
    executable = project[1] if is_ours else environment(tmp_path / "venv", wheel, python=python)
    shutil.copytree(ROOT / "specs", tmp_path / "specs")

    assert run_to_end(executable, "-W", "error", "-c", SMOKE, cwd=tmp_path) == "8 True\n"
    listed = run_to_end(
        executable.parent / "openapi-tools", "list", "specs/museum.yaml", cwd=tmp_path
    )
    assert "buy_museum_tickets" in listed


PROJECT = '''
"""What a user writes, with every type inferred or checked."""

import asyncio
from typing import assert_type

from museum_tools import load as load_museum

from openapi_tools import Context, Select, Settings, ToolCall, Toolset, ToolResult, load_tools


def no_deletes(call: ToolCall) -> None:
    if call.name.startswith("delete_"):
        raise PermissionError("not today")


async def main() -> None:
    settings = Settings(base_url="http://127.0.0.1:9", timeout=1.0)
    toolset = load_tools("museum.yaml", select=Select(tags=["Tickets"]), settings=settings)
    assert_type(toolset, Toolset)
    toolset.add_input_guardrails([no_deletes])
    for tool in toolset:
        name: str = tool.name
        result = await tool.execute({}, context=Context())
        assert_type(result, ToolResult)
        print(name, result.success, result.error, str(result))
    definitions = toolset.definitions("openai")
    print(len(definitions), toolset.skipped, load_museum()["get_museum_hours"].description)


asyncio.run(main())
'''


@pytest.fixture(scope="module")
def project(wheel, tmp_path_factory):
    """A user's project: the wheel and a generated package in an environment, and one module."""
    folder = tmp_path_factory.mktemp("project")
    python = environment(folder / "venv", wheel, ROOT / "generated" / "museum")
    (folder / "program.py").write_text(PROJECT, encoding="utf-8")
    return folder, python


def test_mypy_reads_the_types_of_a_users_project(project):
    folder, python = project
    output = run_to_end(
        *(sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "program.py"),
        cwd=folder,
    )

    assert output == "Success: no issues found in 1 source file\n"


def test_pyright_reads_the_types_of_a_users_project(project):
    folder, python = project
    if not shutil.which("npm"):
        pytest.skip("npm, which brings pyright, is not on this machine")
    installed = run("npm", "install", "--silent", "--no-save", "pyright@1", cwd=folder)
    if installed.returncode:
        pytest.skip("npm cannot fetch pyright here")
    facts = {"typeCheckingMode": "strict", "include": ["program.py"]}
    (folder / "pyrightconfig.json").write_text(json.dumps(facts), encoding="utf-8")

    output = run_to_end("node_modules/.bin/pyright", "--pythonpath", python, cwd=folder)

    assert "0 errors, 0 warnings" in output
