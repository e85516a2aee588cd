"""JSON from a server as native values that can be written as JSON again."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from pydantic_core import from_json

from openapi_tools.responses.charsets import clean_text, decode_text

_DEEPEST = 200
_C1 = re.compile(rb"\xc2[\x80-\x9f]")
_BLANK = b" \t\r\n\0\xef\xbb\xbf\xfe\xff"
_ENDS = {b"[": b"]", b"{": b"}"}
_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[][{},]', re.DOTALL)
_CLOSERS = {"[": "]", "{": "}"}
_HEAD = 400_000
VALUES = 200_000
"""Values that are read of one JSON text, unless more are allowed: some 25 MB of objects."""

_NO_STRICT_JSON = "the answer is no strict JSON; it was read as far as its meaning is plain"

PARTLY = "the answer goes on; only its beginning was read"
"""The note on what holds more values, or lines, than anyone could be shown."""

_LENIENT = json.JSONDecoder(strict=False, parse_constant=str)
_ESCAPED = (b"\\u00", b"\\b", b"\\f")
"""As these JSON text may hold control characters."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def encode(value: Any) -> str:
    """Return the JSON text that `str(result)` gives.

    Raises:
        ValueError: It holds NaN or an infinity.
    """
    return _ENCODER.encode(value)


def read_json(content: bytes, charset: str = "", *, values: int = VALUES) -> tuple[Any, list[str]]:
    """Return what JSON text holds.

    Of duplicate names the last one counts. What strict JSON does not allow but servers send (NaN,
    control characters in strings, half surrogate pairs, another encoding) is read, with a note:
    NaN and the infinities become strings of that name.

    Spec: RFC 8259.

    Args:
        content: The text.
        charset: As the server named it.
        values: Of text that holds more of them only the beginning is read, with the note `PARTLY`:
            as objects they would take up to a hundred times the memory of the text.

    Returns:
        The value, without control characters in its strings, and the notes.

    Raises:
        ValueError: It is no JSON, or nested deeper than 200.
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
    """Return the values at the beginning of a long text; its end is looked at, its middle is not.

    Raises:
        ValueError: It does not end, or its beginning is no JSON.
    """
    start = content[:_HEAD].lstrip(_BLANK)[:1]
    if content[-_HEAD:].rstrip(_BLANK)[-1:] != _ENDS.get(start):
        raise ValueError("it does not end")
    value, notes = read_begun(content, charset)
    return value, [*dict.fromkeys((*notes, PARTLY))]


def read_begun(content: bytes, charset: str = "") -> tuple[Any, list[str]]:
    """Return the values at the beginning of JSON text, which may end anywhere, and notes.

    Raises:
        ValueError: There is no whole value, or it is nested too deep.
    """
    text, notes, _ = decode_text(content[:_HEAD], charset)
    head = _closed(text.removeprefix("\ufeff"))
    try:
        value = from_json(head.encode(), allow_inf_nan=True)
    except ValueError:
        value = _decoded(head)
    return clean(value), [*notes, PARTLY] if len(content) > _HEAD else notes


def _closed(text: str) -> str:
    """Return JSON text up to its last comma or closing bracket, with what is open there closed.

    A parser that takes unfinished text, pydantic's for one, takes wrong text too.
    """
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
    """Return what JSON text holds that is not quite strict.

    Raises:
        ValueError: It is not JSON, or nested too deep.
    """
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
    """Return a value that any JSON writer takes and any terminal shows.

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
