"""The converted components that an input schema reaches, and the cutting of large schemas.

A schema that is too large first loses the descriptions of its definitions, then the definitions
farthest from the arguments, then the deepest parts. "Anything" replaces these, so that it accepts
all it did before.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_schema import (
    IN_PLACE_KEYWORDS,
    map_subschemas,
    remove_keywords,
    transform_schemas,
)
from openapi_tools.common.json_values import Node, dump_json_bytes, json_size, max_json_length
from openapi_tools.common.visible_text import short_hash
from openapi_tools.loading.keyword_values import (
    APPLICATORS,
    LIST_APPLICATORS,
    MAP_APPLICATORS,
)
from openapi_tools.loading.source import relative_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from openapi_tools.loading.references import Resource, Target

_UNNAMED = re.compile(r"[^A-Za-z0-9_.-]+")  # characters that a URI or a JSON Pointer escapes
# Some 60,000 tokens for one tool; beyond that no client sends it.
MAX_SCHEMA = 250_000  # characters of an input schema as JSON

_WORDS = frozenset({"title", "description", "examples"})
# Keywords that could refuse more when a schema inside them accepts more, and an annotation.
_CUT = frozenset(
    {"not", "if", "then", "else", "contains", "minContains", "maxContains", "propertyNames"}
    | {"unevaluatedItems", "unevaluatedProperties", "dependentSchemas", "contentSchema"}
)
_DEPTHS = (12, 8, 5, 3, 2, 1)


class Uses(NamedTuple):
    """The definitions that a schema refers to, in all and `in_place`; its number of schemas."""

    every: frozenset[str]
    in_place: frozenset[str]
    schemas: int


_NO_USES = Uses(frozenset(), frozenset(), 0)


class Component(NamedTuple):
    """A converted component and its uses, as in `Uses`; `most` bounds its characters as JSON."""

    schema: Node
    uses: frozenset[str]
    in_place: frozenset[str]
    most: int


class Closure(NamedTuple):
    """The definitions that a schema reaches, by name, shared; `most` as in `Definition`."""

    definitions: dict[str, Node]
    most: int


def build_closure(uses: frozenset[str], definition: Callable[[str], Component]) -> Closure:
    """Return the definitions that some names reach, in the order of their names."""
    reached = find_reachable(uses, definition)
    definitions = {name: reached[name].schema for name in sorted(reached)}
    in_place = {name: reached[name].in_place for name in definitions}
    most = sum(definition.most for definition in reached.values())
    return Closure(_break_cycles(definitions, in_place), most)


def find_reachable(
    uses: Iterable[str], definition: Callable[[str], Component]
) -> dict[str, Component]:
    """Return the definitions that some names reach, their own included."""
    reached: dict[str, Component] = {}
    pending = sorted(uses)
    while pending:
        below: set[str] = set()
        for name in pending:
            component = reached[name] = definition(name)
            below |= component.uses
        pending = sorted(below - reached.keys())
    return reached


def make_component(name: str, schema: Node) -> Component:
    """Return a converted component as a definition."""
    text = dump_json_bytes(schema)
    most = max_json_length(text) + 6 * len(name) + 4
    uses = find_uses(schema) if b'"$ref"' in text else _NO_USES
    return Component(schema, uses.every, uses.in_place, most)


def target_name(reference: Mapping[str, Any]) -> str:
    """Return the name of the definition that a converted `$ref` leads to."""
    return str(reference["$ref"]).removeprefix("#/$defs/")


def find_uses(schema: Node) -> Uses:
    """Return the names of the definitions that a converted schema refers to directly."""
    nodes: list[Any] = [schema]
    nested_nodes: list[Any] = []
    in_place = _collect_names(nodes, nested_nodes)
    every = in_place | _collect_names(nested_nodes, nested_nodes)
    return Uses(frozenset(every), frozenset(in_place), len(nodes) + len(nested_nodes))


def _collect_names(nodes: list[Any], below: list[Any]) -> set[str]:
    names = set()
    for node in nodes:  # grows while it is walked
        if node.__class__ is not dict:
            continue
        if "$ref" in node:
            names.add(target_name(node))
        # Unlike a user's schema, a converted one has under each keyword what belongs there.
        for keyword in APPLICATORS.intersection(node):
            inner = nodes if keyword in IN_PLACE_KEYWORDS else below
            if keyword in MAP_APPLICATORS:
                inner.extend(node[keyword].values())
            elif keyword in LIST_APPLICATORS:
                inner.extend(node[keyword])
            else:
                inner.append(node[keyword])
    return names


def _break_cycles(
    definitions: dict[str, Node], in_place: Mapping[str, frozenset[str]]
) -> dict[str, Node]:
    # In-place references that lead back to themselves would keep a validator busy for ever.
    # Published documents have `A: {anyOf: [A, string]}`, on which a validator never ends: the
    # reference that closes such a cycle is taken out.
    cut: dict[str, set[str]] = {}
    done: set[str] = set()
    for start in definitions:
        if in_place[start] and start not in done:
            _find_closing_references(start, in_place, done, cut)
    return {
        name: _drop_references(schema, cut[name]) if name in cut else schema
        for name, schema in definitions.items()
    }


def _find_closing_references(
    start: str, in_place: Mapping[str, frozenset[str]], done: set[str], cut: dict[str, set[str]]
) -> None:
    stack = [(start, iter(sorted(in_place[start])))]
    path = {start}
    while stack:
        name, following = stack[-1]
        target = next(following, None)
        if target is None:
            done.add(name)
            path.discard(name)
            stack.pop()
        elif target in path:
            cut.setdefault(name, set()).add(target)
        elif target not in done:
            stack.append((target, iter(sorted(in_place[target]))))
            path.add(target)


def _drop_references(schema: Any, names: set[str]) -> Any:
    if not isinstance(schema, dict):
        return schema
    out = {
        key: value
        for key, value in schema.items()
        if key != "$ref" or target_name(schema) not in names
    }
    for key in out.keys() & IN_PLACE_KEYWORDS:
        value = out[key]
        if isinstance(value, list):
            bare_references = [{"$ref": f"#/$defs/{name}"} for name in names]
            parts = [_drop_references(part, names) for part in value if part not in bare_references]
            out[key] = parts or [{}]
        elif key == "dependentSchemas":
            out[key] = {name: _drop_references(part, names) for name, part in value.items()}
        else:
            out[key] = _drop_references(value, names)
    return out


def complete_schema(
    schema: Node, closure: Callable[[frozenset[str]], Closure], *, cut: bool = True
) -> Node:
    """Return an input schema, changed in place, with its definitions; a too large one is cut."""
    text = dump_json_bytes(schema)
    most = 6 * len(text)  # a byte of UTF-8 becomes an escape of at most six characters
    if b'"$ref"' in text and (uses := find_uses(schema).every):
        reached = closure(uses)
        most += reached.most
        schema["$defs"] = reached.definitions
    return schema if most <= MAX_SCHEMA or not cut else shrink_schema(schema)


def shrink_schema(schema: Node) -> Node:
    """Return an input schema of at most `MAX_SCHEMA` characters; the schema itself if it fits."""
    if json_size(schema) <= MAX_SCHEMA:
        return schema
    plain = partial(remove_keywords, keywords=_WORDS | _CUT)
    definitions = {
        name: transform_schemas(part, plain) for name, part in schema.get("$defs", {}).items()
    }
    root = {key: value for key, value in schema.items() if key != "$defs"}
    if json_size(root) > MAX_SCHEMA // 2:
        root["properties"] = {
            name: _prune_schema(part, 12) for name, part in root["properties"].items()
        }
    definitions_left = _choose_nearest(
        find_uses(root).every, definitions, MAX_SCHEMA - json_size(root)
    )
    for depth in _DEPTHS if json_size(root) < 10 * MAX_SCHEMA else _DEPTHS[-3:]:
        smaller = _add_definitions(root, definitions_left)
        if json_size(smaller) <= MAX_SCHEMA:
            return smaller
        root["properties"] = {
            name: _prune_schema(part, depth) for name, part in root["properties"].items()
        }
    return _keep_names(root)


def _keep_names(schema: Node) -> Node:
    required = set(schema.get("required", ()))
    remaining = MAX_SCHEMA // 2
    kept = set()
    for name in sorted(schema["properties"], key=lambda name: name not in required):
        remaining -= json_size(name) * (2 if name in required else 1) + len(": {}, ")
        if remaining > 0:
            kept.add(name)
    smaller = {**schema, "properties": {name: {} for name in schema["properties"] if name in kept}}
    if required:
        smaller["required"] = [name for name in schema["required"] if name in kept]
    return smaller


def _add_definitions(schema: Node, definitions: Node) -> Node:
    properties = {
        name: _drop_lost_references(part, definitions)
        for name, part in schema["properties"].items()
    }
    if not definitions:
        return {**schema, "properties": properties}
    written = {
        name: _drop_lost_references(definitions[name], definitions) for name in sorted(definitions)
    }
    return {**schema, "properties": properties, "$defs": written}


def _choose_nearest(names: frozenset[str], definitions: Node, remaining: int) -> Node:
    kept: Node = {}
    pending = sorted(names)
    for name in pending:  # grows while it is walked: breadth first
        remaining -= json_size(definitions[name]) + len(name) + 4
        if remaining < 0:
            break
        kept[name] = definitions[name]
        pending += sorted(find_uses(definitions[name]).every - set(pending))
    return kept


def _drop_lost_references(schema: Any, kept: Node) -> Any:
    def edit(node: Node) -> Node:
        is_lost = "$ref" in node and target_name(node) not in kept
        return remove_keywords(node, {*_CUT, "$ref"} if is_lost else _CUT)

    return transform_schemas(schema, edit)


def _prune_schema(schema: Any, depth: int, keywords: frozenset[str] = _CUT) -> Any:
    if depth == 0 or not isinstance(schema, dict):
        return schema if depth else {}
    part = remove_keywords(schema, keywords)
    return map_subschemas(part, lambda inner, _: _prune_schema(inner, depth - 1, _WORDS | _CUT))


def definition_name(target: Target, entry: Resource) -> str:
    """Return a component's own name; a hash is added for anything that stands elsewhere."""
    *parents, last = target.pointer.split("/")
    name = _UNNAMED.sub("_", last).strip("_") or "Schema"
    component = parents in (["", "components", "schemas"], ["", "definitions"])
    if component and name == last and target.resource is entry:
        return name
    place = relative_address(target.resource.uri, entry.uri)
    return f"{name[:48]}_{short_hash(f'{place}#{target.pointer}')}"
