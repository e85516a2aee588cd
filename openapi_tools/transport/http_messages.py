"""HTTP/1.1 messages as bytes: h11 writes requests; h11 or httptools reads answers.

httptools, whose parser (llhttp) is written in C, reads the heads of answers that are not chunked.
h11 reads all others and every head that httptools refuses, so that the same answers are accepted
with and without it.

Spec: RFC 9112.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import h11
import httpx

try:
    import httptools
except ImportError:  # the extra `fast` is not installed
    httptools = None  # type: ignore[assignment] # to mypy a name is always the module

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

HAS_HTTPTOOLS = httptools is not None

_LARGEST_HEAD = 100 * 1024
_SWITCHED = 101
_FINAL = 200
_SPACE = 0x20
_BODILESS = (204, 304)
_HEAD_END = re.compile(rb"\n\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/1\.1 [2-9]\d\d(?: [^\x00\x0b\x0c\r\n]*)?\r\n")
"""Of a final answer. llhttp takes other protocols, an empty line before, and NUL in a reason."""


class WireExchange:
    """One request and the answer to it, as bytes.

    Args:
        request: With the headers that it is sent with.
        fast: Read heads with httptools.

    Attributes:
        status: Of the final answer; 0 until its head has arrived.
        reason: The reason phrase.
        version: For instance `b"HTTP/1.1"`.
        headers: Names and values as they were sent.
        is_complete: The whole answer has arrived.

    Raises:
        LocalProtocolError: Of httpx: the request breaks HTTP.
    """

    def __init__(self, request: httpx.Request, *, fast: bool) -> None:
        self._request = request
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
        self._fast = fast
        self._unread = b""
        self._length: int | None = None
        self._left: int | None = None
        self._is_last = False
        self.status, self.reason, self.version = 0, b"", b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.is_complete = False
        try:
            event = h11.Request(
                method=request.method,
                target=request.url.raw_path,
                headers=request.headers.raw,
            )
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        self._head = self._written(event)

    @property
    def can_be_followed(self) -> bool:
        """Whether the connection can carry another request after the complete answer."""
        if not self.is_complete or self._h11.our_state is not h11.DONE:
            return False
        if self._fast:
            return not self._is_last
        return self._h11.their_state is h11.DONE and not self._h11.trailing_data[0]

    def at_once(self) -> bytes | None:
        """Return the bytes of the request if its body is at hand; None when it comes in pieces.

        Raises:
            LocalProtocolError: Of httpx: the body is not as long as the header says.
        """
        if not isinstance(self._request.stream, httpx.ByteStream):
            return None
        body = b"".join(self._request.stream)
        content = self._written(h11.Data(body)) if body else b""
        return b"".join((self._head, content, self._written(h11.EndOfMessage())))

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield the bytes of the request as its body comes.

        Raises:
            LocalProtocolError: As `at_once`.
        """
        yield self._head
        async for piece in self._request.stream:  # type: ignore[union-attr] # of an AsyncClient
            yield self._written(h11.Data(piece))
        yield self._written(h11.EndOfMessage())

    def _written(self, event: h11.Request | h11.Data | h11.EndOfMessage) -> bytes:
        try:
            return self._h11.send(event) or b""
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error

    def feed(self, data: bytes) -> bytes:
        """Take bytes that arrived, and return the part of the body among them.

        Args:
            data: As read from the connection; empty at its end.

        Raises:
            RemoteProtocolError: Of httpx: the answer breaks HTTP, or ends too early.
        """
        if not data and not self.status:
            reason = "the server disconnected without sending an answer"
            raise httpx.RemoteProtocolError(reason)
        if not self._fast:
            return self._read_by_h11(data)
        return self._body(data) if self.status else self._start(data)

    def _start(self, data: bytes) -> bytes:
        """Read the head with httptools where it can; else leave the answer to h11."""
        end = _HEAD_END.search(self._unread + data, max(0, len(self._unread) - 2))
        self._unread += data
        if end is None and len(self._unread) <= _LARGEST_HEAD and self._unread[0] > _SPACE:
            return b""
        unread, self._unread = self._unread, b""
        head = None if end is None else _Head.parsed(unread[: end.end()])
        if head is None or head.has_coding or end is None:
            self._fast = False
            return self._read_by_h11(unread)
        bodiless = self._request.method == "HEAD" or head.status in _BODILESS
        self._length = self._left = 0 if bodiless else head.length
        self._is_last = not head.keeps_alive
        self.status, self.reason, self.version = head.status, head.reason, b"HTTP/1.1"
        self.headers = head.headers
        self.is_complete = self._left == 0
        rest = unread[end.end() :]
        return self._body(rest) if rest else b""

    def _body(self, data: bytes) -> bytes:
        if self._left is None:
            self.is_complete = not data
            return data
        if not data:
            received = f"received {(self._length or 0) - self._left} of {self._length} bytes"
            raise httpx.RemoteProtocolError(f"the connection ended: {received}")
        body = data[: self._left]
        self._left -= len(body)
        self.is_complete = not self._left
        self._is_last = self._is_last or len(data) > len(body)
        return body

    def _read_by_h11(self, data: bytes) -> bytes:
        try:
            self._h11.receive_data(data)
            return b"".join(iter(self._next, None))
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error

    def _next(self) -> bytes | None:
        """Return the body's part in h11's next event; None after the last event."""
        event = self._h11.next_event()
        if isinstance(event, h11.Data):
            return bytes(event.data)
        if isinstance(event, h11.Response | h11.InformationalResponse):
            if event.status_code >= _FINAL or event.status_code == _SWITCHED:
                self.status, self.reason = event.status_code, event.reason
                self.version = b"HTTP/" + event.http_version
                self.headers = event.headers.raw_items()
            return b""
        self.is_complete = event is not h11.NEED_DATA
        return None


class _Head:
    """The head of an answer, filled by the callbacks of httptools."""

    def __init__(self, data: bytes) -> None:
        self.reason = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.length: int | None = None
        self.has_coding = self.is_complete = False
        self._parser = httptools.HttpResponseParser(self)
        try:
            self._parser.feed_data(data)
        finally:
            del self._parser  # it refers to this object

    @classmethod
    def parsed(cls, data: bytes) -> _Head | None:
        """Return the head of a final answer; None when httptools cannot be trusted with it."""
        if not _STATUS_LINE.match(data):
            return None
        try:
            head = cls(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            return None
        return head if head.is_complete else None

    def on_status(self, reason: bytes) -> None:
        self.reason = reason

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; the parser has checked a length, and leaves spaces behind values."""
        value = value.rstrip(b" \t")
        self.headers.append((name, value))
        lower = name.lower()
        if lower == b"content-length":
            self.length = int(value)
        elif lower == b"transfer-encoding":
            self.has_coding = True

    def on_headers_complete(self) -> None:
        """Keep the parser's state, which it forgets at the end of the answer."""
        self.status = self._parser.get_status_code()
        self.keeps_alive = self._parser.should_keep_alive()
        self.is_complete = True
