"""Texts on a terminal: their width, lines that fit, columns, and a pager for long ones."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from itertools import zip_longest
from typing import TYPE_CHECKING

import click

from openapi_tools.cli import has_colours, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GAP = "  "


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


def clip(text: str, width: int) -> str:
    """Return a text cut to a width, with `…` at the end where something is missing."""
    return text if width_of(text) <= width else _head(text, width - 1) + "…" * (width > 0)


def _head(text: str, width: int) -> str:
    room = width
    for place, character in enumerate(text):
        room -= _width(character)
        if room < 0:
            return text[:place]
    return text


def pad(text: str, width: int) -> str:
    """Return a text with blanks up to a width."""
    return text + " " * (width - width_of(text))


def wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines of at most a width, broken at blanks where there are some."""
    lines, width = list[str](), max(width, 2)
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            if line and width_of(line) + 1 + width_of(word) > width:
                lines.append(line)
                line = ""
            line += f" {word}" if line else word
            while width_of(line) > width:
                head = _head(line, width)
                lines.append(head)
                line = line[len(head) :]
        lines.append(line)
    return lines


def grid(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[list[str]]:
    """Yield for each row its lines: cells wrapped to the widths of their columns, side by side."""
    for row in rows:
        cells = [wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        lines = zip_longest(*cells, fillvalue="")
        yield [_GAP.join(map(pad, line, widths)).rstrip() for line in lines]


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
