"""Find the tools of a toolset for a task, and the tools that yield what another requires."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that fits a query.

    Attributes:
        tool: The tool.
        score: How well it fits; greater is better, comparable within one search.
        needs: The tools that yield an argument which the tool requires, by argument.
    """

    tool: Any
    score: float
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Finder:
    """The index over the tools of one toolset."""

    def __init__(self, toolset: Any) -> None:
        self._toolset = toolset

    def hits(self, query: str, limit: int = 8) -> list[Hit]:
        """Return the best tools for a query, as `Toolset.search` does."""
        words = query.lower().split()
        scored = [(sum(word in tool.name for word in words), tool) for tool in self._toolset]
        scored.sort(key=lambda pair: -pair[0])
        return [Hit(tool, float(score)) for score, tool in scored[:limit] if score]

    def producers(self, name: str) -> dict[str, tuple[str, ...]]:
        """Return the producers of a tool's arguments, as `Toolset.producers` does."""
        del name
        return {}
