"""Parameter styles: names, delimiters and their order; `encoding` writes each for its place.

Spec: OpenAPI 3.2.0, sections 4.12.3 to 4.12.6 and Appendix C; RFC 6570, section 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError, InputError
from openapi_tools.http_rules import essence, has_dot_segment, is_json
from openapi_tools.requests import encoding
from openapi_tools.requests.encoding import Writer, json_text, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.model import Parameter

DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
"""Between values that are not exploded; the comma for every other style."""


_QUERY_WRITERS = {  # by `allow_reserved` and `printed`
    (False, False): encoding.ENCODED,
    (False, True): encoding.ENCODED_PRINTED,
    (True, False): encoding.QUERY_RESERVED,
    (True, True): encoding.QUERY_RESERVED_PRINTED,
}


def path_text(parameter: Parameter, value: Any) -> str:
    """Return a path parameter, encoded, with the prefix of its style (OpenAPI 3.2.0, 4.8.2)."""
    if value is None:
        raise InputError("a value is needed; null has no form in a path.")
    is_text = isinstance(value, str)
    if is_text:
        encoding.check_length(value)
        if has_dot_segment(value):
            shown = encoding.shown(value)
            raise InputError(f"{shown} could be read as a step to another path; it is not sent.")
    writer = encoding.ENCODED
    if parameter.allow_reserved:
        is_matrix = parameter.style == "matrix"
        writer = encoding.MATRIX_RESERVED if is_matrix else encoding.PATH_RESERVED
    if parameter.media_type:
        return writer.value(content_text(parameter.media_type, value))
    if not is_text and _is_undefined(value):
        return ""
    if parameter.style == "matrix":
        found = pairs(parameter, value, writer)
        return "".join(f";{name}={text}" if text else f";{name}" for name, text in found)
    write = _label if parameter.style == "label" else _simple
    return write(parameter, value, writer)


def query_pairs(parameter: Parameter, value: Any) -> list[tuple[str, str]]:
    """Return the encoded names and values that a query parameter adds; none for undefined."""
    writer = _QUERY_WRITERS[parameter.allow_reserved, parameter.printed]
    return pairs(parameter, value, writer)


def cookie_text(parameter: Parameter, value: Any) -> str:
    """Return the part of the `Cookie` header (RFC 6265, 4.1.1); empty for an undefined value."""
    encoding.check_cookie_name(parameter.name)
    if parameter.style == "cookie" or essence(parameter.media_type) == "text/plain":
        found = pairs(parameter, value, encoding.RAW)
        for name, text in found:
            encoding.check_cookie_name(name)
            encoding.check_cookie_value(text)
        return "; ".join(f"{name}={text}" for name, text in found)
    writer = encoding.COOKIE_RESERVED if parameter.allow_reserved else encoding.ENCODED
    found = pairs(parameter, value, writer)
    names = {encoding.percent_encode(parameter.name): parameter.name}
    return "&".join(f"{names.get(name, name)}={text}" for name, text in found)


def header_text(parameter: Parameter, value: Any) -> str | None:
    """Return a header, neither encoded nor quoted (OpenAPI 3.2.0, 4.12.2.2); None for none."""
    if parameter.media_type and value is not None:
        text = content_text(parameter.media_type, value, ascii_only=True)
    elif _is_undefined(value):
        return None
    else:
        text = _simple(parameter, value, encoding.RAW)
    encoding.check_header(text)
    return text


def content_text(media_type: str, value: Any, *, ascii_only: bool = False) -> str:
    """Return a value as text of its media type, before any encoding (4.12.2.3 of OpenAPI 3.2)."""
    if is_json(media_type):
        return json_text(value, ascii_only=ascii_only)
    if value is None:
        raise InputError(f"null has no form in {media_type}.")
    if isinstance(value, (list, dict)):
        kind = "an array" if isinstance(value, list) else "an object"
        reason = f"{kind} cannot be written as {media_type}, which this package sends as text only."
        raise CallError("invalid_input", reason)
    return plain_text(value)


def pairs(parameter: Parameter, value: Any, writer: Writer) -> list[tuple[str, str]]:
    """Return names and values, for the styles form, cookie, matrix, deepObject, the delimited."""
    if value is None:
        return []
    name = writer.name(parameter.name)
    if parameter.media_type:
        return [(name, writer.value(content_text(parameter.media_type, value)))]
    if parameter.style == "deepObject" or not isinstance(value, (list, dict)):
        return list(_deep_pairs(name, value, writer))
    if not parameter.explode:
        return [] if _is_undefined(value) else [(name, _joined(parameter, value, writer))]
    if isinstance(value, dict):
        return _members(parameter, value, writer)
    return [(name, item) for item in _items(parameter, value, writer)]


def _deep_pairs(name: str, value: Any, writer: Writer) -> Iterator[tuple[str, str]]:
    """Write nested values for PHP, Rails and Express: `a[b][c]=1`, `a[b][]=1`, `a[0][b]=1`."""
    opening, closing = writer.brackets
    if isinstance(value, dict):
        for key, member in value.items():
            step = f"{name}{opening}{writer.name(key)}{closing}"
            yield from _deep_pairs(step, member, writer)
    elif isinstance(value, list):
        items = [item for item in value if item is not None]
        numbered = any(isinstance(item, (list, dict)) for item in items)
        for index, item in enumerate(items):
            step = f"{name}{opening}{index if numbered else ''}{closing}"
            yield from _deep_pairs(step, item, writer)
    elif value is not None:
        yield name, writer.value(plain_text(value))


def _label(parameter: Parameter, value: Any, writer: Writer) -> str:
    if not isinstance(value, (list, dict)):
        return "." + writer.value(plain_text(value))
    if not parameter.explode:
        delimiter = "." if parameter.printed else ","
        return "." + delimiter.join(_flat(parameter, value, writer))
    if isinstance(value, list):
        return "." + ".".join(_items(parameter, value, writer))
    return "." + ".".join(f"{name}={text}" for name, text in _members(parameter, value, writer))


def _simple(parameter: Parameter, value: Any, writer: Writer) -> str:
    if not isinstance(value, (list, dict)):
        return writer.value(plain_text(value))
    if isinstance(value, dict) and parameter.explode:
        return ",".join(f"{name}={text}" for name, text in _members(parameter, value, writer))
    return _joined(parameter, value, writer)


def _joined(parameter: Parameter, value: Any, writer: Writer) -> str:
    delimiter = writer.delimiters[DELIMITERS.get(parameter.style, ",")]
    return delimiter.join(_flat(parameter, value, writer))


def _flat(parameter: Parameter, value: Any, writer: Writer) -> list[str]:
    """Return an array's items, or an object's names and values in turn."""
    if isinstance(value, list):
        return _items(parameter, value, writer)
    return [text for pair in _members(parameter, value, writer) for text in pair]


def _items(parameter: Parameter, value: list[Any], writer: Writer) -> list[str]:
    return [_item(item, parameter.inner, writer) for item in value if item is not None]


def _members(parameter: Parameter, value: dict[str, Any], writer: Writer) -> list[tuple[str, str]]:
    return [
        (writer.name(key), _item(member, parameter.inner, writer))
        for key, member in value.items()
        if member is not None
    ]


def _item(item: Any, inner: tuple[str, ...], writer: Writer) -> str:
    """Write one item; Swagger 2.0 has a delimiter for each level of arrays in it."""
    if inner and isinstance(item, list):
        texts = [_item(member, inner[1:], writer) for member in item if member is not None]
        return writer.delimiters.get(inner[0], ",").join(texts)
    return writer.value(plain_text(item))


def _is_undefined(value: Any) -> bool:
    """Whether RFC 6570, section 2.3 calls the value undefined; such values are left out."""
    if isinstance(value, dict):
        value = list(value.values())
    return value is None or (isinstance(value, list) and all(item is None for item in value))
