"""Plain JSON data: dicts with text keys, lists, text, finite numbers, booleans, None.

What a user gives as a dict may come from anywhere: other YAML readers, code that resolved every
reference, an ordered or frozen mapping. It is judged in bounded time and never changed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from itertools import repeat
from typing import Any, NamedTuple

from openapi_tools.errors import InvalidDocument
from openapi_tools.loader.duplicates import pointer
from openapi_tools.loader.limits import (
    MAX_DEPTH,
    MAX_NODES,
    MAX_NUMBER,
    NOT_FINITE,
    TOO_DEEP,
    TOO_LONG,
    TOO_MANY,
)

_NO_KEY = repeat("")


def count_keys(  # noqa: C901, PLR0911, PLR0912 -- one loop: a call for each value doubles its cost
    root: Any, *, below: int = MAX_NUMBER
) -> int | None:
    """Return how many keys a plain dict or list has, or None when it is not plain or too large.

    Args:
        root: Any value; what stands in it twice is counted twice.
        below: Bound for the size of numbers.
    """
    if root.__class__ is not dict and root.__class__ is not list:
        return None
    keys, budget, depth = 0, MAX_NODES, 0
    level = [root]
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return None
        deeper: list[Any] = []
        for node in level:
            budget -= len(node)
            if node.__class__ is dict:
                keys += len(node)
            pairs = node.items() if node.__class__ is dict else zip(_NO_KEY, node)  # noqa: B905 -- endless
            for key, value in pairs:
                kind = value.__class__
                if key.__class__ is not str:
                    return None
                if kind is str:
                    continue
                if kind is dict or kind is list:
                    deeper.append(value)
                elif kind is int or kind is float:
                    if not -below < value < below:
                        return None
                elif kind is not bool and value is not None:
                    return None
            if budget < 0:
                return None
        level = deeper
    return keys


def plain(value: Mapping[str, Any], *, name: str) -> Any:
    """Return a user's mapping as plain JSON data.

    Args:
        value: The mapping; it is not changed, and returned itself where it is plain already.
        name: What error messages call it.

    Returns:
        Plain data. Dates become ISO 8601 text, tuples lists; keys that are numbers, booleans or
        None become the text that JSON has for them.

    Raises:
        InvalidDocument: It contains itself, is too deep or too large, or holds a value or key that
            JSON does not have.
    """
    if count_keys(value) is not None:
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
    """Copies what is not plain; what is shared is looked at once."""

    def __init__(self) -> None:
        self._done: dict[int, _Copy] = {}
        self._open: set[int] = set()

    def copy(self, value: Any, path: list[str | int]) -> _Copy:
        """Return the plain form of a value at a path."""
        if not isinstance(value, (Mapping, list, tuple)):
            return _Copy(_scalar(value, path))
        if (done := self._done.get(id(value))) is None:
            done = self._container(value, path)
        if len(path) + done.height > MAX_DEPTH:
            raise InvalidDocument(f"{TOO_DEEP}.", pointer=pointer(path))
        if done.nodes > MAX_NODES:
            raise InvalidDocument(f"{TOO_MANY}.", pointer=pointer(path))
        return done

    def _container(self, value: Any, path: list[str | int]) -> _Copy:
        """Copy a mapping or sequence that was not met before, members first."""
        if id(value) in self._open:
            raise InvalidDocument(
                "an object that contains itself; use '$ref'.", pointer=pointer(path)
            )
        if len(path) >= MAX_DEPTH:
            raise InvalidDocument(f"{TOO_DEEP}.", pointer=pointer(path))
        self._open.add(id(value))
        parts: list[_Copy] = []
        if isinstance(value, Mapping):
            made: Any = self._mapping(value, path, parts)
        else:
            parts += [self.copy(item, [*path, index]) for index, item in enumerate(value)]
            made = [part.value for part in parts]
        self._open.discard(id(value))
        nodes = 1 + sum(part.nodes for part in parts)
        done = _Copy(made, nodes, 1 + max((part.height for part in parts), default=0))
        self._done[id(value)] = done
        return done

    def _mapping(
        self, value: Mapping[Any, Any], path: list[str | int], parts: list[_Copy]
    ) -> dict[str, Any]:
        """Copy the members of a mapping, and note them in `parts`."""
        made: dict[str, Any] = {}
        for key, item in value.items():
            text = _key(key, path)
            if text in made:
                raise InvalidDocument(
                    f"two keys are both {text!r} as text; remove one.", pointer=pointer(path)
                )
            parts.append(self.copy(item, [*path, text]))
            made[text] = parts[-1].value
        return made


def _scalar(value: Any, path: list[str | int]) -> Any:
    """Return the plain form of a value without members."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (int, float)):
        if not -MAX_NUMBER < value < MAX_NUMBER:
            reason = TOO_LONG if isinstance(value, int) else NOT_FINITE
            raise InvalidDocument(f"{reason}.", pointer=pointer(path))
        return int(value) if isinstance(value, int) else float(value)
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    kind = type(value).__name__
    raise InvalidDocument(
        f"a value of type {kind!r}, which JSON does not have.", pointer=pointer(path)
    )


def _key(key: Any, path: list[str | int]) -> str:
    """Return a key as text."""
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    if isinstance(key, (str, int, float, dt.date)):
        return str(_scalar(key, path))
    kind = type(key).__name__
    raise InvalidDocument(f"a key of type {kind!r}; keys are text.", pointer=pointer(path))
