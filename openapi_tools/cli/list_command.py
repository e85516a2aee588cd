"""`openapi-tools list`: the tools of a document, and the size of their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.cli.option_names import report_skipped
from openapi_tools.cli.output import (
    clean,
    format_json,
    print_json,
    print_note,
    print_paged,
    print_text,
    skipped_data,
    terminal_width,
    tool_summary,
)
from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.styles import style_secondary
from openapi_tools.cli.text_layout import wrap_text
from openapi_tools.cli.tool_loading import load_spec, report_missing_server, select_tools
from openapi_tools.cli.tool_table import format_tool_table, make_row
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
    from openapi_tools.search.costs import Count
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

_ADVICE = (
    "the definitions of these tools take more than {:,} tokens: select some (--tag, --method, "
    "--match), or let a model find them (`openapi-tools serve --mode search`, "
    "`toolset.meta_tools()`, `toolset.code_tools()`)."
)
_ATTRIBUTES = ("name", "method", "path", "description")
_FLAGS = ("deprecated", "read_only", "idempotent", "destructive", "safety")


def list_tools(spec: str | None, *, wants_cost: bool, wants_json: bool, verbose: bool) -> int:
    """List the tools of SPEC."""
    toolset = load_spec(spec)
    tools = list(select_tools(toolset))
    costs = _measure_offered_definitions(tools) if wants_cost else []
    if wants_json:
        print_json(format_json(_listing_data(toolset, tools, costs)))
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
    total = _describe_total(toolset, tools, costs)
    pairs: list[tuple[int, ...]] = [*costs] or [()] * len(tools)
    if width := terminal_width():
        rows = [
            make_row(tool, numbers=tuple(f"{number:,}" for number in pair))
            for tool, pair in zip(tools, pairs, strict=True)
        ]
        total_lines = map(style_secondary, wrap_text(f"{total}.", width))
        print_paged("\n".join([*format_tool_table(rows, width), "", *total_lines]))
        return
    lines = [
        "\t".join(clean(text, lines=False) for text in (*_list_cells(tool), *map(str, pair)))
        for tool, pair in zip(tools, pairs, strict=True)
    ]
    print_text("\n".join(lines))  # in one write, as each is flushed
    if verbose or costs:
        print_note(f"{total}.")


def _list_cells(tool: OperationTool) -> tuple[str, ...]:
    return tool.name, tool.method, tool.path, tool_summary(tool)


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


def _measure_offered_definitions(tools: list[OperationTool]) -> list[tuple[int, int]]:
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
