r"""Bounds of a string's length as part of a regular expression.

Where a provider knows `pattern` but no `minLength` and `maxLength`, the pattern has to say the
length: as `^[\s\S]{1,100}$`, or by other counts in the pattern that stands there. With several
counts to choose, fewer strings may match than both keywords would allow, never more.

Spec: ECMA-262, Patterns; JSON Schema 2020-12, Validation, section 6.3.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace

_ANY = r"[\s\S]"
_ATOM = re.compile(
    r"(?P<open>\((?:\?:)?(?!\?))|(?P<end>[)|])"
    r"|(?P<one>\\[dDwWsStnrfv]|\\[^a-zA-Z0-9]|\[\^?(?:\\.|[^\]\\])+\]|[^\\\[\](){}|*+?^$])"
)
_COUNT = re.compile(r"(?:\{(\d+)(?:(,)(\d*))?\}|([*+?]))(?![*+?])")
_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_END = re.compile(r"(?<!\\)(?:\\\\)*\$$")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern: one character of some kind, or a group.

    Attributes:
        text: The character's; of a group, what opens it.
        least: How often it stands at least.
        most: How often at most; None without a limit.
        choices: Of a group.
    """

    text: str
    least: int = 1
    most: int | None = 1
    choices: tuple[tuple[_Part, ...], ...] = ()

    def at_most(self, limit: int | None) -> int | None:
        """Return how often it stands at most, where nothing should stand more often than that."""
        if limit is None:
            return self.most
        return max(self.least, limit if self.most is None else min(self.most, limit))

    def width(self, limit: int | None = None) -> tuple[int, int | None]:
        """Return how many characters it has, least and most."""
        widths = [_width(choice, limit) for choice in self.choices] or [(1, 1)]
        highs = [high for _, high in widths if high is not None]
        high, most = max(highs, default=0), self.at_most(limit)
        low = min(low for low, _ in widths) * self.least
        endless = len(highs) < len(widths) or (most is None and high > 0)
        return low, None if endless and most != 0 else high * (most or 0)

    def written(self, limit: int | None = None) -> str:
        """Return it as text."""
        inner = "|".join(_written(choice, limit) for choice in self.choices)
        text = f"{self.text}{inner})" if self.choices else self.text
        most = self.at_most(limit)
        return text if (self.least, most) == (1, 1) else text + _count(self.least, most)


_Sequence = tuple[_Part, ...]


def with_length(pattern: str | None, least: int, most: int | None) -> str | None:
    """Return a pattern that also bounds the length; None when it cannot be said.

    Args:
        pattern: The pattern so far.
        least: Characters at least.
        most: Characters at most; None without a limit.
    """
    if pattern is None:
        return f"^{_ANY}{_count(least, most)}$"
    parts = _read(pattern)
    if parts is None:
        return None
    low, high = _width(parts)
    if low >= least and (most is None or (high is not None and high <= most)):
        return pattern
    free = [index for index, part in enumerate(parts) if part.width() == (part.least, part.most)]
    free = [index for index in free if parts[index].least != parts[index].most]
    if low < least:
        if len(free) != 1:
            return None
        part = parts[free[0]]
        longer = replace(part, least=part.least + least - low)
        if longer.most is not None and longer.most < longer.least:
            return None
        parts = (*parts[: free[0]], longer, *parts[free[0] + 1 :])
    return _limited(parts, most)


def _limited(parts: _Sequence, most: int | None) -> str | None:
    """Return a pattern whose counts are so small that nothing longer matches."""
    if most is None:
        return f"^{_written(parts)}$"
    limits = range(most + 1)
    fitting = bisect_right(limits, most, key=lambda limit: _width(parts, limit)[1] or 0)
    return f"^{_written(parts, fitting - 1)}$" if fitting else None


def _width(parts: _Sequence, limit: int | None = None) -> tuple[int, int | None]:
    widths = [part.width(limit) for part in parts]
    highs = [high for _, high in widths if high is not None]
    return sum(low for low, _ in widths), sum(highs) if len(highs) == len(widths) else None


def _written(parts: _Sequence, limit: int | None = None) -> str:
    return "".join(part.written(limit) for part in parts)


def _count(least: int, most: int | None) -> str:
    sign = next((sign for sign, counts in _QUANTIFIERS.items() if counts == (least, most)), "")
    if sign or least == most:
        return sign or f"{{{least}}}"
    return f"{{{least},{'' if most is None else most}}}"


def _read(pattern: str) -> _Sequence | None:
    """Return a pattern's parts; None when it says more than this reads.

    A pattern that is not held at an end goes on there.
    """
    start, end = pattern.startswith("^"), _END.search(pattern) is not None
    inner = pattern[start : len(pattern) - end]
    around = _Part(_ANY, 0, None)
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
    """Return the choices of a group, and the place behind it."""
    choices: list[_Sequence] = []
    while (read := _sequence(text, place)) is not None:
        choices.append(read[0])
        place = read[1] + 1
        if text[read[1] : place] != "|":
            return (tuple(choices), place) if text[read[1] : place] == ")" else None
    return None


def _quantified(text: str, place: int) -> tuple[int, int | None, int]:
    """Return how often a part stands, and the place behind its count."""
    found = _COUNT.match(text, place)
    if found is None:
        return 1, 1, place
    least, comma, most, sign = found.groups()
    if sign:
        return *_QUANTIFIERS[sign], found.end()
    low = int(least)
    return low, (int(most) if most else None) if comma else low, found.end()
