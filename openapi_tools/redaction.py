"""Known secrets, and their removal from results, errors, previews, log records and output.

Texts are masked before they are cut: half a secret is not recognised.
"""

from __future__ import annotations

import base64
import binascii
import logging
import traceback
import weakref
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import (
    CallError,
    DocumentError,
    InputError,
    NotPicklableError,
    OpenAPIToolsError,
)
from openapi_tools.forks import ForkLock
from openapi_tools.http_rules import names_credential
from openapi_tools.masking import MASK, SHORTEST, forms_of, found, masked, octets_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    import httpx

_PASSING = 32
_LARGEST = 10**100
_SHORTEST_ADDED = 8
"""Shorter values of added headers are versions or kinds, not secrets."""
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
"""Loggers whose records may hold secrets; filters are not inherited."""


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
    """Replaces known secrets by `***`.

    Args:
        parent: Its secrets are masked too, for instance those of a toolset.
    """

    __slots__ = ("__weakref__", "_kept", "_parent", "_passing")

    def __init__(self, parent: Redactor | None = None) -> None:
        self._parent = parent
        self._kept: frozenset[bytes] = frozenset()
        self._passing: tuple[frozenset[bytes], ...] = ()

    def __bool__(self) -> bool:
        return bool(self._kept or self._passing or self._parent)

    def for_call(self) -> Redactor:
        """Return a redactor that also learns the secrets of a single call."""
        return Redactor(self)

    def know(self, *secrets: str, passing: bool = False) -> None:
        """Learn secrets.

        Args:
            secrets: Texts; those of fewer than four characters are ignored.
            passing: They expire, as tokens do; the last 32 are kept.
        """
        new = [forms_of(s) for s in dict.fromkeys(secrets) if len(s) >= SHORTEST]
        if not new:
            return
        # Each assignment is atomic for readers in other threads.
        if passing:
            others = (forms for forms in self._passing if forms not in new)
            self._passing = (*others, *new)[-_PASSING:]
        else:
            self._kept = self._kept.union(*new)
        _watch(self)

    def forms(self) -> frozenset[bytes]:
        """Return every form of the secrets."""
        above = frozenset() if self._parent is None else self._parent.forms()
        return above.union(self._kept, *self._passing)

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        return _cleared(text, self.forms())

    def content(self, content: bytes) -> bytes:
        """Return bytes without the secrets; the same object if there are none."""
        return masked(content, found(content, self.forms()))

    def data(self, value: Any) -> Any:
        """Return JSON-native data without the secrets; the same object if there are none."""
        if not self:
            return value
        # All texts are searched together: most data holds no secret.
        forms = found(octets_of("\n".join(_texts(value))), self.forms())
        return _masked_data(value, forms) if forms else value


def learn_headers(
    before: Collection[tuple[str, str]], request: httpx.Request, learn: Callable[..., None]
) -> None:
    """Learn the secrets in headers that an `httpx.Auth` or a user's client added.

    Args:
        before: Headers of the request before that.
        request: With the added headers.
        learn: Called with the secrets.
    """
    for name, value in request.headers.multi_items():
        if (name, value) not in before and names_credential(name):
            word, _, rest = value.partition(" ")
            secrets = [value, rest, *(c.partition("=")[2] for c in value.split("; "))]
            if word.lower() == "basic":
                secrets += _in_basic(rest)
            learn(*(secret for secret in secrets if len(secret) >= _SHORTEST_ADDED))


def _in_basic(encoded: str) -> list[str]:
    """Return user and password of basic authentication, and the password."""
    try:
        pair = base64.b64decode(encoded).decode()
    except (binascii.Error, UnicodeDecodeError):
        return []
    return [pair, pair.partition(":")[2]]


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
    """Return the digits of a number, without sign and fraction."""
    if isinstance(number, float) and not number.is_integer():  # nor are infinities
        return str(number)
    # Python refuses to write integers of thousands of digits, and no secret is one.
    return str(abs(int(number))) if abs(number) < _LARGEST else ""


def _masked_data(value: Any, forms: list[bytes]) -> Any:
    if isinstance(value, str):
        return _masked_text(value, forms)
    if isinstance(value, dict):
        members: dict[Any, Any] = {}
        for key, member in value.items():
            name = _masked_data(key, forms)
            while name != key and (name in members or name in value):
                name += "*"  # two masked names stay two
            members[name] = _masked_data(member, forms)
        return members
    if isinstance(value, list | tuple):
        return [_masked_data(item, forms) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return MASK if _digits(value).encode() in forms else value
    return value


def _cleared(text: str, forms: frozenset[bytes]) -> str:
    return _masked_text(text, found(octets_of(text), forms))


def _masked_text(text: str, forms: list[bytes]) -> str:
    return text_of(masked(octets_of(text), forms)) if forms else text


_watched: weakref.WeakSet[Redactor] = weakref.WeakSet()
_guard = ForkLock()


def _watch(redactor: Redactor) -> None:
    """Mask the secrets of a redactor in log records, for as long as it lives."""
    with _guard:
        _watched.add(redactor)
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_hide)  # which adds it once


def redacted(text: str) -> str:
    """Return a text without the secrets of any redactor."""
    with _guard:
        redactors = list(_watched)
    return _cleared(text, frozenset().union(*(redactor.forms() for redactor in redactors)))


def excerpt(text: str, most: int) -> str:
    """Return the beginning of a text from outside, without secrets; `…` marks a cut.

    Texts of servers, libraries and models are cut by this function only.
    """
    text = redacted(text)
    return text if len(text) <= most else f"{text[:most]}…"


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
        record.msg, record.args, record.exc_info = (
            f"{MASK} (a record that cannot be shown)",
            None,
            None,
        )
    return True


def hide(error: BaseException, redactor: Redactor) -> None:
    """Mask secrets in an exception's texts."""
    error.args = tuple(redactor.data(part) for part in error.args)
    if isinstance(error, OpenAPIToolsError):
        error.reason = redactor.text(error.reason)
    if isinstance(error, DocumentError | InputError):
        error.pointer = redactor.text(error.pointer)
    if isinstance(error, CallError):
        error.facts = redactor.data(error.facts)
