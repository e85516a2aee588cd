"""Values and strings cut to a number of characters of JSON, with marks that count the rest."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from openapi_tools.responses.json_content import clean_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.model import Paging

_GROWTH = 4  # upper bound for the growth of JSON text when it is rewritten
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_LEAST = 40  # characters below which a cut value is useless
_ELLIPSIS = "…"
_INFINITY = len('"-Infinity"')
_ITEM_MARKER = 48
# The mark of a list that `max_items` has cut.
_LEFT_OUT = re.compile("… [0-9]{1,9} of ([0-9]{1,9}) items left out")
_MEMBER_MARKER = 40


def encode_json(value: Any) -> str:
    """Return the JSON text that `str(result)` gives; raises ValueError for NaN and infinities."""
    return _ENCODER.encode(value)


def shorten_value(value: Any, limit: int) -> Any:
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
                named = ((member, len(encode_json(name)) + 1) for name, member in value.items())
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
        return truncate_text(value if isinstance(value, str) else encode_json(value), limit)

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

    def _cut_dict(self, members: dict[str, Any], limit: int) -> dict[str, Any]:
        left = limit - 2 - _MEMBER_MARKER
        sizes: dict[str, int] = {}
        for name, member in members.items():
            size = self.size(member, limit)
            least = len(encode_json(name)) + 2 + min(size, _LEAST)
            if least > left:
                break
            left -= least
            sizes[name] = size
        share = _equal_share([size - _LEAST for size in sizes.values() if size > _LEAST], left)
        kept = {}
        for name, size in sizes.items():
            value_limit = _LEAST + share
            kept[name] = (
                members[name] if size <= value_limit else self.cut(members[name], value_limit)
            )
        if len(kept) < len(members):
            kept[_ELLIPSIS] = f"{len(members) - len(kept)} properties left out"
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


def append_mark(value: Any, words: str) -> Any:
    """Return a value with a remark on its missing part, after the mark if it has one."""
    match value:
        case str():
            return f"{value.removesuffix(']')}; {words}]"
        case [*items, str(last)] if last.startswith("… "):
            return [*items, f"{last}; {words}"]
        case list():
            return [*value, f"… {words}"]
        case dict():
            said = f"{value[_ELLIPSIS]}; " if isinstance(value.get(_ELLIPSIS), str) else ""
            return {**value, _ELLIPSIS: f"{said}{words}"}
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


def truncate_text(text: str, limit: int, whole: int = 0) -> str:
    """Return the beginning of a string in `limit` characters of JSON, and the whole's length."""
    marker = f"{_ELLIPSIS} [{whole or len(text)} characters in all]"
    left = limit - 2 - len(marker)
    if left < len(marker):
        marker, left = _ELLIPSIS, limit - 3
    head = text[: max(left, 0)]
    while (length := len(encode_json(head)) - 2) > left:
        head = head[: min(len(head) - 1, len(head) * left // length)]
    words = head.rstrip()
    if len(head) < len(text) and not text[len(head)].isspace():
        words = head[: max(head.rfind(" "), head.rfind("\n")) + 1].rstrip()
    return (words if len(words) > len(head) // 2 else head) + marker


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
        if size <= limit * _GROWTH and len(encode_json(value)) <= limit:
            return value, False
        fitted = shorten_value(value, limit)
        encode_json(fitted)
        return fitted, fitted is not value
    # An infinity: JSON's 1e400 is one in Python.
    return fit_value(clean_value(value), size, limit)
