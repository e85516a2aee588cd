"""Request bodies, by media type: JSON, text, forms, multipart, files (OpenAPI 3.2.0, 4.13)."""

from __future__ import annotations

import base64
import binascii
import secrets
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common import http_rules
from openapi_tools.errors import CallError, InputError
from openapi_tools.model import Encoding, Parameter, RequestBody
from openapi_tools.requests.encoding import (
    FORM,
    FORM_RESERVED,
    RAW,
    content_text,
    encode_pairs,
    encode_text,
    form_encode,
    header_text,
    is_token,
    json_bytes,
    point_at_argument,
)
from openapi_tools.state.file_store import StoredFile, find_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from openapi_tools.settings import Settings

    _Write = Callable[[RequestBody, Any, "BodySources"], "RequestContent"]

_OCTETS = "application/octet-stream"
_UTF8_TEXT = "text/plain; charset=utf-8"
_ESCAPES = str.maketrans({"\r": "%0D", "\n": "%0A", '"': "%22"})
_CONTROLS = frozenset(chr(code) for code in (*range(0x20), 0x7F)) - {"\r", "\n"}
_OWN_HEADERS = frozenset({"content-disposition", "content-type", "content-length"})


class RequestContent(NamedTuple):
    """A body: its whole `Content-Type`, and its bytes, in pieces if it contains stored files."""

    media_type: str
    data: bytes | list[bytes | StoredFile]


class FileUpload(NamedTuple):
    """A file to send; name and media type are empty when they are not known."""

    content: bytes | StoredFile
    filename: str = ""
    content_type: str = ""

    def content_type_among(self, kinds: Iterable[str]) -> str:
        """Return the argument's media type, or that of a stored file if it is one of `kinds`."""
        if self.content_type or isinstance(self.content, bytes):
            return self.content_type
        likely = self.content.media_type
        return likely if any(http_rules.matches_type(likely, kind) for kind in kinds) else ""


class BodySources(NamedTuple):
    """Encodings and part headers of a body's properties, by name or position, and the settings.

    `*` is the encoding of all other properties.
    """

    encodings: Mapping[str, Encoding]
    headers: Mapping[str, tuple[bytes, ...]]
    settings: Settings

    def encoding_of(self, name: str) -> Encoding:
        """Return the encoding of a property."""
        return self.encodings.get(name) or self.encodings.get("*") or Encoding(name)


def sources_of(
    encodings: tuple[Encoding, ...], arguments: Mapping[str, Any], settings: Settings
) -> BodySources:
    """Return the sources of a body; raises InputError for a part's header that cannot be sent."""
    by_name = {encoding.name: encoding for encoding in encodings}
    headers = {e.name: _part_headers(e, arguments) for e in encodings if e.headers}
    return BodySources(by_name, headers, settings)


def write_content(body: RequestBody, value: Any, sources: BodySources) -> RequestContent:
    """Return a value in the body's media type, other than JSON; errors point at the property."""
    return (_write_file if body.file else _writer_of(body.media_type))(body, value, sources)


def form_text(value: Any, sources: BodySources) -> str:
    """Return an object as a form (OpenAPI 3.2.0, 4.14.5.1); a string is one already."""
    if not isinstance(value, dict):
        return content_text("application/x-www-form-urlencoded", value)
    encoded_pairs: list[tuple[str, str]] = []
    for name, property_value in value.items():
        try:
            encoded_pairs += _form_pairs(name, property_value, sources)
        except (InputError, UnicodeEncodeError, RecursionError) as error:
            raise point_at_argument(error, name) from None
    return "&".join(f"{name}={text}" for name, text in encoded_pairs)


def _form_pairs(name: str, value: Any, sources: BodySources) -> Iterator[tuple[str, str]]:
    encoding = sources.encoding_of(name)
    if encoding.style:
        writer = FORM_RESERVED if encoding.allow_reserved else FORM
        yield from encode_pairs(_styled_parameter(encoding), value, writer)
        return
    for item in value if isinstance(value, list) else [value]:
        if item is None:
            continue
        if encoding.file:
            # A form is text: OpenAPI 3.2.0, section 4.15.3 asks for base64 there.
            content = read_file(item, sources.settings).content
            whole = content if isinstance(content, bytes) else b"".join(content.pieces())
            text = base64.b64encode(whole).decode()
        else:
            compound = "application/json" if isinstance(item, (list, dict)) else "text/plain"
            text = content_text(encoding.content_type or compound, item)
        yield form_encode(name), form_encode(text)


def _write_form(body: RequestBody, value: Any, sources: BodySources) -> RequestContent:
    return RequestContent(body.media_type, encode_text(form_text(value, sources)))


