"""Bytes as text that can be shown: no mojibake without a word about it, no control characters."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from openapi_tools.redaction import excerpt

_CODECS = {
    "ascii": "utf-8",
    "iso-8859-1": "latin-1",
    "iso8859-1": "latin-1",
    "latin-1": "latin-1",
    "latin1": "latin-1",
    "us-ascii": "utf-8",
    "utf-16": "utf-16-le",
    "utf-16be": "utf-16-be",
    "utf-16le": "utf-16-le",
    "utf-8": "utf-8",
    "utf8": "utf-8",
}
"""Charsets that are honoured: a server may name any codec of Python's, some of which are no text.

ASCII is read as UTF-8, of which it is a part; UTF-16 without a byte order mark is little-endian.
"""

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HALVES = re.compile("[\ud800-\udfff]")


_GENUINE = {"utf-8": b"\xef\xbf\xbd", "utf-8-sig": b"\xef\xbf\xbd"}
_PIECE = 64 * 1024
"""Text is worked on in pieces of this size: one long step would hold up all threads."""

_SNIFFED = 256 * 1024
_SHOWN = 60


class Text(NamedTuple):
    """Decoded text.

    Attributes:
        text: As much of it as was asked for.
        notes: Says when it is not quite what was sent.
        length: Of the whole, in characters.
    """

    text: str
    notes: list[str]
    length: int


def decode_text(content: bytes, charset: str = "", *, most: int | None = None) -> Text:
    """Return bytes as text.

    Spec: RFC 9110, section 8.3.2; WHATWG Encoding, section 6 for byte order marks.

    Args:
        content: The bytes.
        charset: As the server named it; UTF-8 when it is empty or not honoured.
        most: Characters that are kept; the others are counted. All of them when None.
    """
    codec = _codec(content, charset)
    notes = []
    if not codec and charset and not content.isascii():
        shown = excerpt(charset, _SHOWN)
        notes.append(f"the charset {shown!r} is not supported, the text is read as UTF-8")
    codec = codec or "utf-8"
    if most is None and len(content) <= _PIECE:
        try:
            text = content.decode(codec)
        except UnicodeDecodeError:
            pass
        else:
            return Text(text, notes, len(text))
    text, length, replaced = _decode(content, codec, most)
    genuine = _GENUINE.get(codec)
    if replaced and (genuine is None or replaced > content.count(genuine)):
        notes.append(f"bytes that are no {codec} are shown as U+FFFD")
    return Text(text, notes, length)


def as_utf8(content: bytes, charset: str = "") -> bytes:
    """Return text in UTF-8 as `decode_text` reads it; what it reads as UTF-8 stays as it is."""
    if _codec(content, charset) in ("", "utf-8", "utf-8-sig"):
        return content
    return decode_text(content, charset).text.encode(errors="surrogatepass")


def _codec(content: bytes, charset: str) -> str:
    """Return the codec of a text; empty when neither a mark nor its charset says."""
    marked = next((codec for mark, codec in _MARKS if content.startswith(mark)), "")
    return marked or _CODECS.get(charset.strip().lower(), "")


def _decode(content: bytes, codec: str, most: int | None) -> tuple[str, int, int]:
    """Return the text, the length of the whole, and how often U+FFFD is in it."""
    decoder = codecs.getincrementaldecoder(codec)("replace")
    kept: list[str] = []
    length = replaced = 0
    for start in range(0, len(content), _PIECE):
        end = start + _PIECE
        piece = decoder.decode(content[start:end], final=end >= len(content))
        if most is None or length < most:
            kept.append(piece if most is None else piece[: most - length])
        length += len(piece)
        replaced += piece.count("\ufffd")
    return "".join(kept), length, replaced


def clean_text(text: str) -> str:
    r"""Return text without surrogates and control characters; `\n`, `\r` and `\t` are kept."""
    if len(text) <= _PIECE:
        return _cleaned(text)
    return "".join(_cleaned(text[start : start + _PIECE]) for start in range(0, len(text), _PIECE))


def _cleaned(text: str) -> str:
    text = _CONTROLS.sub("", text)
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


def is_readable(content: bytes) -> bool:
    """Whether bytes of no known kind are UTF-8 text, by their first 256 KiB."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        text = decoder.decode(content[:_SNIFFED], final=len(content) <= _SNIFFED)
    except UnicodeDecodeError:
        return False
    return _CONTROLS.search(text) is None
