"""Each coordinator's extra installs alone, and is all that its example needs.

The extra `dev` installs them beside one another.
"""

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from openapi_tools.errors import install_command

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
NOT_THERE = ("No matching distribution found", "Could not find a version", "Connection")


OTHER_EXTRAS = {
    *("browse", "code", "dev", "docs", "http-cache", "otel", "redis", "serve", "testing")
}


def extras():
    """Return the extras that stand for a coordinator; the others bring no module of their own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return sorted(set(project["optional-dependencies"]) - OTHER_EXTRAS)


def examples_of(extra):
    """Return the examples in the section that says how to install an extra."""
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    (section,) = [text for text in sections if f"[{extra}]" in text]
    return FENCE.findall(section)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-c", BUILD, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return folder / done.stdout.split()[-1]


def run(*command, cwd):
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "COV", "PYTEST", "VIRTUAL_ENV"))
    }
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )


def install_extra(place, what):
    """Install something into the environment of a folder; how pip is called there."""
    pip = (sys.executable, "-m", "pip", "--python", place / "venv" / "bin" / "python")
    done = run(*pip, "install", "--quiet", "--no-compile", what, cwd=place)
    if done.returncode and any(words in done.stderr for words in NOT_THERE):
        pytest.skip(f"pip cannot fetch the packages of {what}")
    assert done.returncode == 0, done.stderr
    return pip


@pytest.fixture(scope="session")
def base(wheel, tmp_path_factory):
    """The packages that the wheel needs by itself, which every extra finds already there."""
    place = tmp_path_factory.mktemp("base")
    venv.create(place / "venv")
    install_extra(place, str(wheel))
    (packages,) = (place / "venv" / "lib").glob("python*/site-packages")
    return packages


@pytest.mark.parametrize("extra", extras())
def test_an_extra_installs_alone_and_runs_its_examples(extra, wheel, base, tmp_path):
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (packages / "base.pth").write_text(str(base))
    for name in ("specs", "generated"):
        (tmp_path / name).symlink_to(ROOT / name)

    pip = install_extra(tmp_path, f"{wheel}[{extra}]")
    checked = run(*pip, "check", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout

    examples = examples_of(extra)
    assert examples
    for example in examples:
        done = run(python, "-c", example, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


USES = {
    "amplifier": "amplifier_core",
    "google-adk": "google.adk",
    "langchain": "langchain_core",
    "openai-agents": "agents",
}
"""The packages that are not called as the extra."""
MISSING = """
import sys
module, package = sys.argv[1:]
sys.modules[package] = None  # as if it were not installed
from importlib import import_module
from openapi_tools import MissingExtraError, OpenAPIToolsError
try:
    import_module(f"openapi_tools.contracts.{module}")
except MissingExtraError as error:
    assert isinstance(error, OpenAPIToolsError) and isinstance(error, ImportError)
    print(error.extra, error, sep="|")
"""


@pytest.mark.parametrize("extra", extras())
def test_a_missing_package_is_one_error_that_names_the_extra(extra):
    module = extra.replace("-", "_")
    package = USES.get(extra, module)

    done = run(sys.executable, "-c", MISSING, module, package, cwd=ROOT)

    assert done.stderr == ""
    assert done.stdout.startswith(f"{extra}|{package}")
    assert done.stdout.endswith(f" is not installed: {install_command(extra)}\n")
