"""`openapi-tools lock`: accept tools as they are, and report what has changed since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.changes import tool_lock
from openapi_tools.cli.output import (
    clean,
    format_json,
    print_json,
    print_named,
    print_note,
    print_wrapped,
)
from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.tool_loading import (
    load_configured,
    load_source,
    parse_source,
    resolve_source,
)
from openapi_tools.configuration.config_file import read_configuration
from openapi_tools.errors import format_count

if TYPE_CHECKING:
    from openapi_tools.toolsets.toolset import Toolset


def lock_tools(
    spec: str | None,
    tools: tuple[str, ...],
    *,
    path: Path | None,
    accepts: bool,
    wants_json: bool,
) -> int:
    """Write the tools of SPEC into a lock, or report what has changed since."""
    toolset, configured_path = _load_unlocked(spec)
    with show_progress("Reading the definitions"):
        lock_path = path or configured_path or Path(tool_lock.LOCK_NAME)
        current = tool_lock.make_lock(toolset, lock_path)
    if tools and not accepts:
        raise click.UsageError("tools can only be named with --accept.")
    if not current.path.exists():
        tool_lock.write_lock(current)
        print_note(f"{current.path} written: {format_count(len(current.entries), 'tool')}.")
        return 0
    accepted = tool_lock.read_lock(current.path)
    with show_progress("Comparing the tools"):
        changes = tool_lock.find_lock_changes(accepted, current)
    if wants_json:
        print_json(format_json({"changes": [change._asdict() for change in changes]}))
    else:
        for change in changes:
            tool, verdict = (clean(part, lines=False) for part in (change.tool, change.verdict))
            print_named(tool, f" {verdict}")
            for line in change.lines:
                print_wrapped(f"    {clean(line, lines=False)}", indent="      ")
    if accepts and accepted.is_package:
        raise click.UsageError("a package is written by `openapi-tools generate`.")
    if accepts:
        tool_lock.write_lock(tool_lock.accept_changes(accepted, current, tools))
        print_note(f"{current.path} written.")
        return 0
    breaking = sum(change.breaking for change in changes)
    print_note(f"{len(changes)} of {len(current.entries)} tools changed, {breaking} breaking.")
    return int(bool(changes))


def _load_unlocked(spec: str | None) -> tuple[Toolset, Path | None]:
    source, config, view = resolve_source(
        parse_source(spec), prefers=lambda file: bool(file.data.lock)
    )
    if isinstance(source, Path) and source.suffix == ".toml":
        source, config = None, source
    if config is None:
        return load_source(source), None
    file: Any = config if view is not None else read_configuration(config)
    path = file.folder / file.data.lock if file.data.lock else None
    plain = replace(file, data=file.data.model_copy(update={"lock": ""}))
    return load_configured(source, plain), path
