"""What tests of shaping share: the command line, and a cache of their own."""

import pytest
from click.testing import CliRunner

from openapi_tools.cli import commands


@pytest.fixture
def run():
    """Run the command line in this process: `run("list", spec).stdout`."""

    def invoke(*args, stdin=None):
        return CliRunner().invoke(commands, [str(arg) for arg in args], input=stdin)

    return invoke


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of the test's own."""
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE", raising=False)
    return tmp_path / "cache"
