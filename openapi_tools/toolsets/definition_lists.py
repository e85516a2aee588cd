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
        profile: The profile of the last definitions; None before the first ones.
        notes: Notes about tools that a provider does not support, by its profile.
    """

    profile: str | None = None
    notes: dict[str, list[str]] = field(default_factory=dict)
    _definitions: ToolsetDefinitions | None = None

    def list_notes(self) -> Iterator[str]:
        """Yield the notes of all providers."""
        for notes in self.notes.values():
            yield from notes

    def make(
        self, tools: Any, profile: str, index: Any, *, defer: bool, programmatic: bool
    ) -> list[dict[str, Any]]:
        """Return the definitions of tools, as `Toolset.definitions` does.

        Args:
            tools: A toolset.
            profile: The name of the profile.
            index: The cached search index of the document, beside which definitions are cached.
            defer: As for `Toolset.definitions`.
            programmatic: As for `Toolset.definitions`.
        """
        # Start-up time: tools are loaded and called without them.
        from openapi_tools.providers.toolset_definitions import (
            ToolsetDefinitions,
            defer_definitions,
            describe_excess,
        )

        writer = self._definitions
        if writer is None or (writer.profile, writer.programmatic) != (profile, programmatic):
            writer = ToolsetDefinitions(profile, index, programmatic=programmatic)
            self._definitions = writer
        definitions, notes = writer.write(tools)
        if defer:
            definitions = defer_definitions(profile, definitions, tools)
        elif excess := describe_excess(profile, len(definitions)):
            notes.append(excess)
        self.profile, self.notes[profile] = profile, notes
        return definitions

    def declares_responses(self, tools: Any) -> bool:
        """Return whether the last definitions of tools have schemas of responses."""
        writer = self._definitions
        return writer is not None and any(map(writer.declares_response, tools))
