"""Answers: httptools reads the heads of those that are not in chunks, h11 all others.

h11 reads chunks, codings, interim answers and heads that httptools refuses. So both transports take
and refuse the same answers.

Spec: RFC 9112, sections 4 to 7.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import h11
import httpcore

from openapi_tools.transport.fast.fast_parser import parse_head

if TYPE_CHECKING:
    from openapi_tools.transport.fast.fast_parser import Head

_LARGEST_HEAD = 100 * 1024
_SWITCHED = 101
_FINAL = 200
_SPACE = 0x20
_BODILESS = (204, 304)
_HEAD_END = re.compile(rb"\n\r?\n")


def read_answer(unread: bytes, new: int, method: bytes) -> tuple[Plain | Careful, bytes] | None:
    """Return the answer that begins with some bytes, and what of its body is among them.

    Args:
        unread: All that has arrived since the request.
        new: How many of them were not there the last time.
        method: Of the request.

    Returns:
        None as long as more has to come.

    Raises:
        RemoteProtocolError: Of httpcore: it breaks HTTP, or its head is too large.
    """
    end = _HEAD_END.search(unread, max(0, len(unread) - new - 2))
    if end is None:
        if len(unread) <= _LARGEST_HEAD and unread[0] > _SPACE:
            return None
    else:
        head = parse_head(unread[: end.end()])
        if head is not None and not head.has_coding:
            plain = Plain(head, method)
            rest = unread[end.end() :]
            return plain, plain.feed(rest) if rest else b""
    careful = Careful(method)
    return careful, careful.feed(unread)


class Plain:
    """An answer of a given length, or to the end of the connection; its body arrives in pieces.

    Args:
        head: Its head.
        method: Of the request.

    Attributes:
        status: Of three digits, a final one.
        reason: The reason phrase.
        version: `b"HTTP/1.1"`.
        headers: Names and values as they were sent.
        is_complete: All of it has arrived.
        is_last: The connection can carry no other one; settled when it is complete.
    """

    __slots__ = (
        "_left",
        "_length",
        "headers",
        "is_complete",
        "is_last",
        "reason",
        "status",
        "version",
    )

    def __init__(self, head: Head, method: bytes) -> None:
        self.version = b"HTTP/1.1"
        self.status = head.status
        self.reason = head.reason
        self.headers = head.headers
        bodiless = method == b"HEAD" or self.status in _BODILESS
        self._length = self._left = 0 if bodiless else head.length
        self.is_complete = self._left == 0
        self.is_last = not head.keeps_alive

    def feed(self, data: bytes) -> bytes:
        """Take what follows the head, and return what of the body is in it.

        Args:
            data: As it was read; empty at the end of the connection.

        Raises:
            RemoteProtocolError: Of httpcore: it breaks HTTP, or ends too early.
        """
        if self._left is None:
            self.is_complete = not data
            return data
        if not data:
            received = f"received {(self._length or 0) - self._left} of {self._length} bytes"
            raise httpcore.RemoteProtocolError(f"the connection ended: {received}")
        body = data[: self._left]
        self._left -= len(body)
        self.is_complete = not self._left
        self.is_last = self.is_last or len(data) > len(body)
        return body


class Careful:
    """Any other answer.

    Args:
        method: Of the request.

    Attributes:
        status: 0 until the head of the final answer is there.
        reason: As of `Plain`.
        version: As it was sent.
        headers: As of `Plain`.
        is_complete: As of `Plain`.
    """

    __slots__ = ("_h11", "headers", "is_complete", "reason", "status", "version")

    def __init__(self, method: bytes) -> None:
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
        # What was sent decides nothing but whether there may be a body.
        self._h11.send(h11.Request(method=method, target="/", headers=[("Host", "any")]))
        self._h11.send(h11.EndOfMessage())
        self.status, self.reason, self.version = 0, b"", b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.is_complete = False

    @property
    def is_last(self) -> bool:
        """As of `Plain`."""
        return self._h11.their_state is not h11.DONE or bool(self._h11.trailing_data[0])

    def feed(self, data: bytes) -> bytes:
        """Take what follows, and return what of the body is in it.

        Args:
            data: As it was read; empty at the end of the connection.

        Raises:
            RemoteProtocolError: Of httpcore: it breaks HTTP, or ends too early.
        """
        try:
            self._h11.receive_data(data)
            return b"".join(iter(self._next, None))
        except h11.RemoteProtocolError as error:
            raise httpcore.RemoteProtocolError(str(error)) from error

    def _next(self) -> bytes | None:
        """Return what the next event holds of the body; None when there is no further one."""
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
