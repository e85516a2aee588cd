"""Known secrets, and their removal from results, errors, previews, log records and output.

Texts are unescaped once for all secrets, and masked before they are cut: half is not recognised.
"""

from __future__ import annotations

import base64
import binascii
import html
import logging
import re
import traceback
import weakref
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from openapi_tools import errors
from openapi_tools.forks import ForkLock
from openapi_tools.http_rules import names_secret
from openapi_tools.visible_text import without_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MASK = "***"

_SHORTEST = 4  # shorter texts occur by chance
_SHORTEST_DERIVED = 8
_PASSING = 32
_LARGEST = 10**100
_DEEPEST = 60  # levels of data
_LOGGERS = (
    *("openapi_tools", "openapi_tools.calls", "httpx", "httpcore.connection", "httpcore.http11"),
    *("httpcore.http2", "httpcore.proxy", "httpcore.socks"),
)
"""Loggers whose records may hold secrets; filters are not inherited."""


class Secret:
    """A text that no `repr`, no `vars` and no pickle shows."""

    __slots__ = ("_reveal",)

    def __init__(self, value: str) -> None:
        self._reveal: Callable[[], str] = lambda: value

    def reveal(self) -> str:
        """Return the text."""
        return self._reveal()

    def __repr__(self) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.reveal() == other.reveal()

    def __hash__(self) -> int:
        return hash(self.reveal())

    def __reduce__(self) -> Any:
        raise errors.NotPicklableError("a secret is not pickled; give it again where it is needed.")


@dataclass(repr=False, eq=False, slots=True, weakref_slot=True)
class Redactor:
    """Replaces known secrets, also those of its parent, by `***`."""

    _parent: Redactor | None = None
    _kept: frozenset[bytes] = frozenset()
    _passing: tuple[frozenset[bytes], ...] = ()

    def __bool__(self) -> bool:
        return bool(self._kept or self._passing or self._parent)

    def for_call(self) -> Redactor:
        """Return a redactor that also learns the secrets of a single call."""
        return Redactor(self)

    def know(self, *secrets: str, passing: bool = False) -> None:
        """Learn secrets of four characters and more; of `passing` ones the last 32 are kept."""
        new = [_forms_of(s) for s in dict.fromkeys(secrets) if len(s) >= _SHORTEST]
        if not new:
            return
        # Each assignment is atomic for readers in other threads.
        if passing:
            others = (forms for forms in self._passing if forms not in new)
            self._passing = (*others, *new)[-_PASSING:]
        else:
            self._kept = self._kept.union(*new)
        with _guard:
            _watched.add(self)
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(_hide)  # which adds it once

    def forms(self) -> frozenset[bytes]:
        """Return every form of the secrets."""
        above = frozenset() if self._parent is None else self._parent.forms()
        return above.union(self._kept, *self._passing)

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        return _cleared(text, self.forms())

    def content(self, content: bytes) -> bytes:
        """Return bytes without the secrets; the same object if there are none."""
        return _masked(content, self.forms())

    def part(self, content: bytes, end: int, begun: int = 0) -> tuple[bytes, int]:
        """Return the first `end` bytes masked, and how many of the next belong to a secret, too."""
        marks = _marks(content, self.forms()) or bytearray(len(content))
        marks[:begun] = b"\1" * begun
        masked = _without(content[:end], marks[:end])
        goes_on = _RUN.match(marks, end) if (marks[end - 1] if end else begun) else None
        masked = masked.removeprefix(MASK.encode()) if begun else masked
        return masked, goes_on.end() - end if goes_on else 0

    def data(self, value: Any) -> Any:
        """Return JSON-native data without the secrets; the same object if there are none."""
        if not self:
            return value
        # All texts are searched together: most data holds no secret.
        forms = _found(_octets_of("\n".join(_texts(value))), self.forms())
        return _masked_data(value, forms) if forms else value


_watched: weakref.WeakSet[Redactor] = weakref.WeakSet()
"""Redactors whose secrets are masked in log records, for as long as they live."""
_guard = ForkLock()


def redacted(text: str) -> str:
    """Return a text without the secrets of any redactor."""
    with _guard:
        redactors = list(_watched)
    return _cleared(text, frozenset().union(*(redactor.forms() for redactor in redactors)))


def excerpt(text: str, most: int) -> str:
    """Return the beginning of a text from outside, without secrets; no other function cuts such."""
    text = redacted(text)
    return text if len(text) <= most else f"{text[:most]}…"


