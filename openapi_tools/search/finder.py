"""Find tools for a task, and the tools that yield what another requires."""

from __future__ import annotations

import math
import re
import sys
import threading
from array import array
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest
from itertools import chain, zip_longest
from operator import mul
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from openapi_tools.common.json_values import PausedGC
from openapi_tools.common.options import type_name
from openapi_tools.errors import SettingsError, format_count
from openapi_tools.search.index import Index, terms
from openapi_tools.search.producers import SHOWN, Producers
from openapi_tools.search.scoring import Scorer
from openapi_tools.search.synonyms import Synonyms, find_synonyms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Embed = Callable[[list[str]], Any]

_INDEX_FORM = 2  # raised when an index has other terms or weights, as cached ones are then stale
_FUSED = 100  # tools of a ranking that are joined with another
_CLAUSES = re.compile(r"[.,;:!?]\s|[。、，；：！？]")  # noqa: RUF001 -- Chinese punctuation
_CLAUSE = 0.75  # how much the best clause counts beside the whole task; chosen on public sets
_METHOD = 0.1  # how much a method counts that fits the verb of a query, beside the best score
_MOST_CLAUSES = 20
_MOST_LINES = 50
_READ = 10_000  # characters of a query that are read
_BATCH = 256  # texts that are embedded at once
_RANK = 60  # how little the first ranks differ; the usual value of reciprocal rank fusion


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


class DocumentIndex:
    """The index over one document's tools, the graph of their producers, and their vectors."""

    def __init__(self, tools: Iterable[Any], kept: Any) -> None:
        self.tools = list(tools)
        self._cache_file: Any = kept if all(hasattr(tool, "form") for tool in self.tools) else None
        self._lock = threading.RLock()
        self._index_and_producers: tuple[Index, Producers] | None = None
        self._vectors: tuple[Any, list[array[float]]] | None = None

    @cached_property
    def places(self) -> dict[str, int]:
        """The places of its tools by name."""
        return {tool.name: place for place, tool in enumerate(self.tools)}

    def vectors(self, embed: Embed) -> list[array[float]]:
        """Return the vectors of its tools, made once for an embedder."""
        with self._lock:
            if self._vectors is None or self._vectors[0] is not embed:
                texts = [f"{tool.name}\n{tool.description}" for tool in self.tools]
                self._vectors = (embed, embed_texts(embed, texts))
            return self._vectors[1]

    @property
    def index_and_producers(self) -> tuple[Index, Producers]:
        """The index and the graph, read or made at the first search."""
        with self._lock:
            if self._index_and_producers is None:
                self._index_and_producers = self._read() or self._build()
            return self._index_and_producers

    def _file(self) -> Any:
        return self._cache_file.with_form(
            repr([_INDEX_FORM, sys.byteorder, *(tool.form for tool in self.tools)])
        )

    def _read(self) -> tuple[Index, Producers] | None:
        data = None if self._cache_file is None else self._file().read()
        if data is None:
            return None
        size, graph = from_json(data.partition(b"\n")[0])
        return Index.from_bytes(data[-size:]), Producers(self.tools, graph)

    def _build(self) -> tuple[Index, Producers]:
        with PausedGC():
            index, producers = Index.build(self.tools), Producers(self.tools)
        if self._cache_file is not None:
            data = index.to_bytes()
            with suppress(ValueError):  # a lone surrogate in a name
                self._file().write(to_json([len(data), producers.data()]) + b"\n" + data)
        return index, producers


