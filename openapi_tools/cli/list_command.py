"""`openapi-tools list`: which tools a document has."""

from __future__ import annotations

import shutil
import sys
from io import StringIO
from typing import TYPE_CHECKING

import click

from openapi_tools.cli.credential_options import identifying
from openapi_tools.cli.output import as_json, clean, for_shell, remark, say
from openapi_tools.cli.spec_argument import load, reading, selecting, selection, source_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.generate import Report
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

_NAMED = 20
_HEADS = ("Name", "Method", "Path", "Description")


@click.command("list")
@click.argument("spec")
@selecting
@click.option("--json", "wants_json", is_flag=True, help="Write JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Say which operations were skipped, and why.")
@identifying
@reading
def list_tools(
    spec: str,
    *,
    tags: tuple[str, ...],
    methods: tuple[str, ...],
    patterns: tuple[str, ...],
    wants_json: bool,
    verbose: bool,
) -> int:
    """List the tools of SPEC: a table on a terminal, tab-separated lines elsewhere."""
    toolset = load(source_of(spec))
    tools = list(toolset.select(selection(tags, methods, patterns)))
    if wants_json:
        say(as_json(_as_data(tools, toolset)))
    elif _on_terminal():
        say(table(map(_row, tools), width=shutil.get_terminal_size().columns))
    elif tools:
        say("\n".join("\t".join(_row(tool)) for tool in tools))  # each `say` flushes
    if not tools and len(toolset):
        remark(_why_none(toolset, tags=tags, methods=methods))
    is_useless = not len(toolset) and bool(toolset.skipped)
    _tell_skipped(toolset, verbose=verbose or is_useless)
    return 2 if is_useless else 0


def _why_none(toolset: Toolset, *, tags: tuple[str, ...], methods: tuple[str, ...]) -> str:
    known = {tag for tool in toolset for tag in tool.tags}
    there = []
    if tags:
        there.append(f"the tags {_listed(sorted(known))}" if known else "no tags")
    if methods:
        there.append(f"the methods {_listed(sorted({tool.method for tool in toolset}))}")
    has = " and ".join(there) or f"{len(toolset)} tools with other names and paths"
    return f"no tool is selected; the document has {has}."


def _listed(names: list[str]) -> str:
    more = f", … {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(f"{name:.60}" for name in names[:_NAMED]) + more


def table(rows: Iterable[tuple[str, ...]], *, width: int) -> str:
    """Return rows as a table of a width in characters; what the texts say is never markup."""
    from rich import box, console, text
    from rich.table import Table

    drawn = Table(*_HEADS, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    drawn.columns[0].no_wrap = drawn.columns[1].no_wrap = True
    drawn.columns[2].overflow = "fold"
    listed = list(rows)
    # Left to itself, the description takes the room that the paths need.
    room = width - sum(max((len(row[n]) for row in listed), default=0) + 3 for n in (0, 1))
    drawn.columns[2].width = min(
        max((len(row[2]) for row in listed), default=4), max(room * 3 // 5, 8)
    )
    for row in listed:
        drawn.add_row(*map(text.Text, row))
    out = StringIO()
    console.Console(file=out, width=width).print(drawn)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _on_terminal() -> bool:
    return sys.stdout.isatty()


def _row(tool: OperationTool) -> tuple[str, ...]:
    first = next((line for line in tool.description.splitlines() if line.strip()), "")
    return tuple(clean(text, lines=False) for text in (tool.name, tool.method, tool.path, first))


def _as_data(tools: list[OperationTool], toolset: Toolset) -> dict[str, object]:
    """Return the list as JSON data."""
    return {
        "tools": [
            {
                "name": tool.name,
                "method": tool.method,
                "path": tool.path,
                "description": tool.description,
                "tags": list(tool.tags),
                "deprecated": tool.deprecated,
                "read_only": tool.read_only,
                "idempotent": tool.idempotent,
                "destructive": tool.destructive,
            }
            for tool in tools
        ],
        "skipped": skipped_data(toolset),
        "warnings": list(toolset.warnings),
        "counts": dict(toolset.counts),
    }


def skipped_data(found: Toolset | Report) -> list[dict[str, str]]:
    """Return the skipped operations as JSON data."""
    return [
        {
            "method": entry.method,
            "path": entry.path,
            "pointer": entry.pointer,
            "reason": entry.reason,
        }
        for entry in found.skipped
    ]


def _tell_skipped(toolset: Toolset, *, verbose: bool) -> None:
    """Report skipped operations and warnings."""
    count = len(toolset.skipped)
    if verbose:
        for entry in toolset.skipped:
            remark(f"skipped {entry.method} {entry.path} at {entry.pointer}: {entry.reason}")
        for warning in toolset.warnings:
            remark(f"warning: {for_shell(warning)}")
    elif count:
        remark(f"{count} operation{'s' * (count > 1)} skipped; -v says why.")
