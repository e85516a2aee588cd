"""HTTP/1.1 messages as bytes (RFC 9112), and the content codings of bodies undone in bounded steps.

httptools (llhttp) reads the heads of answers that are not chunked; h11 writes requests, reads all
other answers, and every head that httptools refuses: both ways accept the same answers.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import h11
import httpx

from openapi_tools.errors import CallError
from openapi_tools.http_rules import names_credential

try:
    import httptools
except ImportError:  # the extra `fast` is not installed
    httptools = None  # type: ignore[assignment] # to mypy a name is always the module

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Iterator

HAS_HTTPTOOLS = httptools is not None

_LARGEST_HEAD = 100 * 1024
_SHORTEST_ADDED = 8  # shorter values of added headers are versions or kinds
_SWITCHED = 101
_FINAL = 200
_SPACE = 0x20
BODILESS = (204, 304)
_HEAD_END = re.compile(rb"\n\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/1\.1 [2-9]\d\d(?: [^\x00\x0b\x0c\r\n]*)?\r\n")
"""Of a final answer. llhttp takes other protocols, an empty line before, and NUL in a reason."""

CODINGS = "gzip, deflate"  # the supported content codings, for `Accept-Encoding`
_DECODED = frozenset({"gzip", "x-gzip", "deflate"})
_UNSUPPORTED = frozenset(
    {"aes128gcm", "br", "compress", "dcb", "dcz", "exi", "pack200-gzip", "x-compress", "zstd"}
    | {"bz2", "bzip2", "lz4", "lzma", "sdch", "snappy", "xz", "zlib"}
    | {"x-bzip2", "x-lzma", "x-snappy", "x-snappy-framed", "x-xz"}
)
"""Codings of IANA's registry, and others in use. Servers write words there that are no coding
(`utf-8`, `none`, `binary`, `aws-chunked`); they change nothing about the body."""
_STEP = 64 * 1024
_CHAINED = 5
_MEMBERS = 10_000
_GZIP, _ZLIB, _RAW = 31, 15, -15
_GZIP_MAGIC = b"\x1f\x8b"


class WireExchange:
    """One request and its answer as bytes; LocalProtocolError of httpx where it breaks HTTP."""

    def __init__(
        self,
        request: httpx.Request,
        *,
        fast: bool,
        target: bytes | None = None,
        proxy_headers: Collection[tuple[bytes, bytes]] = (),
    ) -> None:
        self._request = request
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
        self._fast = fast
        self._unread = b""
        self._length: int | None = None
        self._left: int | None = None
        self._is_last = False
        self.status, self.reason, self.version = 0, b"", b""  # of the final answer
        self.headers: list[tuple[bytes, bytes]] = []
        self.is_complete = False
        try:
            target = target or request.url.raw_path
            headers = _add_headers(request.headers.raw, proxy_headers)
            event = h11.Request(method=request.method, target=target, headers=headers)
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
        return self._h11.their_state is h11.DONE and not self.trailing_data

    @property
    def trailing_data(self) -> bytes:
        """What h11 has received behind the response."""
        return self._h11.trailing_data[0]

    def at_once(self) -> bytes | None:
        """Return the bytes of the request if its body is at hand; None when it comes in pieces."""
        if not isinstance(self._request.stream, httpx.ByteStream):
            return None
        body = b"".join(self._request.stream)
        content = self._written(h11.Data(body)) if body else b""
        return b"".join((self._head, content, self._written(h11.EndOfMessage())))

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield the bytes of the request as its body comes."""
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
        """Take bytes, none at the end, and return the body among them; RemoteProtocolError."""
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
        bodiless = self._request.method == "HEAD" or head.status in BODILESS
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


def _add_headers(
    headers: list[tuple[bytes, bytes]], added: Collection[tuple[bytes, bytes]]
) -> list[tuple[bytes, bytes]]:
    """Return headers with others, which replace those of the same name."""
    if not added:
        return headers
    names = {name.lower() for name, _ in added}
    return [*(line for line in headers if line[0].lower() not in names), *added]


class _Head:
    """The head of an answer, filled by the callbacks of httptools."""

    def __init__(self) -> None:
        self.reason = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.length: int | None = None
        self.status = 0
        self._parser: Any = None
        self.has_coding = self.keeps_alive = False

    @classmethod
    def parsed(cls, data: bytes) -> _Head | None:
        """Return the head of a final answer; None when httptools cannot be trusted with it."""
        if not _STATUS_LINE.match(data):
            return None
        head = cls()
        parser = head._parser = httptools.HttpResponseParser(head)
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            return None
        finally:
            head._parser = None  # it refers to the head
        return head if head.status else None

    def on_status(self, reason: bytes) -> None:
        self.reason = reason

    def on_header(self, name: bytes, value: bytes) -> None:
        value = value.rstrip(b" \t")  # the parser keeps blanks; it has checked the length
        self.headers.append((name, value))
        lower = name.lower()
        if lower == b"content-length":
            self.length = int(value)
        elif lower == b"transfer-encoding":
            self.has_coding = True

    def on_headers_complete(self) -> None:
        # The parser forgets its state at the end of the answer.
        self.status = self._parser.get_status_code()
        self.keeps_alive = self._parser.should_keep_alive()


