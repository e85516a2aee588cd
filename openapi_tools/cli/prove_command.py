"""`openapi-tools prove`: every tool called against a mock of its API."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import astuple
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from openapi_tools.cli.mock_tools import load_mock
from openapi_tools.cli.output import clean, print_note, terminal_width
from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.reports import CommandReport, ReportCase, print_report
from openapi_tools.cli.styles import style_name, style_secondary
from openapi_tools.cli.text_layout import pad_to_width, shorten_text, text_width, wrap_text
from openapi_tools.cli.tool_loading import load_spec, select_tools
from openapi_tools.common.json_values import select_attributes
from openapi_tools.conformance.findings import Finding, elide_middle
from openapi_tools.learning.live_proof import check_is_local, prove_live
from openapi_tools.testing.proving import Proof, prove_tools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.toolsets.toolset import Toolset

_VERDICTS = ("proved", "not judged", "failed", "skipped")
_ATTRIBUTES = ("tool", "verdict", "request", "response", "cause", "reason")
_BY_DOCUMENT = "failed by the document"
_HEADINGS = ("Tool", "Request", "Response", "Reason")
_COLOURS = {"ok": "green", "failed": "red"}
_LEAST_REASON = 24  # columns beside the verdicts
_OUTCOMES = {"proved": "", "failed": "failure"}


def report_proofs(
    spec: str | None,
    *,
    live: bool,
    record: Path | None,
    report_format: str,
    wants_json: bool,
    fail_on: str,
) -> int:
    """Call every tool of SPEC, against a mock or a running API, and check what is sent and read."""
    if record is not None and not live:
        raise click.UsageError("--record needs --live: a mock says only what the document says.")
    if live:
        toolset, proofs = _prove_at_api(spec, record)
    else:
        toolset, api = load_mock(spec, {"check_responses": True}, judge=True)
        selection = select_tools(toolset)
        with show_progress("Calling the tools"):
            proofs = asyncio.run(prove_tools(selection, api))
    for entry in toolset.skipped:
        name = f"{entry.method} {entry.path}".strip()
        proofs.append(Proof(name, "skipped", "skipped", entry.reason, entry.pointer))
    verdicts = Counter(proof.verdict for proof in proofs)
    counts = {name: verdicts[name] for name in _VERDICTS}
    counts[_BY_DOCUMENT] = sum(proof.cause == "document" for proof in proofs)
    report = CommandReport(
        title="openapi-tools prove",
        spec=spec,
        lines=list(_format_report(proofs, counts)),
        data={"tools": [select_attributes(p, _ATTRIBUTES) for p in proofs], "counts": counts},
        findings=[_create_finding(proof, fail_on) for proof in proofs if proof.verdict != "proved"],
        cases=[_create_case(proof, fail_on) for proof in proofs],
        counts=counts,
    )
    print_report(report, "json" if wants_json else report_format)
    checked = verdicts["proved"] + verdicts["failed"]
    if not checked:
        reason = next((proof.reason for proof in proofs), "no tool is selected.")
        print_note(f"nothing could be checked: {clean(elide_middle(reason), lines=False)}")
    failures = [proof for proof in proofs if proof.verdict == "failed"]
    return int(not checked or not all(_is_excused(proof, fail_on) for proof in failures))


def _prove_at_api(spec: str | None, record: Path | None) -> tuple[Toolset, list[Proof]]:
    with TemporaryDirectory() as folder:
        place = Path(folder) if record is None else record
        toolset = load_spec(spec, {"check_responses": True, "record": place})
        selection = select_tools(toolset)
        check_is_local(selection)
        with show_progress("Calling the tools"):
            proofs = asyncio.run(prove_live(selection, place))
    return toolset, proofs


def _is_excused(proof: Proof, fail_on: str) -> bool:
    # A wrong default or example of the document is no failure of a tool.
    return proof.cause == "document" and fail_on != "document"


def _format_report(proofs: list[Proof], counts: dict[str, int]) -> Iterator[str]:
    width = terminal_width()
    rows = [
        (clean(name, lines=False), *(clean(elide_middle(cell), lines=False) for cell in cells[:3]))
        for name, *cells in map(astuple, proofs)
    ]
    if rows:
        yield from _format_lines(rows) if width is None else _format_table(rows, width)
    summary = ", ".join(f"{counts[name]} {name}" for name in _VERDICTS)
    by_document = counts[_BY_DOCUMENT]
    causes = f"{counts['failed'] - by_document} by the tool, {by_document} by the document"
    total = f"{summary}. Failed: {causes}." if counts["failed"] else f"{summary}."
    yield from wrap_text(total, width) if width else [total]


def _format_lines(rows: list[tuple[str, ...]]) -> Iterator[str]:
    width = max(len(row[0]) for row in rows)
    for tool, request, response, reason in (_HEADINGS, *rows):
        yield f"{tool:<{width}}  {request:<10}  {response:<10}  {reason}".rstrip()


def _format_table(rows: list[tuple[str, ...]], width: int) -> Iterator[str]:
    widths = [max(map(text_width, column)) for column in list(zip(_HEADINGS, *rows, strict=True))]
    names = min(widths[0], width // 2)
    margin = names + widths[1] + widths[2] + 6
    headings = "  ".join(map(pad_to_width, _HEADINGS, (names, *widths[1:]))).rstrip()
    yield style_secondary(shorten_text(headings, width))
    for tool, *verdicts, reason in rows:
        name = [tool] if text_width(tool) <= names else wrap_text(tool, width)
        yield from map(style_name, name if text_width(tool) > names else ())
        first = style_name(pad_to_width(tool, names)) if text_width(tool) <= names else " " * names
        cells = map(_style_verdict, verdicts, widths[1:3])
        line = "  ".join([first, *cells])
        if not reason:
            yield line.rstrip()
        elif width - margin >= _LEAST_REASON:
            start, *others = wrap_text(reason, width - margin)
            yield f"{line}  {start}"
            yield from (" " * margin + other for other in others)
        else:
            yield line.rstrip()
            yield from (f"    {other}" for other in wrap_text(reason, width - 4))


def _style_verdict(verdict: str, width: int) -> str:
    return click.style(verdict, fg=_COLOURS.get(verdict, "yellow")) + " " * (width - len(verdict))


def _create_finding(proof: Proof, fail_on: str) -> Finding:
    severity = "note" if proof.verdict == "not judged" else "error"
    severity = "warning" if _is_excused(proof, fail_on) else severity
    rule = proof.verdict.replace(" ", "-")
    if proof.cause == "document":
        rule += "-by-document"
    message = f"{proof.tool}: {elide_middle(proof.reason)}"
    return Finding(proof.pointer, message, severity, rule)


def _create_case(proof: Proof, fail_on: str) -> ReportCase:
    # A program that reads the report fails if the exit code is 1.
    is_excused = _is_excused(proof, fail_on)
    outcome = "skipped" if is_excused else _OUTCOMES.get(proof.verdict, "skipped")
    verdict = f"{proof.verdict} by the document" if proof.cause == "document" else proof.verdict
    message = f"{verdict}: {clean(elide_middle(proof.reason), lines=False)}"
    return ReportCase(proof.tool, outcome, message, proof.cause or outcome)
