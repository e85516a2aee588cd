"""A schema in which every member has a name that a provider takes; all else stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.providers.provider_names import portable_forms, renamed
from openapi_tools.providers.wording import called
from openapi_tools.schema_keywords import ONE_SCHEMA, SCHEMA_LISTS, SCHEMA_MAPS

if TYPE_CHECKING:
    from collections.abc import Callable

    Known = dict[int, tuple[Any, Any]]


def with_names(node: Any, takes: Callable[[str], bool], known: Known) -> Any:
    """Return a schema with names that a provider takes; the same one where it has no others.

    Args:
        node: The schema; not changed.
        takes: Whether the provider takes a name.
        known: What was looked at before, by the id of the schema.
    """
    if not isinstance(node, dict):
        return node
    found = known.get(id(node))
    if found is None:
        found = known[id(node)] = (node, _with_names(node, takes, known))
    return found[1]


def _with_names(node: dict[str, Any], takes: Callable[[str], bool], known: Known) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for keyword, value in node.items():
        new: Any = value
        if keyword in ONE_SCHEMA:
            new = with_names(value, takes, known)
        elif keyword in SCHEMA_LISTS and isinstance(value, list):
            new = [with_names(part, takes, known) for part in value]
        elif keyword in SCHEMA_MAPS and isinstance(value, dict):
            new = _members(keyword, value, takes, known)
        elif keyword == "required" and isinstance(value, list):
            names = renamed(node.get("properties", {}), takes)
            new = [names.get(name, name if takes(name) else _short(name)) for name in value]
        if not _is_same(new, value):
            changed[keyword] = new
    return {**node, **changed} if changed else node


def _members(
    keyword: str, value: dict[str, Any], takes: Callable[[str], bool], known: Known
) -> dict[str, Any]:
    names = renamed(value, takes) if keyword == "properties" else {}
    found: dict[str, Any] = {}
    for name, part in value.items():
        new = with_names(part, takes, known)
        if name in names:
            new = called(new if isinstance(new, dict) else {} if new else {"not": {}}, name)
        found[names.get(name, name)] = new
    return found


def _short(name: str) -> str:
    return portable_forms(name)[0]


def _is_same(new: Any, old: Any) -> bool:
    """Tell whether nothing was changed, without looking inside schemas again."""
    if new is old:
        return True
    if isinstance(new, dict) and isinstance(old, dict):
        pairs = zip(new.items(), old.items(), strict=True)
        return all(mine == name and part is own for (mine, part), (name, own) in pairs)
    if isinstance(new, list) and isinstance(old, list):
        return all(part is own or part == own for part, own in zip(new, old, strict=True))
    return False
