"""What a provider's schemas can say: one class for each provider with a subset of JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from openapi_tools.providers.simple_forms import Form


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
