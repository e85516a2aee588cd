"""Plain JSON data, the form in which documents are read, and its limits.

A mapping that a user passes may come from anywhere: other YAML readers, code that resolved every
reference, an ordered or frozen mapping. It is checked in bounded time and never changed.
"""

from __future__ import annotations

import datetime as dt
import gc
from collections.abc import Mapping
from itertools import chain, compress
from typing import Any, NamedTuple

from openapi_tools.common.json_values import join_pointer
from openapi_tools.errors import InvalidDocument

MAX_DEPTH = 201  # levels of arrays and objects: what the JSON parser allows
MAX_NODES = 5_000_000  # values, aliases written out; GitHub's 13 MB hold 0.6 million
MAX_DIGITS = 4300  # digits of an integer; Python refuses to convert more of them to a string
MAX_NUMBER = 10**MAX_DIGITS  # numbers stay below it; so no float is infinite either

TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels; flatten it with '$ref'"
TOO_MANY = f"more than {MAX_NODES:,} values; split the document"
TOO_LONG = f"an integer of more than {MAX_DIGITS:,} digits; make it a string"
NOT_FINITE = "a number that JSON does not have (NaN, infinity, out of range); make it a string"

_CONTAINERS = frozenset({dict, list})
_NUMBERS = frozenset({int, float})
_KINDS = _CONTAINERS | _NUMBERS | {str, bool, type(None)}
_CHUNK = 256  # containers looked at together: they fit a processor's cache


def is_plain(root: Any) -> bool:
    """Return whether a value is a dict or list of plain data, neither too deep nor too large."""
    budget = MAX_NODES
    level = [root] if type(root) in _CONTAINERS else None  # then the parts inside, level by level
    for _ in range(MAX_DEPTH):
        if not level:
            break
        budget -= sum(map(len, level))
        level = _inner_containers(level) if budget >= 0 else None
    return level is not None and not level


def _inner_containers(level: list[Any]) -> list[Any] | None:
    inner: list[Any] = []
    for start in range(0, len(level), _CHUNK):
        values = _values_in(level[start : start + _CHUNK])
        if values is None:
            return None
        kinds = list(map(type, values))
        distinct = set(kinds)
        numbers = (
            [] if distinct.isdisjoint(_NUMBERS) else [v for v in values if type(v) in _NUMBERS]
        )
        if not distinct <= _KINDS or not all(-MAX_NUMBER < n < MAX_NUMBER for n in numbers):
            return None
        if not distinct.isdisjoint(_CONTAINERS):
            inner += compress(values, map(_CONTAINERS.__contains__, kinds))
    return inner


def _values_in(containers: list[Any]) -> list[Any] | None:
    # Three times as fast as a walk in Python. CPython leaves out the keys of a dict whose keys
    # are all strings, so equal lengths mean that no key is of another type.
    values = gc.get_referents(*containers)
    if len(values) == sum(map(len, containers)):
        return values
    dicts = [each for each in containers if each.__class__ is dict]
    if any(key.__class__ is not str for key in chain.from_iterable(dicts)):
        return None
    lists = [each for each in containers if each.__class__ is list]
    return [*chain.from_iterable(map(dict.values, dicts)), *chain.from_iterable(lists)]


def as_plain_data(value: Mapping[str, Any], *, name: str) -> Any:
    """Return a mapping as plain JSON data, itself if it is; InvalidDocument for other values."""
    if is_plain(value):
        return value
    try:
        return _Copier().copy(value, []).value
    except RecursionError:
        raise InvalidDocument(f"{TOO_DEEP}.", source=name) from None
    except InvalidDocument as error:
        error.source = name
        raise


class _Copy(NamedTuple):
    """A plain value, how many values it holds written out, and how deep it is."""

    value: Any
    nodes: int = 1
    height: int = 0


class _Copier:
    """Copies values that are not plain; visits shared ones once."""

    def __init__(self) -> None:
        self._copies: dict[int, _Copy | None] = {}

    def copy(self, value: Any, path: list[str | int]) -> _Copy:
        if not isinstance(value, (Mapping, list, tuple)):
            return _Copy(_copy_scalar(value, path))
        if id(value) not in self._copies:
            if len(path) >= MAX_DEPTH:
                raise _invalid(f"{TOO_DEEP}.", path)
            self._copies[id(value)] = None  # until it is complete: a value inside itself finds it
            self._copies[id(value)] = self._copy_container(value, path)
        copy = self._copies[id(value)]
        if copy is None:
            raise _invalid("an object that contains itself; use '$ref'.", path)
        if len(path) + copy.height > MAX_DEPTH:
            raise _invalid(f"{TOO_DEEP}.", path)
        if copy.nodes > MAX_NODES:
            raise _invalid(f"{TOO_MANY}.", path)
        return copy

    def _copy_container(self, value: Any, path: list[str | int]) -> _Copy:
        parts: dict[str | int, _Copy] = {}
        is_mapping = isinstance(value, Mapping)
        for key, item in value.items() if is_mapping else enumerate(value):
            name = _string_key(key, path) if is_mapping else key
            if name in parts:
                raise _invalid(f"two keys are both {name!r} as strings; remove one.", path)
            parts[name] = self.copy(item, [*path, name])
        values: Any = {name: part.value for name, part in parts.items()}
        height = 1 + max((part.height for part in parts.values()), default=0)
        nodes = 1 + sum(part.nodes for part in parts.values())
        return _Copy(values if is_mapping else list(values.values()), nodes, height)


def _copy_scalar(value: Any, path: list[str | int]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (int, float)):
        if not -MAX_NUMBER < value < MAX_NUMBER:
            raise _invalid(f"{TOO_LONG if isinstance(value, int) else NOT_FINITE}.", path)
        return int(value) if isinstance(value, int) else float(value)
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    raise _invalid(f"a value of type {type(value).__name__!r}, which JSON does not have.", path)


def _string_key(key: Any, path: list[str | int]) -> str:
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    if isinstance(key, (str, int, float, dt.date)):
        return str(_copy_scalar(key, path))
    raise _invalid(f"a key of type {type(key).__name__!r}; keys are strings.", path)


def _invalid(reason: str, path: list[str | int]) -> InvalidDocument:
    return InvalidDocument(reason, pointer=join_pointer(path))