def _write_lines(body: RequestBody, value: Any, _: BodySources) -> RequestContent:
    # RFC 7464, section 2.2: a record separator begins each item of a JSON text sequence.
    if isinstance(value, str):  # the document describes a string, which holds the lines
        return RequestContent(body.media_type, encode_text(value))
    start = b"\x1e" if http_rules.is_json_sequence(body.media_type) else b""
    items = value if isinstance(value, list) else [value]
    return RequestContent(
        body.media_type, b"".join(start + json_bytes(item) + b"\n" for item in items)
    )


def _write_any(body: RequestBody, value: Any, _: BodySources) -> RequestContent:
    # A range such as `*/*` names no format, so the value chooses one.
    if isinstance(value, str) and http_rules.matches_type("text/plain", body.media_type):
        return RequestContent(_UTF8_TEXT, encode_text(value))
    if http_rules.matches_type("application/json", body.media_type):
        return RequestContent("application/json", json_bytes(value))
    raise CallError("invalid_input", f"writing {body.media_type} is not supported.")


def _write_text(body: RequestBody, value: Any, _: BodySources) -> RequestContent:
    # Only `text/*` needs a charset parameter (RFC 2046, section 4.1.2): JSON is UTF-8, and XML
    # declares its own.
    charset = http_rules.parameter(body.media_type, "charset")
    data = encode_text(content_text(body.media_type, value), charset)
    if charset or not http_rules.essence(body.media_type).startswith("text/"):
        return RequestContent(body.media_type, data)
    return RequestContent(f"{body.media_type}; charset=utf-8", data)


def _write_file(body: RequestBody, value: Any, sources: BodySources) -> RequestContent:
    # The file's own type is used if the document lists it; otherwise the first type that fits.
    file = read_file(value, sources.settings)
    listed = (body.media_type, *body.alternatives)
    declared, kind = file.content_type_among(listed), body.media_type
    if any(http_rules.matches_type(declared, one) for one in listed):
        kind = declared
    elif http_rules.is_wildcard(kind):
        if file.content_type:
            raise InputError(f"{file.content_type} does not match {kind}.", pointer="/content_type")
        kind = _OCTETS
    elif http_rules.is_text(kind):
        if "text" in value:
            return _write_text(body, value["text"], sources)
        kind = next(filter(http_rules.is_bytes, listed), _OCTETS)
    return RequestContent(kind, _join_pieces([file.content]))


def _join_pieces(pieces: list[bytes | StoredFile]) -> bytes | list[bytes | StoredFile]:
    whole = [piece for piece in pieces if isinstance(piece, bytes)]
    return b"".join(whole) if len(whole) == len(pieces) else pieces


def _write_multipart(body: RequestBody, value: Any, sources: BodySources) -> RequestContent:
    # RFC 2046, section 5.1; RFC 7578.
    # The boundary is random, so that files need not be searched for it.
    boundary = secrets.token_hex(16)
    pieces: list[bytes | StoredFile] = []
    for headers, content in _iter_parts(body.media_type, value, sources):
        head = b"--%s\r\n%s\r\n\r\n" % (boundary.encode(), b"\r\n".join(headers))
        pieces += (head, content, b"\r\n")
    pieces.append(b"--%s--\r\n" % boundary.encode())
    kind = http_rules.remove_parameter(body.media_type, "boundary")
    return RequestContent(f"{kind}; boundary={boundary}", _join_pieces(pieces))


_WRITERS: tuple[tuple[Callable[[str], bool], _Write], ...] = (
    (http_rules.is_wildcard, _write_any),
    (http_rules.is_form, _write_form),
    (http_rules.is_multipart, _write_multipart),
    (http_rules.is_sequential, _write_lines),
)


@lru_cache(maxsize=1024)
def _writer_of(media_type: str) -> _Write:
    return next((write for is_type, write in _WRITERS if is_type(media_type)), _write_text)


_Part = tuple[list[bytes], "bytes | StoredFile"]  # header lines without line ends, and the content


def _iter_parts(media_type: str, value: Any, sources: BodySources) -> Iterator[_Part]:
    if isinstance(value, dict):
        for name, property_value in value.items():
            try:
                yield from _iter_named_parts(name, property_value, sources)
            except (InputError, UnicodeEncodeError, RecursionError) as error:
                raise point_at_argument(error, name) from None
    elif isinstance(value, list) and http_rules.essence(media_type) != "multipart/form-data":
        # Unnamed parts: OpenAPI 3.2.0, section 4.14.5.2, Encoding By Position.
        for index, item in enumerate(value):
            name = str(index) if str(index) in sources.encodings else "*"
            try:
                file = _write_part(sources.encoding_of(name), item, sources)
            except InputError as error:
                raise point_at_argument(error, str(index)) from None
            kind = b"Content-Type: " + (file.content_type or _UTF8_TEXT).encode("ascii")
            yield [kind, *sources.headers.get(name, ())], file.content
    else:
        raise CallError(
            "invalid_input", f"{media_type} needs an object with one property per part."
        )


