"""`${NAME}` in configuration: read from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from openapi_tools.errors import CredentialsError, SettingsError

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def from_environment(value: Any, name: str, *, secret: bool = True) -> Any:
    """Return a value in which each `${NAME}` is what the environment has for it.

    Args:
        value: A text, or lists and mappings of texts; whatever else is in it stays.
        name: What it is for.
        secret: It is a credential, rather than a setting.

    Raises:
        CredentialsError: A variable that a credential needs is not set, or empty.
        SettingsError: The same for a setting.
    """
    if isinstance(value, list | tuple):
        return [from_environment(part, name, secret=secret) for part in value]
    if isinstance(value, Mapping):
        return {key: from_environment(v, name, secret=secret) for key, v in value.items()}
    if not isinstance(value, str):
        return value
    return VARIABLE.sub(lambda match: _variable(match.group(1), name, secret=secret), value)


def _variable(variable: str, name: str, *, secret: bool) -> str:
    found = os.environ.get(variable)
    if found:
        return found
    reason = f"{name!r:.60}: the environment variable {variable} is not set or empty."
    if secret:
        raise CredentialsError(reason, scheme=name)
    raise SettingsError(reason)
