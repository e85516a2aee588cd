"""A raw HTTP/1.1 server that keeps what it received, byte for byte."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from servers.faults import Faults


@dataclass(frozen=True)
class Recorded:
    raw: bytes
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        values = self.header_values(name)
        assert len(values) <= 1, f"{name} was sent {len(values)} times"
        return values[0] if values else None

    def header_values(self, name: str) -> list[str]:
        return [value for header, value in self.headers if header.lower() == name.lower()]


@dataclass
class CannedResponse:
    """What the recorder sends; `raw` stands for the whole response."""

    status: int = 200
    headers: list[tuple[str, str]] = field(
        default_factory=lambda: [("Content-Type", "application/json")]
    )
    body: bytes = b"{}"
    raw: bytes = b""

    def to_bytes(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} Recorded"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += [f"Content-Length: {len(self.body)}", "", ""]
        return self.raw or "\r\n".join(lines).encode("latin-1") + self.body


class Recorder(Faults):
    """Sends `response` for every request, unless `responses` holds one for it."""

    limit = 2**26

    def __init__(self, response: CannedResponse | None = None) -> None:
        super().__init__(self._serve_peer)
        self.response = response or CannedResponse()
        self.responses: deque[CannedResponse] = deque()

    @property
    def last(self) -> Recorded:
        return self.requests[-1]

    async def _serve_peer(self, peer):
        while True:
            request = await _read_request(peer._reader)
            self.requests.append(request)
            self.changed.set()
            await peer.write(self.next_response(request).to_bytes())

    def next_response(self, request: Recorded) -> CannedResponse:
        """Return what is sent for a request."""
        return self.responses.popleft() if self.responses else self.response


class Held(Recorder):
    """Responds once `release` is set."""

    def __init__(self, response: CannedResponse | None = None) -> None:
        super().__init__(response)
        self.release = asyncio.Event()

    async def _serve_peer(self, peer):
        self.requests.append(await _read_request(peer._reader))
        self.changed.set()
        await self.release.wait()
        await peer.write(self.response.to_bytes())


async def _read_request(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head[:-4].split(b"\r\n")
    method, target, _ = first.decode("latin-1").split(" ", 2)
    headers = []
    for line in lines:
        name, _, value = line.decode("latin-1").partition(":")
        headers.append((name, value.strip(" \t")))
    sent = {name.lower(): value for name, value in headers}
    if sent.get("transfer-encoding", "").lower() == "chunked":
        raw, body = await _read_chunks(reader)
    else:
        raw = body = await reader.readexactly(int(sent.get("content-length", "0")))
    return Recorded(head + raw, method, target, headers, body)


async def _read_chunks(reader):
    raw, body = b"", b""
    while True:
        line = await reader.readuntil(b"\r\n")
        chunk = await reader.readexactly(int(line, 16) + 2)
        raw += line + chunk
        if chunk == b"\r\n":
            return raw, body
        body += chunk[:-2]
