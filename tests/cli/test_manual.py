"""Examples and exit codes in `--help` and the manual page."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from openapi_tools.cli import commands, imported
from openapi_tools.cli.manual import EXIT_CODES, lines_of

ROOT = Path(__file__).parents[2]
LINES = [(name, line) for name in commands.commands for line in lines_of(name)]


@pytest.mark.parametrize("name", commands.commands)
def test_every_command_has_examples_in_its_help(run, name):
    shown = run(name, "--help").stdout

    assert shown.startswith(f"Usage: openapi-tools {name} ")
    assert lines_of(name)
    assert [line for line in lines_of(name) if f"\n  {line}\n" not in shown] == []
    assert "\nExit codes:\n" in shown


@pytest.mark.parametrize(("name", "line"), [row for row in LINES if row[1].startswith("openapi-")])
def test_an_example_is_a_command_line_that_is_taken(name, line):
    words = shlex.split(re.split(r" [|>] ", line)[0])

    assert words[:2] == ["openapi-tools", name]
    with imported(name).make_context(name, words[2:]) as context:
        assert context.params is not None


def test_exit_codes_are_those_of_the_help_and_of_the_docs(run):
    table = (ROOT / "docs" / "cli.md").read_text().split("| exit code | meaning |", 1)[1]
    told = re.findall(r"^\| (\d+) \| ", table.split("\n\n", 1)[0], re.MULTILINE)
    shown = run("--help").stdout.split("Exit codes:", 1)[1]

    assert told == list(EXIT_CODES)
    assert re.findall(r"^  (\d+) ", shown, re.MULTILINE) == list(EXIT_CODES)


def test_the_manual_page_has_every_command_option_and_exit_code(run):
    page = run("man").stdout.replace("\\-", "-")

    assert page.startswith(".TH OPENAPI-TOOLS 1 ")
    for name in commands.commands:
        assert f'\n.SS "{name} ' in page
        options = [opt for part in imported(name).params for opt in part.opts if opt[:2] == "--"]
        assert [option for option in options if f"{option}" not in page] == []
    assert [code for code in EXIT_CODES if f'\n.B "{code}"\n' not in page] == []


def test_the_manual_page_is_formatted_without_a_warning(run):
    if shutil.which("man") is None:
        pytest.skip("man is not installed (Debian: apt install man-db)")
    page = run("man").stdout

    done = subprocess.run(
        ["man", "--warnings", "-l", "-"], input=page, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"},
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert "call openapi.yaml get_user id=7" in done.stdout
    assert "Write the input schema only." in done.stdout
