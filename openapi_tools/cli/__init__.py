"""The command line `openapi-tools`: its commands, imported when they are used, and their output.

Texts are safe for a terminal: characters that control one are escaped.

Exit codes are those of `help_texts.EXIT_CODES`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import threading
import time
import unicodedata
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from openapi_tools._version import __version__
from openapi_tools.errors import OpenAPIToolsError, OutputError
from openapi_tools.json_values import dump_json, escape_controls, select_attributes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from openapi_tools.generate import Report
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

PROGRAM = "openapi-tools"
VARIABLE = "_OPENAPI_TOOLS_COMPLETE"
"""The environment variable with which a shell asks for completions."""
_INTERRUPTED = 130
_UNWRITTEN = 1
_COMMANDS = {
    "list": ("List the tools.", "list_command", "list_tools"),
    "show": ("Show everything about one tool.", "show_command", "show"),
    "stats": ("Show the bytes and tokens of the definitions.", "list_command", "stats"),
    "call": ("Call one tool and print its result.", "call_command", "call"),
    "search": ("Find the tools for a task.", "document_commands", "search"),
    "stubs": ("Show tools as typed signatures.", "document_commands", "stubs"),
    "run": ("Run a program that calls the tools.", "call_command", "run"),
    "login": ("Log in and keep the token in a file.", "login_command", "login"),
    "browse": ("Show the tools as a page in the browser.", "serve_command", "browse"),
    "serve": ("Serve the tools over MCP.", "serve_command", "serve"),
    "install": ("Have an MCP client start the server.", "serve_command", "install"),
    "lint": ("Check a document, and mend it.", "checking_commands", "lint"),
    "prove": ("Call every tool through a mock, and judge it.", "checking_commands", "prove"),
    "diff": ("Show what changes for the tools.", "checking_commands", "diff"),
    "lock": ("Accept tools, and see what has changed since.", "document_commands", "lock"),
    "init": ("Write a configuration file.", "document_commands", "init"),
    "generate": ("Write the tools as a Python package.", "generate_command", "generate"),
    "cache": ("List or remove cached documents.", "document_commands", "cache"),
    "completion": ("Print a shell's completion script.", "typed_arguments", "completion"),
}

CREDENTIALS = "--bearer '$VAR', --basic '$USER:$PASSWORD' or --header 'NAME: $VAR'"
"""The hint on credentials that the document does not declare."""

_WORDS = (
    (
        re.compile(
            r"a credential with a scheme of its own, credentials=\{[^{}]*\{[^{}]*\}\}, or a client "
            r"[^.]*+"
        ),
        CREDENTIALS,
    ),
    (
        re.compile(r"Another one is given as \{[^{}]*\{[^{}]*\}\}\."),
        f"Another one is given with {CREDENTIALS}.",
    ),
    (
        re.compile(r"(among [\d,]{1,12} tools?)\.$"),
        r"\1; `openapi-tools list SPEC` names them.",
    ),
    (re.compile(r"Settings\(base_url='([^']*)'\)"), r"--base-url \1"),
    (re.compile(r"Settings\((\w+)=…\)"), lambda match: _option(match[1])),
    (
        re.compile(r"Settings\(credential_origins=\(([^()]*+)\)\)"),
        lambda match: " ".join(
            f"--credential-origin {origin}" for origin in re.findall(r"'([^']*)'", match[1])
        ),
    ),
)


class HeadedOption(click.Option):
    """An option that `--help` shows under a heading of its own."""

    def __init__(self, *names: Any, heading: str, **facts: Any) -> None:
        super().__init__(*names, **facts)
        self.heading = heading


class _Command(click.Command):
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by heading: the command's own first."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                groups.setdefault(getattr(option, "heading", "Options"), []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples."""
        _write_epilog(self.name, formatter)


def _write_epilog(name: str | None, formatter: click.HelpFormatter) -> None:
    from openapi_tools.cli.help_texts import write_epilog  # reads a file, for `--help` only

    write_epilog(name, formatter)


