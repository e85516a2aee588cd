"""What the tests of the command line share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from openapi_tools.cli.group import commands

SPECS = Path(__file__).parents[2] / "specs"


@pytest.fixture
def run():
    """Run the command line in this process: `run("list", spec).stdout`."""

    def invoke(*args, stdin=None, env=None):
        return CliRunner().invoke(commands, [str(arg) for arg in args], input=stdin, env=env)

    return invoke


@pytest.fixture
def museum():
    """A small document without faults."""
    return SPECS / "museum.yaml"


@pytest.fixture
def specs():
    """The folder with published documents."""
    return SPECS


@pytest.fixture
def write(tmp_path):
    """Write a document of OpenAPI 3.1 with these paths, and return where it stands."""

    def write_document(paths, **more):
        document = {
            "openapi": "3.1.0",
            "info": {"title": "t", "version": "1"},
            "servers": [{"url": "http://api.example.com/v1"}],
            "paths": paths,
            **more,
        }
        path = tmp_path / "openapi.json"
        path.write_text(json.dumps(document))
        return path

    return write_document
