"""Whether the items of an array differ.

A validator finds that out by hashing, and numbers can be chosen so that all hashes are the same:
5,000 such integers keep jsonschema-rs busy for over a minute. Here items are compared as texts,
whose hashes nobody can foresee.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MANY = 100
"""Items that any way of comparing them is fast enough for."""

_ENCODER = json.JSONEncoder(sort_keys=True)
_WHOLE = re.compile(r"\d\.0|\de")
"""What the text of a float that is a whole number holds; others may hold it too."""


def repeated(items: Iterable[Any], spend: Callable[[int], None]) -> tuple[int, int] | None:
    """Return the places of the first two equal items; None when all differ.

    Spec: JSON Schema 2020-12, Core, section 4.2.2: numbers are equal when their values are.

    Args:
        items: JSON-native.
        spend: Is told of every item how long its text is; it may raise.
    """
    seen: dict[str, int] = {}
    for index, item in enumerate(items):
        text = _text(item)
        spend(len(text))
        first = seen.setdefault(text, index)
        if first != index:
            return first, index
    return None


def _text(value: Any) -> str:
    """Return a text that equal values share, and no others."""
    text = _ENCODER.encode(value)
    return _ENCODER.encode(_plain(value)) if _WHOLE.search(text) else text


def _plain(value: Any) -> Any:
    """Return a value in which whole numbers are integers."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {name: _plain(member) for name, member in value.items()}
        case _:
            return value
