r"""Bounds of a string's length as part of a regular expression.

Where a provider knows `pattern` but no `minLength` and `maxLength`, the pattern has to say the
length: as `^[\s\S]{1,100}$`, or by other counts in the pattern that stands there. With several
counts to choose, fewer strings may match than both keywords would allow, never more.

Spec: ECMA-262, Patterns; JSON Schema 2020-12, Validation, section 6.3.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from math import inf
from typing import NamedTuple

_ANY = r"[\s\S]"
_ATOM = re.compile(
    r"(?P<open>\((?:\?:)?(?!\?))|(?P<end>[)|])"
    r"|(?P<one>\\[dDwWsStnrfv]|\\[^a-zA-Z0-9]|\[\^?(?:\\.|[^\]\\])+\]|[^\\\[\](){}|*+?^$])"
)
_COUNT = re.compile(r"(?:\{(\d+)(?:(,)(\d*))?\}|([*+?]))(?![*+?])")
_QUANTIFIERS = {"*": (0, inf), "+": (1, inf), "?": (0, 1)}
_END = re.compile(r"(?<!\\)(?:\\\\)*\$$")


class _Part(NamedTuple):
    """A character class, or a group that `text` opens, with its repetition."""

    text: str
    least: int = 1
    most: float = 1
    choices: tuple[tuple[_Part, ...], ...] = ()

    def at_most(self, limit: float) -> float:
        return max(self.least, min(self.most, limit))

    def width(self, limit: float) -> tuple[int, float]:
        """Return how many characters it has, least and most."""
        widths = [_width(choice, limit) for choice in self.choices] or [(1, 1)]
        high, most = max(high for _, high in widths), self.at_most(limit)
        return min(low for low, _ in widths) * self.least, high * most if high and most else 0

    def written(self, limit: float) -> str:
        inner = "|".join(_written(choice, limit) for choice in self.choices)
        text = f"{self.text}{inner})" if self.choices else self.text
        most = self.at_most(limit)
        return text if (self.least, most) == (1, 1) else text + _count(self.least, most)


_Sequence = tuple[_Part, ...]


def with_length(pattern: str | None, least: int, most: float) -> str | None:
    """Return a pattern that also bounds the length, to `inf` without a limit; None if none can."""
    if pattern is None:
        return f"^{_ANY}{_count(least, most)}$"
    parts = _read(pattern)
    if parts is None:
        return None
    low, high = _width(parts)
    if low >= least and high <= most:
        return pattern
    longer = parts if low >= least else _longer(parts, least - low)
    if longer is None:
        return None
    if most == inf:
        return f"^{_written(longer)}$"
    # The largest limit of all counts with which nothing longer matches.
    limits = range(int(most) + 1)
    fitting = bisect_right(limits, most, key=lambda limit: _width(longer, limit)[1])
    return f"^{_written(longer, fitting - 1)}$" if fitting else None


def _longer(parts: _Sequence, count: int) -> _Sequence | None:
    """Return parts that have more characters at least, where only one of them can have them."""
    free = [part for part in parts if part.width(inf) == (part.least, part.most)]
    free = [part for part in free if part.least != part.most]
    if len(free) != 1 or free[0].most < free[0].least + count:
        return None
    longer = free[0]._replace(least=free[0].least + count)
    return tuple(longer if part is free[0] else part for part in parts)


def _width(parts: _Sequence, limit: float = inf) -> tuple[int, float]:
    widths = [part.width(limit) for part in parts]
    return sum(low for low, _ in widths), sum(high for _, high in widths)


def _written(parts: _Sequence, limit: float = inf) -> str:
    return "".join(part.written(limit) for part in parts)


def _count(least: int, most: float) -> str:
    sign = next((sign for sign, counts in _QUANTIFIERS.items() if counts == (least, most)), "")
    if sign or least == most:
        return sign or f"{{{least}}}"
    return f"{{{least},{'' if most == inf else most}}}"


def _read(pattern: str) -> _Sequence | None:
    """Return a pattern's parts; None when it says more than this reads."""
    start, end = pattern.startswith("^"), _END.search(pattern) is not None
    inner = pattern[start : len(pattern) - end]
    around = _Part(_ANY, 0, inf)  # a pattern that is not held at an end goes on there
    read = _sequence(inner, 0)
    if read is None or read[1] != len(inner):
        return None
    return (*(() if start else (around,)), *read[0], *(() if end else (around,)))


def _sequence(text: str, place: int) -> tuple[_Sequence, int] | None:
    """Return the parts from a place up to the end of a choice, and where that is."""
    parts: list[_Part] = []
    while place < len(text):
        found = _ATOM.match(text, place)
        if found is None:
            return None
        if found["end"]:
            break
        read = _group(text, found.end()) if found["open"] else ((), found.end())
        if read is None:
            return None
        choices, end = read
        least, most, place = _quantified(text, end)
        if text[place : place + 1] in ("?", "+", "*", "{"):
            return None
        parts.append(_Part(found[0], least, most, choices))
    return tuple(parts), place


def _group(text: str, place: int) -> tuple[tuple[_Sequence, ...], int] | None:
    choices: list[_Sequence] = []
    while (read := _sequence(text, place)) is not None:
        choices.append(read[0])
        place = read[1] + 1
        if text[read[1] : place] != "|":
            return (tuple(choices), place) if text[read[1] : place] == ")" else None
    return None


def _quantified(text: str, place: int) -> tuple[int, float, int]:
    """Return how often a part stands, and the place behind its count."""
    found = _COUNT.match(text, place)
    if found is None:
        return 1, 1, place
    least, comma, most, sign = found.groups()
    if sign:
        return *_QUANTIFIERS[sign], found.end()
    high = int(most) if most else inf if comma else int(least)
    return int(least), high, found.end()
