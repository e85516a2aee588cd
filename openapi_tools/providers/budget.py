"""Schemas within a budget of bytes: each step has fewer keywords and more descriptions.

The steps only loosen: what a schema accepts, the shortened one accepts. First, descriptions are
shortened and equal schemas shared; then large enumerations, deep schemas, unions and, where nothing
else helps, properties are replaced by descriptions.

Spec: JSON Schema 2020-12, Core, section 10, and Validation, section 6.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import (
    DEFINITIONS_PREFIX,
    SUBSCHEMA_KEYWORDS,
    ensure_items,
    map_subschemas,
    remove_keywords,
    transform_schemas,
)
from openapi_tools.common.json_values import json_size, omit_keys
from openapi_tools.common.visible_text import truncate_text
from openapi_tools.errors import format_count
from openapi_tools.providers.cuts import add_sentence, cut_levels, type_schema
from openapi_tools.providers.identity_cache import IdentityCache, SchemaSizes
from openapi_tools.providers.wording import UNNEEDED_KEYWORDS, shorten_description

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Schema = dict[str, Any]
    Edit = Callable[[Schema], Schema]  # of one schema
    Step = Callable[[Schema], Schema]  # of a whole one

# More values cost more than they help; the API names the right ones in its error.
_MOST_VALUES = 24
_VALUES = ("default", "const", "pattern")
_WORDY = (*UNNEEDED_KEYWORDS, "title", "description")
_LONGEST_VALUE = 1_000
_LARGEST = 2_000
# A reference and a name take some 50 bytes themselves.
_LEAST_SHARED = 60
_DEEPEST = 6
_NAMES = 2_000
# Keywords that may refuse more values when a schema in or beside them accepts more.
_NARROWING = frozenset(
    {"not", "if", "then", "else", "contains", "minContains", "maxContains", "uniqueItems"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
_OF_ROOT = ("type", "properties", "required", "additionalProperties", "description", "$defs")
_SIMPLE = ("type", "description", "enum", "format", "default")
_MORE_WORDS = ("description", "default", "enum")
_SMALL = 600
_FIRST_VALUES = 12
_LONGEST_SHOWN = 40
_LONGEST_LIST = 300
_FRAME = 150  # bytes of an object without properties and words


class Shortener:
    """Shortens the schemas of a document; what its tools share is measured and edited once."""

    def __init__(self) -> None:
        self.sizes = SchemaSizes()
        self._edited: defaultdict[Edit, IdentityCache[Any]] = defaultdict(IdentityCache)
        self._inventories: IdentityCache[_Inventory] = IdentityCache()
        self._unequal = _DistinctParts()

    def shorten_words(self, schema: Schema, limit: int) -> Schema:
        """Return an equivalent schema with fewer words and shared parts, if one fits `limit`."""
        if self.sizes.size(schema) > limit and self._unequal.exceeds(schema, limit):
            return schema
        return self._apply_steps(
            schema, limit, [self._drop_annotations, self._share, *self._word_steps()]
        )

    def fit(
        self, schema: Schema, limit: int, *, sharing: bool = True, noun: str = "argument"
    ) -> Schema:
        """Return a looser schema within `limit` bytes, 150 at least; `sharing` may add `$defs`.

        `noun`: what the properties of the root are, for a reader.
        """
        if self.sizes.size(schema) <= limit:
            return schema
        share = [self._share] if sharing else []
        if self._unequal.exceeds(schema, limit):
            # It does not fit whatever is shortened, so nothing in between is measured.
            for step in (self._drop_annotations, *share, self._drop_words):
                schema = step(schema)
        else:
            schema = self._apply_steps(
                schema, limit, [self._drop_annotations, *share, *self._word_steps()]
            )
            if self.sizes.size(schema) <= limit:
                return schema
        schema = self._edit_all(schema, _drop_narrowing)
        schema = self._apply_steps(
            schema, limit, [partial(self._edit_all, edit=_describe_long_values)]
        )
        schema = cut_levels(schema, range(_DEEPEST, 0, -1), limit)
        if json_size(schema) <= limit:
            return schema
        plain = {key: schema[key] for key in _OF_ROOT if key in schema}
        schema = self._apply_steps(
            plain, limit, [partial(_simplify_properties, most=m) for m in (120, 40, 0)]
        )
        if json_size(schema) <= limit:
            return schema
        return _keep_fitting_properties(schema, limit, noun)

    def _apply_steps(self, schema: Schema, limit: int, steps: list[Step]) -> Schema:
        for step in steps:
            if self.sizes.size(schema) <= limit:
                break
            schema = step(schema)
        return schema

    def _edit_all(self, schema: Schema, edit: Edit) -> Schema:
        return edit(self._edit_parts(schema, edit))

    def _edit_parts(self, schema: Schema, edit: Edit) -> Schema:
        edited = self._edited[edit]

        def change(part: Any, _name: str) -> Any:
            return edited.find(part, lambda part: transform_schemas(part, edit))

        new: Schema = map_subschemas(schema, change)
        return new

    def _drop_annotations(self, schema: Schema) -> Schema:
        return self._edit_all(schema, _drop_annotations)

    def _word_steps(self) -> list[Step]:
        # Definitions are shortened last, as several arguments refer to each of them; and the
        # arguments keep their first sentences.
        steps = ((False, 300), (False, 120), (True, 300), (True, 120), (True, 0))
        return [partial(self._cut_words, most=most, below=below) for below, most in steps]

    def _drop_words(self, schema: Schema) -> Schema:
        for most in (300, 120):
            schema = self._cut_words(schema, most, below=False)
        return self._cut_words(schema, 0, below=True)

    def _cut_words(self, schema: Schema, most: int, *, below: bool) -> Schema:
        inside = {"$defs": schema["$defs"]} if "$defs" in schema else {}
        outside = omit_keys(schema, inside)
        changed, rest = (inside, outside) if below else (outside, inside)
        return {**rest, **self._edit_parts(changed, _CUT_WORDS[most])}

    def _share(self, schema: Schema) -> Schema:
        texts, counts = self._count_parts(schema)
        declared = schema.get("$defs", {})
        names = {texts[id(node)]: name for name, node in declared.items() if id(node) in texts}
        candidates = {text for text, count in counts.items() if count > 1} | names.keys()
        candidates = {text for text in candidates if len(text) >= _LEAST_SHARED}
        added: dict[str, Any] = {}

        def change(node: Any, _name: str = "") -> Any:
            text = texts.get(id(node))
            if text not in candidates:
                return map_subschemas(node, change)
            if text not in names:
                name = f"shared_{len(added) + 1}"
                while name in declared:
                    name += "_"
                count = counts[text]
                saved = (count - 1) * len(text) - count * (len(name) + 20) - len(name) - 8
                if saved <= 0:
                    return map_subschemas(node, change)
                names[text] = name
                added[name] = None
                added[name] = map_subschemas(node, change)
            return {"$ref": DEFINITIONS_PREFIX + names[text]}

        new = map_subschemas(omit_keys(schema, ["$defs"]), change)
        definitions = {
            name: node
            if candidates.isdisjoint(self._inventories.find(node, _Inventory).inner)
            else map_subschemas(node, change)
            for name, node in declared.items()
        }
        merged = {**new, "$defs": {**definitions, **added}} if definitions or added else new
        # A reference into a definition may lead into what has become a reference itself.
        leads = merged.get("$defs", {}).keys() >= self.sizes.count_references(merged).keys()
        return merged if leads and self.sizes.size(merged) < self.sizes.size(schema) else schema

    def _count_parts(self, schema: Schema) -> tuple[dict[int, str], Counter[str]]:
        texts: dict[int, str] = {}
        counts: Counter[str] = Counter()
        seen: set[int] = set()

        def look(node: Any, _name: str) -> Any:
            if isinstance(node, dict):
                inventory = self._inventories.find(node, _Inventory)
                texts.update(inventory.texts)
                if inventory.holders.isdisjoint(seen):
                    seen.update(inventory.holders)
                    counts.update(inventory.counted)
                else:
                    inventory.count(node, counts, seen)
            return node

        map_subschemas(schema, look)
        return texts, counts


class _Inventory:
    """The schemas in one, itself included, as JSON; those in an object twice count once."""

    def __init__(self, node: Schema) -> None:
        self.texts: dict[int, str] = {}
        self.counted: list[str] = []  # of all that are no references, which nothing shortens
        self.holders: set[int] = set()  # ids of those that hold others
        self._look(node)
        self.inner = {*self.texts.values()} - {self.texts[id(node)]}

    def _look(self, node: Any, _name: str = "") -> Any:
        if isinstance(node, dict):
            if id(node) not in self.texts:
                if not SUBSCHEMA_KEYWORDS.isdisjoint(node):
                    self.holders.add(id(node))
                    map_subschemas(node, self._look)
                self.texts[id(node)] = json.dumps(node)
            if "$ref" not in node:
                self.counted.append(self.texts[id(node)])
        return node

    def count(self, node: Any, counts: Counter[str], seen: set[int]) -> None:
        """Count the schemas in one that were not seen in another one."""

        def look(part: Any, _name: str = "") -> Any:
            if isinstance(part, dict):
                if id(part) in self.holders and id(part) not in seen:
                    seen.add(id(part))
                    map_subschemas(part, look)
                if "$ref" not in part:
                    counts[self.texts[id(part)]] += 1
            return part

        look(node)


class _DistinctParts:
    """Numbers of schemas, equal for equal ones: their keywords and names without words."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._by_schema: IdentityCache[int] = IdentityCache()
        self._sizes: list[int] = []
        self._inner: list[list[int]] = []

    def exceeds(self, schema: Schema, limit: int) -> bool:
        """Return whether no schema of fewer words and shared parts is within `limit` bytes.

        Each of its unequal parts is written once at least.
        """
        size = 0
        seen: set[int] = set()
        parts: list[Any] = []
        map_subschemas(schema, lambda part, _name: parts.append(part))
        for part in (*parts, schema):  # the schema last: few of its parts are enough, mostly
            waiting = [self._part_number(part)]
            while waiting and size <= limit:
                number = waiting.pop()
                if number not in seen:
                    seen.add(number)
                    size += self._sizes[number]
                    waiting += self._inner[number]
            if size > limit:
                return True
        return False

    def _part_number(self, node: Any) -> int:
        return self._by_schema.find(node, self._assign_number)

    def _assign_number(self, node: Any) -> int:
        bare = omit_keys(node, _WORDY) if isinstance(node, dict) else node
        inner: list[tuple[str, int]] = []
        map_subschemas(bare, lambda part, name: inner.append((name, self._part_number(part))))
        text = json.dumps(omit_keys(bare, SUBSCHEMA_KEYWORDS) if isinstance(bare, dict) else bare)
        key = (text, *inner)
        if key not in self._numbers:
            self._numbers[key] = len(self._sizes)
            self._sizes.append(len(text) + sum(len(name) + 4 for name, _ in inner if name))
            self._inner.append([number for _, number in inner])
        return self._numbers[key]


