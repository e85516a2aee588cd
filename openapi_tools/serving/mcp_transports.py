"""Run an MCP server over stdio or streamable HTTP; needs the extra `mcp`."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.contracts.mcp import create_server
from openapi_tools.extras import requiring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.tools.toolset import Toolset

with requiring("mcp"):
    import uvicorn
    from mcp.server.stdio import stdio_server
    from mcp.server.transport_security import TransportSecuritySettings

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ANY = ("0.0.0.0", "::")  # noqa: S104 -- told apart, not bound to
_PATIENCE = 3


def run_stdio(toolset: Toolset) -> None:
    """Serve one client on standard input and output."""
    server = create_server(toolset)

    async def run() -> None:
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
        pass  # the client is gone


def run_http(
    toolset: Toolset,
    place: socket.socket,
    *,
    path: str,
    security: TransportSecuritySettings,
    sessions: int | None,
) -> None:
    """Serve any number of clients over streamable HTTP, on a socket that listens."""
    limit: dict[str, Any] = {} if sessions is None else {"max_sessions": sessions}
    app = create_server(toolset).streamable_http_app(
        streamable_http_path=path, transport_security=security, **limit
    )
    logs: dict[str, Any] = {"log_config": None, "log_level": "warning", "access_log": False}
    config = uvicorn.Config(app, server_header=False, timeout_graceful_shutdown=_PATIENCE, **logs)
    web = uvicorn.Server(config)

    async def run() -> None:
        async with toolset:
            await web.serve(sockets=[place])

    # uvicorn raises a signal anew once it is done: that must not end this process by itself.
    stopping = _on_signal(lambda: web.handle_exit(signal.SIGTERM, None))
    with stopping, _silent_once(lambda: web.should_exit):
        asyncio.run(run())


def security(shown: str, names: tuple[str, ...], port: int) -> TransportSecuritySettings:
    """Return the names that clients may use; pages of other servers cannot reach this one."""
    is_local = shown in LOOPBACK or shown.strip("[]") in _ANY
    own = [*dict.fromkeys((shown, *(LOOPBACK if is_local else ())))]
    others = [host for name in names for host in (name, f"{name}:*")]
    origins = [*others, *(f"{name}:{port}" for name in own)]
    return TransportSecuritySettings(
        allowed_hosts=[*others, *(host for name in own for host in (name, f"{name}:*"))],
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in origins],
    )


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    if not host:
        raise click.UsageError("--host is empty; give 0.0.0.0 to listen everywhere.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).partition(" (")[0]
        hint = "choose another --host or --port."
        raise click.ClickException(
            f"{host}:{port} cannot be listened on ({reason}); {hint}"
        ) from None


@contextmanager
def _on_signal(act: Callable[[], object]) -> Iterator[None]:
    """Replace the handlers of SIGINT and SIGTERM while the body runs."""
    before = {}
    with suppress(ValueError):  # only the main thread can set handlers
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, lambda *_: act())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _silent_once(ending: Callable[[], bool]) -> Iterator[None]:
    """Keep log records of calls aborted by the shutdown off standard error."""

    def wanted(_: logging.LogRecord) -> bool:
        return not ending()

    handler = logging.lastResort or logging.NullHandler()
    handler.addFilter(wanted)
    try:
        yield
    finally:
        handler.removeFilter(wanted)