@dataclass(eq=False)
class Finder:
    """Searches tools; each part has the places of its tools among them, -1 for a hidden one."""

    tools: Sequence[Any]
    parts: Sequence[tuple[DocumentIndex, Sequence[int]]]
    settings: Sequence[Any]

    def restrict(self, tools: Iterable[Any]) -> Finder:
        """Return the finder of some of its tools."""
        listed = list(tools)
        new = {tool.name: place for place, tool in enumerate(listed)}
        moved = [new.get(tool.name, -1) for tool in self.tools]
        parts = [(part, [-1 if at < 0 else moved[at] for at in old]) for part, old in self.parts]
        return Finder(listed, parts, self.settings)

    def hits(self, query: str, limit: int = 8) -> list[Hit]:
        """Return the best tools for a query, as `Toolset.search` does."""
        if not isinstance(query, str):
            raise SettingsError(f"query must be a string, not {type_name(query)}.")
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise SettingsError(f"limit must be a whole number above 0, not {limit!r:.60}.")
        texts = [line for line in query[:_READ].splitlines() if line.strip()][:_MOST_LINES]
        lines = [self._rank_tools(line, limit) for line in texts]
        scores: dict[int, float] = {}
        for pair in chain.from_iterable(zip_longest(*lines)):
            if pair is not None and len(scores) < limit:
                scores.setdefault(*pair)
        hits = ((self.tools[place], score) for place, score in scores.items())
        return [Hit(tool, score, self.producers(tool.name)) for tool, score in hits]

    def producers(self, name: str) -> dict[str, tuple[str, ...]]:
        """Return the producers of a tool's arguments, as `Toolset.producers` does."""
        part, places, name_in_part = self._parts_by_tool[name]
        producers: dict[str, tuple[str, ...]] = {}
        for argument, listed in (
            part.index_and_producers[1].places(part.places[name_in_part]).items()
        ):
            there = [places[each] for each in listed if places[each] >= 0]
            if there:
                producers[argument] = tuple(self.tools[at].name for at in there[:SHOWN])
        return producers

    @cached_property
    def _parts_by_tool(self) -> dict[str, tuple[DocumentIndex, Sequence[int], str]]:
        return {
            self.tools[at].name: (part, places, tool.name)
            for part, places in self.parts
            for tool, at in zip(part.tools, places, strict=True)
            if at >= 0
        }

    def _rank_tools(self, line: str, limit: int) -> list[tuple[int, float]]:
        # Reciprocal rank fusion (Cormack et al., SIGIR 2009): scores of words and of vectors
        # cannot be compared, ranks can.
        embed = next((one for settings in self.settings if (one := settings.embed)), None)
        if embed is None:
            return self._rank_by_words(line, limit)
        most, both = max(limit, _FUSED), dict[int, float]()
        for ranking in (self._rank_by_words(line, most), self._rank_by_vectors(embed, line)[:most]):
            for rank, (place, _) in enumerate(ranking, start=1):
                both[place] = both.get(place, 0.0) + 1 / (_RANK + rank)
        return _take_best(list(both.items()), limit)

    def _rank_by_words(self, line: str, limit: int) -> list[tuple[int, float]]:
        clauses = [text for text in _CLAUSES.split(line, _MOST_CLAUSES) if terms(text)]
        if len(clauses) <= 1:
            return self._rank_by_terms(line, limit)
        most = max(limit, _FUSED)
        whole = self._rank_by_terms(line, most)
        shares: dict[int, float] = {}
        for clause in clauses if whole else ():
            listed = self._rank_by_terms(clause, most)
            for place, score in listed:
                shares[place] = max(shares.get(place, 0.0), score / listed[0][1])
        scores = dict(whole)
        for place, share in shares.items():
            scores[place] = scores.get(place, 0.0) + _CLAUSE * whole[0][1] * share
        return _take_best(list(scores.items()), limit)

    def _rank_by_terms(self, text: str, limit: int) -> list[tuple[int, float]]:
        query = self._synonyms.read_query(text)
        most = max(limit, _FUSED) if query.methods else limit
        scored = [
            (self.parts[number][1], scores)
            for number, scores in self._scorer.score(query.concepts).items()
        ]
        shown = [
            # The places of a part whose tools are all shown are a range.
            (places, scores)
            if isinstance(places, range)
            else (places, {at: score for at, score in scores.items() if places[at] >= 0})
            for places, scores in scored
        ]
        best = nlargest(most, chain.from_iterable(scores.values() for _, scores in shown))
        ranking = [
            (places[at], score)
            for places, scores in shown
            for at, score in scores.items()
            if score >= best[-1]
        ]
        return self._prefer_methods(_take_best(ranking, most), query.methods)[:limit]

    def _prefer_methods(
        self, ranking: list[tuple[int, float]], methods: frozenset[str]
    ) -> list[tuple[int, float]]:
        if not methods or not ranking:
            return ranking
        bonus = _METHOD * ranking[0][1]
        preferred = [
            (place, score + bonus if self.tools[place].method in methods else score)
            for place, score in ranking
        ]
        return _take_best(preferred, len(preferred))

    def _rank_by_vectors(self, embed: Embed, line: str) -> list[tuple[int, float]]:
        (query,) = embed_texts(embed, [line])
        ranking: list[tuple[int, float]] = []
        for part, places in self.parts:
            vectors = part.vectors(embed)
            if any(len(vector) != len(query) for vector in vectors):
                raise SettingsError("embed: the vectors of queries and tools differ in length.")
            near = (sum(map(mul, query, vector)) for vector in vectors)
            ranking += [(at, score) for at, score in zip(places, near, strict=True) if at >= 0]
        return _take_best(ranking, len(ranking))

    @cached_property
    def _synonyms(self) -> Synonyms:
        return find_synonyms([settings.synonyms for settings in self.settings])

    @cached_property
    def _scorer(self) -> Scorer:
        return Scorer([part.index_and_producers[0] for part, _ in self.parts])


