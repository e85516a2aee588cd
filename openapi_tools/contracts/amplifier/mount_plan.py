"""A mount plan's configuration -> mounted tools of one or several documents."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CredentialsError, SettingsError
from openapi_tools.tools.mount_configuration import check_selected, options_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openapi_tools.tools.toolset import Toolset

_KEYS = ("spec", "specs", "select", "credentials", "base_url", "settings")

logger = logging.getLogger("openapi_tools")


async def mount(
    coordinator: Any, config: Mapping[str, Any] | None = None
) -> Callable[[], Awaitable[None]]:
    """Mount the tools of OpenAPI documents, as a mount plan's configuration says; all or none.

    Args:
        coordinator: Amplifier's, or whatever has `await mount("tools", tool, name=…)`.
        config: `spec` (a URL, a path or a parsed document) and, all optional, `select`,
            `credentials`, `base_url` and `settings`; or `specs`, a list of such mappings. Without
            any, nothing is mounted.

    Returns:
        An async function that unmounts the tools and closes the connections.

    Raises:
        SettingsError: A configuration that does not fit, or a tool's name that is taken.
        CredentialsError: A scheme that a document does not have, or a variable that is not set.
        DocumentError: A document that cannot be used.
        SourceError: A document that cannot be read.
    """
    async with AsyncExitStack() as stack:
        toolsets = {}
        for place, part in _parts(config):
            toolset = await _loaded(place, part)
            toolsets[place] = await stack.enter_async_context(toolset)
            _tell(place, toolset)
        _check_names(toolsets)
        for toolset in toolsets.values():
            stack.push_async_callback(await toolset.mount(coordinator))
        return stack.pop_all().aclose


def _tell(place: str, toolset: Toolset) -> None:
    """Log what cannot be called: whoever writes a mount plan does not see the toolset."""
    for item in toolset.skipped:
        operation = f"{item.method} {item.path}".strip()
        logger.warning("%s: skipped %s: %s", place, operation, item.reason)
    for warning in toolset.warnings:
        logger.warning("%s: %s", place, warning)


def _check_names(toolsets: Mapping[str, Toolset]) -> None:
    """Do nothing when no two documents have tools of one name."""
    places: dict[str, str] = {}
    for place, toolset in toolsets.items():
        taken = [tool.name for tool in toolset if tool.name in places]
        if taken:
            hint = "give one of them settings: {prefix: …}."
            reason = f"{places[taken[0]]} has a tool of the same name, {taken[0]}; {hint}"
            raise SettingsError(f"{place}: {reason}")
        places |= dict.fromkeys((tool.name for tool in toolset), place)


def _parts(config: Mapping[str, Any] | None) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the configuration of each document, with the place where it stands."""
    if config is None:
        return []
    given = _checked(config, "configuration", _KEYS)
    if "specs" not in given:
        return [("configuration", given)] if given else []
    if len(given) > 1:
        reason = "put what belongs to a document beside its 'spec'."
        raise SettingsError(f"configuration: 'specs' stands alone; {reason}")
    if not isinstance(given["specs"], list | tuple):
        kind = type(given["specs"]).__name__
        raise SettingsError(f"configuration: 'specs' must be a list of mappings, not {kind}.")
    places = [(f"specs/{index}", part) for index, part in enumerate(given["specs"])]
    keys = tuple(key for key in _KEYS if key != "specs")
    return [(place, _checked(part, place, keys)) for place, part in places]


def _checked(given: Any, place: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    """Return a mapping that has known keys only."""
    if not isinstance(given, Mapping):
        raise SettingsError(f"{place}: must be a mapping by name, not {type(given).__name__}.")
    for key in given:
        if key not in keys:
            raise SettingsError(f"{place}: there is no {key!r:.60}; there are {', '.join(keys)}.")
    whole = "specs" in keys
    if given.get("spec") is None and not (whole and ("specs" in given or not given)):
        raise SettingsError(f"{place}: there is no 'spec'; give the URL or the path of a document.")
    return given


async def _loaded(place: str, part: Mapping[str, Any]) -> Toolset:
    """Return the tools of one document."""
    from openapi_tools import aload_tools

    try:
        options = options_of({key: value for key, value in part.items() if key != "spec"})
        return check_selected(await aload_tools(part["spec"], **options), options["select"])
    except SettingsError as error:
        raise SettingsError(_at(place, error.reason)) from error
    except CredentialsError as error:
        raise CredentialsError(_at(place, error.reason), scheme=error.scheme) from error


def _at(place: str, reason: str) -> str:
    """Return a reason with its place; where there is one document only, it says enough itself."""
    return reason if place == "configuration" else f"{place}: {reason}"
