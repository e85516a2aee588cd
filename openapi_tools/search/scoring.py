"""Scores of tools for a query, over the indexes that are searched together."""

from __future__ import annotations

import math
from array import array
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openapi_tools.search.index import Index
    from openapi_tools.search.synonyms import Concept

    # Of an index: its number, a factor, and tools with their shares.
    Postings = tuple[int, float, Iterable[tuple[int, float]]]

_WEAK = 0.5  # of the best share; a synonym with less is left out
_SYNONYM = 0.7  # how much a synonym counts beside the word itself; chosen on public sets
_MOST_REMEMBERED = 200  # concepts whose scores are remembered


class Scorer:
    """Scores by BM25F; a term is rare by all indexes."""

    def __init__(self, indexes: Sequence[Index]) -> None:
        self._indexes = indexes
        self._size = sum(index.size for index in indexes)
        self._scores: dict[Concept, list[tuple[int, array[int], array[float]]]] = {}

    def score(self, concepts: Iterable[tuple[Concept, float]]) -> dict[int, dict[int, float]]:
        """Return the scores of tools that have one of the concepts, by the number of the index."""
        scores: dict[int, dict[int, float]] = {}
        for concept, weight in concepts:
            for number, rarity, postings in self._find(concept):
                factor = rarity * weight
                if number not in scores:
                    scores[number] = {tool: factor * share for tool, share in postings}
                    continue
                index_scores = scores[number]
                get = index_scores.get
                for tool, share in postings:
                    index_scores[tool] = get(tool, 0.0) + factor * share
        return scores

    def _find(self, concept: Concept) -> list[Postings]:
        if not concept.synonyms:
            return self._find_term(concept.term)
        scored = self._scores.get(concept)
        if scored is None:
            if len(self._scores) >= _MOST_REMEMBERED:
                self._scores.clear()
            scored = self._scores[concept] = self._score_concept(concept)
        return [(number, 1.0, zip(tools, scores, strict=True)) for number, tools, scores in scored]

    def _find_term(self, term: str) -> list[Postings]:
        postings = [
            (number, index, place)
            for number, index in enumerate(self._indexes)
            if (place := index.find(term))
        ]
        rarity = self._rarity(sum(place.stop - place.start for *_, place in postings))
        return [(number, rarity, index.shares(place)) for number, index, place in postings]

    def _rarity(self, count: int) -> float:
        # The `1 +` keeps a term that most tools have from counting against them.
        return math.log(1 + (self._size - count + 0.5) / (count + 0.5))

    def _score_concept(self, concept: Concept) -> list[tuple[int, array[int], array[float]]]:
        # The best of a term and its synonyms counts, as a tool that has both is no better. No
        # synonym counts as rarer than the term itself: "list" should find lists first.
        exact = self._find_together((concept.term,))
        limit = self._rarity(_count_tools(exact)) if exact else math.inf
        best = {number: _scale(shares, limit) for number, shares in exact.items()}
        for synonym in concept.synonyms:
            matches = self._find_together(synonym)
            weight = _SYNONYM * min(self._rarity(_count_tools(matches)), limit)
            for number, shares in _drop_weak(matches).items():
                scores = best.setdefault(number, {})
                for tool, score in _scale(shares, weight).items():
                    scores[tool] = max(scores.get(tool, 0.0), score)
        return [
            (number, array("I", scores), array("f", scores.values()))
            for number, scores in best.items()
        ]

    def _find_together(self, terms: tuple[str, ...]) -> dict[int, dict[int, float]]:
        scores_by_index: dict[int, dict[int, float]] = {}
        for number, index in enumerate(self._indexes):
            parts = [dict(index.shares(place)) for term in terms if (place := index.find(term))]
            if len(parts) == len(terms):
                scores_by_index[number] = {
                    tool: min(part[tool] for part in parts)
                    for tool in parts[0]
                    if all(tool in part for part in parts)
                }
        return scores_by_index


def _count_tools(shares_by_index: dict[int, dict[int, float]]) -> int:
    return sum(map(len, shares_by_index.values()))


def _drop_weak(shares_by_index: dict[int, dict[int, float]]) -> dict[int, dict[int, float]]:
    # A synonym in the description of an argument decides nothing, and most tools have one.
    best = max(chain.from_iterable(map(dict.values, shares_by_index.values())), default=0.0)
    return {
        number: {tool: share for tool, share in shares.items() if share >= _WEAK * best}
        for number, shares in shares_by_index.items()
    }


def _scale(shares: dict[int, float], weight: float) -> dict[int, float]:
    return {tool: weight * share for tool, share in shares.items()}