def hidden(value: Any, depth: int = 0, *, is_secret: bool = False) -> Any:
    """Return data or bytes for a file: without known secrets, and without those that names tell of.

    Names are those of members, pairs of queries and forms, parts of multipart bodies and elements,
    also in texts within texts. What lies deeper than 60 levels is masked.
    """
    shown = value
    match value:
        case None | bool():
            pass
        case _ if depth > _DEEPEST or (is_secret and not isinstance(value, dict | list | tuple)):
            shown = MASK
        case dict():
            named = ((redacted(str(k)), v, _tells(str(k))) for k, v in value.items())
            shown = {k: hidden(v, depth + 1, is_secret=told) for k, v, told in named}
        case list() | tuple():
            shown = [hidden(item, depth + 1, is_secret=is_secret) for item in value]
        case str():
            shown = without_values(redacted(value), _tells)
        case bytes():
            text = without_values(redacted(value.decode(errors="surrogateescape")), _tells)
            shown = text.encode(errors="surrogateescape")
        case int() | float() if redacted(_digits(value)) == MASK:
            shown = MASK
    return shown


def _tells(name: str) -> bool:
    """Tell whether the name of a value says that it is a secret: `user[password]`, `api%5Fkey2`."""
    return names_secret(unquote_plus(name).rstrip("[]0123456789"))


def hide(error: BaseException, redactor: Redactor) -> None:
    """Mask secrets in an exception's texts."""
    error.args = tuple(redactor.data(part) for part in error.args)
    if isinstance(error, errors.OpenAPIToolsError):
        error.reason = redactor.text(error.reason)
    if isinstance(error, errors.DocumentError | errors.InputError):
        error.pointer = redactor.text(error.pointer)
    if isinstance(error, errors.CallError):
        error.facts = redactor.data(error.facts)


def _hide(record: logging.LogRecord) -> bool:
    """Mask secrets in a log record; a traceback becomes text, as its frames hold values."""
    try:
        message = record.getMessage()
        hidden = redacted(message)
        if hidden != message:
            record.msg, record.args = hidden, None
        if record.exc_info:
            lines = traceback.format_exception(*record.exc_info)
            record.exc_text = redacted("".join(lines)).rstrip("\n")
            record.exc_info = None
    except Exception:  # noqa: BLE001 -- logged objects of user code may fail to be shown
        record.msg = f"{MASK} (a record that cannot be shown)"
        record.args = record.exc_info = None
    return True


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as members:
                waiting += members
                waiting += members.values()
            case list() | tuple() as items:
                waiting += items
            case int() | float() as number:
                yield _digits(number)


def _digits(number: float) -> str:
    if isinstance(number, float) and not number.is_integer():  # nor are infinities
        return str(number)
    # Python refuses to write integers of thousands of digits, and no secret is one.
    return str(abs(int(number))) if abs(number) < _LARGEST else ""


def _masked_data(value: Any, forms: frozenset[bytes]) -> Any:
    match value:
        case str():
            return _cleared(value, forms)
        case dict():
            members: dict[Any, Any] = {}
            for key, member in value.items():
                name = _masked_data(key, forms)
                while name != key and (name in members or name in value):
                    name += "*"  # two masked names stay two
                members[name] = _masked_data(member, forms)
            return members
        case list() | tuple():
            return [_masked_data(item, forms) for item in value]
        case int() | float() if _digits(value).encode() in forms:
            return MASK
        case _:
            return value


def _cleared(text: str, forms: frozenset[bytes]) -> str:
    octets = _octets_of(text)
    masked = _masked(octets, forms)
    if masked is octets:
        return text
    try:
        return masked.decode(errors="surrogatepass")
    except UnicodeDecodeError:  # a mask may have taken half a character
        return masked.decode(errors="replace")


def _octets_of(text: str) -> bytes:
    """Return a text in UTF-8, lone surrogates too."""
    return text.encode(errors="surrogatepass")


_CONTROLS = bytes([*range(9), 11, 12, *range(14, 32), 127])
_HIDDEN = re.compile(b"[" + re.escape(_CONTROLS) + b"]")
_ESCAPES = re.compile(
    rb"%[0-9A-Fa-f]{2}"
    rb"|\\u[0-9A-Fa-f]{4}(?:\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})?|\\x[0-9A-Fa-f]{2}|\\[bfnrt/\\\"']"
    rb"|&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][0-9A-Za-z]{1,31});|~[01]"
)
_TAGS = re.compile(rb"<[^<>]{0,500}>")
_STEPS = (_HIDDEN, *[_ESCAPES] * 6, _TAGS)
"""Replacements in order: control characters, six layers of escapes, tags of a page."""
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_RUN = re.compile(b"\1+")


