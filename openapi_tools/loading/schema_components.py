"""Converted components, and those that a schema reaches.

Each is converted once for the whole document and shared between tools, so treat it as frozen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.json_values import IN_PLACE, compact, most_in
from openapi_tools.loading.keyword_values import HOLDING, LISTS, MAPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MAX_REMEMBERED = 200_000
"""Definitions in all closures that are kept for other tools; hostile documents have far more."""
_NOTHING: frozenset[str] = frozenset()


class Uses(NamedTuple):
    """The definitions that a schema refers to.

    Attributes:
        every: All of them.
        in_place: Those that apply to the same value, not to a member of it.
        schemas: The number of schemas in it, itself included.
    """

    every: frozenset[str]
    in_place: frozenset[str]
    schemas: int


class Definition(NamedTuple):
    """A converted component.

    Attributes:
        schema: With `$ref`s into `#/$defs`.
        uses: The definitions that it refers to directly.
        in_place: Those of them that apply to the same value, not to a member of it.
        most: No fewer characters than it takes as JSON, with its name.
    """

    schema: dict[str, Any]
    uses: frozenset[str]
    in_place: frozenset[str]
    most: int


class Closure(NamedTuple):
    """The definitions that a schema reaches.

    Attributes:
        definitions: By name; shared by all that reach the same, so treat it as frozen.
        most: No fewer characters than they take as JSON, with their names.
    """

    definitions: dict[str, dict[str, Any]]
    most: int


class Closures:
    """The closures of one document.

    Each call is given the function that finds a definition: an attribute would make a circle of
    objects, in which a large document outlives its tools.
    """

    def __init__(self) -> None:
        self._known: dict[frozenset[str], Closure] = {}
        self._room = MAX_REMEMBERED

    def of(self, uses: frozenset[str], definition: Callable[[str], Definition]) -> Closure:
        """Return the definitions that some names reach, in the order of their names."""
        found = self._known.get(uses)
        if found is None:
            reached = reach(uses, definition)
            names = sorted(reached)
            definitions = {name: reached[name].schema for name in names}
            in_place = {name: reached[name].in_place for name in names}
            whole = without_cycles(definitions, in_place)
            found = Closure(whole, sum(definition.most for definition in reached.values()))
            if self._room >= len(names):
                self._room -= len(names)
                self._known[uses] = found
        return found


def reach(uses: Iterable[str], definition: Callable[[str], Definition]) -> dict[str, Definition]:
    """Return the definitions that some names reach, their own included."""
    reached: dict[str, Definition] = {}
    waiting = sorted(uses)
    while waiting:
        below: set[str] = set()
        for name in waiting:
            found = reached[name] = definition(name)
            below |= found.uses
        waiting = sorted(below - reached.keys())
    return reached


def defined(name: str, schema: dict[str, Any]) -> Definition:
    """Return a converted component as a definition."""
    text = compact(schema)
    most = most_in(text) + 6 * len(name) + 4
    if b'"$ref"' not in text:
        return Definition(schema, _NOTHING, _NOTHING, most)
    uses = uses_of(schema)
    return Definition(schema, uses.every, uses.in_place, most)


def name_of(reference: Mapping[str, Any]) -> str:
    """Return the name of the definition that a converted `$ref` leads to."""
    return str(reference["$ref"]).removeprefix("#/$defs/")


def uses_of(schema: dict[str, Any]) -> Uses:
    """Return the names of the definitions that a converted schema refers to directly."""
    here: list[Any] = [schema]
    below: list[Any] = []
    in_place = _names_in(here, below)
    every = in_place | _names_in(below, below)
    return Uses(frozenset(every), frozenset(in_place), len(here) + len(below))


def _names_in(nodes: list[Any], below: list[Any]) -> set[str]:
    """Return the names that schemas and those in place refer to; add the others to `below`."""
    found = set()
    for node in nodes:  # grows while it is walked
        if node.__class__ is not dict:
            continue
        if "$ref" in node:
            found.add(name_of(node))
        for key in HOLDING.intersection(node):
            parts = node[key]
            parts = parts.values() if key in MAPS else parts if key in LISTS else (parts,)
            (nodes if key in IN_PLACE else below).extend(parts)
    return found


def without_cycles(
    definitions: dict[str, dict[str, Any]], in_place: Mapping[str, frozenset[str]]
) -> dict[str, dict[str, Any]]:
    """Return definitions none of which reaches itself without going into a member of the value.

    `A: {anyOf: [A, string]}` and its like say nothing about a value, and a validator that follows
    them never ends. Such documents are published, so the reference that closes the cycle is taken
    out.

    Args:
        definitions: Converted schemas by name.
        in_place: For each, the definitions that it applies to the same value.
    """
    cut: dict[str, set[str]] = {}
    done: set[str] = set()
    for start in definitions:
        if in_place[start] and start not in done:
            _visit(start, in_place, done, cut)
    return {
        name: _without(schema, cut[name]) if name in cut else schema
        for name, schema in definitions.items()
    }


def _visit(
    start: str,
    in_place: Mapping[str, frozenset[str]],
    done: set[str],
    cut: dict[str, set[str]],
) -> None:
    """Walk from one definition, depth first, noting the references that lead back."""
    stack = [(start, iter(sorted(in_place[start])))]
    path = {start}
    while stack:
        name, following = stack[-1]
        target = next(following, None)
        if target is None:
            done.add(name)
            path.discard(name)
            stack.pop()
        elif target in path:
            cut.setdefault(name, set()).add(target)
        elif target not in done:
            stack.append((target, iter(sorted(in_place[target]))))
            path.add(target)


def _without(schema: Any, names: set[str]) -> Any:
    """Return a schema without its in-place references to some definitions."""
    if not isinstance(schema, dict):
        return schema
    out = {
        key: value for key, value in schema.items() if key != "$ref" or name_of(schema) not in names
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


def _is_only(schema: Any, names: set[str]) -> bool:
    """Tell whether a branch is nothing but such a reference."""
    return isinstance(schema, dict) and schema.keys() == {"$ref"} and name_of(schema) in names
