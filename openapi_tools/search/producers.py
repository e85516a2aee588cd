"""The tools that yield the identifiers which other tools require.

Everything follows from names, paths and schemas. A required argument that identifies something
asks for keys, such as `pet id`; the objects in a tool's response and its path yield such keys. Both
use the same words, in the singular: `petId`, `pet_id`, and `id` of a `Pet` or in a list of `/pets`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cached_property, lru_cache
from itertools import islice, takewhile
from operator import eq
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_schema import DEFINITIONS_PREFIX
from openapi_tools.common.json_values import PausedGC, resolve_reference, unescape_token
from openapi_tools.common.visible_text import snake_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Names = list[tuple[str, float]]
    """Names of an object, and how surely it has each: 1 at most."""

SHOWN = 3  # producers of an argument
_KEPT = 6
# Without these bounds the graph of a large document would compare every tool with every key.
_CANDIDATES = 40  # tools that are compared for a key
_OBJECTS = 60  # objects of one response that are looked at
_MOST_PROPERTIES = 200
_PARTS = 32
_LEAST = 1.5  # of a key's weight
_SHARE = 0.12  # of the best score, for others to count
_OTHER_RESOURCE_SHARE = 0.35
_FEW = 5
_ALIKE = 2  # properties that an object shares with one resource only, at least, to be one
# A list is the likeliest source of an id; a POST creates the object that has it, which is
# seldom what a model wants.
_GAINS = {"GET": 12.0, "QUERY": 12.0, "POST": 8.0}  # of tools at the path of a collection
# Last words of arguments that identify something wherever they are.
_OWN_IDS = frozenset({"id", "uuid", "guid", "sid", "slug", "sha", "arn"})
# Names that identify an object; alone they do not say of what.
_GENERIC = _OWN_IDS | {"name", "number", "key", "code", "handle", "login", "username", "title"}
# Properties that hold what a response is about.
_CONTAINERS = frozenset(
    {"item", "data", "result", "list", "value", "entry", "content", "record", "row", "object"}
    | {"element", "response", "payload", "node", "edge", "hit", "collection", "resource", "page"}
    | {"metadata", "attribute"}
)
_FINDING = frozenset({"search", "find", "query", "lookup", "q", "keyword", "term", "filter"})
# Words of a description that say that a value identifies something.
_MENTIONS = re.compile(r"\b(?:ids?|IDs?|Ids?|identifiers?|[Uu][Uu][Ii][Dd])\b", re.ASCII)
_VARIABLE = re.compile(r"\{([^{}]+)\}")
_ENDING = re.compile(r"(?:\.(?:json|xml|\{format\}))?(?:\?.*)?$", re.ASCII)
_FORMATS = frozenset({"date", "date-time", "time", "binary", "byte", "uri", "email"})
HOLDING = frozenset({"$ref", "properties", "items", "allOf", "anyOf", "oneOf"})


class _Ask(NamedTuple):
    """A required argument: the best key that answers it, all keys, and its place in the path."""

    argument: str
    key: str
    keys: dict[str, float]
    place: int


class _ProducerFacts(NamedTuple):
    """The facts about a tool: `shape` is its path with `{}` for variables."""

    method: str
    shape: tuple[str, ...]
    asks: tuple[_Ask, ...]
    required: frozenset[str]
    bonus: float


class _Object(NamedTuple):
    """An object or list in a response: its names, identifying fields, properties; a list's item."""

    names: Names
    fields: list[str]
    properties: list[tuple[str, Any]]
    all_names: set[str]
    item: Any


class Producers:
    """The graph of the tools that yield what others require, known at once from its `data`."""

    def __init__(self, tools: Iterable[Any], data: Sequence[Mapping[str, list[int]]] = ()) -> None:
        self._tools = list(tools)
        self._producers_by_place = dict(enumerate(data))

    def places(self, place: int) -> Mapping[str, list[int]]:
        """Return the places of a tool's producers by argument, the best first; some are spare."""
        if place not in self._producers_by_place:
            self._producers_by_place[place] = self._graph.find_producers(place)
        return self._producers_by_place[place]

    def data(self) -> list[Mapping[str, list[int]]]:
        """Return `places` of each tool: the whole graph as plain data."""
        return [self.places(place) for place in range(len(self._tools))]

    @cached_property
    def _graph(self) -> _Graph:
        with PausedGC():
            return _Graph(self._tools)


