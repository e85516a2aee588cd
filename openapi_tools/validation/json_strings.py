"""Strings in which a client wrote JSON where an object, array, number or boolean belongs.

Spec: RFC 8259. `NaN`, infinities and repeated names, which it leaves open, are not read.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

from openapi_tools.common.json_values import normalize_number, pointer_token
from openapi_tools.validation.messages import kind_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_BOOLEANS = {"true": True, "false": False}  # Python's spelling, `True`, means nothing else
_TYPES: Final[dict[type, str]] = {
    bool: "boolean",
    int: "number",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
_LISTED = 5


def parse_json_string(text: str, types: Collection[str]) -> Any:
    """Return the value that a string writes as JSON; the string for one of none of the types.

    Args:
        text: A text of any length and depth.
        types: Names of JSON Schema's types; `string` is none of them.
    """
    if "boolean" in types and text.strip().lower() in _BOOLEANS:
        return _BOOLEANS[text.strip().lower()]
    try:
        value = json.loads(
            text,
            object_pairs_hook=_read_object,
            parse_float=_read_float,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError):
        return text
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    name = _TYPES.get(type(value), "string")
    return value if name in types or (is_integer and "integer" in types) else text


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    # RFC 8259, section 4: which of the values is meant depends on the reader.
    if len(value) < len(pairs):
        raise ValueError("a name is repeated, so two values could be meant")
    return value


def _read_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("the number is too large")
    return normalize_number(value)


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def parsing_notes(before: Any, after: Any) -> list[str]:
    """Return a note for each string in a value that was read as something else."""
    notes = [
        f"{place}: the string was parsed as JSON ({kind_of(value)})."
        for place, value in _iter_changes(before, after, "")
    ]
    hidden = len(notes) - _LISTED
    if hidden <= 0:
        return notes
    return [*notes[:_LISTED], f"{hidden} more strings were parsed as JSON."]


def _iter_changes(before: Any, after: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(before, str):
        if not isinstance(after, str):
            yield place, after
    elif isinstance(before, dict) and isinstance(after, dict):
        for name in after.keys() & before.keys():
            yield from _iter_changes(before[name], after[name], place + pointer_token(name))
    elif isinstance(before, list) and isinstance(after, list):
        for index, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from _iter_changes(old, new, f"{place}/{index}")
