"""The description of one setting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal


@dataclass(frozen=True, slots=True)
class Setting:
    """The meaning and the bounds of a setting: the metadata of its annotation.

    Attributes:
        text: What it does, as sentences. `--help` has the first one.
        page: The section of docs/ that explains it, as `"shaping.md#names"`.
        acts_on: What it changes. A generated package has those for tools built in, and no use for
            those that say how a document is read.
        python_only: Whether its value is a Python object that no file can hold.
        finite: Whether infinity is refused.
        gt: The value is greater than this.
        ge: The value is at least this.
        le: The value is at most this.
        pattern: A regular expression that the value matches.
    """

    text: str
    page: str = ""
    acts_on: Literal["tools", "document", "calls", "document and calls"] = "calls"
    python_only: bool = False
    finite: bool = False
    gt: float | None = None
    ge: float | None = None
    le: float | None = None
    pattern: str | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return pydantic's schema of the field, with its bounds and its description."""
        # Start-up time: loading with default settings needs no pydantic.
        from pydantic import Field

        field: Any = Field(
            description=self.text,
            gt=self.gt,
            ge=self.ge,
            le=self.le,
            pattern=self.pattern,
            allow_inf_nan=False if self.finite else None,
        )
        return handler.generate_schema(Annotated[source, field])
