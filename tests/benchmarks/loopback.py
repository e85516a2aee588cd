"""The document, the calls and the server of the rows about calls.

The server is a process of its own: 200 bytes of JSON for every request (a token for POST /token),
connections kept open. It prints its port and ends when its standard input does.
"""

import asyncio
import contextlib
import json
import subprocess
import sys

BASE = "http://127.0.0.1:9"
URL = "/repos/ada/rex/issues"
QUERY = {"state": "open"}
BODY = {"title": "It does not bark", "labels": ["bug", "dog"]}
RESPONSE = json.dumps({"id": 1, "name": "Rex", "open": True, "note": "x" * 150}).encode()
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
TOKEN = json.dumps({"access_token": "t", "token_type": "Bearer", "expires_in": 3600}).encode()


def _with_head(body):
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: keep-alive\r\n\r\n"
    )
    return head.encode() + body


_WHOLE, _TOKEN = _with_head(RESPONSE), _with_head(TOKEN)


async def _serve_client(reader, writer):
    with contextlib.suppress(asyncio.IncompleteReadError):
        while head := (await reader.readuntil(b"\r\n\r\n")).lower():
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length or 0))
            writer.write(_TOKEN if head.startswith(b"post /token ") else _WHOLE)
    writer.close()


class LoopbackServer:
    def __enter__(self):
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe)
        return f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def __exit__(self, *_):
        self._process.communicate()


async def _serve():
    server = await asyncio.start_server(_serve_client, "127.0.0.1")
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
