"""`openapi-tools generate`: write a document's tools as a package, or report what would change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.changes.tool_changes import change_to_data, describe_change
from openapi_tools.cli.command_options import config_option, read_setting_options
from openapi_tools.cli.credential_options import read_credential_options
from openapi_tools.cli.option_names import report_skipped
from openapi_tools.cli.output import (
    clean,
    format_json,
    print_json,
    print_named,
    print_text,
    print_wrapped,
    skipped_data,
)
from openapi_tools.cli.page_file import write_page
from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.project_packages import combine_filters, read_project_jobs
from openapi_tools.cli.tool_loading import (
    is_stream,
    load_source,
    load_spec,
    overlay_options,
    parse_source,
    select_tools,
    selection_options,
)
from openapi_tools.errors import SettingsError, format_count
from openapi_tools.generate import generate_package
from openapi_tools.tools.session import make_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openapi_tools.cli.project_packages import Job
    from openapi_tools.generate import Report

_LISTED = 20
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def generate_packages(
    spec: str | None,
    *,
    html: Path | None,
    check: bool,
    force: bool,
    wants_diff: bool,
    wants_json: bool,
    output: str | None,
    **options: Any,
) -> int:
    """Write the tools of SPEC, or of the packages in pyproject.toml."""
    only_checks = check or wants_diff
    if only_checks and force:
        raise click.UsageError("--check and --diff write nothing, so --force has no effect.")
    if html is not None and not output and (wants_diff or wants_json):
        raise click.UsageError("--diff and --json are about packages; add --output.")
    is_stale = html is not None and _write_html(spec, html, output, check=only_checks)
    if html is not None and not output:
        return int(only_checks and is_stale)
    reports: list[Report] = []
    try:
        for table, arguments in _list_jobs(spec, output, options):
            reports.append(_run_job(table, arguments, check=only_checks, force=force))
            if not wants_json:
                _print_report(reports[-1], check=only_checks, wants_diff=wants_diff)
    finally:  # what was done before an error is reported, too
        if wants_json and reports:
            packages = [_report_data(report, wants_diff=wants_diff) for report in reports]
            print_json(format_json({"packages": packages}))
    return int(only_checks and (is_stale or any(report.drifted for report in reports)))


def _write_html(spec: str | None, html: Path, output: str | None, *, check: bool) -> bool:
    if is_stream(spec) and output:
        raise click.UsageError("SPEC is a stream, which can be read once; use --output or --html.")
    return write_page(select_tools(load_spec(spec)), html, check=check)


def _list_jobs(spec: str | None, output: str | None, options: dict[str, Any]) -> list[Job]:
    filters = selection_options()
    chosen = {name: value for name, value in options.items() if value}
    settings, credentials = read_setting_options(), read_credential_options()
    overlays, config = overlay_options(), config_option()
    if spec is None and config is None:
        if output or chosen or any(filters) or overlays or settings or credentials:
            raise click.UsageError("options such as --output, --name and --bearer need SPEC.")
        return read_project_jobs()
    if not output:
        raise click.UsageError("SPEC needs --output, the folder of the package.")
    source = parse_source(spec)
    arguments = {
        **chosen,
        "source": load_source(source).document if callable(source) else source,
        "output": Path(output),
        "settings": make_settings(settings) if settings else None,
        "credentials": credentials,
        "select": combine_filters(filters),
        "overlays": overlays,
        "config": config,
    }
    return [("", arguments)]


def _run_job(table: str, arguments: dict[str, Any], *, check: bool, force: bool) -> Report:
    try:
        with show_progress(f"Generating {arguments['output'].name}"):
            return generate_package(**arguments, check=check, force=force)
    except SettingsError as error:
        raise SettingsError(f"{table}{error}") from None


def _print_report(report: Report, *, check: bool, wants_diff: bool) -> None:
    state = "would change" if check else "written"
    state = state if report.drifted else "up to date"
    tools, folder = format_count(len(report.tools), "tool"), _relative_path(report.output)
    text = clean(f": {state}, {tools} in {folder}", lines=False)
    print_named(clean(report.api, lines=False), text)
    if "SKILL.md" in report.sizes:
        print_wrapped(f"  {_describe_skill(report.sizes)}", indent="    ")
    changes = (line for change in report.changes for line in describe_change(change).split("\n"))
    for line in (*changes, *_describe_files(report, check=check)):
        print_wrapped(f"  {clean(line)}", indent="    ")
    # Lines of code are not wrapped: a patch is read by programs and copied by people.
    for line in report.diff() if wants_diff else ():
        print_text(click.style(clean(line), fg=_COLOURS.get(line[:1])))
    report_skipped(report)


def _describe_skill(sizes: Mapping[str, int]) -> str:
    references = [size for path, size in sizes.items() if path.startswith("references/")]
    parts = (
        f"SKILL.md {sizes['SKILL.md']:,} bytes",
        f"{format_count(len(references), 'reference')} {sum(references):,} bytes",
        f"{sum(sizes.values()):,} bytes in all",
    )
    return ", ".join(parts)


def _describe_files(report: Report, *, check: bool) -> Iterator[str]:
    overwritten = [path for path in report.edited if path not in report.kept]
    changed = [path for path in report.written if path not in overwritten]
    if check:
        yield from _list_paths("would be written", changed)
        yield from _list_paths("would be removed", report.removed)
    elif report.drifted:
        by_state = {"written": changed, "removed": report.removed, "unchanged": report.unchanged}
        yield ", ".join(
            f"{format_count(len(paths), 'file')} {state}"
            for state, paths in by_state.items()
            if paths
        )
    yield from _list_paths(f"edited by hand{'' if check else ', overwritten'}", overwritten)
    yield from _list_paths("edited by hand, no longer generated, kept", report.kept)


def _list_paths(state: str, paths: Sequence[str]) -> Iterator[str]:
    for path in paths[:_LISTED]:
        yield f"{state}: {path}"
    if len(paths) > _LISTED:
        yield f"{state}: {len(paths) - _LISTED} more"


def _relative_path(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _report_data(report: Report, *, wants_diff: bool) -> dict[str, Any]:
    return {
        "api": report.api,
        "output": _relative_path(report.output),
        "tools": list(report.tools),
        "drifted": report.drifted,
        "breaking": any(change.breaking for change in report.changes),
        "changes": [change_to_data(change) for change in report.changes],
        "files": {
            state: list(getattr(report, state))
            for state in ("written", "unchanged", "removed", "kept", "edited")
        },
        **skipped_data(report),
        **({"sizes": report.sizes} if "SKILL.md" in report.sizes else {}),
        **({"diff": list(report.diff())} if wants_diff else {}),
    }
