"""JSON of responses: read leniently as native values, and written within a number of characters.

Values and strings are cut with marks that count the rest.
"""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from openapi_tools.responses.text_content import clean_text, decode_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.model import Paging

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
GROWTH = 4  # upper bound for the growth of JSON text when it is rewritten
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_LEAST = 40  # characters below which a cut value is useless
_ELLIPSIS = "…"
_INFINITY = len('"-Infinity"')
_ITEM_MARKER = 48
# The mark of a list that `max_items` has cut.
_LEFT_OUT = re.compile("… [0-9]{1,9} of ([0-9]{1,9}) items left out")
_PROPERTY_MARKER = 40


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
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError:
        raise
    except ValueError:  # of Python's limit for integers
        raise ValueError("it has a number of too many digits") from None


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
            raise ValueError("it is nested too deeply")
        case list():
            return [clean_value(item, depth + 1) for item in value]
        case dict():
            return {clean_text(k): clean_value(v, depth + 1) for k, v in value.items()}
        case _:
            return value


ROUNDED = "decimals with more digits than a float holds were rounded"
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


def encode_json(value: Any) -> str:
    """Return the JSON text that `str(result)` gives; raises ValueError for NaN and infinities."""
    return _ENCODER.encode(value)


def cut_value(value: Any, limit: int) -> Any:
    """Return a value cut to `limit` characters of JSON, at least 40; marks count the rest."""
    cutter = _ValueCutter()
    return value if cutter.size(value, limit) <= limit else cutter.cut(value, limit)


