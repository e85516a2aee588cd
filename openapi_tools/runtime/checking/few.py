"""A few plain values, as most inputs are: copied and judged in one look.

What is copied here is JSON for sure, and little of it: any schema that is cheap at all is done with
it soon. All else is left to those who look closely.
"""

from __future__ import annotations

from typing import Any

from openapi_tools.runtime.checking.price import is_odd

MOST = 200
"""Values; `price.ANY_CHEAP` affords more of them."""
_CONTAINERS = 50


def copy_of_few(given: object, room: int) -> dict[str, Any] | None:
    """Return an object with copies of all arrays and objects in it; None when it is not like that.

    Args:
        given: Anything; no code of its own runs.
        room: Characters that all names and strings may have together.
    """
    if type(given) is not dict:
        return None
    copied: dict[Any, Any] = given.copy()
    containers: list[Any] = [copied]
    values = 0
    for part in containers:  # which grows meanwhile
        values += len(part)
        if values > MOST or len(containers) > _CONTAINERS:
            return None
        for key, value in part.items() if type(part) is dict else enumerate(part):
            if type(key) is str and key.isascii():
                room -= len(key)
            elif type(part) is dict:
                return None
            kind = type(value)
            if kind is str:
                room -= len(value)
            elif kind is dict or kind is list:
                part[key] = inner = value.copy()
                containers.append(inner)
            if not (kind is str and value.isascii()) and not _is_plain(value):
                return None
    return copied if room >= 0 else None


def _is_plain(value: Any) -> bool:
    """Whether a value is JSON; arrays and objects are looked into elsewhere."""
    kind = type(value)
    if kind is int or kind is float:
        return not is_odd(value)
    if kind is str:
        return _is_whole(value)
    return value is None or kind is bool or kind is dict or kind is list


def _is_whole(text: str) -> bool:
    """Whether a text has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
