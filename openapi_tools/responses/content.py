"""The content of a body, by its media type; binary data as files in a store."""

from __future__ import annotations

import base64
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from openapi_tools.common import http_rules
from openapi_tools.common.setting_fields import SettingFields
from openapi_tools.errors import CallError
from openapi_tools.responses import text_content
from openapi_tools.responses.json_content import (
    READ_IN_PART,
    ROUNDED,
    VALUES,
    cut_string,
    cut_value,
    read_json,
    read_truncated_json,
)
from openapi_tools.responses.text_content import charset_of
from openapi_tools.result import IMAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    KeepFile = Callable[[Any, str, str], dict[str, Any]]
    """Keeps bytes with a file name and a media type, and returns the facts about them."""

_HTML = frozenset({"application/xhtml+xml", "text/html"})
_OCTETS = "application/octet-stream"
_EVENTS = "text/event-stream"
# The beginning of an event stream: a comment or one of its four fields (WHATWG HTML, section
# 9.2.6).
_STREAM = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,100}(?::|(?:data|event|id|retry)[:\r\n])")
# Of JSON: `1,`. So many items are the most that fit, and no more of them are read.
_LEAST_ITEM = 2
_SPARE = 120  # items more than fit: a list that was read in part is also too long
# Each part may have headers, a charset and JSON of its own, so many small parts are expensive.
_PARTS = 100
_LEAST_PART = 100
_HEADER = 1024
_LARGE = 1_000_000
_SHOWN = 500
_LEFT_OUT = "too large to display; set Settings(download_dir=…) to write it to a file"
_UNLIKE = "it was read according to its content"
_NO_JSON = "the response declares JSON but is not valid JSON ({!s:.100}); it was read as it is"
_SEVERAL = "the response has several JSON values, one per line; they are returned as a list"

# The note on lines that could not be read.
_UNREADABLE = "lines that are not JSON are returned as strings"
_LINE_END = re.compile(r"\r\n|\r|\n")
# A thousand times what a model reads of a stream; the rest would cost a second for nothing.
_READ = 1_000_000
_MOST_LINES = 200_000
_MOST_UNREADABLE = 10_000
_UNFINISHED = "the stream ends in the middle of an event, which was dropped"
_ONLY = "only the first {} items were read"

# RFC 8187, section 3.2.1, as `Content-Disposition` has it (RFC 6266, section 4.1).
_EXTENDED = re.compile(
    r"filename\*\s*=\s*(?:utf-8|iso-8859-1)'[^']{0,30}'([^;\s]{1,600})", re.IGNORECASE
)
_PLAIN = re.compile(r'filename\s*=\s*(?:"((?:[^"\\]|\\.){0,600})"|([^;\s]{1,600}))', re.IGNORECASE)


@dataclass(slots=True)
class BodyContent:
    """A body's JSON-native value, and remarks for the reader."""

    value: Any
    notes: list[str] = field(default_factory=list)
    omitted: int = 0  # characters that are left out of the value
    whole: int = 0  # characters of the whole, if the value is only its beginning
    cut: bool = False  # the value is a string that ends with a mark
    file: dict[str, Any] | None = None  # facts about the file that holds it
    is_data: bool = False  # the value was JSON, or lines or events that hold some


@dataclass(frozen=True, slots=True)
class RawBody:
    """A body without content codings, `Content-Type` and `Content-Disposition` beside it."""

    data: bytes
    media_type: str = ""
    disposition: str = ""
    cut: bool = False  # the end may be missing

    @property
    def charset(self) -> str:
        """The one that the media type, XML or HTML names, or an empty string."""
        return charset_of(self.media_type, self.data)

    @property
    def as_utf8(self) -> RawBody:
        """The same body in UTF-8."""
        data = text_content.to_utf8(self.data, self.charset)
        return self if data is self.data else replace(self, data=data)

    @property
    def lines(self) -> bytes:
        """Its whole lines."""
        return self.data[: self.data.rfind(b"\n") + 1] if self.cut else self.data


