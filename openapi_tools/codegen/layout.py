"""Text as Python string literals, in the layout that `ruff format` gives them."""

from __future__ import annotations

import re

WIDTH = 100
"""Columns of a line, as this repository's pyproject.toml says."""
STEP = 4
"""Columns of one level of indentation."""

LINES = re.compile(r"[^\n]*\n|[^\n]+")
"""Paragraphs of prose: each line break ends one."""
MEMBERS = re.compile(r".*?[]}],|.+")
"""Paragraphs of compact JSON: each member that ends in a bracket."""

_ESCAPE = re.compile(r"\\(?:x..|u.{4}|U.{8}|.)")


def escaped(text: str) -> str:
    """Return text in ASCII with Python's escapes, quotes left as they are."""
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return text.encode("unicode_escape").decode("ascii")


def quoted(raw: str) -> str:
    """Return escaped text in quotes: double ones unless single ones need fewer escapes."""
    doubles = raw.count('"')
    if not doubles:
        return f'"{raw}"'
    if doubles > raw.count("'"):
        return "'" + raw.replace("'", "\\'") + "'"
    return '"' + raw.replace('"', '\\"') + '"'


def pieces(
    text: str, room: int, *, paragraphs: re.Pattern[str] = LINES, after: str = " "
) -> list[str]:
    """Return text as string literals that stand below one another.

    A paragraph starts a piece, so that its words never move those of the next one.

    Args:
        text: Not empty.
        room: Columns for a piece with its quotes, at least 16.
        paragraphs: Matches one paragraph after the other.
        after: Characters that a piece may end with; a word longer than a line is cut.
    """
    found = []
    for paragraph in paragraphs.findall(text):
        raw = escaped(paragraph)
        start = 0
        while start < len(raw):
            end = _end(raw, start, _widest(raw, start, room), after=after)
            found.append(quoted(raw[start:end]))
            start = end
    return found


def _widest(raw: str, start: int, room: int) -> int:
    """Return where a piece has to end at the latest to fit, quotes and their escapes included."""
    end = min(start + room - 2, len(raw))
    while True:
        piece = raw[start:end]
        over = len(piece) + 2 + min(piece.count('"'), piece.count("'")) - room
        if over <= 0:
            return end
        end -= over


def _end(raw: str, start: int, latest: int, *, after: str) -> int:
    """Return the best place for the end of a piece: a word's end, else between two characters."""
    if latest == len(raw):
        return latest
    if word := max(raw.rfind(character, start, latest) for character in after) + 1:
        return word
    for escape in _ESCAPE.finditer(raw, start, latest + 10):  # "\U0001f600" has 10
        if escape.end() > latest:
            return min(escape.start(), latest)
    return latest
