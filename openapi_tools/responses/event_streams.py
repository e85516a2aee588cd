"""Streams that have ended: server-sent events, JSON lines, JSON text sequences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from openapi_tools.responses.charsets import clean_text, decode_text
from openapi_tools.responses.server_json import PARTLY, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE_END = re.compile(r"\r\n|\r|\n")
_READ = 1_000_000
_LINES = 200_000
_UNREADABLE = 10_000
UNREADABLE = "what is no JSON is given as text"
"""The note on lines that could not be read."""

_UNFINISHED = "the stream ends in the middle of an event, which is left out"


def read_events(content: bytes, most: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Return server-sent events, each with its `data`, and `event` and `id` where it has them.

    Data that is JSON comes as its value, other data (`[DONE]`) as text.

    Spec: WHATWG HTML, section 9.2.6, Interpreting an event stream.

    Args:
        content: The stream.
        most: Events that are read.

    Returns:
        The events, and notes on what is not among them.
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
    """Return what JSON text holds; other text, `NaN` too, as it is."""
    if not text.lstrip()[:1] or text.lstrip()[0] not in '{["-0123456789tfn':
        return clean_text(text)
    try:
        value, notes = read_json(text.encode())
    except ValueError:
        return clean_text(text)
    return clean_text(text) if notes and isinstance(value, str) else value


def read_lines(content: bytes, most: int) -> tuple[list[Any], list[str]]:
    """Return the values of JSON lines; blank lines are skipped, other lines kept as text.

    Args:
        content: The lines.
        most: Values that are read.

    Returns:
        The values, and notes on what is not among them.
    """
    return _read_each(content, b"\n", most)


def read_sequence(content: bytes, most: int) -> tuple[list[Any], list[str]]:
    """Return the values of a JSON text sequence; arguments and result are those of `read_lines`.

    Spec: RFC 7464, section 2.1.
    """
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