@dataclass(frozen=True, slots=True)
class ContentOptions:
    """Limits and forms of a content."""

    max_chars: int  # characters that the result can hold, also of base64
    keep: KeepFile | None = None  # writes binary data to a file
    base64: int = SettingFields.max_base64_bytes  # for binary data; images may be larger
    html: bool = False  # HTML was requested, so its markup stays
    binary: bool = True  # binary data is given, not only described
    values: int = VALUES  # most values to read of one JSON text


def read_content(body: RawBody, options: ContentOptions) -> BodyContent:
    """Return the content of a body by its media type; CallError for broken JSON."""
    kind = http_rules.essence(body.media_type)
    if not body.data:
        return BodyContent(None)
    most = options.max_chars // _LEAST_ITEM + _SPARE
    if http_rules.is_json(kind):
        return _read_json_body(body, most, options)
    if http_rules.is_json_lines(kind) or http_rules.is_json_sequence(kind):
        delimiter = b"\n" if http_rules.is_json_lines(kind) else b"\x1e"
        return BodyContent(*_read_each(body.as_utf8.lines, delimiter, most), is_data=True)
    if kind != _EVENTS and not http_rules.is_multipart(kind):
        return _read_text_or_bytes(body, kind, options)
    if kind == _EVENTS:
        content = BodyContent(*_read_events(body.as_utf8.data, most), is_data=True)
    else:
        content = _read_multipart(body, options)
    goes_on = READ_IN_PART in content.notes and _STREAM.match(body.data)
    if content.value or goes_on or not body.data.strip():
        return content
    part = "event" if kind == _EVENTS else "part"
    content = _read_text_or_bytes(body, kind, options)
    content.notes.append(f"the response declares {kind:.60} but contains no {part}; {_UNLIKE}")
    return content


def _read_text_or_bytes(body: RawBody, kind: str, options: ContentOptions) -> BodyContent:
    undeclared = not kind or kind == _EVENTS or http_rules.is_multipart(kind)
    if undeclared or kind in _HTML:
        start = body.data[:_SHOWN].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        with suppress(ValueError):  # an object or array under another name
            if start in (b"{", b"["):
                return BodyContent(*read_json(body.data, values=options.values), is_data=True)
    if (kind in _HTML and not options.html) or (
        undeclared and text_content.is_html_page(body.data)
    ):
        page = text_content.decode_text(body.data, body.charset, most=text_content.LOOKED_AT)
        whole = page.length if page.length > text_content.LOOKED_AT else 0
        if text_content.has_markup(page.text):
            return BodyContent(text_content.extract_page_text(page.text), page.notes, whole=whole)
    # Large data under the name of bytes is a file if there is a store.
    is_file = kind == _OCTETS and options.keep is not None and len(body.data) > options.max_chars
    is_unknown = not http_rules.is_always_bytes(kind) and not is_file
    is_text = http_rules.is_text(kind) or http_rules.is_form(kind)
    if is_text or (is_unknown and _is_readable(body)):
        return _read_text(body, options)
    return _read_bytes(body, kind or _OCTETS, options)


def _is_readable(body: RawBody) -> bool:
    # Decoding a large body only to look at it would take long, so its beginning decides.
    beginning = body.data if not body.charset else body.data[:_LARGE]
    return http_rules.is_readable(text_content.to_utf8(beginning, body.charset))


def _read_text(body: RawBody, options: ContentOptions) -> BodyContent:
    # Only the beginning of a long text is decoded; the rest is counted.
    most = 2 * options.max_chars  # cleaning takes some
    decoded = text_content.decode_text(body.data, body.charset, most=most)
    text = text_content.clean_text(decoded.text)
    if decoded.length <= most:
        return BodyContent(text, decoded.notes)
    text = cut_string(text, options.max_chars, decoded.length)
    return BodyContent(text, decoded.notes, whole=decoded.length, cut=True)


def _read_json_body(body: RawBody, most: int, options: ContentOptions) -> BodyContent:
    try:
        return BodyContent(*read_json(body.data, body.charset, values=options.values), is_data=True)
    except ValueError as error:
        if body.cut:
            return _read_unfinished_json(body, most)
        if not body.data.strip():
            return BodyContent(None)
        # Many servers send JSON lines as `application/json`.
        lines, notes = _read_each(body.as_utf8.data, b"\n", most)
        if len(lines) > 1 and _UNREADABLE not in notes:
            return BodyContent(lines, [*notes, _SEVERAL], is_data=True)
        return _read_invalid_json(body, options, error)


