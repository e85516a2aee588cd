"""Values as strings, for each location and style of parameters (OpenAPI 3.2.0, 4.12)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from openapi_tools.common.http_rules import essence, has_dot_segment, is_json
from openapi_tools.common.json_values import EXPONENT, normalize_number, pointer_token
from openapi_tools.errors import CallError, InputError
from openapi_tools.redaction import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from openapi_tools.model import Parameter

# Without what would end the part: `?` and `#` in a path, `&` and `#` in a query, `;` in a cookie.
_RESERVED = {  # characters that `allowReserved` sends unchanged
    "path": ":@!$&'()*+,;=",
    "matrix": ":@!$&'()*+,=",  # without the one with which the next pair begins
    "query": ":/?[]@!$'()*,;=",
    "cookie": ":/?#[]@!$'()*+,=",
}
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
_NOT_IN_SEGMENTS = re.compile(r"[?#\\]")
_COOKIE_NAME = re.compile(r"[!#-+\--:<>-\[\]-~]+")
_COOKIE_VALUE = re.compile(r"(?:[!-:<-~](?:[ -:<-~]*[!-:<-~])?)?")


@dataclass(frozen=True, slots=True)
class StyleWriter:
    """Writes values and names for one location, with the delimiters between values."""

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
    """Return whether a string can name a header or a method (RFC 9110, section 5.6.2)."""
    return _TOKEN.fullmatch(text) is not None


def check_header(text: str) -> None:
    """Raise InputError for an invalid header value (RFC 9110, section 5.5)."""
    if not _HEADER_VALUE.fullmatch(text):
        reason = (
            "a header value must be one line of Latin-1 characters without spaces at either end."
        )
        raise InputError(reason)


def is_cookie_name(text: str) -> bool:
    """Return whether a string can name a cookie (RFC 6265, section 4.1.1)."""
    return _COOKIE_NAME.fullmatch(text) is not None


def check_cookie_name(name: str) -> None:
    """Raise InputError for a name that would end, add to or break the `Cookie` header."""
    if not is_cookie_name(name):
        raise InputError(f"{quote_excerpt(name)} is not a valid cookie name.")


def check_cookie_value(value: str) -> None:
    """Raise InputError for a value that would break the `Cookie` header; inner spaces may stay."""
    if not _COOKIE_VALUE.fullmatch(value):
        reason = (
            "a cookie value must be printable ASCII without ';' and without spaces at either end"
        )
        raise InputError(f"{reason}; encode the value as the API expects it.")


def quote_excerpt(text: str) -> str:
    """Return a string quoted for a message, shortened if it is long."""
    return repr(excerpt(text, 80))


_DELIMITERS = {",": ",", " ": "%20", "\t": "%09", "|": "%7C"}

ENCODED = StyleWriter(percent_encode, percent_encode, _DELIMITERS)  # for paths, queries and cookies


@lru_cache
def _writer(place: str, *, reserved: bool, printed: bool = False) -> StyleWriter:
    writer = ENCODED
    if reserved:
        writer = replace(writer, value=partial(keep_triples, safe=_RESERVED[place]))
    if printed:
        writer = replace(writer, delimiters={**_DELIMITERS, "|": "|"}, brackets=("[", "]"))
    return writer


FORM = StyleWriter(form_encode, form_encode, {**_DELIMITERS, " ": "+"})
FORM_RESERVED = replace(
    FORM, value=lambda text: keep_triples(text, f"{_RESERVED['query']} ").replace(" ", "+")
)
RAW = StyleWriter(str, str, dict(zip(_DELIMITERS, _DELIMITERS, strict=True)), ("[", "]"))

CHARSETS = frozenset({"utf-8", "us-ascii", "iso-8859-1", "utf-16"})  # in which text is written

_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ASCII = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))

_FAULTS = (UnicodeEncodeError, RecursionError, ValueError, TypeError)  # of writing a value


def plain_text(value: Any) -> str:
    """Return a primitive as a string (OpenAPI 3.2.0, Appendix B); an array or object as JSON."""
    if isinstance(value, str):
        return value
    if type(value) is int and -EXPONENT < value < EXPONENT:
        return str(value)
    if not isinstance(value, float):
        return json_text(value)
    number = normalize_number(value)
    return str(number) if isinstance(number, int) else json_text(number).replace("e-0", "e-")


def json_text(value: Any, *, ascii_only: bool = False) -> str:
    r"""Return compact JSON text, as `json_bytes` does; `ascii_only` writes `\u` escapes."""
    data = json_bytes(value)
    return _ASCII.encode(value) if ascii_only else data.decode()


def json_bytes(value: Any) -> bytes:
    """Return compact JSON in UTF-8 (RFC 8259); an InputError points at the faulty property."""
    try:
        return _COMPACT.encode(value).encode()
    except _FAULTS as error:
        raise InputError(describe_encoding_error(error), pointer=_faulty_pointer(value)) from None


def encode_text(text: str, charset: str = "") -> bytes:
    """Return a string in a charset that a media type names; in UTF-8 if it names none."""
    codec = charset.lower() or "utf-8"
    if codec not in CHARSETS:
        raise CallError("invalid_input", f"the charset {charset!r} is not supported.")
    try:
        return text.encode(codec)
    except UnicodeEncodeError as error:
        reason = (
            describe_encoding_error(error)
            if codec == "utf-8"
            else f"{codec} cannot encode some of the characters."
        )
        raise InputError(reason) from None


def describe_encoding_error(error: Exception) -> str:
    """Return, for a model, why a value cannot be written."""
    match error:
        case UnicodeEncodeError():
            return "the string contains a lone surrogate; use whole Unicode characters."
        case RecursionError():
            return "the value is nested too deeply to be encoded."
        case _:
            return f"the value cannot be encoded as JSON ({error})."


def point_at_argument(error: Exception, argument: str) -> InputError:
    """Return an error with its whole pointer: the argument, then the property inside it."""
    if isinstance(error, InputError):
        return InputError(error.reason, pointer=pointer_token(argument) + error.pointer)
    return InputError(describe_encoding_error(error), pointer=pointer_token(argument))


def _faulty_pointer(value: Any) -> str:
    steps = ""
    while isinstance(value, (list, dict)):
        for key, part in enumerate(value) if isinstance(value, list) else value.items():
            try:
                _COMPACT.encode(part).encode()
            except RecursionError:
                return steps
            except _FAULTS:
                steps, value = steps + pointer_token(key), part
                break
        else:
            return steps
    return steps


# Between values that are not exploded; the comma for every other style.
DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}


def path_text(parameter: Parameter, value: Any) -> str:
    """Return a path parameter, encoded, with the prefix of its style (OpenAPI 3.2.0, 4.8.2)."""
    if value is None:
        raise InputError("a path parameter cannot be null.")
    is_text = isinstance(value, str)
    if is_text:
        check_length(value)
        if has_dot_segment(value):
            reason = "could be interpreted as a relative path segment; the request was not sent."
            raise InputError(f"{quote_excerpt(value)} {reason}")
    is_matrix = parameter.style == "matrix"
    writer = _writer("matrix" if is_matrix else "path", reserved=parameter.allow_reserved)
    if parameter.media_type:
        return writer.value(content_text(parameter.media_type, value))
    if not is_text and _is_undefined(value):
        return ""
    if is_text and parameter.slashes:
        return _encode_segments(value, writer)
    if is_matrix:
        path_pairs = encode_pairs(parameter, value, writer)
        return "".join(f";{name}={text}" if text else f";{name}" for name, text in path_pairs)
    if parameter.style == "label":
        return "." + ".".join(_encode_texts(parameter, value, writer))
    return ",".join(_encode_texts(parameter, value, writer))


def _encode_segments(value: str, writer: StyleWriter) -> str:
    # Slashes stay, so what could lead to another path is refused.
    if value.startswith("/") or "//" in value:
        raise InputError(
            f"{quote_excerpt(value)} has an empty segment; pass a path such as 'a/b/c'."
        )
    if _NOT_IN_SEGMENTS.search(value):
        reason = (
            "a path cannot contain '?', '#' or a backslash; pass queries as arguments of their own."
        )
        raise InputError(f"{quote_excerpt(value)}: {reason}")
    return "/".join(map(writer.value, value.split("/")))


def query_pairs(parameter: Parameter, value: Any) -> list[tuple[str, str]]:
    """Return the encoded names and values that a query parameter adds; none for undefined."""
    writer = _writer("query", reserved=parameter.allow_reserved, printed=parameter.printed)
    return encode_pairs(parameter, value, writer)


def cookie_text(parameter: Parameter, value: Any) -> str:
    """Return the part of the `Cookie` header (RFC 6265, 4.1.1); empty for an undefined value."""
    check_cookie_name(parameter.name)
    if parameter.style == "cookie" or essence(parameter.media_type) == "text/plain":
        cookie_pairs = encode_pairs(parameter, value, RAW)
        for name, text in cookie_pairs:
            check_cookie_name(name)
            check_cookie_value(text)
        return "; ".join(f"{name}={text}" for name, text in cookie_pairs)
    cookie_pairs = encode_pairs(
        parameter, value, _writer("cookie", reserved=parameter.allow_reserved)
    )
    names = {percent_encode(parameter.name): parameter.name}
    return "&".join(f"{names.get(name, name)}={text}" for name, text in cookie_pairs)


def header_text(parameter: Parameter, value: Any) -> str | None:
    """Return a header, neither encoded nor quoted (OpenAPI 3.2.0, 4.12.2.2); None for none."""
    if parameter.media_type and value is not None:
        text = content_text(parameter.media_type, value, ascii_only=True)
    elif _is_undefined(value):
        return None
    else:
        text = ",".join(_encode_texts(parameter, value, RAW))
    check_header(text)
    return text


def content_text(media_type: str, value: Any, *, ascii_only: bool = False) -> str:
    """Return a value as a string of its media type, not yet encoded (OpenAPI 3.2.0, 4.12.2.3)."""
    if is_json(media_type):
        return json_text(value, ascii_only=ascii_only)
    if value is None:
        raise InputError(f"null cannot be written as {media_type}.")
    if not isinstance(value, (list, dict)):
        return plain_text(value)
    kind = "an array" if isinstance(value, list) else "an object"
    reason = f"{kind} cannot be written as {media_type}; only strings, numbers and booleans can."
    raise CallError("invalid_input", reason)


def encode_pairs(parameter: Parameter, value: Any, writer: StyleWriter) -> list[tuple[str, str]]:
    """Return names and values, for the styles form, cookie, matrix, deepObject, the delimited."""
    if value is None:
        return []
    name = writer.name(parameter.name)
    if parameter.media_type:
        return [(name, writer.value(content_text(parameter.media_type, value)))]
    if parameter.style == "deepObject" or not isinstance(value, (list, dict)):
        return list(_encode_deep_object(name, value, writer))
    if not parameter.explode and _is_undefined(value):
        return []
    if isinstance(value, dict) and parameter.explode:
        return _encode_properties(parameter, value, writer)
    return [(name, text) for text in _encode_texts(parameter, value, writer)]


def _encode_deep_object(name: str, value: Any, writer: StyleWriter) -> Iterator[tuple[str, str]]:
    # OpenAPI does not define nested values. PHP, Rails and Express read `a[b][c]=1`, `a[b][]=1` and
    # `a[0][b]=1`.
    opening, closing = writer.brackets
    if isinstance(value, dict):
        for key, property_value in value.items():
            step = f"{name}{opening}{writer.name(key)}{closing}"
            yield from _encode_deep_object(step, property_value, writer)
    elif isinstance(value, list):
        items = [item for item in value if item is not None]
        numbered = any(isinstance(item, (list, dict)) for item in items)
        for index, item in enumerate(items):
            step = f"{name}{opening}{index if numbered else ''}{closing}"
            yield from _encode_deep_object(step, item, writer)
    elif value is not None:
        yield name, writer.value(plain_text(value))


def _encode_texts(parameter: Parameter, value: Any, writer: StyleWriter) -> list[str]:
    if not isinstance(value, (list, dict)):
        return [writer.value(plain_text(value))]
    if isinstance(value, dict):
        pairs = _encode_properties(parameter, value, writer)
        if parameter.explode:
            return [f"{name}={text}" for name, text in pairs]
        flat = [text for pair in pairs for text in pair]
    else:
        flat = [_encode_item(item, parameter.inner, writer) for item in value if item is not None]
        if parameter.explode and (
            parameter.location == "query" or parameter.style not in DELIMITERS
        ):
            return flat
    is_dotted = parameter.style == "label" and parameter.printed
    joint = "." if is_dotted else writer.delimiters[DELIMITERS.get(parameter.style, ",")]
    return [joint.join(flat)]


def _encode_properties(
    parameter: Parameter, value: dict[str, Any], writer: StyleWriter
) -> list[tuple[str, str]]:
    return [
        (writer.name(key), _encode_item(item, parameter.inner, writer))
        for key, item in value.items()
        if item is not None
    ]


def _encode_item(item: Any, inner: tuple[str, ...], writer: StyleWriter) -> str:
    # Swagger 2.0 has a delimiter for each level of arrays.
    if inner and isinstance(item, list):
        texts = [_encode_item(part, inner[1:], writer) for part in item if part is not None]
        return writer.delimiters.get(inner[0], ",").join(texts)
    return writer.value(plain_text(item))


def _is_undefined(value: Any) -> bool:
    # RFC 6570, section 2.3: such values are left out.
    if isinstance(value, dict):
        value = list(value.values())
    return value is None or (isinstance(value, list) and all(item is None for item in value))
