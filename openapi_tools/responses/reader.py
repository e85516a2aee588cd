"""Answers as results, without secrets."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from openapi_tools.errors import CallError, ErrorType
from openapi_tools.http_rules import (
    InvalidUrlError,
    essence,
    header_label,
    is_json,
    is_kept,
    linked,
    read_url,
)
from openapi_tools.responses.body_content import Body, Content, Shape, as_file, read_content
from openapi_tools.responses.charsets import charset_of
from openapi_tools.responses.server_json import (
    PARTLY,
    VALUES,
    at_fault,
    clean,
    message_of,
    read_json,
    words_of,
)
from openapi_tools.responses.shown_text import (
    advice,
    as_utf8,
    clean_text,
    decode_text,
    encode,
    marked,
    shorten,
)
from openapi_tools.result import ToolResult
from openapi_tools.transport.failures import retry_after, timeout_error
from openapi_tools.transport.redirects import is_result

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import httpx

    from openapi_tools.model import Operation
    from openapi_tools.redaction import Redactor
    from openapi_tools.responses.answer_shape import Shaper
    from openapi_tools.responses.body_content import Keep
    from openapi_tools.settings import Settings
    from openapi_tools.transport import APIResponse

_CONDITIONS = ("if-none-match", "if-modified-since")  # which a 304 answers (RFC 9110, 15.4.5)

_TYPES: dict[int, ErrorType] = {401: "auth", 403: "auth", 429: "rate_limited"}
_RETRYABLE = frozenset({408, 425, 429, 502, 503, 504})
_SERVER_FAULTS = 500
_ERROR_ROOM = 2400
_ERROR_READ = 1_000_000
_ERROR_HEAD = 64_000
_MARKER = 20
_OCTETS = "application/octet-stream"
_VALUE = 50  # bytes of a JSON value, on average: more are read where larger answers are allowed
_GROWTH = 4  # upper bound for the growth of JSON text when it is rewritten
_LONGEST = 1024  # characters of a header that a result keeps

_MOST = 40
_LONGEST_LIST = 8192
_EXPOSED = "access-control-expose-headers"
_NONE = frozenset({"", "-1", "0", "false", "none", "null"})
_NUMBER = re.compile(r"[0-9]{1,20}")
_ABSOLUTE = re.compile("[A-Za-z][A-Za-z0-9+.-]{0,30}:")
_RANGE = re.compile(r"(?:[\w-]{1,30} )?(?:[0-9]{1,20}-[0-9]{1,20}|\*)/(?:[0-9]{1,20}|\*)", re.ASCII)

_LABELS = ("Next page", "Total", "Content-Range", "Location")
_EACH = 3
_NOTE_ROOM = 1200
_ADVICE = 220  # characters that are left for words about a cut, where there is room for `_ROOMY`
_ROOMY = 2000


def read_answer(
    answer: APIResponse,
    operation: Operation,
    settings: Settings,
    *,
    redactor: Redactor | None = None,
    keep: Keep | None = None,
    after: Callable[[Any, Mapping[str, str]], str] | None = None,
    shaper: Shaper | None = None,
) -> ToolResult:
    """Return an answer as a result; CallError where no whole value came in time.

    Secrets are masked before anything is read or cut; `after` says in one line what follows the
    answer, or nothing.
    """
    answer, notes = _without_secrets(answer, redactor) if redactor else (answer, [])
    headers = _kept_headers(answer.headers, operation.response_headers)
    media_type = headers.pop("content-type", "")[:_LONGEST]
    metadata = _metadata(answer, headers, media_type)
    if not _succeeded(answer, operation):
        return _failed(answer, operation, metadata)
    most = settings.max_output_chars if shaper is None else shaper.max_chars
    try:
        content = _content(answer, media_type, operation, settings, room=_room(most), keep=keep)
    except CallError as error:
        return _unread(error, answer, metadata, operation.timeout or settings.timeout)
    content.notes = [*notes, *content.notes]
    is_redirect = answer.status >= HTTPStatus.MULTIPLE_CHOICES
    if is_redirect and headers.get("location"):
        _add_address(content, answer, headers)
    if content.file is not None:
        metadata["file"] = content.file
    words = after(content.value, headers) if after is not None else ""
    note = _header_note(headers, words, room=most if is_redirect else _NOTE_ROOM)
    if shaper is not None:
        note = "; ".join(filter(None, (shaper.apply(content, metadata, cut=answer.cut), note)))
        if redactor and shaper.fields:  # which may have joined pieces of a secret
            content.value = redactor.data(content.value)
    output = _output(content, answer, metadata, (operation, settings, shaper), most)
    return ToolResult.ok(output, metadata, header_note=note)


def _succeeded(answer: APIResponse, operation: Operation) -> bool:
    if answer.status == HTTPStatus.NOT_MODIFIED:
        return any(name in answer.request.headers for name in _CONDITIONS)
    is_success = 200 <= answer.status < 300  # noqa: PLR2004
    return is_success or is_result(answer.request, answer.status, operation.redirects)


def _unread(
    error: CallError, answer: APIResponse, facts: dict[str, Any], limit: float
) -> ToolResult:
    """Return the result of an answer that cannot be read; `timeout` where the time cut it."""
    if not answer.cut:
        reason = f"{answer.method} {answer.path} returned {answer.status}, but {error.reason}"
        status = {"status": answer.status}
        return ToolResult.failed(error.kind, reason, metadata=facts, facts=status)
    late = timeout_error(answer.request, limit)
    late.attempts = answer.attempts
    body = error.facts.get("body")
    if body is None:
        raise late from None
    body, _ = _fitted(body, len(answer.content), _ERROR_ROOM)
    words = words_of(encode(body), _NOTE_ROOM)
    reason = f"{late.reason} The response had begun ({answer.status}): {words}"
    late.facts |= {"status": answer.status, "body": body}
    return ToolResult.failed("timeout", reason, metadata=facts, facts=late.facts)


def _metadata(answer: APIResponse, headers: dict[str, str], media_type: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "status": answer.status,
        "media_type": essence(media_type),
        "headers": {name: value[:_LONGEST] for name, value in headers.items()},
        "elapsed": answer.elapsed,
        "attempts": answer.attempts,
    }
    if "location" in headers:
        is_redirect = answer.status >= HTTPStatus.MULTIPLE_CHOICES
        metadata["location"] = headers["location"][: None if is_redirect else _LONGEST]
    if answer.redirects:
        metadata["redirects"] = answer.redirects
    if answer.cached:
        metadata |= {"cached": True, answer.cached: True}
    return metadata


def _content(
    answer: APIResponse,
    media_type: str,
    operation: Operation,
    settings: Settings,
    *,
    room: int,
    keep: Keep | None,
) -> Content:
    values = max(VALUES, settings.max_response_bytes // _VALUE)
    if answer.unread:
        words = f"Success; the response could not be read: {answer.unread}"
        return Content(words, [words])
    if answer.file is None and (answer.method == "HEAD" or not answer.content):
        return Content(None)
    if answer.file is None and media_type == "application/json":
        try:
            return Content(*read_json(answer.content, values=values), is_data=True)
        except ValueError:
            pass  # read below, which describes the error
    disposition = answer.headers.get("content-disposition", "")[:_LONGEST]
    if answer.file is not None and keep is not None:
        return as_file(keep, answer.file, disposition, essence(media_type) or _OCTETS)
    body = Body(answer.content, media_type, disposition, cut=bool(answer.cut))
    shape = Shape(
        room=room,
        keep=keep,
        base64=settings.max_base64_bytes,
        html=any("html" in media_type for media_type in operation.accept),
        values=values,
    )
    return read_content(body, shape)


def _add_address(content: Content, answer: APIResponse, headers: dict[str, str]) -> None:
    """Give the address of a redirect whole, in place of a page that only repeats it."""
    content.notes.append(f"the response is a redirect ({answer.status}), which was not followed")
    location = headers.pop("location")
    with suppress(InvalidUrlError):
        if not _ABSOLUTE.match(location):  # which stays to the letter: it may be signed
            location = str(read_url(location, answer.request.url))
    if content.is_data and content.value:
        headers["location"] = location  # for the line after the output
    else:
        content.value, content.is_data = {"location": location}, True
        content.omitted = content.whole = 0


def _output(
    content: Content,
    answer: APIResponse,
    metadata: dict[str, Any],
    about: tuple[Operation, Settings, Shaper | None],
    most: int,
) -> Any:
    """Return the value within the cap; the metadata notes the rest."""
    notes = list(content.notes)
    goes_on = PARTLY if PARTLY in notes else ""
    if answer.cut:
        why = "the timeout expired" if answer.cut == "timeout" else "it grew too large"
        notes.append(f"the stream was cut because {why}")
        goes_on = f"the stream was longer; {why}"
    operation, settings, shaper = about
    # A chosen value may be larger than the answer.
    size = len(answer.content) if "shaped" not in metadata else most * _GROWTH + 1
    left_out = metadata.get("shaped", {}).get("items", 0)
    room = most - (len(goes_on) + _MARKER if goes_on else 0)
    room = _room(room) if left_out else room
    value, is_cut = _fitted(content.value, size, room)
    if is_cut and room == most:
        value, _ = _fitted(content.value, size, _room(most))
    if (is_cut or content.cut or left_out) and not goes_on and most >= _ROOMY:
        limits = (most, settings.max_output_chars) if is_cut or content.cut else None
        value = marked(value, advice(operation.paging, limits, shaper, left_out=left_out))
    if content.omitted or content.whole or is_cut or goes_on:
        total = content.omitted or content.whole or decode_text(answer.content, most=0).length
        kept = 0 if content.omitted else len(encode(value))
        metadata["truncated"] = {"chars": total, "kept": kept}
    if notes:
        metadata["notes"] = notes
    value = marked(value, goes_on) if goes_on and not isinstance(value, str) else value
    if "shaped" in metadata:
        metadata["shaped"] |= {"received": len(answer.content), "chars": len(encode(value))}
    return value


def _room(most: int) -> int:
    """Return the characters for an answer that is cut, beside the words about that."""
    return most - _ADVICE if most >= _ROOMY else most


def _fitted(value: Any, size: int, room: int) -> tuple[Any, bool]:
    """Return a value that fits into `room` characters as JSON, and whether it was cut."""
    # It was received as `size` bytes.
    if size <= room:
        with suppress(ValueError):  # half a surrogate pair in the path of a download
            text = to_json(value)
            # Numbers with an exponent take two characters more.
            if 2 * len(text) <= room and b"Infinity" not in text:
                return value, False
    with suppress(ValueError):
        if size <= room * _GROWTH and len(encode(value)) <= room:
            return value, False
        fitted = shorten(value, room)
        encode(fitted)
        return fitted, fitted is not value
    # An infinity: JSON's 1e400 is one in Python.
    return _fitted(clean(value), size, room)


def _failed(answer: APIResponse, operation: Operation, metadata: dict[str, Any]) -> ToolResult:
    status = answer.status
    redirected = 300 <= status < 400 and status != HTTPStatus.NOT_MODIFIED  # noqa: PLR2004
    kind = _TYPES.get(status, "redirect" if redirected else "http")
    body = _error_body(answer)
    facts = {
        "status": status,
        "retryable": status in _RETRYABLE,
        "retry_after": retry_after(answer.headers),
        "body": body,
    }
    fields = at_fault(body, operation) if kind == "http" and status < _SERVER_FAULTS else {}
    facts |= {"fields": list(fields.values())} if fields else {}
    return ToolResult.failed(kind, message_of(answer, body, fields), metadata=metadata, facts=facts)


def _error_body(answer: APIResponse) -> Any:
    """Return the body of an error, in at most 2,400 characters."""
    if answer.method == "HEAD":
        return None
    # Of an error that is longer than any API's, a beginning is enough.
    data = answer.content if len(answer.content) <= _ERROR_READ else answer.content[:_ERROR_HEAD]
    body = Body(data, answer.headers.get("content-type", "")[:_LONGEST])
    shape = Shape(room=_ERROR_ROOM, binary=False)
    try:
        value = read_content(body, shape).value
    except CallError:
        value = read_content(Body(body.data), shape).value
    if value is None or value == "":
        return None
    return _fitted(value, len(body.data), _ERROR_ROOM)[0]


def _without_secrets(answer: APIResponse, redactor: Redactor) -> tuple[APIResponse, list[str]]:
    """Return an answer with `***` in place of secrets, and notes on JSON that was read for it."""
    notes: list[str] = []
    content, lines = answer.content, answer.headers.raw
    media_type = answer.headers.get("content-type", "")
    plain = as_utf8(content, charset_of(media_type, content))
    # Most answers hold none: one search tells. No tag goes on over `<>`.
    everything = b"\n<>\n".join((plain, *(value for _, value in lines)))
    if redactor.content(everything) is everything:
        return answer, notes
    masked = redactor.content(plain)
    if masked is not plain:
        content = masked if plain is content else codecs.BOM_UTF8 + masked
        if is_json(media_type):
            with suppress(ValueError):  # text under a wrong name
                value, faults = read_json(plain)
                if PARTLY not in faults:
                    notes = faults
                    # A mask in place of a number, or of two names, leaves it JSON.
                    content = to_json(redactor.data(value), inf_nan_mode="constants")
    lines = [(name, redactor.content(value)) for name, value in lines]
    return replace(answer, content=content, headers=type(answer.headers)(lines)), notes


def _kept_headers(headers: httpx.Headers, declared: Collection[str] = ()) -> dict[str, str]:
    """Return the headers that a result keeps, by lower-case name (WHATWG Fetch, 3.3.5)."""
    lines = [(*_known(raw_name), raw_value) for raw_name, raw_value in headers.raw]
    exposed = [
        value[:_LONGEST_LIST].decode("latin-1") for name, _, value in lines if name == _EXPOSED
    ]
    asked = {*declared, *(name.strip() for told in exposed for name in told.lower().split(","))}
    found: dict[str, str] = {}
    for among in (True, None) if asked else (True,):
        for name, kept, value in lines:
            if kept is among and (kept or name in asked):
                _add_header(found, name, value)
    return found


@lru_cache(maxsize=1024)
def _known(raw_name: bytes) -> tuple[str, bool | None]:
    name = raw_name.decode("latin-1").lower()[:_LONGEST]
    return name, is_kept(name)


def _add_header(found: dict[str, str], name: str, raw_value: bytes) -> None:
    """Keep a line of a header; lines with one name are joined (RFC 9110, section 5.3)."""
    if len(found) <= _MOST or name in found or name == "content-type":
        try:
            text = raw_value.decode()
        except UnicodeDecodeError:
            text = raw_value.decode("latin-1")
        value = text if text.isprintable() else clean_text(text)
        found[name] = f"{found[name]}, {value}" if name in found else value


def _header_note(headers: Mapping[str, str], more: str = "", *, room: int = _NOTE_ROOM) -> str:
    """Return words, numbers and ranges of headers; `more` replaces what they say about pages."""
    told: dict[str, list[str]] = {}
    left = room
    for name, value in headers.items():
        label = header_label(name)
        label = "" if more and label in ("Next page", "Location") else label
        fact = _fact(label, linked(value, "next") if name == "link" else value) if label else ""
        if fact and len(told.setdefault(label, [])) < _EACH:
            fact = fact if len(fact) <= left else "too long to display"
            left -= len(fact)
            told[label].append(fact if name == label.lower() else f"{fact} ({name})")
    facts = [f"{label}: {', '.join(told[label])}" for label in _LABELS if label in told]
    return "; ".join(filter(None, [more, *facts]))


def _fact(label: str, value: str) -> str:
    """Return the word, number or range in a header's value; empty for none."""
    if label == "Total":
        return value if _NUMBER.fullmatch(value) else ""
    if label == "Content-Range":
        return value if _RANGE.fullmatch(value) else ""
    is_word = value.isprintable() and " " not in value
    return value if is_word and value.lower() not in _NONE else ""
