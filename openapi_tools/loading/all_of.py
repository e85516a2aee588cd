"""Merge `allOf` into one schema, where that is exact, without hidden properties.

If each branch is closed, as generators write inheritance, the result is closed over the properties
of all: taken literally, such a schema would accept nothing. A direction hides properties that any
branch marks: `readOnly` in requests, `writeOnly` in responses.

Spec: JSON Schema Core 2020-12, sections 10.2.1.1 and 10.3.2; OpenAPI 3.1.1, section 4.8.24; 3.0.4,
section 4.7.24.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi_tools.common import json_schema, json_values
from openapi_tools.common.json_schema import UNIONS
from openapi_tools.common.json_values import as_dict, as_list, is_true
from openapi_tools.loading.keyword_values import ANNOTATIONS, ignore_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.common.json_values import Node
    from openapi_tools.loading.references import References, Resource, Target

_MAX_VARIANTS = 200  # schemas that are searched for one base
_MAX_BRANCHES = 1000  # schemas that are searched through `allOf` inside `allOf`
# A hundred branches with a thousand properties each would copy the growing object a hundred
# times.
MAX_COPIES: Final = 200_000  # properties copied while branches are merged; then they stay

_LARGEST = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_SMALLEST = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})
_OF_ITEMS = frozenset({"items", "prefixItems", "unevaluatedItems"})
# Keywords of a group change what the others mean, so they are equal or the schemas stay apart.
_GROUPS = (
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
    _OF_ITEMS,
)
# These look at what the schema itself declares (JSON Schema Core 2020-12, sections 10.3.2.3 and
# 11), so moving them into a merged schema may change what they mean.
_CLOSING = frozenset({"additionalProperties", "unevaluatedItems", "unevaluatedProperties"})
_PROPERTY_MAPS = ("properties", "patternProperties")
_OPEN: tuple[Any, ...] = (True, False, {})


class _NotExactError(Exception):
    """Two schemas have no common form that says exactly the same."""


def merge_all(
    schema: Node, inline: Callable[[Node], Node], report: Callable[[str, str], None] = ignore_report
) -> Node:
    """Return a schema with its `allOf` merged as far as is exact; `inline` replaces a `$ref`.

    `report` takes a keyword and what a warning says about it.
    """
    out = {key: value for key, value in schema.items() if key != "allOf"}
    if (
        len(schema["allOf"]) == 1
        and schema["allOf"][0].keys() == {"$ref"}
        and out.keys() <= ANNOTATIONS
    ):
        return {**schema["allOf"][0], **out}  # a description beside one component needs no `allOf`
    branches = [(branch, inline(branch)) for branch in schema["allOf"]]
    parts = [out, *(part for _, part in branches)]
    if _has_rival_closed_objects(parts):
        report(
            "allOf", "combines closed objects with different properties; all of them are accepted."
        )
        if (whole := _merge_unevaluated(out, branches)) is not None:
            return whole
        branches = [(part, part) if _is_closed(part) else (old, part) for old, part in branches]
    out, remaining, rivals = _merge_branches(out, branches, report)
    if rivals:
        report("allOf", "has branches that no value can match together; one of them is enough.")
        annotations = {key: value for key, value in out.items() if key in ANNOTATIONS}
        rest = {key: value for key, value in out.items() if key not in ANNOTATIONS}
        out = {**annotations, "anyOf": [rest, *rivals]}
    remaining = [*out.pop("allOf", ()), *remaining]  # of a branch that was merged
    if not remaining:
        return out
    if (
        len(remaining) == 1
        and not out.keys() - ANNOTATIONS
        and not out.keys() & remaining[0].keys()
    ):
        return {**out, **remaining[0]}  # a description beside a single branch needs no `allOf`
    if _has_rival_closed_objects([out, *remaining]):
        out, *remaining = _open_for_each_other([out, *remaining])
    return {**out, "allOf": remaining}


def is_own_base(target: Target, follow: Callable[[Any, Resource], Target]) -> bool:
    """Return whether one of a schema's own variants extends it by naming it in `allOf`.

    Published documents list the variants of a base class in its `oneOf`: merged into a variant, the
    list would never end.

    Args:
        target: The schema of a component, with the resource that it is in.
        follow: Returns what a reference in a resource leads to.
    """
    pending = [(part, target.resource) for key in UNIONS for part in as_list(target.node.get(key))]
    seen: list[int] = []
    while pending and len(seen) < _MAX_VARIANTS:
        variant = follow(*pending.pop())
        if variant.node is target.node:
            return bool(seen)
        if isinstance(variant.node, dict) and id(variant.node) not in seen:
            seen.append(id(variant.node))
            branches = as_list(variant.node.get("allOf"))
            pending += [(branch, variant.resource) for branch in branches]
    return False


def _merge_branches(
    out: Node, branches: list[tuple[Node, Node]], report: Callable[[str, str], None]
) -> tuple[Node, list[Node], list[Node]]:
    remaining: list[Node] = []
    rivals: list[Node] = []
    copies = 0
    for branch, part in branches:
        copies += len(out.get("properties", ())) + len(out.get("required", ()))
        merged = merge(out, part, report) if copies <= MAX_COPIES else None
        if merged is not None:
            out = merged
        elif _are_exclusive(out, part):
            rivals.append(branch)
        else:
            remaining.append(branch)
    return out, remaining, rivals


def _merge_unevaluated(out: Node, branches: list[tuple[Node, Node]]) -> Node | None:
    if out.get("unevaluatedProperties") is not False:
        return None
    whole = {key: value for key, value in out.items() if key != "unevaluatedProperties"}
    for _, part in branches:
        merged = merge(whole, part)
        if merged is None or not merged.keys().isdisjoint(json_schema.IN_PLACE_KEYWORDS):
            return None
        whole = merged
    return {**whole, "additionalProperties": False}


def _is_closed(part: Node) -> bool:
    return part.get("additionalProperties") is False


def _has_rival_closed_objects(parts: list[Node]) -> bool:
    if not any(map(_is_closed, parts)):
        return False
    names = {name for part in parts for name in part.get("properties", ())}
    return any(_is_closed(part) and names - part.get("properties", {}).keys() for part in parts)


def _open_for_each_other(parts: list[Node]) -> list[Node]:
    names = [name for part in parts for name in part.get("properties", ())]
    return [
        {**part, "properties": {**{name: {} for name in names}, **part.get("properties", {})}}
        if _is_closed(part)
        else part
        for part in parts
    ]


def _are_exclusive(first: Node, second: Node) -> bool:
    ours, theirs = _listed_values(first), _listed_values(second)
    if ours is not None and theirs is not None:
        return not any(json_values.contains_value(theirs, value) for value in ours)
    if "type" not in first or "type" not in second:
        return False
    try:
        _common_type(first["type"], second["type"])
    except _NotExactError:
        return True
    return False


def _listed_values(schema: Node) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    values: list[Any] | None = schema.get("enum")
    return values


def merge(
    first: Node, second: Node, report: Callable[[str, str], None] = ignore_report
) -> Node | None:
    """Return the intersection of two schemas, or None; the first's annotations win.

    Objects that are closed each become one that is closed over the properties of both.
    """
    if "$ref" in first or "$ref" in second or "allOf" in first:
        return None
    first, second = _drop_open_items(first, second), _drop_open_items(second, first)
    if (
        _has_different_group(first, second)
        or _limits_undeclared(first, second)
        or _limits_undeclared(second, first)
    ):
        return None
    out = dict(first)
    try:
        for key, value in second.items():
            if key not in out:
                out[key] = value
            elif key in _PROPERTY_MAPS:
                out[key] = _merge_properties(out[key], value, report)
            elif key not in ANNOTATIONS and not json_values.is_equal(out[key], value):
                out[key] = _MERGERS.get(key, _raise_not_exact)(out[key], value)
    except _NotExactError:
        return None
    return out


def _drop_open_items(schema: Node, other: Node) -> Node:
    if schema.get("items") != {} or other.keys().isdisjoint(_OF_ITEMS):
        return schema
    return {key: value for key, value in schema.items() if key != "items"}


def _has_different_group(first: Node, second: Node) -> bool:
    return any(
        first.keys() & group
        and second.keys() & group
        and any(not json_values.is_equal(first.get(key), second.get(key)) for key in group)
        for group in _GROUPS
    )


def _limits_undeclared(one: Node, other: Node) -> bool:
    for key in _CLOSING & one.keys():
        if one[key] is True or one[key] == {}:
            continue
        if key == "additionalProperties" and one[key] is False and other.get(key, True) in _OPEN:
            continue  # closed over the properties of both
        if key != "additionalProperties" or not json_values.is_equal(one.get(key), other.get(key)):
            return True
        if any(one.get(part, {}).keys() != other.get(part, {}).keys() for part in _PROPERTY_MAPS):
            return True
    return False


def _raise_not_exact(_first: Any, _second: Any) -> Any:
    raise _NotExactError


def _meet_additional(first: Any, second: Any) -> Any:
    if first in (True, {}):
        return second
    return first if second in (True, {}) else _raise_not_exact(first, second)


def _merge_properties(first: Node, second: Node, report: Callable[[str, str], None]) -> Node:
    out = dict(first)
    for name, schema in second.items():
        if name not in out or json_values.is_equal(out[name], schema) or out[name] is True:
            out[name] = schema
        elif out[name] is False or schema is False:
            out[name] = False
        elif schema is not True:
            out[name] = _merge_property(name, out[name], schema, report)
    return out


def _merge_property(
    name: str, first: Node, second: Node, report: Callable[[str, str], None]
) -> Node:
    if _are_exclusive(first, second):
        report(
            "allOf",
            f"has {name!r:.60} with schemas that no value can match together; one is enough.",
        )
        return {"anyOf": [first, second]}
    return merge(first, second, report) or {"allOf": [first, second]}


def _common_type(first: Any, second: Any) -> Any:
    ours = first if isinstance(first, list) else [first]
    theirs = second if isinstance(second, list) else [second]
    common = [name for name in ours if name in theirs]
    for names, other_names in ((ours, theirs), (theirs, ours)):
        if "number" in names and "integer" in other_names and "integer" not in common:
            common.append("integer")
    if not common:
        raise _NotExactError
    return common if len(common) > 1 else common[0]


_MERGERS: dict[str, Callable[[Any, Any], Any]] = {
    "type": _common_type,
    "required": lambda first, second: list(dict.fromkeys([*first, *second])),
    # Without a common value the schemas stay apart: an empty `enum` would accept nothing.
    "enum": lambda one, two: (
        [v for v in one if json_values.contains_value(two, v)] or _raise_not_exact(one, two)
    ),
    "uniqueItems": lambda first, second: first or second,
    "additionalProperties": _meet_additional,
    "unevaluatedProperties": _meet_additional,
    **dict.fromkeys(_LARGEST, max),
    **dict.fromkeys(_SMALLEST, min),
}


class HiddenProperties:
    """Finds the properties of one document's schemas that have a mark, such as `readOnly`."""

    def __init__(self, references: References, mark: str, limits: Callable[[Node], bool]) -> None:
        self._references = references
        self._mark = mark
        self._limits = limits

    def drop_required(self, out: Node, node: Node, resource: Resource) -> None:
        """Drop the names from `required`, in place, that a schema or a branch of it marks."""
        properties = out.get("properties", {})
        if "allOf" not in node and len(properties) == len(as_dict(node.get("properties"))):
            return  # most schemas
        hidden = set(self._marked_names(node, resource)) - properties.keys()
        out["required"] = [name for name in out["required"] if name not in hidden]
        if not out["required"]:
            del out["required"]

    def _marked_names(self, node: Any, resource: Resource) -> Iterator[str]:
        pending = [(node, resource)]
        seen: set[tuple[int, int]] = set()
        while pending and len(seen) < _MAX_BRANCHES:
            node, owner, _ = self._references.follow(*pending.pop(), stops=self._limits)
            key = (id(node), id(owner))
            if not isinstance(node, dict) or key in seen:
                continue
            seen.add(key)
            if "$ref" in node:
                pending.append((node, owner))
            for name, schema in as_dict(node.get("properties")).items():
                if self.is_hidden(schema, owner):
                    yield name
            pending += [(branch, owner) for branch in as_list(node.get("allOf"))]

    def is_hidden(self, value: Any, resource: Resource) -> bool:
        """Return whether a property, or the component it refers to, has the mark."""
        if not isinstance(value, dict):
            return False
        if self._mark in value and is_true(value[self._mark]):
            return True
        if "$ref" not in value:
            return False
        target = self._references.follow(value, resource).node
        return isinstance(target, dict) and is_true(target.get(self._mark))
