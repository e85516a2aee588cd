"""`openapi-tools list`: the tools of a document, and the size of their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.option_names import report_skipped
from openapi_tools.cli.output import (
    clean,
    cut_to_width,
    format_json,
    pad_to_width,
    print_note,
    print_paged,
    print_text,
    show_progress,
    skipped_data,
    terminal_width,
    text_width,
    tool_summary,
)
from openapi_tools.cli.tool_loading import load_spec, report_missing_server, select_tools
from openapi_tools.common.json_values import select_attributes
from openapi_tools.errors import format_count
from openapi_tools.providers.definitions import DefinitionLimits, define_tool, limits_of
from openapi_tools.providers.forms import CannotExpress
from openapi_tools.providers.memory import Memory
from openapi_tools.search.costs import (
    MOST_TOKENS,
    definition_cost,
    exceeds_tokens,
    sum_costs,
    token_counter,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi_tools.search.costs import Count
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

_ADVICE = (
    "the definitions of these tools take more than {:,} tokens: select some (--tag, --method, "
    "--match), or let a model find them (`openapi-tools serve --mode search`, "
    "`toolset.meta_tools()`, `toolset.code_tools()`)."
)
_HEADINGS = ("Name", "Method", "Path", "Description", "Bytes", "Tokens")
_ATTRIBUTES = ("name", "method", "path", "description")
_FLAGS = ("deprecated", "read_only", "idempotent", "destructive", "safety")
_COLOURS = {"read-only": "green", "additive": "yellow", "destructive": "red"}
_LEAST_DESCRIPTION = 6  # columns beside the longest name
_GOOD_DESCRIPTION = 40  # columns that a description gets before there are columns for paths


def list_tools(spec: str | None, *, wants_cost: bool, wants_json: bool, verbose: bool) -> int:
    """List the tools of SPEC."""
    toolset = load_spec(spec)
    tools = list(select_tools(toolset))
    costs = _measure_shown_definitions(tools) if wants_cost else []
    if wants_json:
        print_text(format_json(_listing_data(toolset, tools, costs)))
    elif tools:
        _print_tools(toolset, tools, costs, verbose=verbose)
    count = len(toolset.skipped)
    if verbose or not len(toolset):
        report_skipped(toolset)
    elif count:
        print_note(f"{format_count(count, 'operation')} skipped; -v lists the reasons.")
    if tools:
        report_missing_server(toolset, tools[0])
    if exceeds_tokens(tools):
        print_note(_ADVICE.format(MOST_TOKENS))
    return 2 if count and not len(toolset) else 0


def _listing_data(
    toolset: Toolset, tools: list[OperationTool], costs: list[tuple[int, int]]
) -> dict[str, Any]:
    rows = [
        {
            **select_attributes(tool, _ATTRIBUTES),
            "tags": list(tool.tags),
            **select_attributes(tool, _FLAGS),
        }
        for tool in tools
    ]
    for row, pair in zip(rows, costs, strict=False):
        row["cost"] = sum_costs([pair])
    data = {"tools": rows, **skipped_data(toolset), "counts": dict(toolset.counts)}
    return data | ({"cost": sum_costs(costs)} if costs else {})


def _print_tools(
    toolset: Toolset, tools: list[OperationTool], costs: list[tuple[int, int]], *, verbose: bool
) -> None:
    cells = [(tool.name, tool.method, tool.path, tool_summary(tool)) for tool in tools]
    rows = [[clean(text, lines=False) for text in texts] for texts in cells]
    for row, pair in zip(rows, costs, strict=False):
        row.extend(map(str, pair))
    total = _describe_total(toolset, tools, costs)
    if width := terminal_width():
        colours = [_COLOURS[tool.safety] for tool in tools]
        print_paged("\n".join([*format_table(rows, width, colours), "", f"{total}."]))
        return
    print_text("\n".join("\t".join(row) for row in rows))  # in one write, as each is flushed
    if verbose or costs:
        print_note(f"{total}.")


def _describe_total(
    toolset: Toolset, tools: list[OperationTool], costs: list[tuple[int, int]]
) -> str:
    text = format_count(len(tools), "tool")
    if len(tools) != len(toolset):
        text = f"{len(tools):,} of {format_count(len(toolset), 'tool')}"
    if costs:
        total = sum_costs(costs)
        tokens = format_count(total["tokens"], "token")
        text += f", {total['bytes']:,} bytes, {tokens} ({token_counter()[0]})"
    return text


def format_table(
    rows: Sequence[Sequence[str]], width: int, colours: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the headings and a line for each row, none wider than `width`.

    Names are complete before anything else gets space. There is a column of paths if descriptions
    have enough space beside it.

    Args:
        rows: The cells of each tool.
        width: The columns of the terminal.
        colours: The colours of the methods.
    """
    headings = _HEADINGS[: len(rows[0])]
    longest = [max(map(text_width, column)) for column in zip(headings, *rows, strict=True)]
    fixed = longest[1], *longest[4:]  # the method, and the numbers
    name_width = min(longest[0], width * 9 // 20)
    rest = width - name_width - sum(fixed) - 2 * len(fixed) - 4
    path_width = min(longest[2], rest - min(longest[3], _GOOD_DESCRIPTION))
    if path_width < min(longest[2], 2 * len(fixed) + 12):
        path_width = 0
    for index, (name, method, path, description, *numbers) in enumerate([headings, *rows]):
        name_cell = shorten_cell(name, width - sum(fixed) - 2 * len(fixed) - 2 - _LEAST_DESCRIPTION)
        cells = [f"{text:>{most}}" for text, most in zip(numbers, fixed[1:], strict=True)]
        cells += [pad_to_width(name_cell, name_width), pad_to_width(method, fixed[0])]
        if path_width:
            # A name that is wider than its column takes the space from the path.
            excess = max(text_width(name_cell) - name_width, 0)
            columns = max(path_width - excess, _LEAST_DESCRIPTION)
            cells.append(pad_to_width(shorten_cell(path, columns), columns))
        cells.append(
            shorten_cell(description, width - sum(map(text_width, cells)) - 2 * len(cells))
        )
        if index == 0:
            yield click.style("  ".join(cells).rstrip(), bold=True)
            continue
        column = len(numbers)
        cells[column] = click.style(cells[column], fg="cyan")
        colour = colours[index - 1] if colours else None
        cells[column + 1] = click.style(cells[column + 1], fg=colour)
        yield "  ".join(cells).rstrip()


def shorten_cell(text: str, width: int) -> str:
    """Return a text cut to a width, with `…` at the end if something is missing."""
    if text_width(text) <= width:
        return text
    return cut_to_width(text, width - 1) + "…" * (width > 0)


def _measure_shown_definitions(tools: list[OperationTool]) -> list[tuple[int, int]]:
    with show_progress("Measuring definitions"):
        limits = limits_of(tools[0]) if tools else DefinitionLimits()
        return measure_definitions(tools, "openai", limits, token_counter()[1])


def measure_definitions(
    tools: list[OperationTool], profile: str, limits: DefinitionLimits, count: Count
) -> list[tuple[int, int]]:
    """Return bytes and tokens of each tool's definition; zeros for one that has none."""
    memory = Memory()
    costs: list[tuple[int, int]] = []
    for tool in tools:
        try:
            definition = define_tool(tool, profile, memory, loosely=True, limits=limits).value
        except CannotExpress:
            costs.append((0, 0))
        else:
            costs.append(definition_cost(definition, count))
    return costs
