"""Vectors of texts by a function of the user's, and how near a query is to tools."""

from __future__ import annotations

import math
from array import array
from operator import mul
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import SettingsError
from openapi_tools.options import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_BATCH = 256  # texts of one call
_RANK = 60  # how little the first ranks differ; the usual value of reciprocal rank fusion


def embedded(embed: Callable[[list[str]], Any], texts: Sequence[str]) -> list[array[float]]:
    """Return the vectors of texts, each of length 1; SettingsError where the function fails."""
    made: list[array[float]] = []
    for start in range(0, len(texts), _BATCH):
        batch = list(texts[start : start + _BATCH])
        try:
            given = embed(batch)
        except Exception as error:
            raise SettingsError(f"embed: the function raised {kind_of(error)}.") from error
        made += _checked(given, len(batch))
    if len({len(vector) for vector in made}) > 1:
        raise SettingsError("embed: the vectors differ in length.")
    return made


def _checked(given: Any, count: int) -> list[array[float]]:
    if hasattr(given, "close") and hasattr(given, "send"):  # a coroutine
        given.close()
    try:
        vectors = [array("d", map(float, vector)) for vector in given]
    except (TypeError, ValueError):
        form = "a list of vectors, which are lists of numbers"
        raise SettingsError(f"embed: return {form}, not {kind_of(given)}.") from None
    if len(vectors) != count:
        raise SettingsError(f"embed: {count} texts got {len(vectors)} vectors.")
    return list(map(_unit, vectors))


def _unit(vector: array[float]) -> array[float]:
    length = math.sqrt(sum(map(mul, vector, vector)))
    if not vector or not math.isfinite(length):
        raise SettingsError("embed: a vector is empty, or a number in it is not finite.")
    return array("d", [number / (length or 1) for number in vector])


def nearest(query: array[float], vectors: Iterable[array[float]]) -> list[float]:
    """Return how near each vector is to a query's, from -1 to 1; SettingsError by length."""
    listed = list(vectors)
    if any(len(vector) != len(query) for vector in listed):
        raise SettingsError("embed: the vectors of queries and tools differ in length.")
    return [sum(map(mul, query, vector)) for vector in listed]


def fused(rankings: Iterable[Iterable[int]]) -> Mapping[int, float]:
    """Return a score for each place in rankings, by reciprocal rank fusion (SIGIR 2009)."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, place in enumerate(ranking, start=1):
            scores[place] = scores.get(place, 0.0) + 1 / (_RANK + rank)
    return scores
