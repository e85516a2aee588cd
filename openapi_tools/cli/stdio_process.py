"""The process of `openapi-tools serve` on standard input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.cli.output import print_note
from openapi_tools.serving.server_records import logger
from openapi_tools.serving.stdio_server import run_stdio, start_toolset_apis

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.serving.file_watch import FileWatch
    from openapi_tools.serving.served_apis import ServedApis
    from openapi_tools.toolsets.toolset import Toolset

    Report = Callable[[str], object]


def serve_toolset(
    toolset: Toolset,
    keys: dict[str, Any],
    *,
    read: Callable[[], Toolset] | None = None,
    watch: FileWatch | None = None,
) -> None:
    """Serve one toolset over stdio.

    Args:
        toolset: The tools to serve.
        keys: The keys of `[serve]`, of which `mode` and `log` matter here.
        read: Loads the tools again when `watch` sees a change.
        watch: Watches the files that the tools were loaded from.
    """
    log = keys.get("log", "text")
    apis = start_toolset_apis(
        toolset,
        mode=keys.get("mode", "auto"),
        log=log,
        read=read,
        has_changed=None if watch is None else watch.has_changed,
    )
    run_stdio_server(apis, logger.info if log == "json" else print_note, counts_apis=False)


def run_stdio_server(apis: ServedApis, report: Report, *, counts_apis: bool) -> None:
    """Report what is served, and serve until the client disconnects or a signal arrives."""
    apis.make_servers()
    report(f"{apis.summary(counts_apis=counts_apis)} over stdio.")
    report_mode(apis, report)
    run_stdio(apis)


def report_mode(apis: ServedApis, report: Report) -> None:
    """Report why `search` or `code` was chosen instead of offering each tool."""
    if apis.mode_reason:
        report(f"{apis.mode_reason}; --mode tools offers each tool.")
