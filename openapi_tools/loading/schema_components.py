"""Converted components, and which of them a schema reaches.

Each is converted once for the whole document and shared between tools, so treat it as frozen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.loading import reference_cycles, schema_keywords
from openapi_tools.loading.schema_limits import compact, most_in, size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_REMEMBERED = 200_000
"""Definitions in all closures that are kept for other tools; hostile documents have far more."""


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

    What gives a definition by its name is an argument of each call: kept here it would be a circle
    of objects, in which a large document outlives its tools.
    """

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._known: dict[frozenset[str], Closure] = {}
        self._room = MAX_REMEMBERED

    def of(self, uses: frozenset[str], definition: Callable[[str], Definition]) -> Closure:
        """Return the definitions that some names reach, in the order of their names.

        Args:
            uses: What `keywords.uses_of(…).every` gave for a converted schema.
            definition: Gives a definition by its name.
        """
        found = self._known.get(uses)
        if found is None:
            reached = reach(uses, definition)
            names = sorted(reached)
            definitions = {name: reached[name].schema for name in names}
            in_place = {name: reached[name].in_place for name in names}
            whole = reference_cycles.without_circles(definitions, in_place)
            found = Closure(whole, sum(definition.most for definition in reached.values()))
            if self._room >= len(names):
                self._room -= len(names)
                self._known[uses] = found
        return found

    def size_of(self, closure: Closure, definition: Callable[[str], Definition]) -> int:
        """Return how many characters definitions take as JSON, with their names; measured once."""
        sizes = self._sizes
        for name in closure.definitions.keys() - sizes.keys():
            sizes[name] = size_of(definition(name).schema) + size_of(name)
        return sum(map(sizes.__getitem__, closure.definitions))


def reach(uses: Iterable[str], definition: Callable[[str], Definition]) -> dict[str, Definition]:
    """Return the definitions that some names reach, their own included."""
    reached: dict[str, Definition] = {}
    waiting = sorted(uses)
    while waiting:
        below: set[str] = set()
        for name in waiting:
            found = reached[name] = definition(name)
            if found.uses:
                below |= found.uses
        waiting = sorted(below - reached.keys())
    return reached


def defined(name: str, schema: dict[str, Any]) -> Definition:
    """Return a converted component as a definition."""
    text = compact(schema)
    most = most_in(text) + 6 * len(name) + 4
    if b'"$ref"' not in text:
        return Definition(schema, schema_keywords.NOTHING, schema_keywords.NOTHING, most)
    uses = schema_keywords.uses_of(schema)
    return Definition(schema, uses.every, uses.in_place, most)
