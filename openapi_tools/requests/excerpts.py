"""Excerpts of data for a person who approves a call: every property, long values shortened.

A mark says how much of a string, an array or an object is left out. Excerpts are ASCII, and marks
stand outside the quotes of JSON, so that no value can imitate a mark, a line end or a neighbour.
Secrets are masked before anything is cut, since half of one is not recognised.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_values import pointer_token
from openapi_tools.redaction import MASK, redact_data, redact_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# An approver reads a preview at a glance, or in a chat: names matter most, then short values.
_KEY, _STRING = 60, 40  # characters that stay of a long key, and of a long string
_MARK = 40  # at least as long as any mark
_JOINT = 4  # characters around a value: `: ` and `, `
_DEEPEST = 40  # levels
_MEASURED = 100  # items of an array; a longer one counts as large
_NAMED = 20  # missing properties
_LONGEST_POINTER = 180
_OVERLAP = 4_096  # characters behind a cut, in which a secret may end
# CVE-2020-10735: `str` of an integer above 4,300 digits raises ValueError.
_LARGEST = 10**300
_PLAIN_POINTER = re.compile(r"[\w.~/$@%*+-]*", re.ASCII)
_BREAKS = re.compile(r"([&<>\r\n])")
_LENGTHS = (2_000, 500, 120, 40)  # of the pieces of a body that is not JSON


class _ExcerptSize(NamedTuple):
    """Characters of a value: with a mark for its content, with each property, and whole."""

    least: int
    fair: int
    whole: int


class _ExcerptPart(NamedTuple):
    key: str
    label: str
    place: str
    value: Any
    size: _ExcerptSize


def escape_ascii(text: str) -> str:
    """Return a string with JSON's escapes for all but printable ASCII."""
    return json.dumps(text)[1:-1]


def describe_value(value: Any, limit: int) -> str:
    """Return a value as JSON of about `limit` characters, with marks for what is left out."""
    excerpt = _Excerpt(limit)
    text = redact_text(excerpt.write(value, limit, "", 0))
    missing = excerpt.missing()
    return f"{text} (not shown: {missing})" if missing else text


def describe_properties(values: Mapping[str, Any], limit: int) -> Iterator[str]:
    """Yield a line for each property, of about `limit` characters in all, and one of missing ones.

    Where there are too many properties, or they nest too deep, the last line has the JSON Pointers
    of the missing ones, or their number.
    """
    excerpt = _Excerpt(limit)
    for label, text in excerpt.properties(values, limit, "", 0):
        yield redact_text(f"{label}: {text}")
    if missing := excerpt.missing():
        yield redact_text(f"Not shown: {missing}.")


def describe_body(text: str, limit: int) -> str:
    """Return a body; of a long one, an excerpt that keeps each property."""
    if len(text) <= limit:
        return text
    try:
        return describe_value(json.loads(text), limit)
    except (ValueError, RecursionError):
        pieces = _BREAKS.split(text)  # of a form, of XML, and lines
    for length in _LENGTHS:
        shortened = "".join(shorten_and_count(piece, length) for piece in pieces)
        if len(shortened) <= limit:
            return shortened
    return shorten_and_count(shortened, limit)


def describe_pointer(place: str) -> str:
    """Return a JSON Pointer, in quotes where it is not plain ASCII; of a long one the end."""
    text = place if _PLAIN_POINTER.fullmatch(place) else json.dumps(place[-_LONGEST_POINTER:])
    return text if len(place) <= _LONGEST_POINTER else f"...{text[-_LONGEST_POINTER:]}"


def shorten_and_count(text: str, length: int) -> str:
    """Return a string; of a long one, the beginning and how many characters follow."""
    left_out = len(text) - length
    return f"{text[:length]}... ({left_out:,} more characters)" if left_out > _MARK else text