def create_finder(tools: Any, kept: Any, whole: Finder | None, finders: Sequence[Finder]) -> Finder:
    """Return the finder of a document's tools, of a selection of `whole`, or of a union."""
    if whole is not None:
        return whole.restrict(tools)
    if not finders:
        part = DocumentIndex(tools, kept)
        return Finder(part.tools, [(part, range(len(part.tools)))], [tools.session.settings])
    parts: list[tuple[DocumentIndex, Sequence[int]]] = []
    start = 0
    for finder in finders:
        for part, places in finder.parts:
            parts.append((part, _shift_places(places, start)))
        start += len(finder.tools)
    return Finder(
        list(tools), parts, [settings for finder in finders for settings in finder.settings]
    )


def _shift_places(places: Sequence[int], start: int) -> Sequence[int]:
    if isinstance(places, range):  # all tools are shown
        return range(places.start + start, places.stop + start)
    return [-1 if at < 0 else at + start for at in places]


def _take_best(pairs: list[tuple[int, float]], limit: int) -> list[tuple[int, float]]:
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:limit]


def embed_texts(embed: Embed, texts: Sequence[str]) -> list[array[float]]:
    """Return the vectors of texts, each of length 1; SettingsError where the function fails."""
    vectors: list[array[float]] = []
    for start in range(0, len(texts), _BATCH):
        batch = list(texts[start : start + _BATCH])
        try:
            batch_vectors = embed(batch)
        except Exception as error:
            raise SettingsError(f"embed: the function raised {type_name(error)}.") from error
        vectors += _check_vectors(batch_vectors, len(batch))
    if len({len(vector) for vector in vectors}) > 1:
        raise SettingsError("embed: the vectors differ in length.")
    return vectors


def _check_vectors(value: Any, count: int) -> list[array[float]]:
    if hasattr(value, "close") and hasattr(value, "send"):  # a coroutine
        value.close()
    try:
        vectors = [array("d", map(float, vector)) for vector in value]
    except (TypeError, ValueError):
        form = "a list of vectors, which are lists of numbers"
        raise SettingsError(f"embed must return {form}, not {type_name(value)}.") from None
    if len(vectors) != count:
        texts = format_count(count, "text")
        raise SettingsError(f"embed: {texts} got {format_count(len(vectors), 'vector')}.")
    lengths = [math.hypot(*vector) for vector in vectors]
    if not all(vectors) or not all(map(math.isfinite, lengths)):
        raise SettingsError("embed: a vector is empty, or a number in it is not finite.")
    pairs = zip(vectors, lengths, strict=True)
    return [array("d", [number / (length or 1) for number in vector]) for vector, length in pairs]
