"""Parts of schemas at a depth, said in words: the largest first, until the rest fits.

What a cut would leave is computed from the sizes of its parts, each written once; the schema is
built once, when it is known what to cut.

Spec: JSON Schema 2020-12, Core, sections 8 and 10.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.json_values import (
    IN_PLACE_KEYWORDS,
    SCHEMA_KEYWORDS,
    SUBSCHEMA_KEYWORDS,
    UNIONS,
    ensure_items,
    iter_definition_names,
    json_size,
    map_subschemas,
    omit_keys,
    resolve_reference,
    unique_values,
)
from openapi_tools.shaping.wording import brief
from openapi_tools.visible_text import cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    Schema = dict[str, Any]

_INNER = (SUBSCHEMA_KEYWORDS | {"$ref"}) - {"$defs"}
_BELOW = SUBSCHEMA_KEYWORDS - IN_PLACE_KEYWORDS - {"$defs", "definitions"}  # of members and items
_LONGEST_KEPT = 120
_DEEPEST_ITEMS = 8  # arrays in arrays, which may be a cycle
_ROOT = ""  # the part of a schema outside its definitions


def cut_below(schema: Schema, depth: int, room: int) -> Schema:
    """Return a schema that has words for schemas at a depth, the largest first.

    No two schemas in it may be one object.
    """
    found = _at_depth(schema, depth)
    if not found:
        return schema
    cuts, count = _Cuts(schema, found), 1
    while cuts.size_after(count) > room and count < len(found):
        count *= 2
    return cuts.schema_after(count)


class _Part(NamedTuple):
    """A definition, or the schema without them: its bytes, and what it refers to, how often."""

    size: int
    names: tuple[str, ...]

    @classmethod
    def of(cls, node: Any) -> _Part:
        text = json.dumps(node)
        return cls(len(text), tuple(iter_definition_names(text)))


class _Cuts:
    """What a schema is after some of its nodes, the largest first, became words."""

    def __init__(self, schema: Schema, nodes: list[Schema]) -> None:
        self._schema = schema
        self._rest = omit_keys(schema, ["$defs"])
        self._definitions: Schema = schema.get("$defs", {})
        self._parts = {_ROOT: _Part.of(self._rest)}
        for name, node in self._definitions.items():
            self._parts[_key(name)] = _Part.of(node)
        self._written = {id(node): _Part.of(node) for node in nodes}
        targets: dict[int, int] = {}
        costs = {id(node): self._cost(node, targets) for node in nodes}
        self._nodes = sorted(nodes, key=lambda node: costs[id(node)], reverse=True)
        self._words: dict[int, Schema] = {}
        self._homes: dict[int, tuple[str, int]] = {}
        self._find_homes()
        self._is_nested = any(outer for _, outer in self._homes.values())
        self._begin()

    def size_after(self, count: int) -> int:
        """Return the bytes of the schema after so many cuts, as many as before or more."""
        self._cut(count)
        kept = self._needed()
        if not kept:
            return self._sizes[_ROOT]
        definitions = sum(len(json.dumps(name)) + 4 + self._sizes[_key(name)] for name in kept)
        return self._sizes[_ROOT] + len('"$defs": ') + definitions + (2 if self._rest else 0)

    def schema_after(self, count: int) -> Schema:
        """Return the schema after so many cuts, without definitions that nothing refers to."""
        self._cut(count)
        chosen = {id(node): self._words_for(node) for node in self._nodes[:count]}

        def change(node: Any, _name: str = "") -> Any:
            words = chosen.get(id(node))
            return map_subschemas(node, change) if words is None else words

        rest: Schema = map_subschemas(self._rest, change)
        names = self._needed()
        kept = {name: change(node) for name, node in self._definitions.items() if name in names}
        return {**rest, "$defs": kept} if kept else rest

    def _cost(self, node: Schema, targets: dict[int, int]) -> int:
        own = self._written[id(node)].size
        if "$ref" not in node:
            return own
        target = _target_of(node, self._schema)
        if id(target) not in targets:
            targets[id(target)] = json_size(target)
        return own + targets[id(target)]

    def _words_for(self, node: Schema) -> Schema:
        if id(node) not in self._words:
            self._words[id(node)] = _words_for(node, self._schema)
        return self._words[id(node)]

    def _find_homes(self) -> None:
        """Find for each node the part that it is in, and the node around it, 0 without one."""
        waiting: list[tuple[Any, str, int]] = [(self._rest, _ROOT, 0)]
        waiting += [(node, _key(name), 0) for name, node in self._definitions.items()]
        while waiting:
            node, part, outer = waiting.pop()
            if not isinstance(node, dict):
                continue
            if id(node) in self._written:
                self._homes[id(node)] = (part, outer)
                outer = id(node)
            waiting += [(inner, part, outer) for inner in _parts(node, SUBSCHEMA_KEYWORDS)]

    def _begin(self) -> None:
        self._sizes = {key: part.size for key, part in self._parts.items()}
        self._lost: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._count = 0

    def _cut(self, count: int) -> None:
        """Reckon with the first nodes as words."""
        if self._is_nested:
            self._begin()
        chosen = {id(node) for node in self._nodes[:count]} if self._is_nested else set()
        for node in self._nodes[self._count : count]:
            part, outer = self._homes[id(node)]
            if self._is_within(outer, chosen):
                continue
            size, names = self._written[id(node)]
            self._sizes[part] += json_size(self._words_for(node)) - size
            if names:
                self._lost[part].update(names)
        self._count = max(count, self._count)

    def _is_within(self, outer: int, chosen: set[int]) -> bool:
        while outer and outer not in chosen:
            outer = self._homes[outer][1]
        return outer != 0

    def _needed(self) -> set[str]:
        needed: set[str] = set()
        waiting = [_ROOT]
        while waiting:
            key = waiting.pop()
            names = self._parts[key].names
            left = Counter(names) - self._lost[key] if key in self._lost else names
            for name in left:
                if name in self._definitions and name not in needed:
                    needed.add(name)
                    waiting.append(_key(name))
        return needed


def _key(name: str) -> str:
    return f"/{name}"


def _at_depth(schema: Schema, depth: int) -> list[Schema]:
    """Return the schemas at a depth of members and items that have schemas inside."""
    seen: set[int] = set()
    level = [schema]
    for _ in range(depth):
        parts = [part for node in level for part in _in_place(schema, node, seen)]
        level = [inner for part in parts for inner in _parts(part, _BELOW)]
    return [node for node in level if not _INNER.isdisjoint(node)]


def _in_place(root: Schema, node: Any, seen: set[int]) -> Iterator[Schema]:
    """Yield a schema and those that apply to the same value, each once."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict) and id(part) not in seen:
            seen.add(id(part))
            yield part
            waiting += [_target_of(part, root)] if "$ref" in part else []
            waiting += _parts(part, IN_PLACE_KEYWORDS)


