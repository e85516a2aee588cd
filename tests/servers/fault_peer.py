"""What the routes of the fault server are made of: a caller's connection, and ways to answer it."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servers.faults import Peer, answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Behaviour = Callable[["Caller"], Awaitable[bool]]
    """Answers one request; true when the connection may carry another one."""


@dataclass(frozen=True)
class Route:
    """One fault, at the path of its name.

    Attributes:
        slug: The path without its slash.
        row: Which threat it is a case of.
        behave: What the server does.
        ends: Error types that are right, `ok` for a success: `"protocol|http"`.
        methods: With which it can be asked for.
        post: What is right for a POST, where that differs.
        unread: The request's body is left unread.
        hangs: It ends with the time that a call has, and not before.
        small: What is done instead where the server sends byte by byte, for want of time.
        dripped: What is right then, where that differs.
    """

    slug: str
    row: str
    behave: Behaviour
    ends: str
    methods: tuple[str, ...] = ("GET", "POST")
    post: str = ""
    unread: bool = False
    hangs: bool = False
    small: Behaviour | None = None
    dripped: str = ""

    @property
    def path(self):
        """Where it is."""
        return f"/{self.slug}"

    def right(self, method, *, bytewise=False):
        """Return the ends that are right for a call."""
        ends = self.post if self.post and method == "POST" else self.ends
        return set(((bytewise and self.dripped) or ends).split("|"))


class Caller(Peer):
    """A connection, and the request on it that is to be answered.

    Attributes:
        count: How many requests it has carried.
        head: Request line and headers of the last one.
        method: Of the last one.
        target: Of the last one, with the query.
        headers: Of the last one, names in lower case.
        body: Of the last one; empty when it was not read.
    """

    server: Any

    def __init__(self, peer):
        super().__init__(peer.server, peer._reader, peer._writer)
        self.count = 0

    async def read_head(self):
        """Read the head of a request."""
        self.head = await self._reader.readuntil(b"\r\n\r\n")
        self.count += 1
        first, *lines = self.head[:-4].decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ", 2)
        pairs = (line.partition(":") for line in lines)
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}
        self.body = b""

    async def read_body(self):
        """Read its body."""
        self.body = await self._reader.readexactly(int(self.headers.get("content-length", "0")))


class Bytewise(Caller):
    """A connection on which every byte is sent by itself."""

    def __init__(self, peer):
        super().__init__(peer)
        plain = self._writer.get_extra_info("socket")
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def write(self, data):
        """Send bytes one by one; the other side has its turn after each."""
        for position in range(len(data)):
            await super().write(data[position : position + 1])
            await asyncio.sleep(0)


def says(body=b"{}", *headers, kind="application/json", status="200 OK"):
    """Return a behaviour that gives a well-formed answer."""
    typed = (f"Content-Type: {kind}",) if kind else ()
    return keeps(answer(body, *typed, *headers, status=status))


def keeps(data):
    """Return a behaviour that sends these bytes and waits for the next request."""

    async def behave(caller):
        await caller.write(data)
        return True

    return behave


def closes(data=b""):
    """Return a behaviour that sends these bytes and closes the connection."""

    async def behave(caller):
        await caller.write(data)
        return False

    return behave


def resets(data=b""):
    """Return a behaviour that sends these bytes and breaks the connection."""

    async def behave(caller):
        await caller.write(data)
        if data:
            await asyncio.sleep(0.05)  # what was written has to arrive before the reset
        caller.reset()
        return False

    return behave


def hangs(data=b""):
    """Return a behaviour that sends these bytes and nothing more."""

    async def behave(caller):
        await caller.write(data)
        await caller.hang()
        return False

    return behave


def drips(start, drop):
    """Return a behaviour that goes on for ever, slowly."""

    async def behave(caller):
        await caller.write(start)
        await caller.write_forever(drop, pause=0.05)
        return False

    return behave


def floods(start, wave):
    """Return a behaviour that goes on for ever, as fast as it can."""

    async def behave(caller):
        await caller.write(start)
        await caller.write_forever(wave)
        return False

    return behave


def head(*lines, status="200 OK"):
    """Return the beginning of an answer, up to and with the blank line."""
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1")
