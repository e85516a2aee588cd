"""The index over tools: which terms are in which tools, and how much they count there.

Weights are BM25F's over nine fields; `idf` is that of all indexes that are searched together.

Spec: Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), 3.3 and 3.6.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from array import array
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any

import snowballstemmer

from openapi_tools.common.json_schema import DEFINITIONS_PREFIX
from openapi_tools.common.json_values import as_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SATURATION = 1.6
"""How soon repetitions stop counting (k1); chosen on public sets, like the fields' weights."""


FIELDS = {
    "name": (2, 0.75),
    "summary": (2, 0.75),
    "description": (1, 0.75),
    "path": (1, 0.75),  # without its variables
    "tags": (1.5, 0.75),
    "parameters": (0.7, 0.9),
    "words": (0.3, 0.9),  # descriptions of parameters
    "values": (0.3, 0.75),  # of their enums
    "response": (0.3, 0.9),
}
"""How much a field counts, and how much its length does; chosen on public sets."""
_DEEP, _RESPONSE_DEEP = 2, 1  # levels of objects that are read in an input and a response
_MOST_PROPERTIES = 300  # schemas that are read for a tool
_MOST_VALUES = 40  # values of an enum that are read
_COMBINED = ("allOf", "anyOf", "oneOf")

CALLER = "me"
"""The term of tools for the user who calls, such as `GET /user/repos` of GitHub."""
RESOURCE = "/"
"""What a term begins with if it is of a tool's resource: the last fixed segment of its path."""
_RESOURCE_WEIGHT = 4.0  # these two are chosen on public sets
_CALLER_WEIGHT = 1.0
_CALLER_WORDS = frozenset({"me", "my", "myself", "whoami"})
_CALLER_PAIRS = frozenset((word, "user") for word in ("authenticated", "current", "calling", "own"))


class Index:
    """Terms, and for each of them the numbers of tools and its weights in them."""

    def __init__(
        self,
        size: int,
        terms: list[str],
        ends: array[int],
        tools: array[int],
        weights: array[float],
    ) -> None:
        self.size = size
        self._places = dict(zip(terms, range(len(terms)), strict=True))
        self._ends, self._tools, self._weights = ends, tools, weights

    def find(self, term: str) -> slice | None:
        """Return the place of a term's tools, for `shares`; None where it is in none."""
        place = self._places.get(term)
        return None if place is None else slice(self._ends[place], self._ends[place + 1])

    def shares(self, place: slice) -> Iterable[tuple[int, float]]:
        """Return the tools at a place, and the term's weight in each."""
        return zip(self._tools[place], self._weights[place], strict=True)

    @classmethod
    def build(cls, tools: Sequence[Any]) -> Index:
        """Return the index of tools, whose numbers are their places in the sequence."""
        cached_terms = lru_cache(maxsize=None)(terms)
        counted, path_weights = [], []
        for tool in tools:
            texts = tool_texts(tool)
            counted.append(
                {name: [*chain.from_iterable(map(cached_terms, texts[name]))] for name in FIELDS}
            )
            path_weights.append(_path_weights(tool, *texts["summary"]))
        totals = {name: sum(len(each[name]) for each in counted) for name in FIELDS}
        postings: dict[str, tuple[array[int], array[float]]] = {}
        for number, fields in enumerate(counted):
            weights_by_term = _weights(fields, totals, len(counted)) | path_weights[number]
            for term, weight in weights_by_term.items():
                if term not in postings:
                    postings[term] = array("I"), array("f")
                numbers, weights = postings[term]
                numbers.append(number)
                weights.append(weight / (SATURATION + weight))
        ends, places, shares = array("I", [0]), array("I"), array("f")
        for numbers, weights in postings.values():
            places.extend(numbers)
            shares.extend(weights)
            ends.append(len(places))
        return cls(len(tools), list(postings), ends, places, shares)

    def to_bytes(self) -> bytes:
        """Return the index as bytes for `from_bytes`, on a machine of the same kind."""
        terms = "\n".join(self._places).encode()
        parts = (terms, *(part.tobytes() for part in (self._ends, self._tools, self._weights)))
        head = json.dumps([self.size, *map(len, parts)]).encode()
        return b"\n".join((head, b"".join(parts)))

    @classmethod
    def from_bytes(cls, data: bytes) -> Index:
        """Return an index from its bytes."""
        head, _, body = data.partition(b"\n")
        size, *lengths = json.loads(head)
        starts = pairwise(accumulate(lengths, initial=0))
        encoded_terms, ends, tools, weights = (body[start:end] for start, end in starts)
        terms = encoded_terms.decode().split("\n") if encoded_terms else []
        return cls(size, terms, array("I", ends), array("I", tools), array("f", weights))


def _weights(fields: dict[str, list[str]], totals: dict[str, int], count: int) -> dict[str, float]:
    weights: dict[str, float] = {}
    for name, listed in fields.items():
        if listed:
            weight, b = FIELDS[name]
            length = len(listed) * count / totals[name]
            share = weight / (1 - b + b * length)
            for term in listed:
                weights[term] = weights.get(term, 0.0) + share
    return weights


