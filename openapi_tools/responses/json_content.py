"""JSON of responses as native values: leniently read, and without control characters."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any

from pydantic_core import from_json

from openapi_tools.responses.text_content import clean_text, decode_text

VALUES = 200_000  # default for the most values of one JSON text: some 25 MB of objects
READ_IN_PART = "the response is longer; only its beginning was read"
"""The note on a response with more values or lines than were read."""

# pydantic-core's parser has the same bound.
_DEEPEST = 200
# C1 control characters (U+0080 to U+009F) as UTF-8: terminals take some for escape sequences.
_C1 = re.compile(rb"\xc2[\x80-\x9f]")
_ESCAPED = (b"\\u00", b"\\b", b"\\f")  # escapes of control characters
_BLANK = b" \t\r\n\0\xef\xbb\xbf\xfe\xff"
_ENDS = {b"[": b"]", b"{": b"}"}
_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[][{},]', re.DOTALL)
_CLOSERS = {"[": "]", "{": "}"}
_HEAD = 400_000
_LENIENT = json.JSONDecoder(strict=False, parse_constant=str)
_NO_STRICT_JSON = "the response is not strict JSON; it was parsed leniently"


def read_json(content: bytes, charset: str = "", *, values: int = VALUES) -> tuple[Any, list[str]]:
    """Return the value of JSON text, the first `values` of more, and notes on its faults."""
    if len(content) > values and sum(map(content.count, (b",", b"[", b"{"))) > values:
        start = content[:_HEAD].lstrip(_BLANK)[:1]
        if content[-_HEAD:].rstrip(_BLANK)[-1:] != _ENDS.get(start):
            raise ValueError("it does not end")
        value, notes = read_truncated_json(content, charset)
        return value, [*dict.fromkeys((*notes, READ_IN_PART))]
    try:
        value = from_json(content, allow_inf_nan=False)
    except ValueError:
        return _read_leniently(content, charset)
    notes = [ROUNDED] if has_rounded_decimals(content) else []
    return (clean_value(value) if _is_suspicious(content) else value), notes


def _is_suspicious(content: bytes) -> bool:
    # Searches for bytes are ten times as fast as one for a pattern, most so for a single one.
    if b"\\" in content and any(map(content.__contains__, _ESCAPED)):
        return True
    return b"\x7f" in content or (b"\xc2" in content and _C1.search(content) is not None)


def read_truncated_json(content: bytes, charset: str = "") -> tuple[Any, list[str]]:
    """Return the values at the beginning of JSON text, which may end anywhere, and notes."""
    text, notes, _ = decode_text(content[:_HEAD], charset)
    head = _close_brackets(text.removeprefix("\ufeff"))
    try:
        value = from_json(head.encode(), allow_inf_nan=True)
    except ValueError:
        value = _decode_leniently(head)
    notes += [ROUNDED] if has_rounded_decimals(head.encode()) else []
    return clean_value(value), [*notes, READ_IN_PART] if len(content) > _HEAD else notes


def _close_brackets(text: str) -> str:
    # pydantic's parser for unfinished text takes wrong text too.
    closers: list[str] = []
    end = depth = 0
    for token in _TOKENS.finditer(text):
        mark = token[0]
        if mark == '"':  # a string without an end
            break
        if mark in _CLOSERS:
            closers.append(_CLOSERS[mark])
        elif mark in ",]}":
            closers = closers if mark == "," else closers[:-1]
            end, depth = token.end() - (mark == ","), len(closers)
    return text[:end] + "".join(reversed(closers[:depth]))


def _decode_leniently(text: str) -> Any:
    try:
        return _LENIENT.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _read_leniently(content: bytes, charset: str) -> tuple[Any, list[str]]:
    text, notes, _ = decode_text(content, charset)
    text = text.removeprefix("\ufeff")
    value = clean_value(_decode_leniently(text))
    notes += [ROUNDED] if has_rounded_decimals(text.encode(errors="replace")) else []
    try:
        from_json(text, allow_inf_nan=False)
    except ValueError:
        notes.append(_NO_STRICT_JSON)
    return value, notes


def clean_value(value: Any, depth: int = 0) -> Any:
    """Return a value without NaN, surrogates and control characters, or raise `ValueError`."""
    match value:
        case str():
            return clean_text(value)
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case list() | dict() if depth > _DEEPEST:
            raise ValueError("it is nested too deep")
        case list():
            return [clean_value(item, depth + 1) for item in value]
        case dict():
            return {clean_text(k): clean_value(v, depth + 1) for k, v in value.items()}
        case _:
            return value


ROUNDED = "decimals with more digits than a float keeps were rounded"
"""The note on a response that has such decimals."""

_DIGITS = bytes.maketrans(b".123456789", b"0000000000")
_RUN = b"0" * 17  # 16 digits and a point: a float keeps any 15
_MEASURED = 400_000  # bytes; a result holds less of longer responses
_LOOKED_AT = 200  # runs: of a server whose floats need no more digits, more would be the same
_LONGEST = 1000  # characters of a number that are compared
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?=[\s,\]}]|\Z)")
_BEFORE = b" \t\r\n,:[-"


def has_rounded_decimals(content: bytes) -> bool:
    """Return whether a decimal in JSON text has digits that a float loses.

    The first 200 runs of digits in 400 kB are looked at. Searches for bytes keep it cheap: a
    pattern over the whole text would take twice the time of the parser.
    """
    content = content[:_MEASURED]
    marked = content.translate(_DIGITS)
    end = start = 0
    for _ in range(_LOOKED_AT):
        start = marked.find(_RUN, end)
        if start < 0:
            return False
        end = start + len(_RUN)
        number = _NUMBER.match(content, start)
        if number is None or content[start - 1 : start] not in _BEFORE:
            continue
        end = max(end, number.end())
        if _is_rounded(number[0].decode()):
            return True
    return False


def _is_rounded(number: str) -> bool:
    if number.lstrip("-").isdecimal():
        return False  # integers are exact
    if len(number) > _LONGEST:
        return True
    value = float(number)
    try:
        # Some servers write 17 digits of each float: none is lost, although Python shows fewer.
        return Decimal(number) not in (Decimal(repr(value)), Decimal(f"{value:.17g}"))
    except InvalidOperation:  # an exponent beyond all
        return True
