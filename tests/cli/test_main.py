"""The program: exit codes, streams, broken input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_documents import hostile

from openapi_tools import __version__
from openapi_tools.cli import commands

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "openapi_tools"]


def test_the_version_is_the_packages_and_help_names_every_command(run):
    assert __version__ in run("--version").stdout
    assert [name for name in commands.commands if f"\n  {name} " not in run("--help").stdout] == []


@pytest.mark.parametrize(
    "args", ["", "frob", "list", "list x --nope", "call a b --timeout 0", "serve -"]
)
def test_wrong_usage_is_reported_in_two_lines(run, args):
    result = run(*args.split())

    assert (result.exit_code, result.stdout) == (2, "")
    usage, error = result.stderr.splitlines()
    assert usage.startswith("Usage: openapi-tools")
    assert error.startswith("openapi-tools: error: ")


BOMB = [f"b{n}: &b{n} [*b{n - 1}, *b{n - 1}]" for n in range(1, 40)]


@pytest.mark.parametrize(
    ("command", "content"),
    [
        (["list"], bytes(range(256))),
        (["lint"], b"openapi: 3.1.0\n\tpaths: {}"),
        (["lint"], "\n".join(["b0: &b0 [x]", *BOMB]).encode()),
        (["show", "x"], b'{"openapi": "3.1.0", "paths": {'),
        (["call", "x"], b"[" * 100_000),
        (["serve"], b"\xff\xfe\x00"),
        (["generate", "--output", "out"], b"[1, 2]"),
    ],
)
def test_a_document_that_does_not_load_is_one_line(refused, tmp_path, command, content):
    path = tmp_path / "broken"
    path.write_bytes(content)

    error = refused(command[0], path, *command[1:])

    assert len(error.splitlines()) == 1
    assert error.startswith(f"openapi-tools: error: {path}: ")


def shell(line):
    line = line.replace("openapi-tools", " ".join(PROGRAM))
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=ROOT, capture_output=True, check=False
    )


@pytest.mark.parametrize(
    "command",
    [
        "list specs/gotify.json",
        "list specs/gotify.json --json",
        "search specs/gotify.json message",
        "show specs/museum.yaml buy_museum_tickets",
        "stats specs/gotify.json",
        "lint specs/gotify.json",
        "call specs/museum.yaml get_museum_hours --mock",
        "--help",
    ],
)
def test_a_reader_that_goes_away_is_no_error(command):
    ran = shell(f"openapi-tools {command} 2>/dev/null | head -c 1")

    assert ran.returncode == 0
    assert len(ran.stdout) == 1


@pytest.mark.parametrize(
    ("redirection", "code", "message"),
    [
        (">&-", 1, "standard output is closed."),
        (">/dev/full", 1, "input or output failed: No space left on device."),
        (">&- 2>&-", 1, ""),
        (">/dev/full 2>/dev/full", 1, ""),
        ("2>&-", 0, ""),
    ],
)
@pytest.mark.parametrize("command", ["list specs/museum.yaml", "--help"])
def test_output_that_cannot_be_written_is_one_line(redirection, code, message, command):
    if "/dev/full" in redirection and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")

    ran = shell(f"openapi-tools {command} {redirection}")

    assert ran.returncode == code
    assert ran.stderr.decode() == (f"openapi-tools: error: {message}\n" if message else "")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("list - 0>/dev/null", "standard input cannot be read ("),
        ("list - <&-", "standard input is closed."),
        ("serve - ", "SPEC and the client cannot both be read from standard input"),
        ("serve specs/museum.yaml <&-", "standard input is closed, so no client can connect; "),
        ("call specs/museum.yaml get_museum_hours --json - <&-", "standard input is closed."),
    ],
)
def test_a_standard_input_that_cannot_be_read_is_one_line(command, message):
    ran = shell(f"openapi-tools {command}")

    *usage, line = ran.stderr.decode().splitlines()
    assert ran.returncode == 2
    assert line.startswith(f"openapi-tools: error: {message}")
    assert usage in ([], ["Usage: openapi-tools serve [OPTIONS] [SPEC]"])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("127.0.0.1:8765/openapi.json", "did you mean http://127.0.0.1:8765/openapi.json?"),
        ("localhost/openapi.json", "did you mean http://localhost/openapi.json?"),
        ("api.example:80/", "did you mean http://api.example:80/?"),
        ("[::1]:80/x", "did you mean http://[::1]:80/x?"),
        ("api.example.com/openapi.json", "did you mean https://api.example.com/openapi.json?"),
        ("10.0.0.7/openapi.json", "did you mean http://10.0.0.7/openapi.json?"),
        ("v1.2/openapi.json", "v1.2/openapi.json: no such file."),
        ("htp://x/y", "'htp' addresses are not read"),
        ("file:///etc/hosts", "'file' addresses are not read"),
        ("no/such:file", "no/such:file: no such file."),
        ("specs", "openapi-tools: error: "),
    ],
)
def test_what_is_neither_a_file_nor_an_address_that_is_read_says_so(refused, spec, message):
    assert len(refused("list", spec, messages=[message]).splitlines()) == 1


def test_a_file_that_is_named_like_an_address_is_read(run, specs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "localhost:80").symlink_to(specs)

    assert run("list", "localhost:80/museum.yaml").exit_code == 0


def test_an_interruption_inside_a_command_ends_with_130(run, museum, monkeypatch):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("openapi_tools.cli.tool_loading.load_tools", interrupt)

    result = run("list", museum)

    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "")


HOSTILE = "evil \x1b[31mred\x1b[0m \x9b2J \x07 \u202e \x7f [bold]x[/bold] [link=file:///]"


@pytest.mark.parametrize(
    "command",
    ["list", "list --json", "list -v", "show texts", "show body --json", "lint", "search evil"],
)
def test_what_steers_a_terminal_is_shown_and_not_obeyed(run, tmp_path, command):
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(hostile(HOSTILE)))
    name, *options = command.split()

    result = run(name, path, *options)

    written = result.stdout + result.stderr
    assert "evil" in written
    assert not {"\x1b", "\x9b", "\x07", "\u202e", "\x7f"} & set(written)
    if "--json" in command:
        json.loads(result.stdout)


def test_a_terminal_without_a_character_gets_an_escape(write):
    path = write({"/a": {"get": {"summary": "caf\u00e9 \u2603", "responses": {}}}})

    ran = shell(f"PYTHONIOENCODING=latin-1 openapi-tools list {path}")

    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout == b"get_a\tGET\t/a\tcaf\xe9 \\u2603\n"


def test_json_is_valid_whatever_the_encoding(write):
    summary = "caf\u00e9 \U0001f3b5"
    path = write({"/a": {"get": {"summary": summary, "responses": {}}}})

    for encoding in ("latin-1", "ascii", "utf-8"):
        ran = shell(f"PYTHONIOENCODING={encoding} openapi-tools list {path} --json")

        (tool,) = json.loads(ran.stdout)["tools"]
        assert tool["description"].startswith(summary)


@pytest.mark.parametrize(
    "command",
    [
        "init specs/museum.yaml --output {file}",
        "init specs/museum.yaml --output {file} --force",
        "browse specs/museum.yaml --html {file}",
        "generate specs/museum.yaml --html {file}",
        "call specs/museum.yaml list_special_events --mock --output {file}",
    ],
)
@pytest.mark.parametrize("former", [None, "mine\n"])
def test_a_file_that_cannot_be_written_whole_is_not_written(command, former, tmp_path):
    # A part of a page, and an empty file that the next run refused to replace, stayed.
    file = tmp_path / "file"
    if former is not None:
        file.write_text(former)

    # With a limit of 1 kB Python would write broken bytecode.
    limit = "export PYTHONDONTWRITEBYTECODE=1; ulimit -f 1"
    ran = shell(f"{limit}; openapi-tools {command.format(file=file)}")

    assert ran.returncode in (1, 2)
    assert ran.stderr.decode().startswith(f"openapi-tools: error: {file}: ")
    assert [path.name for path in tmp_path.iterdir()] == ([] if former is None else ["file"])
    assert former is None or file.read_text() == former
