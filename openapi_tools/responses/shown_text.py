"""Bytes as text to show: charsets, control characters, HTML pages."""

from __future__ import annotations

import codecs
import html
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
"""Charsets that are honoured: some of Python's codecs, which a server may name, do not give text.

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
        notes: Differences from the bytes.
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
        most: Characters to keep; the others are counted.
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
    """Return text in UTF-8 as `decode_text` reads it; UTF-8 stays the same object."""
    if _codec(content, charset) in ("", "utf-8", "utf-8-sig"):
        return content
    return decode_text(content, charset).text.encode(errors="surrogatepass")


def _codec(content: bytes, charset: str) -> str:
    """Return the codec that a byte order mark or the charset names; empty for neither."""
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
    """Whether bytes are UTF-8 text, by their first 256 KiB."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        text = decoder.decode(content[:_SNIFFED], final=len(content) <= _SNIFFED)
    except UnicodeDecodeError:
        return False
    return _CONTROLS.search(text) is None


LOOKED_AT = 200_000
"""Characters of a page that are read."""

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]{0,30})")
_MARKUP = re.compile(r"<[a-zA-Z/!?][^<>]*>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")
_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.{0,1000}?-->\s*)?<(?:!doctype html|html)",
    re.IGNORECASE | re.DOTALL,
)
_HIDDEN = frozenset({"noscript", "script", "style", "svg", "template", "title"})
_INLINE = frozenset(
    {"a", "abbr", "b", "code", "em", "i", "small", "span", "strong", "sub", "sup", "u"}
)


def looks_like_html(content: bytes) -> bool:
    """Whether bytes begin as an HTML page does."""
    return _PAGE.match(content[:2000]) is not None


def has_markup(text: str) -> bool:
    """Whether text holds a tag, a comment or an entity of HTML."""
    return _MARKUP.search(text) is not None or _ENTITY.search(text) is not None


def page_text(page: str) -> str:
    """Return the text of an HTML page with a label: `"[HTML page "Not found"] Try …"`.

    Scripts, styles and comments are left out; broken markup may end the text.
    """
    page = page[:LOOKED_AT]
    found = re.search(r"<title[^>]{0,200}>([^<]{0,300})", page, re.IGNORECASE)
    title = " ".join(_plain(found[1]).split()) if found else ""
    label = f'[HTML page "{title}"]' if title else "[HTML page]"
    return f"{label} {_plain(''.join(_pieces(page)))}".rstrip()


def _pieces(page: str) -> list[str]:
    """Return the text between the tags, with a line break for each block tag."""
    pieces: list[str] = []
    position = 0
    while (start := page.find("<", position)) >= 0:
        pieces.append(page[position:start])
        tag = _TAG.match(page, start)
        if tag is None and page[start + 1 : start + 2] not in ("!", "?", "/"):
            pieces.append("<")
            position = start + 1
            continue
        position = _end(page, start, tag)
        if position < 0:
            return pieces
        if tag is not None and tag[2].lower() not in _INLINE:
            pieces.append("\n")
    return [*pieces, page[position:]]


def _end(page: str, start: int, tag: re.Match[str] | None) -> int:
    """Return the position after a tag, -1 at the end of the page."""
    if page.startswith("<!--", start):
        end = page.find("-->", start + 4)
        return end + 3 if end >= 0 else -1
    end = page.find(">", start)
    if end >= 0 and tag is not None and not tag[1] and tag[2].lower() in _HIDDEN:
        closing = re.compile(f"</{tag[2]}", re.IGNORECASE).search(page, end)
        end = page.find(">", closing.start()) if closing else -1
    return end + 1 if end >= 0 else -1


def _plain(text: str) -> str:
    text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    text = _BLANKS.sub(" ", clean_text(text))
    return _LINES.sub("\n", text).strip()