class _ValueCutter:
    """Remembers sizes, so that nothing is measured twice as a whole."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._passed: dict[int, int] = {}

    def size(self, value: Any, limit: int) -> int:
        """Return the length of the JSON text, or any number over `limit` if it is longer."""
        match value:
            case str():
                return len(value) + 2 if len(value) > limit else len(encode_json(value))
            case list():
                return self._container_size(value, limit, ((item, 0) for item in value))
            case dict():
                named = ((item, len(encode_json(name)) + 1) for name, item in value.items())
                return self._container_size(value, limit, named)
            case float() if not math.isfinite(value):
                return _INFINITY
            case _:
                return len(encode_json(value))

    def _container_size(self, value: Any, limit: int, parts: Iterable[tuple[Any, int]]) -> int:
        size = self._sizes.get(id(value)) or self._passed.get(id(value), 0)
        if size > limit or id(value) in self._sizes:
            return size
        total = 2
        for count, (part, extra) in enumerate(parts):
            total += extra + (1 if count else 0)
            total += self.size(part, limit - total)
            if total > limit:
                self._passed[id(value)] = total
                return total
        self._sizes[id(value)] = total
        return total

    def cut(self, value: Any, limit: int) -> Any:
        if isinstance(value, list):
            return self._cut_list(value, limit)
        if isinstance(value, dict):
            return self._cut_dict(value, limit)
        return cut_string(value if isinstance(value, str) else encode_json(value), limit)

    def _cut_list(self, items: list[Any], limit: int) -> list[Any]:
        total = len(items)
        if items and isinstance(items[-1], str) and (mark := _LEFT_OUT.fullmatch(items[-1])):
            items, total = items[:-1], int(mark[1])
        kept: list[Any] = []
        left = limit - 2 - _ITEM_MARKER
        for item in items:
            size = self.size(item, left)
            if size > left:
                if left >= _LEAST and (not kept or left > limit // 2):
                    kept.append(self.cut(item, left))
                break
            kept.append(item)
            left -= size + 1
        if len(kept) < total:
            kept.append(f"{_ELLIPSIS} {total - len(kept)} of {total} items left out")
        return kept

    def _cut_dict(self, value: dict[str, Any], limit: int) -> dict[str, Any]:
        left = limit - 2 - _PROPERTY_MARKER
        sizes: dict[str, int] = {}
        for name, item in value.items():
            size = self.size(item, limit)
            least = len(encode_json(name)) + 2 + min(size, _LEAST)
            if least > left:
                break
            left -= least
            sizes[name] = size
        share = _equal_share([size - _LEAST for size in sizes.values() if size > _LEAST], left)
        kept = {}
        for name, size in sizes.items():
            value_limit = _LEAST + share
            kept[name] = value[name] if size <= value_limit else self.cut(value[name], value_limit)
        if len(kept) < len(value):
            kept[_ELLIPSIS] = f"{len(value) - len(kept)} properties left out"
        return kept


def _equal_share(wishes: list[int], space: int) -> int:
    # A wish below the equal share is met in full, and the others share what it leaves.
    wishes.sort()
    for index, wish in enumerate(wishes):
        fair = space // (len(wishes) - index)
        if wish > fair:
            return fair
        space -= wish
    return space


def append_mark(value: Any, remark: str) -> Any:
    """Return a value with a remark on its missing part, after the mark if it has one."""
    match value:
        case str():
            return f"{value.removesuffix(']')}; {remark}]"
        case [*items, str(last)] if last.startswith("… "):
            return [*items, f"{last}; {remark}"]
        case list():
            return [*value, f"… {remark}"]
        case dict():
            mark = f"{value[_ELLIPSIS]}; " if isinstance(value.get(_ELLIPSIS), str) else ""
            return {**value, _ELLIPSIS: f"{mark}{remark}"}
        case _:
            return value


def truncation_advice(
    paging: Paging | None, limits: tuple[int, int] | None, *, has_fields: bool, max_items: int
) -> str:
    """Return how a model can get the rest.

    Args:
        paging: That of the operation, if known.
        limits: The limit that cut the response, and the usual one; None if it was not cut.
        has_fields: The caller may choose parts with `fields`.
        max_items: The limit that shortened lists; 0 if it shortened none.
    """
    ways = [f"{paging.size:.40} requests fewer items"] if paging and paging.size else []
    ways += [f"{paging.argument:.40} requests the next ones"] if paging and paging.argument else []
    parts = [", ".join(ways), "fields selects parts" if has_fields else ""]
    if limits is not None:
        is_usual = limits[0] == limits[1]
        option = f"Settings(max_output_chars={limits[0]})" if is_usual else f"max_chars={limits[0]}"
        parts.append(f"the limit is {option}")
    if max_items:
        parts.append(f"max_items is {max_items}")
    return "; ".join(filter(None, parts))


def cut_string(text: str, limit: int, whole: int = 0) -> str:
    """Return the beginning of a string in `limit` characters of JSON, and the whole's length."""
    marker = f"{_ELLIPSIS} [{whole or len(text)} characters in all]"
    left = limit - 2 - len(marker)
    if left < len(marker):
        marker, left = _ELLIPSIS, limit - 3
    head = text[: max(left, 0)]
    while (length := len(encode_json(head)) - 2) > left:
        head = head[: min(len(head) - 1, len(head) * left // length)]
    whole_words = head.rstrip()
    if len(head) < len(text) and not text[len(head)].isspace():
        whole_words = head[: max(head.rfind(" "), head.rfind("\n")) + 1].rstrip()
    return (whole_words if len(whole_words) > len(head) // 2 else head) + marker


def fit_value(value: Any, size: int, limit: int) -> tuple[Any, bool]:
    """Return a value that fits into `limit` characters as JSON, and whether it was cut."""
    # `size` is the number of bytes received: a value that was small stays whole, unmeasured.
    if size <= limit:
        with suppress(ValueError):  # a lone surrogate in the path of a download
            text = to_json(value)
            # Numbers with an exponent take two characters more.
            if 2 * len(text) <= limit and b"Infinity" not in text:
                return value, False
    with suppress(ValueError):
        if size <= limit * GROWTH and len(encode_json(value)) <= limit:
            return value, False
        fitted = cut_value(value, limit)
        encode_json(fitted)
        return fitted, fitted is not value
    # An infinity: JSON's 1e400 is one in Python.
    return fit_value(clean_value(value), size, limit)
