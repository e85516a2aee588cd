"""`openapi-tools stats`: what the definitions of a document's tools cost a model."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from openapi_tools.cli.list_command import measure_definitions
from openapi_tools.cli.output import clean, format_json, print_text, show_progress
from openapi_tools.cli.tool_loading import load_spec, select_tools
from openapi_tools.errors import format_count
from openapi_tools.providers.definitions import DefinitionLimits, limits_of
from openapi_tools.search.costs import sum_costs, token_counter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.search.costs import Count
    from openapi_tools.tools.tool import OperationTool

    Costs = dict[str, dict[str, tuple[int, int]]]  # bytes and tokens, by tool and form

_FORMS = {
    "full": "complete definitions without a limit",
    "shown": "definitions as toolset.definitions returns them",
    "tight": 'the same with Settings(definitions="tight")',
}


def show_stats(
    spec: str | None,
    *,
    profile: str,
    limit: int,
    wants_json: bool,
    budget: int | None,
) -> None:
    """Show the bytes and tokens of the definitions of SPEC's tools, the largest first."""
    tools = list(select_tools(load_spec(spec)))
    method, count = token_counter()
    with show_progress("Measuring definitions"):
        costs = _measure_forms(tools, profile, budget, count)
    totals = {form: sum_costs(by_form[form] for by_form in costs.values()) for form in _FORMS}
    if wants_json:
        rows = [
            {"name": name, **{form: sum_costs([pair]) for form, pair in by_form.items()}}
            for name, by_form in costs.items()
        ]
        data = {"profile": profile, "tokens": method, "totals": totals, "tools": rows}
        print_text(format_json(data))
        return
    for line in _format_table(dict(islice(costs.items(), limit)), totals):
        print_text(clean(line))
    print_text(
        f"{format_count(len(costs), 'tool')}. Tokens are {method}, in JSON without spaces; "
        "bytes are those of json.dumps."
    )
    if len(costs) > limit:
        rest = format_count(len(costs) - limit, "more tool")
        print_text(f"… and {rest}; --limit shows more, --json all.")


def _measure_forms(
    tools: list[OperationTool], profile: str, budget: int | None, count: Count
) -> Costs:
    shown = limits_of(tools[0]) if tools else DefinitionLimits()
    shown = shown if budget is None else shown._replace(max_bytes=budget)
    shapes = {
        "full": DefinitionLimits("full", 0),
        "shown": shown,
        "tight": shown._replace(wording="tight"),
    }
    columns = [measure_definitions(tools, profile, shapes[form], count) for form in _FORMS]
    rows = {
        tool.name: dict(zip(_FORMS, pairs, strict=True))
        for tool, *pairs in zip(tools, *columns, strict=True)
    }
    return dict(sorted(rows.items(), key=lambda row: row[1]["shown"], reverse=True))


def _format_table(costs: Costs, totals: dict[str, dict[str, int]]) -> Iterator[str]:
    width = max(map(len, costs), default=4)
    yield f"{'Name':{width}}" + "".join(f"{form:>22}" for form in _FORMS)
    for name, by_form in costs.items():
        cells = (f"{size:,} B {tokens:,} t" for size, tokens in by_form.values())
        yield f"{name:{width}}" + "".join(f"{cell:>22}" for cell in cells)
    yield ""
    base = totals["full"]
    for form, total in totals.items():
        shares = [f"{total[key] / base[key]:.0%}" if base[key] else "-" for key in base]
        size, tokens = f"{total['bytes']:>12,} bytes", f"{total['tokens']:>10,} tokens"
        yield f"{form:6}{size} {shares[0]:>4} {tokens} {shares[1]:>4}  {_FORMS[form]}"
