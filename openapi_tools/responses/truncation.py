"""Values cut to a length of JSON text, with a mark at each cut."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from openapi_tools.responses.server_json import encode

if TYPE_CHECKING:
    from collections.abc import Iterable

_LEAST = 40
"""Characters below which a cut value is useless."""

_ELLIPSIS = "…"
_INFINITY = len('"-Infinity"')
_ITEM_MARKER = 48
_MEMBER_MARKER = 40


def shorten(value: Any, room: int) -> Any:
    """Return a value whose JSON text takes at most `room` characters.

    Arrays keep their head, objects all members as long as possible with the longest ones cut, text
    its head up to the end of a word. A mark counts the omissions.

    Args:
        value: JSON-native.
        room: At least 40.
    """
    cutter = _Cutter()
    return value if cutter.size(value, room) <= room else cutter.cut(value, room)


class _Cutter:
    """Cuts values; remembers sizes, so that nothing is measured twice as a whole."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._passed: dict[int, int] = {}

    def size(self, value: Any, limit: int) -> int:
        """Return the length of the JSON text, or any number over `limit` if it is longer."""
        match value:
            case str():
                return len(value) + 2 if len(value) > limit else len(encode(value))
            case list():
                return self._summed(value, limit, ((item, 0) for item in value))
            case dict():
                named = ((member, len(encode(name)) + 2) for name, member in value.items())
                return self._summed(value, limit, named)
            case float() if not math.isfinite(value):
                return _INFINITY
            case _:
                return len(encode(value))

    def _summed(self, value: Any, limit: int, parts: Iterable[tuple[Any, int]]) -> int:
        known = self._sizes.get(id(value)) or self._passed.get(id(value), 0)
        if known > limit or id(value) in self._sizes:
            return known
        total = 2
        for count, (part, extra) in enumerate(parts):
            total += extra + (2 if count else 0)
            total += self.size(part, limit - total)
            if total > limit:
                self._passed[id(value)] = total
                return total
        self._sizes[id(value)] = total
        return total

    def cut(self, value: Any, room: int) -> Any:
        """Return the part of a too long value that fits."""
        match value:
            case list():
                return self._cut_list(value, room)
            case dict():
                return self._cut_dict(value, room)
            case str():
                return cut_text(value, room)
            case _:
                return cut_text(encode(value), room)

    def _cut_list(self, items: list[Any], room: int) -> list[Any]:
        kept: list[Any] = []
        left = room - 2 - _ITEM_MARKER
        for item in items:
            size = self.size(item, left)
            if size > left:
                if left >= _LEAST and (not kept or left > room // 2):
                    kept.append(self.cut(item, left))
                break
            kept.append(item)
            left -= size + 2
        if len(kept) < len(items):
            kept.append(f"{_ELLIPSIS} {len(items) - len(kept)} of {len(items)} items left out")
        return kept

    def _cut_dict(self, members: dict[str, Any], room: int) -> dict[str, Any]:
        left = room - 2 - _MEMBER_MARKER
        sizes: dict[str, int] = {}
        for name, member in members.items():
            size = self.size(member, room)
            least = len(encode(name)) + 4 + min(size, _LEAST)
            if least > left:
                break
            left -= least
            sizes[name] = size
        share = _share([size - _LEAST for size in sizes.values() if size > _LEAST], left)
        kept = {}
        for name, size in sizes.items():
            own = _LEAST + share
            kept[name] = members[name] if size <= own else self.cut(members[name], own)
        if len(kept) < len(members):
            kept[_ELLIPSIS] = f"{len(members) - len(kept)} members left out"
        return kept


def _share(wishes: list[int], room: int) -> int:
    """Return the largest equal share; smaller wishes are met in full."""
    wishes.sort()
    for index, wish in enumerate(wishes):
        fair = room // (len(wishes) - index)
        if wish > fair:
            return fair
        room -= wish
    return room


def cut_text(text: str, room: int, whole: int = 0) -> str:
    """Return the head of a text, up to the end of a word, and the length of the whole.

    Args:
        text: Longer than `room` as JSON.
        room: Characters of the result as JSON, quotes included.
        whole: Characters of the whole, if `text` is only its beginning.
    """
    marker = f"{_ELLIPSIS} [{whole or len(text)} characters in all]"
    left = room - 2 - len(marker)
    if left < len(marker):
        marker, left = _ELLIPSIS, room - 3
    head = text[: max(left, 0)]
    while (length := len(encode(head)) - 2) > left:
        head = head[: min(len(head) - 1, len(head) * left // length)]
    words = head.rstrip()
    if len(head) < len(text) and not text[len(head)].isspace():
        words = head[: max(head.rfind(" "), head.rfind("\n")) + 1].rstrip()
    return (words if len(words) > len(head) // 2 else head) + marker
