"""`openapi-tools search` and `stubs`: tools for a task, and tools as typed signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.output import clean, format_json, print_note, print_text
from openapi_tools.cli.tool_loading import find_tool, load_spec, select_tools
from openapi_tools.common.json_values import select_attributes
from openapi_tools.common.options import why_skipped
from openapi_tools.search.index import terms
from openapi_tools.search.stubs import write_stub, write_stubs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openapi_tools.model import Skipped
    from openapi_tools.search.finder import Hit
    from openapi_tools.tools.tool import OperationTool


def search_tools(spec: str, words: tuple[str, ...], *, limit: int, wants_json: bool) -> None:
    """Find the tools of SPEC for the task in WORDS."""
    query, toolset = " ".join(words), load_spec(spec)
    selection = select_tools(toolset)
    hits = selection.search(query, limit)
    if wants_json:
        data = [_stub_data(hit.tool, hit.needs) | {"score": hit.score} for hit in hits]
        print_text(format_json({"tools": data}))
    elif hits:
        print_text(clean(write_stubs(hits)))
    elif len(selection):
        print_note(f"none of the {len(selection)} tools matches these words; try others.")
    if reason := _explain_missing_tool(query, hits, toolset.skipped):
        print_note(f"note: {reason}")


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
    return why_skipped(best.name or f"GET {best.path}", [best])


def show_stubs(spec: str, names: tuple[str, ...], *, wants_json: bool) -> None:
    """Show tools of SPEC as typed signatures."""
    if not names:
        raise click.UsageError("name at least one tool; `openapi-tools list` shows them.")
    toolset = load_spec(spec)
    tools = {name: find_tool(toolset, name) for name in names}
    data = [_stub_data(tool, toolset.producers(name)) for name, tool in tools.items()]
    text = format_json({"tools": data}) if wants_json else clean("\n".join(x["stub"] for x in data))
    print_text(text)


def _stub_data(tool: OperationTool, needs: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    producers = {argument: list(names) for argument, names in needs.items()}
    facts = select_attributes(tool, ("name", "method", "path"))
    return {**facts, "needs": producers, "stub": write_stub(tool, needs)}
