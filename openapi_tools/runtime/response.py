"""An answer as a result that a model can read."""

from __future__ import annotations

import math
import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import CallError
from openapi_tools.runtime.media import essence
from openapi_tools.runtime.reading.charsets import clean_text
from openapi_tools.runtime.reading.content import Body, Content, Shape, read_content
from openapi_tools.runtime.reading.jsontext import clean, encode, read_json
from openapi_tools.runtime.reading.problems import words_of
from openapi_tools.runtime.reading.shorten import shorten
from openapi_tools.runtime.result import ToolResult

if TYPE_CHECKING:
    import httpx

    from openapi_tools.errors import ErrorType
    from openapi_tools.model import Operation
    from openapi_tools.runtime.send import Answer
    from openapi_tools.runtime.settings import Settings

_HEADERS = frozenset(
    {
        b"allow",
        b"content-language",
        b"content-length",
        b"etag",
        b"last-modified",
        b"link",
        b"location",
        b"retry-after",
    }
)
_HEADER_ENDS = (b"request-id", b"requestid", b"correlation-id")
_HEADER_STARTS = (b"ratelimit", b"x-ratelimit", b"x-rate-limit")
_HEADER_LENGTH = 1024
_HEADER_COUNT = 40

_NOT_MODIFIED = 304
_TYPES: dict[int, ErrorType] = {401: "auth", 403: "auth", 429: "rate_limited"}
_RETRYABLE = frozenset({408, 425, 429, 502, 503, 504})
_ERROR_ROOM = 2400
_PROSE = 1200

_LONGEST_WAIT = 86_400.0
_SECONDS = re.compile(r"\d+(?:\.\d+)?")
_MEASURED = 4
"""How much longer JSON text can get when it is written anew, roughly."""


def read_answer(answer: Answer, operation: Operation, settings: Settings) -> ToolResult:
    """Return what an answer means.

    Any 2xx is a success, whatever the document says; so is 304, which only a condition brings
    about. A success without content has the output None.

    Spec: RFC 9110, section 15.

    Args:
        answer: As received.
        operation: What was called: HTML is given as it is where the document announces HTML.
        settings: `max_output_chars` and `download_dir`.

    Returns:
        The result. Its metadata holds `status`, `media_type`, `headers` (those that help with the
        next call), `elapsed` (s), and where they apply `location`, `truncated` and `notes`.
    """
    metadata = _metadata(answer)
    if not (200 <= answer.status < 300 or answer.status == _NOT_MODIFIED):  # noqa: PLR2004
        return _failed(answer, metadata)
    try:
        content = _content(answer, operation, settings)
    except CallError as error:
        reason = f"{answer.method} {answer.path} answered {answer.status}, but {error.reason}"
        facts = {"status": answer.status}
        return ToolResult.failed("decode", reason, metadata=metadata, facts=facts)
    return ToolResult.ok(_output(content, answer, metadata, settings), metadata)


def retry_after(headers: httpx.Headers, *, now: float | None = None) -> float | None:
    """Return how long the server asks us to wait.

    Spec: RFC 9110, section 10.2.3.

    Args:
        headers: Of the answer.
        now: Seconds since the epoch; the present when None.

    Returns:
        Seconds, between 0 and a day; None when the header is absent or unreadable.
    """
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), _LONGEST_WAIT)
    try:
        date = parsedate_to_datetime(text[:60])
        end = date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    wait = end - (time.time() if now is None else now)
    return min(max(wait, 0.0), _LONGEST_WAIT) if math.isfinite(wait) else None


def _metadata(answer: Answer) -> dict[str, Any]:
    headers = _selected(answer.headers)
    metadata: dict[str, Any] = {
        "status": answer.status,
        "media_type": essence(headers.pop("content-type", "")),
        "headers": headers,
        "elapsed": answer.elapsed,
    }
    if "location" in headers:
        metadata["location"] = headers["location"]
    if answer.redirects:
        metadata["redirects"] = answer.redirects
    return metadata


