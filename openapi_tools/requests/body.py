"""Request bodies, by media type.

Spec: OpenAPI 3.2.0, sections 4.13 to 4.15.
"""

from __future__ import annotations

import base64
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools import media_types
from openapi_tools.errors import CallError, InputError
from openapi_tools.json_values import pointer_token
from openapi_tools.options import DEFAULT_SETTINGS
from openapi_tools.requests.encoding import encode_text, form_encode, json_bytes, placed
from openapi_tools.requests.multipart import (
    OCTETS,
    Sources,
    multipart,
    read_file,
    shape_of,
    sources_of,
)
from openapi_tools.requests.styles import content_text, form_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from openapi_tools.model import Encoding, RequestBody
    from openapi_tools.settings import Settings

    _Write = Callable[[RequestBody, Any, Sources], "Content"]
_UTF8_TEXT = "text/plain; charset=utf-8"


class Content(NamedTuple):
    """A body: its whole `Content-Type` and its bytes."""

    media_type: str
    data: bytes


def build_content(
    body: RequestBody, arguments: Mapping[str, Any], settings: Settings
) -> Content | None:
    """Return the body of a request; None when no argument feeds it and it is not required.

    Null is sent in JSON and left out of forms; an absent argument is left out of both.

    Raises:
        InputError: A value cannot be sent; the pointer names the argument and the member in it.
        CallError: This package cannot write such a value in the body's media type.
    """
    if body.choice:
        kind = arguments.get(body.choice)
        body = next((other for other in body.choices if other.media_type == kind), body)
    if not _is_given(body, arguments):
        return None
    if not media_types.is_media_type(body.media_type):
        raise CallError("invalid_input", f"{body.media_type!r} is not a valid media type.")
    write = _file if body.file else _writer_of(body.media_type)
    sources = _NO_SOURCES if write is _json else sources_of(body.encodings, arguments, settings)
    try:
        value = arguments[body.argument] if body.argument else _members(body, arguments)
        return write(body, value, sources)
    except InputError as error:
        raise _at_argument(body, error) from None


def form_text(value: Any, sources: Sources) -> str:
    """Return an object as `application/x-www-form-urlencoded`; a string is one already.

    Members without an encoding are text when they are primitive and JSON when they are objects; an
    array gives one pair per item; null is left out.

    Spec: OpenAPI 3.2.0, sections 4.14.5.1 and 4.15.3.
    """
    if not isinstance(value, dict):
        return content_text("application/x-www-form-urlencoded", value)
    pairs: list[tuple[str, str]] = []
    for name, member in value.items():
        try:
            pairs += _form_pairs(name, member, sources)
        except (InputError, UnicodeEncodeError, RecursionError) as error:
            raise placed(error, name) from None
    return "&".join(f"{name}={text}" for name, text in pairs)


def _is_given(body: RequestBody, arguments: Mapping[str, Any]) -> bool:
    if not body.argument:
        return body.required or any(p.argument in arguments for p in body.properties)
    if body.required and body.argument not in arguments:
        raise InputError("the body is needed.", pointer=pointer_token(body.argument))
    return body.argument in arguments


