"""The report of `eval` in each format: the cases, and a table of results and faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.output import clean, terminal_width
from openapi_tools.cli.reports import CommandReport, ReportCase
from openapi_tools.cli.text_layout import pad_to_width, shorten_text, text_width, wrap_text
from openapi_tools.errors import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi_tools.testing.evaluation.evaluate import Evaluation

    Row = dict[str, Any]

_COUNTS = {
    "wrong_tool": "wrong tool",
    "wrong_arguments": "wrong arguments",
    "missing_call": "missing call",
    "state": "wrong state",
    "refused": "refused calls",
    "forbidden": "forbidden calls",
    "over_limit": "limits exceeded",
    "model_error": "model errors",
    "turns": "turns",
}
_TOKENS = ("definitions", "input", "output")
_INDENT = "  "


def make_report(spec: str | None, evaluations: Mapping[str, Evaluation]) -> CommandReport:
    """Return the report of the first evaluation; several are also compared in a table."""
    first = next(iter(evaluations.values()))
    data = first.as_data()
    rows = {name: each.table_row() for name, each in evaluations.items()}
    if len(evaluations) > 1:
        data["compare"] = [
            {"name": name, **rows[name], "cases": each.as_data()["cases"]}
            for name, each in evaluations.items()
        ]
    return CommandReport(
        title="openapi-tools eval",
        spec=spec,
        lines=list(_format_text(evaluations, rows)),
        markdown=list(_format_markdown(evaluations, rows)),
        data=data,
        cases=[
            case
            for name, each in evaluations.items()
            for case in _list_cases(name, each, evaluations)
        ],
        counts={
            "cases": data["summary"]["cases"],
            "passed": data["summary"]["passed"],
            "tokens": data["summary"]["tokens"],
        },
    )


def _list_cases(
    variant: str, evaluation: Evaluation, evaluations: Mapping[str, Evaluation]
) -> Iterator[ReportCase]:
    prefix = f"{variant}: " if len(evaluations) > 1 else ""
    for case in evaluation.as_data()["cases"]:
        faults = case["faults"]
        message = " ".join(f"{fault['type']}: {fault['message']}" for fault in faults)
        kind = faults[0]["type"] if faults else ""
        yield ReportCase(prefix + case["name"], "failure" if faults else "", message, kind)


def _format_text(evaluations: Mapping[str, Evaluation], rows: Mapping[str, Row]) -> Iterator[str]:
    width = terminal_width()
    first = next(iter(evaluations.values()))
    for name, evaluation in evaluations.items():
        for case in evaluation.as_data()["cases"]:
            yield from _format_case(case, width, name if len(evaluations) > 1 else "")
    yield ""
    if len(evaluations) > 1:
        yield from _format_table(rows, width)
        yield ""
    yield from _wrap(_describe_total(first, rows), width)


def _format_case(case: Row, width: int | None, variant: str) -> Iterator[str]:
    verdict = "passed" if case["passed"] else "failed"
    name = clean(f"{variant}: {case['name']}" if variant else case["name"], lines=False)
    tokens = case["tokens"]["input"] + case["tokens"]["output"]
    facts = ", ".join(
        [
            *([f"{case['rate']:.0%} of {len(case['runs'])}"] if "runs" in case else []),
            format_count(case["calls"], "call"),
            format_count(case["turns"], "turn"),
            format_count(tokens, "token"),
        ]
    )
    first, *others = _wrap(f"{verdict} {name}: {facts}", width)
    colour = "green" if case["passed"] else "red"
    yield click.style(first[: len(verdict)], fg=colour) + first[len(verdict) :]
    yield from others
    for fault in case["faults"]:
        line = clean(f"{fault['type']}: {fault['message']}", lines=False)
        yield from _wrap(_INDENT + line, width)


def _wrap(text: str, width: int | None) -> list[str]:
    return wrap_text(text, width, indent=_INDENT) if width else [text]


def _describe_total(first: Evaluation, rows: Mapping[str, Row]) -> str:
    row = next(iter(rows.values()))
    low, high = row["interval"]
    unit = "runs" if first.repeat > 1 else "cases"
    return (
        f"{row['passed']} of {row['runs']} {unit} passed: {row['rate']:.0%} "
        f"(95% interval: {low:.0%} to {high:.0%})."
    )


def _table_cells(rows: Mapping[str, Row]) -> Iterator[list[str]]:
    columns = list(rows.values())
    yield ["", *(clean(name, lines=False) for name in rows)]
    yield ["passed", *(f"{row['passed']} of {row['runs']}" for row in columns)]
    for key, label in _COUNTS.items():
        yield [label, *(f"{row[key]:,}" for row in columns)]
    for kind in _TOKENS:
        yield [f"tokens of {kind}", *(f"{row['tokens'][kind]:,}" for row in columns)]
    yield ["seconds", *(f"{row['seconds']:.1f}" for row in columns)]


def _format_table(rows: Mapping[str, Row], width: int | None) -> Iterator[str]:
    table = list(_table_cells(rows))
    widths = [max(map(text_width, column)) for column in zip(*table, strict=True)]
    if width is not None and sum(widths) + 2 * len(widths) > width:
        share = max((width - widths[0]) // max(len(rows), 1) - 2, 4)
        widths[1:] = [min(each, share) for each in widths[1:]]
    for label, *cells in table:
        padded = [
            " " * (columns - text_width(cell)) + cell
            for cell, columns in zip(map(shorten_text, cells, widths[1:]), widths[1:], strict=True)
        ]
        line = "  ".join([pad_to_width(label, widths[0]), *padded])
        yield shorten_text(line, width) if width else line
    reasons = [line for note in _list_reasons(rows) for line in _wrap(note, width)]
    yield from ["", *reasons] if reasons else []


def _list_reasons(rows: Mapping[str, Row]) -> Iterator[str]:
    for name, row in rows.items():
        for reason, count in row["refused_because"].items():
            yield clean(f"{name}: refused {format_count(count, 'time')}: {reason}", lines=False)


def _format_markdown(
    evaluations: Mapping[str, Evaluation], rows: Mapping[str, Row]
) -> Iterator[str]:
    heading, *table = [list(map(_escape_cell, cells)) for cells in _table_cells(rows)]
    yield _join_cells(heading)
    yield _join_cells(["---", *["---:"] * len(rows)])
    yield from map(_join_cells, table)
    reasons = list(_list_reasons(rows))
    yield from ["", *(f"- {_as_code(reason)}" for reason in reasons)] if reasons else []
    for name, evaluation in evaluations.items():
        title = f" ({_escape_cell(clean(name, lines=False))})" if len(evaluations) > 1 else ""
        yield from ("", _join_cells([f"case{title}", "result", "faults"]), "|---|---|---|")
        for case in evaluation.as_data()["cases"]:
            faults = [_as_code(f"{each['type']}: {each['message']}") for each in case["faults"]]
            verdict = "passed" if case["passed"] else "failed"
            yield _join_cells([_as_code(case["name"]), verdict, "<br>".join(faults)])


def _join_cells(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|")


def _as_code(text: str) -> str:
    # As code, so that outside text cannot add links, images or markup.
    return f"`{_escape_cell(clean(text, lines=False).replace('`', chr(39)))}`"
