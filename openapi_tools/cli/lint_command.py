"""`openapi-tools lint`: is a document valid, and suitable for tools?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import yaml

from openapi_tools.cli.command_options import read_setting_options
from openapi_tools.cli.credential_options import read_credential_options
from openapi_tools.cli.lint_report import format_findings, split_warning
from openapi_tools.cli.output import print_note, skipped_data, terminal_width, write_new_file
from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.reports import CommandReport, print_report
from openapi_tools.cli.text_layout import wrap_text
from openapi_tools.cli.tool_loading import (
    load_source,
    overlay_options,
    parse_source,
    resolve_source,
)
from openapi_tools.common.json_values import select_attributes
from openapi_tools.conformance.findings import Finding, elide_middle
from openapi_tools.conformance.lint_fixes import make_overlay
from openapi_tools.conformance.lint_rules import find_tool_problems, score_document
from openapi_tools.errors import DocumentError, MissingExtraError, format_count
from openapi_tools.loading.configured_tools import read_options
from openapi_tools.loading.document_reader import DocumentReader, LoadOptions
from openapi_tools.tools.session import make_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openapi_tools.toolsets.toolset import Toolset

_ATTRIBUTES = ("severity", "pointer", "message", "rule")
_REPEATED = "is not declared; it is read as a string."  # a warning that a rule repeats


def lint_document(
    spec: str | None,
    *,
    report_format: str,
    wants_json: bool,
    limit: int,
    fix: Path | None,
    fix_version: str | None,
    force: bool,
) -> int:
    """Check whether SPEC is valid and suitable for tools."""
    if fix_version and fix is None:
        raise click.UsageError("--fix-version is the version of the overlay of --fix; add --fix.")
    source = parse_source(spec)
    toolset = load_source(source)
    with show_progress("Checking the document"):
        errors = [*_find_duplicate_keys(source), *_find_document_errors(toolset)]
        problems = find_tool_problems(toolset)
    skipped = [Finding(item.pointer, item.reason, rule="skipped") for item in toolset.skipped]
    findings = [*errors, *skipped, *problems]
    score = score_document(findings, toolset.counts["operations"])
    warnings = [text for text in toolset.warnings if not text.endswith(_REPEATED)]
    data = {
        "findings": [select_attributes(item, _ATTRIBUTES) for item in errors],
        **skipped_data(toolset),
        "hints": [select_attributes(item, _ATTRIBUTES) for item in problems],
        "counts": dict(toolset.counts),
        "score": score,
    }
    report = CommandReport(
        title="openapi-tools lint",
        spec=spec,
        lines=list(_format_report(errors, problems, toolset, limit, score)),
        data=data,
        findings=[*findings, *(Finding("", text, "warning", "load") for text in warnings)],
    )
    print_report(report, "json" if wants_json else report_format)
    if fix is not None:
        _write_fixes(toolset, source, fix, version=fix_version or "1.1", force=force)
    return 1 if any(item.severity == "error" for item in findings) else 0


def _find_document_errors(toolset: Toolset) -> list[Finding]:
    try:
        from openapi_tools.conformance.document_check import find_document_errors  # an extra
    except MissingExtraError as error:
        print_note(f"note: the document's validity was not checked: {error}")
        return []
    return find_document_errors(toolset.document)


def _find_duplicate_keys(source: Any) -> list[Finding]:
    # Loading looks for duplicate keys in documents of up to 1 MB only, so it is read once more.
    if callable(source):  # an application writes its document itself
        return []
    settings = make_settings(read_setting_options() or None)
    source, config, _ = resolve_source(source)
    credentials, overlays = read_credential_options(), overlay_options()
    options = LoadOptions(source, settings, credentials, overlays, strict=True)
    options, _ = read_options(options, config)
    try:
        DocumentReader(options).read()
    except DocumentError as error:
        return [Finding(error.pointer, elide_middle(error.reason), rule="duplicate-key")]
    return []


def _format_report(
    findings: list[Finding], problems: list[Finding], toolset: Toolset, limit: int, score: int
) -> Iterator[str]:
    pairs = map(split_warning, toolset.warnings)
    load_warnings = (Finding(pointer, text, "warning", rule="") for pointer, text in pairs)
    by_severity: dict[str, list[Finding]] = {"error": [], "note": [], "warning": [], "hint": []}
    for item in (*findings, *load_warnings, *problems):
        by_severity[item.severity].append(item)
    skipped = [Finding(item.pointer, item.reason, rule="skipped") for item in toolset.skipped]
    validity = [*by_severity["error"], *by_severity["note"]]
    kinds = [
        ("", validity),
        ("skipped", skipped),
        ("", by_severity["warning"]),
        ("", by_severity["hint"]),
    ]
    width = terminal_width()
    yield from format_findings(kinds, toolset, limit=limit, width=width)
    counts = ", ".join(format_count(len(items), name) for name, items in by_severity.items())
    total = (
        f"{format_count(len(toolset), 'tool')}, {len(skipped)} skipped, {counts}; "
        f"score {score} of 100."
    )
    yield from wrap_text(total, width) if width else [total]


def _write_fixes(toolset: Toolset, source: Any, path: Path, *, version: str, force: bool) -> None:
    def reload(overlay: dict[str, Any]) -> Toolset:
        return load_source(source, overlays=[overlay])

    overlay, still_skipped = make_overlay(toolset, reload, version=version)
    count = len(overlay["actions"])
    if count:
        text = yaml.safe_dump(overlay, sort_keys=False, allow_unicode=True, width=100)
        write_new_file(path, text, force=force)
        print_note(
            f"{path} written: {format_count(count, 'action')}; apply it with --overlay {path}."
        )
    else:
        print_note(f"there is nothing to fix, so {path} was not written.")
    for entry in still_skipped:
        place = f"{entry.method} {entry.path} at {entry.pointer}"
        print_note(f"still skipped: {place}: {entry.reason}")
