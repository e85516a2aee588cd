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
from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import counted
from openapi_tools.json_values import (
    DEFINITIONS_PREFIX,
    SUBSCHEMA_KEYWORDS,
    definition_names,
    ensure_items,
    json_size,
    loosen_schema,
    map_subschemas,
    omit_keys,
    transform_schemas,
)
from openapi_tools.providers.cuts import cut_below, typed, with_words
from openapi_tools.shaping.wording import UNREAD, brief
from openapi_tools.visible_text import cut

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Schema = dict[str, Any]
    Step = Callable[[Schema], Schema]

_MOST_VALUES = 24
_VALUES = ("default", "const", "pattern")
_WORDY = (*UNREAD, "title", "description")
_LONGEST_VALUE = 1_000
_LARGEST = 2_000
_LEAST_SHARED = 60
_DEEPEST = 6
_NAMES = 2_000
_NARROWING = frozenset(
    {"not", "if", "then", "else", "contains", "minContains", "maxContains", "uniqueItems"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
"""Keywords that may refuse more values when a schema in or beside them accepts more."""
_OF_ROOT = ("type", "properties", "required", "additionalProperties", "description", "$defs")
_SIMPLE = ("type", "description", "enum", "format", "default")
_MORE_WORDS = ("description", "default", "enum")
_SMALL = 600
_FIRST_VALUES = 12
_LONGEST_SHOWN = 40
_LONGEST_LIST = 300
_FRAME = 150  # bytes of an object without members and words


def reworded(schema: Schema, room: int) -> Schema:
    """Return an equivalent schema with fewer words and shared parts, within `room` if possible."""
    if json_size(schema) > room and _exceeds(schema, room):
        return schema
    return _after(schema, room, [_unnamed, _shared, *_WORDS])


def fitted(schema: Schema, room: int, *, sharing: bool = True) -> Schema:
    """Return a looser schema within `room` bytes, if 150 or more; `sharing` may add `$defs`."""
    steps: list[Step] = [_unnamed, *([_shared] if sharing else []), *_WORDS]
    found = _after(schema, room, steps)
    if json_size(found) <= room:
        return found
    found = transform_schemas(found, partial(loosen_schema, keywords=_NARROWING))
    found = _after(found, room, [partial(transform_schemas, edit=_values_in_words)])
    found = transform_schemas(found, dict)  # so that no two schemas are one object
    for depth in range(_DEEPEST, 0, -1):
        if json_size(found) > room:
            found = cut_below(found, depth, room)
    if json_size(found) <= room:
        return found
    plain = {key: found[key] for key in _OF_ROOT if key in found}
    found = _after(plain, room, [partial(_simple, most=m) for m in (120, 40, 0)])
    return found if json_size(found) <= room else _fewer(found, room)


def _after(schema: Schema, room: int, steps: list[Step]) -> Schema:
    for step in steps:
        if json_size(schema) <= room:
            break
        schema = step(schema)
    return schema


def _exceeds(schema: Schema, room: int) -> bool:
    """Tell whether no schema of fewer words and shared parts is within `room` bytes.

    Each of its unequal parts is written once at least: its keywords and names, without words.
    """
    numbers: dict[Any, int] = {}  # of unequal parts
    known: dict[int, int] = {}  # the same ones, by the ids of all
    size = 0

    def number(node: Any) -> int:
        nonlocal size
        if size > room:
            return 0
        if id(node) not in known:
            bare = omit_keys(node, _WORDY) if isinstance(node, dict) else node
            inner: list[Any] = []
            map_subschemas(bare, lambda part, name: inner.append((name, number(part))))
            text = json.dumps(
                omit_keys(bare, SUBSCHEMA_KEYWORDS) if isinstance(bare, dict) else bare
            )
            part = (text, *inner)
            if part not in numbers:
                numbers[part] = len(numbers)
                size += len(text) + sum(len(name) + 4 for name, _ in inner if name)
            known[id(node)] = numbers[part]
        return known[id(node)]

    number(schema)
    return size > room


def _shared(schema: Schema) -> Schema:
    """Return a schema whose equal parts are one of `$defs` each, where that saves bytes."""
    texts: dict[int, str] = {}
    counts = _counted(schema, texts)
    own = schema.get("$defs", {})
    known = {texts[id(node)]: name for name, node in own.items() if id(node) in texts}
    added: dict[str, Any] = {}

    def change(node: Any, _name: str = "") -> Any:
        text = texts.get(id(node), "")
        count, name = counts.get(text, 0), known.get(text) or f"shared_{len(added) + 1}"
        while text not in known and name in own:
            name += "_"
        saved = (count - 1) * len(text) - count * (len(name) + 20) - len(name) - 8
        if len(text) < _LEAST_SHARED or (text not in known and saved <= 0):
            return map_subschemas(node, change)
        if text not in known:
            known[text] = name
            added[name] = None
            added[name] = map_subschemas(node, change)
        return {"$ref": DEFINITIONS_PREFIX + name}

    new = map_subschemas(omit_keys(schema, ["$defs"]), change)
    definitions = {name: map_subschemas(node, change) for name, node in own.items()}
    merged = {**new, "$defs": {**definitions, **added}} if definitions or added else new
    leads = (
        definition_names(merged) <= merged.get("$defs", {}).keys()
    )  # to definitions, not into one
    return merged if leads and json_size(merged) < json_size(schema) else schema


def _counted(schema: Schema, texts: dict[int, str]) -> Counter[str]:
    """Return how often each schema is part of another one, by its text; `texts` are by id."""
    counts: Counter[str] = Counter()
    kept: list[Any] = []

    def look(node: Any, _name: str = "") -> Any:
        if isinstance(node, dict):
            if id(node) not in texts:
                map_subschemas(node, look)
                texts[id(node)] = json.dumps(node)
                kept.append(node)
            if node is not schema and "$ref" not in node:
                counts[texts[id(node)]] += 1
        return node

    look(schema)
    return counts


def _worded(schema: Schema, most: int, *, below: bool) -> Schema:
    """Return a schema with descriptions of `most` characters at most, in `$defs` or outside."""
    inside = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    outside = omit_keys(schema, inside)
    changed, rest = (inside, outside) if below else (outside, inside)
    return {
        **rest,
        **map_subschemas(
            changed, lambda part, _: transform_schemas(part, partial(_cut, most=most))
        ),
    }


def _cut(node: Schema, most: int) -> Schema:
    text = node.get("description")
    if not isinstance(text, str) or len(text) <= most:
        return node
    return (
        {**node, "description": brief(text, 0, most)} if most else omit_keys(node, ["description"])
    )


_unnamed: Step = partial(transform_schemas, edit=lambda node: omit_keys(node, [*UNREAD, "title"]))
_WORDS: list[Step] = [
    partial(_worded, most=most, below=below)
    for below, most in ((False, 300), (False, 120), (True, 300), (True, 120), (True, 0))
]


def _values_in_words(node: Schema) -> Schema:
    """Return a schema whose long enumeration is named in words, without other long values."""
    long = [key for key in _VALUES if key in node and json_size(node[key]) > _LONGEST_VALUE]
    values = node.get("enum")
    if isinstance(values, list) and (len(values) > _MOST_VALUES or json_size(values) > _LARGEST):
        return with_words(omit_keys(node, ["enum", *long]), _first_of(values))
    return omit_keys(node, long)


def _simple(schema: Schema, most: int) -> Schema:
    """Return a schema whose members have a type, a few words and short values."""

    def change(node: Any) -> Any:
        if not isinstance(node, dict):
            return {} if node is True else node
        simple = {k: node[k] for k in _SIMPLE if k in node and json_size(node[k]) <= _SMALL}
        return _cut(ensure_items({**typed(node, schema), **simple}), most)

    members = {name: change(node) for name, node in schema.get("properties", {}).items()}
    is_open = schema.get("additionalProperties") is not False
    gone = ("$defs", "additionalProperties") if is_open else ("$defs",)
    return {**omit_keys(schema, gone), "properties": members}


def _fewer(schema: Schema, room: int) -> Schema:
    """Return an open object with the members that fit, the required ones first."""
    members, required = schema.get("properties", {}), dict.fromkeys(schema.get("required", ()))
    words = min(_NAMES, room // 4)
    left = room - words - _FRAME
    kept: Schema = {}
    names = sorted(members, key=lambda name: name not in required)
    for name in names:
        whole = members[name]
        bare = omit_keys(whole, _MORE_WORDS) if isinstance(whole, dict) else whole
        for node in (whole, bare):
            cost = json_size({name: node}) + (json_size(name) + 2 if name in required else 0)
            if cost <= left:
                kept[name] = node
                left -= cost
                break
    return {
        "type": "object",
        "description": _rest_in_words([n for n in names if n not in kept], required, words),
        "properties": {name: kept[name] for name in members if name in kept},
        "required": [name for name in required if name in kept],
        "additionalProperties": True,
    }


def _rest_in_words(names: list[str], required: Collection[str], most: int) -> str:
    """Return a sentence with the count and the names of members, as far as they fit."""
    said = f"{counted(len(names), 'more argument')} may be given, as far as they fit here: "
    left = most - json_size(said)
    listed: list[str] = []
    for name in names:
        word = f"{name} (required)" if name in required else name
        left -= json_size(word)
        if left < 0:
            listed.append("…")
            break
        listed.append(word)
    return said + ", ".join(listed)


def _first_of(values: list[Any]) -> str:
    first = (cut(json.dumps(value, ensure_ascii=False), _LONGEST_SHOWN) for value in values)
    shown = ", ".join(islice(first, _FIRST_VALUES))
    return cut(f"One of {len(values)} values: {shown}, …", _LONGEST_LIST)
