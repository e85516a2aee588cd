"""Names of hosts -> addresses, in threads of their own.

A lookup may hang for as long as the system's resolver waits. The loop's own executor has few
threads and other work; a few names that hang would hold that up.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

_MOST = 64


class _Lookup(threading.Thread):
    """Counted among the threads of this process: a child of it has none of them."""


async def look_up(host: str, port: int) -> list[Any]:
    """Return what `socket.getaddrinfo` gives for TCP.

    Args:
        host: A name.
        port: Of the host.

    Raises:
        OSError: There is no such name, or too many lookups hang.
        UnicodeError: It cannot be a name.
    """
    if sum(isinstance(thread, _Lookup) for thread in threading.enumerate()) >= _MOST:
        raise OSError(f"{_MOST} other lookups are waiting")
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[Any]] = loop.create_future()

    def settle(found: list[Any] | None, error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(found or [])

    def run() -> None:
        found, fault = None, None
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            fault = error
        try:
            loop.call_soon_threadsafe(settle, found, fault)
        except RuntimeError:
            return  # the loop has ended, and nobody waits

    _Lookup(target=run, name=f"look up {host:.60}", daemon=True).start()
    return await future
