"""Requests as bytes.

Spec: RFC 9112, sections 3, 5 and 6.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9a-zA-Z]+")
_VALUE = re.compile(rb"(?:[^\x00\s]+(?:[ \t]+[^\x00\s]+)*)?")
_METHOD = re.compile(_NAME.pattern.decode("ascii"))
_TARGET = re.compile(rb"[\x21-\x7e]+")
_SCHEMES = (b"http", b"https")
_HOST, _LENGTH, _CODING, _LASTING = _FRAMING = (
    b"host",
    b"content-length",
    b"transfer-encoding",
    b"connection",
)
_LASTS = b"keep-alive"
_DIGITS = 18
_JOINED = 64 * 1024


Place = tuple[bytes, bytes, int | None]


@dataclass(slots=True)
class Outgoing:
    """A request that is about to be written.

    Attributes:
        place: Where it goes: scheme, host, and port where that is not the usual one.
        method: Of the request.
        head: Its first line and header, with the empty line that ends them.
        length: Of the body in bytes, as the header says; None for chunks.
        body: A stream of httpx: bytes at hand, or pieces that come later.
        is_last: The connection carries nothing after it.
    """

    place: Place
    method: bytes
    head: bytes
    length: int | None
    body: Any
    is_last: bool

    def at_once(self) -> bytes | None:
        """Return the whole of it when that is at hand and short; None otherwise.

        Raises:
            LocalProtocolError: Of httpcore: the body is not as long as the header says.
        """
        if not isinstance(self.body, httpx.ByteStream) or self.length is None:
            return None
        body = b"".join(self.body)
        if len(body) != self.length:
            raise _wrong_length()
        return self.head + body if len(body) <= _JOINED else None

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it is written.

        Raises:
            LocalProtocolError: Of httpcore: the body is not as long as the header says.
        """
        left = self.length
        async for piece in self.body:
            if left is None:
                if piece:
                    yield b"%x\r\n%b\r\n" % (len(piece), piece)
                continue
            left -= len(piece)
            if left < 0:
                raise _wrong_length()
            yield piece
        if left:
            raise _wrong_length()
        if left is None:
            yield b"0\r\n\r\n"


def outgoing(request: httpx.Request) -> Outgoing | None:
    """Return a request as it is written.

    Args:
        request: With the header that httpx gives it.

    Returns:
        None when there is anything unusual about it, which is then httpcore's to judge.
    """
    url, target = request.url, request.url.raw_path
    place = (url.raw_scheme, url.raw_host, url.port)
    if place[0] not in _SCHEMES or not _TARGET.fullmatch(target) or _is_unusual(request):
        return None
    method = request.method.encode("ascii")
    lines = [b"%b %b HTTP/1.1\r\n" % (method, target)]
    framing: dict[bytes, bytes] = {}
    for name, value in request.headers.raw:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            return None
        line = b"%b: %b\r\n" % (name, value)
        lower = name.lower()
        if lower in _FRAMING:
            if lower in framing:
                return None
            framing[lower] = value.lower()
        if lower == _HOST:
            lines.insert(1, line)
        else:
            lines.append(line)
    if not _is_framed(framing):
        return None
    lines.append(b"\r\n")
    length = None if _CODING in framing else int(framing.get(_LENGTH, b"0"))
    is_last = framing.get(_LASTING, _LASTS) != _LASTS
    return Outgoing(place, method, b"".join(lines), length, request.stream, is_last)


def _is_unusual(request: httpx.Request) -> bool:
    """Whether its method, its target or its body are of a kind that httpcore has rules for."""
    if request.method == "CONNECT" or not _METHOD.fullmatch(request.method):
        return True
    return "target" in request.extensions or not isinstance(request.stream, httpx.AsyncByteStream)


def _is_framed(framing: dict[bytes, bytes]) -> bool:
    """Whether the header names a host, and says in one clear way where the body ends."""
    if _HOST not in framing:
        return False
    coding = framing.get(_CODING)
    if coding is not None:
        return coding == b"chunked" and _LENGTH not in framing
    length = framing.get(_LENGTH, b"0")
    return length.isdigit() and len(length) <= _DIGITS


def _wrong_length() -> httpcore.LocalProtocolError:
    return httpcore.LocalProtocolError("the body is not as long as its header says")
