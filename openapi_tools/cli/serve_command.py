"""`openapi-tools serve`: the tools of a document as an MCP server, over stdio or HTTP."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.credential_options import identifying
from openapi_tools.cli.output import remark
from openapi_tools.cli.selection_options import selecting, selection
from openapi_tools.cli.spec_argument import load, reading, source_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from mcp.server.lowlevel import Server
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.applications import Starlette

    from openapi_tools.tools.toolset import Toolset

_PATH = "/mcp"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ANY = ("0.0.0.0", "::")  # noqa: S104 -- told apart, not bound to
_PATIENCE = 3
_HTTP_ONLY = {
    "host": "--host",
    "port": "--port",
    "names": "--allow-host",
    "sessions": "--max-sessions",
}


@click.command("serve")
@click.argument("spec")
@selecting
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="stdio for a client that starts this command, http for clients that connect to it.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen here, with http.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Listen there, with http; 0 takes a free one.",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="Another name by which clients reach this server, with http; repeatable.",
)
@click.option(
    "--max-sessions",
    "sessions",
    type=click.IntRange(min=1),
    metavar="N",
    help="Sessions that may be open at once, with http; 300 by default.",
)
@click.option("--base-url", help="Call this server instead of the document's.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds at most.")
@click.option(
    "--ask", is_flag=True, help="Have the client's user approve every call that is no read."
)
@identifying
@reading
def serve(  # noqa: PLR0913 -- one for each option
    spec: str,
    *,
    tags: tuple[str, ...],
    methods: tuple[str, ...],
    patterns: tuple[str, ...],
    transport: str,
    host: str,
    port: int,
    names: tuple[str, ...],
    sessions: int | None,
    base_url: str | None,
    timeout: float | None,
    ask: bool,
) -> None:
    """Serve the tools of SPEC over MCP until the client leaves, or until interrupted.

    With stdio, SPEC cannot come from standard input: the client speaks there.
    """
    from openapi_tools.contracts import import_extra

    if transport == "stdio":
        _check_options(click.get_current_context())
        _check_stdin(spec)
    import_extra("mcp", "mcp")
    toolset = load(source_of(spec), base_url=base_url, timeout=timeout)
    toolset = toolset.select(selection(tags, methods, patterns))
    if not len(toolset):
        raise click.UsageError("there is no tool to serve; `openapi-tools list` shows which exist.")
    server = _server(toolset, ask=ask)
    if transport == "stdio":
        remark(f"{_counted(toolset)} over stdio.")
        _run_stdio(server, toolset)
        return
    with _listening(host, port) as place:
        shown = f"[{host}]" if ":" in host else host
        remark(f"{_counted(toolset)} at http://{shown}:{place.getsockname()[1]}{_PATH}")
        _warn_if_open(shown)
        security = _security(shown, names, place.getsockname()[1])
        limit: dict[str, Any] = {} if sessions is None else {"max_sessions": sessions}
        app = server.streamable_http_app(
            streamable_http_path=_PATH, transport_security=security, **limit
        )
        _run_http(app, toolset, place)


def _check_options(context: click.Context) -> None:
    """Refuse what says where to listen, when nobody is listened to."""
    from click.core import ParameterSource

    for name, option in _HTTP_ONLY.items():
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"{option} is for http only; add --transport http.")


def _check_stdin(spec: str) -> None:
    """Refuse what leaves no standard input for the client."""
    if sys.stdin is None:
        raise click.UsageError("standard input is closed, so there is no client; use http.")
    if spec == "-":
        message = "SPEC and the client cannot both be read from standard input; use http."
        raise click.UsageError(message)


def _server(toolset: Toolset, *, ask: bool) -> Server[Any]:
    """Return the server, with the tools guarded where that is wanted."""
    from openapi_tools.contracts.mcp import create_server
    from openapi_tools.tools.guardrails import require_approval

    if ask:
        toolset.add_input_guardrails([require_approval()])
    return create_server(toolset)


def _counted(toolset: Toolset) -> str:
    return f"serving {len(toolset)} tools ({len(toolset.skipped)} operations skipped)"


def _warn_if_open(shown: str) -> None:
    """Say who can use the credentials where that is not this machine alone."""
    if shown not in _LOOPBACK:
        remark("warning: whoever reaches this address can call the tools; it asks for no password.")


def _run_stdio(server: Server[Any], toolset: Toolset) -> None:
    """Serve one client on standard input and output."""
    import asyncio
    import os

    async def run() -> None:
        from mcp.server.stdio import stdio_server

        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        with _on_signal(lambda: loop.call_soon_threadsafe(stop.set)):
            async with toolset, stdio_server() as (read, write):
                options = server.create_initialization_options()
                serving = asyncio.create_task(server.run(read, write, options))
                stopping = asyncio.create_task(stop.wait())
                await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if stop.is_set():
                    serving.cancel()
                    await asyncio.wait({serving})
                    await toolset.aclose()
                    sys.stderr.flush()
                    # A thread still waits for a line of standard input; nothing can wake it.
                    os._exit(0)
                stopping.cancel()
                await serving

    try:
        asyncio.run(run())
    except* BrokenPipeError:
        pass  # the client is gone, and nobody is left to tell


def _run_http(app: Starlette, toolset: Toolset, place: socket.socket) -> None:
    """Serve any number of clients over streamable HTTP."""
    import asyncio

    import uvicorn

    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
    )
    web = uvicorn.Server(config)

    async def run() -> None:
        async with toolset:
            await web.serve(sockets=[place])

    # uvicorn raises a signal anew once it is done: that must not end this process by itself.
    stopping = _on_signal(lambda: web.handle_exit(signal.SIGTERM, None))
    with stopping, _silent_once(lambda: web.should_exit):
        asyncio.run(run())


def _security(shown: str, names: tuple[str, ...], port: int) -> TransportSecuritySettings:
    """Return the names that clients may use; pages of other servers cannot reach this one."""
    from mcp.server.transport_security import TransportSecuritySettings

    is_local = shown in _LOOPBACK or shown.strip("[]") in _ANY
    own = [*dict.fromkeys((shown, *(_LOOPBACK if is_local else ())))]
    others = [host for name in names for host in (name, f"{name}:*")]
    origins = [*others, *(f"{name}:{port}" for name in own)]
    return TransportSecuritySettings(
        allowed_hosts=[*others, *(host for name in own for host in (name, f"{name}:*"))],
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in origins],
    )


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    import socket

    if not host:
        raise click.UsageError("--host is empty; give 0.0.0.0 to listen everywhere.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).partition(" (")[0]
        message = (
            f"{host}:{port} cannot be listened on ({reason}); choose another --host or --port."
        )
        raise click.ClickException(message) from None


@contextmanager
def _on_signal(act: Callable[[], object]) -> Iterator[None]:
    """Act when the process is interrupted or told to end, instead of what Python does."""
    before = {}
    with suppress(ValueError):  # not in the main thread: whoever runs that decides
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, lambda *_: act())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _silent_once(ending: Callable[[], bool]) -> Iterator[None]:
    """Keep from standard error what packages log of calls that the server's end breaks off."""
    import logging

    def wanted(_: logging.LogRecord) -> bool:
        return not ending()

    handler = logging.lastResort or logging.NullHandler()
    handler.addFilter(wanted)
    try:
        yield
    finally:
        handler.removeFilter(wanted)