def _selected(headers: httpx.Headers) -> dict[str, str]:
    """Return the media type and the headers that help with the next call, by lower-case name."""
    found: dict[str, str] = {}
    for raw_name, raw_value in headers.raw:
        name = raw_name.lower()
        if (
            name in _HEADERS
            or name == b"content-type"
            or name.endswith(_HEADER_ENDS)
            or name.startswith(_HEADER_STARTS)
        ) and len(found) <= _HEADER_COUNT:
            text = raw_name.lower().decode("latin-1")[:_HEADER_LENGTH]
            before = f"{found[text]}, " if text in found else ""
            found[text] = (before + _legible(raw_value))[:_HEADER_LENGTH]
    return found


def _legible(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    return text if text.isprintable() else clean_text(text)


def _content(answer: Answer, operation: Operation, settings: Settings) -> Content:
    if answer.method == "HEAD" or not answer.content:
        return Content(None)
    media_type = answer.headers.get("content-type", "")
    if media_type == "application/json":
        try:
            return Content(*read_json(answer.content))
        except ValueError:
            pass  # read below, where the error finds its words
    body = Body(answer.content, media_type, answer.headers.get("content-disposition", ""))
    shape = Shape(
        room=settings.max_output_chars,
        folder=settings.download_dir,
        html=any("html" in media_type for media_type in operation.accept),
    )
    return read_content(body, shape)


def _output(content: Content, answer: Answer, metadata: dict[str, Any], settings: Settings) -> Any:
    """Return the value within the cap; note in the metadata what is not in it."""
    value, notes = content.value, list(content.notes)
    if answer.cut:
        why = "the time was over" if answer.cut == "timeout" else "it grew too large"
        notes.append(f"the stream was cut, because {why}")
        value = [*value, f"… the stream went on; {why}"] if isinstance(value, list) else value
    fitted = _fitted(value, len(answer.content), settings.max_output_chars)
    if content.omitted or fitted.cut or answer.cut:
        total = content.omitted or len(answer.content.decode("utf-8", "replace"))
        metadata["truncated"] = {"chars": total, "kept": 0 if content.omitted else fitted.length}
    if notes:
        metadata["notes"] = notes
    return fitted.value


class _Fitted(NamedTuple):
    """A value whose JSON text fits, the length of that, and whether something was cut off."""

    value: Any
    length: int
    cut: bool = False


def _fitted(value: Any, size: int, room: int) -> _Fitted:
    """Return a value that fits into `room` characters as JSON; it was received as `size` bytes."""
    try:
        length = len(encode(value)) if size <= room * _MEASURED else room + 1
        if length <= room:
            return _Fitted(value, length)
        fitted = shorten(value, room)
        return _Fitted(fitted, len(encode(fitted)), fitted is not value)
    except ValueError:
        # An infinity: JSON's 1e400 is one in Python.
        return _fitted(clean(value), size, room)


def _failed(answer: Answer, metadata: dict[str, Any]) -> ToolResult:
    status = answer.status
    kind = _TYPES.get(status, "redirect" if 300 <= status < 400 else "http")  # noqa: PLR2004
    body = _error_body(answer)
    facts = {
        "status": status,
        "retryable": status in _RETRYABLE,
        "retry_after": retry_after(answer.headers),
        "body": body,
    }
    return ToolResult.failed(kind, _message(answer, body), metadata=metadata, facts=facts)


def _error_body(answer: Answer) -> Any:
    """Return what the body of an error holds, in at most 2,400 characters."""
    if answer.method == "HEAD":
        return None
    body = Body(answer.content, answer.headers.get("content-type", ""))
    shape = Shape(room=_ERROR_ROOM, binary=False)
    try:
        value = read_content(body, shape).value
    except CallError:
        value = read_content(Body(body.data), shape).value
    if value is None or value == "":
        return None
    return _fitted(value, len(body.data), _ERROR_ROOM).value


def _message(answer: Answer, body: Any) -> str:
    try:
        phrase = f" {HTTPStatus(answer.status).phrase}"
    except ValueError:
        phrase = ""
    start = f"{answer.method} {answer.path} answered {answer.status}{phrase}"
    words = words_of(body, _PROSE)
    return f"{start}: {words}" if words else f"{start}."
