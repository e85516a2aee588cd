"""Secrets in bytes, found however a server or a library repeats them, and masked.

As they are, in base64, or escaped for URLs, JSON or HTML. The text is unescaped, once for all
secrets, so that no pattern grows with a secret.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from functools import lru_cache

MASK = "***"
SHORTEST = 4
"""A shorter text is part of too many others to be masked."""
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def octets_of(text: str) -> bytes:
    """Return a text in UTF-8, lone surrogates too."""
    return text.encode(errors="surrogatepass")


_CONTROLS = bytes([*range(9), 11, 12, *range(14, 32), 127])
_HIDDEN = re.compile(b"[" + re.escape(_CONTROLS) + b"]")
_ESCAPES = re.compile(
    rb"%[0-9A-Fa-f]{2}"
    rb"|\\u[0-9A-Fa-f]{4}(?:\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})?|\\x[0-9A-Fa-f]{2}|\\."
    rb"|&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][0-9A-Za-z]{1,31});",
    re.DOTALL,
)
_TAGS = re.compile(rb"<[^<>]{0,500}>")
_STEPS = (_HIDDEN, _ESCAPES, _ESCAPES, _ESCAPES, _TAGS)
"""What is replaced by its meaning, in order: escapes of three layers, as of a URL in HTML in JSON.

Control characters are never shown, such as NUL in UTF-16 without a mark; nor are a page's tags.
"""


def _plain(text: bytes, step: re.Pattern[bytes]) -> bytes:
    """Return a text after one step, in which a plus sign, of the same length, may be a blank."""
    if step is _HIDDEN:
        return text.translate(None, _CONTROLS)  # much faster than the pattern
    return step.sub(_meaning, text).replace(b"+", b" ")


def _meaning(match: re.Match[bytes]) -> bytes:
    return _meaning_of(match[0])


@lru_cache(maxsize=1024)
def _meaning_of(token: bytes) -> bytes:
    """Return what an escape means; nothing for control characters and tags."""
    kind, rest = token[:1], token[1:]
    if kind == b"%":
        return binascii.unhexlify(rest)
    if kind == b"&":
        return octets_of(html.unescape(token.decode()))
    if kind != b"\\":
        return b""
    if len(rest) == 1:
        return _LETTERS.get(rest, rest)
    units = binascii.unhexlify(token.replace(b"\\u", b"").removeprefix(b"\\x"))
    return units if rest[:1] == b"x" else octets_of(units.decode("utf-16-be", "surrogatepass"))


@lru_cache(maxsize=128)
def forms_of(secret: str) -> frozenset[bytes]:
    """Return the forms of a secret that no step leads back to the secret."""
    octets = octets_of(secret)
    forms = {octets, octets_of(secret.lower())}  # names of schemes are shown in lower case
    # A secret with an escape of its own, of which a server escapes other characters.
    forms.add(_plain(octets, _ESCAPES).decode(errors="replace").encode())
    for code in (base64.b64encode, base64.urlsafe_b64encode):
        forms |= {code(octets), code(octets).rstrip(b"=")}
    return frozenset(form for form in forms if len(form) >= SHORTEST)


def found(text: bytes, forms: frozenset[bytes]) -> list[bytes]:
    """Return those forms that are in a text, escaped or not, the longest first."""
    hits = {form for form in forms if form in text}
    for step in _STEPS if forms else ():
        before, text = text, _plain(text, step)
        if text != before:
            hits |= {form for form in forms - hits if form in text}
    return sorted(hits, key=lambda form: (-len(form), form))


def masked(text: bytes, forms: list[bytes]) -> bytes:
    """Return a text with a mask in place of each form, escaped or not."""
    for form in forms:  # the longest first, as one may be part of another
        text = text.replace(form, MASK.encode())
    pieces: list[bytes] = []
    end = 0
    for start, stop in sorted(_spans(text, forms)) if forms else ():
        if start >= end:
            pieces += (text[end:start], MASK.encode())
        end = max(end, stop)
    return b"".join((*pieces, text[end:])) if pieces else text


def _spans(
    text: bytes, forms: list[bytes], steps: tuple[re.Pattern[bytes], ...] = _STEPS
) -> list[tuple[int, int]]:
    """Return where the forms are in a text once it is unescaped."""
    if not steps:
        return []
    plain = _plain(text, steps[0])
    spans = _spans(plain, forms, steps[1:])
    if plain == text:
        return spans
    for form in forms:
        start = plain.find(form)
        while start >= 0:
            spans.append((start, start + len(form)))
            start = plain.find(form, start + len(form))
    return _origins(text, steps[0], spans)


def _origins(
    text: bytes, step: re.Pattern[bytes], spans: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return where in a text the parts are of which a step makes these spans."""
    edges = sorted({edge for start, stop in spans for edge in (start, stop - 1)}, reverse=True)
    origins: dict[int, tuple[int, int]] = {}
    shift = 0
    for match in step.finditer(text):
        start, meaning = match.start() - shift, len(_meaning(match))
        while edges and edges[-1] < start:
            edge = edges.pop()
            origins[edge] = edge + shift, edge + shift + 1
        while edges and edges[-1] < start + meaning:
            origins[edges.pop()] = match.span()
        if not edges:
            break
        shift += len(match[0]) - meaning
    origins |= {edge: (edge + shift, edge + shift + 1) for edge in edges}
    return [(origins[start][0], origins[stop - 1][1]) for start, stop in spans]
