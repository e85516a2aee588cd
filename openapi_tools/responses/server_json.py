"""JSON from a server as native values: single texts, and streams of events, lines, sequences."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from openapi_tools.responses.shown_text import clean_text, decode_text

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEEPEST = 200
_C1 = re.compile(rb"\xc2[\x80-\x9f]")
_BLANK = b" \t\r\n\0\xef\xbb\xbf\xfe\xff"
_ENDS = {b"[": b"]", b"{": b"}"}
_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[][{},]', re.DOTALL)
_CLOSERS = {"[": "]", "{": "}"}
_HEAD = 400_000
VALUES = 200_000
"""Default for the most values of one JSON text: some 25 MB of objects."""

_NO_STRICT_JSON = "the answer is not strict JSON; it was read as far as its meaning is plain"

PARTLY = "the answer goes on; only its beginning was read"
"""The note on a text with more values or lines than can be shown."""

_LENIENT = json.JSONDecoder(strict=False, parse_constant=str)
_ESCAPED = (b"\\u00", b"\\b", b"\\f")
"""Escapes of control characters."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def encode(value: Any) -> str:
    """Return the JSON text that `str(result)` gives; raises ValueError for NaN and infinities."""
    return _ENCODER.encode(value)


def read_json(content: bytes, charset: str = "", *, values: int = VALUES) -> tuple[Any, list[str]]:
    """Return the value of JSON text, without control characters in its strings, and notes.

    The last of duplicate names counts. Common faults (NaN, control characters in strings, half
    surrogate pairs, another encoding) are read with a note; NaN and the infinities become strings.

    Spec: RFC 8259.

    Args:
        content: The text.
        charset: As the server named it.
        values: Of a text with more values only the beginning is read, with the note `PARTLY`: as
            objects they would take up to a hundred times the memory of the text.

    Raises:
        ValueError: It is not JSON, or nested deeper than 200.
    """
    if len(content) > values and _values(content) > values:
        return _read_head(content, charset)
    try:
        value = from_json(content, allow_inf_nan=False)
    except ValueError:
        return _read_leniently(content, charset)
    return (clean(value) if _is_suspicious(content) else value), []


def _values(content: bytes) -> int:
    """Return how many values JSON text holds, or a few more."""
    return content.count(b",") + content.count(b"[") + content.count(b"{")


def _is_suspicious(content: bytes) -> bool:
    """Whether a string in it may hold a control character."""
    # Searches for bytes are ten times as fast as one for a pattern, most so for a single one.
    if b"\\" in content and any(map(content.__contains__, _ESCAPED)):
        return True
    if b"\x7f" in content:
        return True
    return b"\xc2" in content and _C1.search(content) is not None


def _read_head(content: bytes, charset: str) -> tuple[Any, list[str]]:
    """Return the values at the beginning of a long text that ends as JSON does."""
    start = content[:_HEAD].lstrip(_BLANK)[:1]
    if content[-_HEAD:].rstrip(_BLANK)[-1:] != _ENDS.get(start):
        raise ValueError("it does not end")
    value, notes = read_begun(content, charset)
    return value, [*dict.fromkeys((*notes, PARTLY))]


def read_begun(content: bytes, charset: str = "") -> tuple[Any, list[str]]:
    """Return the values at the beginning of JSON text, which may end anywhere, and notes."""
    text, notes, _ = decode_text(content[:_HEAD], charset)
    head = _closed(text.removeprefix("\ufeff"))
    try:
        value = from_json(head.encode(), allow_inf_nan=True)
    except ValueError:
        value = _decoded(head)
    return clean(value), [*notes, PARTLY] if len(content) > _HEAD else notes


def _closed(text: str) -> str:
    """Return JSON text up to its last comma or bracket, with all brackets closed."""
    # pydantic's parser for unfinished text takes wrong text too.
    closers: list[str] = []
    end = depth = 0
    for token in _TOKENS.finditer(text):
        mark = token[0]
        if mark == '"':  # a text without an end
            break
        if mark in _CLOSERS:
            closers.append(_CLOSERS[mark])
        elif mark in ",]}":
            closers = closers if mark == "," else closers[:-1]
            end, depth = token.end() - (mark == ","), len(closers)
    return text[:end] + "".join(reversed(closers[:depth]))


def _decoded(text: str) -> Any:
    """Return the value of JSON text that is not quite strict."""
    try:
        return _LENIENT.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _read_leniently(content: bytes, charset: str) -> tuple[Any, list[str]]:
    text, notes, _ = decode_text(content, charset)
    marked = text.startswith("\ufeff") or content.startswith(b"\xef\xbb\xbf")
    text = text.removeprefix("\ufeff")
    value = clean(_decoded(text))
    if not (notes or marked) or not _is_strict(text):
        notes.append(_NO_STRICT_JSON)
    return value, notes


