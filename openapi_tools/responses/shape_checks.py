"""Checks of what a user writes about responses: a JMESPath for `fields`, and paging."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import as_dict, follow_references
from openapi_tools.common.options import close_names
from openapi_tools.errors import SettingsError
from openapi_tools.redaction import excerpt
from openapi_tools.responses.json_queries import parse_expression

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from openapi_tools.model import Paging

_LISTED = 12
# Keywords that may give an object properties other than the listed ones.
_OPENING = frozenset(
    {"additionalProperties", "allOf", "anyOf", "dependentSchemas", "else", "if", "oneOf"}
    | {"patternProperties", "then", "unevaluatedProperties"}
)
# Nodes of JMESPath whose children are all applied to the value of the node.
_OF_SAME_VALUE = frozenset(
    {"and_expression", "comparator", "function_expression", "key_val_pair", "multi_select_dict"}
    | {"multi_select_list", "not_expression", "or_expression"}
)


def check_fields(expression: str, schema: dict[str, Any] | None = None) -> None:
    """Raise SettingsError for a JMESPath that cannot be used on a response of this schema.

    Names of the first level are compared with the schema, if that lists its properties. Deeper
    mistakes show when the expression is applied.
    """
    if not expression:
        return
    tree = parse_expression(expression)
    is_list, properties = _first_level(schema or {})
    for name, is_of_item in _first_names(tree) if properties else ():
        if is_list and not is_of_item:
            hint = f"; write [].{name:.60}." if name in properties else "."
            raise _unfit(expression, f"{name!r:.60} is selected from a list{hint}")
        if is_of_item == is_list and name not in properties:
            hint = close_names(name, properties)
            if hint == ".":
                hint = f". Expected one of: {', '.join(islice(properties, _LISTED))}."
            raise _unfit(expression, f"unknown property {name!r:.60}{hint}")


def _unfit(expression: str, reason: str) -> SettingsError:
    quoted = excerpt(repr(expression), 100)
    return SettingsError(f"fields: {quoted} does not match the documented response: {reason}")


def _first_level(schema: dict[str, Any]) -> tuple[bool, Mapping[str, Any]]:
    node = follow_references(schema, schema)
    is_list = "items" in node
    node = follow_references(schema, node["items"]) if is_list else node
    # Other keywords may add properties; then nothing can be said about a name.
    is_closed = _OPENING.isdisjoint(key for key, value in node.items() if value is not False)
    return is_list, as_dict(node.get("properties")) if is_closed else {}


def _first_names(node: Any) -> Iterator[tuple[str, bool]]:
    kind, inner = node["type"], node.get("children", ())
    if kind == "field":
        yield node["value"], False
    elif kind in _OF_SAME_VALUE:
        for child in inner:
            yield from _first_names(child)
    elif inner and kind != "expref":
        head, *rest = inner
        source = head
        while source["type"] in ("flatten", "index_expression"):
            source = source["children"][0]
        if source["type"] not in ("identity", "current"):
            yield from _first_names(head)
        elif kind in ("projection", "filter_projection") or source is not head:
            for child in filter(None, rest):
                yield from ((name, True) for name, _ in _first_names(child))


def paging_faults(paging: Paging, argument_names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the faults of paging for a tool with these arguments: a key, and a reason."""
    if paging.style != "link" and not paging.argument:
        yield "argument", f"pages of style {paging.style!r} need the argument that requests them."
    for key in ("argument", "size"):
        name = getattr(paging, key).partition(".")[0]
        if name and name not in argument_names:
            yield key, f"the tool has no argument {name!r:.80}{close_names(name, argument_names)}"
    for key in ("items", "next"):
        if expression := getattr(paging, key):
            try:
                parse_expression(expression)
            except SettingsError as error:
                yield key, error.reason.removeprefix("fields: ")
