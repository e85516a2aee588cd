"""Values as text, and the characters that each place of a request can carry."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from openapi_tools.errors import CallError, InputError
from openapi_tools.json_values import pointer_token
from openapi_tools.redaction import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_RESERVED = ":/?#[]@!$&'()*+,;="
_IN_PATH = "".join(c for c in _RESERVED if c not in "/?#[]")
_IN_MATRIX = _IN_PATH.replace(";", "")  # with which the next pair begins
_IN_QUERY = "".join(c for c in _RESERVED if c not in "#&+")
_IN_COOKIE = "".join(c for c in _RESERVED if c not in ";&")

PATH_LITERAL = "/:@!$&'()*+,;="
"""Characters of a path as a document writes it that need no encoding (RFC 3986, section 3.3)."""

OWN_HEADERS = frozenset(
    {
        *("accept", "accept-encoding", "authorization", "connection", "content-length"),
        *("content-type", "cookie", "expect", "host", "keep-alive", "proxy-authenticate"),
        *("proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding"),
        *("upgrade", "x-original-url", "x-rewrite-url"),
    }
)
"""Headers that no argument sets, as `header_key` has them: they frame or route a request, or hold
secrets (OpenAPI 3.1.2, section 4.8.12.2, `name`; RFC 9110, section 7.6.1).
"""

LONGEST_URL = 65536  # httpx refuses a longer one

_UNRESERVED = re.compile(r"[0-9A-Za-z._~-]*")
_TRIPLE = re.compile(r"(%[0-9A-Fa-f]{2})")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"(?:[!-~\xa0-\xff](?:[ \t!-~\xa0-\xff]*[!-~\xa0-\xff])?)?")
_COOKIE_NAME = re.compile(r"[!#-+\--:<>-\[\]-~]+")
_COOKIE_VALUE = re.compile(r"(?:[!-:<-~](?:[ -:<-~]*[!-:<-~])?)?")


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes values and names for one place of a request, with the delimiters between values."""

    value: Callable[[str], str]
    name: Callable[[str], str]
    delimiters: Mapping[str, str]
    brackets: tuple[str, str] = ("%5B", "%5D")  # of the steps of a deepObject name


def percent_encode(text: str) -> str:
    """Percent-encode everything but unreserved characters (RFC 3986, section 2.3)."""
    return text if _UNRESERVED.fullmatch(text) else quote(text, safe="")


def form_encode(text: str) -> str:
    """Write a space as `+`, and percent-encode the tilde too (WHATWG URL, section 5)."""
    return quote(text, safe=" ").replace(" ", "+").replace("~", "%7E")


def keep_triples(text: str, safe: str) -> str:
    """Percent-encode all but `safe` characters and `%XX` triples (RFC 6570, section 3.2.3)."""
    pieces = _TRIPLE.split(text)
    return "".join(p if i % 2 else quote(p, safe=safe) for i, p in enumerate(pieces))


def check_length(url: str) -> None:
    """Raise InputError for a URL that is too long, before any costly step."""
    if len(url) > LONGEST_URL:
        raise InputError(f"the URL would be longer than {LONGEST_URL} characters.")


def is_token(text: str) -> bool:
    """Whether the text can be the name of a header or a method (RFC 9110, section 5.6.2)."""
    return _TOKEN.fullmatch(text) is not None


def check_header(text: str) -> None:
    """Raise InputError for an invalid header value (RFC 9110, section 5.5)."""
    if not _HEADER_VALUE.fullmatch(text):
        reason = "a header takes one line of Latin-1 characters without blanks at its ends."
        raise InputError(reason)


def is_cookie_name(text: str) -> bool:
    """Whether the text can be the name of a cookie (RFC 6265, section 4.1.1)."""
    return _COOKIE_NAME.fullmatch(text) is not None


def check_cookie_name(name: str) -> None:
    """Raise InputError for a name that would end, add to or break the `Cookie` header."""
    if not is_cookie_name(name):
        raise InputError(f"{shown(name)} cannot be the name of a cookie.")


def check_cookie_value(value: str) -> None:
    """Raise InputError for a value that would break the `Cookie` header; blanks inside may stay."""
    if not _COOKIE_VALUE.fullmatch(value):
        reason = "a cookie takes printable ASCII without ';' and without blanks at its ends"
        raise InputError(f"{reason}; encode the value as the API expects it.")


def shown(text: str) -> str:
    """Return the text quoted for a message, shortened when it is long."""
    return repr(excerpt(text, 80))


