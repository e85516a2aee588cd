"""The files of a package, as text."""

from __future__ import annotations

import ast
import re
import tomllib
from itertools import pairwise
from typing import Any

import pytest
from hostile_packages import read_me
from markdown_it import MarkdownIt

from openapi_tools.codegen.package_data import PackageData, Record
from openapi_tools.codegen.render import HEADER, RUNTIME_VERSION, Templates, render_files
from openapi_tools.model import (
    Encoding,
    Operation,
    Parameter,
    Property,
    RequestBody,
    SecurityScheme,
    Server,
    ServerVariable,
    Skipped,
)

LONG = {"type": "string", "description": "word " * 60}
EVIL = (
    "\"\"\"'''\\ | <b>[x](y)`*_#</b> \n\n# Heading\n\n---\n{{ 7 }} {% x %} \u202e \x1b]0;x\x07 é 🚀"
)
EVERYTHING = Operation(
    "POST",
    "/a",
    parameters=(Parameter("q", "query"),),
    body=RequestBody(
        "multipart/form-data", properties=(Property("p"),), encodings=(Encoding("p", file=True),)
    ),
    servers=(Server("https://{v}.example", variables={"v": ServerVariable("x")}),),
)


def record(name, description="Text.", **operation):
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    return Record(name, description, schema, Operation("GET", f"/{name}", **operation))


def package(*records, **members):
    data = PackageData(members.pop("api", "pets"), records, **members)
    return render_files(data, Templates(), layout="package")


def module(*records, **members):
    (text,) = render_files(
        PackageData("pets", records, **members), Templates(), layout="module"
    ).values()
    return text


def values_of(source):
    """Run what is only assignments of values, and return them."""
    names: dict[str, Any] = {}
    exec(compile(source, "index", "exec"), names)
    return names


@pytest.mark.parametrize("layout", ["package", "module"])
def test_python_is_ascii_under_its_header_and_parses(layout):
    schemes = {EVIL: SecurityScheme("apiKey", name=EVIL, location="header")}
    contents = PackageData(
        "pets",
        (record("a", EVIL, tags=(EVIL,)), Record("b", EVIL, {"default": EVIL}, EVERYTHING)),
        title=EVIL,
        version=EVIL,
        schemes=schemes,
        skipped=(Skipped(EVIL, EVIL, EVIL, EVIL),),
    )

    files = render_files(contents, Templates(), layout=layout)

    for path, text in files.items():
        if path.endswith(".py"):
            assert text.isascii()
            assert text.startswith(f"{HEADER}\n")
            assert text.endswith("\n")
            assert not text.endswith("\n\n")
            assert "\n\n\n\n" not in text
            assert max(map(len, text.split("\n"))) <= 100
            assert "7 }}" not in "".join(re.findall(r"#.*", text))
            ast.parse(text)


def test_the_distribution_needs_the_runtime_alone_and_is_found_by_amplifier():
    text = package(record("a"), api="big_pets", version="1.2.3")["pyproject.toml"]

    found = tomllib.loads(text)
    assert found["project"]["name"] == "big-pets-tools"
    assert found["project"]["version"] == "1.2.3"
    assert found["project"]["dependencies"] == [f"openapi-tools>={RUNTIME_VERSION}"]
    assert found["project"]["requires-python"] == ">=3.11"
    assert found["project"]["entry-points"] == {
        "amplifier.modules": {"tool-big-pets": "amplifier_module_tool_big_pets:mount"}
    }
    assert found["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [
        "big_pets_tools",
        "amplifier_module_tool_big_pets",
    ]


@pytest.mark.parametrize(
    ("version", "written"),
    [
        ("1", "1"),
        ("2024.10.5", "2024.10.5"),
        ("1.2.3.4", "1.2.3.4"),
        ("1.2.3.4.5", "0"),
        ("v1", "0"),
        ("2023-01-01", "0"),
        ("1.0.0-beta+1", "0"),
        ("", "0"),
        ("1" * 9, "0"),
        ('1"\nx = "', "0"),
        ("1\n", "0"),
        ("\u0661", "0"),
    ],
)
def test_a_version_that_packages_cannot_have_is_zero(version, written):
    found = tomllib.loads(package(record("a"), version=version)["pyproject.toml"])

    assert found["project"]["version"] == written


def test_the_readme_lists_every_tool_in_one_row():
    files = package(record("a", "First line.\nSecond."), record("b_c", "x " * 200))

    assert read_me(files["README.md"]) == [
        ["a", "GET /a", "First line."],
        ["b_c", "GET /b_c", ("x " * 60).strip() + " …"],
    ]
    assert "2 operations of an API" in files["README.md"]
    assert "1 operation of an API" in package(record("a"))["README.md"]