def _is_strict(text: str) -> bool:
    try:
        from_json(text, allow_inf_nan=False)
    except ValueError:
        return False
    return True


def clean(value: Any, depth: int = 0) -> Any:
    """Return a value without NaN, surrogates and control characters.

    Raises:
        ValueError: It is nested deeper than 200.
    """
    match value:
        case str():
            return clean_text(value)
        case float():
            return value if math.isfinite(value) else _name_of(value)
        case list() | dict() if depth > _DEEPEST:
            raise ValueError("it is nested too deep")
        case list():
            return [clean(item, depth + 1) for item in value]
        case dict():
            return {clean_text(k): clean(v, depth + 1) for k, v in value.items()}
        case _:
            return value


def _name_of(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


_LINE_END = re.compile(r"\r\n|\r|\n")
_READ = 1_000_000
_LINES = 200_000
_UNREADABLE = 10_000
UNREADABLE = "lines that are not JSON are given as text"
"""The note on lines that could not be read."""

_UNFINISHED = "the stream ends in the middle of an event, which is left out"


def read_events(content: bytes, most: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Return server-sent events, each with its `data`, and `event` and `id` where it has them.

    Data that is JSON comes as its value, other data (`[DONE]`) as text.

    Spec: WHATWG HTML, section 9.2.6, Interpreting an event stream.

    Returns:
        At most `most` events, and notes on the others.
    """
    text, notes, _ = decode_text(content[:_READ])
    text = text.removeprefix("\ufeff")
    if len(content) > _READ:
        notes.append(PARTLY)
        text += "\n\n"  # what was read of an event is shown rather than nothing
    events: list[dict[str, Any]] = []
    fields: dict[str, list[str]] = {}
    end = 0
    for count, match in enumerate(_LINE_END.finditer(text)):
        if count == _LINES:
            return events, [*dict.fromkeys((*notes, PARTLY))]
        line, end = text[end : match.start()], match.end()
        name, _, value = line.partition(":")
        if line and name in ("data", "event", "id"):
            fields.setdefault(name, []).append(value.removeprefix(" "))
        elif not line:
            if "data" in fields and len(events) == most:
                return events, [*notes, _only(most)]
            if "data" in fields:
                events.append(_event(fields))
            fields = {}
    if "data" in fields or text[end:].startswith("data"):
        notes.append(_UNFINISHED)
    return events, notes


def _only(most: int) -> str:
    return f"only the first {most} items were read"


def _event(fields: dict[str, list[str]]) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: clean_text(fields[name][-1]) for name in fields if name != "data"
    }
    found["data"] = _json_or_text("\n".join(fields["data"]))
    return found


def _json_or_text(text: str) -> Any:
    """Return the value of JSON text; any other text, also `NaN`, unchanged."""
    if not text.lstrip()[:1] or text.lstrip()[0] not in '{["-0123456789tfn':
        return clean_text(text)
    try:
        value, notes = read_json(text.encode())
    except ValueError:
        return clean_text(text)
    return clean_text(text) if notes and isinstance(value, str) else value


def read_lines(content: bytes, most: int) -> tuple[list[Any], list[str]]:
    """Return the values of JSON lines; blank lines are skipped, other lines kept as text.

    Returns:
        At most `most` values, and notes on the others.
    """
    return _read_each(content, b"\n", most)


def read_sequence(content: bytes, most: int) -> tuple[list[Any], list[str]]:
    """Return the values of a JSON text sequence (RFC 7464, section 2.1), as `read_lines` does."""
    return _read_each(content, b"\x1e", most)


def _read_each(content: bytes, delimiter: bytes, most: int) -> tuple[list[Any], list[str]]:
    values: list[Any] = []
    notes: list[str] = []
    read = unreadable = 0
    for count, text in enumerate(_pieces(content, delimiter)):
        if count == _LINES or read > _READ or unreadable == _UNREADABLE:
            return values, [*notes, PARTLY]
        read += len(text)
        if not text.strip():
            continue
        if len(values) == most:
            return values, [*notes, _only(most)]
        try:
            value, found = read_json(text)
        except ValueError:
            value, found = clean_text(decode_text(text[:_READ]).text.strip()), [UNREADABLE]
            unreadable += 1
        values.append(value)
        notes += (note for note in found if note not in notes)
    return values, notes


def _pieces(content: bytes, delimiter: bytes) -> Iterator[bytes]:
    """Split without holding all pieces at once: there may be millions."""
    start = 0
    while (end := content.find(delimiter, start)) >= 0:
        yield content[start:end]
        start = end + 1
    yield content[start:]
