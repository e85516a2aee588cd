"""Multipart bodies.

Spec: RFC 2046, section 5.1; RFC 7578; WHATWG HTML, multipart/form-data encoding algorithm, for the
escapes in names; OpenAPI 3.2.0, sections 4.14.5 and 4.15.4.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError, InputError
from openapi_tools.media_types import (
    essence,
    is_multipart,
    is_wildcard,
    matches,
    parameter,
    without_parameter,
)
from openapi_tools.model import Encoding, Parameter
from openapi_tools.requests.encoding import is_token
from openapi_tools.requests.file_arguments import File, read_file
from openapi_tools.requests.styles import content_text, header_text, part_pairs
from openapi_tools.requests.value_text import encode_text, placed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi_tools.settings import Settings

OCTETS = "application/octet-stream"
_ESCAPES = str.maketrans({"\r": "%0D", "\n": "%0A", '"': "%22"})
_CONTROLS = frozenset(chr(code) for code in (*range(0x20), 0x7F)) - {"\r", "\n"}
_OWN_HEADERS = frozenset({"content-disposition", "content-type", "content-length"})


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a multipart body.

    Attributes:
        headers: Its header lines, without line ends.
        content: Its bytes.
    """

    headers: tuple[bytes, ...]
    content: bytes


@dataclass(frozen=True, slots=True)
class Sources:
    """What members of a body are written with, besides their value.

    Attributes:
        encodings: By the name of the member; in an unnamed multipart body by position (`"0"`), with
            `"*"` for every further position.
        headers: The header lines of its parts, by the same names.
        settings: For files.
    """

    encodings: Mapping[str, Encoding]
    headers: Mapping[str, tuple[bytes, ...]]
    settings: Settings

    def encoding(self, name: str) -> Encoding:
        """Return how a member is written."""
        return self.encodings.get(name) or Encoding(name)

    def at(self, index: int) -> Encoding:
        """Return how the item at a position is written."""
        name = str(index) if str(index) in self.encodings else "*"
        return self.encoding(name)


def sources_of(
    encodings: tuple[Encoding, ...], arguments: Mapping[str, Any], settings: Settings
) -> Sources:
    """Return what the members of a body are written with.

    Raises:
        InputError: An argument that feeds a part's header cannot stand in one.
    """
    by_name = {encoding.name: encoding for encoding in encodings}
    headers = {e.name: _extra_headers(e, arguments) for e in encodings if e.headers}
    return Sources(by_name, headers, settings)


def multipart(media_type: str, value: Any, sources: Sources) -> tuple[str, bytes]:
    """Return the Content-Type, boundary included, and the bytes of a multipart body.

    An object gives one part per member, or several of the same name for an array; members that are
    null are left out. An array gives unnamed parts in order. Parts of text in a form carry no
    Content-Type, as browsers send them: `text/plain` is its default.

    Raises:
        CallError: This package cannot write such a body.
        InputError: A member holds something that cannot be sent.
    """
    boundary = secrets.token_hex(16)
    body = b"".join(
        b"--%s\r\n%s\r\n\r\n%s\r\n" % (boundary.encode(), b"\r\n".join(part.headers), part.content)
        for part in _parts(media_type, value, sources)
    )
    kind = without_parameter(media_type, "boundary")
    return f"{kind}; boundary={boundary}", body + b"--%s--\r\n" % boundary.encode()


def _parts(media_type: str, value: Any, sources: Sources) -> Iterator[Part]:
    if isinstance(value, dict):
        for name, member in value.items():
            try:
                yield from _named_parts(name, member, sources)
            except (InputError, UnicodeEncodeError, RecursionError) as error:
                raise placed(error, name) from None
    elif isinstance(value, list) and essence(media_type) != "multipart/form-data":
        yield from _ordered_parts(value, sources)
    else:
        raise CallError("invalid_input", f"{media_type} needs an object, one member per part.")


def _named_parts(name: str, value: Any, sources: Sources) -> Iterator[Part]:
    encoding = sources.encoding(name)
    headers = sources.headers.get(name, ())
    if encoding.style:
        for pair_name, text in part_pairs(shape_of(encoding), value):
            yield Part((_disposition(pair_name, ""), *headers), encode_text(text))
        return
    for index, item in enumerate(value if isinstance(value, list) else [value]):
        if item is None:
            continue
        try:
            written = _written(encoding, item, sources)
        except InputError as error:
            raise (placed(error, str(index)) if isinstance(value, list) else error) from None
        kind = (_content_type(written.content_type),) if written.content_type else ()
        disposition = _disposition(name, written.filename)
        yield Part((disposition, *kind, *headers), written.content)


def _ordered_parts(items: list[Any], sources: Sources) -> Iterator[Part]:
    """Write unnamed parts.

    Spec: OpenAPI 3.2.0, section 4.14.5.2, Encoding By Position.
    """
    for index, item in enumerate(items):
        encoding = sources.at(index)
        try:
            written = _written(encoding, item, sources)
        except InputError as error:
            raise placed(error, str(index)) from None
        kind = _content_type(written.content_type or "text/plain; charset=utf-8")
        yield Part((kind, *sources.headers.get(encoding.name, ())), written.content)


def _written(encoding: Encoding, value: Any, sources: Sources) -> File:
    """Return the bytes of one part, with its media type and, for a file, its name."""
    if encoding.file:
        file = read_file(value, sources.settings)
        kind = _file_type(file.content_type, encoding.content_type)
        return File(file.content, file.filename or "file", kind)
    kind = encoding.content_type
    if not kind or is_wildcard(kind):
        kind = "application/json" if value is None or isinstance(value, (list, dict)) else ""
    if is_multipart(kind):
        raise CallError("invalid_input", f"a part of {kind} inside another body is not supported.")
    text = content_text(kind or "text/plain", value)
    return File(encode_text(text, parameter(kind, "charset")), "", kind)


def _file_type(given: str, declared: str) -> str:
    """Return a file's media type: the model's word first, then the document's, then octets."""
    if given and declared and is_wildcard(declared) and not matches(given, declared):
        raise InputError(f"{given} does not fit {declared}.", pointer="/content_type")
    return given or (declared if declared and not is_wildcard(declared) else OCTETS)


def shape_of(encoding: Encoding) -> Parameter:
    """Return a member that is written by style as the query parameter it is like."""
    return Parameter(
        encoding.name,
        "query",
        style=encoding.style,
        explode=encoding.explode,
        allow_reserved=encoding.allow_reserved,
        inner=encoding.inner,
    )


def _extra_headers(encoding: Encoding, arguments: Mapping[str, Any]) -> tuple[bytes, ...]:
    lines = []
    for header in encoding.headers:
        if header.name.lower() in _OWN_HEADERS or not is_token(header.name):
            continue
        try:
            text = header_text(header, arguments.get(header.argument))
        except InputError as error:
            raise placed(error, header.argument) from None
        if text is not None:
            lines.append(f"{header.name}: {text}".encode("latin-1"))
    return tuple(lines)


def _disposition(name: str, filename: str) -> bytes:
    line = f'Content-Disposition: form-data; name="{_quotable(name)}"'
    return (f'{line}; filename="{_quotable(filename)}"' if filename else line).encode()


def _quotable(name: str) -> str:
    """Escape a name as browsers do; other control characters have no form in a header."""
    if _CONTROLS.intersection(name):
        raise InputError("a name with control characters cannot be sent.")
    return name.translate(_ESCAPES)


def _content_type(media_type: str) -> bytes:
    return b"Content-Type: " + media_type.encode("ascii")