def _read_invalid_json(body: RawBody, options: ContentOptions, error: ValueError) -> BodyContent:
    if text_content.is_html_page(body.data):
        page = text_content.decode_text(body.data, body.charset, most=text_content.LOOKED_AT)
        whole = page.length if page.length > text_content.LOOKED_AT else 0
        content = BodyContent(text_content.extract_page_text(page.text), page.notes, whole=whole)
    elif text_content.is_mostly_text(body.data, body.charset):
        content = _read_text(body, options)
    else:
        content = _read_bytes(body, _OCTETS, options)
    content.notes.append(_NO_JSON.format(error))
    return content


def _read_unfinished_json(body: RawBody, most: int) -> BodyContent:
    # Half an object would look like a whole one, so only whole lines or items of a list count.
    lines, notes = _read_each(body.as_utf8.lines, b"\n", most)
    if lines and _UNREADABLE not in notes:
        return BodyContent(lines, notes, is_data=True)
    try:
        value, notes = read_truncated_json(body.data, body.charset)
    except ValueError:
        raise CallError("decode", "no complete value was received") from None
    if isinstance(value, dict):
        raise CallError("decode", "the object is incomplete", body=value or None)
    return BodyContent(value, notes, is_data=True)


def _read_bytes(body: RawBody, kind: str, options: ContentOptions) -> BodyContent:
    facts: dict[str, Any] = {"media_type": kind, "bytes": len(body.data)}
    notes: list[str] = []
    if not options.binary:
        return BodyContent(facts)
    if options.keep is not None:
        try:
            return keep_file(options.keep, body.data, body.disposition, kind)
        except OSError as error:
            notes.append(f"the download could not be written ({error.strerror or 'no space'})")
    length = (len(body.data) + 2) // 3 * 4
    if length > options.max_chars or (len(body.data) > options.base64 and kind not in IMAGES):
        return BodyContent({**facts, "left_out": _LEFT_OUT}, notes, omitted=length)
    return BodyContent({"base64": base64.b64encode(body.data).decode(), **facts}, notes)


def keep_file(keep: KeepFile, content: Any, disposition: str, kind: str) -> BodyContent:
    """Keep bytes in a store; the server's name is a hint (RFC 6266, 4.3). OSError if it cannot."""
    extended, plain = _EXTENDED.search(disposition), _PLAIN.search(disposition)
    name = (plain[1] or plain[2] or "") if plain else ""
    facts = keep(content, unquote(extended[1]) if extended else name, kind)
    return BodyContent(
        facts, file={name: facts[name] for name in ("handle", "media_type", "bytes")}
    )


