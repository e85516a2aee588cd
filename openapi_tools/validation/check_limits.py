"""How often a validator may have to look at the same value.

Alternatives inside alternatives multiply: twenty levels of two equal branches are a million looks.
A validator that starts each branch anew then never ends, so such schemas are told apart here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openapi_tools.validation.schema_graph import groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.validation.schema_graph import Groups, Node

LOOKS = 2000
"""Looks at one value that are few enough: each takes well under a microsecond."""


def is_cheap(schema: Node) -> bool:
    """Whether no value is looked at more than `LOOKS` times, however the input is made.

    Args:
        schema: As `prepare` returns it: every `$ref` leads to a place in it.
    """
    return _Costs(schema).of_root() <= LOOKS


def costs(schema: Node, own: Callable[[Node], float]) -> float:
    """Return what all schemas that may look at one value cost together, at most.

    Args:
        schema: As for `is_cheap`. It is cheap, or no two of its schemas look at one value but by
            reference.
        own: Gives what a schema costs without those inside it.
    """
    return _Costs(schema, own).of_root()


@dataclass(slots=True)
class _Costs:
    """The cost of each schema, found in one pass over the graph of schemas.

    Schemas that lead to each other are found with Tarjan's algorithm, kept on a list of our own
    instead of Python's stack: references may form chains of thousands.
    """

    root: Node
    own: Callable[[Node], float] | None = None
    _groups: dict[int, Groups] = field(default_factory=dict)
    _order: dict[int, int] = field(default_factory=dict)
    _lowest: dict[int, int] = field(default_factory=dict)
    _open: list[Node] = field(default_factory=list)
    _cost: dict[int, float] = field(default_factory=dict)
    _own: dict[int, float] = field(default_factory=dict)

    def of_root(self) -> float:
        """Return how often one value may be looked at; infinity when it grows with its depth."""
        path = [(self.root, self._enter(self.root))]
        while path:
            node, children = path[-1]
            child = next(children, None)
            if child is None:
                path.pop()
                self._leave(node, path[-1][0] if path else None)
            elif id(child) not in self._order:
                path.append((child, self._enter(child)))
            elif id(child) not in self._cost:
                self._lower(node, self._order[id(child)])
        return self._cost[id(self.root)]

    def _enter(self, node: Node) -> Iterator[Node]:
        found = self._groups[id(node)] = groups(node, self.root)
        self._order[id(node)] = self._lowest[id(node)] = len(self._order)
        self._open.append(node)
        if self.own is not None:
            self._own[id(node)] = self.own(node)
        return (child for group in found for child in group)

    def _lower(self, node: Node, order: int) -> None:
        self._lowest[id(node)] = min(self._lowest[id(node)], order)

    def _leave(self, node: Node, parent: Node | None) -> None:
        if parent is not None:
            self._lower(parent, self._lowest[id(node)])
        if self._lowest[id(node)] == self._order[id(node)]:
            circle = {id(self._open.pop())}
            while id(node) not in circle:
                circle.add(id(self._open.pop()))
            self._cost.update(dict.fromkeys(circle, self._cost_of(circle)))

    def _cost_of(self, circle: set[int]) -> float:
        """Return the cost of schemas that lead to each other.

        Going round is cheap as long as there is one way to do it from each of them.
        """
        cost = 1.0 if self.own is None else sum(self._own[key] for key in circle)
        for key in circle:
            ways = 0
            for group in self._groups[key]:
                ways += any(id(child) in circle for child in group)
                cost += max((self._cost.get(id(child), 0.0) for child in group), default=0.0)
            if ways > 1 and self.own is None:
                return float("inf")
        return cost
