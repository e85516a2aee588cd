"""`openapi-tools search` finds tools for a task; `openapi-tools stubs` shows tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli import as_json, clean, remark, say
from openapi_tools.cli import command_options as shared
from openapi_tools.json_values import members
from openapi_tools.options import why_skipped
from openapi_tools.search.index import terms
from openapi_tools.search.stubs import stub
from openapi_tools.search.stubs import stubs as stubs_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openapi_tools.model import Skipped
    from openapi_tools.search.finder import Hit
    from openapi_tools.tools.tool import OperationTool


@shared.command("search")
def search(
    spec: str, words: tuple[str, ...], *, limit: int, wants_json: bool, **filters: Any
) -> None:
    """Find the tools of SPEC for a task in WORDS, the best first, as typed signatures.

    Lines below a tool name the tools that yield its required arguments.
    """
    query, toolset = " ".join(words), shared.load(shared.source_of(spec))
    found = shared.selected(toolset, **filters)
    hits = found.search(query, limit)
    if wants_json:
        data = [_data(hit.tool, hit.needs) | {"score": hit.score} for hit in hits]
        say(as_json({"tools": data}))
    elif hits:
        say(clean(stubs_of(hits)))
    elif len(found):
        remark(f"no tool fits these words, of {len(found)}; try others.")
    if why := _skipped(query, hits, toolset.skipped):
        remark(f"note: {why}")


def _skipped(query: str, hits: Sequence[Hit], skipped: Sequence[Skipped]) -> str:
    """Return why an operation that fits better than each hit is not a tool; empty for none."""
    wanted = frozenset(terms(query))

    def fit(item: OperationTool | Skipped, words: str = "") -> tuple[int, float]:
        own = frozenset(terms(f"{item.name} {item.path}"))
        return len(wanted & own.union(terms(words))), len(wanted & own) / (len(own) or 1)

    best = max(skipped, key=fit, default=None)
    others = (fit(hit.tool, hit.tool.description) for hit in hits)
    if best is None or fit(best) <= max(others, default=(0, 1.0)):
        return ""
    return why_skipped(best.name or f"GET {best.path}", [best])


@shared.command("stubs")
def stubs(spec: str, names: tuple[str, ...], *, wants_json: bool) -> None:
    """Show tools of SPEC as typed signatures, with the tools that yield what each requires."""
    if not names:
        raise click.UsageError("name at least one tool; `openapi-tools list` shows which exist.")
    toolset = shared.load(shared.source_of(spec))
    tools = {name: shared.tool_of(toolset, name) for name in names}
    data = [_data(tool, toolset.producers(name)) for name, tool in tools.items()]
    say(as_json({"tools": data}) if wants_json else clean("\n".join(one["stub"] for one in data)))


def _data(tool: OperationTool, needs: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return a tool as JSON data, with its stub and the producers of its arguments."""
    listed = {argument: list(names) for argument, names in needs.items()}
    return {**members(tool, ("name", "method", "path")), "needs": listed, "stub": stub(tool, needs)}
