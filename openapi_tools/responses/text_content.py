"""Text of responses: charsets, control characters, HTML pages."""

from __future__ import annotations

import codecs
import html
import re
from contextlib import suppress
from typing import NamedTuple

from openapi_tools.redaction import excerpt
from openapi_tools.responses.charsets import find_codec

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HALVES = re.compile("[\ud800-\udfff]")
_GENUINE = {"utf-8": b"\xef\xbf\xbd", "utf-8-sig": b"\xef\xbf\xbd"}
_PIECE = 64 * 1024  # of text at once: one long step would hold up all threads


class DecodedText(NamedTuple):
    """The requested part of a text, notes on lost bytes, and the length of the whole."""

    text: str
    notes: list[str]
    length: int


def decode_text(content: bytes, charset: str = "", *, most: int | None = None) -> DecodedText:
    """Return at most `most` characters of bytes; as UTF-8 if the charset is not supported."""
    codec = _find_codec(content, charset)
    notes = []
    if not codec and charset and not content.isascii():
        quoted = excerpt(charset, 60)
        notes.append(f"the charset {quoted!r} is not supported; the text was decoded as UTF-8")
    codec = codec or "utf-8"
    if most is None and len(content) <= _PIECE:
        with suppress(UnicodeDecodeError):
            text = content.decode(codec)
            return DecodedText(text, notes, len(text))
    text, length, replaced = _decode(content, codec, most)
    genuine = _GENUINE.get(codec)
    if replaced and (genuine is None or replaced > content.count(genuine)):
        notes.append(f"bytes that are not valid {codec} were replaced by U+FFFD")
    return DecodedText(text, notes, length)


def to_utf8(content: bytes, charset: str = "") -> bytes:
    """Return text in UTF-8 as `decode_text` reads it; UTF-8 stays the same object."""
    if _find_codec(content, charset) in ("", "utf-8", "utf-8-sig"):
        return content
    return decode_text(content, charset).text.encode(errors="surrogatepass")


def is_mostly_text(content: bytes, charset: str = "") -> bool:
    """Return whether at least nine tenths of the beginning are text."""
    beginning = content[:_PIECE].strip(b"\0")
    text = decode_text(beginning, charset).text
    return 10 * (len(_CONTROLS.findall(text)) + text.count("\ufffd")) <= len(text)


def _find_codec(content: bytes, charset: str) -> str:
    marked = next((codec for mark, codec in _MARKS if content.startswith(mark)), "")
    return marked or find_codec(charset)


def _decode(content: bytes, codec: str, most: int | None) -> tuple[str, int, int]:
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
    if len(text) > _PIECE:
        starts = range(0, len(text), _PIECE)
        return "".join(clean_text(text[start : start + _PIECE]) for start in starts)
    text = _CONTROLS.sub("", text)
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


LOOKED_AT = 200_000  # characters of a page that are read

_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(?P<hidden>noscript|script|style|svg|template|title)(?![a-z0-9-])[^>]*"
    r"(?:>.*?(?:</(?P=hidden)[^>]*(?:>|\Z)|\Z)|\Z)"
    r"|</?(?P<name>[a-z][a-z0-9-]{0,30})[^>]*(?:>|\Z)|<[!?/][^>]*(?:>|\Z)",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
"""Comments, hidden elements whole, tags and declarations; each ends with the page at the latest."""
_MARKUP = re.compile(r"<[a-zA-Z/!?][^<>]*>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"(?<!\s)[^\S\n]*+\n\s*+")
_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.{0,1000}?-->\s*)?<(?:!doctype html|html)",
    re.IGNORECASE | re.DOTALL,
)
_INLINE = frozenset(  # and the absent name of a comment
    {"", "a", "abbr", "b", "code", "em", "i", "small", "span", "strong", "sub", "sup", "u"}
)


def is_html_page(content: bytes) -> bool:
    """Whether bytes begin as an HTML page does."""
    return _PAGE.match(content[:2000]) is not None


def has_markup(text: str) -> bool:
    """Whether text holds a tag, a comment or an entity of HTML."""
    return _MARKUP.search(text) is not None or _ENTITY.search(text) is not None


def extract_page_text(page: str) -> str:
    """Return the text of an HTML page, without scripts, after a label with its title."""
    page = page[:LOOKED_AT]
    title_tag = re.search(r"<title[^>]{0,200}>([^<]{0,300})", page, re.IGNORECASE)
    title = " ".join(_normalize_text(title_tag[1]).split()) if title_tag else ""
    label = f'[HTML page "{title}"]' if title else "[HTML page]"
    return f"{label} {_normalize_text(_TAG.sub(_replace_tag, page))}".rstrip()


def _replace_tag(tag: re.Match[str]) -> str:
    is_inline = not tag["hidden"] and (tag["name"] or "").lower() in _INLINE
    return "" if is_inline else "\n"


def _normalize_text(text: str) -> str:
    text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    text = _BLANKS.sub(" ", clean_text(text))
    return _LINES.sub("\n", text).strip()
