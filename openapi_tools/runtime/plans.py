"""From the configuration in a mount plan to the options of a toolset."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CredentialsError, SettingsError
from openapi_tools.runtime.settings import Settings
from openapi_tools.runtime.toolset import Select

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEYS = ("base_url", "credentials", "select", "settings")
_SELECT_KEYS = ("tags", "methods", "names", "paths", "deprecated")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def options_of(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a mount plan's configuration says as the options of `load_tools`.

    A value `"${NAME}"` of a credential or of `base_url` is read from the environment.

    Args:
        config: `credentials` by scheme name, `base_url`, `select` (`tags`, `methods`, `names`,
            `paths`, `deprecated`) and `settings` (members of `Settings`); None for none of them.

    Returns:
        `select`, `credentials` and `settings`.

    Raises:
        SettingsError: An unknown key, or a value of the wrong kind.
        CredentialsError: An environment variable that is not set.
    """
    parts = _checked(config, _KEYS, "configuration")
    members = _checked(parts.get("settings"), None, "settings")
    if parts.get("base_url") is not None:
        members["base_url"] = _from_environment(parts["base_url"], "base_url")
    select = _checked(parts.get("select"), _SELECT_KEYS, "select")
    credentials = _checked(parts.get("credentials"), None, "credentials")
    return {
        "select": Select(**select) if select else None,
        "credentials": {n: _from_environment(value, n) for n, value in credentials.items()},
        "settings": Settings(**members),
    }


def _checked(value: Any, keys: tuple[str, ...] | None, name: str) -> dict[str, Any]:
    """Return a mapping of known keys as a dict of its own."""
    if value is None:
        return {}
    if not hasattr(value, "items") or not all(isinstance(key, str) for key in value):
        raise SettingsError(f"{name}: must be a mapping by name, not {type(value).__name__}.")
    for key in value:
        if keys is not None and key not in keys:
            raise SettingsError(f"{name}: there is no {key!r:.60}; there are {', '.join(keys)}.")
    return dict(value)


def _from_environment(value: Any, name: str) -> Any:
    """Return a value, or what the environment has for `${NAME}`."""
    match = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return [_from_environment(part, name) for part in value] if _is_pair(value) else value
    found = os.environ.get(match.group(1))
    if not found:
        reason = f"{name!r:.60}: the environment variable {match.group(1)} is not set."
        raise CredentialsError(reason, scheme=name)
    return found


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple)
