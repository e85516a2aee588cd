"""`openapi-tools browse`: the tools as a page in the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openapi_tools.changes.document_diff import differences_of
from openapi_tools.cli.mock_tools import load_for_calls
from openapi_tools.cli.page_file import write_page
from openapi_tools.cli.tool_loading import build_selection, select_tools, selection_options
from openapi_tools.common.options import Select

if TYPE_CHECKING:
    from pathlib import Path


def browse_tools(
    spec: str | None,
    *,
    against: str | None,
    html: Path | None,
    port: int,
    opens: bool,
    mock: bool,
) -> None:
    """Show the tools of SPEC as a page, until interrupted."""
    if html is not None and (port or opens or mock):
        raise click.UsageError("--html writes a file; --port, --open and --mock need a server.")
    problems: list[str] | None = [] if mock else None
    toolset = select_tools(load_for_calls(spec, problems))
    changes: list[dict[str, Any]] | None = None
    if against is not None:
        # `Select` refuses a tag that the older document does not have; `takes` does not.
        selection = Select(where=build_selection(*selection_options()).takes)
        older = load_for_calls(against, [] if mock else None).select(selection)
        changes = differences_of(older, toolset)
    if html is not None:
        write_page(toolset, html, changes)
        return
    from openapi_tools.cli.page_process import serve_page  # the extra `browse`, not for --html

    serve_page(toolset, port, opens=opens, problems=problems, changes=changes)