def command(name: str, **facts: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Return the decorator for a command, whose shared options have headings."""
    return click.command(name, cls=_Command, **facts)


class Commands(click.Group):
    """A group that imports a command when it is used, and reports every error in one line."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, its name and the other arguments."""
        name, found, left = super().resolve_command(ctx, args)
        if found and found.name in _COMMANDS:
            found = imported(found.name)
            if ctx.resilient_parsing:
                import_module("openapi_tools.cli.typed_arguments").attach(found)
        return name, found, left

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the exit codes."""
        _write_epilog(None, formatter)

    def main(self, args: Sequence[str] | None = None, *_more: Any, **_extra: Any) -> NoReturn:
        """Run a command, or answer a shell that completes one, and exit."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # What the terminal's encoding lacks is shown as an escape.
                stream.reconfigure(errors="backslashreplace")
        if asked := os.environ.get(VARIABLE):
            sys.exit(import_module("openapi_tools.cli.typed_arguments").answered(self, asked))
        sys.exit(_run(self, list(sys.argv[1:] if args is None else args)))


def imported(name: str | None) -> click.Command:
    """Return a command by name; the group has only its line of the help."""
    _, module, attribute = _COMMANDS[str(name)]
    command: click.Command = getattr(import_module(f"openapi_tools.cli.{module}"), attribute)
    return command


def _run(group: click.Group, args: list[str]) -> int:
    """Return the exit code of a command; also when its output cannot be written."""
    if sys.stdout is None:
        _say_error("standard output is closed.")
        return _UNWRITTEN
    try:
        code = _invoked(group, args)
        sys.stdout.flush()
    except BrokenPipeError:
        _close_quietly()
        return 0
    except OSError as error:
        with contextlib.suppress(OSError):
            _close_quietly()
            _say_error(f"input or output failed: {error.strerror or type(error).__name__}.")
        return _UNWRITTEN
    return code


def _invoked(group: click.Group, args: list[str]) -> int:
    try:
        with group.make_context(PROGRAM, args, color=None if has_colours() else False) as context:
            code = group.invoke(context)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(error.ctx.get_usage(), err=True)
        _say_error(error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except OpenAPIToolsError as error:
        _say_error(for_shell(error))
        return 2
    return code if isinstance(code, int) else 0


def _say_error(text: str) -> None:
    click.echo(f"{PROGRAM}: error: {clean(text, lines=False)}", err=True)


def _close_quietly() -> None:
    """Discard further output, also the interpreter's at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _option(setting: str) -> str:
    known = import_module("openapi_tools.cli.command_options").SETTINGS
    return f"--{setting}".replace("_", "-") if setting in known else f"--set {setting}=…"


def for_shell(message: object) -> str:
    """Return a message with command-line options in place of Python arguments."""
    text = str(message)
    for pattern, option in _WORDS:
        text = pattern.sub(option, text)
    return text


def clean(text: str, *, lines: bool = True) -> str:
    r"""Return text with characters that control a terminal escaped, as in `\u001b`."""
    if not lines:
        text = " ".join(text.split())
    return escape_controls(text.replace("\r\n", "\n"))


def as_json(value: Any, *, pretty: bool = True) -> str:
    """Return a value as JSON that a terminal may show."""
    # The same escapes are valid inside JSON strings, and such characters stand nowhere else in it.
    return clean(json.dumps(value, ensure_ascii=False, indent=2) if pretty else dump_json(value))


def say(text: str = "") -> None:
    """Write to standard output; the text has been cleaned."""
    click.echo(text)


def remark(text: str) -> None:
    """Write one line to standard error."""
    click.echo(clean(text, lines=False), err=True)


def write_new(path: Path, text: str, *, force: bool) -> None:
    """Write a file; one that exists only by force."""
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError("it exists; --force overwrites it.", path=str(path)) from None
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror}).", path=str(path)) from None


def tell_skipped(found: Toolset | Report) -> None:
    """Write the skipped operations and the warnings to standard error."""
    for entry in found.skipped:
        remark(f"skipped {entry.method} {entry.path} at {entry.pointer}: {entry.reason}")
    for warning in found.warnings:
        remark(f"warning: {for_shell(warning)}")


def skipped_data(found: Toolset | Report) -> dict[str, Any]:
    """Return the skipped operations and the warnings as JSON data."""
    skipped = [
        select_attributes(entry, ("method", "path", "pointer", "reason")) for entry in found.skipped
    ]
    return {"skipped": skipped, "warnings": list(found.warnings)}


def summary_of(tool: OperationTool) -> str:
    """Return the first line of a tool's description."""
    return next((line for line in tool.description.splitlines() if line.strip()), "")


def has_colours() -> bool:
    """Tell whether a terminal may get colours, as NO_COLOR and TERM say (no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns() -> int | None:
    """Return the width of the terminal that standard output is; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def width_of(text: str) -> int:
    """Return the columns that a text takes: none for marks, two for wide characters.

    Spec: Unicode Standard Annex 11, East Asian Width.
    """
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def head_of(text: str, width: int) -> str:
    """Return the beginning of a text that takes at most a width."""
    room = width
    for place, character in enumerate(text):
        room -= _width(character)
        if room < 0:
            return text[:place]
    return text


def pad(text: str, width: int) -> str:
    """Return a text with blanks up to a width."""
    return text + " " * (width - width_of(text))


def page(text: str) -> None:
    """Write a text, on a terminal through the user's pager if it is longer than the screen.

    An empty PAGER, and a terminal that cannot move its cursor, get the text without a pager.
    """
    lines = text.count("\n") + 1
    wants = os.environ.get("PAGER") != "" and os.environ.get("TERM") != "dumb"
    if columns() and wants and lines >= shutil.get_terminal_size().lines:
        click.echo_via_pager(text + "\n", color=None if has_colours() else False)
    else:
        say(text)


@contextlib.contextmanager
def busy(message: str) -> Iterator[None]:
    """Show on a terminal that work takes longer than a second; nothing elsewhere."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield
        return
    ended = threading.Event()
    line = clean(message, lines=False)
    ticker = threading.Thread(target=_tick, args=(stream, line, ended), daemon=True)
    ticker.start()
    try:
        yield
    finally:
        ended.set()
        ticker.join()


def _tick(stream: TextIO, message: str, ended: threading.Event) -> None:
    """Write a message with the seconds that pass, over itself, and remove it in the end."""
    text, start = "", time.monotonic()
    while not ended.wait(1):
        text = f"{message} … {time.monotonic() - start:.0f} s"
        stream.write(f"\r{text}")
        stream.flush()
    stream.write(f"\r{' ' * len(text)}\r" if text else "")
    stream.flush()


@click.group(
    name=PROGRAM,
    cls=Commands,
    no_args_is_help=False,
    commands=[click.Command(name, short_help=words) for name, (words, *_) in _COMMANDS.items()],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name=PROGRAM)
def commands() -> None:
    """Look at an OpenAPI document as tools, and call them.

    SPEC is a file, an http(s) URL, or - for standard input; or a configuration (.toml) that
    names its document.
    """


def main() -> None:
    """Run the command line on `sys.argv` and exit."""
    commands.main()
