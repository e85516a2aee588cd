"""What was shaped already: tools of one document share most of their schemas."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Shaped:
    """A schema as a provider wants it, and whether null is accepted beside it.

    Attributes:
        schema: Without null; None when nothing but null is accepted.
        null: Whether null is accepted.
        whole: The schema with null where it is accepted; made when it is asked for.
        optional: Likewise, of a member that may be absent.
    """

    schema: dict[str, Any] | None
    null: bool = False
    whole: dict[str, Any] | None = None
    optional: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A schema that was shaped.

    Attributes:
        node: The schema; kept, so that its id stays its own.
        shaped: What became of it.
        references: The definitions that it refers to now.
        looked: The schemas that were looked at through references, which decided about it too.
    """

    node: Any
    shaped: Shaped
    references: frozenset[str]
    looked: tuple[tuple[str, Any], ...]


@dataclass(slots=True)
class Memory:
    """What was shaped for one profile.

    Attributes:
        entries: By the id of the schema.
        tallies: What counts against a provider's limits, by the id of what was shaped.
        renamed: Schemas with other names, by the id of the schema.
        sizes: Characters as JSON, by the id of what was shaped.
    """

    entries: dict[int, Entry] = field(default_factory=dict)
    tallies: dict[int, Any] = field(default_factory=dict)
    renamed: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    sizes: dict[int, tuple[Any, int]] = field(default_factory=dict)

    def size_of(self, shaped: dict[str, Any]) -> int:
        """Return how many characters a shaped input schema takes as JSON; a few more at most."""
        parts = {**shaped, "$defs": {}, "properties": {}}
        size = len(json.dumps(parts))
        for keyword in ("$defs", "properties"):
            for name, part in shaped.get(keyword, {}).items():
                if id(part) not in self.sizes:
                    self.sizes[id(part)] = (part, len(json.dumps(part)))
                size += len(json.dumps(name)) + 4 + self.sizes[id(part)][1]
        return size
