"""Output on a terminal: colours, the pager, progress, wrapped texts."""

import io
import json
import re
import time

import pytest
import terminals

from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.styles import colour_json
from openapi_tools.cli.text_layout import text_width

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize(
    ("command", "env", "has_colours"),
    [
        ("list", {}, True),
        ("list", {"NO_COLOR": "1"}, False),
        ("list", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("list", {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ("show get_museum_hours", {"NO_COLOR": ""}, True),
        ("show get_museum_hours", {"TERM": "dumb"}, False),
    ],
)
def test_a_terminal_gets_colours_unless_it_is_told_otherwise(museum, command, env, has_colours):
    name, *args = command.split()

    written = terminals.run_in_terminal(name, museum, *args, **env)

    assert bool(COLOUR.search(written)) is has_colours
    assert "\x1b" not in COLOUR.sub("", written)


@pytest.mark.parametrize("command", ["list", "show get_museum_hours"])
def test_a_pipe_gets_none_and_no_pager(run, museum, command):
    name, *args = command.split()

    assert "\x1b" not in run(name, museum, *args, env={"PAGER": "false", "LINES": "2"}).stdout


@pytest.fixture
def pager(tmp_path):
    script = tmp_path / "pager"
    script.write_text("#!/bin/sh\ncat\necho PAGED\n")
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize(
    ("height", "env", "is_paged"),
    [
        (40, {}, False),
        (8, {}, True),
        (8, {"PAGER": ""}, False),
        (8, {"TERM": "dumb"}, False),
        (8, {"NO_COLOR": "1"}, True),
    ],
)
def test_a_list_longer_than_the_screen_goes_through_the_pager(museum, pager, height, env, is_paged):
    written = terminals.run_in_terminal("list", museum, height=height, **{"PAGER": pager, **env})

    assert ("PAGED" in written) is is_paged
    assert "get_ticket_code" in written
    assert "8 tools." in written
    if "NO_COLOR" in env:
        assert "\x1b" not in written


def terminal(monkeypatch):
    """Make standard error a terminal that keeps what is written."""
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", stream)
    return stream


def test_long_running_operations_are_reported_on_a_terminal_and_then_removed(monkeypatch):
    stream = terminal(monkeypatch)

    with show_progress("Reading [bold]x[/bold] \x1b[2J"):
        while not stream.getvalue():
            time.sleep(0.01)

    first, *_, spaces, end = stream.getvalue().split("\r")[1:]
    assert first == "Reading [bold]x[/bold] \\u001b[2J … 1 s"
    assert (spaces.strip(), end) == ("", "")
    assert len(spaces) >= len(first)


def test_short_work_and_work_elsewhere_are_silent(monkeypatch):
    short, pipe = terminal(monkeypatch), io.StringIO()
    with show_progress("Reading"):
        pass
    monkeypatch.setattr("sys.stderr", pipe)
    with show_progress("Reading"):
        time.sleep(1.1)
    monkeypatch.setattr("sys.stderr", None)
    with show_progress("Reading"):
        pass

    assert short.getvalue() == pipe.getvalue() == ""


def test_an_error_ends_the_progress(monkeypatch):
    terminal(monkeypatch)

    with pytest.raises(ZeroDivisionError), show_progress("Reading"):
        raise ZeroDivisionError


CALL = ("call", "get_museum_hours", "limit=2", "--mock")


def test_json_has_colours_on_a_terminal_and_is_the_same_without(museum):
    name, *rest = CALL
    coloured = terminals.run_in_terminal(name, museum, *rest)
    plain = terminals.run_in_terminal(name, museum, *rest, NO_COLOR="1")

    assert '\x1b[34m\x1b[1m"date"\x1b[0m' in coloured
    assert COLOUR.sub("", coloured) == plain
    assert "\x1b" not in plain


@pytest.mark.parametrize("args", [CALL, ("list", "--json"), ("list",)])
def test_forced_colours_reach_no_data_in_a_pipe(run, museum, args):
    name, *rest = args

    assert "\x1b" not in run(name, museum, *rest, env={"FORCE_COLOR": "1"}).stdout


def test_a_string_that_looks_like_json_has_the_colour_of_a_string():
    text = json.dumps({"a": '{"b": 1, \\"c\\": null}', "d": [-1.5e3, True, None, ""]}, indent=2)

    coloured = colour_json(text)

    assert COLOUR.sub("", coloured) == text
    inner = json.dumps('{"b": 1, \\"c\\": null}')
    assert f"\x1b[32m{inner}\x1b[0m" in coloured


def test_a_question_hides_the_progress(monkeypatch):
    stream = terminal(monkeypatch)

    with show_progress("Running") as progress:
        while not stream.getvalue():
            time.sleep(0.01)
        with progress.pause():
            hidden = stream.getvalue()
            time.sleep(1.2)
            assert stream.getvalue() == hidden

    assert hidden.endswith(" \r")


def test_progress_fits_a_narrow_terminal(monkeypatch):
    stream = terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "20")

    with show_progress("Reading a document of a long name"):
        while not stream.getvalue():
            time.sleep(0.01)

    assert max(map(text_width, stream.getvalue().split("\r"))) < 20


def test_a_proof_has_its_headings_on_a_narrow_terminal(museum, tmp_path):
    lines = museum.read_text().splitlines()
    lines[656] = lines[656].partition("example:")[0] + "default: today"
    document = tmp_path / "wrong.yaml"
    document.write_text("\n".join(lines))

    written = terminals.run_in_terminal("prove", document, "--tag", "Operations", width=60)

    assert COLOUR.sub("", written).splitlines()[0].split() == [
        "Tool",
        "Request",
        "Response",
        "Reason",
    ]