def _cut_description(node: Schema, most: int) -> Schema:
    text = node.get("description")
    if not isinstance(text, str) or len(text) <= most:
        return node
    return (
        {**node, "description": shorten_description(text, 0, most)}
        if most
        else omit_keys(node, ["description"])
    )


def _drop_annotations(node: Schema) -> Schema:
    return omit_keys(node, [*UNNEEDED_KEYWORDS, "title"])


def _drop_narrowing(node: Schema) -> Schema:
    return remove_keywords(node, _NARROWING)


_CUT_WORDS: dict[int, Edit] = {most: partial(_cut_description, most=most) for most in (300, 120, 0)}


def _describe_long_values(node: Schema) -> Schema:
    long = [key for key in _VALUES if key in node and json_size(node[key]) > _LONGEST_VALUE]
    values = node.get("enum")
    if isinstance(values, list) and (len(values) > _MOST_VALUES or json_size(values) > _LARGEST):
        return add_sentence(omit_keys(node, ["enum", *long]), _describe_enum(values))
    return omit_keys(node, long)


def _simplify_properties(schema: Schema, most: int) -> Schema:
    def change(node: Any) -> Any:
        if not isinstance(node, dict):
            return {} if node is True else node
        simple = {k: node[k] for k in _SIMPLE if k in node and json_size(node[k]) <= _SMALL}
        return _cut_description(ensure_items({**type_schema(node, schema), **simple}), most)

    properties = {name: change(node) for name, node in schema.get("properties", {}).items()}
    is_open = schema.get("additionalProperties") is not False
    gone = ("$defs", "additionalProperties") if is_open else ("$defs",)
    return {**omit_keys(schema, gone), "properties": properties}


