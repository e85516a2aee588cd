"""Repetitions of secrets of one exchange, which only their place gives away.

A response may repeat a marked value where no schema marks it: in a message, or under another name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.redaction import MASK, Redactor
from openapi_tools.redaction.secret_forms import SHORTEST

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

# Of more secrets only whole strings are masked: each is searched for in all of the data.
_MOST_SEARCHED = 64
_LONG = 8  # characters of a secret that is in no name by chance


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
    searched, whole = listed[:_MOST_SEARCHED], frozenset(listed)
    redactor = Redactor.for_exchange(searched)
    if isinstance(value, bytes):
        return redactor.content(value)
    masked = redactor.data(value)
    if len(listed) > len(searched):
        masked = _mask_strings(masked, whole)
    long = Redactor.for_exchange([secret for secret in searched if len(secret) >= _LONG])

    def is_name(key: str) -> bool:
        return key not in whole and long.text(key) == key

    return value if masked is value else _restore_names(value, masked, is_name)


def _mask_strings(value: Any, secrets: frozenset[str]) -> Any:
    match value:
        case dict():
            return {key: _mask_strings(part, secrets) for key, part in value.items()}
        case list():
            return [_mask_strings(part, secrets) for part in value]
        case str() if value in secrets:
            return MASK
    return value


def _restore_names(value: Any, masked: Any, is_name: Callable[[str], bool]) -> Any:
    # A short secret such as `test` is in the name `latest` by chance.
    if isinstance(value, dict):
        pairs = zip(value.items(), masked.items(), strict=True)
        return {
            key if is_name(key) else masked_key: _restore_names(part, masked_part, is_name)
            for (key, part), (masked_key, masked_part) in pairs
        }
    if isinstance(value, list):
        pairs = zip(value, masked, strict=True)
        return [_restore_names(part, masked_part, is_name) for part, masked_part in pairs]
    return masked
