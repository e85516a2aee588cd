"""What stands together in a module, so that none gets too long and little moves later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")

MOST_LINES = 1_400
FEW_LINES = 200
MANY_PARTS = 100
_DEEPEST = 80
_MOST_LETTERS = 24


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """Something that takes lines in a module.

    Attributes:
        thing: What it is.
        key: Where it belongs, from coarse to fine: tag, path segments, method.
        lines: How long it is.
    """

    thing: T
    key: tuple[str, ...]
    lines: int


def split(
    items: Sequence[Item[T]], *, always: int = 0
) -> Iterator[tuple[tuple[str, ...], list[T]]]:
    """Part things by their keys, as coarsely as the length of a module allows.

    A part depends on its own members alone: what is added elsewhere does not move them. Parts of
    few lines stay together.

    Args:
        items: In order; each part keeps it.
        always: How many steps of the keys part in any case.

    Yields:
        The steps that tell a part from its neighbours, and its things.
    """
    yield from _parts(items, (), 0, always)


def _parts(
    items: Sequence[Item[T]], name: tuple[str, ...], depth: int, always: int
) -> Iterator[tuple[tuple[str, ...], list[T]]]:
    short = _lines(items) <= MOST_LINES or len(items) == 1
    if (short and depth >= always) or depth >= _DEEPEST:
        yield name, [item.thing for item in items]
        return
    groups: dict[str, list[Item[T]]] = {}
    for item in items:
        groups.setdefault(_step(item, depth), []).append(item)
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
            told = (*name, step) if len(groups) > 1 or depth < always else name
            yield from _parts(group, told, depth + 1, always)


def _by_letters(
    items: Sequence[Item[T]], name: tuple[str, ...], depth: int, letters: int = 1
) -> Iterator[tuple[tuple[str, ...], list[T]]]:
    """Keep many short groups together by their first letters, as few as their length allows."""
    groups: dict[str, list[Item[T]]] = {}
    for item in items:
        step = _step(item, depth)
        groups.setdefault(step[:letters] if letters < _MOST_LETTERS else step, []).append(item)
    for start, group in groups.items():
        if _lines(group) <= MOST_LINES:
            yield (*name, start), [item.thing for item in group]
        else:
            yield from _by_letters(group, name, depth, letters + 1)


def _step(item: Item[T], depth: int) -> str:
    return item.key[depth] if depth < len(item.key) else ""


def _lines(items: Sequence[Item[T]]) -> int:
    return sum(item.lines for item in items)