def _codings_in(header: str) -> list[str]:
    """Return the codings that a `Content-Encoding` names, in lower case (RFC 9110, 8.4)."""
    words = (word.partition(";")[0].strip(" \t\"'").lower() for word in header.split(","))
    return [word for word in words if word in _DECODED or word in _UNSUPPORTED]


class Decoder:
    """Decodes the content codings of one answer; CallErrors: `decode`, `too_large`.

    A kilobyte of gzip can expand to megabytes: pieces are small, and each coding has a limit.
    """

    def __init__(self, header: str, limit: int, setting: str = "max_response_bytes") -> None:
        named = _codings_in(header)
        if len(named) > _CHAINED:
            reason = f"the answer is coded {len(named)} times over; at most {_CHAINED} are undone."
            raise CallError("decode", reason)
        self._codings = [_Inflater(name, limit, setting) for name in reversed(named)]
        self._room = limit + limit // 64 + _STEP
        self._setting = setting

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield decoded pieces of at most 64 KiB."""
        # No coding makes data that much longer; data that decodes to nothing may never end.
        self._room -= len(data)
        if self._room < 0:
            raise too_large(setting=self._setting)
        # The rest of each step is copied: long data would be copied many times.
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
    """Undoes one content coding, up to a limit; deflate is a zlib stream or bare deflate data."""

    def __init__(self, name: str, limit: int, setting: str) -> None:
        if name not in _DECODED:
            reason = f"the answer is coded as {name!r}, which is not supported."
            raise CallError("decode", reason)
        self._name = name.removeprefix("x-")
        self._left, self._setting = limit, setting
        self._stream: Any | None = None
        self._members = 0
        self._waiting = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        data, self._waiting = self._waiting + data, b""
        while data and (self._stream is not None or self._begins(data)):
            stream = self._stream
            yield from self._pieces(stream, data)
            if self._name == "deflate":
                return
            data = stream.unused_data  # type: ignore[union-attr] # `_begins` has made it
            if stream.eof:  # type: ignore[union-attr] # as above
                self._stream = None

    def finish(self) -> None:
        missing = self._waiting if self._name == "deflate" else b""
        if missing or (self._stream is not None and not self._stream.eof):
            raise CallError("decode", f"the answer's {self._name} ends too early.")
        if self._waiting.strip(b"\0"):
            raise self._wrong()

    def _wrong(self) -> CallError:
        return CallError("decode", f"the answer says {self._name} and is not.")

    def _begins(self, data: bytes) -> bool:
        """Begin a stream; keep padding, or too little to tell, for later."""
        is_padding = self._name == "gzip" and not data.strip(b"\0")
        if is_padding or len(data) < len(_GZIP_MAGIC):
            self._waiting = data[:1] if is_padding else data
            return False
        if self._name == "deflate":
            # RFC 1950, section 2.2
            is_zlib = data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2], "big") % 31 == 0
            self._stream = zlib.decompressobj(_ZLIB if is_zlib else _RAW)
            return True
        self._members += 1
        if not data.startswith(_GZIP_MAGIC) or self._members > _MEMBERS:
            raise self._wrong()
        self._stream = zlib.decompressobj(_GZIP)
        return True

    def _pieces(self, stream: Any, data: bytes) -> Iterator[bytes]:
        piece = b""
        # After a full piece more may follow although all data has been consumed.
        while (data or len(piece) == _STEP) and not stream.eof:
            try:
                piece = stream.decompress(data, _STEP)
            except zlib.error:
                raise self._wrong() from None
            data = stream.unconsumed_tail
            self._left -= len(piece)
            if self._left < 0:
                raise too_large(setting=self._setting)
            if piece:
                yield piece


def too_large(declared: int | None = None, setting: str = "max_response_bytes") -> CallError:
    """Return the error for an answer over the cap, of so many bytes if the server said that."""
    size = f" of {declared} bytes" if declared is not None else ""
    reason = f"the answer{size} is larger than allowed ({setting}); ask for less of it."
    return CallError("too_large", reason)


def learn_headers(
    before: Collection[tuple[str, str]], request: httpx.Request, learn: Callable[..., None]
) -> None:
    """Give `learn` the secrets in headers that a request did not have before."""
    for name, value in request.headers.multi_items():
        if (name, value) not in before and names_credential(name):
            word, _, rest = value.partition(" ")
            secrets = [value, rest, *(c.partition("=")[2] for c in value.split("; "))]
            if word.lower() == "basic":
                with suppress(binascii.Error, UnicodeDecodeError):
                    pair = base64.b64decode(rest).decode()
                    secrets += [pair, pair.partition(":")[2]]
            learn(*(secret for secret in secrets if len(secret) >= _SHORTEST_ADDED))
