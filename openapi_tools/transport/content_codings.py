"""The content codings of bodies (RFC 9110, section 8.4), undone in bounded steps."""

from __future__ import annotations

import zlib
from itertools import chain
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Neither br nor zstd: each would need a package more.
CODINGS = "gzip, deflate"  # the supported content codings, for `Accept-Encoding`
_SUPPORTED = frozenset({"gzip", "x-gzip", "deflate"})
# Codings of IANA's registry, and others in use. Servers also write words there that are no coding
# (`utf-8`, `none`, `binary`, `aws-chunked`); they change nothing about the body.
_UNSUPPORTED = frozenset(
    {"aes128gcm", "br", "compress", "dcb", "dcz", "exi", "pack200-gzip", "x-compress", "zstd"}
    | {"bz2", "bzip2", "lz4", "lzma", "sdch", "snappy", "xz", "zlib"}
    | {"x-bzip2", "x-lzma", "x-snappy", "x-snappy-framed", "x-xz"}
)
_STEP = 64 * 1024
# Each coding multiplies what a small response can expand to, and the work for it.
_MOST_CODINGS = 5
# Gzip files may follow one another (RFC 1952, section 2.2). An empty one takes 20 bytes and a new
# decompressor, so that a response of a few megabytes could keep the loop busy.
_MOST_MEMBERS = 10_000
_GZIP, _ZLIB, _RAW = 31, 15, -15  # the `wbits` of zlib
_GZIP_MAGIC = b"\x1f\x8b"


def _find_codings(header: str) -> list[str]:
    words = (word.partition(";")[0].strip(" \t\"'").lower() for word in header.split(","))
    return [word for word in words if word in _SUPPORTED or word in _UNSUPPORTED]


class Decoder:
    """Decodes the content codings of one response; raises CallErrors `decode` and `too_large`.

    A kilobyte of gzip can expand to megabytes: pieces are small, and each coding has a limit.
    """

    def __init__(self, header: str, limit: int, setting: str = "max_response_bytes") -> None:
        names = _find_codings(header)
        if len(names) > _MOST_CODINGS:
            reason = f"the response has {len(names)} content codings; expected at most "
            reason += f"{_MOST_CODINGS}."
            raise CallError("decode", reason)
        self._codings = [_Inflater(name, limit, setting) for name in reversed(names)]
        self._encoded_left = limit + limit // 64 + _STEP
        self._setting = setting

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield decoded pieces of at most 64 KiB."""
        # No coding makes data that much longer; data that decodes to nothing may never end.
        self._encoded_left -= len(data)
        if self._encoded_left < 0:
            raise too_large(setting=self._setting)
        # A decompressor copies what is left of its input at each step: short steps, short copies.
        for start in range(0, len(data), _STEP):
            pieces: Iterator[bytes] = iter((data[start : start + _STEP],))
            for coding in self._codings:
                pieces = chain.from_iterable(map(coding.feed, pieces))
            yield from pieces

    def finish(self) -> None:
        """Check that nothing is missing at the end."""
        for coding in self._codings:
            coding.finish()


class _Inflater:
    """Undoes one content coding, up to a limit."""

    def __init__(self, name: str, limit: int, setting: str) -> None:
        if name not in _SUPPORTED:
            reason = f"the response has the content coding {name!r}, which is not supported."
            raise CallError("decode", reason)
        self._name = name.removeprefix("x-")
        self._decoded_left, self._setting = limit, setting
        self._stream: Any | None = None
        self._member_count = 0
        self._pending = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        data, self._pending = self._pending + data, b""
        while data and (self._stream is not None or self._start_stream(data)):
            stream = self._stream
            yield from self._decompress(stream, data)
            if self._name == "deflate":
                return
            data = stream.unused_data  # type: ignore[union-attr] # `_start_stream` has made it
            if stream.eof:  # type: ignore[union-attr] # as above
                self._stream = None

    def finish(self) -> None:
        missing = self._pending if self._name == "deflate" else b""
        if missing or (self._stream is not None and not self._stream.eof):
            raise CallError("decode", f"the response ends in the middle of its {self._name} data.")
        if self._pending.strip(b"\0"):
            raise self._decode_error()

    def _decode_error(self) -> CallError:
        return CallError(
            "decode",
            f"the response is not {self._name} data, although its Content-Encoding says so.",
        )

    def _start_stream(self, data: bytes) -> bool:
        # Padding, or too few bytes to recognize the format, are kept for the next piece. Servers
        # send both zlib streams and bare deflate data as `deflate`.
        is_padding = self._name == "gzip" and not data.strip(b"\0")
        if is_padding or len(data) < len(_GZIP_MAGIC):
            self._pending = data[:1] if is_padding else data
            return False
        if self._name == "deflate":
            # RFC 1950, section 2.2
            is_zlib = data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2], "big") % 31 == 0
            self._stream = zlib.decompressobj(_ZLIB if is_zlib else _RAW)
            return True
        self._member_count += 1
        if not data.startswith(_GZIP_MAGIC) or self._member_count > _MOST_MEMBERS:
            raise self._decode_error()
        self._stream = zlib.decompressobj(_GZIP)
        return True

    def _decompress(self, stream: Any, data: bytes) -> Iterator[bytes]:
        piece = b""
        # After a full piece more may follow although all data has been consumed.
        while (data or len(piece) == _STEP) and not stream.eof:
            try:
                piece = stream.decompress(data, _STEP)
            except zlib.error:
                raise self._decode_error() from None
            data = stream.unconsumed_tail
            self._decoded_left -= len(piece)
            if self._decoded_left < 0:
                raise too_large(setting=self._setting)
            if piece:
                yield piece


def too_large(declared: int | None = None, setting: str = "max_response_bytes") -> CallError:
    """Return the error for a response over the limit; `declared` is its `Content-Length`."""
    size = f" of {declared} bytes" if declared is not None else ""
    reason = f"the response{size} is larger than allowed ({setting}); request less of it."
    return CallError("too_large", reason)
