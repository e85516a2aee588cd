"""What a `ResponseShaper` does to a response, done to its schema.

A part that an expression selects in a way that schemas cannot follow gets the empty schema.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import UNIONS, reachable_definitions, transform_schemas
from openapi_tools.common.json_values import as_dict, follow_references
from openapi_tools.responses.json_queries import parse_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openapi_tools.responses.response_shape import ResponseShaper

    Schema = dict[str, Any]

# Keywords that a removed property would leave without a meaning, or make wrong.
_COUNTING = ("minProperties", "dependentRequired", "dependentSchemas")


def shape_schema(schema: Schema, shaper: ResponseShaper) -> Schema:
    """Return the schema of a documented response for what is left of it after shaping.

    `max_items` and cuts are not described: their sentence in a list says what is missing.
    """
    shaped = schema
    if shaper.fields:
        shaped = _SchemaSelection(schema).select(parse_expression(shaper.fields), schema)
    if shaper.drop or not shaper.nulls:
        shaped = transform_schemas(shaped, _make_pruning(shaper))
    definitions = reachable_definitions(
        {key: shaped[key] for key in shaped if key != "$defs"}, as_dict(schema.get("$defs"))
    )
    if shaper.drop or not shaper.nulls:
        definitions = {
            name: transform_schemas(part, _make_pruning(shaper))
            for name, part in definitions.items()
        }
    rest = {key: shaped[key] for key in shaped if key != "$defs"}
    return {**rest, "$defs": definitions} if definitions else rest


def _make_pruning(shaper: ResponseShaper) -> Callable[[Schema], Schema]:
    patterns = "|".join(map(fnmatch.translate, shaper.drop))
    matches = re.compile(patterns).match if patterns else None

    def prune(schema: Schema) -> Schema:
        properties = as_dict(schema.get("properties"))
        dropped = {name for name in properties if matches is not None and matches(name)}
        optional = dropped | {
            name
            for name, part in properties.items()
            if not shaper.nulls and not _refuses_null(part)
        }
        if not optional:
            return schema
        pruned = {key: schema[key] for key in schema if key not in _COUNTING}
        pruned["properties"] = {n: part for n, part in properties.items() if n not in dropped}
        if "required" in pruned:
            pruned["required"] = [name for name in pruned["required"] if name not in optional]
        return pruned

    return prune


def _refuses_null(schema: Any) -> bool:
    types = schema.get("type") if isinstance(schema, dict) else None
    names = [types] if isinstance(types, str) else types
    return isinstance(names, list) and "null" not in names


class _SchemaSelection:
    """Follows a JMESPath expression through a schema with its definitions."""

    def __init__(self, root: Schema) -> None:
        self._root = root

    def select(self, node: Any, schema: Any) -> Schema:
        """Return the schema of what a syntax tree selects from values of a schema."""
        select = self._SELECTIONS.get(node["type"])
        return {} if select is None else select(self, node, schema)

    def _select_same(self, _node: Any, schema: Any) -> Schema:
        return as_dict(schema)

    def _select_object(self, node: Any, schema: Any) -> Schema:
        pairs = {pair["value"]: pair["children"][0] for pair in node["children"]}
        properties = {name: self.select(part, schema) for name, part in pairs.items()}
        return {"type": "object", "properties": properties}

    def _select_list(self, _node: Any, _schema: Any) -> Schema:
        return {"type": "array"}

    def _project(self, node: Any, schema: Any) -> Schema:
        of_list, of_item = node["children"][:2]
        items = self._items_of(self.select(of_list, schema))
        return {"type": "array", "items": self.select(of_item, items)}

    def _select_in_turn(self, node: Any, schema: Any) -> Schema:
        for child in node["children"]:
            schema = self.select(child, schema)
        return as_dict(schema)

    def _select_property(self, node: Any, schema: Any) -> Schema:
        name = node["value"]
        target = follow_references(self._root, schema)
        properties = as_dict(target.get("properties"))
        if name not in properties:
            return {}
        # Without a value JMESPath gives null.
        is_certain = name in target.get("required", ()) and _refuses_null(properties[name])
        part = as_dict(properties[name])
        return part if is_certain or not part else {"anyOf": [part, {"type": "null"}]}

    def _select_item(self, _node: Any, schema: Any) -> Schema:
        return self._items_of(schema)

    def _items_of(self, schema: Any) -> Schema:
        return as_dict(self._skip_null(schema).get("items"))

    def _select_flat(self, node: Any, schema: Any) -> Schema:
        items = self._items_of(self.select(node["children"][0], schema))
        inner = self._skip_null(items)
        is_nested = "items" in inner
        return {"type": "array", "items": as_dict(inner["items"]) if is_nested else items}

    def _skip_null(self, schema: Any) -> Schema:
        """Return the one alternative of a schema that is not null, where that is so."""
        target = dict(follow_references(self._root, schema))
        for keyword in UNIONS:
            alternatives = [part for part in target.get(keyword, ()) if part != {"type": "null"}]
            if len(alternatives) == 1:
                return self._skip_null(alternatives[0])
        return target

    # By the type of a node in jmespath's syntax trees; others, functions for instance, can give
    # anything.
    _SELECTIONS: Mapping[str, Callable[[_SchemaSelection, Any, Any], Schema]] = {
        "current": _select_same,
        "identity": _select_same,
        "slice": _select_same,
        "field": _select_property,
        "index": _select_item,
        "index_expression": _select_in_turn,
        "subexpression": _select_in_turn,
        "pipe": _select_in_turn,
        "projection": _project,
        "filter_projection": _project,
        "flatten": _select_flat,
        "multi_select_dict": _select_object,
        "multi_select_list": _select_list,
    }
