"""What a tool says, apart from where it came from: the thing that is written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openapi_tools.model import Operation


@dataclass(frozen=True, slots=True)
class Record:
    """One tool as data.

    Attributes:
        name: The tool's name.
        description: For the model.
        input_schema: JSON Schema 2020-12 of the input.
        operation: How the API is called.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    operation: Operation
