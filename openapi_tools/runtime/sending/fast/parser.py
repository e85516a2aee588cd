"""The parser of aiohttp, which is written in C: heads of answers and bodies in chunks.

Nothing else of aiohttp is used, and this is the one module that imports it.

Spec: RFC 9112, sections 4, 5 and 7.1.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpcore
from aiohttp._http_parser import HttpResponseParser  # type: ignore[import-not-found] # in C, without stubs
from aiohttp.http_exceptions import HttpProcessingError

if TYPE_CHECKING:
    from aiohttp.http_parser import RawResponseMessage
    from aiohttp.streams import StreamReader

LARGEST_HEAD = 100 * 1024
_MOST_FIELDS = 4096


class _Unhurried:
    """Stands where aiohttp has a connection to slow down; here, pieces are read one by one."""

    connected = True
    _reading_paused = False

    def pause_reading(self) -> None:
        """Go on."""

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Go on."""


_UNHURRIED: Any = _Unhurried()


def parse_head(head: bytes) -> RawResponseMessage | None:
    """Return what stands in the head of an answer; None when it breaks a rule.

    Args:
        head: To the empty line.
    """
    try:
        messages = _parser(with_body=False).feed_data(head)[0]
    except HttpProcessingError:
        return None
    return messages[0][0] if len(messages) == 1 else None


class Chunks:
    """A body in chunks.

    Args:
        head: Of its answer, which `parse_head` has read.

    Attributes:
        is_complete: All of it has arrived.
        has_surplus: Something may have come after it.
    """

    __slots__ = ("_body", "_parser", "_quiet", "has_surplus", "is_complete")

    def __init__(self, head: bytes) -> None:
        self._parser = _parser(with_body=True)
        self._body: StreamReader = self._parser.feed_data(head)[0][0][1]
        self._quiet = 0
        self.is_complete = self.has_surplus = False

    def feed(self, data: bytes) -> bytes:
        """Return what of the body is in the data that follows.

        Args:
            data: As it was read; empty at the end of the connection.

        Raises:
            RemoteProtocolError: Of httpcore: it breaks HTTP, or ends too early.
        """
        if not data:
            raise httpcore.RemoteProtocolError("the body ended before its last chunk")
        # The parser goes on behind the end; only after an empty line nothing has begun.
        surplus = not data.endswith(b"\r\n\r\n")
        try:
            surplus = bool(self._parser.feed_data(data)[0]) or surplus
        except HttpProcessingError:
            if not self._body.is_eof():
                raise httpcore.RemoteProtocolError("a chunk of the body breaks HTTP") from None
            surplus = True
        body = self._body.read_nowait()
        self.is_complete = self._body.is_eof()
        self.has_surplus = self.is_complete and surplus
        self._bound(data, body)
        return body

    def _bound(self, data: bytes, body: bytes) -> None:
        """Refuse sizes, extensions and trailers without end."""
        self._quiet = 0 if body else self._quiet + len(data)
        if self._quiet > LARGEST_HEAD:
            raise httpcore.RemoteProtocolError("what stands between the chunks is too large")


def _parser(*, with_body: bool) -> HttpResponseParser:
    return HttpResponseParser(
        _UNHURRIED,
        asyncio.get_running_loop(),
        LARGEST_HEAD,
        max_line_size=LARGEST_HEAD,
        max_field_size=LARGEST_HEAD,
        max_headers=_MOST_FIELDS,
        response_with_body=with_body,
        read_until_eof=True,
        auto_decompress=False,
    )
