"""The index over tools: which terms are in which tools, and how much they count there.

A tool is a document of eight fields. A term's weight in it is BM25F's: its frequency in each field,
over the field's length, summed by the weights of fields, and saturated. A query adds how rare a
term is (`idf`) over all indexes that are searched together, so indexes of several documents need
not be merged.

Spec: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), 3.3
and 3.6.
"""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections import Counter, defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.search.words import terms as terms_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_K1 = 1.6


class _Field(NamedTuple):
    """How much a field counts, and how much its length does."""

    weight: float
    b: float = 0.75


FIELDS = {
    "name": _Field(2),
    "summary": _Field(2),
    "description": _Field(1),
    "path": _Field(2),
    "tags": _Field(1.5),
    "parameters": _Field(0.7, 0.9),
    "words": _Field(0.3, 0.9),
    "values": _Field(0.3),
    "answer": _Field(0.3, 0.9),
}
"""Chosen on public sets; `words` are descriptions of parameters, `values` their enums."""
_DEEP = 3
"""Levels of objects in a schema that are read."""
_MEMBERS = 300
"""Schemas that are read for a tool."""
_VALUES = 40
"""Values of an enum that are read."""
_COMBINED = ("allOf", "anyOf", "oneOf")


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

    def found(self, term: str) -> Iterable[tuple[int, float]]:
        """Return the tools with a term, and its weight in each."""
        place = self._places.get(term)
        if place is None:
            return ()
        part = slice(self._ends[place], self._ends[place + 1])
        return zip(self._tools[part], self._weights[part], strict=True)

    def count(self, term: str) -> int:
        """Return in how many tools a term is."""
        place = self._places.get(term)
        return 0 if place is None else self._ends[place + 1] - self._ends[place]

    @classmethod
    def of(cls, tools: Sequence[Any]) -> Index:
        """Return the index of tools, whose numbers are their places in the sequence."""
        known = lru_cache(maxsize=None)(terms_of)
        counted = [_counts(tool, known) for tool in tools]
        postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        usual = {
            name: sum(sum(counts[name].values()) for counts in counted) / (len(counted) or 1)
            for name in FIELDS
        }
        for number, counts in enumerate(counted):
            weights: dict[str, float] = defaultdict(float)
            for name, field in FIELDS.items():
                found = counts[name]
                if found:
                    length = found.total() / usual[name]
                    share = field.weight / (1 - field.b + field.b * length)
                    for term, count in found.items():
                        weights[term] += share * count
            for term, weight in weights.items():
                postings[term].append((number, weight / (_K1 + weight)))
        return cls._packed(len(tools), postings)

    @classmethod
    def _packed(cls, size: int, postings: dict[str, list[tuple[int, float]]]) -> Index:
        ends, tools, weights = array("I", [0]), array("I"), array("f")
        for listed in postings.values():
            tools.extend([number for number, _ in listed])
            weights.extend([weight for _, weight in listed])
            ends.append(len(tools))
        return cls(size, list(postings), ends, tools, weights)

    def to_bytes(self) -> bytes:
        """Return the index as bytes for `from_bytes`, on a machine of the same kind."""
        terms = "\n".join(self._places).encode()
        parts = (terms, *(part.tobytes() for part in (self._ends, self._tools, self._weights)))
        head = json.dumps([sys.byteorder, self.size, *map(len, parts)]).encode()
        return b"\n".join((head, b"".join(parts)))

    @classmethod
    def from_bytes(cls, data: bytes) -> Index:
        """Return an index from its bytes.

        Raises:
            ValueError: They are not the bytes of an index.
        """
        head, _, body = data.partition(b"\n")
        order, size, *lengths = json.loads(head)
        parts = []
        for length in lengths:
            parts.append(body[:length])
            body = body[length:]
        terms = parts[0].decode().split("\n") if parts[0] else []
        ends, tools, weights = array("I", parts[1]), array("I", parts[2]), array("f", parts[3])
        whole = (
            order == sys.byteorder
            and len(ends) == len(terms) + 1
            and ends[0] == 0
            and ends[-1] == len(tools) == len(weights)
            and max(tools, default=-1) < size
            and all(map(math.isfinite, (sum(weights),)))
        )
        if not whole:
            raise ValueError("not an index")
        return cls(size, terms, ends, tools, weights)


def scores(indexes: Sequence[Index], terms: Mapping[str, float]) -> list[dict[int, float]]:
    """Return for each index the scores of the tools that have one of the terms.

    Terms have weights. How rare they are is counted over all indexes.
    """
    total = sum(index.size for index in indexes)
    found: list[dict[int, float]] = [{} for _ in indexes]
    for term, weight in terms.items():
        count = sum(index.count(term) for index in indexes)
        rare = weight * math.log(1 + (total - count + 0.5) / (count + 0.5))
        for index, made in zip(indexes, found, strict=True):
            get = made.get
            for tool, share in index.found(term):
                made[tool] = get(tool, 0.0) + rare * share
    return found


def _counts(tool: Any, terms: Callable[[str], tuple[str, ...]]) -> dict[str, Counter[str]]:
    """Return the terms of a tool's fields, counted."""
    texts = texts_of(tool)
    return {name: Counter(t for text in texts[name] for t in terms(text)) for name in FIELDS}


def texts_of(tool: Any) -> dict[str, list[str]]:
    """Return the texts of a tool's fields."""
    summary, _, description = tool.description.partition("\n")
    texts: dict[str, list[str]] = {name: [] for name in FIELDS}
    texts["name"], texts["path"], texts["tags"] = [tool.name], [tool.path], list(tool.tags)
    texts["summary"], texts["description"] = [summary], [description]
    for name, node in _members(tool.input_schema):
        texts["parameters"].append(name)
        if isinstance(said := node.get("description"), str):
            texts["words"].append(said)
        if isinstance(values := node.get("enum"), list):
            texts["values"] += [value for value in values[:_VALUES] if isinstance(value, str)]
    texts["answer"] = [name for name, _ in _members(tool.answer_schema or {})]
    return texts


def _members(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and schemas of an object's members, and of those of objects in it."""
    components = schema.get("$defs", {})
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    seen: set[int] = set()
    for node, depth in waiting:  # which grows
        if len(waiting) > _MEMBERS:
            return
        node = _resolved(node, components)  # noqa: PLW2901
        if id(node) in seen:
            continue
        seen.add(id(node))
        for name, member in _as_dict(node.get("properties")).items():
            resolved = _resolved(member, components)
            yield name, {**resolved, **member} if isinstance(member, dict) else {}
            if depth < _DEEP:
                waiting.append((resolved, depth + 1))
        for key in _COMBINED:
            waiting += [(branch, depth) for branch in node.get(key) or ()]
        if isinstance(items := node.get("items"), dict):
            waiting.append((items, depth))


def _as_dict(node: Any) -> dict[str, Any]:
    return node if isinstance(node, dict) else {}


def _resolved(node: Any, components: dict[str, Any]) -> dict[str, Any]:
    """Return a schema, or the component that it refers to."""
    found = _as_dict(node)
    if isinstance(ref := found.get("$ref"), str):
        return _as_dict(components.get(ref.removeprefix("#/$defs/")))
    return found
