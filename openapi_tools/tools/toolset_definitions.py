"""The tools of one toolset as the APIs of providers take them, and what was left out of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.providers.definitions import LIMITS, CannotExpress, check_profile, define
from openapi_tools.providers.shaping_cache import Memory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.tools.tool import OperationTool


class Definitions:
    """The tools of one toolset as the APIs of providers take them.

    Attributes:
        profile: The one that was asked for last: how a model's arguments are to be read unless the
            caller says otherwise. None before the first.
    """

    def __init__(self) -> None:
        self.profile: str | None = None
        self._warnings: dict[str, list[str]] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was left out or is said in words, and why; for every profile asked for."""
        return tuple(text for texts in self._warnings.values() for text in texts)

    def of(self, tools: Iterable[OperationTool], profile: str) -> list[dict[str, Any]]:
        """Return the definitions of the tools.

        Raises:
            SettingsError: There is no such profile.
        """
        check_profile(profile)
        memory, found, warnings = Memory(), [], []
        for tool in tools:
            try:
                definition = define(tool, profile, memory, loosely=True)
            except CannotExpress as error:
                warnings.append(f"{profile}: {tool.name} is left out: {error}")
                continue
            found.append(definition.value)
            warnings += (f"{profile}: {tool.name}: {note}" for note in definition.notes)
        if len(found) > LIMITS.get(profile, len(found)):
            most = f"{LIMITS[profile]} tools in one request, and these are {len(found)}"
            warnings.append(f"{profile}: the provider takes {most}; select those that you need.")
        self.profile, self._warnings[profile] = profile, warnings
        return found
