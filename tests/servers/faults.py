"""A raw server that responds as a test tells it to, rightly or wrongly."""

import asyncio
import contextlib
import re
import socket
import struct
from pathlib import Path


def open_files():
    """Return how many files and sockets this process has open, where that can be told."""
    folder = Path("/proc/self/fd")
    return sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0


class Peer:
    """The server's end of one connection."""

    def __init__(self, server, reader, writer):
        self.server = server
        self._reader = reader
        self._writer = writer

    async def request(self):
        """Read one request, head and body, and keep it."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *([0-9]+)", head, re.IGNORECASE)
        request = head + await self._reader.readexactly(int(length[1]) if length else 0)
        self.server.requests.append(request)
        self.server.changed.set()
        return request

    async def write(self, data):
        """Send bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def write_forever(self, data, *, pause=0.0):
        """Send the same bytes until the other side has had enough."""
        while True:
            await self.write(data)
            await asyncio.sleep(pause)

    async def hang(self):
        """Wait until the other side closes."""
        while await self._reader.read(65536):
            pass
        self.server.hung_up += 1
        self.server.changed.set()

    def reset(self):
        """Break the connection: the other side sees a reset, not an end."""
        plain = self._writer.get_extra_info("socket")
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


class Faults:
    """`async with Faults(behave) as server:` then `server.url`, and what was received.

    Of its connections some have `ended`, and of those `hung_up` the other side closed.
    """

    limit = 2**16  # bytes that wait to be read, and of a head at most
    context = None  # for TLS

    def __init__(self, behave):
        self._behave = behave
        self._tasks = set()
        self.requests = []
        self.connections = self.ended = self.hung_up = 0
        self.changed = asyncio.Event()

    async def __aenter__(self):
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", 0, limit=self.limit, ssl=self.context
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self):
        """The address, without a slash at its end."""
        return f"{'https' if self.context else 'http'}://127.0.0.1:{self.port}"

    async def _serve(self, reader, writer):
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            # Cancelled by `__aexit__`; asyncio's streams would log that as an error.
            over = (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError)
            with contextlib.suppress(*over):
                await self._behave(Peer(self, reader, writer))
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            self.ended += 1
            self.changed.set()

    async def wait_until(self, condition):
        """Wait until something is the case that the attributes tell."""
        while not condition():
            self.changed.clear()
            await self.changed.wait()


async def serve(peer):
    """Respond to every request."""
    while True:
        await peer.request()
        await peer.write(make_response())


async def hang(peer):
    """Send nothing, and wait until the other side closes."""
    await peer.request()
    await peer.hang()


def stalling(data):
    """Return a behaviour that ends no response that it begins, but on another connection."""

    async def behave(peer):
        await peer.request()
        if peer.server.connections > 1:
            await peer.write(make_response())
            return
        await peer.write(data)
        await peer.hang()

    return behave


def reply_with(*responses):
    """Return a behaviour that sends these responses, one for each request, then closes."""

    async def behave(peer):
        for response in responses:
            await peer.request()
            await peer.write(response)

    return behave


def make_response(body=b"{}", *headers, status="200 OK"):
    """Return a well-formed response; `Content-Length` is added."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body
