"""Read JSON as plain data, with a location for each fault.

Spec: RFC 8259.
"""

from __future__ import annotations

import math
import re
from typing import Any

from openapi_tools.common.json_values import parse_json_bytes
from openapi_tools.errors import InvalidDocument
from openapi_tools.loading import plain_data
from openapi_tools.loading.duplicate_keys import find_duplicate_keys

_DENSE_BYTES = 16 * 1024 * 1024  # nothing smaller, of empty arrays say, exhausts the memory
# Deleting these bytes leaves an upper bound on the number of values.
_NO_VALUES = bytes(code for code in range(256) if code not in b",[{")
_LOCATED = re.compile(r"(.+) at line (\d+) column (\d+)", re.DOTALL)
# How messages of pydantic-core begin, and what they mean.
_FAULTS = {
    "EOF": "unexpected end of the document",
    "recursion limit": plain_data.TOO_DEEP,
    "number out of range": plain_data.TOO_LONG,
    "lone leading surrogate": "a lone surrogate",
    "unexpected end of hex escape": "a lone surrogate",
}


class NotJSON(InvalidDocument):
    """Data that breaks JSON's grammar, which YAML may still be able to read."""


def read_json(data: bytes, *, check: bool, strict: bool) -> tuple[Any, list[str]]:
    """Return a document's data, and warnings.

    Args:
        data: The text in UTF-8, without a byte order mark.
        check: Look for duplicate keys and numbers out of range.
        strict: Refuse duplicate keys.
    """
    if len(data) > _DENSE_BYTES and len(data.translate(None, _NO_VALUES)) > plain_data.MAX_NODES:
        raise InvalidDocument(f"{plain_data.TOO_MANY}.")
    try:
        root = parse_json_bytes(data, allow_inf_nan=False)
    except ValueError as error:
        raise _describe_fault(data, str(error)) from None
    if not check:
        return root, []
    numbers: list[str] = []
    warnings = list(find_duplicate_keys(data, strict=strict, read_float=numbers.append))
    # The parser reads 1e400 as infinite, whatever `allow_inf_nan` is; the copy names the place.
    # Nothing else of its data needs a check.
    if any(map(math.isinf, map(float, numbers))):
        plain_data.as_plain_data(root, name="")
    return root, warnings


def _describe_fault(data: bytes, message: str) -> InvalidDocument:
    match = _LOCATED.fullmatch(message)
    text, line, column = match.groups() if match else (message, "1", "1")
    row = data.split(b"\n")[int(line) - 1]
    column = len(row[: int(column)].decode(errors="replace"))  # in characters, not bytes
    place = f"line {line}, column {column}"
    for start, fault in _FAULTS.items():
        if text.startswith(start):
            return InvalidDocument(f"not valid JSON: {place}: {fault}.")
    # Without the rule about infinite numbers: what it accepts now is JSON but for these.
    try:
        parse_json_bytes(data)
    except ValueError:
        return NotJSON(f"not valid JSON: {place}: {text}.")
    return InvalidDocument(f"{place}: {plain_data.NOT_FINITE}.")
