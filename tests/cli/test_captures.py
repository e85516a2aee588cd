"""Commands look like the golden files: at three widths, with and without colours; none is wider."""

import re
import shlex

import captures
import pytest
import terminals

from openapi_tools.cli import commands
from openapi_tools.cli.text_layout import text_width

USUAL = [("list", 80, True), ("show", 80, False), ("search", 120, False)]
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Lines of code, of JSON and of a shell are data: breaking them would change what they mean.
DATA = {"generate-diff"}
COLUMNS = (40, 80, 120, 200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("captures")
    captures.prepare(path)
    return path


def mark_long(case):
    return case if case in USUAL else pytest.param(case, marks=pytest.mark.long)


@pytest.mark.parametrize("case", list(map(mark_long, captures.CASES)), ids=str)
def test_a_command_looks_like_its_capture(case, folder):
    if not captures.is_available(case[0]):
        pytest.skip("the document is not at hand")

    actual = captures.capture_command(*case, folder)

    expected = captures.file_of(*case).read_text(encoding="utf-8")
    assert actual == expected, f"python tests/captures.py writes it again\n{actual}"


def test_there_is_a_golden_file_for_each_capture_and_no_other():
    files = sorted(captures.GOLDEN.glob("*"))

    assert files == sorted(captures.file_of(*case) for case in captures.CASES)


@pytest.mark.parametrize("case", captures.CASES, ids=str)
def test_a_capture_is_as_wide_as_its_terminal_and_colours_change_no_letter(case):
    name, width, has_colours = case
    text = captures.file_of(*case).read_text(encoding="utf-8")
    plain = captures.file_of(name, width, False).read_text(encoding="utf-8")

    assert has_colours or "\x1b" not in text
    assert [COLOUR.sub("", line).rstrip() for line in text.splitlines()] == plain.splitlines()
    if name not in DATA:
        assert max(map(text_width, plain.splitlines())) <= width


HELP = [(f"{name} --help", width) for name in commands.commands for width in COLUMNS]
NARROW = [
    (command, 40)
    for name, command in captures.COMMANDS.items()
    if name not in DATA and captures.is_available(name)
]


@pytest.mark.long
@pytest.mark.parametrize(("command", "width"), [*HELP, *NARROW])
def test_no_line_of_a_command_is_wider_than_its_terminal(command, width, folder):
    if command == "completion --help":
        pytest.skip("its lines are for the files of a shell")

    text = captures.run_command(command, folder, width=width, NO_COLOR="1")

    lines = [line.rpartition("\r")[2] for line in text.split("\n")]
    assert [line for line in lines if text_width(line) > width] == []
    assert "Traceback" not in text


@pytest.mark.long
@pytest.mark.parametrize("width", [1, 5, 10, 20])
@pytest.mark.parametrize("name", ["list", "search", "stats", "show-nested", "prove"])
def test_a_terminal_of_a_few_columns_breaks_nothing(name, width, folder):
    text = captures.run_command(captures.COMMANDS[name], folder, width=width, NO_COLOR="1")

    assert "Traceback" not in text


def test_a_terminal_without_utf_8_gets_lines_of_its_width(folder):
    env = {"PYTHONIOENCODING": "ascii", "NO_COLOR": "1"}
    text = captures.run_command("list specs/museum.yaml", folder, width=80, **env)

    assert text.isascii()
    assert "/special-events/{...}" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    "command", ["search specs/museum.yaml ticket", "stubs specs/museum.yaml get_museum_hours"]
)
def test_plain_prints_on_a_terminal_what_a_pipe_gets(run, command):
    name, spec, *words = shlex.split(command)
    options = [captures.ROOT / spec, *words]

    piped = run(name, *options).stdout
    plain = terminals.run_in_terminal(name, *options, "--plain", width=60)

    assert plain == piped
    assert terminals.run_in_terminal(name, *options, width=60) != piped