def _keep_fitting_properties(schema: Schema, limit: int, noun: str) -> Schema:
    properties, required = schema.get("properties", {}), dict.fromkeys(schema.get("required", ()))
    description_limit = min(_NAMES, limit // 4)
    left = limit - description_limit - _FRAME
    kept: Schema = {}
    names = sorted(properties, key=lambda name: name not in required)
    for name in names:
        whole = properties[name]
        bare = omit_keys(whole, _MORE_WORDS) if isinstance(whole, dict) else whole
        for node in (whole, bare):
            cost = json_size({name: node}) + (json_size(name) + 2 if name in required else 0)
            if cost <= left:
                kept[name] = node
                left -= cost
                break
    return {
        "type": "object",
        "description": _describe_omitted(
            [n for n in names if n not in kept], required, description_limit, noun
        ),
        "properties": {name: kept[name] for name in properties if name in kept},
        "required": [name for name in required if name in kept],
        "additionalProperties": True,
    }


def _describe_omitted(names: list[str], required: Collection[str], limit: int, noun: str) -> str:
    text = f"{format_count(len(names), f'more {noun}')} are accepted; the names that fit here: "
    left = limit - json_size(text)
    listed: list[str] = []
    for name in names:
        word = f"{name} (required)" if name in required else name
        left -= json_size(word)
        if left < 0:
            listed.append("…")
            break
        listed.append(word)
    return text + ", ".join(listed)


def _describe_enum(values: list[Any]) -> str:
    first = (
        truncate_text(json.dumps(value, ensure_ascii=False), _LONGEST_SHOWN) for value in values
    )
    shown = ", ".join(islice(first, _FIRST_VALUES))
    return truncate_text(f"One of {len(values)} values: {shown}, …", _LONGEST_LIST)
