"""What jsonschema-rs may cost for a value.

It lets no other thread run meanwhile, so schemas are priced before they are used. Its engine for
regular expressions never backtracks: the time of a match grows with the string times the size of
the compiled pattern, so that size is bounded.

Spec: JSON Schema 2020-12, Core, sections 8 and 10, for the schemas that look at a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_schema import SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS
from openapi_tools.common.json_values import resolve_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jsonschema_rs import Draft202012Validator

    Node = dict[str, Any]
    Schema = Node | bool

LARGEST_PATTERN = 1_000_000  # bytes of a compiled pattern; `^.{1,300}$` takes about half of it
UNUSABLE = (ValueError, TypeError, OverflowError, RecursionError)  # a schema is not compiled
SMALL_VALUES = 2_000
SMALL_TEXT = 20_000  # values and characters of an input that is checked in a few milliseconds
DEEPEST_INPUT = 100  # nesting of an input

# Compiling grows with the length, and nobody writes such a pattern by hand.
_LONGEST_PATTERN = 10_000
_SLOWNESS = {4_000: 1_500.0, 16_000: 5_500.0, 64_000: 12_000.0, 256_000: 33_000.0}
# Nanoseconds that a character may take, by the bytes of the pattern: measured with patterns and
# strings made for it; others are a thousand times faster.
_SLOWEST = 115_000.0

# Nanoseconds that a verdict may take, by estimates that are far too high for common schemas.
_AT_ONCE = 50_000_000.0
# Nanoseconds of a step of jsonschema-rs: to look at a value, to compare it with an array or
# object, with each part of one, to look up a name, to begin a match, to divide.
_LOOK = 45.0
_COMPARISON = 600.0
_PART = 300.0
_NAME = 40.0
_MATCH = 55.0
# `multipleOf` divides fractions of any size, since 0.3 is a multiple of 0.1.
_DIVISION = 10_000.0
_EXTREME_COST = 300.0  # the extra cost of a number that no machine word holds
_MOST_EXTREMES = 100  # in an array of different items: all of them have the same hash
_MOST_FRAMES = 10_000.0  # schemas that call each other; the validator's stack ends at some 80,000
_MOST_STEPS = 50_000
_LARGEST = 2.0**53
_SMALLEST = 1e-9


def compile_schema(schema: Schema, *, size_limit: int = LARGEST_PATTERN) -> Draft202012Validator:
    """Return a validator that runs in linear time; ValueError for a keyword's value."""
    validators = import_validators()
    options = validators.RegexOptions(size_limit=size_limit)
    validator: Draft202012Validator = validators.Draft202012Validator(
        schema, retriever=_refuse, pattern_options=options
    )
    return validator


@cache
def import_validators() -> Any:
    """Return the package jsonschema-rs."""
    # Start-up time, and 3 MiB: few loads, and few lists of tools, compile a schema.
    import jsonschema_rs

    return jsonschema_rs


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not looked up")


@lru_cache(maxsize=4096)
def pattern_size(pattern: str) -> int:
    """Return the bytes of a compiled pattern, rounded up; 0 for one that cannot be used."""
    if len(pattern) > _LONGEST_PATTERN:
        return 0
    # The engine does not say how large a pattern is; it only refuses one above a limit.
    for size in (*_SLOWNESS, LARGEST_PATTERN):
        try:
            compile_schema({"pattern": pattern}, size_limit=size)
        except UNUSABLE:
            continue
        return size
    return 0


class ValueSize(NamedTuple):
    """The size of a value: values and names, characters, extreme numbers, values at each depth."""

    values: int
    characters: int
    extremes: int
    levels: list[int]


def measure_value(value: Any) -> ValueSize:
    """Measure a JSON-native value."""
    names = characters = extremes = 0
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
            elif is_extreme(part):
                extremes += 1
        level = inner
    return ValueSize(names + sum(levels), characters, extremes, levels)


def is_extreme(value: Any) -> bool:
    """Return whether a value is a number too large or too small for a machine word."""
    if not isinstance(value, int | float) or not value:
        return False
    return not _SMALLEST <= abs(value) < _LARGEST


def is_large(value: Any) -> bool:
    """Return whether work on a JSON-native value may take more than some milliseconds."""
    size = measure_value(value)
    return size.values > SMALL_VALUES or size.characters > SMALL_TEXT


