"""A model's input as arguments that fit a tool's schema, repaired where the meaning is clear."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import jsonschema_rs

from openapi_tools.providers.definitions import create_restorer
from openapi_tools.tools.argument_names import find_api_names, use_tool_names
from openapi_tools.validation.checker import Checker
from openapi_tools.validation.json_strings import parsing_notes
from openapi_tools.validation.tool_input import accept_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.model import Operation
    from openapi_tools.providers.restore import Restorer
    from openapi_tools.result import ToolResult
    from openapi_tools.settings import Settings
    from openapi_tools.tools.tool_protocol import Tool

# The first check of a process takes longer, as it looks up types of Python: not in a call.
jsonschema_rs.is_valid({}, None)


class CheckedArguments(NamedTuple):
    """Arguments that fit, and notes on values that were not read as they were written."""

    values: dict[str, Any]
    notes: list[str]


class ArgumentReader:
    """Reads the inputs of one tool; `fits_small` is the check that most inputs pass at once."""

    def __init__(self, tool: Tool, settings: Settings) -> None:
        self._tool = tool
        self._settings = settings
        self._restorers: dict[str, Restorer | None] = {}

    @cached_property
    def _checker(self) -> Checker:
        return Checker(self._tool.input_schema)

    @cached_property
    def fits_small(self) -> Callable[[Any], bool]:
        """The function that returns whether small arguments fit the schema unchanged."""
        return self._checker.fits_small

    def read(self, value: object, profile: str | None) -> CheckedArguments:
        """Return the arguments in an input of any size and type; InputError if they do not fit."""
        return self.repair(accept_input(value, self._settings), profile)

    def repair(self, arguments: dict[str, Any], profile: str | None) -> CheckedArguments:
        """Return arguments in the form that fits; InputError names what does not."""
        if profile:
            arguments = self._undo_profile(arguments, profile)
        if self._checker.fits(arguments):
            return CheckedArguments(arguments, [])
        arguments = self._use_tool_names(arguments)
        # For example null for an absent argument, as profiles ask of models, and JSON in strings.
        restored = self._undo_profile(arguments, "")
        if notes := parsing_notes(arguments, restored):
            # Values read from strings have limits, too.
            restored = accept_input(restored, self._settings)
        repaired = self._tool.repair_arguments(restored)
        if self._checker.fits(repaired):
            return CheckedArguments(repaired, notes)
        self._checker.check(restored if notes else arguments, example=True)
        return CheckedArguments(arguments, [])

    def _use_tool_names(self, arguments: dict[str, Any]) -> dict[str, Any]:
        operation = find_operation(self._tool)
        if operation is None:
            return arguments
        properties = self._tool.input_schema.get("properties", {})
        return use_tool_names(arguments, find_api_names(operation, properties)) or arguments

    def _undo_profile(self, arguments: dict[str, Any], profile: str) -> dict[str, Any]:
        if profile not in self._restorers:
            self._restorers[profile] = create_restorer(self._tool, profile)
        restorer = self._restorers[profile]
        return arguments if restorer is None else restorer.restore(arguments)


def find_operation(tool: Tool) -> Operation | None:
    """Return the operation of a tool; None if a user's own tool has none."""
    try:
        return tool.operation
    except (AttributeError, NotImplementedError):
        return None


def add_notes(result: ToolResult, notes: list[str]) -> ToolResult:
    """Return a result with further notes."""
    if notes:
        result = result.model_copy(deep=True)  # a user's tool may return one result to many calls
        result.metadata["notes"] = [*result.metadata.get("notes", ()), *notes]
    return result