def _plain(text: bytes, step: re.Pattern[bytes]) -> bytes:
    if step is _HIDDEN:
        return text.translate(None, _CONTROLS)  # much faster than the pattern
    plain, end = bytearray(), 0
    for match in step.finditer(text):  # `sub` would join millions of pieces in one long step
        plain += text[end : match.start()]
        plain += _meaning(match[0])
        end = match.end()
    return bytes(plain + text[end:]) if end else text


@lru_cache(maxsize=1024)
def _meaning(token: bytes) -> bytes:
    """Return the meaning of an escape; empty for control characters and tags."""
    kind, rest = token[:1], token[1:]
    if kind == b"%":
        return binascii.unhexlify(rest)
    if kind == b"~":
        return b"/" if rest == b"1" else b"~"
    if kind == b"&":
        return _octets_of(html.unescape(token.decode()))
    if kind != b"\\":
        return b""
    if len(rest) == 1:
        return _LETTERS.get(rest, rest)
    units = binascii.unhexlify(token.replace(b"\\u", b"").removeprefix(b"\\x"))
    return units if rest[:1] == b"x" else _octets_of(units.decode("utf-16-be", "surrogatepass"))


def _levels(text: bytes) -> Iterator[tuple[re.Pattern[bytes], bytes, bytes]]:
    """Yield each step that changes a text, with the text before and after it."""
    idle = None
    for step in _STEPS:
        if step is not idle:
            before, text = text, _plain(text, step)
            if text == before:
                idle = step
            else:
                yield step, before, text


@lru_cache(maxsize=128)
def _forms_of(secret: str) -> frozenset[bytes]:
    """Return the forms of a secret; every repetition holds one, plain or unescaped."""
    octets = _octets_of(secret)
    # Names of codings and schemes are shown in lower case; a form has a plus sign for a blank.
    forms = {octets, _octets_of(secret.lower()), octets.replace(b" ", b"+")}
    for code in (base64.b64encode, base64.urlsafe_b64encode):
        forms |= {code(octets), code(octets).rstrip(b"=")}
    # An escape that is part of the secret is unescaped with the text around it.
    forms |= {
        text
        for step, _, text in _levels(octets)
        if step is _ESCAPES and len(text) >= _SHORTEST_DERIVED
    }
    return frozenset(form for form in forms if len(form) >= _SHORTEST)


def _found(text: bytes, forms: frozenset[bytes]) -> frozenset[bytes]:
    hits = frozenset(form for form in forms if form in text)
    for _, _, plain in _levels(text) if forms else ():
        hits |= {form for form in forms - hits if form in plain}
    return hits


def _masked(text: bytes, forms: frozenset[bytes]) -> bytes:
    """Return a text with a mask in place of the forms in it; the same object if there are none."""
    return text if (marks := _marks(text, forms)) is None else _without(text, marks)


def _marks(text: bytes, forms: frozenset[bytes]) -> bytearray | None:
    """Return a byte 1 for each byte within a form, else 0; None if no form is there."""
    hits = _found(text, forms)
    if not hits:
        return None
    levels = list(_levels(text))
    marks = bytearray(len(levels[-1][2] if levels else text))
    for step, before, plain in reversed(levels):
        _mark(plain, hits, marks)
        marks = _carried(marks, step, before)
    _mark(text, hits, marks)
    return marks


def _without(text: bytes, marks: bytearray) -> bytes:
    """Return a text with a mask in place of each run of marked bytes."""
    pieces: list[bytes] = []
    end = 0
    for run in _RUN.finditer(marks):
        pieces += (text[end : run.start()], MASK.encode())
        end = run.end()
    return b"".join((*pieces, text[end:]))


def _mark(text: bytes, forms: frozenset[bytes], marks: bytearray) -> None:
    for form in forms:
        start = text.find(form)
        while start >= 0:
            end = start + len(form)
            marks[start:end] = b"\1" * len(form)
            start = text.find(form, end)


def _carried(marks: bytearray, step: re.Pattern[bytes], before: bytes) -> bytearray:
    """Return the marks of the text before a step, from those of the text after it."""
    carried = bytearray(len(before))
    if 1 not in marks:
        return carried
    raw = plain = 0
    for match in step.finditer(before):
        start, end = match.span()
        middle = plain + start - raw
        carried[raw:start] = marks[plain:middle]
        raw, plain = end, middle + len(_meaning(match[0]))
        # An empty meaning between two masked characters is masked.
        inside = plain == middle and marks[middle - 1 : middle + 1] == b"\1\1"
        if inside or 1 in marks[middle:plain]:
            carried[start:end] = b"\1" * (end - start)
    carried[raw:] = marks[plain:]
    return carried
