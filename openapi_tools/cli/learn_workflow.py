"""The workflow that `openapi-tools learn --workflow` writes, and its report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from openapi_tools.cli.output import clean, print_note, tool_summary, write_new_file
from openapi_tools.cli.reports import CommandReport, print_report
from openapi_tools.errors import format_count
from openapi_tools.learning.deviations import dump_yaml
from openapi_tools.learning.workflow import make_workflow
from openapi_tools.redaction import redact_data

if TYPE_CHECKING:
    from openapi_tools.learning.evidence import Evidence
    from openapi_tools.learning.workflow import RecordedWorkflow
    from openapi_tools.toolsets.toolset import Toolset


def write_workflow(
    toolset: Toolset, evidence: Evidence, *, path: Path, spec: str | None, force: bool
) -> RecordedWorkflow:
    """Write the successful calls of a record to a file, as an Arazzo document, and return it.

    Raises:
        SourceError: No successful call belongs to an operation of the document.
        OutputError: The file exists and may not be overwritten, or cannot be written.
    """
    recorded = make_workflow(
        toolset,
        evidence,
        name=path.name.partition(".")[0],
        source_url=_find_source_url(spec, path),
        summarize=tool_summary,
    )
    write_new_file(path, dump_yaml(recorded.document), force=force)
    return recorded


def report_workflow(
    recorded: RecordedWorkflow, *, path: Path, spec: str | None, wants_json: bool
) -> None:
    """Print how many steps, links and inputs a workflow has, and what it leaves out."""
    steps, links = len(recorded.steps), recorded.link_count
    counts = f"{format_count(steps, 'step')}, {format_count(links, 'link')}"
    line = f"{path} written: {counts}, {format_count(len(recorded.inputs), 'input')}."
    data = {
        "workflow": recorded.document,
        "links": links,
        "unmatched": recorded.unmatched,
        "unread": recorded.undeclared,
    }
    report = CommandReport(title="openapi-tools learn", spec=spec, lines=[line], data=data)
    print_report(report, "json" if wants_json else "text")
    if recorded.unmatched:
        count = format_count(len(recorded.unmatched), "call")
        print_note(
            f"{count} left out, such as {recorded.unmatched[0]}: no operation of SPEC matches."
        )
    for text in recorded.undeclared:
        print_note(f"left out, as SPEC declares no such parameter: {clean(text, lines=False)}.")


def _find_source_url(spec: str | None, path: Path) -> str:
    # References in Arazzo are relative to its document.
    if spec is not None and "://" in spec:
        url: str = redact_data(spec)
        return url
    if spec is None or spec.endswith(".toml") or not Path(spec).is_file():
        return "openapi.json"  # an application or a configuration: its document may be there
    try:
        relative = os.path.relpath(spec, path.parent)
    except ValueError:  # on another drive
        relative = Path(spec).name
    return quote(Path(relative).as_posix())
