"""The page of `browse`, and of `generate --html`, as one file that needs no server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openapi_tools.browse.one_file import render_page
from openapi_tools.cli.output import print_note, write_whole
from openapi_tools.cli.progress import show_progress
from openapi_tools.errors import format_count

if TYPE_CHECKING:
    from pathlib import Path

    from openapi_tools.toolsets.toolset import Toolset


def write_page(toolset: Toolset, file: Path, changes: Any = None, *, check: bool = False) -> bool:
    """Write the page unless it is only checked, and return whether that changes the file."""
    with show_progress("Writing the page"):
        content = render_page(toolset, changes).encode()
    try:
        is_stale = not file.is_file() or file.read_bytes() != content
        if is_stale and not check:
            write_whole(file, content)
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}.") from None
    state = "up to date"
    if is_stale:
        state = "would change" if check else "written"
    print_note(f"page: {state}, {format_count(len(toolset), 'tool')} in {file}")
    return is_stale
