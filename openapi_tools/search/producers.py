"""Which tools yield the identifiers that other tools require.

Everything follows from names, paths and schemas. A required argument that identifies something
asks for keys, such as `pet id`; the objects in a tool's answer and its path yield such keys. Both
use the same words, in the singular: `petId`, `pet_id`, and `id` of a `Pet` or in a list of `/pets`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.json_values import DEFINITIONS, resolve, unescape
from openapi_tools.visible_text import snake_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_MOST = 3
"""Producers of one argument."""
_CANDIDATES = 40
_OBJECTS = 60
"""Objects of one answer that are looked at."""
_MEMBERS = 200
_PARTS = 32
_DEEPEST = 1
_LONGEST_SHORT = 5
_LOW = 50.0
_LEAST = 1.5
_SHARE = 0.12
"""Of the best score, for others to count."""
_OWN_IDS = frozenset({"id", "uuid", "guid", "sid", "slug", "sha", "arn"})
"""Last words of arguments that identify something wherever they are."""
_GENERIC = _OWN_IDS | {"name", "number", "key", "code", "handle", "login", "username", "title"}
"""Names that identify an object; alone they do not say of what."""
_CONTAINERS = frozenset(
    {"item", "data", "result", "list", "value", "entry", "content", "record", "row", "object"}
    | {"element", "response", "payload", "node", "edge", "hit", "collection", "resource", "page"}
    | {"metadata", "attribute"}
)
"""Members that hold what an answer is about."""
_FINDING = frozenset({"search", "find", "query", "lookup", "q", "keyword", "term", "filter"})
_MENTIONS = re.compile(r"\b(?:ids?|IDs?|Ids?|identifiers?|[Uu][Uu][Ii][Dd])\b", re.ASCII)
"""Words of a description that say that a value identifies something."""
_VARIABLE = re.compile(r"\{([^{}]+)\}")
_ENDING = re.compile(r"\.(?:json|xml|\{format\})$", re.ASCII)
_FORMATS = frozenset({"date", "date-time", "time", "binary", "byte", "uri", "email"})


class _Ask(NamedTuple):
    """A required argument: the keys that answer it, the best first, and its place in the path."""

    argument: str
    keys: tuple[tuple[str, float], ...]
    place: int


class _Tool(NamedTuple):
    """The facts about a tool: `shape` is its path with `{}` for variables."""

    method: str
    shape: tuple[str, ...]
    asks: tuple[_Ask, ...]
    bonus: float


class Producers:
    """The graph of the tools that yield what others require.

    Tools of different documents are not joined. Args:
        tools: Of a toolset.
        data: Of `data()` for the same tools, which makes the graph known at once.
    """

    def __init__(self, tools: Iterable[Any], data: Sequence[Mapping[str, list[int]]] = ()) -> None:
        self._tools = list(tools)
        self._names = [tool.name for tool in self._tools]
        self._places = {name: place for place, name in enumerate(self._names)}
        self._found = dict(enumerate(data))
        self._graphs: dict[int, _Graph] = {}

    def of(self, name: str) -> dict[str, tuple[str, ...]]:
        """Return the tools that yield a tool's required identifiers, by argument, the best first.

        Raises:
            KeyError: No tool has this name.
        """
        found = self._of(self._places[name])
        return {key: tuple(self._names[each] for each in places) for key, places in found.items()}

    def data(self) -> list[Mapping[str, list[int]]]:
        """Return the whole graph as plain data: for each tool the places of producers."""
        return [self._of(place) for place in range(len(self._tools))]

    def _of(self, place: int) -> Mapping[str, list[int]]:
        if place not in self._found:
            if not self._graphs:
                self._graphs = self._made()
            self._found[place] = self._graphs[place].of(place)
        return self._found[place]

    def _made(self) -> dict[int, _Graph]:
        parts: dict[int, dict[int, Any]] = defaultdict(dict)
        for place, tool in enumerate(self._tools):
            parts[id(getattr(tool, "_session", None))][place] = tool
        graphs = map(_Graph, parts.values())
        return {place: graph for graph in graphs for place in graph.tools}


class _Graph:
    """The graph of one document's tools, which are given by their places."""

    def __init__(self, tools: Mapping[int, Any]) -> None:
        self._keys: set[str] = set()
        self._seen: dict[int, tuple[Any, ...]] = {}
        self.tools = {place: self._facts(tool) for place, tool in tools.items()}
        self._fields = {key.rpartition(" ")[2] for key in self._keys} | self._keys | _GENERIC
        self._short = _shortened(self._keys)
        self._index: dict[str, list[tuple[float, int]]] = defaultdict(list)
        self._collections: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, facts in self.tools.items():
            self._collections[facts.shape].append(place)
            if facts.bonus > -_LOW:
                for key, weight in self._yields(tools[place], facts).items():
                    self._index[key].append((weight + facts.bonus - len(facts.asks), place))
        for listed in self._index.values():
            listed.sort(reverse=True)

    def of(self, place: int) -> dict[str, list[int]]:
        """Return the places of the best producers by argument."""
        tool = self.tools[place]
        scores = {ask.argument: self._scores(place, tool, ask) for ask in tool.asks}
        counts = Counter(other for found in scores.values() for other in found)
        made = {}
        for argument, found in scores.items():
            rank = {each: -score - counts[each] for each, score in found.items()}
            least = _SHARE * min(rank.values(), default=0)
            ranked = sorted((e for e in rank if rank[e] <= least), key=lambda e: (rank[e], e))
            if ranked:
                made[argument] = self._varied(ranked, tool)
        return made

    def _varied(self, ranked: list[int], tool: _Tool) -> list[int]:
        """Return the first ones; the last of them starts from another resource, if one does."""
        own = {each.keys[0][0] for each in tool.asks}
        apart = [e for e in ranked if not {a.keys[0][0] for a in self.tools[e].asks} <= own]
        first = ranked[:_MOST]
        return first if not apart or apart[0] in first else [*first[: _MOST - 1], apart[0]]

    def _scores(self, place: int, tool: _Tool, ask: _Ask) -> dict[int, float]:
        """Return the candidates for an argument, and how good they are."""
        found: dict[int, float] = {}
        for key, share in ask.keys:
            for weight, other in self._index.get(key, ())[:_CANDIDATES]:
                found[other] = max(found.get(other, -_LOW), weight * share)
        end = ask.place if ask.place >= 0 else len(tool.shape)
        for other in self._collections.get(tool.shape[:end], ()):
            gain = {"GET": 12.0, "QUERY": 12.0, "POST": 8.0}.get(self.tools[other].method)
            if gain and (ask.place >= 0 or other in found):
                found[other] = gain
        own = {each.keys[0][0] for each in tool.asks}
        good = {}
        for other, weight in found.items():
            facts = self.tools[other]
            theirs = {each.keys[0][0] for each in facts.asks}
            if other != place and ask.keys[0][0] not in theirs:
                near = min(_common(facts.shape, tool.shape) * 0.2, 1)
                good[other] = weight + len(theirs & own) - len(theirs - own) + near
        return good

    def _facts(self, tool: Any) -> _Tool:
        """Return the facts about a tool, and note the keys that it asks for."""
        segments = _ENDING.sub("", tool.path).strip("/").split("/")
        schema = tool.input_schema
        asks = tuple(_asks(tool, segments, schema))
        self._keys.update(key for ask in asks for key, _ in ask.keys)
        shape = tuple(_VARIABLE.sub("{}", part).lower() for part in segments)
        finding = {*words(tool.name), *schema.get("required", ())} & _FINDING
        bonus = 1.5 if finding else 0.0
        if tool.method not in ("GET", "QUERY"):
            bonus -= (0.5 if finding else 2.5) if tool.method == "POST" else _LOW
        return _Tool(tool.method, shape, asks, bonus - 2 * tool.deprecated)

    def _yields(self, tool: Any, facts: _Tool) -> dict[str, float]:
        """Return the keys that a tool's answer yields, and how good it is for each."""
        names = _path_names(facts.shape)
        made: dict[str, float] = {}
        answer = tool.answer_schema
        if answer is None:
            self._note(made, names, ["id"], 1.0)
            return made
        waiting: list[tuple[Any, list[tuple[str, float]], int, bool]] = [(answer, names, 0, False)]
        for node, known, level, listed in waiting:  # grows while it is walked
            title, fields, members, item = self._looked(node, answer)
            if item is not None:
                waiting.append((item, known, level, True))
            told = {name for name, _ in title}
            own = [*(each for each in known if not told or each[1] >= 1 or each[0] in told), *title]
            self._note(made, own, fields, 2.0 * listed - 1.5 * level + 1)
            wraps = not listed and _GENERIC.isdisjoint(fields)
            for name, member in members[: max(0, _OBJECTS - len(waiting))]:
                inside = name in _CONTAINERS
                deeper = level + (not (inside or (wraps and level == 0)))
                if deeper <= _DEEPEST:
                    names = own if inside else _named(name, 1.0)
                    waiting.append((member, names, deeper, listed and inside))
        return made

    def _note(
        self, made: dict[str, float], names: list[tuple[str, float]], fields: list[str], gain: float
    ) -> None:
        """Note the keys of an object: its names, each with its fields, and long fields alone."""
        wanted, keys = self._keys, []
        for name, share in [*names, *self._aliases(names)]:
            weight = 4 * share + gain
            keys += [(f"{name} {field}", weight) for field in fields]
            if not _GENERIC.isdisjoint(fields):
                keys.append((name, weight))
        keys += [(field, gain + 1) for field in fields if field not in _GENERIC]
        for key, weight in keys:
            if key in wanted and weight > made.get(key, _LEAST):
                made[key] = weight

    def _aliases(self, names: list[tuple[str, float]]) -> Iterator[tuple[str, float]]:
        for name, share in names:
            for short in self._short.get(name[:3], ()):
                if name.startswith(short) and len(name) >= 2 * len(short) + 2 and " " not in name:
                    yield short, share * 0.8

    def _looked(self, node: Any, root: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return an object's names, identifying fields and members, and the item of a list."""
        key = id(node)
        if key not in self._seen:
            title: list[tuple[str, float]] = []
            fields: dict[str, None] = {}
            members: list[tuple[str, Any]] = []
            item = None
            for component, part in parts(node, root):
                title += _named(component, 1.0) if component else []
                item = part["items"] if isinstance(part.get("items"), dict) else item
                own, inner = self._properties(part.get("properties"))
                fields.update(own)
                members += inner
            self._seen[key] = (title, list(fields), members, item, node)  # which keeps the id
        return self._seen[key][:4]

    def _properties(self, properties: Any) -> tuple[Any, ...]:
        """Return the fields that may identify, and the members that hold others."""
        if not isinstance(properties, dict):
            return {}, []
        key = id(properties)
        if key not in self._seen:
            fields: dict[str, None] = {}
            members: list[tuple[str, Any]] = []
            for name, member in islice(properties.items(), _MEMBERS):
                words_of = " ".join(words(name))
                if words_of in self._fields:
                    fields[words_of] = None
                if isinstance(member, dict) and not _HOLDING.isdisjoint(member):
                    members.append((words_of, member))
            self._seen[key] = (fields, members, properties)
        return self._seen[key][:2]


_HOLDING = frozenset({"$ref", "properties", "items", "allOf", "anyOf", "oneOf"})


def parts(
    node: Any, root: Mapping[str, Any], keys: Sequence[str] = ("allOf", "anyOf", "oneOf")
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the schemas that a schema combines, 32 at most, each with the name of its component.

    Args:
        node: The schema; its references are followed.
        root: The schema with the `$defs`.
        keys: Keywords whose schemas count.
    """
    waiting: list[tuple[str, Any]] = [("", node)]
    seen: set[int] = set()
    for name, part in waiting:  # grows while it is walked
        if not isinstance(part, dict) or id(part) in seen or len(seen) >= _PARTS:
            continue
        seen.add(id(part))
        yield name, part
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.startswith(DEFINITIONS):
            component = unescape(reference.removeprefix(DEFINITIONS))
            waiting.append((component, resolve(root, reference[1:])))
        for key in keys:
            branches = part.get(key)
            if isinstance(branches, list):
                waiting += [(name, each) for each in branches[:_PARTS]]


@lru_cache(maxsize=20_000)
def words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case and in the singular."""
    first, *others = map(_singular, snake_case(name[:200]).split("_"))
    return (*others, first) if first == "id" else (first, *others)  # idCard


def _singular(word: str) -> str:
    if word.endswith(("ss", "us", "is")) or not word[2:]:
        return word
    if word.endswith("ies") and word[4:]:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("xes", "ches", "shes", "sses")) else word.removesuffix("s")


def _asks(tool: Any, segments: list[str], schema: Mapping[str, Any]) -> Iterator[_Ask]:
    """Yield the required arguments of a tool that identify something."""
    required, properties = schema.get("required", ()), schema.get("properties", {})
    variables = {
        name: (name, place)
        for place, part in enumerate(segments)
        for name in _VARIABLE.findall(part)
    }
    if not variables.keys() <= properties.keys():
        known = {each.name: each.argument for each in tool.operation.parameters}
        variables = {known.get(name, name): found for name, found in variables.items()}
    last = next((part for part in reversed(segments) if "{" not in part), "")
    for argument in required:
        wire, place = variables.get(argument, (argument, -1))
        before = (segments[place - 1] if place > 0 else "") if place >= 0 else last
        node = properties.get(argument)
        if _identifies(node, schema):
            keys = _keys(words(wire), () if "{" in before else words(before), place >= 0)
            if not keys and _MENTIONS.search(str(node.get("description"))):
                keys = {f"{words(wire)[-1]} id": 1.0}
            if keys:
                yield _Ask(argument, tuple(keys.items()), place)


def _identifies(node: Any, root: Mapping[str, Any]) -> bool:
    """Tell whether values may identify something: free texts and whole numbers."""
    if not isinstance(node, dict):
        return False
    for _, part in islice(parts(node, root), 4):
        kinds = part.get("type", "string")
        if "enum" in part or "const" in part or part.get("format") in _FORMATS:
            return False
        if kinds in ("boolean", "object", "number", "null"):
            return False
    return True


def _keys(name: tuple[str, ...], before: tuple[str, ...], in_path: bool) -> dict[str, float]:
    """Return the keys that answer an argument, and how well; `before` are words of the path."""
    *of, last = name
    keys: dict[str, float] = {}
    if len(name) == 1 and last in _GENERIC:
        if before and (in_path or last in _OWN_IDS):
            keys = {f"{' '.join(before)} {last}": 1.0, f"{before[-1]} {last}": 0.8}
    elif in_path or last in _OWN_IDS or (len(name) == 1 and last.endswith("id")):
        keys = {" ".join(name): 1.0}
        if len(of) > 1 and last in _GENERIC:
            keys.setdefault(f"{of[-1]} {last}", 0.7)
        if not of and last.endswith("id") and last[4:]:
            keys[f"{last[:-2]} id"] = 1.0
        if before and in_path:
            keys.setdefault(f"{before[-1]} {last}" if of else before[-1], 0.6)
    return keys


def _path_names(shape: tuple[str, ...]) -> list[tuple[str, float]]:
    """Return the names of the objects at a path: its last part, and earlier ones."""
    last = len(shape) - 1 - ("{" in shape[-1])
    names: list[tuple[str, float]] = []
    for place, part in enumerate(shape[: last + 1]):
        if "{" not in part and (place == last or "{" not in shape[place + 1]):
            names += _named(part, 1.0 if place == last else 0.7)
    return names[-8:]


def _named(name: str, share: float) -> list[tuple[str, float]]:
    """Return the names of an object called so: the whole, its last word, and its others."""
    last = name.rpartition(".")[2] or name
    listed = [word for word in words(last) if word not in _CONTAINERS][-6:]
    found = {" ".join(listed): share} if listed else {}
    for word in reversed(listed):
        found.setdefault(word, share * (1.0 if word == listed[-1] else 0.6))
    return list(found.items())


def _shortened(keys: Iterable[str]) -> dict[str, list[str]]:
    """Return the first words of keys, which may be short for longer ones, by three letters."""
    found: dict[str, set[str]] = defaultdict(set)
    for key in keys:
        word = key.partition(" ")[0]
        if word[2:] and not word[_LONGEST_SHORT:]:
            found[word[:3]].add(word)
    return {start: sorted(each) for start, each in found.items()}


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count
