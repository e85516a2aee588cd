"""The messages of an MCP client, with a handshake and without, and the smallest client over HTTP.

A client library would take more CPU time and wait longer than the servers that are measured.
"""

import asyncio
import json
from typing import NamedTuple

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
_PREFIX = "io.modelcontextprotocol"
_CLIENT = {"name": "benchmark", "version": "1"}


def encode_message(method, *, number=None, **params):
    identity = {} if number is None else {"id": number}
    return json.dumps({"jsonrpc": "2.0", **identity, "method": method, "params": params}).encode()


def initialization():
    return encode_message(
        "initialize", number=0, protocolVersion=HANDSHAKE, capabilities={}, clientInfo=_CLIENT
    )


INITIALIZED = encode_message("notifications/initialized")
LIST = encode_message("tools/list", number=1)


class ToolCall(NamedTuple):
    """A call of a tool in one version of the protocol."""

    version: str
    name: str
    arguments: dict[str, object]

    @property
    def body(self):
        params = {"name": self.name, "arguments": self.arguments}
        if self.version == MODERN:
            params["_meta"] = {
                f"{_PREFIX}/protocolVersion": MODERN,
                f"{_PREFIX}/clientInfo": _CLIENT,
                f"{_PREFIX}/clientCapabilities": {},
            }
        return encode_message("tools/call", number=1, **params)

    @property
    def headers(self):
        headers = {"MCP-Protocol-Version": self.version}
        if self.version == MODERN:
            headers |= {"Mcp-Method": "tools/call", "Mcp-Name": self.name}
        return headers


class Connection:
    """One connection to a server, opened again if the server closes it."""

    def __init__(self, port, path="/mcp"):
        self._port, self._path = port, path
        self._reader = self._writer = None
        self.session = {}

    async def post(self, body, headers=()):
        """Return status, headers and body of the response."""
        if self._reader is not None and self._reader.at_eof():  # servers close idle connections
            await self.close()
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(
                "127.0.0.1", self._port, limit=2**24
            )
        lines = [f"POST {self._path} HTTP/1.1", f"Host: 127.0.0.1:{self._port}"]
        fields = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Content-Length": len(body),
            **self.session,
            **dict(headers),
        }
        lines += [f"{name}: {value}" for name, value in fields.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        return await self._read_response()

    async def open_session(self):
        """Shake hands, and keep the session that the server may open."""
        _, headers, _ = await self.post(initialization())
        if name := headers.get("mcp-session-id"):
            self.session = {"Mcp-Session-Id": name}
        await self.post(INITIALIZED, {"MCP-Protocol-Version": HANDSHAKE})

    async def call_tool(self, call):
        """Return the body of the response, JSON or one event."""
        status, _, body = await self.post(call.body, call.headers)
        text = body.decode()
        if status >= 300 or '"result"' not in text or '"isError":true' in text.replace(" ", ""):
            raise RuntimeError(f"status {status}: {text[:200]}")
        return text

    async def close(self):
        if self._writer is not None:
            self._writer.close()
            self._reader = self._writer = None

    async def _read_response(self):
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        version, status, *_ = first.split()
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        if headers.get("transfer-encoding") == "chunked":
            body = await self._read_chunks()
        elif "content-length" in headers or headers.get("connection") != "close":
            body = await self._reader.readexactly(int(headers.get("content-length", 0)))
        else:
            body = await self._reader.read()
        if version == "HTTP/1.0" or headers.get("connection") == "close":
            await self.close()
        return int(status), headers, body

    async def _read_chunks(self):
        body = b""
        while size := int(await self._reader.readline(), 16):
            body += await self._reader.readexactly(size)
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return body
