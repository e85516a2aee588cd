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
from openapi_tools.errors import MissingExtraError, counted
from openapi_tools.search import costs
from openapi_tools.tools.guardrails import require_approval

if TYPE_CHECKING:
    from pathlib import Path

    from openapi_tools.tools.toolset import Toolset

_HERE = "127.0.0.1"
_MOST = 128
_PATH = "/mcp"
_OPEN = "warning: anyone who reaches this address can call the tools; it asks for no password."
_HTTP_ONLY = {
    "host": "--host",
    "port": "--port",
    "names": "--allow-host",
    "sessions": "--max-sessions",
}


@shared.command("serve")
def serve(
    spec: str | None,
    *,
    mode: str,
    transport: str,
    host: str,
    port: int,
    names: tuple[str, ...],
    sessions: int | None,
    ask: bool,
    **filters: Any,
) -> None:
    """Serve the tools of SPEC over MCP until the client leaves, or until interrupted.

    With stdio, SPEC cannot come from standard input: the client speaks there.
    """
    if transport == "stdio":
        _check_stdio(click.get_current_context(), spec)
    # Here, as --help needs no extra.
    from openapi_tools.serving import mcp_transports as mcp

    toolset = shared.load(shared.source_of(spec)).select(shared.selection(**filters))
    if not len(toolset):
        raise click.UsageError("no tools to serve; `openapi-tools list` shows which exist.")
    for warning in toolset.warnings:
        remark(f"warning: {for_shell(warning)}")
    if ask:
        toolset.add_input_guardrails([require_approval()])
    skipped = counted(len(toolset.skipped), "operation")
    told = f"serving {counted(len(toolset), 'tool')} ({skipped} skipped)"
    offered, mode, why = _in_mode(toolset, mode)
    told += "" if mode == "tools" else f" in mode {mode}"
    if transport == "stdio":
        remark(f"{told} over stdio.")
        _say_why(why)
        mcp.run_stdio(offered)
        return
    with mcp.listening(host, port) as place:
        listened = place.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        remark(f"{told} at http://{shown}:{listened}{_PATH}")
        _say_why(why)
        if shown not in mcp.LOOPBACK:
            remark(_OPEN)
        names_used = mcp.security(shown, names, listened)
        mcp.run_http(offered, place, path=_PATH, security=names_used, sessions=sessions)


def _in_mode(toolset: Toolset, mode: str) -> tuple[Toolset, str, str]:
    """Return the tools to offer, the mode that is not `auto`, and the reason for its choice.

    Raises:
        MissingExtraError: The mode `code` needs an extra that is not installed.
    """
    why = ""
    if mode == "auto":
        why = _too_many(toolset)
        mode = "code" if why else "tools"
    if mode == "code":
        try:
            return toolset.code_tools(), mode, why
        except MissingExtraError as error:
            if not why:
                raise
            mode, why = "search", f"{why}; mode code needs more: {error}"
    return (toolset.meta_tools() if mode == "search" else toolset), mode, why


def _too_many(toolset: Toolset) -> str:
    """Return why a model should not get each tool; empty if it may."""
    if len(toolset) > _MOST:
        return f"{len(toolset)} tools are more than the {_MOST} that providers take at once"
    if costs.exceeds(list(toolset)):
        return f"the definitions of these tools take more than {costs.MOST_TOKENS:,} tokens"
    return ""


def _say_why(why: str) -> None:
    if why:
        remark(f"{why}; --mode tools offers each tool.")


def _check_stdio(context: click.Context, spec: str | None) -> None:
    """Refuse HTTP options, and a standard input that the client cannot use."""
    for name, option in _HTTP_ONLY.items():
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"{option} is for http only; add --transport http.")
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