def share_space(space: int, needs: Sequence[int]) -> list[int]:
    """Divide a space: equal shares, but none larger than needed."""
    shares = [0] * len(needs)
    smallest_first = sorted(range(len(needs)), key=needs.__getitem__)
    for rank, index in enumerate(smallest_first):
        shares[index] = min(needs[index], space // (len(needs) - rank))
        space -= shares[index]
    return shares


class _Excerpt:
    """One excerpt, and the properties that it leaves out."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._sizes: dict[int, _ExcerptSize] = {}  # of containers, by identity
        self._missing: list[str] = []
        self._count = 0

    def missing(self) -> str:
        """Return which properties are left out; empty if none is."""
        space, named = self._limit // 4, list[str]()
        for place in self._missing:
            if (space := space - len(place)) >= 0:
                named.append(place)
        unnamed = self._count - len(named)
        if not named:
            return _count_noun(unnamed, "property", "properties") if unnamed else ""
        return ", ".join(named) + (f" and {unnamed:,} more" if unnamed else "")

    def write(self, value: Any, space: int, place: str, depth: int) -> str:
        """Return a value in about `space` characters."""
        match value:
            case str():
                return _excerpt_string(value, space)
            case dict():
                texts = [f"{k}: {v}" for k, v in self.properties(value, space - 2, place, depth)]
                return "{" + _join_excerpts(texts, len(value), "property", "properties") + "}"
            case list() | tuple():
                items = self._items(value, space - 2, place, depth)
                return "[" + _join_excerpts(items, len(value), "item", "items") + "]"
            case _:
                return _excerpt_scalar(value)

    def properties(
        self, values: Mapping[str, Any], space: int, place: str, depth: int
    ) -> Iterator[tuple[str, str]]:
        """Yield the label and the excerpt of each property that fits."""
        parts, free = list[_ExcerptPart](), space
        for key, label, token, value in _label_properties(values) if depth <= _DEEPEST else ():
            size = self._size(value, depth + 1)
            parts.append(_ExcerptPart(key, label, place + token, value, size))
            free -= _least_size(parts[-1])
            if free < 0:
                break
        if len(parts) < len(values) or free < 0:
            while parts and free < _MARK:
                free += _least_size(parts.pop())
            self._leave_out(values, len(parts), place)
            free = max(free - _MARK, 0)
        for part, part_space in zip(parts, _divide_space(parts, free), strict=True):
            text = f'"{MASK}"'
            if not _is_secret(part.key):
                text = self.write(part.value, part_space, part.place, depth + 1)
            yield part.label, text

    def _items(self, values: Sequence[Any], space: int, place: str, depth: int) -> list[str]:
        # One item with all of its properties says more than many without them.
        parts, free = list[_ExcerptPart](), space
        for index, value in enumerate(values) if depth <= _DEEPEST else ():
            size = self._size(value, depth + 1)
            parts.append(_ExcerptPart("", "", f"{place}/{index}", value, size))
            free -= size.fair + _JOINT
            if free < 0:
                break
        is_whole = free >= 0 and len(parts) == len(values)
        while not is_whole and parts and free < _MARK:
            free += parts.pop().size.fair + _JOINT
        if not parts and values and free >= self._size(values[0], depth + 1).least + _MARK:
            return [self.write(values[0], free - _MARK, f"{place}/0", depth + 1)]
        needs = [part.size.whole - part.size.fair for part in parts]
        shares = share_space(free if is_whole else max(free - _MARK, 0), needs)
        return [
            self.write(part.value, part.size.fair + share, part.place, depth + 1)
            for part, share in zip(parts, shares, strict=True)
        ]

    def _leave_out(self, values: Mapping[str, Any], begin: int, place: str) -> None:
        self._count += len(values) - begin
        end = begin + _NAMED - len(self._missing)
        tokens = (
            token for _, _, token, _ in islice(_label_properties(values), begin, max(end, begin))
        )
        self._missing += [describe_pointer(place + token) for token in tokens]

    def _size(self, value: Any, depth: int) -> _ExcerptSize:
        if isinstance(value, str):
            beginning = value[: self._limit]
            whole = len(json.dumps(beginning)) + len(value) - len(beginning)
            least = min(whole, _STRING + _MARK)
            return _ExcerptSize(least, least, whole)
        if not isinstance(value, dict | list | tuple):
            length = len(_excerpt_scalar(value))
            return _ExcerptSize(length, length, length)
        if id(value) not in self._sizes:
            self._sizes[id(value)] = (
                self._object_size(value, depth)
                if isinstance(value, dict)
                else self._array_size(value, depth)
            )
        return self._sizes[id(value)]

    def _object_size(self, value: Mapping[str, Any], depth: int) -> _ExcerptSize:
        fair = whole = 2
        for _, label, _, inner in _label_properties(value) if depth <= _DEEPEST else ():
            size = self._size(inner, depth + 1)
            fair += len(label) + _JOINT + size.fair
            whole += len(label) + _JOINT + size.whole
            if fair > self._limit:
                break
        return self._container_size(value, fair, whole, depth)

    def _array_size(self, value: Sequence[Any], depth: int) -> _ExcerptSize:
        whole, sizes = 2, list[_ExcerptSize]()
        for inner in value[:_MEASURED] if depth <= _DEEPEST else ():
            sizes.append(self._size(inner, depth + 1))
            whole += sizes[-1].whole + _JOINT
            if whole > self._limit:
                break
        whole = whole if len(sizes) == len(value) else self._limit + 1
        fair = sizes[0].fair + 2 + _MARK if sizes else 2
        return self._container_size(value, fair, whole, depth)

    def _container_size(self, value: Any, fair: int, whole: int, depth: int) -> _ExcerptSize:
        least = 2 + _MARK if value else 2
        if depth > _DEEPEST:
            return _ExcerptSize(least, least, least)
        whole = min(whole, self._limit + 1)
        return _ExcerptSize(min(least, whole), min(max(fair, least), whole), whole)


def _least_size(part: _ExcerptPart) -> int:
    return len(part.label) + _JOINT + part.size.least


def _divide_space(parts: Sequence[_ExcerptPart], free: int) -> list[int]:
    # Properties come before long strings: an approver has to see each name.
    sizes = [part.size for part in parts]
    fair = share_space(free, [size.fair - size.least for size in sizes])
    rest = share_space(free - sum(fair), [size.whole - size.fair for size in sizes])
    return [sum(spaces) for spaces in zip((s.least for s in sizes), fair, rest, strict=True)]


def _label_properties(values: Mapping[Any, Any]) -> Iterator[tuple[str, str, str, Any]]:
    # Two shortened keys may look alike; then a number tells them apart.
    shortened: dict[str, int] = {}
    for key, value in values.items():
        name = str(key)
        label, token = json.dumps(name[: _KEY + _MARK + 1]), name
        if len(label) > _KEY + _MARK:
            beginning, left_out = _masked_beginning(name, _KEY)
            mark = f"{left_out:,} more characters"
            number = shortened[beginning + mark] = shortened.get(beginning + mark, 0) + 1
            mark += f", key {number}" if number > 1 else ""
            label, token = f"{json.dumps(beginning)}... ({mark})", f"{beginning}... ({mark})"
        yield name, label, pointer_token(token), value


def _is_secret(name: str) -> bool:
    return MASK in redact_data({name: 0}).values()


def _excerpt_string(value: str, space: int) -> str:
    if len(value) <= space and len(json.dumps(value)) <= space:
        return json.dumps(redact_data(value))
    beginning, left_out = _masked_beginning(value, max(space - _MARK, _STRING // 2))
    return json.dumps(beginning) + (f"... ({left_out:,} more characters)" if left_out else "")


def _masked_beginning(text: str, length: int) -> tuple[str, int]:
    # Masked before it is cut, with some characters behind the cut: half a secret is not found.
    window = text[: length + _OVERLAP]
    masked = redact_data(window)
    is_cut = len(window) < len(text)
    beginning = _fitting_beginning(masked[:-_OVERLAP] if is_cut else masked, length)
    return beginning, len(masked) - len(beginning) + len(text) - len(window)


def _fitting_beginning(text: str, length: int) -> str:
    text = text[:length]
    while len(written := json.dumps(text)) > length + 2 and len(text) > 1:
        text = text[: max(len(text) * length // len(written), 1)]  # an escape has up to twelve
    return text


def _excerpt_scalar(value: Any) -> str:
    match value:
        case None | bool() | float():
            return json.dumps(value)
        case int():
            is_short = abs(value) < _LARGEST
            return str(value) if is_short else f"(an integer of {value.bit_length():,} bits)"
        case _:
            return _excerpt_string(str(value), _KEY + _MARK)


def _join_excerpts(texts: list[str], count: int, one: str, many: str) -> str:
    if left_out := count - len(texts):
        qualifier = "more " if texts else ""
        texts = [*texts, f"... ({left_out:,} {qualifier}{one if left_out == 1 else many})"]
    return ", ".join(texts)


def _count_noun(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
