"""Run an ASGI application on a socket until it is interrupted; needs uvicorn."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.errors import requiring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.tools.toolset import Toolset

with requiring("browse"):  # the extra `mcp` brings it, too
    import uvicorn

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_PATIENCE = 3


def run_app(app: Any, place: socket.socket, toolset: Toolset | None = None, **options: Any) -> None:
    """Serve an application on a socket that listens, and close the toolset after it.

    The options are those of `uvicorn.Config`.
    """
    web = uvicorn.Server(config_of(app, **options))

    async def run() -> None:
        async with toolset or nullcontext():
            await web.serve(sockets=[place])

    # uvicorn raises a signal anew once it is done: that must not end this process by itself.
    stopping = on_signal(lambda: web.handle_exit(signal.SIGTERM, None))
    with stopping, _silent_once(lambda: web.should_exit):
        asyncio.run(run())


def config_of(app: Any, **options: Any) -> uvicorn.Config:
    """Return uvicorn's configuration for an application, or for the path of its factory."""
    given: dict[str, Any] = {
        "log_config": None,
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": _PATIENCE,
        "ws": "none",
        **options,
    }
    return uvicorn.Config(app, **given)


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    if not host:
        raise click.UsageError("--host is empty; give 0.0.0.0 to listen everywhere.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        place = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).partition(" (")[0]
        hint = "choose another --host or --port."
        raise click.ClickException(
            f"{host}:{port} cannot be listened on ({reason}); {hint}"
        ) from None
    # Connections inherit it. asyncio does not set it on sockets like this one, and an answer in two
    # writes would wait for the client's delayed acknowledgement: 40 ms.
    place.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return place


@contextmanager
def on_signal(act: Callable[[], object]) -> Iterator[None]:
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
