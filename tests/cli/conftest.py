"""What the tests of the command line share."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from documents import document

from openapi_tools import code
from openapi_tools.cli import commands

SPECS = Path(__file__).parents[2] / "specs"
RESPONSES = {"200": {"description": "ok", "content": {"application/json": {}}}}


@pytest.fixture(autouse=True)
def usual_colours(monkeypatch):
    """Remove what forces colours where the tests run, as CI services do."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def run():
    """Run the command line in this process: `run("list", spec).stdout`."""

    def invoke(*args, stdin=None, env=None):
        return CliRunner().invoke(commands, [str(arg) for arg in args], input=stdin, env=env)

    return invoke


@pytest.fixture
def refused(run):
    """Run a command that fails with words on standard error alone, and return these."""

    def invoke(*args, code=2, messages=(), **options):
        result = run(*args, **options)
        assert (result.exit_code, result.stdout) == (code, "")
        assert "Traceback" not in result.stderr
        assert [words for words in messages if words not in result.stderr] == []
        return result.stderr

    return invoke


@pytest.fixture
def museum():
    """A small document without faults."""
    return SPECS / "museum.yaml"


@pytest.fixture
def specs():
    return SPECS


@pytest.fixture
def write(tmp_path):
    """Write a document of OpenAPI 3.1 with these paths, and return its path.

    Operations without responses get some.
    """

    def write_document(paths, **fields):
        whole_paths = {
            path: {method: {"responses": RESPONSES, **get} for method, get in item.items()}
            for path, item in paths.items()
        }
        servers = [{"url": "http://api.example.com/v1"}]
        path = tmp_path / "openapi.json"
        path.write_text(json.dumps(document(whole_paths, **{"servers": servers, **fields})))
        return path

    return write_document


@pytest.fixture
def send(write):
    """Write a document with the operation `send`, a POST of a body of some content."""

    def write_operation(content, *, required=False, **fields):
        body = {"required": required, "content": content}
        return write({"/a": {"post": {"operationId": "send", "requestBody": body}}}, **fields)

    return write_operation


@pytest.fixture
def without_code(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    for name in ("code_tools", "program", "sandbox"):
        monkeypatch.delitem(sys.modules, f"openapi_tools.code.{name}", raising=False)
        monkeypatch.delattr(code, name, raising=False)
