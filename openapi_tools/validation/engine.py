"""jsonschema-rs, and how long it may take for a value.

It lets no other thread run meanwhile, so schemas are priced before they are used. Its engine for
regular expressions never goes back: the time of a match grows with the text times the size of the
compiled pattern, so that size is bounded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.validation.schema_graph import groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jsonschema_rs import Draft202012Validator

    from openapi_tools.validation.schema_graph import Node

    Schema = dict[str, Any] | bool

LARGEST_PATTERN = 1_000_000
"""Bytes of a compiled pattern; `^.{1,300}$` takes about half of it."""

_LONGEST_PATTERN = 10_000
_SLOWNESS = {4_000: 1_500.0, 16_000: 5_500.0, 64_000: 12_000.0, 256_000: 33_000.0}
_SLOWEST = 115_000.0
"""Nanoseconds that a character may take, by the bytes of the pattern: measured with patterns and
texts made for it; others are a thousand times faster."""

UNUSABLE = (ValueError, TypeError, OverflowError, RecursionError)
"""Errors of a schema that cannot be compiled."""

_AT_ONCE = 50_000_000.0
"""Nanoseconds that a verdict may take, by estimates that are far too high for common schemas."""

_LOOK = 45.0
_COMPARISON = 600.0
_PART = 300.0
_NAME = 40.0
_MATCH = 55.0
_DIVISION = 10_000.0
_ODD = 300.0
"""How much more a number costs that no machine word holds."""

_MOST_ODD = 100
"""Such numbers in an array of different items: the validator gives them all the same hash."""

_MOST_FRAMES = 10_000.0
"""Schemas that call each other; the validator's stack ends at some 80,000."""

_MOST_STEPS = 50_000
_LARGEST = 2.0**53
_SMALLEST = 1e-9


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
    """Refuse to fetch a schema."""
    raise ValueError(f"{uri} is not looked up")


@lru_cache(maxsize=4096)
def pattern_size(pattern: str) -> int:
    """Return the bytes of a compiled pattern, rounded up; 0 for one that cannot be used."""
    if len(pattern) > _LONGEST_PATTERN:
        return 0
    for size in (*_SLOWNESS, LARGEST_PATTERN):
        try:
            compile_schema({"pattern": pattern}, size_limit=size)
        except UNUSABLE:
            continue
        return size
    return 0


class Size(NamedTuple):
    """The size of a value.

    Attributes:
        values: Values in it, names of members counted too.
        characters: Of its strings and names.
        odd: Numbers that no machine word holds.
        levels: Values at each depth: the value itself, its members or items, and so on.
    """

    values: int
    characters: int
    odd: int
    levels: list[int]


def size_of(value: Any) -> Size:
    """Measure a JSON-native value."""
    names = characters = odd = 0
    levels: list[int] = []
    level = [value]
    while level:
        levels.append(len(level))
        inner: list[Any] = []
        for part in level:
            kind = type(part)
            if kind is str:
                characters += len(part)
            elif kind is dict:
                names += len(part)
                characters += sum(map(len, part))
                inner += part.values()
            elif kind is list:
                inner += part
            elif _is_odd(part):
                odd += 1
        level = inner
    return Size(names + sum(levels), characters, odd, levels)


class Price:
    """The most that a verdict by a schema costs.

    Args:
        schema: As `prepare` returns it.
    """

    __slots__ = ("_frames", "_matching", "_per_character", "_per_value", "_unique")

    def __init__(self, schema: Node) -> None:
        self._unique = self._matching = False
        self._per_value = looks(schema, schema, self._of_value)
        self._frames = looks(schema, schema, lambda _: 1.0, together=max)
        self._per_character = looks(schema, schema, _character_price) if self._matching else 0.0

    def affords(self, size: Size) -> bool:
        """Tell whether a verdict on a value of this size comes in time."""
        if self._unique and size.odd > _MOST_ODD:
            return False
        if self._frames * len(size.levels) > _MOST_FRAMES:
            return False
        price = self._per_value * (size.values + size.odd * _ODD)
        return price + self._per_character * size.characters <= _AT_ONCE

    def _of_value(self, node: Node) -> float:
        self._unique |= node.get("uniqueItems") is True
        self._matching |= "pattern" in node or "patternProperties" in node
        return _value_price(node)


def looks(
    schema: Node,
    root: Node,
    own: Callable[[Node], float],
    depth: int | None = None,
    together: Callable[[Iterable[float]], float] = sum,
) -> float:
    """Return what all schemas together cost that may look at one value or at what holds it.

    Args:
        schema: Where to begin.
        root: Where references lead.
        own: The cost of a schema without those inside it.
        depth: Of the value. Without it a schema that leads back to itself counts once, as its
            verdict on a value is remembered; with it every turn counts.
        together: Puts together the costs of the schemas inside one.
    """
    costs: dict[tuple[int, int | None], float] = {}
    inner: dict[tuple[int, int | None], list[list[tuple[int, int | None]]]] = {}
    waiting: list[tuple[Node, int | None, bool]] = [(schema, depth, False)]
    while waiting:
        node, left, is_done = waiting.pop()
        key = (id(node), left)
        if is_done:
            parts = [max(map(costs.__getitem__, part)) for part in inner[key]]
            costs[key] = own(node) + (together(parts) if parts else 0.0)
        elif key not in costs:
            costs[key] = 0.0
            inner[key] = []
            waiting.append((node, left, True))
            for is_inside, children in groups(node, root):
                below = left - 1 if left is not None and is_inside else left
                if below != -1:
                    inner[key].append([(id(child), below) for child in children])
                    waiting += [(child, below, False) for child in children]
            if len(costs) > _MOST_STEPS:
                return float("inf")
    return costs[id(schema), depth]


def _value_price(node: Node) -> float:
    """Return the nanoseconds that the keywords of a schema itself may take for a value."""
    price = _LOOK
    literals = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
    if parts := [part for part in literals if isinstance(part, list | dict)]:
        price += len(literals) * _COMPARISON + size_of(parts).values * _PART
    elif literals:
        price += _PART
    for keyword in ("dependentRequired", "dependentSchemas"):
        price += len(node.get(keyword, ())) * _NAME
    price += len(node.get("patternProperties", ())) * _MATCH
    if "multipleOf" in node:
        price += _DIVISION * (10 if _is_odd(node["multipleOf"]) else 1)
    return price


def _character_price(node: Node) -> float:
    """Return the nanoseconds that the patterns of a schema itself may take for a character."""
    patterns = [*node.get("patternProperties", ())]
    if "pattern" in node:
        patterns.append(node["pattern"])
    return sum(_SLOWNESS.get(pattern_size(pattern), _SLOWEST) for pattern in patterns)


def _is_odd(value: Any) -> bool:
    if not isinstance(value, int | float) or not value:
        return False
    return not _SMALLEST <= abs(value) < _LARGEST
