"""Known secrets, and how they are taken out of whatever leaves: the one place that does it.

Results, error texts, previews, log records and printed lines pass through a `Redactor`. It knows
the values that users gave and those that were fetched with them, and the forms in which a server or
a library repeats a text: percent-encoded, as base64, escaped for JSON or HTML.
"""

from __future__ import annotations

import base64
import html
import json
import logging
import os
import re
import threading
import traceback
import weakref
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from openapi_tools.errors import (
    CallError,
    DocumentError,
    InputError,
    NotPicklableError,
    OpenAPIToolsError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MASK = "***"
_SHORTEST = 4
"""A shorter text is no secret worth the name, and is part of too many others."""
_PASSING = 32
_REMEMBERED = 1024
_LARGEST = 10**100
_ESCAPES = ("%", "\\", "&")
_LOGGERS = (
    "openapi_tools",
    "openapi_tools.calls",
    "httpx",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpcore.socks",
)
"""Whose records may hold a URL, a header or an exception's text; filters are not inherited."""


class Secret:
    """A text that no `repr`, no `vars` and no pickle shows.

    Args:
        value: The text.
    """

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
        raise NotPicklableError("a secret is not pickled; give it anew where it is needed.")


class Redactor:
    """Replaces the secrets that it knows by `***`.

    Args:
        parent: Knows some, too: those of a toolset, for one of its calls.
    """

    __slots__ = ("__weakref__", "_kept", "_parent", "_passing")

    def __init__(self, parent: Redactor | None = None) -> None:
        self._parent = parent
        self._kept: tuple[str, ...] = ()
        self._passing: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self._kept or self._passing or self._parent)

    def for_call(self) -> Redactor:
        """Return one that also learns what belongs to a single call."""
        return Redactor(self)

    def know(self, *secrets: str, passing: bool = False) -> None:
        """Learn secrets.

        Args:
            secrets: Texts; those of fewer than four characters are passed over.
            passing: They are good for some time only, as tokens are; the last 32 are kept.
        """
        new = tuple(
            s for s in dict.fromkeys(secrets) if len(s) >= _SHORTEST and s not in self._kept
        )
        if not new:
            return
        # Each assignment is whole: threads that look meanwhile see one state or the other.
        if passing:
            others = (s for s in self._passing if s not in new)
            self._passing = (*others, *new)[-_PASSING:]
        else:
            self._kept += new
        _watch(self)

    def secrets(self) -> tuple[str, ...]:
        """Return what is known."""
        above = () if self._parent is None else self._parent.secrets()
        return (*above, *self._kept, *self._passing)

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        return _cleared(text, self.secrets())

    def content(self, content: bytes) -> bytes:
        """Return what a server sent without the secrets, as far as they stand in it openly."""
        for secret in sorted(self.secrets(), key=len, reverse=True):
            for form in _forms(secret):
                if (raw := form.encode("utf-8", "replace")) in content:
                    content = content.replace(raw, MASK.encode())
        return content

    def data(self, value: Any) -> Any:
        """Return JSON-native data without the secrets; what holds none stays the same object."""
        if not self:
            return value
        # One look at all texts together: most data holds no secret.
        joined = "\0".join(_texts(value))
        hits = [secret for secret in self.secrets() if _is_in(secret, joined)]
        hits.sort(key=len, reverse=True)
        return _masked(value, hits) if hits else value


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in JSON-native data, and every number as one."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            waiting += part
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, int | float) and not isinstance(part, bool):
            yield _digits(part)


def _digits(number: float) -> str:
    """Return a number as a secret of digits would be written: without sign and fraction."""
    if isinstance(number, float) and not number.is_integer():  # nor are infinities
        return str(number)
    # Python refuses to write integers of thousands of digits, and no secret is one.
    return str(abs(int(number))) if abs(number) < _LARGEST else ""


