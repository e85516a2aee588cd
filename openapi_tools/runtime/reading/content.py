"""What the body of an answer holds, by its media type."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError
from openapi_tools.runtime.media import (
    essence,
    is_form,
    is_json,
    is_json_lines,
    is_json_sequence,
    is_multipart,
    is_text,
    parameter,
)
from openapi_tools.runtime.reading.charsets import clean_text, decode_text, is_readable
from openapi_tools.runtime.reading.downloads import write_download
from openapi_tools.runtime.reading.events import UNREADABLE, read_events, read_lines, read_sequence
from openapi_tools.runtime.reading.jsontext import read_json
from openapi_tools.runtime.reading.markup import looks_like_html, page_text
from openapi_tools.runtime.reading.shorten import cut_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_HTML = frozenset({"application/xhtml+xml", "text/html"})
_BYTES = ("application/octet-stream", "application/pdf", "audio/", "font/", "image/", "video/")
_LEAST_ITEM = 3
_PARTS = 100
_SHOWN = 500
_SEVERAL = "the answer is several JSON values, one on each line, given as a list"


@dataclass(slots=True)
class Content:
    """What a body holds.

    Attributes:
        value: JSON-native.
        notes: What a reader should know about it.
        omitted: Characters that are left out of the value.
    """

    value: Any
    notes: list[str] = field(default_factory=list)
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class Body:
    """A body as it was received.

    Attributes:
        data: Without content codings.
        media_type: The `Content-Type`; empty when there is none.
        disposition: The `Content-Disposition`.
    """

    data: bytes
    media_type: str = ""
    disposition: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """How bodies are to be given.

    Attributes:
        room: Characters that can be shown, and that binary data may take as base64.
        folder: Where binary data is written instead.
        html: HTML is what was asked for, and is given as it is.
        binary: Binary data is given at all, not only described.
    """

    room: int
    folder: Path | None = None
    html: bool = False
    binary: bool = True


def read_content(body: Body, shape: Shape) -> Content:
    """Return what a body holds: native values, text, a list, or bytes as base64 or a file.

    The declared media type decides. Without one, JSON is taken for JSON and text for text.

    Raises:
        CallError: `decode`, when it says that it is JSON and is not.
    """
    kind = essence(body.media_type)
    if not body.data:
        return Content(None)
    most = shape.room // _LEAST_ITEM + 1
    if is_json(kind):
        return _json(body, most)
    if read_stream := _stream_reader(kind):
        return Content(*read_stream(body.data, most))
    if is_multipart(kind) and (boundary := parameter(body.media_type, "boundary")):
        return _multipart(body, boundary, shape)
    return _text_or_bytes(body, kind, shape)


def _stream_reader(kind: str) -> Callable[[bytes, int], tuple[list[Any], list[str]]] | None:
    if kind == "text/event-stream":
        return read_events
    if is_json_lines(kind):
        return read_lines
    return read_sequence if is_json_sequence(kind) else None


def _text_or_bytes(body: Body, kind: str, shape: Shape) -> Content:
    undeclared = not kind
    if undeclared or kind in _HTML:
        value = _json_unasked(body.data)
        if value is not None:
            return value
    if (kind in _HTML and not shape.html) or (undeclared and looks_like_html(body.data)):
        text, notes = decode_text(body.data, parameter(body.media_type, "charset"))
        return Content(page_text(text), notes)
    if is_text(kind) or is_form(kind) or (not _is_bytes(kind) and is_readable(body.data)):
        text, notes = decode_text(body.data, parameter(body.media_type, "charset"))
        return Content(clean_text(text), notes)
    return _bytes(body, kind or "application/octet-stream", shape)


def _is_bytes(kind: str) -> bool:
    return kind.startswith(_BYTES)


def _json(body: Body, most: int) -> Content:
    """Return a value; several, one on each line, are a list, as streams under this name are."""
    try:
        return Content(*read_json(body.data, parameter(body.media_type, "charset")))
    except ValueError as error:
        if not body.data.strip():
            return Content(None)
        values, notes = read_lines(body.data, most)
        if len(values) > 1 and UNREADABLE not in notes:
            return Content(values, [*notes, _SEVERAL])
        text, _ = decode_text(body.data[: 100 * _SHOWN])
        html = looks_like_html(body.data)
        shown = page_text(text) if html else clean_text(text)
        shown = shown if len(shown) <= _SHOWN else cut_text(shown, _SHOWN)
        what = "is an HTML page" if html else f"is none ({_reason(error)})"
        raise CallError("decode", f"the answer says it is JSON and {what}: {shown}") from None


def _reason(error: ValueError) -> str:
    """Return why JSON could not be read, in the parser's words, which hold none of the text."""
    return str(error)[:100]


def _json_unasked(data: bytes) -> Content | None:
    """Return the content if it is a JSON object or array under another name."""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
        return None
    try:
        return Content(*read_json(data))
    except ValueError:
        return None


def _bytes(body: Body, kind: str, shape: Shape) -> Content:
    facts: dict[str, Any] = {"media_type": kind, "bytes": len(body.data)}
    notes: list[str] = []
    if not shape.binary:
        return Content(facts)
    if shape.folder is not None:
        try:
            path = write_download(
                shape.folder, body.data, disposition=body.disposition, media_type=kind
            )
            return Content({"file": str(path), **facts})
        except OSError as error:
            notes.append(f"the download could not be written ({error.strerror or 'no room'})")
    length = (len(body.data) + 2) // 3 * 4
    if length > shape.room:
        facts["left_out"] = "too long to be shown; Settings(download_dir=…) writes it to a file"
        return Content(facts, notes, omitted=length)
    return Content({"base64": base64.b64encode(body.data).decode(), **facts}, notes)


def _multipart(body: Body, boundary: str, shape: Shape) -> Content:
    """Return the parts of a body, each with its headers' facts and its own content.

    Spec: RFC 2046, section 5.1.1.
    """
    delimiter = b"\r\n--" + boundary.encode("latin-1", "replace")
    pieces = (b"\r\n" + body.data).split(delimiter, _PARTS + 1)[1:]
    found = Content([])
    inner = Shape(room=shape.room // max(len(pieces), 1))
    for piece in pieces[:_PARTS]:
        if piece.startswith(b"--"):
            break
        part = _part(piece.lstrip(b" \t").removeprefix(b"\r\n"), inner)
        found.value.append(part.value)
        found.notes += (note for note in part.notes if note not in found.notes)
        found.omitted += part.omitted
    if len(pieces) > _PARTS:
        found.notes.append(f"only the first {_PARTS} parts are shown")
    return found


def _part(piece: bytes, shape: Shape) -> Content:
    head, blank, data = (b"\r\n" + piece).partition(b"\r\n\r\n")
    headers = dict(_header(line) for line in head.split(b"\r\n")[:50] if b":" in line)
    media_type = headers.get("content-type", "text/plain")
    disposition = headers.get("content-disposition", "")
    facts: dict[str, Any] = {"media_type": essence(media_type)}
    for name in ("name", "filename"):
        if text := clean_text(parameter(disposition, name))[:_SHOWN]:
            facts[name] = text
    if is_multipart(media_type):
        media_type = "application/octet-stream"
    try:
        content = read_content(Body(data if blank else b"", media_type, disposition), shape)
    except CallError:
        content = read_content(Body(data, "text/plain"), shape)
    return Content({**facts, "content": content.value}, content.notes, content.omitted)


def _header(line: bytes) -> tuple[str, str]:
    name, _, value = line.decode("utf-8", "replace").partition(":")
    return name.strip().lower(), value.strip()
