"""The files of a package, as text; `generated/` and the hostile documents show the rest."""

from __future__ import annotations

import tomllib

import pytest

from openapi_tools.codegen.package_data import PackageData, Record
from openapi_tools.codegen.render import HEADER, RUNTIME_VERSION, Templates, render_files
from openapi_tools.model import Operation


def record(name, description="Text.", **operation):
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    return Record(name, description, schema, Operation("GET", f"/{name}", **operation))


def package(*records, layout="package", **members):
    return render_files(PackageData("big_pets", records, **members), Templates(), layout=layout)


@pytest.mark.parametrize(
    ("version", "written"),
    [
        ("1", "1"),
        ("2024.10.5", "2024.10.5"),
        ("1.2.3.4", "1.2.3.4"),
        ("1.2.3.4.5", "0"),
        ("v1", "0"),
        ("1.0.0-beta+1", "0"),
        ("", "0"),
        ("1" * 9, "0"),
        ('1"\nx = "', "0"),
        ("1\n", "0"),
        ("\u0661", "0"),
    ],
)
def test_a_version_that_packages_cannot_have_is_zero(version, written):
    files = package(record("a"), version=version)

    found = tomllib.loads(files["pyproject.toml"])["project"]
    assert "1 operation of an API" in files["README.md"]
    assert (found["name"], found["version"]) == ("big-pets-tools", written)
    assert found["dependencies"] == [f"openapi-tools>={RUNTIME_VERSION}"]
    assert found["entry-points"] == {
        "amplifier.modules": {"tool-big-pets": "amplifier_module_tool_big_pets:mount"}
    }


def test_a_lint_rule_is_switched_off_only_where_words_of_the_api_break_it():
    files = package(record("a", tags=("a",)), record("b", description="0.0.0.0", tags=("b",)))

    switched = {path for path, text in files.items() if "# ruff: noqa: S104" in text}
    assert switched == {"big_pets_tools/tools_b.py"}
    line = "# ruff: noqa: S104 -- words of the API"
    assert files["big_pets_tools/tools_b.py"].split("\n")[1] == line


def test_one_file_names_what_it_needs_to_be_run_alone():
    (text,) = package(record("a"), layout="module").values()

    assert text.split("\n")[:5] == [
        HEADER,
        "# /// script",
        '# requires-python = ">=3.11"',
        f'# dependencies = ["openapi-tools>={RUNTIME_VERSION}"]',
        "# ///",
    ]
