"""`openapi-tools stats`: what the definitions of a document's tools cost a model."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from openapi_tools.cli.list_command import measure_definitions
from openapi_tools.cli.output import (
    clean,
    format_json,
    print_json,
    print_text,
    print_wrapped,
    terminal_width,
)
from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.styles import style_name, style_secondary
from openapi_tools.cli.text_layout import pad_to_width, text_width, wrap_text
from openapi_tools.cli.tool_loading import load_spec, select_tools
from openapi_tools.errors import format_count
from openapi_tools.providers.definitions import DefinitionLimits, limits_of
from openapi_tools.search.costs import sum_costs, token_counter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.search.costs import Count
    from openapi_tools.tools.tool import OperationTool

    Costs = dict[str, dict[str, tuple[int, int]]]  # bytes and tokens, by tool and form

_CELL = 22  # columns of a cell in a pipe
_LEAST_MEANING = 30  # columns of what a form means beside its totals
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
        print_json(format_json(data))
        return
    listed = {clean(name, lines=False): by_form for name, by_form in islice(costs.items(), limit)}
    width = terminal_width()
    for line in (*_format_costs(listed, width), "", *_format_totals(totals, width)):
        print_text(line)
    print_wrapped(
        f"{format_count(len(costs), 'tool')}. Tokens are {method}, in JSON without spaces; "
        "bytes are those of json.dumps."
    )
    if len(costs) > limit:
        rest = format_count(len(costs) - limit, "more tool")
        print_wrapped(f"… and {rest}; --limit shows more, --json all.")


def _measure_forms(
    tools: list[OperationTool], profile: str, budget: int | None, count: Count
) -> Costs:
    limits = limits_of(tools[0]) if tools else DefinitionLimits()
    limits = limits if budget is None else limits._replace(max_bytes=budget)
    limits_by_form = {
        "full": DefinitionLimits("full", 0),
        "shown": limits,
        "tight": limits._replace(wording="tight"),
    }
    columns = [measure_definitions(tools, profile, limits_by_form[form], count) for form in _FORMS]
    rows = {
        tool.name: dict(zip(_FORMS, pairs, strict=True))
        for tool, *pairs in zip(tools, *columns, strict=True)
    }
    return dict(sorted(rows.items(), key=lambda row: row[1]["shown"], reverse=True))


def _format_costs(costs: Costs, width: int | None) -> Iterator[str]:
    longest = max(map(text_width, costs), default=4)
    rows = [[_format_cost(*pair) for pair in by_form.values()] for by_form in costs.values()]
    cells = _CELL if width is None else _longest_cell(rows)
    if width and width - longest - len(_FORMS) * cells < 0:
        # Tokens are what a model pays for; the totals below have the bytes, too.
        rows = [[f"{tokens:,} t" for _, tokens in by_form.values()] for by_form in costs.values()]
        cells = _longest_cell(rows)
    names = longest if width is None else min(longest, max(width - len(_FORMS) * cells, 4))
    heading = pad_to_width("Name", names) + "".join(f"{form:>{cells}}" for form in _FORMS)
    yield style_secondary(heading)
    for name, row in zip(costs, rows, strict=True):
        numbers = "".join(f"{cell:>{cells}}" for cell in row)
        if text_width(name) > names:
            yield from map(style_name, wrap_text(name, width or longest))
            yield " " * names + numbers
        else:
            yield style_name(pad_to_width(name, names)) + numbers


def _format_cost(size: int, tokens: int) -> str:
    return f"{size:,} B {tokens:,} t"


def _longest_cell(rows: list[list[str]]) -> int:
    return 2 + max((len(cell) for row in rows for cell in row), default=len("shown"))


def _format_totals(totals: dict[str, dict[str, int]], width: int | None) -> Iterator[str]:
    base = totals["full"]
    for form, total in totals.items():
        shares = [f"{total[key] / base[key]:.0%}" if base[key] else "-" for key in base]
        size, tokens = f"{total['bytes']:>12,} bytes", f"{total['tokens']:>10,} tokens"
        numbers = f"{form:6}{size} {shares[0]:>4} {tokens} {shares[1]:>4}"
        rest = None if width is None else width - len(numbers) - 2
        if rest is None:
            yield f"{numbers}  {_FORMS[form]}"
        elif rest >= _LEAST_MEANING:
            lines = wrap_text(_FORMS[form], rest)
            yield f"{numbers}  {style_secondary(lines[0])}"
            yield from (" " * (len(numbers) + 2) + style_secondary(line) for line in lines[1:])
        elif rest >= 0:
            yield numbers
            for line in wrap_text(_FORMS[form], len(numbers) - 6):
                yield " " * 6 + style_secondary(line)
        else:
            text = " ".join([*numbers.split(), _FORMS[form]])
            yield from wrap_text(text, width or 0, indent="  ")
