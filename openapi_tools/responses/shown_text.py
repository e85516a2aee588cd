"""Text to show: charsets, control characters, HTML pages, and values cut with a mark."""

from __future__ import annotations

import codecs
import html
import json
import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.redaction import excerpt
from openapi_tools.responses.charsets import find_codec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.model import Paging
    from openapi_tools.responses.answer_shape import Shaper

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HALVES = re.compile("[\ud800-\udfff]")
_GENUINE = {"utf-8": b"\xef\xbf\xbd", "utf-8-sig": b"\xef\xbf\xbd"}
_PIECE = 64 * 1024  # of text at once: one long step would hold up all threads


class Text(NamedTuple):
    """As much of a text as was asked for, differences from the bytes, and the whole's length."""

    text: str
    notes: list[str]
    length: int


def decode_text(content: bytes, charset: str = "", *, most: int | None = None) -> Text:
    """Return bytes as text of at most `most` characters; UTF-8 for a charset not honoured."""
    codec = _codec(content, charset)
    notes = []
    if not codec and charset and not content.isascii():
        shown = excerpt(charset, 60)
        notes.append(f"the charset {shown!r} is not supported; the text was decoded as UTF-8")
    codec = codec or "utf-8"
    if most is None and len(content) <= _PIECE:
        with suppress(UnicodeDecodeError):
            text = content.decode(codec)
            return Text(text, notes, len(text))
    text, length, replaced = _decode(content, codec, most)
    genuine = _GENUINE.get(codec)
    if replaced and (genuine is None or replaced > content.count(genuine)):
        notes.append(f"bytes that are not valid {codec} were replaced by U+FFFD")
    return Text(text, notes, length)


def as_utf8(content: bytes, charset: str = "") -> bytes:
    """Return text in UTF-8 as `decode_text` reads it; UTF-8 stays the same object."""
    if _codec(content, charset) in ("", "utf-8", "utf-8-sig"):
        return content
    return decode_text(content, charset).text.encode(errors="surrogatepass")


def is_mostly_text(content: bytes, charset: str = "") -> bool:
    """Whether at most a tenth of the beginning is no text."""
    beginning = content[:_PIECE].strip(b"\0")
    text = decode_text(beginning, charset).text
    return 10 * (len(_CONTROLS.findall(text)) + text.count("\ufffd")) <= len(text)


def _codec(content: bytes, charset: str) -> str:
    """Return the codec that a byte order mark or the charset names; empty for neither."""
    marked = next((codec for mark, codec in _MARKS if content.startswith(mark)), "")
    return marked or find_codec(charset)


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


def looks_like_html(content: bytes) -> bool:
    """Whether bytes begin as an HTML page does."""
    return _PAGE.match(content[:2000]) is not None


def has_markup(text: str) -> bool:
    """Whether text holds a tag, a comment or an entity of HTML."""
    return _MARKUP.search(text) is not None or _ENTITY.search(text) is not None


def page_text(page: str) -> str:
    """Return the text of an HTML page, without scripts, after a label with its title."""
    page = page[:LOOKED_AT]
    found = re.search(r"<title[^>]{0,200}>([^<]{0,300})", page, re.IGNORECASE)
    title = " ".join(_plain(found[1]).split()) if found else ""
    label = f'[HTML page "{title}"]' if title else "[HTML page]"
    return f"{label} {_plain(_TAG.sub(_break, page))}".rstrip()


def _break(tag: re.Match[str]) -> str:
    """Return what takes the place of a tag: a line break for those of blocks."""
    is_inline = not tag["hidden"] and (tag["name"] or "").lower() in _INLINE
    return "" if is_inline else "\n"


def _plain(text: str) -> str:
    text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    text = _BLANKS.sub(" ", clean_text(text))
    return _LINES.sub("\n", text).strip()


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_LEAST = 40  # characters below which a cut value is useless
_ELLIPSIS = "…"
_INFINITY = len('"-Infinity"')
_ITEM_MARKER = 48
_LEFT_OUT = re.compile("… [0-9]{1,9} of ([0-9]{1,9}) items left out")
"""The mark of a list that `max_items` has cut."""
_MEMBER_MARKER = 40


def encode(value: Any) -> str:
    """Return the JSON text that `str(result)` gives; raises ValueError for NaN and infinities."""
    return _ENCODER.encode(value)


def shorten(value: Any, room: int) -> Any:
    """Return a value cut to `room` characters of JSON, 40 or more; marks count the rest."""
    cutter = _Cutter()
    return value if cutter.size(value, room) <= room else cutter.cut(value, room)


