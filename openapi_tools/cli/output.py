"""What commands write: results to standard output, notes to standard error.

Text is safe for a terminal: characters that control one are escaped.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
import time
import unicodedata
from typing import TYPE_CHECKING, Any, TextIO

import click

from openapi_tools.common.json_values import dump_json, escape_controls, select_attributes
from openapi_tools.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openapi_tools.generate import Report
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

PROGRAM = "openapi-tools"
COMPLETION_VARIABLE = "_OPENAPI_TOOLS_COMPLETE"
"""The environment variable with which a shell asks for completions."""


def clean(text: str, *, lines: bool = True) -> str:
    r"""Return text with characters that control a terminal escaped, as in `\u001b`."""
    if not lines:
        text = " ".join(text.split())
    return escape_controls(text.replace("\r\n", "\n"))


def format_json(value: Any, *, pretty: bool = True) -> str:
    """Return a value as JSON that a terminal may show."""
    text = json.dumps(value, ensure_ascii=False, indent=2) if pretty else dump_json(value)
    # JSON has such characters in strings only, where the same escapes are valid.
    return clean(text)


def print_text(text: str = "") -> None:
    """Write clean text to standard output."""
    click.echo(text)


def print_note(text: str) -> None:
    """Write one line to standard error."""
    click.echo(clean(text, lines=False), err=True)


def write_new_file(path: Path, text: str, *, force: bool) -> None:
    """Write a file; replace one that exists only by force."""
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError("the file exists; --force overwrites it.", path=str(path)) from None
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror}).", path=str(path)) from None


def skipped_data(source: Toolset | Report) -> dict[str, Any]:
    """Return the skipped operations and the warnings as JSON data."""
    fields = ("method", "path", "pointer", "reason")
    skipped = [select_attributes(entry, fields) for entry in source.skipped]
    return {"skipped": skipped, "warnings": list(source.warnings)}


def tool_summary(tool: OperationTool) -> str:
    """Return the first line of a tool's description."""
    return next((line for line in tool.description.splitlines() if line.strip()), "")


def has_colours() -> bool:
    """Return whether a terminal may get colours, as NO_COLOR and TERM say (no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_width() -> int | None:
    """Return the columns of the terminal that standard output is; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def text_width(text: str) -> int:
    """Return the columns that a text takes: none for marks, two for wide characters.

    Spec: Unicode Standard Annex 11, East Asian Width.
    """
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut_to_width(text: str, width: int) -> str:
    """Return the longest beginning of a text that takes at most a width."""
    remaining = width
    for index, character in enumerate(text):
        remaining -= _character_width(character)
        if remaining < 0:
            return text[:index]
    return text


def pad_to_width(text: str, width: int) -> str:
    """Return a text followed by spaces up to a width."""
    return text + " " * (width - text_width(text))


def print_paged(text: str) -> None:
    """Write a text through the user's pager if it is longer than the terminal.

    An empty PAGER, and a terminal that cannot move its cursor, get the text without a pager.
    """
    lines = text.count("\n") + 1
    can_page = os.environ.get("PAGER") != "" and os.environ.get("TERM") != "dumb"
    if terminal_width() and can_page and lines >= shutil.get_terminal_size().lines:
        click.echo_via_pager(text + "\n", color=None if has_colours() else False)
    else:
        print_text(text)


@contextlib.contextmanager
def show_progress(message: str) -> Iterator[None]:
    """Show on a terminal that something takes longer than a second; nothing elsewhere."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield
        return
    is_done = threading.Event()
    line = clean(message, lines=False)
    ticker = threading.Thread(target=_write_seconds, args=(stream, line, is_done), daemon=True)
    ticker.start()
    try:
        yield
    finally:
        is_done.set()
        ticker.join()


def _write_seconds(stream: TextIO, message: str, is_done: threading.Event) -> None:
    text, start = "", time.monotonic()
    while not is_done.wait(1):
        text = f"{message} … {time.monotonic() - start:.0f} s"
        stream.write(f"\r{text}")
        stream.flush()
    # Spaces rather than an escape sequence, which not every terminal knows.
    stream.write(f"\r{' ' * len(text)}\r" if text else "")
    stream.flush()
