"""The document, the calls and the server of the rows about calls.

The server is a process of its own: 200 bytes of JSON for every request, connections kept open. It
prints its port and ends when its standard input does.
"""

import asyncio
import json
import subprocess
import sys

BASE = "http://127.0.0.1:9"
URL = "/repos/ada/rex/issues"
QUERY = {"state": "open"}
BODY = {"title": "It does not bark", "labels": ["bug", "dog"]}
ANSWER = json.dumps({"id": 1, "name": "Rex", "open": True, "note": "x" * 150}).encode()
_TEXT = {"type": "string"}
_OWNER, _REPO = (
    {"name": name, "in": "path", "required": True, "schema": _TEXT} for name in ("owner", "repo")
)
_STATE = {"name": "state", "in": "query", "schema": {**_TEXT, "enum": ["open", "closed"]}}
_SCHEMA = {
    "type": "object",
    "properties": {"title": _TEXT, "labels": {"type": "array", "items": _TEXT}},
    "required": ["title"],
}
_BODY = {"required": True, "content": {"application/json": {"schema": _SCHEMA}}}
_DONE = {"responses": {"200": {"description": "Done."}}}
_LIST = {"operationId": "list", "parameters": [_OWNER, _REPO, _STATE], **_DONE}
_CREATE = {"operationId": "create", "parameters": [_OWNER, _REPO], "requestBody": _BODY, **_DONE}
DOCUMENT = {
    "openapi": "3.1.1",
    "info": {"title": "Issues", "version": "1"},
    "paths": {"/repos/{owner}/{repo}/issues": {"get": _LIST, "post": _CREATE}},
}
_HEAD = (
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    f"Content-Length: {len(ANSWER)}\r\nConnection: keep-alive\r\n\r\n"
)
_WHOLE = _HEAD.encode() + ANSWER
_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


class _Answers(asyncio.Protocol):
    def connection_made(self, transport):
        self._transport = transport
        self._waiting = b""

    def data_received(self, data):
        self._waiting += data
        while (head := self._waiting.find(_END)) >= 0:
            whole = head + len(_END) + _body(self._waiting[:head].lower())
            if len(self._waiting) < whole:
                return
            self._waiting = self._waiting[whole:]
            self._transport.write(_WHOLE)


def _body(head):
    at = head.find(_LENGTH)
    return int(head[at + len(_LENGTH) :].split(b"\r\n", 1)[0]) if at >= 0 else 0


class Answering:
    def __enter__(self):
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe)
        return f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def __exit__(self, *_):
        self._process.communicate()


async def _serve():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Answers, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
