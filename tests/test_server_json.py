"""`server.json`, with which a registry of MCP servers lists the package."""

import json
import re
import tomllib

import jsonschema
import pytest
from doc_pages import ROOT

from openapi_tools import __version__
from openapi_tools.cli import create_command

SERVER = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
(PACKAGE,) = SERVER["packages"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

TEXT = {"type": "string", "minLength": 1, "maxLength": 100}
VERSION = {"type": "string", "pattern": r"^\d+\.\d+\.\d+([-+.][0-9A-Za-z.-]+)?$"}
ARGUMENT = {
    "properties": {
        "type": {"enum": ["named", "positional"]},
        "isRequired": {"type": "boolean"},
    },
    "additionalProperties": {"type": "string"},
    "required": ["type"],
    "anyOf": [{"required": ["name"]}, {"required": ["value"]}, {"required": ["valueHint"]}],
}
FORMAT = {
    "type": "object",
    "properties": {
        "$schema": {"type": "string"},
        "name": {"pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "title": TEXT,
        "description": TEXT,
        "version": VERSION,
        "packages": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "registryType": {"enum": ["npm", "pypi", "cargo", "oci", "nuget", "mcpb"]},
                    "identifier": {"type": "string"},
                    "version": VERSION,
                    "runtimeHint": {"type": "string"},
                    "runtimeArguments": {"type": "array", "items": ARGUMENT},
                    "packageArguments": {"type": "array", "items": ARGUMENT},
                    "transport": {
                        "properties": {"type": {"const": "stdio"}},
                        "required": ["type"],
                        "additionalProperties": False,
                    },
                },
                "additionalProperties": False,
                "required": ["registryType", "identifier", "version", "transport"],
            },
        },
    },
    "additionalProperties": False,
    "required": ["$schema", "name", "description", "version", "packages"],
}
"""The rules of the format's version 2025-12-11 for the keys that the file uses."""

WRONG = {
    "a name without a namespace": {"name": "openapi-tools"},
    "a long description": {"description": "x" * 101},
    "a range of versions": {"version": ">=0.1"},
    "a package without a transport": {"packages": [{"registryType": "pypi", "identifier": "x"}]},
    "an unknown key": {"status": "active"},
}


def test_the_file_fits_the_format():
    jsonschema.validate(SERVER, FORMAT)


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_seen(case):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(SERVER | WRONG[case], FORMAT)


def test_names_and_versions_are_those_of_the_package():
    assert SERVER["version"] == PACKAGE["version"] == __version__
    assert PACKAGE["identifier"] == SERVER["title"] == PROJECT["name"]
    assert SERVER["description"] == PROJECT["description"]
    (extra,) = PACKAGE["runtimeArguments"]
    assert extra["value"] == f"openapi-tools[mcp]=={__version__}"
    assert "mcp" in PROJECT["optional-dependencies"]


def test_the_readme_names_the_server_as_a_registry_demands():
    names = re.findall(r"mcp-name: (\S+)", (ROOT / "README.md").read_text(encoding="utf-8"))

    assert names == [SERVER["name"]]


def test_the_arguments_are_those_of_the_command():
    arguments = PACKAGE["packageArguments"]
    command, spec = (each.get("value") or "openapi.yaml" for each in arguments)

    context = create_command(command).make_context(command, [spec])

    assert context.params["spec"] == "openapi.yaml"
    assert arguments[1]["valueHint"] == "spec"
