"""What the routes of the fault server are made of: a caller's connection, and ways to answer it."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servers.faults import Peer, make_response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Behaviour = Callable[["Caller"], Awaitable[bool | None]]
    """Answers one request; true when the connection may carry another one."""


@dataclass(frozen=True)
class Route:
    """One fault, at the path of its name."""

    slug: str
    behave: Behaviour
    ends: str  # error types that are right, `ok` for a success: "protocol|http"
    by: str = "GET POST"  # one of them where the other would be no different
    small: Behaviour | None = None  # in its place where the server sends byte by byte
    dripped: str = ""  # what is right then, where that differs
    post: str = ""  # what is right for a POST, where that differs
    unread: bool = False  # the request's body is left unread
    endless: bool = False  # it ends with the time of a call, with what came until then

    @property
    def methods(self):
        return self.by.split()

    @property
    def path(self):
        return f"/{self.slug}"

    def right(self, method, *, bytewise=False):
        """Return the ends that are right for a call."""
        ends = self.post if self.post and method == "POST" else self.ends
        return set(((bytewise and self.dripped) or ends).split("|"))

    def lasts(self, method, *, bytewise=False):
        """Return whether a call of it may take all the time that it has."""
        return self.endless or "timeout" in self.right(method, bytewise=bytewise)

    def arguments(self, method, *, unread=1_000_000):
        """Return what to call it with."""
        return {"text": "x" * (unread if self.unread else 1)} if method == "POST" else {}


class Caller(Peer):
    """A connection, and the request on it that is to be answered: its head, and how many so far."""

    server: Any

    def __init__(self, peer):
        super().__init__(peer.server, peer._reader, peer._writer)
        self.count = 0

    async def read_head(self):
        head = await self._reader.readuntil(b"\r\n\r\n")
        self.count += 1
        first, *lines = head[:-4].decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ", 2)
        self.path, _, self.query = self.target.partition("?")
        pairs = (line.partition(":") for line in lines)
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}

    async def read_body(self):
        await self._reader.readexactly(int(self.headers.get("content-length", "0")))


class Bytewise(Caller):
    """A connection on which every byte is sent by itself; the other side has its turn after it."""

    def __init__(self, peer):
        super().__init__(peer)
        plain = self._writer.get_extra_info("socket")
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def write(self, data):
        for position in range(len(data)):
            await super().write(data[position : position + 1])
            await asyncio.sleep(0)


def _sending(then):
    """Return what makes behaviours that send bytes, or what a function makes, and then go on."""

    def make_behaviour(data=b"", *arguments):
        async def behave(caller):
            await caller.write(data(caller) if callable(data) else data)
            return await then(caller, *arguments)

        return behave

    return make_behaviour


@_sending
async def keeps(_):
    """Wait for the next request."""
    return True


@_sending
async def closes(_):
    """Close the connection."""


@_sending
async def resets(caller):
    """Break the connection, once what was written has arrived."""
    await asyncio.sleep(0.05)
    caller.reset()


@_sending
async def hangs(caller):
    """Send nothing more."""
    await caller.hang()


@_sending
async def drips(caller, drop):
    """Go on for ever, slowly."""
    await caller.write_forever(drop, pause=0.05)


@_sending
async def floods(caller, wave):
    """Go on for ever, as fast as possible."""
    await caller.write_forever(wave)


def says(body=b"{}", *headers, kind="application/json", status="200 OK"):
    """Return a behaviour that gives a well-formed response; a function makes a large body."""
    lines = (f"Content-Type: {kind}", *headers) if kind else headers
    return keeps(lambda _: make_response(body() if callable(body) else body, *lines, status=status))


def head(*lines, status="200 OK"):
    """Return the beginning of an answer, up to and with the blank line."""
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1")