def _iter_named_parts(name: str, value: Any, sources: BodySources) -> Iterator[_Part]:
    encoding = sources.encoding_of(name)
    headers = sources.headers.get(name, ())
    if encoding.style:
        for pair_name, text in encode_pairs(_styled_parameter(encoding), value, RAW):
            yield [_disposition(pair_name), *headers], encode_text(text)
        return
    for index, item in enumerate(value if isinstance(value, list) else [value]):
        if item is None:
            continue
        try:
            file = _write_part(encoding, item, sources)
        except InputError as error:
            raise (
                point_at_argument(error, str(index)) if isinstance(value, list) else error
            ) from None
        lines = [_disposition(name, file.filename)]
        if file.content_type:  # text has none, as browsers send it
            lines.append(b"Content-Type: " + file.content_type.encode("ascii"))
        yield [*lines, *headers], file.content


def _write_part(encoding: Encoding, value: Any, sources: BodySources) -> FileUpload:
    kind = encoding.content_type
    if encoding.file and not isinstance(value, str):
        file = read_file(value, sources.settings)
        declared = file.content_type_among([kind or "*/*"])
        is_range = not kind or http_rules.is_wildcard(kind)
        ranges = kind.split(",") if kind and is_range else ()
        if (
            declared
            and ranges
            and not any(http_rules.matches_type(declared, one) for one in ranges)
        ):
            raise InputError(f"{declared} does not match {kind}.", pointer="/content_type")
        media_type = declared or (_OCTETS if is_range else kind)
        return FileUpload(file.content, file.filename or "file", media_type)
    if not kind or http_rules.is_wildcard(kind):
        # OpenAPI 3.2.0, section 4.15 (Encoding Object): the default media type of a part by its
        # type.
        kind = "application/json" if value is None or isinstance(value, (list, dict)) else ""
    if http_rules.is_multipart(kind):
        raise CallError("invalid_input", f"a part of {kind} inside another body is not supported.")
    text = content_text(kind or "text/plain", value)
    return FileUpload(encode_text(text, http_rules.parameter(kind, "charset")), "", kind)


def _styled_parameter(encoding: Encoding) -> Parameter:
    names = ("name", "style", "explode", "allow_reserved", "inner")
    return Parameter(location="query", **{name: getattr(encoding, name) for name in names})


def _part_headers(encoding: Encoding, arguments: Mapping[str, Any]) -> tuple[bytes, ...]:
    lines = []
    for header in encoding.headers:
        if header.name.lower() in _OWN_HEADERS or not is_token(header.name):
            continue
        try:
            text = header_text(header, arguments.get(header.argument))
        except InputError as error:
            raise point_at_argument(error, header.argument) from None
        if text is not None:
            lines.append(f"{header.name}: {text}".encode("latin-1"))
    return tuple(lines)


def _disposition(name: str, filename: str = "") -> bytes:
    line = f'Content-Disposition: form-data; name="{_escape_name(name)}"'
    return (f'{line}; filename="{_escape_name(filename)}"' if filename else line).encode()


def _escape_name(name: str) -> str:
    # As browsers do (WHATWG HTML, multipart/form-data); other controls have no form in a header.
    if _CONTROLS.intersection(name):
        raise InputError("a name with control characters cannot be sent.")
    return name.translate(_ESCAPES)


def read_file(value: Any, settings: Settings) -> FileUpload:
    """Return the file of an argument, or raise InputError; a string alone is never a path."""
    sources = value.keys() & {"base64", "text", "path", "handle"} if isinstance(value, dict) else ()
    source = next(iter(sources), "")
    if len(sources) != 1 or not isinstance(value[source], str):
        raise InputError('expected a file: {"base64": …} or {"text": …}.')
    content: bytes | StoredFile
    try:
        match source:
            case "base64":
                content = _decode_base64(value[source])
            case "text":
                content = encode_text(value[source])
            case _:
                content = find_file(source, value[source], settings)
    except InputError as error:
        raise InputError(error.reason, pointer=f"/{source}") from None
    filename = value.get("filename") or ("" if isinstance(content, bytes) else content.name)
    if not isinstance(filename, str):
        raise InputError("expected a string.", pointer="/filename")
    kind = value.get("content_type") or ""
    is_type = isinstance(kind, str) and http_rules.is_media_type(kind)
    if value.get("content_type") is not None and (not is_type or http_rules.is_wildcard(kind)):
        reason = "expected a media type, for instance 'image/png'."
        raise InputError(reason, pointer="/content_type")
    return FileUpload(content, filename, kind)


def _decode_base64(text: str) -> bytes:
    # RFC 4648, sections 4 and 5: models mix both alphabets, and leave padding out.
    is_url_safe = "-" in text or "_" in text
    if is_url_safe and ("+" in text or "/" in text):
        raise InputError("mixes the standard and the URL-safe alphabet of base64.")
    bare = text.rstrip("=")
    altchars = b"-_" if is_url_safe else b"+/"
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), altchars, validate=True)
    except (binascii.Error, ValueError):
        raise InputError("not valid base64; pass text as `text` instead.") from None
