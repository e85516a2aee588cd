"""The tables of a configuration about responses, checked by pydantic.

They stand below the other tables, as a call may bring such a table in its context.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Table(BaseModel):
    """A table of the file: unknown keys are refused, values are not shown in errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Answers(Table):
    """How responses are made smaller; `fields` is JMESPath."""

    drop: tuple[Annotated[str, Field(min_length=1)], ...] | None = None
    nulls: bool | None = None
    max_items: int | None = Field(default=None, ge=0)
    max_chars: int | None = Field(default=None, ge=100)


class ToolAnswers(Answers):
    """How the responses of one tool are made smaller."""

    fields: str | None = None
