"""The process of `openapi-tools serve`: several APIs, or one over HTTP."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from openapi_tools.auth.origin_policy import is_loopback
from openapi_tools.cli.output import print_note
from openapi_tools.cli.stdio_process import report_mode, run_stdio_server
from openapi_tools.serving import team_server, web_server
from openapi_tools.serving.server_records import logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.serving.file_watch import FileWatch
    from openapi_tools.toolsets.toolset import Toolset

    Report = Callable[[str], object]

_OPEN = "warning: everyone who reaches this address can call the tools; no login is required."


def start_apis(config: str, keys: dict[str, Any]) -> team_server.StartedServer:
    """Load the APIs of a server configuration, with other keys of `[serve]`."""
    return team_server.start_server(config, keys, logs=True)


def start_toolset(
    toolset: Toolset,
    keys: dict[str, Any],
    *,
    read: Callable[[], Toolset] | None = None,
    watch: FileWatch | None = None,
) -> team_server.StartedServer:
    """Return the server of one toolset, which `read` loads again when watched files change."""
    has_changed = None if watch is None else watch.has_changed
    return team_server.start_toolset_server(toolset, keys, read=read, has_changed=has_changed)


def run_server(started: team_server.StartedServer, transport: str) -> None:
    """Serve until the client disconnects, or until interrupted."""
    report = logger.info if started.serve.log == "json" else print_note
    if transport == "stdio":
        run_stdio_server(started.apis, report, counts_apis=bool(started.config))
    else:
        _serve_http(started, report)


def _serve_http(started: team_server.StartedServer, report: Report) -> None:
    host = started.serve.host
    team_server.check_address(host, started.access, insecure=started.serve.insecure)
    is_parent = started.serve.workers > 1
    with web_server.open_socket(host, started.serve.port) as listener, ExitStack() as stack:
        if is_parent:
            from openapi_tools.serving import workers  # needs the extra `serve`

            stack.enter_context(workers.shared_metrics())
        port = listener.getsockname()[1]
        server = team_server.WebServer(started, port, owns_process=True)
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        announce = partial(_announce_address, started, address, report)
        if is_parent:
            workers.run_workers(
                started, listener, announce=announce, count_restart=server.count_restart
            )
        else:
            server.run(listener, announce)


def _announce_address(started: team_server.StartedServer, address: str, report: Report) -> None:
    report(f"{started.summary} at {address}{started.serve.path}")
    for name in filter(None, started.apis.servers):
        report(f"only {name} at {address}/{name}/mcp")
    report_mode(started.apis, report)
    if started.serve.insecure and not is_loopback(started.serve.host):
        report(_OPEN)
