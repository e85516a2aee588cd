"""Find tools that a reader cannot tell apart, and tools that a search for their own words misses.

No model is needed. A tool is only compared with those that a search for its name or summary finds,
so a document of thousands of operations takes seconds.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from openapi_tools.search.index import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from openapi_tools.toolsets.toolset import Toolset

    Names = tuple[str, ...]

_SEARCH_RESULTS = 8  # as many as a model's search returns
_ALIKE = 0.9  # the shared part of two descriptions' words, in which rare words count more
_SHARED_ARGUMENTS = 0.75  # the shared part of two tools' arguments
_MOST_OWN_WORDS = 2
MOST_COMPARED = 2_000
"""Tools of a larger set are not compared: it would take minutes."""
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Confusions:
    """Tools that a reader would confuse or not find.

    Attributes:
        confusable: The tools that a reader confuses with a tool, by its name.
        unreachable: The tools that are found instead of one that no search for its own words
            finds, by the name of that one.
    """

    confusable: Mapping[str, tuple[str, ...]]
    unreachable: Mapping[str, tuple[str, ...]]

    def group_confusable(self) -> list[tuple[str, ...]]:
        """Return the confusable tools in groups; a tool is in the first that it fits."""
        groups: list[tuple[str, ...]] = []
        grouped: set[str] = set()
        for name, others in self.confusable.items():
            if name not in grouped:
                groups.append((name, *(other for other in others if other not in grouped)))
                grouped.update(groups[-1])
        return groups


def find_confusions(toolset: Toolset) -> Confusions:
    """Return the tools that a reader cannot tell apart, and those that a search does not find.

    Two tools of one method are confusable if nearly all words of their descriptions and arguments
    are the same, and neither description has a word in which their names, paths or tags differ.
    More than `MOST_COMPARED` tools are not compared.
    """
    tools = list(toolset) if len(toolset) <= MOST_COMPARED else []
    words = {tool.name: _ToolWords.read(tool) for tool in tools}
    counts = Counter(term for tool_words in words.values() for term in tool_words.terms)
    rarity = {term: _compute_rarity(count, len(tools)) for term, count in counts.items()}
    confusable: dict[str, set[str]] = {}
    unreachable: dict[str, tuple[str, ...]] = {}
    # Tools of one API often share a summary.
    search = cache(partial(_search, toolset))
    for tool in tools:
        rankings = _rank_by_own_words(tool, search)
        neighbours = {name for names in rankings for name in names} - {tool.name}
        if len(neighbours) >= _SEARCH_RESULTS and not any(tool.name in names for names in rankings):
            unreachable[tool.name] = rankings[0]
        for name in neighbours:
            if _are_alike(words[tool.name], words[name], rarity):
                confusable.setdefault(tool.name, set()).add(name)
                confusable.setdefault(name, set()).add(tool.name)
    ordered = {tool.name: tuple(sorted(confusable.get(tool.name, ()))) for tool in tools}
    return Confusions({name: names for name, names in ordered.items() if names}, unreachable)


def describe_own_words(tool: Any, others: Iterable[Any]) -> str:
    """Return words of a tool's path, tags or name that the others do not have, or its path."""
    taken = {stem for other in others for stem in _stems(_identity_words(other))}
    words: dict[tuple[str, ...], str] = {}
    for word in find_words(" ".join((tool.path, *tool.tags, tool.name))):
        if (stem := terms(word)) and stem not in taken:
            words.setdefault(stem, word)
    return ", ".join([*words.values()][:_MOST_OWN_WORDS]) or tool.path


def find_words(text: str) -> list[str]:
    """Return the words of a string in lower case; those of `listPets` are `list` and `pets`."""
    return [word.lower() for word in _HUMPS.findall(text)]


def _stems(words: Iterable[str]) -> set[tuple[str, ...]]:
    return {terms(word) for word in words}


@dataclass(frozen=True, slots=True)
class _ToolWords:
    """The words and arguments by which a reader tells a tool from others."""

    method: str
    identity: frozenset[str]
    described: frozenset[str]
    terms: frozenset[str]
    arguments: frozenset[str]

    @classmethod
    def read(cls, tool: Any) -> _ToolWords:
        return cls(
            method=tool.method,
            identity=_identity_words(tool),
            described=frozenset(find_words(tool.description)),
            terms=frozenset(terms(tool.description)),
            arguments=frozenset(tool.input_schema.get("properties", {})),
        )


def _identity_words(tool: Any) -> frozenset[str]:
    return frozenset(find_words(" ".join((tool.name, tool.path, *tool.tags))))


def _compute_rarity(count: int, size: int) -> float:
    return math.log(1 + (size - count + 0.5) / (count + 0.5))


def _rank_by_own_words(tool: Any, search: Callable[[str], Names]) -> list[Names]:
    name, summary = " ".join(find_words(tool.name)), tool.description.partition("\n")[0]
    rankings = [search(phrase) for phrase in (name, summary) if phrase.strip()]
    if any(tool.name in names for names in rankings):
        return rankings
    return [*rankings, search(f"{name} {summary}")]


def _search(toolset: Toolset, phrase: str) -> Names:
    return tuple(hit.tool.name for hit in toolset.search(phrase, limit=_SEARCH_RESULTS))


def _are_alike(one: _ToolWords, other: _ToolWords, rarity: Mapping[str, float]) -> bool:
    if one.method != other.method or _is_difference_described(one, other):
        return False
    arguments = one.arguments | other.arguments
    if len(one.arguments & other.arguments) < _SHARED_ARGUMENTS * len(arguments):
        return False
    both = math.fsum(rarity[term] for term in one.terms & other.terms)
    return both >= _ALIKE * math.fsum(rarity[term] for term in one.terms | other.terms)


def _is_difference_described(one: _ToolWords, other: _ToolWords) -> bool:
    described = one.described ^ other.described
    only_one = (one.identity - other.identity) & one.described
    only_other = (other.identity - one.identity) & other.described
    return not described.isdisjoint(only_one | only_other | {"deprecated"})
