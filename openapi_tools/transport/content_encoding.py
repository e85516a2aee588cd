"""Content codings decoded in bounded steps: small pieces, counted.

A kilobyte of gzip can expand to megabytes, and gzip inside gzip to more than any memory holds.

Spec: RFC 9110, section 8.4; RFC 1950, 1951 and 1952 for the formats.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError
from openapi_tools.redaction import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

CODINGS = "gzip, deflate"
"""The supported codings, for `Accept-Encoding`."""

_SHOWN = 60
_STEP = 64 * 1024
_CHAINED = 5
_MEMBERS = 10_000
_GZIP, _ZLIB, _RAW = 31, 15, -15
_GZIP_MAGIC = b"\x1f\x8b"


class Decoder:
    """Decodes the content codings of one answer.

    Args:
        header: The `Content-Encoding`, `""` when there is none.
        limit: Bytes that each coding may give.

    Raises:
        CallError: `decode` for a coding that is not known, or more than five of them.
    """

    def __init__(self, header: str, limit: int) -> None:
        names = [name.strip().lower() for name in header.split(",")]
        named = [name for name in names if name not in ("", "identity")]
        if len(named) > _CHAINED:
            reason = f"the answer is coded {len(named)} times over; at most {_CHAINED} are undone."
            raise CallError("decode", reason)
        self._codings: list[_Gzip | _Deflate] = [_coding(name, limit) for name in reversed(named)]
        self._room = limit + limit // 64 + _STEP

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield decoded pieces of at most 64 KiB.

        Raises:
            CallError: `decode` for data that is not what its coding says, `too_large` at the limit.
        """
        # No coding makes data that much longer; data that decodes to nothing may never end.
        self._room -= len(data)
        if self._room < 0:
            raise too_large()
        # The rest of each step is copied: long data would be copied many times.
        for start in range(0, len(data), _STEP):
            yield from self._through(data[start : start + _STEP], 0)

    def finish(self) -> None:
        """Check that nothing is missing at the end.

        Raises:
            CallError: `decode` when something is.
        """
        for coding in self._codings:
            coding.finish()

    def _through(self, data: bytes, start: int) -> Iterator[bytes]:
        if start == len(self._codings):
            yield data
            return
        for piece in self._codings[start].feed(data):
            yield from self._through(piece, start + 1)


def _coding(name: str, limit: int) -> _Gzip | _Deflate:
    match name:
        case "gzip" | "x-gzip":
            return _Gzip(limit)
        case "deflate":
            return _Deflate(limit)
        case _:
            shown = excerpt(name, _SHOWN)
            reason = f"the answer is coded as {shown!r}, which is not supported."
            raise CallError("decode", reason)


class _Inflater:
    """Decodes zlib streams, up to a limit for all of them."""

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self._left = limit

    def pieces(self, stream: Any, data: bytes) -> Iterator[bytes]:
        piece = b""
        # After a full piece more may follow although all data has been consumed.
        while (data or len(piece) == _STEP) and not stream.eof:
            try:
                piece = stream.decompress(data, _STEP)
            except zlib.error:
                raise CallError("decode", f"the answer says {self.name} and is not.") from None
            data = stream.unconsumed_tail
            self._left -= len(piece)
            if self._left < 0:
                raise too_large()
            if piece:
                yield piece

    def check_end(self, stream: Any | None) -> None:
        if stream is not None and not stream.eof:
            raise CallError("decode", f"the answer's {self.name} ends too early.")


class _Gzip:
    """One gzip member after another; zeros after the last one are padding."""

    def __init__(self, limit: int) -> None:
        self._inflater = _Inflater("gzip", limit)
        self._stream: Any | None = None
        self._members = 0
        self._between = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        data = self._between + data
        self._between = b""
        while data:
            if self._stream is None and not self._starts_member(data):
                return
            if self._stream is None:
                self._stream = zlib.decompressobj(_GZIP)
            yield from self._inflater.pieces(self._stream, data)
            data = self._stream.unused_data
            if self._stream.eof:
                self._stream = None

    def finish(self) -> None:
        self._inflater.check_end(self._stream)
        if self._between.strip(b"\0"):
            raise CallError("decode", "the answer says gzip and is not.")

    def _starts_member(self, data: bytes) -> bool:
        """Tell whether a member starts here; keep padding, or too little to tell, for later."""
        if not data.strip(b"\0") or len(data) < len(_GZIP_MAGIC):
            self._between = data[:1] if data.startswith(b"\0") else data
            return False
        self._members += 1
        if not data.startswith(_GZIP_MAGIC) or self._members > _MEMBERS:
            raise CallError("decode", "the answer says gzip and is not.")
        return True


class _Deflate:
    """A zlib stream, or the bare deflate data that some servers send under that name."""

    def __init__(self, limit: int) -> None:
        self._inflater = _Inflater("deflate", limit)
        self._stream: Any | None = None
        self._start = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            data = self._start = self._start + data
            if len(data) < 2:  # noqa: PLR2004 -- the two bytes of a zlib header
                return
            self._stream = zlib.decompressobj(_ZLIB if _is_zlib(data) else _RAW)
        yield from self._inflater.pieces(self._stream, data)

    def finish(self) -> None:
        if self._start and self._stream is None:
            raise CallError("decode", "the answer's deflate ends too early.")
        self._inflater.check_end(self._stream)


def _is_zlib(data: bytes) -> bool:
    """Tell whether data starts with a zlib header (RFC 1950, section 2.2)."""
    method, check = data[0] & 0x0F, int.from_bytes(data[:2], "big")
    return method == zlib.DEFLATED and check % 31 == 0


def too_large(declared: int | None = None) -> CallError:
    """Return the error for an answer over the cap.

    Args:
        declared: Bytes that the server said it would send; None when it did not say.
    """
    size = f" of {declared} bytes" if declared is not None else ""
    reason = f"the answer{size} is larger than allowed (max_response_bytes); ask for less of it."
    return CallError("too_large", reason)
