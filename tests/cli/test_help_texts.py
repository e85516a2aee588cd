"""Examples and exit codes in `--help`."""

import re
import shlex
from pathlib import Path

import pytest

from openapi_tools.cli import commands, create_command
from openapi_tools.cli.help_texts import exit_codes, list_examples

ROOT = Path(__file__).parents[2]
LINES = [(name, line) for name in commands.commands for line in list_examples(name)]


@pytest.mark.parametrize("name", commands.commands)
def test_every_command_has_examples_in_its_help(run, name):
    help_text = run(name, "--help").stdout

    assert help_text.startswith(f"Usage: openapi-tools {name} ")
    assert list_examples(name)
    assert [line for line in list_examples(name) if f"\n  {line}\n" not in help_text] == []
    assert "\nExit codes:\n" in help_text


@pytest.mark.parametrize(("name", "line"), [row for row in LINES if row[1].startswith("openapi-")])
def test_an_example_is_a_command_line_that_is_taken(name, line):
    words = shlex.split(re.split(r" [|>] ", line)[0])

    assert words[:2] == ["openapi-tools", name]
    with create_command(name).make_context(name, words[2:]) as context:
        assert context.params is not None


def test_exit_codes_are_those_of_the_help_and_of_the_docs(run):
    table = (ROOT / "docs" / "cli.md").read_text().split("| exit code | meaning |", 1)[1]
    codes = re.findall(r"^\| (\d+) \| ", table.split("\n\n", 1)[0], re.MULTILINE)
    help_text = run("--help").stdout.split("Exit codes:", 1)[1]

    assert codes == list(exit_codes())
    assert re.findall(r"^  (\d+) ", help_text, re.MULTILINE) == list(exit_codes())
