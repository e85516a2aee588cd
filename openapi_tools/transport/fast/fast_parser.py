"""Heads of answers, read by httptools, whose parser (llhttp) is written in C.

This is the one module that imports httptools.

Spec: RFC 9112, sections 4 to 6.
"""

from __future__ import annotations

import re

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

_STATUS_LINE = re.compile(rb"HTTP/1\.1 [2-9]\d\d(?: [^\x00\x0b\x0c\r\n]*)?\r\n")
"""Of a final answer. llhttp takes other protocols, an empty line before, and NUL in a reason."""


class Head:
    """The head of an answer, as the parser tells it.

    Attributes:
        status: Of three digits.
        reason: The reason phrase; may be empty.
        headers: Names and values as they were sent.
        length: `Content-Length`, if there is one.
        has_coding: `Transfer-Encoding` is among the headers.
        keeps_alive: The connection can carry another answer.
        is_complete: The empty line was read.
    """

    __slots__ = (
        "_parser",
        "has_coding",
        "headers",
        "is_complete",
        "keeps_alive",
        "length",
        "reason",
        "status",
    )

    def __init__(self, data: bytes) -> None:
        self.reason = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.length: int | None = None
        self.has_coding = self.is_complete = False
        self._parser = HttpResponseParser(self)
        try:
            self._parser.feed_data(data)
        finally:
            del self._parser  # it refers to this object

    def on_status(self, reason: bytes) -> None:
        """Take the reason phrase."""
        self.reason = reason

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; the parser has checked a length, and leaves spaces behind values."""
        value = value.rstrip(b" \t")
        self.headers.append((name, value))
        lower = name.lower()
        if lower == b"content-length":
            self.length = int(value)
        elif lower == b"transfer-encoding":
            self.has_coding = True

    def on_headers_complete(self) -> None:
        """Take what only the parser knows, and forgets at the end of the answer."""
        self.status = self._parser.get_status_code()
        self.keeps_alive = self._parser.should_keep_alive()
        self.is_complete = True


def parse_head(data: bytes) -> Head | None:
    """Return the head of a final answer; None when it breaks a rule or is not of HTTP/1.1.

    Args:
        data: To the empty line.
    """
    if not _STATUS_LINE.match(data):
        return None
    try:
        head = Head(data)
    except (HttpParserError, HttpParserUpgrade):
        return None
    return head if head.is_complete else None
