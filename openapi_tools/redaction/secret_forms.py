"""The forms in which a secret may stand in bytes: escaped, encoded, cut by tags and controls.

Bytes are unescaped once for all secrets, layer by layer; marks lead from the plain bytes back to
those that came.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from openapi_tools.redaction.named_values import MASK

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST = 4  # shorter strings occur by chance
# Parts of a secret between escapes; short ones would mask ordinary words.
_SHORTEST_DERIVED = 8


def octets_of(text: str) -> bytes:
    """Return a string in UTF-8, lone surrogates too."""
    return text.encode(errors="surrogatepass")


_CONTROLS = bytes([*range(9), 11, 12, *range(14, 32), 127])
_HIDDEN = re.compile(b"[" + re.escape(_CONTROLS) + b"]")
_ESCAPES = re.compile(
    rb"%[0-9A-Fa-f]{2}"
    rb"|\\u[0-9A-Fa-f]{4}(?:\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})?|\\x[0-9A-Fa-f]{2}|\\[bfnrt/\\\"']"
    rb"|&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][0-9A-Za-z]{1,31});|~[01]"
)
_TAGS = re.compile(rb"<[^<>]{0,500}>")
# Replacements in order: control characters, six layers of escapes, tags of a page.
_STEPS = (_HIDDEN, *[_ESCAPES] * 6, _TAGS)
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
MARKED_RUN = re.compile(b"\1+")


def _unescape(text: bytes, step: re.Pattern[bytes]) -> bytes:
    if step is _HIDDEN:
        return text.translate(None, _CONTROLS)  # much faster than the pattern
    plain, end = bytearray(), 0
    for match in step.finditer(text):  # `sub` would join millions of pieces in one long step
        plain += text[end : match.start()]
        plain += _unescape_token(match[0])
        end = match.end()
    return bytes(plain + text[end:]) if end else text


@lru_cache(maxsize=1024)
def _unescape_token(token: bytes) -> bytes:
    kind, rest = token[:1], token[1:]
    if kind == b"%":
        return binascii.unhexlify(rest)
    if kind == b"~":
        return b"/" if rest == b"1" else b"~"
    if kind == b"&":
        return octets_of(html.unescape(token.decode()))
    if kind != b"\\":
        return b""
    if len(rest) == 1:
        return _LETTERS.get(rest, rest)
    units = binascii.unhexlify(token.replace(b"\\u", b"").removeprefix(b"\\x"))
    return units if rest[:1] == b"x" else octets_of(units.decode("utf-16-be", "surrogatepass"))


def _iter_levels(text: bytes) -> Iterator[tuple[re.Pattern[bytes], bytes, bytes]]:
    idle = None
    for step in _STEPS:
        if step is not idle:
            before, text = text, _unescape(text, step)
            if text == before:
                idle = step
            else:
                yield step, before, text


@lru_cache(maxsize=128)
def forms_of(secret: str) -> frozenset[bytes]:
    """Return the forms of a secret; every repetition holds one, plain or unescaped."""
    octets = octets_of(secret)
    # Names of codings and schemes may come in lower case; a form writes a space as a plus sign.
    forms = {octets, octets_of(secret.lower()), octets.replace(b" ", b"+")}
    # An API may echo the header `Basic …`, or a token inside a JWT.
    for code in (base64.b64encode, base64.urlsafe_b64encode):
        forms |= {code(octets), code(octets).rstrip(b"=")}
    # An escape that is part of the secret is unescaped with the text around it.
    forms |= {
        text
        for step, _, text in _iter_levels(octets)
        if step is _ESCAPES and len(text) >= _SHORTEST_DERIVED
    }
    return frozenset(form for form in forms if len(form) >= SHORTEST)


def find_forms(text: bytes, forms: frozenset[bytes]) -> frozenset[bytes]:
    """Return those of the forms that stand in a text, plain or escaped."""
    hits = frozenset(form for form in forms if form in text)
    for _, _, plain in _iter_levels(text) if forms else ():
        hits |= {form for form in forms - hits if form in plain}
    return hits


def mask_forms(text: bytes, forms: frozenset[bytes]) -> bytes:
    """Return a text with a mask in place of the forms in it; the same object if there are none."""
    return text if (marks := mark_forms(text, forms)) is None else mask_marked(text, marks)


def mark_forms(text: bytes, forms: frozenset[bytes]) -> bytearray | None:
    """Return a byte 1 for each byte within a form, else 0; None if no form is there."""
    hits = find_forms(text, forms)
    if not hits:
        return None
    levels = list(_iter_levels(text))
    marks = bytearray(len(levels[-1][2] if levels else text))
    for step, before, plain in reversed(levels):
        _mark_bytes(plain, hits, marks)
        marks = _carry_marks(marks, step, before)
    _mark_bytes(text, hits, marks)
    return marks


def mask_marked(text: bytes, marks: bytearray) -> bytes:
    """Return a text with a mask in place of each run of marked bytes."""
    pieces: list[bytes] = []
    end = 0
    for run in MARKED_RUN.finditer(marks):
        pieces += (text[end : run.start()], MASK.encode())
        end = run.end()
    return b"".join((*pieces, text[end:]))


def _mark_bytes(text: bytes, forms: frozenset[bytes], marks: bytearray) -> None:
    for form in forms:
        start = text.find(form)
        while start >= 0:
            end = start + len(form)
            marks[start:end] = b"\1" * len(form)
            start = text.find(form, end)


def _carry_marks(marks: bytearray, step: re.Pattern[bytes], before: bytes) -> bytearray:
    # Marks lead back from unescaped bytes to those that were received.
    carried = bytearray(len(before))
    if 1 not in marks:
        return carried
    raw = plain = 0
    for match in step.finditer(before):
        start, end = match.span()
        middle = plain + start - raw
        carried[raw:start] = marks[plain:middle]
        raw, plain = end, middle + len(_unescape_token(match[0]))
        # An empty meaning between two masked characters is masked.
        inside = plain == middle and marks[middle - 1 : middle + 1] == b"\1\1"
        if inside or 1 in marks[middle:plain]:
            carried[start:end] = b"\1" * (end - start)
    carried[raw:] = marks[plain:]
    return carried