def _reserved(safe: str) -> Writer:
    """Return the writer for `allowReserved`: values may hold more characters, names may not."""
    return replace(ENCODED, value=partial(keep_triples, safe=safe))


def _printed(writer: Writer) -> Writer:
    """Return the writer that does not encode `|`, `[` and `]` between values."""
    return replace(writer, delimiters={**writer.delimiters, "|": "|"}, brackets=("[", "]"))


_DELIMITERS = {",": ",", " ": "%20", "\t": "%09", "|": "%7C"}

ENCODED = Writer(percent_encode, percent_encode, _DELIMITERS)  # for paths, queries and cookies
ENCODED_PRINTED = _printed(ENCODED)
QUERY_RESERVED = _reserved(_IN_QUERY)
QUERY_RESERVED_PRINTED = _printed(QUERY_RESERVED)
COOKIE_RESERVED = _reserved(_IN_COOKIE)
PATH_RESERVED = _reserved(_IN_PATH)
MATRIX_RESERVED = _reserved(_IN_MATRIX)
FORM = Writer(form_encode, form_encode, {**_DELIMITERS, " ": "+"})
FORM_RESERVED = replace(
    FORM, value=lambda text: keep_triples(text, _IN_QUERY + " ").replace(" ", "+")
)
RAW = Writer(str, str, dict(zip(_DELIMITERS, _DELIMITERS, strict=True)), ("[", "]"))

CHARSETS = frozenset({"utf-8", "us-ascii", "iso-8859-1", "utf-16"})
"""Charsets of a media type in which text can be written."""

_INTEGRAL = 1e16
"""Below this, every integral float is written without exponent by Python and by ECMAScript."""

_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ASCII = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))

FAULTS = (UnicodeEncodeError, RecursionError, ValueError, TypeError)
"""Raised by writing a value that no request can carry."""


def plain_text(value: Any) -> str:
    """Return a primitive as text (OpenAPI 3.2.0, Appendix B); an array or object as JSON."""
    if isinstance(value, str):
        return value
    if type(value) is int and -_INTEGRAL < value < _INTEGRAL:
        return str(value)
    if not isinstance(value, float):
        return json_text(value)
    if value.is_integer() and abs(value) < _INTEGRAL:
        return str(int(value))
    return json_text(value).replace("e-0", "e-")


def json_text(value: Any, *, ascii_only: bool = False) -> str:
    r"""Return compact JSON text, as `json_bytes` does; `ascii_only` writes `\u` escapes."""
    data = json_bytes(value)
    return _ASCII.encode(value) if ascii_only else data.decode()


def json_bytes(value: Any) -> bytes:
    """Return compact JSON in UTF-8 (RFC 8259); an InputError points at the faulty member."""
    try:
        return _COMPACT.encode(value).encode()
    except FAULTS as error:
        raise InputError(fault_reason(error), pointer=_faulty_member(value)) from None


def encode_text(text: str, charset: str = "") -> bytes:
    """Return the text in a charset that a media type names; UTF-8 when it names none."""
    codec = charset.lower() or "utf-8"
    if codec not in CHARSETS:
        raise CallError("invalid_input", f"text in the charset {charset!r} cannot be written.")
    try:
        return text.encode(codec)
    except UnicodeEncodeError as error:
        reason = fault_reason(error) if codec == "utf-8" else f"{codec} lacks some characters."
        raise InputError(reason) from None


def fault_reason(error: Exception) -> str:
    """Return, for a model, why a value cannot be written."""
    match error:
        case UnicodeEncodeError():
            return "the text holds half of a surrogate pair; give whole Unicode characters."
        case RecursionError():
            return "the value is nested too deep to be written."
        case _:
            return f"the value cannot be written as JSON ({error})."


def placed(error: Exception, argument: str) -> InputError:
    """Return an error with its whole pointer: the argument, then the member inside it."""
    if isinstance(error, InputError):
        return InputError(error.reason, pointer=pointer_token(argument) + error.pointer)
    return InputError(fault_reason(error), pointer=pointer_token(argument))


def _faulty_member(value: Any) -> str:
    """Return the pointer of the innermost member that JSON cannot write."""
    steps = ""
    while isinstance(value, (list, dict)):
        for key, member in enumerate(value) if isinstance(value, list) else value.items():
            try:
                _COMPACT.encode(member).encode()
            except RecursionError:
                return steps
            except FAULTS:
                steps, value = steps + pointer_token(key), member
                break
        else:
            return steps
    return steps