def _path_weights(tool: Any, summary: str) -> dict[str, float]:
    segments = [segment for segment in tool.path.split("/") if segment and "{" not in segment]
    words = [part.lower() for part in _PART.findall(f"{tool.name}/{tool.path}/{summary}")]
    is_for_caller = not _CALLER_WORDS.isdisjoint(words) or (
        "user" in words and not _CALLER_PAIRS.isdisjoint(pairwise(words))
    )
    resource = terms(segments[-1]) if segments else ()
    if is_for_caller and "{" not in tool.path and resource in ((), ("user",)):
        resource = (*resource, CALLER)
    weights = {RESOURCE + term: _RESOURCE_WEIGHT / len(resource) for term in resource}
    return weights | {CALLER: _CALLER_WEIGHT} if is_for_caller else weights


def tool_texts(tool: Any) -> dict[str, list[str]]:
    """Return the strings of a tool by fields."""
    summary, _, description = tool.description.partition("\n")
    properties = list(_iter_properties(tool.input_schema, _DEEP))
    words = [node.get("description") for _, node in properties]
    values = [value for _, node in properties for value in as_list(node.get("enum"))[:_MOST_VALUES]]
    return {
        "name": [tool.name],
        "summary": [summary],
        "description": [description],
        "path": [_VARIABLE.sub("/", tool.path)],
        "tags": list(tool.tags),
        "parameters": [name for name, _ in properties],
        "words": [text for text in words if isinstance(text, str)],
        "values": [text for text in values if isinstance(text, str)],
        "response": [name for name, _ in _iter_properties(tool.answer_schema, _RESPONSE_DEEP)],
    }


def _iter_properties(schema: Any, deepest: int) -> Iterator[tuple[str, dict[str, Any]]]:
    components = schema.get("$defs", {}) if schema else {}
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    seen: set[int] = set()
    for schema_node, depth in waiting:  # which grows
        node = _follow_reference(schema_node, components)
        if id(node) in seen:
            continue
        seen.add(id(node))
        properties = node.get("properties")
        for name, part in properties.items() if isinstance(properties, dict) else ():
            resolved = _follow_reference(part, components)
            if resolved and resolved is not part:
                resolved = {**resolved, **part}
            yield name, resolved
            if depth < deepest and len(waiting) < _MOST_PROPERTIES:
                waiting.append((part, depth + 1))
        for key in _COMBINED:
            if isinstance(branches := node.get(key), list) and len(waiting) < _MOST_PROPERTIES:
                waiting += [(branch, depth) for branch in branches]
        if "items" in node:
            waiting.append((node["items"], depth))


def _follow_reference(node: Any, components: dict[str, Any]) -> dict[str, Any]:
    if isinstance(node, dict) and "$ref" in node:
        node = components.get(str(node["$ref"]).removeprefix(DEFINITIONS_PREFIX))
    return node if isinstance(node, dict) else {}


_RUN = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# The stemmer keeps the plural of an abbreviation: it has no vowel before its s.
_ABBREVIATIONS = re.compile(r"[b-df-hj-np-tv-xz]+[b-df-hj-np-rtv-xz]s")
_VARIABLE = re.compile(r"\{[^{}]*\}")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_MOST = 50_000  # words that are remembered
_LONGEST = 64  # characters of a word; longer ones are cut
_STOP = """
    a about additionally after again all also am an and any are as at be because been before
    being but by can could d did do does doing done each either else etc for from further
    furthermore had has have having he her here hers him his how however i if in into is it its
    just let like ll m may me might more most must my need needs no nor not now of off on once
    only or other our ours out over own per please provide provided provides providing re s same
    shall she should so some such t than that the their them then there these they this those
    through to too under until up us ve very via want wants was we well were what when where
    whether which while who whom whose why will with within without would you your yours
"""
STOP_WORDS = frozenset(_STOP.split())


_lock = threading.RLock()
_stem = snowballstemmer.stemmer("english").stemWords
_terms_by_word: dict[str, tuple[str, ...]] = {}


def split_words(text: str) -> list[str]:
    """Return the words of a text, each of which may have several terms."""
    return _RUN.findall(text)


def terms(text: str) -> tuple[str, ...]:
    """Return the terms of a text, in order."""
    listed: list[str] = []
    for run in _RUN.findall(text):
        listed += _terms_by_word[run] if run in _terms_by_word else _terms_of_word(run)
    return tuple(listed)


def _terms_of_word(word: str) -> tuple[str, ...]:
    with _lock:  # a stemmer has a state
        word_terms = tuple(_split_word(word)) if word.lower() not in STOP_WORDS else ()
    if len(_terms_by_word) < _MOST and len(word) <= _LONGEST:
        _terms_by_word[word] = word_terms
    return word_terms


def _split_word(word: str) -> list[str]:
    if word.isascii():
        parts = _PART.findall(word[:_LONGEST])
    else:
        folded = unicodedata.normalize("NFKD", word[:_LONGEST])
        if any(map(unicodedata.combining, folded)):
            return _split_word("".join(c for c in folded if not unicodedata.combining(c)))
        parts = _split_unspaced(folded)
    lower = [part.lower() for part in parts]
    kept = [part for part in lower if len(part) == 1 or part not in STOP_WORDS]
    kept = [part[:-1] if _ABBREVIATIONS.fullmatch(part) else part for part in kept]
    return [stem or part for stem, part in zip(_stem(kept), kept, strict=True)]


def _split_unspaced(word: str) -> list[str]:
    parts: list[str] = []
    place = 0
    for match in _UNSPACED.finditer(word):
        text = match.group()
        parts += [word[place : match.start()]]
        parts += [a + b for a, b in pairwise(text)] if len(text) > 1 else [text]
        place = match.end()
    return [part for part in [*parts, word[place:]] if part]
