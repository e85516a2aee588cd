"""`openapi-tools lint`: check a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.credential_options import given_credentials, identifying
from openapi_tools.cli.list_command import skipped_data
from openapi_tools.cli.output import as_json, busy, clean, say
from openapi_tools.cli.spec_argument import load, reading, source_of
from openapi_tools.errors import DocumentError
from openapi_tools.loading.load import read_document
from openapi_tools.loading.source import fetcher_of
from openapi_tools.openapi_core.document_check import Finding, findings, shorten
from openapi_tools.options import DEFAULT_SETTINGS

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from openapi_tools.tools.toolset import Toolset


@click.command("lint")
@click.argument("spec")
@click.option("--json", "wants_json", is_flag=True, help="Write JSON: every finding.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Show at most this many findings.",
)
@identifying
@reading
def lint(spec: str, *, wants_json: bool, limit: int) -> int:
    """Check SPEC with openapi-core's validation; say what was skipped. Exit 1 for any error."""
    source = source_of(spec)
    toolset = load(source)
    with busy("Checking the document"):
        found = [*duplicate_keys(source, given_credentials()), *findings(toolset.document)]
    errors = sum(finding.severity == "error" for finding in found)
    if wants_json:
        say(as_json(_as_data(found, toolset)))
    else:
        _tell(found, toolset, limit)
    return 1 if errors or toolset.skipped else 0


def duplicate_keys(
    source: str | os.PathLike[str] | bytes, credentials: Mapping[str, Any] | None = None
) -> list[Finding]:
    """Return the repeated keys of a document of any size; loading checks up to 1 MB.

    Raises:
        SourceError: The document cannot be read.
    """
    fetcher = fetcher_of(source, DEFAULT_SETTINGS, credentials)
    try:
        read_document(source, DEFAULT_SETTINGS, duplicates=True, fetcher=fetcher)
    except DocumentError as error:
        return [Finding(error.pointer, shorten(error.reason))]
    return []


def _as_data(found: list[Finding], toolset: Toolset) -> dict[str, Any]:
    return {
        "findings": [
            {"severity": item.severity, "pointer": item.pointer, "message": item.message}
            for item in found
        ],
        "skipped": skipped_data(toolset),
        "warnings": list(toolset.warnings),
        "counts": dict(toolset.counts),
    }


def _tell(found: list[Finding], toolset: Toolset, limit: int) -> None:
    """Write the findings, errors first, and what they add up to."""
    lines = [
        f"{item.severity}: {item.pointer or '(document)'}: {item.message}"
        for item in sorted(found, key=lambda item: item.severity != "error")
    ]
    skipped = [f"skipped: {item.pointer}: {item.reason}" for item in toolset.skipped]
    warnings = [f"warning: {warning}" for warning in toolset.warnings]
    for group in (lines, skipped, warnings):
        for line in group[:limit]:
            say(clean(line, lines=False))
        if len(group) > limit:
            say(f"… and {len(group) - limit} more; --limit shows more, --json all.")
    errors = sum(item.severity == "error" for item in found)
    say(
        f"{len(toolset)} tools, {len(skipped)} skipped, {errors} errors, "
        f"{len(found) - errors} notes, {len(warnings)} warnings."
    )
