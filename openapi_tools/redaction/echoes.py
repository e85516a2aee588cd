"""Repetitions of secrets of one exchange, which only their place gives away.

A response may repeat a marked value where no schema marks it: in a message, or under another name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.redaction import MASK, Redactor
from openapi_tools.redaction.secret_forms import SHORTEST

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

# Of more secrets only whole strings are masked: each is searched for in all of the data.
_MOST_SEARCHED = 64


def find_masked(value: Any, masked: Any) -> Iterator[str]:
    """Yield the strings and numbers that a mask stands for in masked data."""
    waiting = [(value, masked)]
    while waiting:
        original, part = waiting.pop()
        if isinstance(original, dict) and isinstance(part, dict):
            # Their keys may be masked, too.
            waiting += zip(original.values(), part.values(), strict=False)
        elif isinstance(original, list) and isinstance(part, list):
            waiting += zip(original, part, strict=True)
        elif isinstance(original, str) and isinstance(part, str):
            yield from _find_pieces(original, part)
        elif part == MASK and isinstance(original, int | float):
            yield str(original)


def _find_pieces(text: str, masked: str) -> Iterator[str]:
    first, *pieces = masked.split(MASK)
    start = len(first)
    for number, piece in enumerate(pieces, start=1):
        end = len(text) - len(piece) if number == len(pieces) else text.find(piece, start)
        if end < start:
            return  # encoded again around the mask
        if piece or number == len(pieces):
            yield text[start:end]
            start = end + len(piece)


def mask_echoes(value: Any, secrets: Collection[str]) -> Any:
    """Return data or bytes without these secrets; those of three characters occur by chance."""
    listed = sorted({secret for secret in secrets if len(secret) >= SHORTEST})
    if not listed:
        return value
    redactor = Redactor.for_exchange(listed[:_MOST_SEARCHED])
    if isinstance(value, bytes):
        return redactor.content(value)
    return _mask_strings(redactor.data(value), frozenset(listed[_MOST_SEARCHED:]))


def _mask_strings(value: Any, secrets: frozenset[str]) -> Any:
    if not secrets:
        return value
    match value:
        case dict():
            return {key: _mask_strings(part, secrets) for key, part in value.items()}
        case list():
            return [_mask_strings(part, secrets) for part in value]
        case str() if value in secrets:
            return MASK
    return value
