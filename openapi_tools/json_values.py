"""Equality of JSON values: true is not 1, and 1 is 1.0, at any depth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal in JSON."""
    if one is other or isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def holds(values: Collection[Any], value: Any) -> bool:
    """Tell whether one of several values is equal to another in JSON."""
    if isinstance(value, str):
        return value in values
    return any(same(one, value) for one in values)


def unequal(values: Iterable[Any]) -> list[Any]:
    """Return the first of each group of equal values."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(_identity(value), value)
    return list(found.values())


def _identity(value: Any) -> Any:
    """Return a hashable key that is the same for equal values."""
    if isinstance(value, dict):
        return (dict, frozenset((name, _identity(member)) for name, member in value.items()))
    if isinstance(value, list):
        return (list, tuple(map(_identity, value)))
    return (isinstance(value, bool), value)
