"""`openapi-tools search` and `stubs`: tools for a task, and tools as typed signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.output import (
    clean,
    format_json,
    print_json,
    print_note,
    print_paged,
    print_text,
    terminal_width,
)
from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.styles import style_secondary
from openapi_tools.cli.text_layout import wrap_text
from openapi_tools.cli.tool_loading import find_tool, load_spec, select_tools
from openapi_tools.cli.tool_table import format_tool_table, make_row
from openapi_tools.common.json_values import select_attributes
from openapi_tools.common.options import explain_skipped
from openapi_tools.errors import format_count, join_first
from openapi_tools.search.index import terms
from openapi_tools.search.stubs import describe_signature, write_stub, write_stubs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openapi_tools.cli.tool_table import ToolRow
    from openapi_tools.model import Skipped
    from openapi_tools.search.finder import Hit
    from openapi_tools.tools.tool import OperationTool

    Needs = Mapping[str, tuple[str, ...]]

_MOST_PRODUCERS = 2  # tools named for each required argument; --json has all


def search_tools(
    spec: str, words: tuple[str, ...], *, limit: int, plain: bool, wants_json: bool
) -> None:
    """Find the tools of SPEC for the task in WORDS."""
    query, toolset = " ".join(words), load_spec(spec)
    selection = select_tools(toolset)
    with show_progress("Searching"):
        hits = selection.search(query, limit)
    if wants_json:
        data = [_stub_data(hit.tool, hit.needs) | {"score": hit.score} for hit in hits]
        print_json(format_json({"tools": data}))
    elif hits and (width := terminal_width()) and not plain:
        rows = list(_make_hit_rows(hits))
        total = f"{len(hits)} of {format_count(len(selection), 'tool')}, best first"
        _print_table(rows, width, total)
    elif hits:
        print_text(clean(write_stubs(hits)))
    elif len(selection):
        print_note(f"none of the {len(selection)} tools matches these words; try others.")
    if reason := _explain_missing_tool(query, hits, toolset.skipped):
        print_note(f"note: {reason}")


def _make_hit_rows(hits: Iterable[Hit]) -> Iterator[ToolRow]:
    # As in the model's text, the producers of an argument are listed once.
    listed = set[tuple[str, str]]()
    for hit in hits:
        details = [detail for detail in _describe_needs(hit.needs) if detail not in listed]
        listed.update(details)
        yield make_row(hit.tool, details=details)


def _print_table(rows: Sequence[ToolRow], width: int, total: str) -> None:
    note = f"{total}; --plain prints what a model reads."
    lines = map(style_secondary, wrap_text(note, width))
    print_paged("\n".join([*format_tool_table(rows, width, wraps=True), "", *lines]))


def _describe_needs(needs: Needs) -> Iterator[tuple[str, str]]:
    arguments_by_producers: dict[str, list[str]] = {}
    for argument, names in needs.items():
        listed = join_first(names, _MOST_PRODUCERS)
        arguments_by_producers.setdefault(listed, []).append(argument)
    for listed, arguments in arguments_by_producers.items():
        yield "needs", f"{', '.join(arguments)} from {listed}"


def _explain_missing_tool(query: str, hits: Sequence[Hit], skipped: Sequence[Skipped]) -> str:
    words = frozenset(terms(query))

    def score(item: OperationTool | Skipped, description: str = "") -> tuple[int, float]:
        names = frozenset(terms(f"{item.name} {item.path}"))
        matches = len(words & names.union(terms(description)))
        return matches, len(words & names) / (len(names) or 1)

    best = max(skipped, key=score, default=None)
    hit_scores = (score(hit.tool, hit.tool.description) for hit in hits)
    if best is None or score(best) <= max(hit_scores, default=(0, 1.0)):
        return ""
    return explain_skipped(best.name or f"GET {best.path}", [best])


def show_stubs(spec: str, names: tuple[str, ...], *, plain: bool, wants_json: bool) -> None:
    """Show tools of SPEC as typed signatures."""
    if not names:
        raise click.UsageError("name at least one tool; `openapi-tools list SPEC` lists them.")
    toolset = load_spec(spec)
    chosen = [find_tool(toolset, name) for name in dict.fromkeys(names)]
    with show_progress("Searching"):
        tools = [(tool, toolset.producers(tool.name)) for tool in chosen]
    if wants_json:
        print_json(format_json({"tools": [_stub_data(tool, needs) for tool, needs in tools]}))
    elif (width := terminal_width()) and not plain:
        _print_table(list(_make_stub_rows(tools)), width, format_count(len(tools), "tool"))
    else:
        print_text(clean("\n".join(write_stub(tool, needs) for tool, needs in tools)))


def _make_stub_rows(tools: Iterable[tuple[OperationTool, Needs]]) -> Iterator[ToolRow]:
    for tool, needs in tools:
        required, optional, response = describe_signature(tool)
        parts = {"takes": required, "optional": optional, "returns": response}
        details = [(label, text) for label, text in parts.items() if text]
        yield make_row(tool, details=[*details, *_describe_needs(needs)])


def _stub_data(tool: OperationTool, needs: Needs) -> dict[str, Any]:
    producers = {argument: list(names) for argument, names in needs.items()}
    facts = select_attributes(tool, ("name", "method", "path"))
    return {**facts, "needs": producers, "stub": write_stub(tool, needs)}