def _read_multipart(body: RawBody, options: ContentOptions) -> BodyContent:
    # RFC 2046, section 5.1.1.
    boundary = http_rules.parameter(body.media_type, "boundary")
    if not boundary:
        return BodyContent([])
    delimiter = b"\r\n--" + boundary.encode("latin-1", "replace")
    pieces = (b"\r\n" + body.data).split(delimiter, _PARTS + 1)[1:]
    content = BodyContent([])
    large = len(body.data) > _LARGE
    max_chars = max(options.max_chars // max(len(pieces), 1), _LEAST_PART)
    inner = ContentOptions(
        max_chars=max_chars,
        base64=options.base64,
        values=_LARGE // len(pieces) if large else VALUES,
    )
    for piece in pieces[:_PARTS]:
        if piece.startswith(b"--"):
            break
        part = _read_part(piece.lstrip(b" \t").removeprefix(b"\r\n"), inner)
        # Hundreds of values that just fit would not fit together.
        content.value.append(cut_value(part.value, inner.max_chars) if large else part.value)
        content.notes += (note for note in part.notes if note not in content.notes)
        content.omitted += part.omitted
        if part.whole and READ_IN_PART not in content.notes:
            content.notes.append(READ_IN_PART)
    if len(pieces) > _PARTS:
        content.notes.append(f"only the first {_PARTS} parts were read")
    return content


def _read_part(piece: bytes, options: ContentOptions) -> BodyContent:
    head, separator, data = (b"\r\n" + piece).partition(b"\r\n\r\n")
    lines = (line[:_HEADER].decode("utf-8", "replace") for line in head.split(b"\r\n", 50)[:50])
    named = (line.partition(":") for line in lines if ":" in line)
    headers = {name.strip().lower(): value.strip() for name, _, value in named}
    media_type = headers.get("content-type", "text/plain")
    disposition = headers.get("content-disposition", "")
    facts: dict[str, Any] = {"media_type": http_rules.essence(media_type)}
    for name in ("name", "filename"):
        if text := text_content.clean_text(http_rules.parameter(disposition, name))[:_SHOWN]:
            facts[name] = text
    # Parts in parts could nest without end; no API that we know of sends them.
    if http_rules.is_multipart(media_type):
        media_type = "application/octet-stream"
    if http_rules.is_json(media_type) and len(data) > options.values:
        media_type = "text/plain"  # a hundred parts may hold a hundred times the values of one
    try:
        content = read_content(
            RawBody(data if separator else b"", media_type, disposition), options
        )
    except CallError:
        content = read_content(RawBody(data, "text/plain"), options)
    return replace(content, value={**facts, "content": content.value})


def _read_events(content: bytes, most: int) -> tuple[list[dict[str, Any]], list[str]]:
    # WHATWG HTML, section 9.2.6.
    text, notes, _ = text_content.decode_text(content[:_READ])
    text = text.removeprefix("\ufeff")
    if len(content) > _READ:
        notes.append(READ_IN_PART)
        text += "\n\n"  # what was read of an event is shown rather than nothing
    events: list[dict[str, Any]] = []
    fields: dict[str, list[str]] = {}
    end = 0
    for count, match in enumerate(_LINE_END.finditer(text)):
        if count == _MOST_LINES:
            return events, [*dict.fromkeys((*notes, READ_IN_PART))]
        line, end = text[end : match.start()], match.end()
        name, _, value = line.partition(":")
        if line and name in ("data", "event", "id"):
            fields.setdefault(name, []).append(value.removeprefix(" "))
        elif not line:
            if "data" in fields and len(events) == most:
                return events, [*notes, _ONLY.format(most), READ_IN_PART]
            if "data" in fields:
                data, faults = _json_or_text("\n".join(fields.pop("data")))
                notes += (note for note in faults if note not in notes)
                last = {name: text_content.clean_text(lines[-1]) for name, lines in fields.items()}
                events.append({**last, "data": data})
            fields = {}
    if "data" in fields or text[end:].startswith("data"):
        notes.append(_UNFINISHED)
    return events, notes


def _json_or_text(text: str) -> tuple[Any, list[str]]:
    # Not every event is JSON: `NaN` and bare words stay strings.
    if text.lstrip()[:1] not in tuple('{["-0123456789tfn'):
        return text_content.clean_text(text), []
    try:
        value, notes = read_json(text.encode())
    except ValueError:
        return text_content.clean_text(text), []
    if notes and isinstance(value, str):
        return text_content.clean_text(text), []
    return value, [ROUNDED] if ROUNDED in notes else []


def _read_each(content: bytes, delimiter: bytes, most: int) -> tuple[list[Any], list[str]]:
    # JSON lines, or a JSON text sequence (RFC 7464, section 2.1).
    values: list[Any] = []
    notes: list[str] = []
    read = unreadable = 0
    for count, text in enumerate(_split_pieces(content, delimiter)):
        if count == _MOST_LINES or read > _READ or unreadable == _MOST_UNREADABLE:
            return values, [*notes, READ_IN_PART]
        read += len(text)
        if not text.strip():
            continue
        if len(values) == most:
            return values, [*notes, _ONLY.format(most), READ_IN_PART]
        try:
            value, faults = read_json(text)
        except ValueError:
            value = text_content.clean_text(text_content.decode_text(text[:_READ]).text.strip())
            faults = [_UNREADABLE]
            unreadable += 1
        values.append(value)
        notes += (note for note in faults if note not in notes)
    return values, notes


def _split_pieces(content: bytes, delimiter: bytes) -> Iterator[bytes]:
    # `bytes.split` would hold all pieces at once, and there may be millions.
    start = 0
    while (end := content.find(delimiter, start)) >= 0:
        yield content[start:end]
        start = end + 1
    yield content[start:]
