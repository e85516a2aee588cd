"""The arguments that a configuration fixes; their strings may name environment variables.

The operation keeps `${NAME}`, so that no value of the environment reaches a file. The values are
read when the tool is first called, and are in requests only, like credentials.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from openapi_tools.common.options import VARIABLE, expand_variables, find_variables
from openapi_tools.errors import CallError
from openapi_tools.redaction import MASK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openapi_tools.redaction import Redactor


class FixedArguments:
    """The fixed arguments of one operation; `masked` has `***` for environment variables."""

    __slots__ = (
        "_read_values",
        "_redactor",
        "_templates",
        "masked",
    )  # so that `vars` shows no secret

    def __init__(self, templates: Mapping[str, Any], redactor: Redactor) -> None:
        self.masked: dict[str, Any] = {name: _mask(value) for name, value in templates.items()}
        self._templates = templates
        self._redactor = redactor
        self._read_values: Callable[[], dict[str, Any]] | None = None  # wrapped, as in `Secret`

    def read(self) -> dict[str, Any]:
        """Return the arguments with the values of environment variables, which are secrets.

        Raises:
            CallError: A variable is not set.
        """
        if self._read_values is None:
            for name, value in self._templates.items():
                self._redactor.learn(*(_read(variable, name) for variable in find_variables(value)))
            values = {name: expand_variables(v, name) for name, v in self._templates.items()}
            self._read_values = lambda: values
        return self._read_values()


def _read(variable: str, argument: str) -> str:
    value = os.environ.get(variable)
    if not value:
        reason = f"{argument!r:.60}: the environment variable {variable} is not set"
        raise CallError("credentials", f"{reason}; the request was not sent.")
    return value


def _mask(value: Any) -> Any:
    # Only the variables: the text around them says what the argument is for.
    if isinstance(value, list):
        return [_mask(item) for item in value]
    if isinstance(value, dict):
        return {name: _mask(item) for name, item in value.items()}
    return VARIABLE.sub(MASK, value) if isinstance(value, str) else value
