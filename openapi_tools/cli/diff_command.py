"""`openapi-tools diff`: what changes for the tools between two documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.changes.document_diff import differences_of, listed_tools
from openapi_tools.cli.output import clean, print_note, terminal_width
from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.reports import CommandReport, print_report
from openapi_tools.cli.styles import style_label
from openapi_tools.cli.text_layout import wrap_text
from openapi_tools.cli.tool_loading import load_source, parse_source, select_tools
from openapi_tools.conformance.findings import Finding
from openapi_tools.errors import format_count, join_first

if TYPE_CHECKING:
    from collections.abc import Iterator

_LISTED = 10  # tools in a message
_LEAST_MESSAGE = 40  # columns beside the kind of a change


def compare_tools(
    old: str,
    new: str,
    *,
    report_format: str,
    wants_json: bool,
    fail_on: str | None,
) -> int:
    """Report what changes for the tools between OLD and NEW."""
    if (old, new) == ("-", "-"):
        raise click.UsageError("OLD and NEW cannot both be read from standard input.")
    sides = [_load_side(spec) for spec in (old, new)]
    with show_progress("Comparing the tools"):
        changes = differences_of(*sides)
    breaking = sum(change["breaking"] for change in changes)
    report = CommandReport(
        title="openapi-tools diff",
        spec=new,
        lines=list(format_changes(changes, breaking)),
        data={"changes": changes, "counts": {"changes": len(changes), "breaking": breaking}},
        findings=list(map(_create_finding, changes)),
    )
    print_report(report, "json" if wants_json else report_format)
    return int(bool(breaking if fail_on == "breaking" else fail_on and changes))


def format_changes(changes: list[dict[str, Any]], breaking: int) -> Iterator[str]:
    """Yield a line for each change, fitted to the terminal, and their number."""
    width = terminal_width()
    for change in changes:
        verdict, message = "breaking" * change["breaking"], clean(change["message"], lines=False)
        start = f"{verdict:<10}{change['kind']:<13}"
        if width is None:
            yield start + message
        else:
            yield from _wrap_change(start, message, width)
    tools = len({name for change in changes for name in change["tools"]})
    verb = "differs" if tools == 1 else "differ"
    total = f"{format_count(len(changes), 'change')}, {breaking} breaking"
    total = f"{total}; {format_count(tools, 'tool')} {verb}."
    yield from wrap_text(total, width) if width else [total]


def _wrap_change(start: str, message: str, width: int) -> Iterator[str]:
    columns = width - len(start)
    if columns < _LEAST_MESSAGE:
        first, *others = wrap_text(f"{' '.join(start.split())}: {message}", width, indent="  ")
        yield style_label(first)
        yield from others
        return
    first, *others = wrap_text(message, columns)
    yield style_label(start) + first
    yield from (" " * len(start) + line for line in others)


def _load_side(spec: str) -> Any:
    source = parse_source(spec)
    if isinstance(source, Path | bytes) and Path(spec).suffix != ".toml":
        try:
            response = json.loads(source if isinstance(source, bytes) else source.read_bytes())
        except (OSError, ValueError, RecursionError):
            response = None  # the loader says what is wrong
        if listed_tools(response) is not None:
            page = response.get("result", response) if isinstance(response, dict) else {}
            if page.get("nextCursor"):
                print_note(f"note: {spec} is only a part of a list; its server has more tools.")
            return response
    return select_tools(load_source(source))


def _create_finding(change: dict[str, Any]) -> Finding:
    names = change["tools"]
    tools = join_first(names, _LISTED)
    severity, rule = "error" if change["breaking"] else "note", change["kind"].replace(" ", "-")
    return Finding(change["pointer"], f"{change['message']} ({tools})", severity, rule)
