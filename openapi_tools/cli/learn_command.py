"""`openapi-tools learn`: recorded calls as an overlay, or as a workflow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from openapi_tools.changes.document_diff import differences_of
from openapi_tools.cli.diff_command import format_changes
from openapi_tools.cli.lint_report import describe_place
from openapi_tools.cli.output import (
    clean,
    print_note,
    terminal_width,
    tool_summary,
    write_new_file,
)
from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.reports import CommandReport, print_report
from openapi_tools.cli.styles import style_label, style_secondary
from openapi_tools.cli.text_layout import wrap_text
from openapi_tools.cli.tool_loading import load_source, parse_source
from openapi_tools.conformance.findings import Finding
from openapi_tools.errors import format_count
from openapi_tools.learning.deviations import dump_yaml, format_overlay, make_overlay
from openapi_tools.learning.evidence import describe_size, read_evidence
from openapi_tools.learning.lessons import learn_deviations
from openapi_tools.learning.workflow import make_workflow
from openapi_tools.redaction import redact_data
from openapi_tools.toolsets.document_info import document_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.learning.deviations import Deviation
    from openapi_tools.learning.evidence import Evidence
    from openapi_tools.learning.lessons import Lesson
    from openapi_tools.learning.workflow import RecordedWorkflow
    from openapi_tools.toolsets.toolset import Toolset


def learn_document(
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
    """Report where recorded calls depart from SPEC; with `output`, write the overlay.

    With `workflow`, write the successful calls as an Arazzo document instead.
    """
    if workflow is not None and output is not None:
        raise click.UsageError("--workflow writes no overlay; leave out --output.")
    evidence = read_evidence(evidence_path)
    _report_faults(evidence)
    source = parse_source(spec)
    toolset = load_source(source)
    if workflow is not None:
        recorded = _record_workflow(toolset, evidence, path=workflow, spec=spec)
        write_new_file(workflow, dump_yaml(recorded.document), force=force)
        _report_workflow(recorded, path=workflow, spec=spec, wants_json=wants_json)
        return 0
    with show_progress("Comparing responses with the document"):
        lesson = learn_deviations(toolset, evidence, at_least=at_least)
    overlay = make_overlay(lesson.deviations)
    changes: list[dict[str, Any]] = []
    if overlay["actions"]:
        changes = differences_of(toolset, load_source(source, overlays=[overlay]))
    report = CommandReport(
        title="openapi-tools learn",
        spec=spec,
        lines=list(_format_report(lesson, toolset, changes, describe_size(evidence))),
        data={
            "deviations": list(map(_describe_deviation, lesson.deviations)),
            "unmatched": list(lesson.unmatched),
            "changes": changes,
            "overlay": overlay,
        },
        findings=list(map(_create_finding, lesson.deviations)),
    )
    print_report(report, "json" if wants_json else report_format)
    if output is not None:
        _write_overlay(lesson, output, force=force)
    elif overlay["actions"]:
        print_note("--output FILE writes the proposals as an overlay.")
    return 0


def _report_faults(evidence: Evidence) -> None:
    if evidence.faults and not (evidence.exchanges or evidence.audited_calls):
        raise evidence.faults[0]
    for fault in evidence.faults:
        print_note(f"warning: {fault} The line is left out.")
    if unnamed := evidence.fault_count - len(evidence.faults):
        print_note(f"warning: {format_count(unnamed, 'more line')} left out.")


def _record_workflow(
    toolset: Toolset, evidence: Evidence, *, path: Path, spec: str | None
) -> RecordedWorkflow:
    return make_workflow(
        toolset,
        evidence,
        name=path.name.partition(".")[0],
        source_url=_find_source_url(spec, path),
        summarize=tool_summary,
    )


def _find_source_url(spec: str | None, path: Path) -> str:
    # Relative to the workflow, as references in Arazzo are.
    if spec is not None and "://" in spec:
        url: str = redact_data(spec)
        return url
    if spec is None or spec.endswith(".toml") or not Path(spec).is_file():
        return "openapi.json"  # of an application or a configuration: where its document may lie
    try:
        relative = os.path.relpath(spec, path.parent)
    except ValueError:  # on another drive
        relative = Path(spec).name
    return quote(Path(relative).as_posix())


def _report_workflow(
    recorded: RecordedWorkflow, *, path: Path, spec: str | None, wants_json: bool
) -> None:
    steps, links = len(recorded.steps), recorded.links
    counts = f"{format_count(steps, 'step')}, {format_count(links, 'link')}"
    line = f"{path} written: {counts}, {format_count(len(recorded.inputs), 'input')}."
    data = {
        "workflow": recorded.document,
        "links": links,
        "unmatched": recorded.unmatched,
        "unread": recorded.unread,
    }
    report = CommandReport(title="openapi-tools learn", spec=spec, lines=[line], data=data)
    print_report(report, "json" if wants_json else "text")
    if recorded.unmatched:
        count = format_count(len(recorded.unmatched), "call")
        print_note(f"{count} left out, of no operation of SPEC, such as {recorded.unmatched[0]}.")
    for text in recorded.unread:
        print_note(f"left out, as SPEC declares no such parameter: {clean(text, lines=False)}.")


def _write_overlay(lesson: Lesson, path: Path, *, force: bool) -> None:
    count = sum(deviation.is_proposed for deviation in lesson.deviations)
    if not count:
        print_note(f"nothing to propose; {path} was not written.")
        return
    write_new_file(path, format_overlay(lesson.deviations), force=force)
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
    lesson: Lesson, toolset: Toolset, changes: list[dict[str, Any]], size: str
) -> Iterator[str]:
    width = terminal_width()
    names = {document_pointer(tool): tool.name for tool in toolset}
    for deviation in lesson.deviations:
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
    proposed = sum(deviation.is_proposed for deviation in lesson.deviations)
    reported = len(lesson.deviations) - proposed
    total = f"{size}: {format_count(proposed, 'proposal')}, {reported} not proposed."
    if lesson.unmatched:
        total += f" {len(lesson.unmatched)} of them fit no operation, such as "
        total += f"{clean(lesson.unmatched[0], lines=False)}."
    yield from wrap_text(total, width) if width else [total]
