"""What commands write: results to standard output, notes to standard error.

Text is safe for a terminal: characters that control one are escaped. On a terminal it is wrapped to
its width; in a pipe every note and every row is one line.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any, TextIO

import click

from openapi_tools.cli.encodings import escape_unencodable, output_encoding
from openapi_tools.cli.styles import (
    colour_choice,
    colour_json,
    style_error,
    style_label,
    style_name,
)
from openapi_tools.cli.text_layout import text_width, wrap_text
from openapi_tools.common.json_values import dump_json, escape_controls, select_attributes
from openapi_tools.errors import OutputError
from openapi_tools.state.atomic_files import replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from openapi_tools.generate import Report
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

PROGRAM = "openapi-tools"
COMPLETION_VARIABLE = "_OPENAPI_TOOLS_COMPLETE"
"""The environment variable with which a shell asks for completions."""

_DEFAULT_SIZE = (80, 24)
# Lines that `tool.description` adds to those of the document.
_ADDED_LINES = ("Returns: ", "Fails: ")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_NO_LETTER_OR_DIGIT = re.compile(r"[\W_]+")


def clean(text: str, *, lines: bool = True) -> str:
    r"""Return text with characters that control a terminal escaped, as in `\u001b`."""
    if not lines:
        text = " ".join(text.split())
    return escape_controls(text.replace("\r\n", "\n"))


def format_json(value: Any, *, pretty: bool = True) -> str:
    """Return a value as JSON that a terminal may show."""
    if output_encoding():  # a reader may not know the encoding, and `\\U0001f3b5` is not JSON
        return json.dumps(value, indent=2) if pretty else json.dumps(value, separators=(",", ":"))
    text = json.dumps(value, ensure_ascii=False, indent=2) if pretty else dump_json(value)
    # JSON has such characters in strings only, where the same escapes are valid.
    return clean(text)


def print_json(text: str) -> None:
    """Write JSON text to standard output, in colours on a terminal."""
    # Not in a pipe, whatever FORCE_COLOR says: another program parses it.
    print_text(colour_json(text) if terminal_width() else text)


def print_text(text: str = "") -> None:
    """Write clean text to standard output."""
    _write(sys.stdout, text)


def print_message(text: str, *, ends_line: bool = True) -> None:
    """Write clean text to standard error."""
    _write(sys.stderr, text, ends_line=ends_line)


def _write(stream: TextIO | None, text: str, *, ends_line: bool = True) -> None:
    # By name: click would replace a stream that is in ASCII, and write UTF-8 to it.
    if stream is not None:
        click.echo(text, file=stream, nl=ends_line, color=colour_choice())


def print_wrapped(text: str, *, indent: str = "") -> None:
    """Write clean text to standard output, wrapped on a terminal.

    Args:
        text: The text.
        indent: What further lines of a paragraph begin with.
    """
    width = terminal_width()
    print_text("\n".join(wrap_text(text, width, indent=indent)) if width else text)


def print_named(name: str, text: str, *, indent: str = "  ") -> None:
    """Write clean text that begins with a name, as `print_wrapped`."""
    width = terminal_width()
    first, *others = wrap_text(f"{name}{text}", width, indent=indent) if width else [name + text]
    is_whole = first.startswith(name)
    print_text("\n".join([style_name(name) + first[len(name) :] if is_whole else first, *others]))


def print_link(text: str, url: str) -> None:
    """Write a URL to standard error in one piece, so that it can be copied and clicked."""
    line, width = clean(f"{text} {url}", lines=False), note_width()
    if width and text_width(line) > width:
        print_note(text)
        line = clean(url, lines=False)
    print_message(line)


def print_note(text: str) -> None:
    """Write a note to standard error: one line, or wrapped on a terminal."""
    print_message(style_label(_wrap_note(clean(text, lines=False))))


def print_error(text: str) -> None:
    """Write why a command ends to standard error, as `print_note`."""
    print_message(style_label(_wrap_note(f"{PROGRAM}: error: {clean(text, lines=False)}")))


def print_failure(text: str) -> None:
    """Write why a call failed to standard error; its own line breaks stay."""
    text = clean(text)
    if width := note_width():
        text = "\n".join(wrap_text(text, width, indent="  "))
    kind, colon, reason = text.partition(":")
    print_message(style_error(kind) + colon + reason)


def _wrap_note(line: str) -> str:
    width = note_width()
    return "\n".join(wrap_text(line, width, indent="  ")) if width else line


def write_new_file(path: Path, text: str, *, force: bool) -> None:
    """Write a file; replace one that exists only by force."""
    if not force and os.path.lexists(path):  # or a link
        raise OutputError("the file exists; --force overwrites it.", path=str(path))
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror}).", path=str(path)) from None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file, or leave the former one: no part of it stays on a full disk."""
    if path.exists() and not path.is_file():  # a device or a pipe
        path.write_bytes(data)
    else:
        replace_file(path.resolve(), data, mode=0o666)  # less the umask, as `open` does


