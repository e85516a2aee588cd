"""Secrets in a string that the name before them gives away, and users in URLs.

Named values are parts of multipart bodies (RFC 7578), properties of JSON, elements of XML, and
pairs of queries and forms, also percent-encoded in each other. A string may come from anybody, so
the cost grows with its length only: no pattern gives back what it took, and no two matches look
at the same characters but once in each layer of percent-encoding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_plus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MASK = "***"

_LONGEST_NAME = 100  # as in `_HEAD`
# A redirect address in a query in a redirect address: real ones have two or three.
_MOST_LAYERS = 6  # of percent-encoding, as in `redaction`
_USER = re.compile(r"(?<=//)[^/?#\s\"'<>\\]*(?=@)")
_HEAD = re.compile(
    r"(?P<quote>(?<!\\)\\*+[\"'])(?P<property>[^\"'\\]{1,100}+)(?P=quote)\s*+:\s*+"
    r"|<(?P<element>[\w.:-]{1,100}+)(?=[\s>])"
    # A value may be a pair itself: `state=token=…`.
    r"|(?<![^=?&#;\s,(\"'])(?P<pair>[^=&#;?\s\"'<>,(]{1,100}+)="
)
_QUOTED = r"([\"'])(?:\\.|(?!\1).)*+(?:\1|\Z)"
_PAIR_QUOTED = re.compile(_QUOTED, re.DOTALL)
_PAIR_END = re.compile(r"[&#;\s\"'<>]|\Z")
_PROPERTY = re.compile(
    rf"{_QUOTED}|(\\++[\"']).*?(?:(?<!\\)\2|\Z)|-?\d[\d.eE+-]*+|\[[^][{{}}]*+\]", re.DOTALL
)
_ELEMENT = re.compile(r"[^<>]*+(?<!/)>\s*+(?:<!\[CDATA\[.*?(?:]]>|\Z)|[^<\s][^<]*+)", re.DOTALL)

_DISPOSITION = "content-disposition:"
_PART_LINE = re.compile(
    rf"^--(?P<boundary>[^\r\n]{{0,200}})|{_DISPOSITION}", re.IGNORECASE | re.MULTILINE
)
_HEAD_END = re.compile(r"\n\r?\n")
_PART_NAME = re.compile(r"\bname=(?:\"(?P<quoted>[^\"\r\n]{0,100})|(?P<token>[^\"\s;]{0,100}))")


def mask_named_values(text: str, is_secret: Callable[[str], bool], depth: int = 0) -> str:
    """Return a string with `***` for users of URLs and for the values of names that are secret."""
    text = _USER.sub(MASK, text) if "@" in text else text
    pieces, end = list[str](), 0
    for start, stop in _secret_parts(text, is_secret):
        pieces += (_Scan(text[end:start], is_secret, depth).mask(), MASK)
        end = stop
    return "".join((*pieces, _Scan(text[end:], is_secret, depth).mask()))


def _secret_parts(text: str, is_secret: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    if _DISPOSITION not in text.lower():
        return
    boundary, end = "", 0
    while line := _PART_LINE.search(text, end):
        end = line.end()
        if line["boundary"] is not None:
            boundary = line["boundary"].rstrip()
            continue
        if not (head_end := _HEAD_END.search(text, end)):
            return
        # All fields of one head are read together, folded lines too (RFC 5322, section 2.2.3).
        names = _PART_NAME.finditer(text, end, head_end.start())
        start = end = head_end.end()
        if any(is_secret(name[str(name.lastgroup)]) for name in names):
            stop = text.find(f"\n--{boundary}", start - 1)
            end = len(text) if stop < 0 else max(start, stop - (text[stop - 1] == "\r"))
            yield start, end


@dataclass(slots=True)
class _Scan:
    """Masks properties, elements and pairs of one string, from left to right."""

    text: str
    is_secret: Callable[[str], bool]
    depth: int
    _pieces: list[str] = field(default_factory=list)
    _end: int = 0  # what is before it stands in `_pieces`
    _pair_end: int = -1  # of the value that was looked at last, which later pairs may share
    _percent: int = -1  # the first `%` behind the pair that was looked at last
    _decoded: int = 0  # values before it were decoded, and hold no secret that is encoded

    def mask(self) -> str:
        while head := _HEAD.search(self.text, self._end):
            self._take(head.end())
            kind = str(head.lastgroup)
            if self.is_secret(head[kind]):
                self._mask_value(head, kind)
            elif kind == "pair" and self.depth < _MOST_LAYERS:
                self._mask_encoded()
        self._take(len(self.text))
        return "".join(self._pieces)

    def _take(self, end: int) -> None:
        self._pieces.append(self.text[self._end : end])
        self._end = end

    def _put(self, text: str, end: int) -> None:
        self._pieces.append(text)
        self._end = end

    def _mask_value(self, head: re.Match[str], kind: str) -> None:
        start, mark = self._end, head["quote"] or ""
        if kind == "pair":
            if quoted := _PAIR_QUOTED.match(self.text, start):
                end = quoted.end() - _is_closed(quoted)
                self._put(f"{quoted[1]}{MASK}{'' if _is_closed(quoted) else quoted[1]}", end)
            else:
                self._put(MASK, self._end_of_pair())
        elif kind == "element":
            if element := _ELEMENT.match(self.text, start):
                self._put(f">{MASK}", element.end())
        elif value := _PROPERTY.match(self.text, start):
            self._put(f"{mark}{MASK}{mark}", value.end())

    def _mask_encoded(self) -> None:
        # The value may hold a query, a form or JSON.
        start, end = self._encoded_value()
        if start < self._decoded:
            return
        if self._percent < start:
            percent = self.text.find("%", start)
            self._percent = len(self.text) if percent < 0 else percent
        if self._percent >= end:
            return
        encoded = self.text[start:end]
        plain = unquote_plus(encoded)
        # What is the same when decoded is read as it is.
        masked = plain
        if plain != encoded:
            masked = mask_named_values(plain, self.is_secret, self.depth + 1)
        if masked == plain:
            self._decoded = end
        else:
            self._take(start)
            self._put(quote(masked, safe="*", errors="surrogatepass"), end)

    def _encoded_value(self) -> tuple[int, int]:
        start = self._end
        if quoted := _PAIR_QUOTED.match(self.text, start):
            return start + 1, quoted.end() - _is_closed(quoted)
        end = self._end_of_pair()
        if self.text[end - 1] == "=" and self.text[end : end + 1] in ("'", '"'):
            # The last pair in the value has a quoted value of its own.
            nearest = max(start - 1, end - _LONGEST_NAME - 2)
            last = max(self.text.rfind(mark, nearest, end - 1) for mark in "=,(")
            end = end if last < 0 else last + 1
        return start, end

    def _end_of_pair(self) -> int:
        # Pairs between commas share their end, so it is looked for once.
        if self._pair_end < self._end:
            end = _PAIR_END.search(self.text, self._end)
            self._pair_end = len(self.text) if end is None else end.start()
        return self._pair_end


def _is_closed(quoted: re.Match[str]) -> bool:
    # The quote at the end is not taken, as it may begin a property's name: `rate="5% {"token": …`.
    return len(quoted[0]) > 1 and quoted[0].endswith(quoted[1])
