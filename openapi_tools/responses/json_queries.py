"""JMESPath expressions, applied to values of JSON within bounds."""

from __future__ import annotations

from typing import Any


def parse_expression(expression: str) -> Any:
    """Return the syntax tree of a JMESPath expression; SettingsError for other strings."""
    return _import_interpreter().parse_expression(expression)


def apply_expression(expression: str, value: Any) -> Any:
    """Return the parts of a JSON value that an expression chooses.

    Raises:
        SettingsError: The expression cannot be used.
        ValueError: It does not fit the value, its result is not JSON or would be too large.
    """
    return _import_interpreter().evaluate(expression, value, is_written=True)


def evaluate(expression: str, value: Any) -> Any:
    """Return what `apply_expression` does, for a result that is looked at and not written."""
    return _import_interpreter().evaluate(expression, value, is_written=False)


def _import_interpreter() -> Any:
    # Start-up time and memory: most tools have no expression.
    from openapi_tools.responses import query_interpreter

    return query_interpreter