def skipped_data(source: Toolset | Report) -> dict[str, Any]:
    """Return the skipped operations and the warnings as JSON data."""
    fields = ("method", "path", "pointer", "reason")
    skipped = [select_attributes(entry, fields) for entry in source.skipped]
    return {"skipped": skipped, "warnings": list(source.warnings)}


def tool_title(tool: OperationTool) -> str:
    """Return the first line of a tool's description."""
    return next((line for line in tool.description.splitlines() if line.strip()), "")


def tool_summary(tool: OperationTool) -> str:
    """Return what a tool does, in a line: its title, or the first sentence after it.

    A title such as FastAPI's `List Users` for `list_users` only repeats the name.
    """
    title, text = tool_title(tool), tool.description.lstrip()
    if _fold_letters(title) not in map(_fold_letters, (tool.name, tool.operation_id)):
        return title
    lines = text[len(title) :].strip().partition("\n\n")[0].splitlines()
    words = " ".join(line.strip() for line in lines if not line.startswith(_ADDED_LINES))
    return _SENTENCE_END.split(words, maxsplit=1)[0] or title


def _fold_letters(text: str) -> str:
    return _NO_LETTER_OR_DIGIT.sub("", text).casefold()


def terminal_size(stream: TextIO | None) -> tuple[int, int] | None:
    """Return the columns and lines of a terminal, or None for a file, a pipe or no stream.

    COLUMNS and LINES override them.
    """
    if stream is None or stream.closed or not stream.isatty():
        return None
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except OSError:
        columns, lines = 0, 0
    return (
        _read_size("COLUMNS") or columns or _DEFAULT_SIZE[0],
        _read_size("LINES") or lines or _DEFAULT_SIZE[1],
    )


def _read_size(name: str) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isascii() and value.isdecimal() else 0


def terminal_width() -> int | None:
    """Return the columns of the terminal that standard output is; None for a file or a pipe."""
    size = terminal_size(sys.stdout)
    return None if size is None else size[0]


def note_width() -> int | None:
    """Return the columns of the terminal that standard error is; None for a file or a pipe."""
    size = terminal_size(sys.stderr)
    return None if size is None else size[0]


def print_paged(text: str) -> None:
    """Write a text through the user's pager if it is longer than the terminal.

    An empty PAGER, and a terminal that cannot move its cursor, get the text without a pager.
    """
    size = terminal_size(sys.stdout)
    can_page = os.environ.get("PAGER") != "" and os.environ.get("TERM") != "dumb"
    if size and can_page and text.count("\n") + 1 >= size[1]:
        if encoding := output_encoding():  # click would write `?`
            text = escape_unencodable(text, encoding)
        click.echo_via_pager(text + "\n", color=colour_choice())
    else:
        print_text(text)
