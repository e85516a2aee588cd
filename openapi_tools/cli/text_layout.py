"""Text in the columns of a terminal: widths, cuts, wrapped lines, grids."""

from __future__ import annotations

import re
import shlex
import unicodedata
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING

from openapi_tools.cli.encodings import escape_unencodable, output_encoding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ELLIPSIS = "…"
_JOINER = "\u200d"
_EMOJI_SELECTOR = "\ufe0f"
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_SOFT_HYPHEN = "\u00ad"
# A list item of Markdown, whose further lines begin below its text.
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+")
_PAIR = re.compile(r"[\w.-]+:?=", re.ASCII)
_VARIABLE = re.compile(r"\{[^{}]*\}")


def text_width(text: str) -> int:
    """Return the columns that a text takes on standard output.

    Wide characters take two columns, marks and joiners none, an emoji of several characters two;
    what its encoding does not have takes the columns of an escape.

    Spec: Unicode Standard Annex 11 (East Asian Width); UTS 51 (emoji sequences).
    """
    if text.isascii():
        return len(text)
    return sum(columns for _, columns in _split_characters(text))


def _split_characters(text: str) -> Iterator[tuple[str, int]]:
    # Yields what a terminal displays as one character, with its columns.
    encoding = output_encoding()
    cluster, columns = "", 0
    for character in text:
        width = _character_width(character, encoding)
        is_emoji = columns == 2  # noqa: PLR2004 -- columns of a wide character
        extends = width == 0 or (is_emoji and cluster[-1:] == _JOINER)
        if cluster and (extends or (is_emoji and character in _SKIN_TONES)):
            cluster += character
            if character == _EMOJI_SELECTOR:
                columns = 2
            continue
        if cluster:
            yield cluster, columns
        cluster, columns = character, width
    if cluster:
        yield cluster, columns


@lru_cache(maxsize=4096)
def _character_width(character: str, encoding: str) -> int:
    if encoding:
        escape = escape_unencodable(character, encoding)
        if escape != character:
            return len(escape)
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return int(character == _SOFT_HYPHEN)
    if "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff":
        return 0  # vowels and finals of Korean, which join the letter before
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut_to_width(text: str, width: int) -> str:
    """Return the longest beginning of a text that takes at most a width."""
    if text.isascii():
        return text[: max(width, 0)]
    end, remaining = 0, width
    for cluster, columns in _split_characters(text):
        remaining -= columns
        if remaining < 0:
            break
        end += len(cluster)
    return text[:end]


def pad_to_width(text: str, width: int) -> str:
    """Return a text followed by spaces up to a width."""
    return text + " " * (width - text_width(text))


def shorten_text(text: str, width: int) -> str:
    """Return a text cut to a width, with `…` at the end if something is missing."""
    if text_width(text) <= width:
        return text
    columns = width - text_width(ELLIPSIS)
    if columns < 0:
        return cut_to_width(text, width)
    return cut_to_width(text, columns).rstrip() + ELLIPSIS


def shorten_path(path: str, width: int) -> str:
    """Return a path cut to a width in its middle; its last segments stay as long as they fit.

    Names of variables go first, as they say less than the fixed segments around them:
    `/repos/{…}/{…}/issues/{number}`, then `/repos/…/issues/{…}`.
    """
    if text_width(path) <= width:
        return path
    for segments in _list_shorter_paths(path.split("/")):
        if text := _drop_variable_names(segments, width):
            return text
    half = (width - text_width(ELLIPSIS)) // 2
    return shorten_text(path, width) if half < 1 else _cut_middle(path, width)


def _list_shorter_paths(segments: list[str]) -> Iterator[list[str]]:
    yield segments
    ends = [segments[index:] for index in range(3, len(segments))]
    # A variable tells little without the segment before it: many paths end in `/{…}`.
    ends = [end for end in ends if not _VARIABLE.fullmatch(end[0])]
    yield from ([*segments[:2], ELLIPSIS, *end] for end in ends)
    yield from ([ELLIPSIS, *end] for end in ends)
    yield [ELLIPSIS, segments[-1]]


def _drop_variable_names(segments: Sequence[str], width: int) -> str:
    parts = list(segments)
    for index in range(len(parts) + 1):
        text = "/".join(parts)
        if text_width(text) <= width:
            return text
        if index < len(parts):
            parts[index] = _VARIABLE.sub(f"{{{ELLIPSIS}}}", parts[index])
    return ""