class _Cutter:
    """Remembers sizes, so that nothing is measured twice as a whole."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._passed: dict[int, int] = {}

    def size(self, value: Any, limit: int) -> int:
        """Return the length of the JSON text, or any number over `limit` if it is longer."""
        match value:
            case str():
                return len(value) + 2 if len(value) > limit else len(encode(value))
            case list():
                return self._summed(value, limit, ((item, 0) for item in value))
            case dict():
                named = ((member, len(encode(name)) + 1) for name, member in value.items())
                return self._summed(value, limit, named)
            case float() if not math.isfinite(value):
                return _INFINITY
            case _:
                return len(encode(value))

    def _summed(self, value: Any, limit: int, parts: Iterable[tuple[Any, int]]) -> int:
        known = self._sizes.get(id(value)) or self._passed.get(id(value), 0)
        if known > limit or id(value) in self._sizes:
            return known
        total = 2
        for count, (part, extra) in enumerate(parts):
            total += extra + (1 if count else 0)
            total += self.size(part, limit - total)
            if total > limit:
                self._passed[id(value)] = total
                return total
        self._sizes[id(value)] = total
        return total

    def cut(self, value: Any, room: int) -> Any:
        if isinstance(value, list):
            return self._cut_list(value, room)
        if isinstance(value, dict):
            return self._cut_dict(value, room)
        return cut_text(value if isinstance(value, str) else encode(value), room)

    def _cut_list(self, items: list[Any], room: int) -> list[Any]:
        total = len(items)
        if items and isinstance(items[-1], str) and (known := _LEFT_OUT.fullmatch(items[-1])):
            items, total = items[:-1], int(known[1])
        kept: list[Any] = []
        left = room - 2 - _ITEM_MARKER
        for item in items:
            size = self.size(item, left)
            if size > left:
                if left >= _LEAST and (not kept or left > room // 2):
                    kept.append(self.cut(item, left))
                break
            kept.append(item)
            left -= size + 1
        if len(kept) < total:
            kept.append(f"{_ELLIPSIS} {total - len(kept)} of {total} items left out")
        return kept

    def _cut_dict(self, members: dict[str, Any], room: int) -> dict[str, Any]:
        left = room - 2 - _MEMBER_MARKER
        sizes: dict[str, int] = {}
        for name, member in members.items():
            size = self.size(member, room)
            least = len(encode(name)) + 2 + min(size, _LEAST)
            if least > left:
                break
            left -= least
            sizes[name] = size
        share = _share([size - _LEAST for size in sizes.values() if size > _LEAST], left)
        kept = {}
        for name, size in sizes.items():
            own = _LEAST + share
            kept[name] = members[name] if size <= own else self.cut(members[name], own)
        if len(kept) < len(members):
            kept[_ELLIPSIS] = f"{len(members) - len(kept)} properties left out"
        return kept


def _share(wishes: list[int], room: int) -> int:
    """Return the largest equal share; smaller wishes are met in full."""
    wishes.sort()
    for index, wish in enumerate(wishes):
        fair = room // (len(wishes) - index)
        if wish > fair:
            return fair
        room -= wish
    return room


def marked(value: Any, words: str) -> Any:
    """Return a value with words about its missing part behind it, or behind the mark there."""
    match value:
        case str():
            return f"{value.removesuffix(']')}; {words}]"
        case [*items, str(last)] if last.startswith("… "):
            return [*items, f"{last}; {words}"]
        case list():
            return [*value, f"… {words}"]
        case dict():
            said = f"{value[_ELLIPSIS]}; " if isinstance(value.get(_ELLIPSIS), str) else ""
            return {**value, _ELLIPSIS: f"{said}{words}"}
        case _:
            return value


def advice(
    paging: Paging | None, limits: tuple[int, int] | None, shaper: Shaper | None, *, left_out: int
) -> str:
    """Return how a model may get the rest; `limits` are those of a cut answer, and the usual."""
    ways = [f"{paging.size:.40} requests fewer items"] if paging and paging.size else []
    ways += [f"{paging.argument:.40} requests the next ones"] if paging and paging.argument else []
    told = [", ".join(ways), "fields selects parts" if shaper and shaper.chooses else ""]
    if limits is not None:
        usual = limits[0] == limits[1]
        option = f"Settings(max_output_chars={limits[0]})" if usual else f"max_chars={limits[0]}"
        told.append(f"the limit is {option}")
    if left_out and shaper:
        told.append(f"max_items is {shaper.max_items}")
    return "; ".join(filter(None, told))


def cut_text(text: str, room: int, whole: int = 0) -> str:
    """Return the head of a text in `room` characters of JSON, and the length of the whole."""
    marker = f"{_ELLIPSIS} [{whole or len(text)} characters in all]"
    left = room - 2 - len(marker)
    if left < len(marker):
        marker, left = _ELLIPSIS, room - 3
    head = text[: max(left, 0)]
    while (length := len(encode(head)) - 2) > left:
        head = head[: min(len(head) - 1, len(head) * left // length)]
    words = head.rstrip()
    if len(head) < len(text) and not text[len(head)].isspace():
        words = head[: max(head.rfind(" "), head.rfind("\n")) + 1].rstrip()
    return (words if len(words) > len(head) // 2 else head) + marker
