"""JSON Schemas as a graph: which schema hands a value, or parts of it, to which others.

Spec: JSON Schema 2020-12, Core, sections 8 and 10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.json_values import ONE_SCHEMA, SCHEMA_LISTS, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable

    Node = dict[str, Any]
    Groups = list[tuple[bool, list[Node]]]


def groups(node: Node, root: Node) -> Groups:
    """Return the schemas that a schema hands a value or its parts to, with what they get.

    Those of one group never see the same value. Their first member tells whether they get a part
    of the value, not the whole.
    """
    found: list[tuple[bool, Iterable[Any]]] = []
    for keyword, value in node.items():
        if keyword in ("properties", "prefixItems"):
            found.append((True, value.values() if isinstance(value, dict) else value))
        elif keyword in ONE_SCHEMA:
            found.append((keyword not in ("if", "then", "else", "not"), [value]))
        elif keyword in SCHEMA_LISTS:
            found += [(False, [branch]) for branch in value]
        elif keyword in ("dependentSchemas", "patternProperties"):
            found += [(keyword == "patternProperties", [member]) for member in value.values()]
        elif keyword == "$ref":
            found.append((False, [resolve(root, value)]))
    schemas = ((inside, [one for one in group if isinstance(one, dict)]) for inside, group in found)
    return [(inside, group) for inside, group in schemas if group]


def weaken(root: Node, left_out: list[tuple[Node, str]]) -> None:
    """Remove the keywords that would refuse more values now that other parts are missing.

    Without a requirement more values fit, but fewer where a schema is inside `not` or among
    alternatives of which exactly one may fit.

    Args:
        root: The schema; it is changed.
        left_out: The schemas inside it that miss something, and the keyword that it belonged to.
    """
    for node, keyword in left_out:
        if keyword in ("properties", "patternProperties"):
            _drop(node, "additionalProperties", "unevaluatedProperties")
        if keyword == "prefixItems":
            _drop(node, "items", "unevaluatedItems")
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
        for child in (child for _, group in groups(node, root) for child in group):
            if id(child) not in parents:
                nodes.append(child)
                parents[id(child)] = []
            parents[id(child)].append(id(node))
    return nodes, parents


def _weaken_one(node: Node, root: Node, weak: set[int]) -> None:
    def is_weak(*keywords: str) -> bool:
        parts = {keyword: node[keyword] for keyword in keywords if keyword in node}
        return any(id(child) in weak for _, group in groups(parts, root) for child in group)

    if is_weak("oneOf"):
        node["allOf"] = [*node.get("allOf", ()), {"anyOf": node.pop("oneOf")}]
    if is_weak("not"):
        _drop(node, "not")
    if is_weak("if"):
        _drop(node, "if", "then", "else")
    if is_weak("contains"):
        _drop(node, "maxContains")
    if is_weak("$ref", "allOf", "anyOf", "if", "then", "else", "dependentSchemas"):
        _drop(node, "unevaluatedItems", "unevaluatedProperties")
