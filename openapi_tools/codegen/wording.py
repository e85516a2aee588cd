"""Differences between schemas in words, and when two values are the same to JSON Schema."""

from __future__ import annotations

import json
from os.path import commonprefix
from reprlib import Repr
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = frozenset(
    {
        *("$comment", "$schema", "contentMediaType", "contentSchema", "default", "deprecated"),
        *("description", "example", "examples", "readOnly", "title", "writeOnly"),
    }
)

MISSING = object()
"""What a keyword that is not there has for a value."""

_CONTEXT = 20
_SHOWN = 60
_LISTED = 4
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = _SHOWN
_SHORT.maxlevel = 3


class Detail(NamedTuple):
    """One difference between two schemas.

    Attributes:
        place: JSON Pointer into the input, for instance `/limit`; `*` is any item or other member.
        text: What it was and is now.
        breaking: An input that was valid may be refused for it.
    """

    place: str
    text: str
    breaking: bool


def shown(value: Any) -> str:
    """Return a value as short text on one line."""
    try:
        text = _SHORT.repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "a very large number"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def changed(what: str, before: Any = MISSING, after: Any = MISSING) -> str:
    """Return what became of something, in words: both values, one of them, or neither given."""
    if before is MISSING:
        return f"{what} is {shown(after)} now"
    if after is MISSING:
        return f"{what} {shown(before)} is gone"
    if isinstance(before, str) and isinstance(after, str):
        # Long texts often begin alike; what is shown begins shortly before they differ.
        start = max(len(commonprefix([before, after])) - _CONTEXT, 0)  # noqa: RUF071 -- characters are meant
        longest = max(len(before), len(after))
        start, mark = (start, "…") if start and longest > _SHOWN else (0, "")
        before, after = mark + before[start:], mark + after[start:]
    return f"{what} was {shown(before)}, is {shown(after)} now"


def text_of(value: Any) -> str | None:
    """Return JSON text that a value has in common with its equals only; None when there is none."""
    try:
        return json.dumps(_plain(value), sort_keys=True)
    except (RecursionError, TypeError, ValueError):
        return None


def _plain(value: Any) -> Any:
    """Return a value with `1.0` written as `1`: to JSON Schema they are the same number."""
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def same(before: Any, after: Any) -> bool:
    """Tell whether two values are surely equal; unlike in Python, `1` is not `true`."""
    text = text_of(before)
    return before is after or (text is not None and text == text_of(after))


def is_word(keyword: object) -> bool:
    """Tell whether a keyword only tells something."""
    return keyword in _WORDS or str(keyword).startswith("x-")


def words_changed(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Detail]:
    """Yield what became of the words around a schema."""
    for keyword in {**after, **before}:
        values = [words.get(keyword, MISSING) for words in (before, after)]
        if is_word(keyword) and not same(*values):
            yield Detail("", changed(keyword, *values), breaking=False)


def shown_list(values: list[Any]) -> str:
    """Return some values as short text on one line."""
    some = ", ".join(map(shown, values[:_LISTED]))
    return some if len(values) <= _LISTED else f"{some} and {len(values) - _LISTED} more"