def _parts(node: Schema, keywords: frozenset[str]) -> list[Schema]:
    found: list[Schema] = []
    if keywords.isdisjoint(node):
        return found
    for key in [key for key in node if key in keywords]:
        value = node[key]
        parts = (
            [value]
            if key in SCHEMA_KEYWORDS
            else value
            if isinstance(value, list)
            else value.values()
        )
        found += [part for part in parts if isinstance(part, dict)]
    return found


def _words_for(node: Schema, root: Schema) -> Schema:
    """Return a schema's type and a description that names its members or alternatives."""
    target, kept = _target_of(node, root), typed(node, root)
    text = node.get("description") or target.get("description")
    if isinstance(text, str):
        kept["description"] = brief(text, 0, _LONGEST_KEPT)
    said = _named_in(target, root)
    return with_words(kept, said) if said else kept


def _target_of(node: Any, root: Schema) -> Schema:
    for _ in range(16):
        reference = node.get("$ref") if isinstance(node, dict) else None
        if not isinstance(reference, str):
            break
        node = resolve_reference(root, reference)
    return node if isinstance(node, dict) else {}


def _types_of(node: Any, root: Schema, depth: int = 3) -> list[str]:
    """Return the types that a schema allows, as far as it names them; none where any may fit."""
    target = _target_of(node, root)
    kinds = target.get("type", [])
    if kinds or depth == 0:
        return list(kinds) if isinstance(kinds, list) else [kinds]
    for union in UNIONS:
        told = [_types_of(part, root, depth - 1) for part in target.get(union, ())]
        if told and all(told):
            return unique_values(kind for kinds in told for kind in kinds)
    told = [_types_of(part, root, depth - 1) for part in target.get("allOf", ())]
    return next((kinds for kinds in told if kinds), [])


def typed(node: Any, root: Schema) -> Schema:
    """Return a schema of the types alone that a schema allows."""
    kinds = _types_of(node, root)
    return ensure_items({"type": kinds[0] if len(kinds) == 1 else kinds}) if kinds else {}


def _named_in(node: Schema, root: Schema, depth: int = _DEEPEST_ITEMS) -> str:
    items = node.get("items")
    if isinstance(items, dict) and "properties" not in node:
        said = _named_in(_target_of(items, root), root, depth - 1) if depth else ""
        return f"Items: {said[:1].lower()}{said[1:]}" if said else ""
    members = node.get("properties")
    if isinstance(members, dict) and members:
        required = node.get("required", ())
        names = sorted(members, key=lambda name: name not in required)
        listed = ", ".join(f"{name} (required)" if name in required else name for name in names)
        return cut(f"Members: {listed}", _LONGEST_KEPT) + "."
    for union in UNIONS:
        titles = [_title(part, root) for part in node.get(union, ())]
        if any(titles):
            return cut(f"One of: {', '.join(filter(None, titles))}", _LONGEST_KEPT) + "."
    return ""


def _title(node: Any, root: Schema) -> str:
    if not isinstance(node, dict):
        return ""
    named = str(node.get("$ref", "")).rpartition("/")[2] or node.get("title")
    return str(named or next(iter(_types_of(node, root)), ""))


def with_words(node: Schema, said: str) -> Schema:
    """Return a schema with a sentence more in its description."""
    text = node.get("description")
    before = text.rstrip() if isinstance(text, str) else ""
    if before and not before.endswith((".", "!", "?", "…")):
        before += "."
    return {**node, "description": f"{before} {said}".lstrip()}
