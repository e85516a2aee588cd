"""What has to go when something was left out of a schema.

Leaving out a requirement lets more values through, which is what is wanted; but inside `not`, or
among alternatives of which exactly one may fit, it would let fewer through. Input that the API
takes must never be refused for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.validation.schema_graph import groups

if TYPE_CHECKING:
    from openapi_tools.validation.schema_graph import Node

_NAMES = frozenset({"properties", "patternProperties"})
_OF_MEMBERS = ("additionalProperties", "unevaluatedProperties")
_OF_ITEMS = ("items", "unevaluatedItems")
_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")


def weaken(root: Node, left_out: list[tuple[Node, str]]) -> None:
    """Take out of a schema what would now refuse more than it should.

    Args:
        root: The schema; it is changed.
        left_out: The schemas inside it that miss something, and the keyword that it belonged to.
    """
    for node, keyword in left_out:
        if keyword in _NAMES:
            _drop(node, *_OF_MEMBERS)
        if keyword == "prefixItems":
            _drop(node, *_OF_ITEMS)
    nodes, parents = _parents(root)
    weak = {id(node) for node, _ in left_out}
    reached = list(weak)
    while reached:
        for parent in parents.get(reached.pop(), ()):
            if parent not in weak:
                weak.add(parent)
                reached.append(parent)
    for node in nodes:
        _weaken_one(node, root, weak)


def _drop(node: Node, *keywords: str) -> None:
    for keyword in keywords:
        node.pop(keyword, None)


def _parents(root: Node) -> tuple[list[Node], dict[int, list[int]]]:
    """Return all schemas that the root leads to, and which schemas lead to each."""
    nodes, parents = [root], {id(root): list[int]()}
    for node in nodes:
        for child in (child for group in groups(node, root) for child in group):
            if id(child) not in parents:
                nodes.append(child)
                parents[id(child)] = []
            parents[id(child)].append(id(node))
    return nodes, parents


def _weaken_one(node: Node, root: Node, weak: set[int]) -> None:
    def is_weak(*keywords: str) -> bool:
        parts = {keyword: node[keyword] for keyword in keywords if keyword in node}
        return any(id(child) in weak for group in groups(parts, root) for child in group)

    if is_weak("oneOf"):
        _require(node, {"anyOf": node.pop("oneOf")})
    if is_weak("not"):
        _drop(node, "not")
    if is_weak("if"):
        _drop(node, "if", "then", "else")
    if is_weak("contains"):
        _drop(node, "maxContains")
    if is_weak("$ref", "allOf", "anyOf", "if", "then", "else", "dependentSchemas"):
        _drop(node, *_UNEVALUATED)


def _require(node: Node, part: dict[str, Any]) -> None:
    node["allOf"] = [*node.get("allOf", ()), part]
