"""`openapi-tools learn`: how an API departs from its document, or a workflow of recorded calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openapi_tools.changes.document_diff import differences_of
from openapi_tools.cli.diff_command import format_changes
from openapi_tools.cli.learn_workflow import report_workflow, write_workflow
from openapi_tools.cli.lint_report import describe_place
from openapi_tools.cli.output import (
    clean,
    print_note,
    terminal_width,
    write_new_file,
)
from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.reports import CommandReport, print_report
from openapi_tools.cli.styles import style_label, style_secondary
from openapi_tools.cli.text_layout import wrap_text
from openapi_tools.cli.tool_loading import load_source, parse_source
from openapi_tools.conformance.findings import Finding
from openapi_tools.errors import format_count
from openapi_tools.learning.deviations import format_overlay, make_overlay
from openapi_tools.learning.evidence import describe_size, read_evidence
from openapi_tools.learning.learned_deviations import learn_deviations
from openapi_tools.toolsets.document_info import document_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openapi_tools.cli.tool_loading import Source
    from openapi_tools.learning.deviations import Deviation
    from openapi_tools.learning.evidence import Evidence
    from openapi_tools.learning.learned_deviations import LearnedDeviations
    from openapi_tools.toolsets.toolset import Toolset


def learn_from_calls(
    spec: str | None,
    *,
    evidence_path: Path,
    at_least: int,
    output: Path | None,
    workflow: Path | None,
    force: bool,
    report_format: str,
    wants_json: bool,
) -> int:
    """Report how an API departs from SPEC, or write its recorded calls as a workflow."""
    if workflow is not None and output is not None:
        raise click.UsageError("--workflow writes no overlay; leave out --output.")
    evidence = read_evidence(evidence_path)
    _report_faults(evidence)
    source = parse_source(spec)
    toolset = load_source(source)
    if workflow is not None:
        recorded = write_workflow(toolset, evidence, path=workflow, spec=spec, force=force)
        report_workflow(recorded, path=workflow, spec=spec, wants_json=wants_json)
        return 0
    with show_progress("Comparing responses with the document"):
        learned = learn_deviations(toolset, evidence, at_least=at_least)
    report = _make_report(learned, source, toolset, evidence, spec=spec)
    print_report(report, "json" if wants_json else report_format)
    if output is not None:
        _write_overlay(learned, output, force=force)
    elif report.data["overlay"]["actions"]:
        print_note("--output FILE writes the proposals as an overlay.")
    return 0


def _report_faults(evidence: Evidence) -> None:
    if evidence.faults and not (evidence.exchanges or evidence.audited_calls):
        raise evidence.faults[0]
    for fault in evidence.faults:
        print_note(f"warning: {fault} The line is left out.")
    if unnamed := evidence.fault_count - len(evidence.faults):
        print_note(f"warning: {format_count(unnamed, 'more line')} left out.")


def _make_report(
    learned: LearnedDeviations,
    source: Source,
    toolset: Toolset,
    evidence: Evidence,
    *,
    spec: str | None,
) -> CommandReport:
    overlay = make_overlay(learned.deviations)
    changes: list[dict[str, Any]] = []
    if overlay["actions"]:
        changes = differences_of(toolset, load_source(source, overlays=[overlay]))
    return CommandReport(
        title="openapi-tools learn",
        spec=spec,
        lines=list(_format_report(learned, toolset, changes, describe_size(evidence))),
        data={
            "deviations": list(map(_describe_deviation, learned.deviations)),
            "unmatched": list(learned.unmatched),
            "changes": changes,
            "overlay": overlay,
        },
        findings=list(map(_create_finding, learned.deviations)),
    )


def _write_overlay(learned: LearnedDeviations, path: Path, *, force: bool) -> None:
    count = sum(deviation.is_proposed for deviation in learned.deviations)
    if not count:
        print_note(f"nothing to propose; {path} was not written.")
        return
    write_new_file(path, format_overlay(learned.deviations), force=force)
    proposals = format_count(count, "proposal")
    print_note(f"{path} written: {proposals}; review it, and apply it with --overlay {path}.")


def _describe_deviation(deviation: Deviation) -> dict[str, Any]:
    return {
        "kind": deviation.kind,
        "pointer": deviation.pointer,
        "message": deviation.message,
        "observations": deviation.observations,
        "contradictions": deviation.contradictions,
        "sources": list(deviation.sources),
        "proposed": deviation.is_proposed,
    }


def _create_finding(deviation: Deviation) -> Finding:
    message = f"{deviation.message} ({deviation.describe_evidence()})"
    severity = "warning" if deviation.is_proposed else "note"
    return Finding(deviation.pointer, message, severity, deviation.kind)


def _format_report(
    learned: LearnedDeviations, toolset: Toolset, changes: list[dict[str, Any]], size: str
) -> Iterator[str]:
    width = terminal_width()
    names = {document_pointer(tool): tool.name for tool in toolset}
    for deviation in learned.deviations:
        label = deviation.kind if deviation.is_proposed else f"{deviation.kind}, not proposed"
        place = clean(describe_place(deviation.pointer, names), lines=False)
        text = f"{label}: {place and f'{place}: '}{deviation.message}"
        first, *others = wrap_text(text, width, indent="  ") if width else [text]
        yield style_label(first)
        yield from others
        evidence = f"    {clean(deviation.describe_evidence(), lines=False)}"
        lines = wrap_text(evidence, width, indent="    ") if width else [evidence]
        yield from map(style_secondary, lines)
    if changes:
        yield "With the proposals, the tools change:"
        yield from format_changes(changes, sum(bool(c["breaking"]) for c in changes))
    proposed = sum(deviation.is_proposed for deviation in learned.deviations)
    reported = len(learned.deviations) - proposed
    total = f"{size}: {format_count(proposed, 'proposal')}, {reported} not proposed."
    if learned.unmatched:
        total += f" {len(learned.unmatched)} of them fit no operation, such as "
        total += f"{clean(learned.unmatched[0], lines=False)}."
    yield from wrap_text(total, width) if width else [total]
