"""`allOf` merged into one schema where that is exact.

Spec: JSON Schema Core 2020-12, section 10.2.1.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi_tools.json_values import holds, same

if TYPE_CHECKING:
    from collections.abc import Callable

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
_CLOSING = frozenset({"additionalProperties", "unevaluatedItems", "unevaluatedProperties"})
_MEMBERS = ("properties", "patternProperties")


class _NotExactError(Exception):
    """Two schemas have no common form that says exactly the same."""


def merge_all(
    schema: dict[str, Any], inlined: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Return a schema with its `allOf` merged as far as is exact; `inlined` replaces a `$ref`."""
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
    kept = [*out.pop("allOf", ()), *kept]  # of a branch that was merged
    if not kept:
        return out
    if len(kept) == 1 and not out.keys() - WORDS and not out.keys() & kept[0].keys():
        return {**out, **kept[0]}  # words around a single branch need no `allOf`
    return {**out, "allOf": kept}


def merge(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any] | None:
    """Return the intersection of two schemas, or None; the first's annotations win."""
    if "$ref" in first or "$ref" in second or "allOf" in first:
        return None
    if _differ_together(first, second) or _closes(first, second) or _closes(second, first):
        return None
    out = dict(first)
    try:
        for key, value in second.items():
            if key not in out:
                out[key] = value
            elif key not in WORDS and not same(out[key], value):
                out[key] = _JOINERS.get(key, _not_exact)(out[key], value)
    except _NotExactError:
        return None
    return out


def _differ_together(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Tell whether both schemas have, and differ in, a group of dependent keywords."""
    return any(
        first.keys() & group
        and second.keys() & group
        and any(not same(first.get(key), second.get(key)) for key in group)
        for group in _TOGETHER
    )


def _closes(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether one side limits the members or items that only the other side declares."""
    for key in _CLOSING & one.keys():
        if one[key] is True or one[key] == {}:
            continue
        if key != "additionalProperties" or not same(one.get(key), other.get(key)):
            return True
        if any(one.get(part, {}).keys() != other.get(part, {}).keys() for part in _MEMBERS):
            return True
    return False


def _not_exact(_first: Any, _second: Any) -> Any:
    raise _NotExactError


def _common_values(first: list[Any], second: list[Any]) -> list[Any]:
    common = [value for value in first if holds(second, value)]
    return common or _not_exact(first, second)


def _closed(first: Any, second: Any) -> Any:
    if first in (True, {}):
        return second
    return first if second in (True, {}) else _not_exact(first, second)


def _joined_members(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    out = dict(first)
    for name, schema in second.items():
        if name not in out or same(out[name], schema) or out[name] is True:
            out[name] = schema
        elif out[name] is False or schema is False:
            out[name] = False
        elif schema is not True:
            out[name] = merge(out[name], schema) or {"allOf": [out[name], schema]}
    return out


def _common_type(first: Any, second: Any) -> Any:
    ours = first if isinstance(first, list) else [first]
    theirs = second if isinstance(second, list) else [second]
    common = [name for name in ours if name in theirs]
    for some, others in ((ours, theirs), (theirs, ours)):
        if "number" in some and "integer" in others and "integer" not in common:
            common.append("integer")
    return common if len(common) > 1 else common[0] if common else _not_exact(first, second)


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
