"""Names that a profile takes for those that it does not, the same way there and back."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from openapi_tools.json_values import ONE_SCHEMA, SCHEMA_LISTS, SCHEMA_MAPS
from openapi_tools.providers.wording import called

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Known = dict[int, tuple[Any, Any]]

KEY, VALUE = "key", "value"
"""The members of a pair: a map becomes an array of such objects where its keys cannot be told."""
ENTRIES = "entries"
"""The one member of an object that stands where anything may stand; it holds pairs."""
ANYTHING = "_anything"
"""The definition of any JSON value; no component's name in `$defs` starts like that."""

_PORTABLE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
_OTHER = re.compile(r"[^a-zA-Z0-9_]+")
_LONGEST = 64
_EMPTY = "(empty)"


def is_portable(name: str) -> bool:
    """Tell whether every provider takes a member's name unchanged."""
    return _PORTABLE.fullmatch(name) is not None


def portable_forms(name: str) -> tuple[str, str]:
    """Return the names that a member with an unusual one may get: a short one, and a sure one.

    Args:
        name: As the API spells it, for instance `$ref` or `filter[x]`.
    """
    words = _OTHER.sub("_", name).rstrip("_") or "_"
    if words[0].isdigit():
        words = f"_{words}"
    mark = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
    sure = f"{words[: _LONGEST - len(mark) - 1]}_{mark}"
    return (words if len(words) <= _LONGEST else sure), sure


def renamed(names: Iterable[str], takes: Callable[[str], Any]) -> dict[str, str]:
    """Return new names for those members that need one.

    Args:
        names: The members that an object declares.
        takes: Whether a provider takes a name unchanged.
    """
    declared = list(names)
    taken = set(declared)
    found: dict[str, str] = {}
    for name in declared:
        if not takes(name):
            short, sure = portable_forms(name)
            found[name] = sure if short in taken else short
            taken.add(found[name])
    return found


def extras_name(names: Iterable[str]) -> str:
    """Return the name of the member that holds those which an object does not declare."""
    name, declared = "additional_properties", set(names)
    while name in declared:
        name += "_"
    return name


def labels(values: Iterable[Any]) -> dict[str, Any]:
    """Map string labels to the values of an enumeration, for providers that allow only strings."""
    listed = list(values)
    taken = {value for value in listed if isinstance(value, str) and value}
    named: dict[str, Any] = {}
    for value in listed:
        label = value
        if not isinstance(value, str) or not value:
            label = _EMPTY if value == "" else json.dumps(value, ensure_ascii=False)
            while label in taken:
                label = f"({label})"
        taken.add(label)
        named[label] = value
    return named


def is_pair(value: Any) -> bool:
    """Tell whether a value is one entry of a map."""
    return isinstance(value, dict) and value.keys() == {KEY, VALUE} and isinstance(value[KEY], str)


def are_pairs(value: Any) -> bool:
    """Tell whether a value may be a map written as pairs."""
    return isinstance(value, list) and all(map(is_pair, value))


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
            new = [
                names.get(name, name if takes(name) else portable_forms(name)[0]) for name in value
            ]
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
