"""Multipart bodies, and files as arguments.

A file argument is `{"base64": …}`, `{"text": …}` or, with file folders in the settings,
`{"path": …}`; each with an optional `filename` and `content_type`. A string alone is never a path.

Spec: RFC 2046, section 5.1; RFC 7578; WHATWG HTML, multipart/form-data encoding algorithm, for the
escapes in names; OpenAPI 3.2.0, sections 4.14.5 and 4.15.4.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import CallError, InputError
from openapi_tools.media_types import (
    essence,
    is_media_type,
    is_multipart,
    is_wildcard,
    matches,
    parameter,
    without_parameter,
)
from openapi_tools.model import Encoding, Parameter
from openapi_tools.requests.encoding import FAULTS, encode_text, fault_reason, is_token, placed
from openapi_tools.requests.styles import content_text, header_text, part_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi_tools.settings import Settings

OCTETS = "application/octet-stream"
_ESCAPES = str.maketrans({"\r": "%0D", "\n": "%0A", '"': "%22"})
_CONTROLS = frozenset(chr(code) for code in (*range(0x20), 0x7F)) - {"\r", "\n"}
_OWN_HEADERS = frozenset({"content-disposition", "content-type", "content-length"})
_SOURCES = ("base64", "text", "path")
_URL_SAFE = frozenset("-_")
_STANDARD = frozenset("+/")


class _Part(NamedTuple):
    """One part of a multipart body; its header lines have no line ends."""

    headers: tuple[bytes, ...]
    content: bytes


@dataclass(frozen=True, slots=True)
class Sources:
    """Encodings, part headers and settings for the members of a body.

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
        """Return the encoding of a member."""
        return self.encodings.get(name) or Encoding(name)

    def at(self, index: int) -> Encoding:
        """Return the encoding of the item at a position."""
        name = str(index) if str(index) in self.encodings else "*"
        return self.encoding(name)


def sources_of(
    encodings: tuple[Encoding, ...], arguments: Mapping[str, Any], settings: Settings
) -> Sources:
    """Return the sources of a body; raises InputError for a part's header that cannot be sent."""
    by_name = {encoding.name: encoding for encoding in encodings}
    headers = {e.name: _extra_headers(e, arguments) for e in encodings if e.headers}
    return Sources(by_name, headers, settings)


def multipart(media_type: str, value: Any, sources: Sources) -> tuple[str, bytes]:
    """Return the Content-Type, boundary included, and the bytes of a multipart body.

    An object gives one part per member, or several of the same name for an array; members that are
    null are left out. An array gives unnamed parts in order. Parts of text in a form carry no
    Content-Type, as browsers send them: `text/plain` is its default.
    """
    boundary = secrets.token_hex(16)
    body = b"".join(
        b"--%s\r\n%s\r\n\r\n%s\r\n" % (boundary.encode(), b"\r\n".join(part.headers), part.content)
        for part in _parts(media_type, value, sources)
    )
    kind = without_parameter(media_type, "boundary")
    return f"{kind}; boundary={boundary}", body + b"--%s--\r\n" % boundary.encode()


def _parts(media_type: str, value: Any, sources: Sources) -> Iterator[_Part]:
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


def _named_parts(name: str, value: Any, sources: Sources) -> Iterator[_Part]:
    encoding = sources.encoding(name)
    headers = sources.headers.get(name, ())
    if encoding.style:
        for pair_name, text in part_pairs(shape_of(encoding), value):
            yield _Part((_disposition(pair_name, ""), *headers), encode_text(text))
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
        yield _Part((disposition, *kind, *headers), written.content)


def _ordered_parts(items: list[Any], sources: Sources) -> Iterator[_Part]:
    """Write unnamed parts (OpenAPI 3.2.0, section 4.14.5.2, Encoding By Position)."""
    for index, item in enumerate(items):
        encoding = sources.at(index)
        try:
            written = _written(encoding, item, sources)
        except InputError as error:
            raise placed(error, str(index)) from None
        kind = _content_type(written.content_type or "text/plain; charset=utf-8")
        yield _Part((kind, *sources.headers.get(encoding.name, ())), written.content)


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
    """Return a query parameter with the style of a member."""
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


@dataclass(frozen=True, slots=True)
class File:
    """A file to send.

    Attributes:
        content: Its bytes.
        filename: Empty when the model gave none and it was not read from disk.
        content_type: Its media type; empty when the model gave none.
    """

    content: bytes
    filename: str = ""
    content_type: str = ""


def file_schema(settings: Settings) -> dict[str, Any]:
    """Return the JSON Schema 2020-12 of a file argument; `path` is offered only with file roots."""
    sources = {
        "base64": {"type": "string", "description": "The bytes, base64-encoded."},
        "text": {"type": "string", "description": "The content as text, sent as UTF-8."},
    }
    if settings.file_roots:
        sources["path"] = {"type": "string", "description": "Path of a local file to send."}
    return {
        "type": "object",
        "properties": {
            **sources,
            "filename": {"type": "string", "minLength": 1},
            "content_type": {"type": "string", "description": "Media type, e.g. image/png."},
        },
        "additionalProperties": False,
        "oneOf": [{"required": [source]} for source in sources],
    }


def read_file(value: Any, settings: Settings) -> File:
    """Return the file of an argument that fits `file_schema`.

    Raises:
        InputError: The argument does not fit, is not base64, or leads outside `file_roots`.
    """
    given = [source for source in _SOURCES if isinstance(value, dict) and source in value]
    if len(given) != 1 or not isinstance(value[given[0]], str):
        raise InputError('a file is needed: {"base64": …} or {"text": …}.')
    read = {"base64": _decoded, "text": _encoded}.get(given[0])
    try:
        content = read(value[given[0]]) if read else _from_disk(value["path"], settings)
    except InputError as error:
        raise InputError(error.reason, pointer=f"/{given[0]}") from None
    filename = value.get("filename") or (Path(value["path"]).name if not read else "")
    return File(content, _text(filename, "filename"), _given_type(value.get("content_type")))


def _decoded(text: str) -> bytes:
    """Decode base64 in either alphabet (RFC 4648, sections 4 and 5), with or without padding."""
    characters = set(text)
    if characters & _URL_SAFE and characters & _STANDARD:
        raise InputError("this mixes the two alphabets of base64.")
    bare = text.rstrip("=")
    altchars = b"-_" if characters & _URL_SAFE else b"+/"
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), altchars, validate=True)
    except (binascii.Error, ValueError):
        raise InputError("this is not base64; give text as `text` instead.") from None


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(fault_reason(error)) from None


def _from_disk(path: str, settings: Settings) -> bytes:
    """Read a regular file below one of the roots; links are followed before that is decided."""
    for root in settings.file_roots:
        try:
            folder = root.resolve(strict=True)
            found = (folder / path).resolve(strict=True)
            if found.is_relative_to(folder):
                return _contents(found)
        except (OSError, RuntimeError, *FAULTS):
            continue
    raise InputError("no such file in the folders that files may be read from.")


def _contents(path: Path) -> bytes:
    """Read a regular file; a link put there meanwhile is not followed."""
    handle = os.open(
        path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    )
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(path)
        return file.read()


def _text(value: Any, member: str) -> str:
    if isinstance(value, str):
        return value
    raise InputError("text is needed.", pointer=f"/{member}")


def _given_type(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str) and is_media_type(value) and not is_wildcard(value):
        return value
    raise InputError("a media type is needed, for instance 'image/png'.", pointer="/content_type")