class _Graph:
    """The facts about tools, and the tools that yield each key that one of them asks for."""

    def __init__(self, tools: Sequence[Any]) -> None:
        self._tools = list(map(_read_facts, tools))
        self._keys = {key for tool in self._tools for ask in tool.asks for key in ask.keys}
        self._fields = {key.rpartition(" ")[2] for key in self._keys} | self._keys | _GENERIC
        self._first = {key.partition(" ")[0] for key in self._keys}
        self._objects: dict[int, tuple[_Object, Any]] = {}
        self._owners: dict[str, set[str]] = defaultdict(set)
        for facts, tool in zip(self._tools, tools, strict=True):
            self._note_resource(facts, tool)
        # A property that many resources have, such as `created_at`, tells none of them.
        self._owners = {key: few for key, few in self._owners.items() if len(few) <= _FEW}
        self._collections: dict[tuple[str, ...], list[int]] = defaultdict(list)
        index: dict[str, list[tuple[float, int]]] = defaultdict(list)
        for place, (facts, tool) in enumerate(zip(self._tools, tools, strict=True)):
            if facts.method in _GAINS:
                self._collections[facts.shape].append(place)
                for key, weight in self._find_yields(tool, facts).items():
                    index[key].append((weight + facts.bonus - len(facts.asks), place))
        best = slice(None, -_CANDIDATES - 1, -1)
        self._index = {key: sorted(listed)[best] for key, listed in index.items()}

    def find_producers(self, place: int) -> dict[str, list[int]]:
        tool = self._tools[place]
        scores = {ask.argument: self._score_candidates(place, tool, ask) for ask in tool.asks}
        counts = Counter(other for scored in scores.values() for other in scored)
        producers = {}
        for argument, scored in scores.items():
            rank = {each: -score - counts[each] for each, score in scored.items()}
            least = _SHARE * min(rank.values(), default=0)
            ranked = sorted((e for e in rank if rank[e] <= least), key=lambda e: (rank[e], e))
            of_other_resources = [
                each
                for each in ranked[2:]
                if not self._tools[each].required <= tool.required
                and rank[each] <= _OTHER_RESOURCE_SHARE * rank[ranked[0]]
            ]
            if ranked:  # the third one starts from another resource, if one does
                producers[argument] = list(
                    dict.fromkeys([*ranked[:2], *of_other_resources[:1], *ranked])
                )[:_KEPT]
        return producers

    def _score_candidates(self, place: int, tool: _ProducerFacts, ask: _Ask) -> dict[int, float]:
        weights: dict[int, float] = {}
        for key, share in ask.keys.items():
            for weight, other in self._index.get(key, ()):
                weights[other] = max(weights.get(other, weight * share), weight * share)
        end = ask.place if ask.place >= 0 else len(tool.shape)
        for other in self._collections.get(tool.shape[:end], ())[:_CANDIDATES]:
            if ask.place >= 0 or (other in weights and tool.method != "POST"):
                weights[other] = _GAINS[self._tools[other].method]
        required, scores = tool.required, {}
        for other, weight in weights.items():
            theirs = self._tools[other].required
            if other != place and ask.key not in theirs:
                shared = takewhile(bool, map(eq, self._tools[other].shape, tool.shape))
                near = sum(shared) * 0.2
                scores[other] = weight + near + len(theirs & required) - len(theirs - required)
        return scores

    def _note_resource(self, facts: _ProducerFacts, tool: Any) -> None:
        if facts.method == "GET" and facts.shape[-1] == "{}" and "{}" not in facts.shape[-2:-1]:
            schema = tool.answer_schema or {}
            resource = " ".join(singular_words("".join(facts.shape[-2:-1])))
            for name in self._read_object(schema, schema).all_names:
                self._owners[name].add(resource)

    def _find_yields(self, tool: Any, facts: _ProducerFacts) -> dict[str, float]:
        names = _path_names(facts.shape)
        yields: dict[str, float] = {}
        schema = tool.answer_schema
        if schema is None:
            self._note_keys(yields, names, ["id"], 1.0)
            return yields
        waiting: list[tuple[Any, Names, int, bool]] = [(schema, names, 0, False)]
        for node, parent_names, level, listed in waiting:  # grows while it is walked
            described = self._read_object(node, schema)
            if described.item is not None and len(waiting) < _OBJECTS:
                waiting.append((described.item, parent_names, level, True))
            component_names = {name for name, _ in described.names}
            sure = [
                each
                for each in parent_names
                if not component_names or each[1] >= 1 or each[0] in component_names
            ]
            names_of_object = [
                *sure,
                *described.names,
                *(() if component_names else self._find_similar_resource(described.all_names)),
            ]
            self._note_keys(
                yields, names_of_object, described.fields, 2.0 * listed - 1.5 * level + 1
            )
            wraps = level == 0 and not listed and _GENERIC.isdisjoint(described.fields)
            for name, part in described.properties[: max(0, _OBJECTS - len(waiting))]:
                inside = name in _CONTAINERS
                if inside or level == 0:
                    names = names_of_object if inside else _object_names(name, 1.0)
                    deeper = level + (not inside and not wraps)
                    waiting.append((part, names, deeper, inside and listed))
        return yields

    def _note_keys(
        self, yields: dict[str, float], names: Names, fields: list[str], gain: float
    ) -> None:
        is_one = not _GENERIC.isdisjoint(fields)
        keys = [(field, gain + 1) for field in fields if field not in _GENERIC]
        short = [
            (name[:size], share * 0.8)
            for name, share in names
            for size in range(3, len(name) // 2)
            if name[:size] in self._first
        ]
        for name, share in [*names, *short]:
            keys += [(f"{name} {field}", 4 * share + gain) for field in fields]
            keys += [(name, 4 * share + gain)] if is_one else []
        for key, weight in keys:
            if key in self._keys and weight > yields.get(key, _LEAST):
                yields[key] = weight

    def _find_similar_resource(self, names: set[str]) -> Names:
        votes: dict[str, float] = defaultdict(float)
        for owners in filter(None, map(self._owners.get, names)):
            for name in owners:
                votes[name] += 1 / len(owners)
        best = max(votes, key=votes.__getitem__, default="")
        return [(best, 0.9)] if votes.get(best, 0) >= _ALIKE else []

    def _read_object(self, node: Any, root: Mapping[str, Any]) -> _Object:
        if id(node) in self._objects:
            return self._objects[id(node)][0]
        described = _Object([], [], [], set(), None)
        for component, part in iter_parts(node, root):
            described.names.extend(_object_names(component, 1.0) if component else ())
            if isinstance(part.get("items"), dict):
                described = described._replace(item=part["items"])
            if isinstance(part.get("properties"), dict):
                self._read_properties(part["properties"], described)
        self._objects[id(node)] = described, node  # the node keeps its id
        return described

    def _read_properties(self, properties: dict[str, Any], described: _Object) -> None:
        for name, node in islice(properties.items(), _MOST_PROPERTIES):
            joined = " ".join(singular_words(name))
            described.all_names.add(name)
            if joined in self._fields and len(described.fields) < _CANDIDATES:
                described.fields.append(joined)
            if isinstance(node, dict) and not HOLDING.isdisjoint(node):
                described.properties.append((joined, node))


def iter_parts(
    node: Any, root: Mapping[str, Any], keys: Sequence[str] = ("allOf", "anyOf", "oneOf")
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the schemas that a schema combines by `keys`, 32 at most, with their components."""
    waiting: list[tuple[str, Any]] = [("", node)]
    seen: set[int] = set()
    for name, part in waiting:  # grows while it is walked
        if not isinstance(part, dict) or id(part) in seen or len(seen) >= _PARTS:
            continue
        seen.add(id(part))
        yield name, part
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.startswith(DEFINITIONS_PREFIX):
            component = unescape_token(reference.removeprefix(DEFINITIONS_PREFIX))
            waiting.append((component, resolve_reference(root, reference[1:])))
        for key in keys:
            branches = part.get(key)
            if isinstance(branches, list):
                waiting += [(name, each) for each in branches[:_PARTS]]


@lru_cache(maxsize=20_000)
def singular_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case and in the singular; `idCard` ends with `id`."""
    first, *rest = map(_singular, snake_case(name[:200]).split("_"))
    return (*rest, first) if first == "id" else (first, *rest)


def _singular(word: str) -> str:
    if word.endswith(("ss", "us", "is")) or not word[2:]:
        return word
    if word.endswith("ies") and word[4:]:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("xes", "ches", "shes", "sses")) else word.removesuffix("s")


def _read_facts(tool: Any) -> _ProducerFacts:
    segments = _ENDING.sub("", tool.path).strip("/").split("/")
    schema = tool.input_schema
    shape = tuple(_VARIABLE.sub("{}", part).lower() for part in segments)
    finds = bool({*singular_words(tool.name), *schema.get("required", ())} & _FINDING)
    creates = tool.method == "POST" and not finds
    bonus = 1.5 * finds - 2.5 * creates - 2 * tool.deprecated - (shape[-1] == "{}")
    asks = tuple(_find_asks(tool, segments, schema))
    return _ProducerFacts(tool.method, shape, asks, frozenset(ask.key for ask in asks), bonus)


def _find_asks(tool: Any, segments: list[str], schema: Mapping[str, Any]) -> Iterator[_Ask]:
    properties = schema.get("properties", {})
    variables_in_path = [
        (name, at) for at, part in enumerate(segments) for name in _VARIABLE.findall(part)
    ]
    variables = {name: (name, at) for name, at in variables_in_path}
    if not variables.keys() <= properties.keys():
        parameters = tool.operation.parameters
        argument_names = {
            each.name: each.argument for each in parameters if each.location == "path"
        }
        variables = {argument_names.get(name, name): (name, at) for name, at in variables_in_path}
    last = next((part for part in reversed(segments) if "{" not in part), "")
    for argument in schema.get("required", ()):
        wire, place = variables.get(argument, (argument, -1))
        before = last
        if place >= 0:
            before = segments[place - 1] if place else ""
        node = properties.get(argument)
        if isinstance(node, dict) and _identifies(node, schema):
            keys = _asked_keys(
                singular_words(wire), () if "{" in before else singular_words(before), place >= 0
            )
            if not keys and _MENTIONS.search(str(node.get("description"))):
                keys = {f"{singular_words(wire)[-1]} id": 1.0}
            if keys:
                yield _Ask(argument, next(iter(keys)), keys, place)


def _identifies(node: Any, root: Mapping[str, Any]) -> bool:
    for _, part in iter_parts(node, root):
        if "enum" in part or "const" in part or part.get("format") in _FORMATS:
            return False
        if part.get("type") in ("boolean", "object", "number", "null"):
            return False
    return True


def _asked_keys(name: tuple[str, ...], before: tuple[str, ...], in_path: bool) -> dict[str, float]:
    *of, last = name
    if not of and last in _GENERIC:
        if not before or not (in_path or last in _OWN_IDS):
            return {}
        return {f"{' '.join(before)} {last}": 1.0, f"{before[-1]} {last}": 0.8}
    if not (in_path or last in _OWN_IDS or (not of and last.endswith("id"))):
        return {}
    keys = {" ".join(name): 1.0}
    if of[1:] and last in _GENERIC:
        keys[f"{of[-1]} {last}"] = 0.85
    if not of and last.endswith("id") and last[4:]:
        keys[f"{last[:-2]} id"] = 1.0
    if before and in_path:
        keys.setdefault(f"{before[-1]} {last}" if of else before[-1], 0.6)
    return keys


def _path_names(shape: tuple[str, ...]) -> Names:
    last = len(shape) - 1 - ("{" in shape[-1])
    names: Names = []
    for place, part in enumerate(shape[: last + 1]):
        if "{" not in part and (place == last or "{" not in shape[place + 1]):
            names += _object_names(part, 1.0 if place == last else 0.7)
    return names[-8:]


def _object_names(name: str, share: float) -> Names:
    listed = [
        each for each in singular_words(name.rpartition(".")[2] or name) if each not in _CONTAINERS
    ]
    shares = {" ".join(listed[-6:]): share} if listed else {}
    for word in listed[:-7:-1]:
        shares.setdefault(word, share * (1.0 if word == listed[-1] else 0.5))
    return list(shares.items())
