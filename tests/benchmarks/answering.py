"""A server in a process of its own: 200 bytes of JSON for every request, connections kept open.

It prints its port and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys

from issues import ANSWER

_HEAD = (
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    f"Content-Length: {len(ANSWER)}\r\nConnection: keep-alive\r\n\r\n"
)
_WHOLE = _HEAD.encode() + ANSWER
_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


class _Answers(asyncio.Protocol):
    """Reads requests whose bodies have a length."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._waiting = b""

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        while (head := self._waiting.find(_END)) >= 0:
            whole = head + len(_END) + _body(self._waiting[:head].lower())
            if len(self._waiting) < whole:
                return
            self._waiting = self._waiting[whole:]
            self._transport.write(_WHOLE)


def _body(head: bytes) -> int:
    at = head.find(_LENGTH)
    return int(head[at + len(_LENGTH) :].split(b"\r\n", 1)[0]) if at >= 0 else 0


class Answering:
    """`with Answering() as url:`."""

    def __enter__(self) -> str:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe)
        return f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Answers, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
