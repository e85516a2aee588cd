"""The definitions of a toolset's tools for the APIs of providers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.providers.toolset_definitions import ToolsetDefinitions


@dataclass(slots=True, eq=False)
class DefinitionLists:
    """Makes definitions, and remembers those of the last provider.

    Attributes:
        profile: Of the last definitions; None before the first ones.
        notes: On the tools that a provider does not take, by its profile.
    """

    profile: str | None = None
    notes: dict[str, list[str]] = field(default_factory=dict)
    _definitions: ToolsetDefinitions | None = None

    def list_notes(self) -> Iterator[str]:
        """Yield the notes of all providers."""
        for notes in self.notes.values():
            yield from notes

    def make(self, tools: Any, profile: str, index: Any, *, defer: bool) -> list[dict[str, Any]]:
        """Return the definitions of tools, as `Toolset.definitions` does.

        Args:
            tools: A toolset.
            profile: Of the provider.
            index: Where the document's search index is cached; definitions are kept beside it.
            defer: As for `Toolset.definitions`.
        """
        # Start-up time: tools are loaded and called without them.
        from openapi_tools.providers.toolset_definitions import (
            MOST_TOOLS,
            ToolsetDefinitions,
            defer_definitions,
        )

        if self._definitions is None or self._definitions.profile != profile:
            self._definitions = ToolsetDefinitions(profile, index)
        definitions, notes = self._definitions.write(tools)
        limit = MOST_TOOLS.get(profile, len(definitions))
        if defer:
            definitions = defer_definitions(profile, definitions, tools)
        elif len(definitions) > limit:
            excess = f"accepts {limit} tools in one request, but there are {len(definitions)}"
            notes.append(f"{profile}: the provider {excess}; select the ones you need.")
        self.profile, self.notes[profile] = profile, notes
        return definitions
