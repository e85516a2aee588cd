"""Tools by the names that models and people use for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from openapi_tools.common.options import (
    Select,
    close_names,
    explain_skipped,
    find_unknown_selections,
    names_operation,
)
from openapi_tools.errors import SettingsError, format_count
from openapi_tools.redaction import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from openapi_tools.model import Skipped
    from openapi_tools.tools.tool_protocol import Tool

_Tool = TypeVar("_Tool", bound="Tool")


def find_tool(tools: Mapping[str, _Tool], typed: object, skipped: Iterable[Skipped]) -> _Tool:
    """Return the tool of an operationId or `GET /path`.

    Raises:
        KeyError: No tool or several are meant; the message says which, or why there is none.
    """
    candidates = [tool for tool in tools.values() if names_operation(typed, tool)]
    if len(candidates) > 1:
        names = " and ".join(tool.name for tool in candidates)
        raise KeyError(f"{excerpt(repr(typed), 100)} is the operationId of {names}; name one.")
    if not candidates:
        raise KeyError(describe_unknown_tool(typed, tools, skipped))
    return candidates[0]


def select_tools(tools: Iterable[_Tool], select: object, skipped: Sequence[Skipped]) -> list[_Tool]:
    """Return the tools that are selected; SettingsError for a selection of nothing."""
    selection, listed = Select.parse(select), list(tools)
    selected = [tool for tool in listed if selection is None or selection.takes(tool)]
    if selection is not None and not selected:
        for _, reason in find_unknown_selections(selection, listed, skipped=skipped):
            raise SettingsError(f"select: {reason}")
    return selected


def describe_unknown_tool(
    name: object, tools: Iterable[str], skipped: Iterable[Skipped] = ()
) -> str:
    """Return the message for an unknown tool: why it was skipped, or the nearest names."""
    names, message = list(tools), f"no tool is called {excerpt(repr(name), 100)}"
    if reason := explain_skipped(name, skipped):
        return f"{message}: {reason}"
    close = close_names(name, names)
    return message + (f" among {format_count(len(names), 'tool')}." if close == "." else close)
