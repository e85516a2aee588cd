"""JSON from a server as native values that can be written as JSON again."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from openapi_tools.runtime.reading.charsets import clean_text, decode_text

_DEEPEST = 200
_SUSPICIOUS = re.compile(rb"\\u00|\x7f|\xc2[\x80-\x9f]")
_NO_STRICT_JSON = "the answer is no strict JSON; it was read as far as its meaning is plain"

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def encode(value: Any) -> str:
    """Return the JSON text that `str(result)` gives.

    Raises:
        ValueError: It holds NaN or an infinity.
    """
    return _ENCODER.encode(value)


def read_json(content: bytes, charset: str = "") -> tuple[Any, list[str]]:
    """Return what JSON text holds.

    Of duplicate names the last one counts. What strict JSON does not allow but servers send (NaN,
    control characters in strings, half surrogate pairs, another encoding) is read, with a note:
    NaN and the infinities become strings of that name.

    Spec: RFC 8259.

    Returns:
        The value, without control characters in its strings, and the notes.

    Raises:
        ValueError: It is no JSON, or nested deeper than 200.
    """
    from pydantic_core import from_json

    try:
        value = from_json(content, allow_inf_nan=False)
    except ValueError:
        return _read_leniently(content, charset)
    return (clean(value) if _SUSPICIOUS.search(content) else value), []


def _read_leniently(content: bytes, charset: str) -> tuple[Any, list[str]]:
    text, notes = decode_text(content, charset)
    marked = text.startswith("\ufeff") or content.startswith(b"\xef\xbb\xbf")
    try:
        value = json.loads(text, strict=False, parse_constant=str)
        value = clean(value)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if notes or not marked:
        notes.append(_NO_STRICT_JSON)
    return value, notes


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
