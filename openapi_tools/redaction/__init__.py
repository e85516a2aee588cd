"""Known secrets, and their removal from results, errors, previews, log records and output.

Strings are unescaped once for all secrets, and masked before they are cut: half a secret is not
recognised.
"""

from __future__ import annotations

import logging
import threading
import traceback
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from openapi_tools import errors
from openapi_tools.common.http_rules import names_secret
from openapi_tools.redaction.marked_schemas import is_named
from openapi_tools.redaction.named_values import MASK as MASK
from openapi_tools.redaction.named_values import mask_named_values
from openapi_tools.redaction.secret_forms import (
    MARKED_RUN,
    SHORTEST,
    find_forms,
    forms_of,
    mark_forms,
    mask_forms,
    mask_marked,
    octets_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from openapi_tools.redaction.marked_schemas import MarkedSchema

# Access tokens live for minutes; the last ones may still be in a log line or an error.
_MOST_TEMPORARY = 32
_LARGEST = 10**100
_DEEPEST = 60  # levels of data
# Loggers whose records may hold secrets; filters are not inherited.
_LOGGERS = (
    *("openapi_tools", "openapi_tools.calls", "httpx", "httpcore.connection", "httpcore.http11"),
    *("httpcore.http2", "httpcore.proxy", "httpcore.socks"),
)


class Secret:
    """A string that no `repr`, no `vars` and no pickle contains."""

    __slots__ = ("_reveal",)

    def __init__(self, value: str) -> None:
        # In a closure: `vars`, `repr` and debuggers' lists of attributes do not show it.
        self._reveal: Callable[[], str] = lambda: value

    def reveal(self) -> str:
        """Return the string."""
        return self._reveal()

    def __repr__(self) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.reveal() == other.reveal()

    def __hash__(self) -> int:
        return hash(self.reveal())

    def __reduce__(self) -> Any:
        raise errors.NotPicklableError(
            "a secret cannot be pickled; pass it again where it is needed."
        )


@dataclass(repr=False, eq=False, slots=True, weakref_slot=True)
class Redactor:
    """Replaces known secrets, also those of its parent, by `***`."""

    _parent: Redactor | None = None
    _permanent_forms: frozenset[bytes] = frozenset()
    _temporary_forms: tuple[frozenset[bytes], ...] = ()

    @classmethod
    def for_exchange(cls, secrets: Collection[str]) -> Redactor:
        """Return a redactor of the secrets of one exchange, which no log record is searched for."""
        return cls(_permanent_forms=frozenset[bytes]().union(*map(forms_of, secrets)))

    def __bool__(self) -> bool:
        return bool(self._permanent_forms or self._temporary_forms or self._parent)

    def for_call(self) -> Redactor:
        """Return a redactor that also learns the secrets of a single call."""
        return Redactor(self)

    def learn(self, *secrets: str, temporary: bool = False) -> None:
        """Learn secrets of four characters and more; of `temporary` ones the last 32 are kept."""
        new_forms = [forms_of(s) for s in dict.fromkeys(secrets) if len(s) >= SHORTEST]
        if not new_forms:
            return
        # Each assignment is atomic for readers in other threads.
        if temporary:
            earlier = (forms for forms in self._temporary_forms if forms not in new_forms)
            self._temporary_forms = (*earlier, *new_forms)[-_MOST_TEMPORARY:]
        else:
            self._permanent_forms = self._permanent_forms.union(*new_forms)
        with _guard:
            _watched.add(self)
        for name in _LOGGERS:
            # On loggers, not on handlers: those belong to the host program, and come and go.
            logging.getLogger(name).addFilter(_redact_record)  # which adds it once

    def release(self) -> None:
        """Stop masking the secrets in log records and strings of others, until one is learned."""
        # Otherwise a short secret of a closed toolset would stay hidden in the whole process
        # until the toolset is garbage collected.
        with _guard:
            _watched.discard(self)

    def forms(self) -> frozenset[bytes]:
        """Return every form of the secrets."""
        above = frozenset() if self._parent is None else self._parent.forms()
        return above.union(self._permanent_forms, *self._temporary_forms)

    def text(self, text: str) -> str:
        """Return a string without the secrets."""
        return _mask_text(text, self.forms())

    def content(self, content: bytes) -> bytes:
        """Return bytes without the secrets; the same object if there are none."""
        return mask_forms(content, self.forms())

    def mask_part(self, content: bytes, end: int, begun: int = 0) -> tuple[bytes, int]:
        """Return the first `end` bytes masked, and how many of the next belong to a secret, too."""
        marks = mark_forms(content, self.forms()) or bytearray(len(content))
        marks[:begun] = b"\1" * begun
        masked = mask_marked(content[:end], marks[:end])
        goes_on = MARKED_RUN.match(marks, end) if (marks[end - 1] if end else begun) else None
        masked = masked.removeprefix(MASK.encode()) if begun else masked
        return masked, goes_on.end() - end if goes_on else 0

    def data(self, value: Any) -> Any:
        """Return JSON-native data without the secrets; the same object if there are none."""
        if not self:
            return value
        # All strings are searched together: most data holds no secret.
        forms = find_forms(octets_of("\n".join(_iter_strings(value))), self.forms())
        return _mask_values(value, forms) if forms else value


# Redactors whose secrets are masked in log records, until they are released or collected.
_watched: weakref.WeakSet[Redactor] = weakref.WeakSet()
# Reentrant: a signal handler may log while this thread holds it, and the filter of its record
# takes the lock again.
_guard = threading.RLock()


def redact_text(text: str) -> str:
    """Return a string without the secrets of any redactor."""
    with _guard:
        redactors = list(_watched)
    return _mask_text(text, frozenset().union(*(redactor.forms() for redactor in redactors)))


def excerpt(text: str, most: int) -> str:
    """Return the beginning of an untrusted string, without secrets; no other function cuts such."""
    text = redact_text(text)
    return text if len(text) <= most else f"{text[:most]}…"


def redact_data(
    value: Any,
    schema: MarkedSchema | None = None,
    names: Collection[str] = frozenset(),
    *,
    is_secret: bool = False,
    depth: int = 0,
) -> Any:
    """Return data or bytes for a file or a person: without known, named and marked secrets.

    Known secrets are those of all redactors. Named ones stand behind a name that tells of them, or
    that is among `names`: of properties, pairs of queries and forms, parts of multipart bodies and
    elements, also in strings within strings. Marked ones are those of which the `schema` of the
    value says so. What lies deeper than 60 levels is masked.
    """
    masked = value
    is_secret = is_secret or (schema is not None and schema.is_secret)
    match value:
        case None | bool():
            pass
        case _ if depth > _DEEPEST or (is_secret and not isinstance(value, dict | list | tuple)):
            masked = MASK
        case dict():
            masked = {}
            for key, item in value.items():
                inner = schema and schema.property_schema(str(key))
                named = _is_named_secret(str(key), names)
                masked[redact_text(str(key))] = redact_data(
                    item, inner, names, is_secret=named, depth=depth + 1
                )
        case list() | tuple():
            inner_schemas = (schema and schema.item_schema(index) for index in range(len(value)))
            masked = [
                redact_data(item, inner, names, is_secret=is_secret, depth=depth + 1)
                for item, inner in zip(value, inner_schemas, strict=True)
            ]
        case str():
            masked = _redact_string(value, names)
        case bytes():
            text = _redact_string(value.decode(errors="surrogateescape"), names)
            masked = text.encode(errors="surrogateescape")
        case int() | float() if redact_text(_digits(value)) == MASK:
            masked = MASK
    return masked


def _redact_string(text: str, names: Collection[str]) -> str:
    return mask_named_values(redact_text(text), lambda name: _is_named_secret(name, names))


def _is_named_secret(name: str, names: Collection[str]) -> bool:
    # Forms and queries write `user[password]` and `api%5Fkey2`.
    plain = unquote_plus(name)
    return names_secret(plain.rstrip("[]0123456789")) or (bool(names) and is_named(plain, names))


def redact_error(error: BaseException, redactor: Redactor) -> None:
    """Mask secrets in an exception's strings."""
    error.args = tuple(redactor.data(part) for part in error.args)
    if isinstance(error, errors.OpenAPIToolsError):
        error.reason = redactor.text(error.reason)
    if isinstance(error, errors.DocumentError | errors.InputError):
        error.pointer = redactor.text(error.pointer)
    if isinstance(error, errors.CallError):
        error.facts = redactor.data(error.facts)


def _redact_record(record: logging.LogRecord) -> bool:
    # A traceback becomes a string here: its frames hold values.
    try:
        message = record.getMessage()
        hidden = redact_text(message)
        if hidden != message:
            record.msg, record.args = hidden, None
        if record.exc_info:
            lines = traceback.format_exception(*record.exc_info)
            record.exc_text = redact_text("".join(lines)).rstrip("\n")
            record.exc_info = None
    except Exception:  # noqa: BLE001 -- logged objects of user code may fail to be shown
        record.msg = f"{MASK} (a record that cannot be shown)"
        record.args = record.exc_info = None
    return True


def _iter_strings(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as values:
                waiting += values
                waiting += values.values()
            case list() | tuple() as values:
                waiting += values
            case int() | float() as number:
                yield _digits(number)


def _digits(number: float) -> str:
    if isinstance(number, float) and not number.is_integer():  # nor are infinities
        return str(number)
    # Python refuses to write integers of thousands of digits, and no secret is one.
    return str(abs(int(number))) if abs(number) < _LARGEST else ""


def _mask_values(value: Any, forms: frozenset[bytes]) -> Any:
    match value:
        case str():
            return _mask_text(value, forms)
        case dict():
            masked: dict[Any, Any] = {}
            for key, item in value.items():
                name = _mask_values(key, forms)
                while name != key and (name in masked or name in value):
                    name += "*"  # two masked names stay two
                masked[name] = _mask_values(item, forms)
            return masked
        case list() | tuple():
            return [_mask_values(item, forms) for item in value]
        case int() | float() if _digits(value).encode() in forms:
            return MASK
        case _:
            return value


def _mask_text(text: str, forms: frozenset[bytes]) -> str:
    octets = octets_of(text)
    masked = mask_forms(octets, forms)
    if masked is octets:
        return text
    try:
        return masked.decode(errors="surrogatepass")
    except UnicodeDecodeError:  # a mask may have taken half a character
        return masked.decode(errors="replace")
