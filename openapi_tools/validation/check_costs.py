"""How long a validator may take for a value, at worst.

While it looks at a value, no other thread runs, and the event loop stands still. So what may take
too long at once is looked at in small steps instead, by the walk of the module `explain`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openapi_tools.validation.check_limits import LOOKS, costs
from openapi_tools.validation.engine import slowness
from openapi_tools.validation.unique_items import MANY

if TYPE_CHECKING:
    from openapi_tools.validation.schema_graph import Node

AT_ONCE = 50_000_000.0
"""Nanoseconds that one look of a validator may take; an estimate, and a high one."""

_LOOK = 45.0
_COMPARISON = 600.0
_PART = 300.0
_NAME = 40.0
_MATCH = 55.0
_DIVISION = 10_000.0
_ODD = 300.0
"""How much more than others a number costs that no machine word holds."""

_HEAVY = frozenset(
    {"dependentRequired", "dependentSchemas", "multipleOf", "pattern", "patternProperties"}
    | {"uniqueItems"}
)
_LARGEST = 2.0**53
_SMALLEST = 1e-9


@dataclass(frozen=True, slots=True)
class Price:
    """What a schema costs.

    Attributes:
        per_value: Nanoseconds for each value inside a value.
        per_character: Nanoseconds for each character of its strings and names.
        unique: Whether items have to differ anywhere.
    """

    per_value: float
    per_character: float
    unique: bool

    def affords(self, value: Any) -> bool:
        """Tell whether one look at a value is over in time."""
        for_value, for_character = self.per_value, self.per_character
        left = AT_ONCE
        waiting = [value]
        while waiting and left >= 0:
            part = waiting.pop()
            left -= for_value
            kind = type(part)
            if kind is str:
                left -= len(part) * for_character
            elif kind is list:
                if self.unique and len(part) > MANY:
                    return False
                waiting += part
            elif kind is dict:
                left -= len(part) * for_value
                if for_character:
                    left -= sum(map(len, part)) * for_character
                waiting += part.values()
            elif is_odd(part):
                left -= for_value * _ODD
        return left >= 0


ANY_CHEAP = Price(_LOOK * LOOKS, 0.0, unique=False)
"""What any cheap schema costs at most that has no heavy keyword."""


def is_heavy(keyword: str, value: Any) -> bool:
    """Tell whether a keyword costs more than a look.

    Args:
        keyword: Of JSON Schema.
        value: What it has.
    """
    if keyword in ("enum", "const"):
        literals = value if keyword == "enum" and isinstance(value, list) else [value]
        return any(isinstance(literal, list | dict) for literal in literals)
    return keyword in _HEAVY


def price_of(schema: Node) -> Price:
    """Return what a schema costs as a whole.

    Args:
        schema: As `prepare` returns it.
    """
    unique = matching = False

    def per_value(node: Node) -> float:
        nonlocal unique, matching
        unique |= node.get("uniqueItems") is True
        matching |= "pattern" in node or "patternProperties" in node
        return value_price(node)

    for_value = costs(schema, per_value)
    return Price(for_value, costs(schema, character_price) if matching else 0.0, unique)


def value_price(node: Node) -> float:
    """Return how many nanoseconds the keywords of a schema itself may take for a value."""
    price = _LOOK
    literals = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
    if parts := [part for part in literals if isinstance(part, list | dict)]:
        price += len(literals) * _COMPARISON + _size(parts) * _PART
    for keyword in ("dependentRequired", "dependentSchemas"):
        price += len(node.get(keyword, ())) * _NAME
    price += len(node.get("patternProperties", ())) * _MATCH
    if "multipleOf" in node:
        price += _DIVISION * (10 if is_odd(node["multipleOf"]) else 1)
    return price


def character_price(node: Node) -> float:
    """Return how many nanoseconds the patterns of a schema itself may take for a character."""
    return sum(map(slowness, node.get("patternProperties", ())), slowness(node.get("pattern")))


def is_odd(value: Any) -> bool:
    """Tell whether a value is a number so large or small that it takes long to compute with."""
    if not isinstance(value, int | float) or not value:
        return False
    return not _SMALLEST <= abs(value) < _LARGEST


def _size(parts: list[Any]) -> int:
    """Return how many values there are inside values."""
    count = 0
    waiting = list(parts)
    while waiting:
        part = waiting.pop()
        count += 1
        if isinstance(part, list | dict):
            waiting += part.values() if isinstance(part, dict) else part
    return count