@dataclass(eq=False)
class PricedValidator:
    """The checked part of a schema, its price, and notes; no validator if it cannot be compiled."""

    schema: Node
    validator: Any
    notes: tuple[str, ...]

    def can_check(self, size: ValueSize) -> bool:
        """Return whether a verdict on a value of this size comes in time."""
        if self.validator is None:
            return False
        is_unique, frames, per_value, per_character = self._price
        if is_unique and size.extremes > _MOST_EXTREMES:
            return False
        if frames * len(size.levels) > _MOST_FRAMES:
            return False
        price = per_value * (size.values + size.extremes * _EXTREME_COST)
        return price + per_character * size.characters <= _AT_ONCE

    @cached_property
    def _price(self) -> tuple[bool, float, float, float]:
        seen: list[Node] = []

        def of_value(node: Node) -> float:
            seen.append(node)
            return _value_price(node)

        per_value = validation_cost(self.schema, self.schema, of_value)
        frames = validation_cost(self.schema, self.schema, lambda _: 1.0, combine=max)
        per_character = 0.0
        if any("pattern" in node or "patternProperties" in node for node in seen):
            per_character = validation_cost(self.schema, self.schema, _character_price)
        is_unique = any(node.get("uniqueItems") is True for node in seen)
        return is_unique, frames, per_value, per_character


def validation_cost(
    schema: Node,
    root: Node,
    cost_of: Callable[[Node], float],
    depth: int | None = None,
    combine: Callable[[Iterable[float]], float] = sum,
) -> float:
    """Return the cost of all schemas that may look at one value or at what holds it.

    Without the `depth` of the value a schema that leads back to itself counts once.
    """
    costs: dict[tuple[int, int | None], float] = {}
    inner: dict[tuple[int, int | None], list[list[tuple[int, int | None]]]] = {}
    waiting: list[tuple[Node, int | None, bool]] = [(schema, depth, False)]
    while waiting:
        node, left, is_done = waiting.pop()
        key = (id(node), left)
        if is_done:
            parts = [max(map(costs.__getitem__, part)) for part in inner[key]]
            costs[key] = cost_of(node) + (combine(parts) if parts else 0.0)
        elif key not in costs:
            costs[key] = 0.0
            inner[key] = []
            waiting.append((node, left, True))
            for is_inside, children in subschema_groups(node, root):
                below = left - 1 if left is not None and is_inside else left
                if below != -1:
                    inner[key].append([(id(child), below) for child in children])
                    waiting += [(child, below, False) for child in children]
            if len(costs) > _MOST_STEPS:
                return float("inf")
    return costs[id(schema), depth]


def _value_price(node: Node) -> float:
    literals = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
    price = _LOOK + bool(literals) * _PART
    if parts := [part for part in literals if isinstance(part, list | dict)]:
        price += len(literals) * _COMPARISON + measure_value(parts).values * _PART
    for keyword in ("dependentRequired", "dependentSchemas"):
        price += len(node.get(keyword, ())) * _NAME
    price += len(node.get("patternProperties", ())) * _MATCH
    if "multipleOf" in node:
        price += _DIVISION * (10 if is_extreme(node["multipleOf"]) else 1)
    return price


def _character_price(node: Node) -> float:
    patterns = [*node.get("patternProperties", ()), *filter(None, [node.get("pattern")])]
    return sum(_SLOWNESS.get(pattern_size(pattern), _SLOWEST) for pattern in patterns)


def subschema_groups(node: Node, root: Node) -> list[tuple[bool, list[Node]]]:
    """Return the schemas that get a value or its parts; those of a group never see the same one."""
    groups: list[tuple[bool, Iterable[Any]]] = []
    for keyword, value in node.items():
        if keyword in ("properties", "prefixItems"):
            groups.append((True, value.values() if isinstance(value, dict) else value))
        elif keyword in SCHEMA_KEYWORDS:
            groups.append((keyword not in ("if", "then", "else", "not"), [value]))
        elif keyword in SCHEMA_LIST_KEYWORDS:
            groups += [(False, [branch]) for branch in value]
        elif keyword in ("dependentSchemas", "patternProperties"):
            groups += [(keyword == "patternProperties", [schema]) for schema in value.values()]
        elif keyword == "$ref":
            groups.append((False, [resolve_reference(root, value)]))
    schemas = (
        (inside, [one for one in group if isinstance(one, dict)]) for inside, group in groups
    )
    return [(inside, group) for inside, group in schemas if group]
