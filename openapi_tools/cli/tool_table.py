"""The table of tools that `list`, `search` and `stubs` print on a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from openapi_tools.cli.output import (
    clean,
    tool_summary,
)
from openapi_tools.cli.styles import METHOD_COLOURS, style_name, style_secondary
from openapi_tools.cli.text_layout import (
    pad_to_width,
    shorten_path,
    shorten_text,
    text_width,
    wrap_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi_tools.tools.tool import OperationTool

_NUMBER_HEADINGS = ("Bytes", "Tokens")
_GAP = 2  # columns between two cells
_INDENT = "  "
_LEAST_SUMMARY = 24  # columns of a summary beside a column of paths
_GOOD_SUMMARY = 44  # columns that a summary gets before paths are complete
_LEAST_PATH = 18
_LEAST_REST = 20  # columns beside the names; with fewer, a tool takes several lines


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A tool in a table.

    Attributes:
        name: The tool's name, never cut.
        method: The HTTP method.
        path: The path, cut in its middle if it is too long.
        summary: What the tool does; empty if the document does not say it.
        safety: `tool.safety`.
        numbers: Bytes and tokens of the definition, if they are displayed.
        details: Lines below the tool, each with a label, such as what it needs.
    """

    name: str
    method: str
    path: str
    summary: str
    safety: str = "read-only"
    numbers: tuple[str, ...] = ()
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Widths:
    total: int
    name: int
    method: int
    path: int  # 0 without a column of paths
    summary: int
    numbers: tuple[int, ...]


def make_row(
    tool: OperationTool,
    *,
    numbers: tuple[str, ...] = (),
    details: Sequence[tuple[str, str]] = (),
) -> ToolRow:
    """Return the row of a tool, made safe for a terminal."""
    texts = (tool.name, tool.method, tool.path, tool_summary(tool))
    name, method, path, summary = (clean(text, lines=False) for text in texts)
    summary = "" if summary == f"{method} {path}" else summary  # the document has none
    safe_details = tuple((label, clean(text, lines=False)) for label, text in details)
    return ToolRow(name, method, path, summary, tool.safety, numbers, safe_details)


def format_tool_table(rows: Sequence[ToolRow], width: int, *, wraps: bool = False) -> Iterator[str]:
    """Yield the lines of a table, none wider than `width`.

    A name that is wider than its column stands on a line of its own. Where little is left beside
    the names, each tool takes a few lines instead of a row.

    Args:
        rows: The tools, at least one.
        width: The columns of the terminal.
        wraps: Whether a long summary gets more lines; otherwise it is cut.
    """
    widths = _choose_widths(rows, width)
    if widths is None:
        for row in rows:
            yield from _stack_row(row, width)
        return
    yield style_secondary(_join_cells(_headings(widths)))
    for row in rows:
        yield from _format_row(row, widths, wraps=wraps)
        if wraps and not widths.path:
            lines = wrap_text(row.path, width - 2 * len(_INDENT))
            yield from (f"{_INDENT * 2}{style_secondary(line)}" for line in lines)
        yield from _format_details(row, width, indent=_INDENT * 2)


def _choose_widths(rows: Sequence[ToolRow], width: int) -> _Widths | None:
    headings = _NUMBER_HEADINGS[: len(rows[0].numbers)]
    numbers = tuple(
        max(map(text_width, column))
        for column in zip(headings, *(row.numbers for row in rows), strict=True)
    )
    method = max(6, *(text_width(row.method) for row in rows))
    name = _choose_name_width([text_width(row.name) for row in rows], width * 9 // 20)
    rest = width - name - method - 2 * _GAP - sum(numbers) - _GAP * len(numbers)
    if rest < _LEAST_REST:
        return None
    path = _choose_path_width(rows, rest)
    if path:  # less, if even the longest is shorter without the names of its variables
        path = max(4, *(text_width(shorten_path(row.path, path)) for row in rows))
    return _Widths(width, name, method, path, max(rest - path - _GAP * bool(path), 0), numbers)


def _choose_name_width(widths: Sequence[int], most: int) -> int:
    # Longer names get a line of their own, so that they take no space from the other cells.
    return max((width for width in widths if width <= most), default=4)


def _choose_path_width(rows: Sequence[ToolRow], rest: int) -> int:
    longest = max(text_width(row.path) for row in rows)
    summaries = sorted(text_width(row.summary) for row in rows)
    summary, columns = summaries[-1], rest - _GAP
    if not summaries[len(summaries) // 2]:  # few operations have one; paths tell more
        widest = max(columns - summary, columns * 2 // 3) if summary else rest
        return min(longest, widest)
    width = min(longest, max(columns - min(summary, _GOOD_SUMMARY), columns * 9 // 20))
    is_useful = width >= min(longest, _LEAST_PATH)
    return max(width, 4) if is_useful and columns - width >= min(summary, _LEAST_SUMMARY) else 0


def _headings(widths: _Widths) -> list[str]:
    numbers = [
        f"{heading:>{number}}"
        for heading, number in zip(_NUMBER_HEADINGS, widths.numbers, strict=False)
    ]
    path = [pad_to_width("Path", widths.path)] if widths.path else []
    name, method = pad_to_width("Name", widths.name), pad_to_width("Method", widths.method)
    summary = shorten_text("Description", widths.summary) if widths.summary > 0 else ""
    return [name, method, *path, *numbers, summary]


def _format_row(row: ToolRow, widths: _Widths, *, wraps: bool) -> Iterator[str]:
    name = row.name
    if text_width(name) > widths.name:
        yield from map(style_name, wrap_text(name, widths.total))
        name = ""
    cells = [style_name(pad_to_width(name, widths.name)) if name else " " * widths.name]
    cells.append(_style_method(row, widths.method))
    if widths.path:
        cells.append(pad_to_width(shorten_path(row.path, widths.path), widths.path))
    cells += [f"{text:>{most}}" for text, most in zip(row.numbers, widths.numbers, strict=True)]
    lines = [row.summary] if not wraps else wrap_text(row.summary, widths.summary)
    yield _join_cells([*cells, shorten_text(lines[0], widths.summary)])
    margin = " " * (widths.total - widths.summary)
    yield from (f"{margin}{line}" for line in lines[1:])


def _join_cells(cells: Sequence[str]) -> str:
    return (" " * _GAP).join(cells).rstrip()


def _style_method(row: ToolRow, width: int = 0) -> str:
    colour = METHOD_COLOURS.get(row.safety)
    return click.style(row.method, fg=colour) + " " * (width - text_width(row.method))


def _stack_row(row: ToolRow, width: int) -> Iterator[str]:
    yield from map(style_name, wrap_text(row.name, width))
    columns = width - len(_INDENT)
    path = shorten_path(row.path, max(columns - text_width(row.method) - 1, 1))
    yield f"{_INDENT}{_style_method(row)} {path}"
    for line in wrap_text(row.summary, columns)[:2] if row.summary else ():
        yield f"{_INDENT}{line}"
    if row.numbers:
        size, tokens = row.numbers
        yield f"{_INDENT}{shorten_text(f'{size} bytes, {tokens} tokens', columns)}"
    yield from _format_details(row, width, indent=_INDENT)


def _format_details(row: ToolRow, width: int, *, indent: str) -> Iterator[str]:
    for label, text in row.details:
        lines = wrap_text(f"{label} {text}", width - len(indent), indent=_INDENT)
        lines[0] = style_secondary(label) + lines[0].removeprefix(label)
        yield from (f"{indent}{line}" for line in lines)
