"""The command that a missing extra names, for each place that a package comes from (PEP 610)."""

import json
import re
import subprocess
import sys
from importlib import metadata

import pytest

from openapi_tools import MissingExtraError, Settings, load_tools
from openapi_tools.errors import install_command

ORIGINS = {
    "an index": (None, "pip install 'openapi-tools[mcp]'"),
    "a folder": (
        {"url": "file:///home/a%20b/tools", "dir_info": {}},
        "pip install 'openapi-tools[mcp] @ file:///home/a%20b/tools'",
    ),
    "a folder, editable": (
        {"url": "file:///home/a%20b/tools", "dir_info": {"editable": True}},
        "pip install --editable '/home/a b/tools[mcp]'",
    ),
    "a wheel": (
        {"url": "file:///tmp/openapi_tools-1.0-py3-none-any.whl", "archive_info": {}},
        "pip install 'openapi-tools[mcp] @ file:///tmp/openapi_tools-1.0-py3-none-any.whl'",
    ),
    "a repository": (
        {
            "url": "https://git.example.com/tools.git",
            "vcs_info": {"vcs": "git", "commit_id": "abc"},
        },
        "pip install 'openapi-tools[mcp] @ git+https://git.example.com/tools.git'",
    ),
}


@pytest.mark.parametrize(("origin", "command"), ORIGINS.values(), ids=ORIGINS)
def test_the_command_names_the_place_that_the_package_came_from(monkeypatch, origin, command):
    class Installed:
        def read_text(self, name):
            assert name == "direct_url.json"
            return None if origin is None else json.dumps(origin)

    monkeypatch.setattr(metadata, "distribution", lambda _: Installed())

    assert install_command("mcp") == command


def test_a_package_that_is_not_installed_is_named_without_a_place(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)

    assert install_command("code") == "pip install 'openapi-tools[code]'"


def test_checked_responses_need_the_extra_for_tests_when_tools_are_loaded(monkeypatch):
    monkeypatch.setattr("openapi_tools.conformance.response_check.find_spec", lambda _: None)

    with pytest.raises(MissingExtraError, match="openapi_core is not installed: pip install"):
        load_tools("specs/museum.yaml", settings=Settings(check_responses=True))


def test_serving_a_document_needs_the_extra_for_mcp():
    code = (
        "import sys\n"
        "for name in ('mcp', 'uvicorn', 'starlette'):\n"
        "    sys.modules[name] = None\n"
        "sys.argv = ['openapi-tools', 'serve', 'specs/museum.yaml']\n"
        "from openapi_tools.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, input=""
    )

    assert done.returncode == 2
    assert re.search(r"error: mcp is not installed: pip install .*\[mcp\]", done.stderr)
