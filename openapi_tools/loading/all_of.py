"""`allOf` merged into one schema where that is exact, and members that only the server may write.

Spec: JSON Schema Core 2020-12, section 10.2.1.1; OpenAPI 3.0.4, section 4.7.24.2, `readOnly`;
Swagger 2.0, "Schema Object".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi_tools.json_values import holds, same
from openapi_tools.loading.keyword_values import is_true

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.loading.references import References, Resource

WORDS: Final = frozenset({"title", "description", "examples", "default", "deprecated", "writeOnly"})
"""Keywords that say something about a value without limiting it."""

MAX_COPIES: Final = 200_000
"""Members copied while branches are merged, as each copies those before it; then branches stay."""

_LARGEST = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_SMALLEST = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})
_TOGETHER = (
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"items", "prefixItems", "unevaluatedItems"}),
)
_CLOSING = frozenset({"additionalProperties", "unevaluatedProperties"})
_MEMBERS = ("properties", "patternProperties")


class _NotExactError(Exception):
    """Two schemas have no common form that says exactly the same."""


def merge_all(
    schema: dict[str, Any], inlined: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Return a schema with as much of its `allOf` merged into it as is exact.

    Args:
        schema: A converted schema with `allOf`.
        inlined: Gives a branch with its `$ref` replaced, or the branch itself.
    """
    out = {key: value for key, value in schema.items() if key != "allOf"}
    if len(schema["allOf"]) == 1 and schema["allOf"][0].keys() == {"$ref"} and out.keys() <= WORDS:
        return {**schema["allOf"][0], **out}  # words around one component need no `allOf`
    kept = []
    copies = 0
    for branch in schema["allOf"]:
        copies += len(out.get("properties", ())) + len(out.get("required", ()))
        merged = merge(out, inlined(branch)) if copies <= MAX_COPIES else None
        if merged is None:
            kept.append(branch)
        else:
            out = merged
    if not kept:
        return out
    if len(kept) == 1 and not out.keys() - WORDS and not out.keys() & kept[0].keys():
        return {**out, **kept[0]}  # words around a single branch need no `allOf`
    return {**out, "allOf": kept}


def merge(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any] | None:
    """Return one schema that says what two say together, or None; the first's words win."""
    if "$ref" in first or "$ref" in second or "allOf" in first:
        return None
    if _differ_together(first, second) or _closes(first, second) or _closes(second, first):
        return None
    out = dict(first)
    try:
        for key, value in second.items():
            out[key] = _joined(key, out[key], value) if key in out else value
    except _NotExactError:
        return None
    return out


