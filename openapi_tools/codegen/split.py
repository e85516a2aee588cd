"""Divide tools or schemas among modules, so that none gets too long and little moves later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")

MOST_LINES = 1_400
FEW_LINES = 200
MANY_PARTS = 100
_MOST_STEPS = 80
_MOST_LETTERS = 24


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """A thing that takes lines in a module.

    Attributes:
        thing: The thing itself.
        key: Where it belongs, from coarse to fine: tag, path segments, method.
        lines: Its length.
    """

    thing: T
    key: tuple[str, ...]
    lines: int


def split(
    items: Sequence[Item[T]], *, always: int = 0
) -> Iterator[tuple[tuple[str, ...], list[T]]]:
    """Divide things by their keys, as coarsely as the length of a module allows.

    A part depends on its own members alone: an addition elsewhere does not move them. Short parts
    stay together, but for the first steps of the keys, as many as `always`.

    Yields:
        The steps that distinguish a part from its neighbours, and its things in order.
    """
    yield from _parts(items, (), 0, always)


def _parts(
    items: Sequence[Item[T]], name: tuple[str, ...], depth: int, always: int
) -> Iterator[tuple[tuple[str, ...], list[T]]]:
    short = _lines(items) <= MOST_LINES or len(items) == 1
    if (short and depth >= always) or depth >= _MOST_STEPS:
        yield name, [item.thing for item in items]
        return
    groups = _groups(items, depth)
    few = {step for step, group in groups.items() if depth >= always and _lines(group) < FEW_LINES}
    rest = [item for item in items if _step(item, depth) in few]
    if _lines(rest) > MOST_LINES and len(few) > MANY_PARTS:
        yield from _by_letters(rest, name, depth)
    elif len(few) < 2 or _lines(rest) > MOST_LINES:  # noqa: PLR2004 -- one is a part of its own
        few = set()
    else:
        yield name, [item.thing for item in rest]
    for step, group in groups.items():
        if step not in few:
            steps = (*name, step) if len(groups) > 1 or depth < always else name
            yield from _parts(group, steps, depth + 1, always)


def _by_letters(
    items: Sequence[Item[T]], name: tuple[str, ...], depth: int, letters: int = 1
) -> Iterator[tuple[tuple[str, ...], list[T]]]:
    """Keep many short groups together by as few first letters as their length allows."""
    for start, group in _groups(items, depth, letters).items():
        if _lines(group) <= MOST_LINES:
            yield (*name, start), [item.thing for item in group]
        else:
            yield from _by_letters(group, name, depth, letters + 1)


def _groups(
    items: Sequence[Item[T]], depth: int, letters: int = _MOST_LETTERS
) -> dict[str, list[Item[T]]]:
    found: dict[str, list[Item[T]]] = {}
    for item in items:
        step = _step(item, depth)
        found.setdefault(step[:letters] if letters < _MOST_LETTERS else step, []).append(item)
    return found


def _step(item: Item[T], depth: int) -> str:
    return item.key[depth] if depth < len(item.key) else ""


def _lines(items: Sequence[Item[T]]) -> int:
    return sum(item.lines for item in items)
