"""README and docs: their examples run, and everything public is in them."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import openapi_tools
from openapi_tools import OperationTool, ToolResult, Toolset, testing
from openapi_tools.cli import commands, imported
from openapi_tools.errors import ERROR_TYPES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "specs" / "README.md"]
PYTHON = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page, language):
    """Return a page's code blocks of one language."""
    return [code for kind, code in FENCE.findall(page.read_text()) if kind == language]


def commands_in(text):
    """Return the commands of a shell script, one a line."""
    return [line for line in text.splitlines() if line.startswith(("python3 ", ".venv/"))]


def examples(language):
    """Return pytest parameters: one for every block of a language."""
    return [
        pytest.param(code, id=f"{page.name}-{number}")
        for page in PAGES
        for number, code in enumerate(blocks(page, language), start=1)
    ]


def python_examples():
    """Return pytest parameters: each example, with the output that stands right behind it."""
    return [
        pytest.param(code, said, id=f"{page.name}-{number}")
        for page in PAGES
        for number, (code, said) in enumerate(PYTHON.findall(page.read_text()), start=1)
    ]


@pytest.mark.long
@pytest.mark.parametrize(("code", "said"), python_examples())
def test_a_python_example_runs_and_prints_what_stands_behind_it(code, said, workspace):
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=workspace,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert said in ("", ran.stdout)


@pytest.fixture
def workspace(tmp_path):
    """A folder that looks like the repository; what an example writes does not stay in that."""
    for name in ("specs", "generated", "docs", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.fixture(scope="session")
def shell(tmp_path_factory):
    """An environment in which `openapi-tools` is this tree's."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "openapi-tools"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m openapi_tools "$@"\n')
    script.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    # What the examples show of the cache is there only when it is on.
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "OPENAPI_TOOLS_CACHE": ""}


def expected_as_pattern(text):
    """Return expected output as a regular expression; a line `…` stands for any lines."""
    return re.escape(text).replace(re.escape("…\n"), "(?:.*\n)*")


@pytest.mark.long
@pytest.mark.parametrize("transcript", examples("console"))
def test_a_console_example_prints_what_it_says(transcript, shell, workspace):
    script, expected = "", ""
    for line in transcript.splitlines():
        if line.startswith("$ "):
            script += f"{line[2:]}\n"
        else:
            expected += f"{line}\n"

    ran = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"],
        cwd=workspace, env=shell, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert re.fullmatch(expected_as_pattern(expected), ran.stdout), ran.stdout


def test_the_first_shell_block_calls_a_tool_offline(shell):
    first = commands_in(blocks(ROOT / "README.md", "sh")[0])
    calls = [line.removeprefix(".venv/bin/") for line in first if "openapi-tools" in line]

    ran = subprocess.run(
        ["bash", "-euc", "\n".join(calls)],
        cwd=ROOT, env=shell, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert first[0] == "python3 -m venv .venv"
    assert "--mock" in calls[-1]
    assert (ran.returncode, ran.stderr) == (0, "")
    assert '"ticketType": "general", "ticketDate": "2023-09-07"' in ran.stdout


def test_the_readme_prints_what_it_says_a_model_is_told():
    page = ROOT / "README.md"
    code, said = blocks(page, "python")[0], blocks(page, "text")[0]

    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout.endswith(said)


def test_ci_runs_what_the_readme_tells_contributors():
    readme = commands_in(blocks(ROOT / "README.md", "sh")[1])
    ci = commands_in((ROOT / ".ci" / "run").read_text())

    assert ci == [*readme, ".venv/bin/pytest -m long --no-cov"]
    assert readme[-1] == ".venv/bin/pytest"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_what_the_readme_sets_up_is_ignored_by_git():
    ignored = (ROOT / ".gitignore").read_text().split()

    assert ".venv/" in ignored


def anchors(page):
    """Return what a link can name in a page: its headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text())
    inside = [
        (page.parent / path if path else page, anchor)
        for path, anchor in links
        if "://" not in path
    ]

    assert [
        f"{path}#{anchor}"
        for path, anchor in inside
        if not path.exists() or (anchor and anchor not in anchors(path))
    ] == []


