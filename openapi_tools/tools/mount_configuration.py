"""From the configuration in a mount plan to the options of a toolset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.environment_variables import VARIABLE, from_environment
from openapi_tools.errors import SettingsError
from openapi_tools.options import members_of
from openapi_tools.tools.toolset import Select

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.settings import Settings
    from openapi_tools.tools.toolset import Toolset

_BASE_URL = "base_url"
_KEYS = (_BASE_URL, "credentials", "select", "settings")
_SELECT_KEYS = ("tags", "methods", "names", "paths", "deprecated")


def options_of(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a mount plan's configuration says as the options of `load_tools`.

    `${NAME}` in `base_url` is read from the environment here, in a credential when it is taken.

    Raises:
        SettingsError: An unknown key, a value of the wrong kind, or a variable for `base_url` that
            is not set.
    """
    parts = members_of(config, _KEYS, "configuration")
    members = members_of(parts.get("settings"), None, "settings")
    if parts.get(_BASE_URL) is not None:
        members[_BASE_URL] = parts[_BASE_URL]
    if _BASE_URL in members:
        members[_BASE_URL] = from_environment(members[_BASE_URL], _BASE_URL, secret=False)
    select = members_of(parts.get("select"), _SELECT_KEYS, "select")
    credentials = members_of(parts.get("credentials"), None, "credentials")
    return {
        "select": Select(**select) if select else None,
        "credentials": credentials,
        "settings": _settings(members, parts),
    }


def _settings(members: dict[str, Any], parts: Mapping[str, Any]) -> Settings:
    """Return the settings; an error shows nothing that the environment has."""
    from openapi_tools.settings import Settings

    try:
        return Settings(**members)
    except SettingsError:
        written = str(parts.get(_BASE_URL) or (parts.get("settings") or {}).get(_BASE_URL))
        variables = ", ".join(f"${{{name}}}" for name in VARIABLE.findall(written))
        if not variables:
            raise
    Settings(**{name: value for name, value in members.items() if name != _BASE_URL})
    raise SettingsError(f"{_BASE_URL}: {variables} gives no http:// or https:// address.")


def check_selected(toolset: Toolset, select: Select | None) -> Toolset:
    """Return a toolset, unless a selection leaves nothing of it.

    Raises:
        SettingsError: No tool is selected, as a slip in a name may have it.
    """
    if select is not None and not len(toolset):
        raise SettingsError("select: no operation of the document is like that; nothing is left.")
    return toolset
