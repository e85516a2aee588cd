"""Why a profile cannot express something."""

from __future__ import annotations

from typing import Any

from openapi_tools.errors import OpenAPIToolsError


class CannotExpress(OpenAPIToolsError):  # noqa: N818 -- no fault of anybody: a schema says too much
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
