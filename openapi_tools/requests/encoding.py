"""Which characters each place of a request can carry, and how the others are written there."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from openapi_tools.errors import InputError
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
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "cookie",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-original-url",
        "x-rewrite-url",
    }
)
"""Headers that no argument sets, as `header_key` has them: they frame or route a request, or hold
secrets.

Spec: OpenAPI 3.1.2, section 4.8.12.2, `name`, for Accept, Authorization and Content-Type; RFC 9110,
section 7.6.1, for those of the connection.
"""

LONGEST_URL = 65536  # httpx refuses a longer one

_TRIPLE = re.compile(r"(%[0-9A-Fa-f]{2})")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"(?:[!-~\xa0-\xff](?:[ \t!-~\xa0-\xff]*[!-~\xa0-\xff])?)?")
_COOKIE_NAME = re.compile(r"[!#-+\--:<>-\[\]-~]+")
_COOKIE_VALUE = re.compile(r"(?:[!-:<-~](?:[ -:<-~]*[!-:<-~])?)?")

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Writer:
    """How text is written at one place of a request.

    Attributes:
        value: Writes a value, without its delimiters.
        name: Writes a name or an object's key.
        delimiters: How each delimiter between values is written.
        brackets: How `[` and `]` are written between the steps of a deepObject name.
    """

    value: Callable[[str], str]
    name: Callable[[str], str]
    delimiters: Mapping[str, str]
    brackets: tuple[str, str] = ("%5B", "%5D")

    def reserved(self, value: Callable[[str], str]) -> Writer:
        """Return the writer for `allowReserved`: values may hold more, names may not."""
        return replace(self, value=value)

    def printed(self) -> Writer:
        """Return the writer that leaves `|`, `[` and `]` between values as they are."""
        return replace(self, delimiters={**self.delimiters, "|": "|"}, brackets=("[", "]"))


def percent_encode(text: str) -> str:
    """Return the text with everything but unreserved characters percent-encoded.

    Spec: RFC 3986, section 2.3.
    """
    return text if text.isalnum() and text.isascii() else quote(text, safe="")


def form_encode(text: str) -> str:
    """Return the text as a form body writes it: a space as `+`, the tilde percent-encoded.

    Spec: OpenAPI 3.2.0, section 4.12.4; WHATWG URL, section 5.
    """
    return quote(text, safe=" ").replace(" ", "+").replace("~", "%7E")


def keep_triples(text: str, safe: str) -> str:
    """Percent-encode, but leave `safe` characters and `%XX` triples as they are.

    Spec: RFC 6570, section 3.2.3.
    """
    pieces = _TRIPLE.split(text)
    return "".join(p if i % 2 else quote(p, safe=safe) for i, p in enumerate(pieces))


def check_length(url: str) -> None:
    """Refuse what is longer than the HTTP client takes, before anything costly looks at it.

    Raises:
        InputError: It is longer.
    """
    if len(url) > LONGEST_URL:
        raise InputError(f"the URL would be longer than {LONGEST_URL} characters.")


def is_token(text: str) -> bool:
    """Whether the text can be the name of a header or a method (RFC 9110, section 5.6.2)."""
    return _TOKEN.fullmatch(text) is not None


def check_header(text: str) -> None:
    """Refuse text that is no header value: control characters, other alphabets, blanks at the ends.

    Spec: RFC 9110, section 5.5.

    Raises:
        InputError: It cannot be sent.
    """
    if not _HEADER_VALUE.fullmatch(text):
        raise InputError(
            "a header takes one line of Latin-1 characters without blanks at its ends."
        )


def is_cookie_name(text: str) -> bool:
    """Whether the text can be the name of a cookie (RFC 6265, section 4.1.1)."""
    return _COOKIE_NAME.fullmatch(text) is not None


def check_cookie_name(name: str) -> None:
    """Refuse a name that would end, add to or break the `Cookie` header; raises InputError."""
    if not is_cookie_name(name):
        raise InputError(f"{shown(name)} cannot be the name of a cookie.")


def check_cookie_value(value: str) -> None:
    """Refuse a value that would end, add to or break the `Cookie` header; raises InputError.

    Spec: RFC 6265, section 4.1.1; spaces, quotes and commas pass as OpenAPI 3.2.0, Appendix D asks.
    """
    if not _COOKIE_VALUE.fullmatch(value):
        raise InputError(
            "a cookie takes printable ASCII without ';' and without blanks at its ends; "
            "encode the value as the API expects it."
        )


def shown(text: str) -> str:
    """Return the text quoted for a message, shortened when it is long."""
    return repr(excerpt(text, _SHOWN))


def _unchanged(text: str) -> str:
    return text


def _path_reserved(text: str) -> str:
    return keep_triples(text, _IN_PATH)


def _matrix_reserved(text: str) -> str:
    return keep_triples(text, _IN_MATRIX)


def _query_reserved(text: str) -> str:
    return keep_triples(text, _IN_QUERY)


def _form_reserved(text: str) -> str:
    return keep_triples(text, _IN_QUERY + " ").replace(" ", "+")


def _cookie_reserved(text: str) -> str:
    return keep_triples(text, _IN_COOKIE)


_ENCODED = {",": ",", " ": "%20", "\t": "%09", "|": "%7C"}
_UNENCODED = {delimiter: delimiter for delimiter in _ENCODED}

QUERY = Writer(percent_encode, percent_encode, _ENCODED)
QUERY_PRINTED = QUERY.printed()
QUERY_RESERVED = QUERY.reserved(_query_reserved)
QUERY_RESERVED_PRINTED = QUERY_RESERVED.printed()
COOKIE_RESERVED = QUERY.reserved(_cookie_reserved)
FORM = Writer(form_encode, form_encode, {**_ENCODED, " ": "+"})
FORM_RESERVED = FORM.reserved(_form_reserved)
PATH = QUERY
PATH_RESERVED = PATH.reserved(_path_reserved)
MATRIX_RESERVED = PATH.reserved(_matrix_reserved)
RAW = Writer(_unchanged, _unchanged, _UNENCODED, ("[", "]"))