def _members(body: RequestBody, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {p.name: arguments[p.argument] for p in body.properties if p.argument in arguments}


def _at_argument(body: RequestBody, error: InputError) -> InputError:
    """Return an error whose pointer names the argument instead of the member."""
    if body.argument:
        return placed(error, body.argument)
    name, slash, rest = error.pointer.removeprefix("/").partition("/")
    found = {pointer_token(p.name): p.argument for p in body.properties}
    argument = pointer_token(found.get(f"/{name}", name)) if name else ""
    return InputError(error.reason, pointer=argument + slash + rest)


def _json(body: RequestBody, value: Any, _: Sources) -> Content:
    return Content(body.media_type, json_bytes(value))


def _form(body: RequestBody, value: Any, sources: Sources) -> Content:
    return Content(body.media_type, encode_text(form_text(value, sources)))


def _multipart(body: RequestBody, value: Any, sources: Sources) -> Content:
    return Content(*multipart(body.media_type, value, sources))


def _lines(body: RequestBody, value: Any, _: Sources) -> Content:
    """Write JSON lines (OpenAPI 3.2.0, section 4.14.3.1)."""
    items = value if isinstance(value, list) else [value]
    return Content(body.media_type, b"".join(json_bytes(item) + b"\n" for item in items))


def _sequence(body: RequestBody, value: Any, _: Sources) -> Content:
    """Write a JSON text sequence (RFC 7464, section 2.2)."""
    items = value if isinstance(value, list) else [value]
    data = b"".join(b"\x1e" + json_bytes(item) + b"\n" for item in items)
    return Content(body.media_type, data)


def _any(body: RequestBody, value: Any, _: Sources) -> Content:
    """Choose a media type for a range such as `*/*`: text for strings where it allows that."""
    if isinstance(value, str) and media_types.matches("text/plain", body.media_type):
        return Content(_UTF8_TEXT, encode_text(value))
    if media_types.matches("application/json", body.media_type):
        return Content("application/json", json_bytes(value))
    raise CallError("invalid_input", f"this package has no way to write {body.media_type}.")


def _text(body: RequestBody, value: Any, _: Sources) -> Content:
    charset = media_types.parameter(body.media_type, "charset")
    data = encode_text(content_text(body.media_type, value), charset)
    if charset or not media_types.essence(body.media_type).startswith("text/"):
        return Content(body.media_type, data)
    return Content(f"{body.media_type}; charset=utf-8", data)


def _file(body: RequestBody, value: Any, sources: Sources) -> Content:
    """Write a file in its own media type if that is listed, else in the first that fits."""
    file = read_file(value, sources.settings)
    listed = (body.media_type, *body.alternatives)
    if any(media_types.matches(file.content_type, kind) for kind in listed):
        return Content(file.content_type, file.content)
    if media_types.is_wildcard(body.media_type):
        if file.content_type:
            reason = f"{file.content_type} does not fit {body.media_type}."
            raise InputError(reason, pointer="/content_type")
        return Content(OCTETS, file.content)
    if media_types.is_text(body.media_type):
        if "text" in value:
            return _text(body, value["text"], sources)
        return Content(next(filter(media_types.is_bytes, listed), OCTETS), file.content)
    return Content(body.media_type, file.content)


def _form_pairs(name: str, value: Any, sources: Sources) -> Iterator[tuple[str, str]]:
    encoding = sources.encoding(name)
    if encoding.style:
        yield from form_pairs(shape_of(encoding), value)
        return
    for item in value if isinstance(value, list) else [value]:
        if item is not None:
            yield form_encode(name), form_encode(_form_value(encoding, item, sources))


def _form_value(encoding: Encoding, value: Any, sources: Sources) -> str:
    if encoding.file:
        # A form is text: OpenAPI 3.2.0, section 4.15.3 asks for base64 there.
        return base64.b64encode(read_file(value, sources.settings).content).decode()
    compound = "application/json" if isinstance(value, (list, dict)) else "text/plain"
    return content_text(encoding.content_type or compound, value)


_NO_SOURCES = Sources({}, {}, DEFAULT_SETTINGS)  # JSON has no parts
_WRITERS: tuple[tuple[Callable[[str], bool], _Write], ...] = (
    (media_types.is_wildcard, _any),
    (media_types.is_json, _json),
    (media_types.is_form, _form),
    (media_types.is_multipart, _multipart),
    (media_types.is_json_lines, _lines),
    (media_types.is_json_sequence, _sequence),
)


@lru_cache(maxsize=1024)
def _writer_of(media_type: str) -> _Write:
    """Return the writer of a media type."""
    return next((write for holds, write in _WRITERS if holds(media_type)), _text)
