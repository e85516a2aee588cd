"""Arguments, and properties in them, named by paths: `page`, or `q.page`.

Names of arguments have no dots: `visible_text.argument_names` leaves none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openapi_tools.common.json_values import follow_references


def property_schema(schema: Mapping[str, Any], argument: str) -> Mapping[str, Any] | None:
    """Return the schema of an argument, or of a property in one as `q.page`; None without it."""
    node: Any = schema
    for name in argument.split("."):
        node = follow_references(schema, node).get("properties", {}).get(name)
        if node is None:
            return None
    return follow_references(schema, node)


def value_at(arguments: Mapping[str, Any], argument: str) -> Any:
    """Return the value of an argument, or of a property in one; None without it."""
    value: Any = arguments
    for name in argument.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def arguments_with(arguments: Mapping[str, Any], argument: str, value: Any) -> dict[str, Any]:
    """Return the argument that changes: whole, where a property of it does."""
    name, _, rest = argument.partition(".")
    if not rest:
        return {name: value}
    inner = arguments.get(name)
    inner = inner if isinstance(inner, Mapping) else {}
    return {name: {**inner, **arguments_with(inner, rest, value)}}
