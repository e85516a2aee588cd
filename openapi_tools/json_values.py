"""JSON values: their equality, in which true is not 1 and 1 is 1.0, and their size as text."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

_ASCII = bytes(range(128))


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal in JSON."""
    if one is other or isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def holds(values: Collection[Any], value: Any) -> bool:
    """Tell whether one of several values is equal to another in JSON."""
    if isinstance(value, str):
        return value in values
    return any(same(one, value) for one in values)


def unequal(values: Iterable[Any]) -> list[Any]:
    """Return the first of each group of equal values."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(_identity(value), value)
    return list(found.values())


def _identity(value: Any) -> Any:
    """Return a hashable key that is the same for equal values."""
    if isinstance(value, dict):
        return (dict, frozenset((name, _identity(member)) for name, member in value.items()))
    if isinstance(value, list):
        return (list, tuple(map(_identity, value)))
    return (isinstance(value, bool), value)


def most_in(text: bytes) -> int:
    """Return a number of characters that a value does not exceed as JSON.

    A text grows by a blank behind each comma and colon, and by a sign and a nought in a number with
    an exponent; there is a comma, colon or bracket before each. An escape takes six characters for
    DEL, and at most three for each byte outside ASCII.

    Args:
        text: The value, written by `compact`.
    """
    blanks = 3 * (text.count(b",") + text.count(b":")) + 2 * text.count(b"[") + 2
    escapes = 5 * text.count(b"\x7f")
    if not text.isascii():
        escapes += 2 * len(text.translate(None, _ASCII))
    return len(text) + blanks + escapes


def compact(value: Any) -> bytes:
    """Return a JSON value as compact text in UTF-8; one with halves of characters, as ASCII."""
    try:
        return _writer()(value)
    except ValueError:  # half of a character, which UTF-8 cannot write
        return json.dumps(value).encode()


@cache
def _writer() -> Callable[[Any], bytes]:
    """Import the fastest writer when it is first needed; the start is to stay light."""
    from pydantic_core import to_json

    return to_json
