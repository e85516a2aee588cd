"""Definitions that apply to the same value in a circle, cut open.

`A: {anyOf: [A, string]}` and its like say nothing about a value, and a validator that follows them
never ends. Such documents are published, so the reference that closes the circle is taken out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.loading.schema_keywords import IN_PLACE

if TYPE_CHECKING:
    from collections.abc import Mapping


def without_circles(
    definitions: dict[str, dict[str, Any]], in_place: Mapping[str, frozenset[str]]
) -> dict[str, dict[str, Any]]:
    """Return definitions none of which reaches itself without going into a member of the value.

    Args:
        definitions: Converted schemas by name.
        in_place: For each, the definitions that it applies to the same value.
    """
    inner = {name for name, targets in in_place.items() if targets}
    if not any(in_place[name] & inner for name in inner):
        return definitions
    order: list[str] = []
    cut: dict[str, set[str]] = {}
    done: set[str] = set()
    for start in definitions:
        _visit(start, in_place, order, done, cut)
    if not cut:
        return definitions
    return {
        name: _without(schema, cut[name]) if name in cut else schema
        for name, schema in definitions.items()
    }


def _visit(
    start: str,
    in_place: Mapping[str, frozenset[str]],
    path: list[str],
    done: set[str],
    cut: dict[str, set[str]],
) -> None:
    """Walk from one definition, depth first, noting the references that lead back."""
    stack = [(start, iter(sorted(in_place[start])))] if start not in done else []
    path[:] = [name for name, _ in stack]
    while stack:
        name, following = stack[-1]
        target = next(following, None)
        if target is None:
            done.add(name)
            stack.pop()
            path.pop()
        elif target in path:
            cut.setdefault(name, set()).add(target)
        elif target not in done:
            stack.append((target, iter(sorted(in_place[target]))))
            path.append(target)


def _without(schema: Any, names: set[str]) -> Any:
    """Return a schema without its in-place references to some definitions."""
    if not isinstance(schema, dict):
        return schema
    out = {
        key: value for key, value in schema.items() if key != "$ref" or not _leads(schema, names)
    }
    for key in out.keys() & IN_PLACE:
        value = out[key]
        if isinstance(value, list):
            parts = [_without(part, names) for part in value if not _is_only(part, names)]
            out[key] = parts or [{}]
        elif key == "dependentSchemas":
            out[key] = {name: _without(part, names) for name, part in value.items()}
        else:
            out[key] = _without(value, names)
    return out


def _leads(schema: dict[str, Any], names: set[str]) -> bool:
    return str(schema.get("$ref", "")).removeprefix("#/$defs/") in names


def _is_only(schema: Any, names: set[str]) -> bool:
    """Tell whether a branch is nothing but such a reference."""
    return isinstance(schema, dict) and schema.keys() == {"$ref"} and _leads(schema, names)