def _differ_together(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Tell whether keywords that only make sense together stand on both sides."""
    return any(
        first.keys() & group
        and second.keys() & group
        and any(not same(first.get(key), second.get(key)) for key in group)
        for group in _TOGETHER
    )


def _closes(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether one side limits the members that only the other side declares."""
    for key in _CLOSING & one.keys():
        if one[key] is True or one[key] == {}:
            continue
        if key == "unevaluatedProperties" or not same(one.get(key), other.get(key)):
            return True
        if any(one.get(part, {}).keys() != other.get(part, {}).keys() for part in _MEMBERS):
            return True
    return False


def _joined(key: str, first: Any, second: Any) -> Any:
    """Return the value of a keyword that stands on both sides."""
    if key in WORDS or same(first, second):
        return first
    if key not in _JOINERS:
        raise _NotExactError
    return _JOINERS[key](first, second)


def _common_values(first: list[Any], second: list[Any]) -> list[Any]:
    common = [value for value in first if holds(second, value)]
    if not common:
        raise _NotExactError
    return common


def _closed(first: Any, second: Any) -> Any:
    """Return the stricter of two values of `additionalProperties`, one of which says nothing."""
    if first in (True, {}):
        return second
    if second in (True, {}):
        return first
    raise _NotExactError


def _joined_members(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    out = dict(first)
    for name, schema in second.items():
        if name not in out or same(out[name], schema) or out[name] is True:
            out[name] = schema
        elif schema is not True:
            out[name] = _both(out[name], schema)
    return out


def _both(first: Any, second: Any) -> Any:
    """Return a schema for a member that both sides describe."""
    if first is False or second is False:
        return False
    merged = merge(first, second)
    return {"allOf": [first, second]} if merged is None else merged


def _common_type(first: Any, second: Any) -> Any:
    ours = first if isinstance(first, list) else [first]
    theirs = second if isinstance(second, list) else [second]
    common = [name for name in ours if name in theirs]
    if "number" in ours and "integer" in theirs and "integer" not in common:
        common.append("integer")
    if "integer" in ours and "number" in theirs and "integer" not in common:
        common.append("integer")
    if not common:
        raise _NotExactError
    return common if len(common) > 1 else common[0]


_JOINERS: dict[str, Callable[[Any, Any], Any]] = {
    "type": _common_type,
    "properties": _joined_members,
    "patternProperties": _joined_members,
    "required": lambda first, second: list(dict.fromkeys([*first, *second])),
    "enum": _common_values,
    "uniqueItems": lambda first, second: first or second,
    "additionalProperties": _closed,
    "unevaluatedProperties": _closed,
    **dict.fromkeys(_LARGEST, max),
    **dict.fromkeys(_SMALLEST, min),
}

_MAX_BRANCHES = 32
"""Schemas in one another's `allOf` that are looked into."""


class ReadOnly:
    """Finds the members of one document's schemas that only the server may write.

    Args:
        references: Resolves `$ref`.
    """

    def __init__(self, references: References) -> None:
        self._references = references
        self._known: dict[str, bool] = {}

    def not_required_of_any(
        self, out: dict[str, Any], node: dict[str, Any], resource: Resource
    ) -> None:
        """Drop the names from a merged `required` that any branch marks as `readOnly`.

        Args:
            out: The converted schema, changed in place.
            node: As the document has it, with `allOf`.
            resource: Its document.
        """
        if "required" not in out:
            return
        hidden = set(self._hidden(node, resource, _MAX_BRANCHES)) - out.get("properties", {}).keys()
        out["required"] = [name for name in out["required"] if name not in hidden]
        if not out["required"]:
            del out["required"]

    def _hidden(self, node: Any, resource: Resource, depth: int) -> Iterator[str]:
        """Yield the members of a schema and of its `allOf` that only the server may write."""
        node, resource, _ = self._references.follow(node, resource)
        if not isinstance(node, dict) or depth == 0:
            return
        members = node.get("properties")
        for name, member in members.items() if isinstance(members, dict) else ():
            if self.is_hidden(member, resource):
                yield name
        branches = node.get("allOf")
        for branch in branches if isinstance(branches, list) else ():
            yield from self._hidden(branch, resource, depth - 1)

    def is_hidden(self, value: Any, resource: Resource) -> bool:
        """Tell whether a member, or the component it refers to, is `readOnly`."""
        if not isinstance(value, dict):
            return False
        if "readOnly" in value and is_true(value["readOnly"]):
            return True
        if "$ref" not in value:
            return False
        ref = value["$ref"] if resource is self._references.entry else None
        hidden = self._known.get(ref) if type(ref) is str else None
        if hidden is None:
            found = self._references.follow(value, resource).node
            hidden = isinstance(found, dict) and is_true(found.get("readOnly"))
            if type(ref) is str:
                self._known[ref] = hidden
        return hidden

    def not_required(self, out: dict[str, Any], node: dict[str, Any], resource: Resource) -> None:
        """Drop members from `required` that are not offered.

        Args:
            out: The converted schema with `required`, changed in place.
            node: As the document has it.
            resource: Its document.
        """
        members = node.get("properties")
        offered = out.get("properties", ())
        if isinstance(members, dict) and len(offered) < len(members):
            out["required"] = [
                name
                for name in out["required"]
                if name in offered or not self.is_hidden(members.get(name), resource)
            ]
        if not out["required"]:
            del out["required"]
