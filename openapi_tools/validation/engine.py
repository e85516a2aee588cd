"""jsonschema-rs, and what a document's regular expressions may cost in it.

Its engine for regular expressions never goes back: the time that a match takes grows with the text
times the size of the compiled pattern. Both come from strangers, nothing stops a match under way,
and no other thread runs meanwhile. So the size is known, and bounded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

    Schema = dict[str, Any] | bool

LARGEST_PATTERN = 1_000_000
"""Bytes of a compiled pattern; `^.{1,300}$` takes about half of it."""

_LONGEST_PATTERN = 10_000
_SLOWNESS = {4_000: 1_500.0, 16_000: 5_500.0, 64_000: 12_000.0, 256_000: 33_000.0}
_SLOWEST = 115_000.0
"""Nanoseconds that a character may take, by the bytes of the pattern: measured with patterns and
texts made for it; others are a thousand times faster."""

UNUSABLE = (ValueError, TypeError, OverflowError, RecursionError)
"""What a schema that cannot be compiled leads to."""


def compile_schema(schema: Schema, *, size_limit: int = LARGEST_PATTERN) -> Draft202012Validator:
    """Return a validator whose regular expressions run in linear time.

    Args:
        schema: With references to places inside it only.
        size_limit: Most bytes of a compiled pattern.

    Raises:
        ValueError: A keyword has a value that cannot be compiled.
    """
    from jsonschema_rs import Draft202012Validator, RegexOptions

    options = RegexOptions(size_limit=size_limit)
    return Draft202012Validator(schema, retriever=_refuse, pattern_options=options)


def _refuse(uri: str) -> Any:
    """Answer a validator that wants to fetch a schema: there is none but the one it was given."""
    raise ValueError(f"{uri} is not looked up")


@lru_cache(maxsize=4096)
def pattern_size(pattern: str) -> int:
    """Return how large a compiled pattern is, in bytes, rounded up; 0 for one that is not taken."""
    if len(pattern) > _LONGEST_PATTERN:
        return 0
    for size in (*_SLOWNESS, LARGEST_PATTERN):
        try:
            compile_schema({"pattern": pattern}, size_limit=size)
        except UNUSABLE:
            continue
        return size
    return 0


def slowness(pattern: object) -> float:
    """Return how many nanoseconds a pattern may take for a character, at worst."""
    if not isinstance(pattern, str):
        return 0.0
    return _SLOWNESS.get(pattern_size(pattern), _SLOWEST)
