"""Results that the tools of one document share while their definitions are written."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_schema import map_subschemas
from openapi_tools.common.json_values import omit_keys
from openapi_tools.providers.budget import Shortener
from openapi_tools.providers.identity_cache import IdentityCache
from openapi_tools.providers.wording import (
    UNNEEDED_KEYWORDS,
    WORDINGS,
    Wording,
    repeats_name,
    shorten_description,
)

if TYPE_CHECKING:
    from openapi_tools.providers.forms import Form


class ShapedSchema(NamedTuple):
    """A schema in a provider's form, and its form for a property that may be absent."""

    whole: Form
    optional: Form


class ShapeEntry(NamedTuple):
    """A schema, kept so that its id is not reused; its shape; the definitions that this needs.

    The shape is the same for every number of levels above `deepest`.
    """

    node: Any
    shaped: ShapedSchema
    references: frozenset[str]
    deepest: int


class Memory:
    """Shaped schemas of one profile and one document, by the id of the original."""

    def __init__(self) -> None:
        self._shortened: defaultdict[tuple[str, str], IdentityCache[Form]] = defaultdict(
            IdentityCache
        )
        self._entries: dict[int, ShapeEntry] = {}
        self._entries_of_levels: defaultdict[int, dict[int, ShapeEntry]] = defaultdict(dict)
        self.tallies: IdentityCache[Any] = IdentityCache()
        self.renamed_schemas: IdentityCache[Any] = IdentityCache()
        self._definitions: Form = {}
        self.shortener = Shortener()

    def find_entry(self, node: Any, levels: int | None) -> ShapeEntry | None:
        """Return the entry of a schema that is shaped down to a number of levels."""
        entry = self._entries.get(id(node))
        if entry is not None and (levels is None or entry.deepest < levels):
            return entry
        return None if levels is None else self._entries_of_levels[levels].get(id(node))

    def add_entry(self, entry: ShapeEntry, levels: int | None) -> None:
        """Keep an entry, for any number of levels if it is not cut."""
        is_whole = levels is None or entry.deepest < levels
        entries = self._entries if is_whole else self._entries_of_levels[levels or 0]
        entries[id(entry.node)] = entry

    def use_definitions(self, definitions: Form) -> None:
        """Forget the entries where a tool has other definitions of the same names."""
        current = self._definitions
        if any(current.get(name, node) is not node for name, node in definitions.items()):
            self._entries.clear()
            self._entries_of_levels.clear()
            current.clear()
        current.update(definitions)

    def shorten_wording(self, node: Any, wording: str, name: str = "") -> Any:
        """Return a schema in a wording; no text in it repeats the name of its property."""
        if wording not in WORDINGS or not isinstance(node, dict):
            return node

        def change(node: Form) -> Form:
            new = map_subschemas(node, lambda part, name: self.shorten_wording(part, wording, name))
            return _apply_wording(new, name, WORDINGS[wording])

        return self._shortened[wording, name].find(node, change)


def _apply_wording(node: Form, name: str, wording: Wording) -> Form:
    text, title = node.get("description"), node.get("title")
    shortened = text
    if isinstance(text, str):
        is_repetition = name != "" and repeats_name(text, name)
        shortened = ""
        if not is_repetition:
            shortened = shorten_description(text, wording.whole_chars, wording.property_chars)
    surplus = [key for key in UNNEEDED_KEYWORDS if key in node]
    if isinstance(title, str) and (shortened or repeats_name(title, name)):
        surplus.append("title")
    if shortened is text and not surplus:
        return node
    kept = omit_keys(node, surplus if shortened else [*surplus, "description"])
    return {**kept, "description": shortened} if shortened else kept