def documented(name):
    """Whether a name stands in a page as code."""
    pattern = re.compile(rf"`[^`\n]*(?<![\w-]){re.escape(name)}(?![\w-])[^`\n]*`")
    return any(
        pattern.search(page.read_text())
        or any(name in code for _, code in FENCE.findall(page.read_text()))
        for page in PAGES
    )


def cli_names():
    """Yield every command and option."""
    yield from commands.commands
    for command in [commands, *map(imported, commands.commands)]:
        for parameter in command.get_params(click.Context(command)):
            yield from (name for name in parameter.opts if name.startswith("--"))


@pytest.mark.parametrize("name", sorted(set(cli_names())))
def test_every_command_and_option_is_documented(name):
    assert documented(name)


@pytest.mark.parametrize("name", sorted({*openapi_tools.__all__, *testing.__all__}))
def test_every_public_name_is_documented(name):
    assert documented(name)


def table_of(page, heading):
    """Return a page's first table below a heading: its rows without the head, cell by cell."""
    below = page.read_text().split(f"\n{heading}\n", 1)[1]
    table = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)[0]
    return [
        [cell.strip() for cell in line.strip("|\n").split(" | ")] for line in table.splitlines()[2:]
    ]


def test_the_table_of_settings_has_every_setting_with_its_default():
    rows = table_of(ROOT / "docs" / "python.md", "## Settings")
    # In a process of its own: the tests may run over another transport than the default one.
    code = "import openapi_tools as o; print(o.Settings().model_dump())"
    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    defaults = ast.literal_eval(told.stdout.decode())

    assert {row[0].strip("`"): ast.literal_eval(row[1].strip("`")) for row in rows} == defaults


@pytest.mark.parametrize("kind", ERROR_TYPES)
def test_every_type_of_error_is_explained(kind):
    assert f"\n| `{kind}` | " in (ROOT / "docs" / "python.md").read_text()


def members():
    """Yield pytest parameters: the public members of what a user holds in the hand."""
    for cls in (Toolset, OperationTool, ToolResult):
        names = {*vars(cls), *getattr(cls, "model_fields", ())}
        yield from (
            pytest.param(name, id=f"{cls.__name__}.{name}")
            for name in sorted(names)
            if not name.startswith(("_", "model_")) and name != "for_call"
        )


@pytest.mark.parametrize("name", [*members()])
def test_every_public_member_is_documented(name):
    pattern = re.compile(rf"`[^`\n]*(?<![\w-]){name}(?![\w-])[^`\n]*`")

    assert pattern.search((ROOT / "docs" / "python.md").read_text())


def rooms():
    """Yield the folders and modules of the package, as architecture.md names them."""
    for path in sorted((ROOT / "openapi_tools").iterdir()):
        if path.is_dir() and path.name != "__pycache__":
            yield f"{path.name}/"
        elif path.suffix == ".py" and not path.name.startswith("_"):
            yield path.name


def test_the_architecture_names_every_room_and_nothing_that_is_not_there():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", text))

    assert [room for room in rooms() if room not in named] == []
    assert [
        name
        for name in sorted(named)
        if not (ROOT / name).exists() and not (ROOT / "openapi_tools" / name).exists()
    ] == []


def test_every_document_in_specs_has_its_source_commit_and_licence():
    rows = (ROOT / "specs" / "README.md").read_text().splitlines()
    files = [
        path.name
        for path in (ROOT / "specs").iterdir()
        if path.suffix in (".json", ".yaml", ".yml")
    ]

    for name in files:
        row = next(line for line in rows if line.startswith(f"| [{name}]({name}) |"))
        assert re.search(r"\| `[0-9a-f]{40}` \| (MIT|Apache-2\.0)", row)
    assert len(files) >= 4


def test_documents_in_specs_are_as_published(shared):
    published = {path.read_bytes() for path in (shared / "corpus").rglob("*.*") if path.is_file()}

    for path in (ROOT / "specs").iterdir():
        if path.suffix in (".json", ".yaml", ".yml"):
            assert path.read_bytes() in published
