"""Decimals in JSON text with more digits than a float keeps."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

ROUNDED = "decimals with more digits than a float keeps were rounded"
"""The note on a response that has such decimals."""

_DIGITS = bytes.maketrans(b".123456789", b"0000000000")
_RUN = b"0" * 17  # 16 digits and a point: a float keeps any 15
_BEGINNING = 400_000  # bytes; of longer responses less is shown
_LOOKED_AT = 200  # runs: of a server whose floats need no more digits, more would be the same
_LONGEST = 1000  # characters of a number that are compared
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?=[\s,\]}]|\Z)")
_BEFORE = b" \t\r\n,:[-"


def has_rounded(content: bytes) -> bool:
    """Whether a float shows other digits than a decimal in JSON text has.

    The first 200 runs of digits in 400 kB are looked at. Searches for bytes keep it cheap: a
    pattern over the whole text would take twice the time of the parser.
    """
    content = content[:_BEGINNING]
    marked = content.translate(_DIGITS)
    end = start = 0
    for _ in range(_LOOKED_AT):
        start = marked.find(_RUN, end)
        if start < 0:
            return False
        end = start + len(_RUN)
        number = _NUMBER.match(content, start)
        if number is None or content[start - 1 : start] not in _BEFORE:
            continue
        end = max(end, number.end())
        if _is_rounded(number[0].decode()):
            return True
    return False


def _is_rounded(number: str) -> bool:
    if number.lstrip("-").isdecimal():
        return False  # integers are exact
    if len(number) > _LONGEST:
        return True
    value = float(number)
    try:
        # Some servers write 17 digits of each float: none is lost, although Python shows fewer.
        return Decimal(number) not in (Decimal(repr(value)), Decimal(f"{value:.17g}"))
    except InvalidOperation:  # an exponent beyond all
        return True