def _cut_middle(text: str, width: int) -> str:
    columns = width - text_width(ELLIPSIS)
    # The end of a segment tells more than its beginning: `/2.0/API_Get…UserDetails`.
    start = cut_to_width(text, columns // 3)
    remaining = columns - text_width(start)
    clusters = [cluster for cluster, _ in _split_characters(text)]
    end = ""
    while clusters and text_width(clusters[-1] + end) <= remaining:
        end = clusters.pop() + end
    return f"{start}{ELLIPSIS}{end}"


def wrap_text(text: str, width: int, *, indent: str = "") -> list[str]:
    """Return a text as lines of at most a width, broken at spaces if there are some.

    Args:
        text: The text; its line breaks stay.
        width: The columns of a line.
        indent: What the second and further lines of each paragraph begin with.
    """
    lines, width = list[str](), max(width, 2)
    for paragraph in text.split("\n"):
        item = _ITEM.match(paragraph)
        hang = indent + " " * (text_width(item[0]) if item else 0)
        # On a very narrow terminal an indent costs more than it helps.
        lines += _wrap_words(paragraph, width, hang if 3 * len(hang) < width else "")
    return lines


def _wrap_words(paragraph: str, width: int, hang: str) -> Iterator[str]:
    words = paragraph.split()
    margin = paragraph[: len(paragraph) - len(paragraph.lstrip())] if words else ""
    line = margin if text_width(margin) < width // 2 else ""
    is_empty = True
    for word in words:
        if not is_empty and text_width(line) + 1 + text_width(word) > width:
            yield line
            line, is_empty = hang, True
        line += word if is_empty else f" {word}"
        is_empty = False
        while text_width(line) > width:
            start = cut_to_width(line, width) or line[:1]
            yield start
            line = line[len(start) :] and hang + line[len(start) :]
    yield line if words else ""


def wrap_command(words: Iterable[str], width: int | None, *, indent: str = "    ") -> list[str]:
    r"""Return a shell command as lines of at most a width that a shell reads as one.

    Args:
        words: The words of the command, unquoted; `…` stands for a value to fill in.
        width: The columns of a line; None puts everything on one.
        indent: What further lines begin with.
    """
    if width is None:
        return [" ".join(map(_quote_word, words))]
    pieces = [_split_word(word, max(width - len(indent) - 2, 8)) for word in words]
    return _join_pieces(pieces, width, indent)


def join_words(words: Iterable[str], width: int | None, *, indent: str = "    ") -> list[str]:
    """Return a shell command as `wrap_command` does; the words are quoted, and are not split."""
    if width is None:
        return [" ".join(words)]
    return _join_pieces(((word,) for word in words), width, indent)


def _join_pieces(words: Iterable[Iterable[str]], width: int, indent: str) -> list[str]:
    lines, line = list[str](), ""
    for first, *rest in words:
        if line and text_width(line) + text_width(first) + 3 > width:
            lines.append(f"{line} \\")
            line = indent + first
        else:
            line += f" {first}" if line else first
        for part in rest:
            # In front of a line break `\\` joins two parts of one word, if no space follows.
            lines.append(f"{line}\\")
            line = part
    return [*lines, line]


def _quote_word(word: str) -> str:
    # `title='Found a bug'` reads better than `'title=Found a bug'`; a shell takes both.
    pair = _PAIR.match(word)
    name, value = (pair[0], word[pair.end() :]) if pair else ("", word)
    return name + (value if value == ELLIPSIS or (pair and not value) else shlex.quote(value))


def _split_word(word: str, width: int) -> Iterator[str]:
    while word:
        part = cut_to_width(word, width)
        while part[1:] and text_width(_quote_word(part)) > width:
            part = part[:-1]
        yield _quote_word(part)
        word = word[len(part) :]


def format_grid(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[list[str]]:
    """Yield the lines of each row, whose cells are wrapped to the widths of their columns."""
    for row in rows:
        cells = [wrap_text(cell, width) for cell, width in zip(row, widths, strict=True)]
        lines = zip_longest(*cells, fillvalue="")
        yield ["  ".join(map(pad_to_width, line, widths)).rstrip() for line in lines]
