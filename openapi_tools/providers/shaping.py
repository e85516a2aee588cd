"""Shapes of schemas for a provider: dialects, the reason of a failure, and a cache."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from openapi_tools.errors import OpenAPIToolsError

if TYPE_CHECKING:
    from openapi_tools.providers.simple_forms import Form


class CannotExpress(OpenAPIToolsError):  # noqa: N818 -- a schema says too much
    """A provider's schemas cannot say what a tool's input schema says.

    Attributes:
        reason: What it is.
        place: JSON Pointer into the input schema.
        final: Leaving out some part would not help.
        empty: There is nothing to say: no value is accepted.
    """

    def __init__(
        self, reason: str, *, place: str = "", final: bool = False, empty: bool = False
    ) -> None:
        super().__init__(reason)
        self.place = place
        self.final = final
        self.empty = empty

    def at(self, place: str) -> CannotExpress:
        """Return it with its place."""
        return CannotExpress(self.reason, place=place, final=self.final, empty=self.empty)

    def __str__(self) -> str:
        return f"#{self.place}: {self.reason}"


def refuse(form: dict[str, Any], *keywords: str) -> None:
    """Do nothing for a schema without some keywords.

    Raises:
        CannotExpress: It has one of them.
    """
    for keyword in keywords:
        if keyword in form:
            raise CannotExpress(f"`{keyword}` cannot be said")


class Dialect(Protocol):
    """What a provider's schemas can say. No schema that is given holds null."""

    null_for_absent: bool
    """Whether every member is required, and null stands for one that is absent."""

    def takes_name(self, name: str) -> bool:
        """Tell whether a member may have a name."""

    def with_null(self, schema: Form) -> Form:
        """Return a schema that also accepts null."""

    def null(self) -> Form:
        """Return a schema that accepts nothing but null."""

    def enum(self, values: list[Any], *, beside_strings: bool) -> Form:
        """Return a schema of an enumeration.

        Args:
            values: At least one.
            beside_strings: Any string may stand there too, so that none can be a label.
        """

    def string(self, form: Form) -> Form:
        """Return a schema of strings."""

    def number(self, form: Form) -> Form:
        """Return a schema of numbers or of integers."""

    def object(self, members: dict[str, Form], required: list[str], counts: Form) -> Form:
        """Return a schema of objects; `counts` bounds how many members they have."""

    def words(self, schema: Form, form: Form) -> Form:
        """Return the keywords that say to a model what a form's words say."""

    def anything(self) -> dict[str, Form]:
        """Return the definitions of any JSON value."""


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
