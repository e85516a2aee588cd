"""`openapi-tools serve` offers the tools over MCP; `openapi-tools browse` shows them as a page."""

from __future__ import annotations

import sys
import webbrowser
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from openapi_tools.cli import command_options as shared
from openapi_tools.cli import for_shell, remark, say
from openapi_tools.cli.generate_command import write_page
from openapi_tools.errors import counted
from openapi_tools.tools.guardrails import require_approval

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openapi_tools.tools.toolset import Toolset

_HERE = "127.0.0.1"
_OPEN = "warning: everyone who reaches this address can call the tools; it asks for no login."
_KEYS = {
    "mode": "mode", "host": "host", "port": "port", "names": "allow_hosts", "ask": "ask",
    "sessions": "max_sessions", "workers": "workers", "stateless": "stateless", "log": "log",
    "insecure": "insecure", "strict": "strict", "grace": "grace",
}  # fmt: skip
"""The options that stand for keys of `[serve]`, and these."""
_HTTP_ONLY = set(_KEYS) - {"mode", "ask", "strict", "log"}
_APIS_ONLY = ("workers", "strict")


@shared.command("serve")
def serve(spec: str | None, *, transport: str | None, **options: Any) -> None:
    """Serve the tools of SPEC over MCP until the client leaves, or until interrupted.

    A configuration with tables [apis.NAME] serves several APIs. With stdio, SPEC cannot come from
    standard input: the client speaks there.
    """
    given = {key: options[name] for name, key in _KEYS.items() if _is_given(name)}
    config = str(shared.given_config() if spec is None else spec)
    tables = import_module("openapi_tools.serving.serving_tables")
    if config.endswith(".toml") and tables.has_apis(config):
        _check_for_apis()
        # Here, as --help needs no extra.
        team_server = import_module("openapi_tools.serving.team_server")
        started = team_server.started(config, given, logs=True)
    else:
        for name in filter(_is_given, _APIS_ONLY):
            raise click.UsageError(f"--{name} is for a configuration with tables [apis.NAME].")
        _check_transport(transport or "stdio", spec)
        team_server = import_module("openapi_tools.serving.team_server")
        started = team_server.started_with(_loaded(spec, **options), given)
    transport = transport or ("http" if started.over_http else "stdio")
    _check_transport(transport, spec)
    told = import_module("openapi_tools.serving.audit_log").logger.info
    tell = told if started.serve.log == "json" else remark
    if transport == "stdio":
        started.apis.serve()
        tell(f"{started.summary} over stdio.")
        _say_why(started.apis.why, tell)
        import_module("openapi_tools.serving.mcp_transports").run_stdio(started.apis)
        return
    _serve_http(team_server, started, tell)


def _serve_http(team_server: Any, started: Any, tell: Callable[[str], object]) -> None:
    web_server = import_module("openapi_tools.serving.web_server")
    host, access = started.serve.host, started.access
    team_server.check_place(host, access, insecure=started.serve.insecure)
    with web_server.listening(host, started.serve.port) as place:
        port = place.getsockname()[1]
        server = team_server.WebServer(started, port)
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        tell(f"{started.summary} at {address}{started.serve.path}")
        for name in filter(None, started.apis.servers):
            tell(f"{name} alone at {address}/{name}/mcp")
        _say_why(started.apis.why, tell)
        if started.serve.insecure and not team_server.is_loopback(host):
            tell(_OPEN)
        if started.serve.workers > 1:
            processes = import_module("openapi_tools.serving.worker_processes")
            processes.run_workers(started, place)
        else:
            server.run(place)


def _loaded(spec: str | None, *, ask: bool, **others: Any) -> Toolset:
    """Return the tools of one document, as the options select them."""
    filters = {name: others[name] for name in ("tags", "methods", "patterns")}
    toolset = shared.load(shared.source_of(spec)).select(shared.selection(**filters))
    if not len(toolset):
        raise click.UsageError("no tools to serve; `openapi-tools list` shows which exist.")
    for warning in toolset.warnings:
        remark(f"warning: {for_shell(warning)}")
    if ask:
        toolset.add_input_guardrails([require_approval()])
    return toolset


def _is_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT)


def _say_why(why: str, tell: Callable[[str], object]) -> None:
    if why:
        tell(f"{why}; --mode tools offers each tool.")


def _check_for_apis() -> None:
    """Refuse options for one document."""
    known = {*_KEYS, "spec", "transport", "config"}
    for option in click.get_current_context().command.params:
        if option.name and option.name not in known and _is_given(option.name):
            reason = "is for one document; write it into a table [apis.NAME]"
            raise click.UsageError(f"{option.opts[0]} {reason}.")


def _check_transport(transport: str, spec: str | None) -> None:
    """Refuse HTTP options with stdio, and a standard input that the client cannot use."""
    if transport == "http":
        return
    for option in click.get_current_context().command.params:
        if option.name in _HTTP_ONLY and _is_given(option.name):
            raise click.UsageError(f"{option.opts[0]} is for http only; add --transport http.")
    if sys.stdin is None:
        raise click.UsageError("standard input is closed, so no client can connect; use http.")
    if spec == "-":
        raise click.UsageError(
            "SPEC and the client cannot both be read from standard input; use http."
        )


@shared.command("browse")
def browse(
    spec: str | None,
    *,
    port: int,
    opens: bool,
    against: str | None,
    html: Path | None,
    mock: bool,
    **filters: tuple[str, ...],
) -> None:
    """Show the tools of SPEC as a page in the browser, until interrupted.

    The page lists, searches, previews and calls the tools. Only this machine reaches it, and only
    by the address that is printed.
    """
    if html is not None and (port or opens or mock):
        raise click.UsageError("--html writes a file; --port, --open and --mock are for a server.")
    problems: list[str] | None = [] if mock else None
    loaded = import_module("openapi_tools.cli.call_command").loaded
    toolset = shared.selected(loaded(spec, problems), **filters)
    changes: list[dict[str, Any]] | None = None
    if against is not None:
        older = loaded(against, [] if mock else None).select(shared.selection(**filters))
        changes = import_module("openapi_tools.differences").differences_of(older, toolset)
    if html is not None:
        write_page(toolset, html, changes)
        return
    # Here, as --help and --html need no extra.
    web_server = import_module("openapi_tools.serving.web_server")
    page_server = import_module("openapi_tools.browse.page_server")
    with web_server.listening(_HERE, port) as place:
        hosts = [f"{name}:{place.getsockname()[1]}" for name in web_server.LOOPBACK]
        app = page_server.PageServer(toolset, hosts, problems=problems, changes=changes)
        address = f"http://{hosts[0]}/?key={app.key}"
        say(address)
        remark(f"{counted(len(toolset), 'tool')}; Ctrl-C ends the server.")
        if opens and not webbrowser.open(address):
            remark("no browser can be opened here; open the address above.")
        web_server.run_app(app, place, toolset)