def test_no_text_breaks_out_of_the_readme():
    files = package(
        Record("a", EVIL, {}, Operation("GET", f"/a/{EVIL}")),
        record("b"),
        title=EVIL,
        version=EVIL,
        schemes={EVIL: SecurityScheme("http", scheme=EVIL), "b": SecurityScheme("oauth2")},
        skipped=(Skipped("/paths", EVIL, "GET", EVIL), Skipped("/x", "Reason.")),
    )

    assert len(read_me(files["README.md"])) == 2
    tokens = MarkdownIt("commonmark").enable("table").parse(files["README.md"])
    headings = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    assert headings == ["pets-tools", "Credentials", "Tools", "Left out"]
    assert sum(token.type == "list_item_open" for token in tokens) == 4
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", files["README.md"])


@pytest.mark.parametrize("one_file", [False, True])
def test_the_index_says_what_is_known_of_the_document(one_file):
    members: dict[str, Any] = {
        "schemes": {"key": SecurityScheme("apiKey", name="k", location="header")},
        "skipped": (Skipped("/paths/~1x", "Reason.", "GET", "/x"),),
        "counts": {"operations": 3, "skipped": 1},
        "settings": {"prefix": "x_", "media_types": ("text/plain",)},
    }
    records = record("b", tags=("t",)), record("list_error"), record("a", tags=("t",))

    if one_file:
        names = values_of(module(*records, **members))
    else:
        names = values_of(package(*records, **members)["pets_tools/index.py"])

    t, none = ("", "") if one_file else ("tools_t", "tools")
    expected = {"b": t, "list_error": f"{none}:ToolListError", "a": t}
    assert list(names["INDEX"].items()) == list(expected.items())
    assert names["SECURITY_SCHEMES"] == members["schemes"]
    assert names["SKIPPED"] == members["skipped"]
    assert names["COUNTS"] == members["counts"]
    assert names["SETTINGS"] == members["settings"]


def test_a_module_imports_just_what_it_uses_and_in_order():
    deep: dict[str, Any] = {}
    for _ in range(60):
        deep = {"items": deep}
    shared = {"$defs": {"Pet": LONG}}
    files = package(
        record("plain", tags=("plain",)),
        Record("all", "Text.", shared, EVERYTHING),
        Record("more", "Text.", shared, Operation("GET", "/", tags=("plain",))),
        Record("deep", "Text.", deep, Operation("GET", "/", tags=("deep",))),
    )

    def imports(path: str) -> str:
        return files[path].split('"""\n', 1)[1].split("\n\n\n")[0].strip()

    assert imports("pets_tools/tools_deep.py") == (
        "import json\nfrom typing import Any, ClassVar\n\n"
        "from openapi_tools.runtime import Operation, OperationTool"
    )
    assert imports("pets_tools/tools_plain.py") == (
        "from typing import Any, ClassVar\n\n"
        "from openapi_tools.runtime import Operation, OperationTool\n\nfrom . import schemas"
    )
    assert imports("pets_tools/tools.py") == (
        "from typing import Any, ClassVar\n\nfrom openapi_tools.runtime import (\n    Encoding,\n"
        "    Operation,\n    OperationTool,\n    Parameter,\n    Property,\n    RequestBody,\n"
        "    Server,\n    ServerVariable,\n)\n\nfrom . import schemas"
    )


def test_a_lint_rule_is_switched_off_only_where_words_of_the_api_break_it():
    files = package(
        record("a", tags=("a",)), record("b", description="0.0.0.0", tags=("b",)), skipped=()
    )

    switched = {path for path, text in files.items() if "# ruff: noqa: S104" in text}
    assert switched == {"pets_tools/tools_b.py"}
    assert files["pets_tools/tools_b.py"].split("\n")[1] == (
        "# ruff: noqa: S104 -- words of the API"
    )


def test_one_file_names_what_it_needs_to_be_run_alone():
    lines = module(record("a")).split("\n")

    assert lines[:5] == [
        HEADER,
        "# /// script",
        '# requires-python = ">=3.11"',
        f'# dependencies = ["openapi-tools>={RUNTIME_VERSION}"]',
        "# ///",
    ]


def test_one_file_has_shared_schemas_before_the_tools_that_use_them():
    shared = {"$defs": {"Pet": LONG}}
    text = module(*(Record(name, "Text.", shared, EVERYTHING) for name in "ab"))

    assert text.index("PET: dict[str, Any] = {") < text.index('{"Pet": PET}')
    names = values_of(text)
    assert names["A"].input_schema == shared
    assert names["A"].input_schema["$defs"]["Pet"] is names["B"].input_schema["$defs"]["Pet"]
