"""The document, the calls and the server of the rows about calls.

The server is a process of its own: 200 bytes of JSON for every request, connections kept open. It
prints its port and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

BASE = "http://127.0.0.1:9"
URL = "/repos/ada/rex/issues"
QUERY = {"state": "open"}
BODY = {"title": "It does not bark", "labels": ["bug", "dog"]}
ANSWER = json.dumps({"id": 1, "name": "Rex", "open": True, "note": "x" * 150}).encode()
_TEXT = {"type": "string"}
_PATH = [
    {"name": name, "in": "path", "required": True, "schema": _TEXT} for name in ("owner", "repo")
]
_SCHEMA = {
    "type": "object",
    "properties": {"title": _TEXT, "labels": {"type": "array", "items": _TEXT}},
    "required": ["title"],
}
_RESPONSES = {"200": {"description": "Done."}}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.1",
    "info": {"title": "Issues", "version": "1"},
    "paths": {
        "/repos/{owner}/{repo}/issues": {
            "get": {
                "operationId": "list",
                "parameters": [
                    *_PATH,
                    {
                        "name": "state",
                        "in": "query",
                        "schema": {"type": "string", "enum": ["open", "closed"]},
                    },
                ],
                "responses": _RESPONSES,
            },
            "post": {
                "operationId": "create",
                "parameters": _PATH,
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": _SCHEMA}},
                },
                "responses": _RESPONSES,
            },
        }
    },
}
_HEAD = (
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    f"Content-Length: {len(ANSWER)}\r\nConnection: keep-alive\r\n\r\n"
)
_WHOLE = _HEAD.encode() + ANSWER
_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


class _Answers(asyncio.Protocol):
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
