"""Find tools for a task, and the tools that yield what another requires."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import SettingsError
from openapi_tools.forks import ForkLock
from openapi_tools.options import kind_of
from openapi_tools.search.index import Index, scores
from openapi_tools.search.words import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that fits a query.

    Attributes:
        tool: The tool.
        score: How well it fits; greater is better, comparable within one line of a search.
        needs: The tools that yield an argument which the tool requires, by argument.
    """

    tool: Any
    score: float
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Part:
    """The index over the tools of one document, and the graph of their producers."""

    def __init__(self, tools: Iterable[Any]) -> None:
        self.tools = list(tools)
        self._turn = ForkLock()
        self._index: Index | None = None

    @property
    def index(self) -> Index:
        """The index, made at the first search."""
        with self._turn:
            if self._index is None:
                self._index = Index.of(self.tools)
            return self._index

    @cached_property
    def places(self) -> dict[str, int]:
        """The places of its tools by name."""
        return {tool.name: place for place, tool in enumerate(self.tools)}


class Finder:
    """Searches the tools of a toolset, which are those of one part or of several.

    Args:
        tools: Of the toolset.
        parts: Each with the places that its tools have among these; -1 for a tool that is not.
        settings: Of the toolset's documents.
    """

    def __init__(
        self,
        tools: Iterable[Any],
        parts: Sequence[tuple[Part, Sequence[int]]],
        settings: Sequence[Any],
    ) -> None:
        self.tools = list(tools)
        self.parts = parts
        self.settings = settings

    @classmethod
    def of(cls, tools: Iterable[Any], settings: Any) -> Finder:
        """Return the finder of one document's tools."""
        part = Part(tools)
        return cls(part.tools, [(part, range(len(part.tools)))], [settings])

    @classmethod
    def joined(cls, tools: Iterable[Any], finders: Sequence[Finder]) -> Finder:
        """Return the finder of several toolsets; their tools in order may have new names."""
        parts: list[tuple[Part, Sequence[int]]] = []
        start = 0
        for finder in finders:
            for part, places in finder.parts:
                parts.append((part, [-1 if at < 0 else at + start for at in places]))
            start += len(finder.tools)
        return cls(tools, parts, [given for finder in finders for given in finder.settings])

    def only(self, tools: Iterable[Any]) -> Finder:
        """Return the finder of some of its tools."""
        listed = list(tools)
        new = {tool.name: place for place, tool in enumerate(listed)}
        moved = [new.get(tool.name, -1) for tool in self.tools]
        parts = [(part, [-1 if at < 0 else moved[at] for at in old]) for part, old in self.parts]
        return Finder(listed, parts, self.settings)

    def hits(self, query: str, limit: int = 8) -> list[Hit]:
        """Return the best tools for a query, as `Toolset.search` does."""
        if not isinstance(query, str):
            raise SettingsError(f"query: give words, not {kind_of(query)}.")
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise SettingsError(f"limit: give a number above 0, not {limit!r:.60}.")
        lines = [self._ranked(line, limit) for line in query.splitlines() if line.strip()]
        found: dict[int, float] = {}
        for pair in chain.from_iterable(zip_longest(*lines)):
            if pair is not None and len(found) < limit:
                found.setdefault(*pair)
        hits = ((self.tools[place], score) for place, score in found.items())
        return [Hit(tool, score, self.producers(tool.name)) for tool, score in hits]

    def _ranked(self, line: str, limit: int) -> list[tuple[int, float]]:
        """Return places of tools with scores, the best first."""
        wanted = dict.fromkeys(terms(line), 1.0)
        found: list[tuple[int, float]] = []
        by_part = scores([part.index for part, _ in self.parts], wanted)
        for (_, places), scored in zip(self.parts, by_part, strict=True):
            shown = scored if isinstance(places, range) else _shown(scored, places)
            least = min(nlargest(limit, shown.values()), default=0.0)
            found += [(places[at], score) for at, score in shown.items() if score >= least]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def producers(self, name: str) -> dict[str, tuple[str, ...]]:
        """Return the producers of a tool's arguments, as `Toolset.producers` does."""
        del name
        return {}


def _shown(scored: Mapping[int, float], places: Sequence[int]) -> dict[int, float]:
    """Return the scores of tools that are not hidden."""
    return {at: score for at, score in scored.items() if places[at] >= 0}
