"""Run an MCP server over stdio, and the names by which clients reach one over HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from openapi_tools.errors import requiring
from openapi_tools.serving.web_server import LOOPBACK, on_signal

if TYPE_CHECKING:
    from openapi_tools.serving.served_apis import ServedApis

with requiring("mcp"):
    from mcp.server.stdio import stdio_server
    from mcp.server.transport_security import TransportSecuritySettings

_ANY = ("0.0.0.0", "::")  # noqa: S104 -- told apart, not bound to


def run_stdio(apis: ServedApis) -> None:
    """Serve one client on standard input and output."""
    server = apis.servers[""]

    async def run() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        with on_signal(lambda: loop.call_soon_threadsafe(stop.set)):
            async with apis.running(), stdio_server() as (read, write):
                options = server.create_initialization_options()
                serving = asyncio.create_task(server.run(read, write, options))
                stopping = asyncio.create_task(stop.wait())
                await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if stop.is_set():
                    serving.cancel()
                    await asyncio.wait({serving})
                    await apis.aclose()
                    sys.stderr.flush()
                    # A thread still waits for a line of standard input; nothing can wake it.
                    os._exit(0)
                stopping.cancel()
                await serving

    try:
        asyncio.run(run())
    except* BrokenPipeError:
        pass  # the client is gone


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