def _masked(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = _without(secret, value)
        return value
    if isinstance(value, dict):
        members: dict[Any, Any] = {}
        for key, member in value.items():
            name = _masked(key, secrets)
            while name != key and (name in members or name in value):
                name += "*"  # two names that are masked stay two
            members[name] = _masked(member, secrets)
        return members
    if isinstance(value, list | tuple):
        return [_masked(item, secrets) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return MASK if _digits(value) in secrets else value
    return value


def _cleared(text: str, secrets: Iterable[str]) -> str:
    """Return a text without secrets; the longest first, as one may be part of another."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = _without(secret, text)
    return text


def _is_in(secret: str, text: str) -> bool:
    if any(form in text for form in _forms(secret)):
        return True
    return _is_escaped_in(text) and _escaped(secret).search(text) is not None


def _is_escaped_in(text: str) -> bool:
    return any(mark in text for mark in _ESCAPES)


def _without(secret: str, text: str) -> str:
    for form in _forms(secret):
        if form in text:
            text = text.replace(form, MASK)
    return _escaped(secret).sub(MASK, text) if _is_escaped_in(text) else text


@lru_cache(maxsize=_REMEMBERED)
def _forms(secret: str) -> tuple[str, ...]:
    """Return the ways in which a text may be repeated as a whole, the longest first."""
    octets = secret.encode("utf-8", "surrogatepass")
    encoded = (quote(octets, safe=""), quote_plus(octets), quote(octets), quote(octets, safe="/:@"))
    forms = {
        secret,
        secret.lower(),  # as names of codings and schemes are compared
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        html.escape(secret),
        base64.b64encode(octets).decode(),
        base64.urlsafe_b64encode(octets).decode(),
        *encoded,
    }
    forms |= {form.rstrip("=") for form in forms}
    long = (form for form in forms if len(form) >= _SHORTEST)
    return tuple(sorted(long, key=lambda form: (-len(form), form)))


@lru_cache(maxsize=_REMEMBERED)
def _escaped(secret: str) -> re.Pattern[str]:
    """Return what finds a text any of whose characters are escaped: for URLs, JSON or HTML."""
    return re.compile("".join(map(_any_form, secret)))


def _any_form(character: str) -> str:
    code, named = ord(character), html.escape(character)
    octets = character.encode("utf-8", "surrogatepass")
    forms = {
        re.escape(character),
        "(?i:" + "".join(f"%{octet:02x}" for octet in octets) + ")",
        rf"(?i:\\u{code:04x})",
        rf"\\{re.escape(character)}",
        rf"(?i:&\#x0*{code:x};)|&\#0*{code};",
    }
    if named != character:
        forms.add(named)
    if character == " ":
        forms.add(r"\+")
    return f"(?:{'|'.join(sorted(forms))})"


_watched: weakref.WeakSet[Redactor] = weakref.WeakSet()
_guard = threading.Lock()


def _watch(redactor: Redactor) -> None:
    """Take the secrets of a redactor out of log records, for as long as it lives."""
    with _guard:
        _watched.add(redactor)
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_hide)  # which adds it once


def redacted(text: str) -> str:
    """Return a text without any secret that anything here knows."""
    with _guard:
        redactors = list(_watched)
    return _cleared(text, {secret for redactor in redactors for secret in redactor.secrets()})


def _hide(record: logging.LogRecord) -> bool:
    """Take secrets out of a log record; a traceback becomes text, as its frames hold values."""
    try:
        message = record.getMessage()
        hidden = redacted(message)
        if hidden != message:
            record.msg, record.args = hidden, None
        if record.exc_info:
            lines = traceback.format_exception(*record.exc_info)
            record.exc_text = redacted("".join(lines)).rstrip("\n")
            record.exc_info = None
    except Exception:  # noqa: BLE001 -- what is logged is code of others, and may fail to be shown
        record.msg, record.args, record.exc_info = (
            f"{MASK} (a record that cannot be shown)",
            None,
            None,
        )
    return True


def hide(error: BaseException, redactor: Redactor) -> None:
    """Take secrets out of an exception's words.

    Args:
        error: Of this package, or another one's.
        redactor: Knows the secrets.
    """
    error.args = tuple(redactor.data(part) for part in error.args)
    if isinstance(error, OpenAPIToolsError):
        error.reason = redactor.text(error.reason)
    if isinstance(error, DocumentError | InputError):
        error.pointer = redactor.text(error.pointer)
    if isinstance(error, CallError):
        error.facts = redactor.data(error.facts)


def _renew() -> None:
    """Begin anew in a forked process: another thread may have held the lock at that moment."""
    global _guard  # noqa: PLW0603 -- a lock cannot be freed by those who do not hold it
    _guard = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
