"""A server for one client on standard input and output.

Clients start such a process often and wait for it, so this module imports nothing that only servers
over HTTP need: neither uvicorn nor the tables of `[serve]`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

from openapi_tools.errors import require_extra
from openapi_tools.serving.process_signals import INTERRUPTED, handle_signals
from openapi_tools.serving.served_apis import ServedApi, ServedApis
from openapi_tools.serving.server_records import escape_last_resort, write_logs

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.toolsets.toolset import Toolset

with require_extra("mcp"):
    from mcp.server.stdio import stdio_server


def start_toolset_apis(
    toolset: Toolset,
    *,
    mode: str = "auto",
    log: str = "text",
    read: Callable[[], Toolset] | None = None,
    has_changed: Callable[[], bool] | None = None,
) -> ServedApis:
    """Return one toolset as the APIs of a server, and set up the log of this process.

    Args:
        toolset: The tools to serve.
        mode: How they are offered, as in `[serve]`.
        log: The format of the log, `text` or `json`.
        read: Loads the tools again, in a thread, on SIGHUP and after changes; None to keep them.
        has_changed: Returns whether the tools may have changed.
    """
    if log == "json":
        write_logs(log)
    else:
        escape_last_resort()
    apis = ServedApis([ServedApi("api", read, toolset=toolset)], mode)
    apis.has_changed = has_changed
    return apis


def run_stdio(apis: ServedApis) -> None:
    """Serve one client on standard input and output."""
    server = apis.servers[""]

    async def run() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        received: list[int] = []

        def request_stop(number: int) -> None:
            received.append(number)
            loop.call_soon_threadsafe(stop.set)

        with handle_signals(request_stop):
            async with apis.run(), stdio_server() as (read, write):
                options = server.create_initialization_options()
                serving = asyncio.create_task(server.run(read, write, options))
                stopping = asyncio.create_task(stop.wait())
                await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if stop.is_set():
                    serving.cancel()
                    await asyncio.wait({serving})
                    await apis.aclose()
                    sys.stderr.flush()
                    # A thread still reads standard input, and nothing can interrupt that.
                    os._exit(INTERRUPTED if signal.SIGINT in received else 0)
                stopping.cancel()
                await serving

    try:
        asyncio.run(run())
    except* BrokenPipeError:
        pass  # the client is gone
