"""Schemas within a budget of bytes: each step says less in keywords and more in words.

The steps only loosen: what a schema accepts, the shortened one accepts. First go words, then equal
schemas are shared, then large enumerations, the depths, unions and, where nothing else helps,
members are said in words.

Spec: JSON Schema 2020-12, Core, section 10, and Validation, section 6.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from openapi_tools.json_values import (
    HOLDING,
    IN_PLACE,
    ONE_SCHEMA,
    everywhere,
    rebuilt,
    references,
    size_of,
    without,
)
from openapi_tools.shaping.wording import (
    UNREAD,
    brief,
    first_of,
    target_of,
    typed,
    types_of,
    with_words,
    words_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    Schema = dict[str, Any]
    Step = Callable[[Schema], Schema]

DEFINITIONS = "#/$defs/"

_MOST_VALUES = 24
_VALUES = ("default", "const", "pattern")
_LONGEST_VALUE = 1_000
_LARGEST = 2_000
_LEAST_SHARED = 60
_DEEPEST = 6
_NAMES = 2_000
_NARROWING = frozenset(
    {"not", "if", "then", "else", "contains", "minContains", "maxContains", "uniqueItems"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
"""Keywords that may refuse more where a schema in them, or beside them, accepts more."""
_INNER = (HOLDING | {"$ref"}) - {"$defs"}
_BELOW = HOLDING - IN_PLACE - {"$defs", "definitions"}
"""Keywords that hold the schemas of members and items."""
_SIMPLE = ("type", "description", "enum", "format", "default")
_SMALL = 600
_FRAME = 150
"""Bytes of an object without members and words."""


def reworded(schema: Schema, room: int) -> Schema:
    """Return a schema with fewer words and shared parts, within a number of bytes if that does.

    It accepts the same; keywords are only moved to `$defs`.
    """
    return _after(schema, room, [unnamed, shared, *_WORDS])


def fitted(schema: Schema, room: int, *, sharing: bool = True) -> Schema:
    """Return a schema within a number of bytes that accepts all that the given one does.

    Args:
        schema: An input schema: an object.
        room: Bytes that `size_of` may find; below about 150 the least is returned.
        sharing: Whether equal parts may become one of `$defs`.
    """
    steps: list[Step] = [unnamed, *([shared] if sharing else []), *_WORDS]
    found = _after(schema, room, steps)
    if size_of(found) <= room:
        return found
    found = _after(loosened(found), room, [partial(everywhere, edit=_values_in_words)])
    for depth in range(_DEEPEST, 0, -1):
        if size_of(found) > room:
            found = _cut_below(found, depth, room)
    if size_of(found) <= room:
        return found
    found = _after(_plain_root(found), room, [partial(_simple, most=m) for m in (120, 40, 0)])
    return found if size_of(found) <= room else _fewer(found, room)


def _after(schema: Schema, room: int, steps: list[Step]) -> Schema:
    """Return a schema after as few steps as are needed."""
    for step in steps:
        if size_of(schema) <= room:
            break
        schema = step(schema)
    return schema


def unnamed(schema: Schema) -> Schema:
    """Return a schema without examples, titles and comments."""
    changed: Schema = everywhere(schema, lambda node: without(node, [*UNREAD, "title"]))
    return changed


def shared(schema: Schema) -> Schema:
    """Return a schema whose equal parts are one of `$defs` each, where that saves bytes."""
    texts: dict[int, str] = {}
    counts = _counted(schema, texts)
    own = schema.get("$defs", {})
    known = {texts[id(node)]: name for name, node in own.items() if id(node) in texts}
    added: dict[str, Any] = {}

    def change(node: Any, _name: str = "") -> Any:
        text = texts.get(id(node), "")
        count = counts.get(text, 0)
        name = known.get(text) or _free(f"shared_{len(added) + 1}", own)
        if len(text) < _LEAST_SHARED or (text not in known and not _saves(text, count, name)):
            return rebuilt(node, change)
        if text not in known:
            known[text] = name
            added[name] = None
            added[name] = rebuilt(node, change)
        return {"$ref": DEFINITIONS + name}

    whole = {key: value for key, value in schema.items() if key != "$defs"}
    new = rebuilt(whole, change)
    definitions = {name: rebuilt(node, change) for name, node in own.items()}
    merged = {**new, "$defs": {**definitions, **added}} if definitions or added else new
    return merged if size_of(merged) < size_of(schema) and _leads(merged) else schema


def _saves(text: str, count: int, name: str) -> bool:
    reference = len(name) + 20
    return (count - 1) * len(text) > count * reference + len(name) + 8


def _free(name: str, taken: Schema) -> str:
    while name in taken:
        name += "_"
    return name


def _counted(schema: Schema, texts: dict[int, str]) -> Counter[str]:
    """Return how often each schema is part of another one, by its text; `texts` are by id."""
    counts: Counter[str] = Counter()
    kept: list[Any] = []

    def look(node: Any, _name: str = "") -> Any:
        if isinstance(node, dict):
            if id(node) not in texts:
                rebuilt(node, look)
                texts[id(node)] = json.dumps(node)
                kept.append(node)
            if node is not schema and "$ref" not in node:
                counts[texts[id(node)]] += 1
        return node

    look(schema)
    return counts


def _leads(schema: Schema) -> bool:
    """Tell whether each reference leads to a definition, not into one."""
    names = {DEFINITIONS + name for name in schema.get("$defs", {})}
    return references(schema) <= names


def _worded(schema: Schema, most: int, *, below: bool) -> Schema:
    """Return a schema with descriptions of `most` characters at most, in `$defs` or outside."""
    inside = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    outside = without(schema, inside)
    changed, rest = (inside, outside) if below else (outside, inside)
    return {**rest, **rebuilt(changed, lambda part, _: everywhere(part, partial(_cut, most=most)))}


def _cut(node: Schema, most: int) -> Schema:
    """Return a schema with a shorter description; none for no characters."""
    text = node.get("description")
    if not isinstance(text, str) or len(text) <= most:
        return node
    return {**node, "description": brief(text, 0, most)} if most else without(node, ["description"])


_WORDS: list[Step] = [
    partial(_worded, most=300, below=False),
    partial(_worded, most=120, below=False),
    partial(_worded, most=300, below=True),
    partial(_worded, most=120, below=True),
    partial(_worded, most=0, below=True),
]


def loosened(schema: Schema) -> Schema:
    """Return a schema in which a looser part makes the whole no stricter."""
    changed: Schema = everywhere(schema, _loose)
    return changed


def _loose(node: Schema) -> Schema:
    new = without(node, _NARROWING)
    if "oneOf" not in new:
        return new
    branches = {"anyOf": new["oneOf"]}
    more = {"allOf": [*new.get("allOf", ()), branches]} if "anyOf" in new else branches
    return {**without(new, ["oneOf"]), **more}


def _valuesin_words(node: Schema) -> Schema:
    """Return a schema whose long enumeration is named in words, without other long values."""
    long = [key for key in _VALUES if key in node and size_of(node[key]) > _LONGEST_VALUE]
    values = node.get("enum")
    if isinstance(values, list) and (len(values) > _MOST_VALUES or size_of(values) > _LARGEST):
        return with_words(without(node, ["enum", *long]), first_of(values))
    return without(node, long)


def _values_in_words(node: Schema) -> Schema:
    """Return a schema whose long enumeration is named in words, without other long values."""
    long = [key for key in _VALUES if key in node and size_of(node[key]) > _LONGEST_VALUE]
    values = node.get("enum")
    if isinstance(values, list) and (len(values) > _MOST_VALUES or size_of(values) > _LARGEST):
        return with_words(without(node, ["enum", *long]), first_of(values))
    return without(node, long)


def _cut_below(schema: Schema, depth: int, room: int) -> Schema:
    """Return a schema that has words for schemas at a depth, the largest first."""
    schema = everywhere(schema, dict)  # so that no two schemas are one object
    found = sorted(_at_depth(schema, depth), key=partial(_weight, schema), reverse=True)
    count = 1
    while found:
        chosen = {id(node) for node in found[:count]}
        small = pruned(_without_parts(schema, chosen))
        if size_of(small) <= room or count >= len(found):
            return small
        count *= 2
    return schema


def _weight(root: Schema, node: Schema) -> int:
    return size_of(node) + (size_of(target_of(node, root)) if "$ref" in node else 0)


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
            waiting += [target_of(part, root)] if "$ref" in part else []
            waiting += _parts(part, IN_PLACE)


def _parts(node: Schema, keywords: frozenset[str]) -> list[Schema]:
    """Return the schemas right in a schema that some keywords hold."""
    found: list[Any] = []
    for key in node.keys() & keywords:
        value = node[key]
        found += (
            [value] if key in ONE_SCHEMA else value if isinstance(value, list) else value.values()
        )
    return [part for part in found if isinstance(part, dict)]


def _without_parts(schema: Schema, chosen: set[int]) -> Schema:
    """Return a schema in which the chosen ones are said in words."""

    def change(node: Any, _name: str = "") -> Any:
        return words_for(node, schema) if id(node) in chosen else rebuilt(node, change)

    changed: Schema = rebuilt(schema, change)
    return changed


def pruned(schema: Schema) -> Schema:
    """Return a schema without definitions that nothing refers to; lost references accept all."""
    definitions = schema.get("$defs", {})
    reached: dict[str, Any] = {}
    waiting = references(without(schema, ["$defs"]))
    while waiting:
        name = waiting.pop().removeprefix(DEFINITIONS)
        if name in definitions and name not in reached:
            reached[name] = definitions[name]
            waiting |= references(reached[name])
    kept = {name: node for name, node in definitions.items() if name in reached}
    rest = without(schema, ["$defs"])
    return {**rest, "$defs": kept} if kept else rest


def _plain_root(schema: Schema) -> Schema:
    """Return the root as an object of declared members and nothing else."""
    kept = ("type", "properties", "required", "additionalProperties", "description", "$defs")
    return {key: schema[key] for key in kept if key in schema}


def _simple(schema: Schema, most: int) -> Schema:
    """Return a schema whose members have a type, a few words and short values."""

    def change(node: Any) -> Any:
        if not isinstance(node, dict):
            return {} if node is True else node
        kinds = types_of(node, schema)
        simple = {key: node[key] for key in _SIMPLE if key in node}
        simple = {key: value for key, value in simple.items() if size_of(value) <= _SMALL}
        return _cut({**typed(kinds), **simple}, most)

    members = {name: change(node) for name, node in schema.get("properties", {}).items()}
    is_closed = schema.get("additionalProperties") is False
    rest = without(schema, ("$defs", "additionalProperties"))
    return {**rest, "properties": members, **({"additionalProperties": False} if is_closed else {})}


def _fewer(schema: Schema, room: int) -> Schema:
    """Return an open object with the members that fit, the required ones first."""
    members, required = schema.get("properties", {}), dict.fromkeys(schema.get("required", ()))
    words = min(_NAMES, room // 4)
    left = room - words - _FRAME
    kept: Schema = {}
    for name in sorted(members, key=lambda name: name not in required):
        for node in (members[name], _bare(members[name])):
            cost = size_of({name: node}) + (size_of(name) + 2 if name in required else 0)
            if cost <= left:
                kept[name] = node
                left -= cost
                break
    rest = sorted((name for name in members if name not in kept), key=lambda n: n not in required)
    return {
        "type": "object",
        "description": _restin_words(rest, required, words),
        "properties": {name: kept[name] for name in members if name in kept},
        "required": [name for name in required if name in kept],
        "additionalProperties": True,
    }


def _bare(node: Any) -> Any:
    return without(node, ["description", "default", "enum"]) if isinstance(node, dict) else node


def _restin_words(names: list[str], required: Collection[str], most: int) -> str:
    """Return a sentence with the count and the names of members, as far as they fit."""
    said = f"{len(names)} more arguments may be given, as far as they fit here: "
    left = most - size_of(said)
    listed: list[str] = []
    for name in names:
        word = f"{name} (required)" if name in required else name
        left -= size_of(word)
        if left < 0:
            listed.append("…")
            break
        listed.append(word)
    return said + ", ".join(listed)
