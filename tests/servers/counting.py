"""An API that counts: the calls that are under way at once, and when each began."""

import asyncio
import contextlib
import json
import threading
import time
from collections import Counter

from documents import document, operation

NAME = {"name": "n", "in": "query", "schema": {"type": "string"}}
PATHS = {
    "/things": {
        "get": operation(operationId="read", parameters=[NAME]),
        "post": operation(operationId="write", parameters=[NAME]),
    },
}


class CountingApi:
    """Answers each call after `delay` seconds, in a thread of its own."""

    def __init__(self, delay=0.02):
        self.delay = delay
        self.began, self.targets = [], []
        self.under_way = self.most = 0
        self.url = ""
        self._ready = threading.Event()
        self._loop = None

    @property
    def document(self):
        return document(PATHS, servers=[{"url": self.url}])

    def reset(self, delay=0.02):
        self.delay, self.most = delay, 0
        self.began.clear()
        self.targets.clear()

    def times_each(self):
        return Counter(self.targets)

    def run(self):
        asyncio.run(self._serve())

    async def _serve(self):
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._peer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._end.wait()
        server.close()

    async def _peer(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length or 0))
                await self._answer(head.split(b" ")[1].decode(), writer)
        writer.close()

    async def _answer(self, target, writer):
        self.began.append(time.monotonic())
        self.targets.append(target)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(self.delay)
        finally:
            self.under_way -= 1
        body = json.dumps({"target": target}).encode()
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def __enter__(self):
        self._thread = threading.Thread(target=self.run, daemon=True)
        self._thread.start()
        assert self._ready.wait(5)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(5)
