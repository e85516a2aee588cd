"""Schemas at a depth replaced by their types and a description, the largest first.

Nothing is built to measure it: the size of the whole is that of its parts, each of which is written
as JSON once, less what every cut saves.

Spec: JSON Schema 2020-12, Core, sections 8 and 10.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_schema import (
    IN_PLACE_KEYWORDS,
    SCHEMA_KEYWORDS,
    SUBSCHEMA_KEYWORDS,
    UNIONS,
    ensure_items,
    iter_definition_names,
)
from openapi_tools.common.json_values import json_size, omit_keys
from openapi_tools.common.visible_text import truncate_text
from openapi_tools.providers.identity_cache import size_with_definitions
from openapi_tools.providers.visible_types import find_target, types_of
from openapi_tools.providers.wording import shorten_description

if TYPE_CHECKING:
    from collections.abc import Iterable

    Schema = dict[str, Any]
    Node = tuple[Schema, str]  # a schema, and the part that it is in: a definition, or the root

_INNER = (SUBSCHEMA_KEYWORDS | {"$ref"}) - {"$defs"}
_BELOW = (
    SUBSCHEMA_KEYWORDS - IN_PLACE_KEYWORDS - {"$defs", "definitions"}
)  # of properties and items
_HOLDING = _BELOW | IN_PLACE_KEYWORDS
_LONGEST_DESCRIPTION = 120
_DEEPEST_ITEMS = 8  # arrays in arrays, which may be a cycle
_ROOT = ""  # the part of a schema outside its definitions


def cut_levels(schema: Schema, depths: Iterable[int], limit: int) -> Schema:
    """Return a schema of at most `limit` bytes, or with all schemas at the depths cut.

    The depths are in descending order.
    """
    draft = _Draft(schema, max(depths := [*depths]))
    for depth in depths:
        if draft.size > limit:
            draft.cut_level(depth, limit)
    return draft.result()


class _Cut(NamedTuple):
    """What a schema becomes: its bytes before and after, and the references that go with it."""

    description: Schema
    before: int
    after: int
    references: tuple[str, ...]


class _Draft:
    """A private copy of a schema, which is changed in place."""

    def __init__(self, schema: Schema, deepest: int) -> None:
        self._original = schema
        self._is_changed = False
        self._definitions = {
            name: _copy_holder(node) for name, node in schema.get("$defs", {}).items()
        }
        self._schema = {**schema, "$defs": self._definitions}
        self._kept = [*self._definitions]
        self._levels = _Levels(self._schema).walk(deepest)
        self._sizes: dict[str, int] = {}
        self._references: dict[str, Counter[str]] = {}
        rest = omit_keys(self._schema, ["$defs"])
        for part, node in (
            (_ROOT, rest),
            *((_part_key(n), d) for n, d in self._definitions.items()),
        ):
            text = json.dumps(node)
            self._sizes[part] = len(text)
            self._references[part] = Counter(iter_definition_names(text))

    @property
    def size(self) -> int:
        """The bytes of the schema as JSON, without definitions that a cut has made unneeded."""
        definitions = ((name, self._sizes[_part_key(name)]) for name in self._kept)
        return size_with_definitions(self._sizes[_ROOT], definitions)

    def result(self) -> Schema:
        if not self._is_changed:
            return self._original
        rest = omit_keys(self._schema, ["$defs"])
        kept = {name: self._definitions[name] for name in self._kept}
        return {**rest, "$defs": kept} if kept else rest

    def cut_level(self, depth: int, limit: int) -> None:
        """Cut schemas at a depth until the whole fits, or all are cut."""
        nodes = self._levels[depth]
        if not nodes:
            return
        self._is_changed = True
        texts = _write_all(schema for schema, _ in nodes)
        costs = self._costs(nodes, texts)
        nodes.sort(key=lambda node: costs[id(node[0])], reverse=True)
        cuts: dict[str, _Cut] = {}  # by text: many schemas of a level are the same reference
        done, count = 0, 1
        while True:
            for schema, part in nodes[done:count]:
                text = texts[id(schema)]
                if text not in cuts:
                    cuts[text] = self._make_cut(schema, text)
                self._apply_sizes(part, cuts[text])
            self._kept = self._find_needed()
            if self.size <= limit or count >= len(nodes):
                break
            done, count = count, count * 2
        # Only now, as the words for one schema may name what another one of its level holds.
        for schema, _ in nodes[:count]:
            description = cuts[texts[id(schema)]].description
            schema.clear()
            schema.update(description)

    def _costs(self, nodes: list[Node], texts: dict[int, str]) -> dict[int, int]:
        targets: dict[str, int] = {}
        costs: dict[int, int] = {}
        for schema, _ in nodes:
            cost = len(texts[id(schema)])
            if "$ref" in schema:
                reference = str(schema["$ref"])
                if reference not in targets:
                    targets[reference] = json_size(find_target(schema, self._schema))
                cost += targets[reference]
            costs[id(schema)] = cost
        return costs

    def _make_cut(self, schema: Schema, text: str) -> _Cut:
        description = _describe_schema(schema, self._schema)
        return _Cut(
            description, len(text), json_size(description), tuple(iter_definition_names(text))
        )

    def _apply_sizes(self, part: str, cut: _Cut) -> None:
        self._sizes[part] += cut.after - cut.before
        if cut.references:
            self._references[part].subtract(cut.references)

    def _find_needed(self) -> list[str]:
        needed: set[str] = set()
        waiting = [_ROOT]
        while waiting:
            for name, count in self._references[waiting.pop()].items():
                if count > 0 and name in self._definitions and name not in needed:
                    needed.add(name)
                    waiting.append(_part_key(name))
        return [name for name in self._definitions if name in needed]


def _write_all(schemas: Iterable[Schema]) -> dict[int, str]:
    # Where definitions refer to one another, most schemas are one of a few references.
    references: dict[str, str] = {}
    texts = {}
    for schema in schemas:
        reference = schema.get("$ref") if len(schema) == 1 else None
        text = references.get(reference) if isinstance(reference, str) else None
        if text is None:
            text = json.dumps(schema)
            if isinstance(reference, str):
                references[reference] = text
        texts[id(schema)] = text
    return texts


def _part_key(name: str) -> str:
    return f"/{name}"


class _Levels:
    """Finds the schemas that hold others at each depth of properties and items, the least one."""

    def __init__(self, schema: Schema) -> None:
        self._root = schema
        self._seen: set[int] = set()
        self._targets: dict[str, list[Node]] = {}  # the parts that references lead to
        names = schema.get("$defs", {})
        self._parts = {id(node): _part_key(name) for name, node in names.items()} | {
            id(schema): _ROOT
        }

    def walk(self, deepest: int) -> list[list[Node]]:
        """Return the schemas at the depths 0 to `deepest`."""
        levels = [[(self._root, _ROOT)]]
        for _ in range(deepest):
            below: list[Node] = []
            for node in levels[-1]:
                self._add_below(node, below)
            levels.append(below)
        return levels

    def _add_below(self, node: Node, below: list[Node]) -> None:
        waiting = [node]
        while waiting:
            schema, part = waiting.pop()
            if id(schema) in self._seen:
                continue
            self._seen.add(id(schema))
            if "$ref" in schema:
                reference = str(schema["$ref"])
                if reference not in self._targets:
                    target = find_target(schema, self._root)
                    # A reference into a part is not followed: the part is met on its own way.
                    home = self._parts.get(id(target))
                    self._targets[reference] = [] if home is None else [(target, home)]
                waiting += self._targets[reference]
                if len(schema) == 1:
                    continue
            for key in [key for key in schema if key in _HOLDING]:
                nodes = [(inner, part) for inner in _copy_schemas(schema, key)]
                (waiting if key in IN_PLACE_KEYWORDS else below).extend(nodes)


def _copy_schemas(schema: Schema, key: str) -> list[Schema]:
    # One that is the same object in two places becomes two, as each may be cut by itself.
    value = schema[key]
    if key in SCHEMA_KEYWORDS:
        schema[key] = copy = _copy_holder(value)
        return [copy] if copy is not value else []
    if isinstance(value, list):
        schema[key] = copies = [_copy_holder(part) for part in value]
        return [copy for copy, part in zip(copies, value, strict=True) if copy is not part]
    schema[key] = named = {name: _copy_holder(part) for name, part in value.items()}
    return [copy for name, copy in named.items() if copy is not value[name]]


def _copy_holder(node: Any) -> Any:
    return {**node} if isinstance(node, dict) and not _INNER.isdisjoint(node) else node


def _describe_schema(node: Schema, root: Schema) -> Schema:
    target, kept = find_target(node, root), type_schema(node, root)
    text = node.get("description") or target.get("description")
    if isinstance(text, str):
        kept["description"] = shorten_description(text, 0, _LONGEST_DESCRIPTION)
    contents = _describe_contents(target, root)
    return add_sentence(kept, contents) if contents else kept


def type_schema(node: Any, root: Schema) -> Schema:
    """Return a schema of the types alone that a schema allows."""
    kinds = types_of(node, root)
    return ensure_items({"type": kinds[0] if len(kinds) == 1 else kinds}) if kinds else {}


def _describe_contents(node: Schema, root: Schema, depth: int = _DEEPEST_ITEMS) -> str:
    items = node.get("items")
    if isinstance(items, dict) and "properties" not in node:
        contents = _describe_contents(find_target(items, root), root, depth - 1) if depth else ""
        return f"Items: {contents[:1].lower()}{contents[1:]}" if contents else ""
    properties = node.get("properties")
    if isinstance(properties, dict) and properties:
        required = node.get("required", ())
        names = sorted(properties, key=lambda name: name not in required)
        listed = ", ".join(f"{name} (required)" if name in required else name for name in names)
        return truncate_text(f"Properties: {listed}", _LONGEST_DESCRIPTION) + "."
    for union in UNIONS:
        titles = [_branch_title(part, root) for part in node.get(union, ())]
        if any(titles):
            return (
                truncate_text(f"One of: {', '.join(filter(None, titles))}", _LONGEST_DESCRIPTION)
                + "."
            )
    return ""


def _branch_title(node: Any, root: Schema) -> str:
    if not isinstance(node, dict):
        return ""
    named = str(node.get("$ref", "")).rpartition("/")[2] or node.get("title")
    return str(named or next(iter(types_of(node, root)), ""))


def add_sentence(node: Schema, sentence: str) -> Schema:
    """Return a schema with one more sentence in its description."""
    text = node.get("description")
    before = text.rstrip() if isinstance(text, str) else ""
    if before and not before.endswith((".", "!", "?", "…")):
        before += "."
    return {**node, "description": f"{before} {sentence}".lstrip()}
