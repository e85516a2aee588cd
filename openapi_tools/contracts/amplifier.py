"""Amplifier: mount the tools of documents, as a mount plan's configuration says.

The entry point `tool-openapi` of the group `amplifier.modules` names `mount`. How a tool looks to
Amplifier is in `openapi_tools.toolsets.amplifier_tool`.
"""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from openapi_tools.common.options import check_keys
from openapi_tools.errors import CredentialsError, SettingsError
from openapi_tools.loading.async_load import aload_tools
from openapi_tools.toolsets import amplifier_tool  # noqa: F401 -- raises MissingExtraError without its extra
from openapi_tools.toolsets.packages import check_selected, options_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from openapi_tools.toolsets.toolset import Toolset

__amplifier_module_type__ = "tool"
__all__ = ["mount"]

_DOCUMENT_KEYS = ("spec", "select", "credentials", "base_url", "settings", "overlays")
_KEYS = ("spec", "specs", *_DOCUMENT_KEYS[1:])

logger = logging.getLogger("openapi_tools")


async def mount(
    coordinator: Any, config: Mapping[str, Any] | None = None
) -> Callable[[], Awaitable[None]]:
    """Mount the tools of OpenAPI documents, as a mount plan's configuration says: all, or none.

    Args:
        coordinator: Amplifier's, or any object with `await mount("tools", tool, name=…)`.
        config: `spec` (a URL, a path or a parsed document) and, all optional, `select`,
            `credentials`, `base_url` and `settings`; or `specs`, a list of such mappings. Without
            any, nothing is mounted.

    Returns:
        An async function that unmounts the tools and closes the connections.

    Raises:
        SettingsError: A configuration that does not fit, or a tool's name that is taken.
        CredentialsError, DocumentError, SourceError: As `load_tools`, for one of the documents.
    """
    async with AsyncExitStack() as stack:
        toolsets: list[Toolset] = []
        sources: dict[str, str] = {}  # by the names of tools
        for location, part in _split_config(config):
            toolset = await stack.enter_async_context(await _load_part(location, part))
            toolsets.append(toolset)
            _log_warnings(location, toolset)
            _claim_names(sources, location, toolset)
        for toolset in toolsets:
            stack.push_async_callback(await toolset.mount(coordinator))
        return stack.pop_all().aclose


def _log_warnings(location: str, toolset: Toolset) -> None:
    # The author of a mount plan has no toolset to ask for what was skipped.
    for item in toolset.skipped:
        operation = f"{item.method} {item.path}".strip()
        logger.warning("%s: skipped %s: %s", location, operation, item.reason)
    for warning in toolset.warnings:
        logger.warning("%s: %s", location, warning)


def _claim_names(sources: dict[str, str], location: str, toolset: Toolset) -> None:
    for name in (tool.name for tool in toolset if tool.name in sources):
        hint = "set settings: {prefix: …} for one of them."
        reason = f"{sources[name]} has a tool of the same name, {name}; {hint}"
        raise SettingsError(f"{location}: {reason}")
    sources |= dict.fromkeys((tool.name for tool in toolset), location)


def _split_config(config: Mapping[str, Any] | None) -> list[tuple[str, Mapping[str, Any]]]:
    if config is None:
        return []
    whole = _check_part(config, "configuration", _KEYS)
    if "specs" not in whole:
        return [("configuration", whole)] if whole else []
    if len(whole) > 1:
        raise SettingsError(
            "configuration: 'specs' cannot be combined with other keys; put the keys of a "
            "document next to its 'spec'."
        )
    if not isinstance(whole["specs"], list | tuple):
        kind = type(whole["specs"]).__name__
        raise SettingsError(f"configuration: 'specs' must be a list of mappings, not {kind}.")
    parts = [(f"specs/{index}", part) for index, part in enumerate(whole["specs"])]
    return [(location, _check_part(part, location, _DOCUMENT_KEYS)) for location, part in parts]


def _check_part(config: Any, location: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    part = check_keys(config, keys, location)
    needs_spec = keys is not _KEYS or ("specs" not in part and part)
    if needs_spec and part.get("spec") is None:
        raise SettingsError(
            f"{location}: 'spec' is missing; set it to the URL or path of a document."
        )
    return part


async def _load_part(location: str, part: Mapping[str, Any]) -> Toolset:
    # A configuration of one document needs no location in its messages.
    prefix = "" if location == "configuration" else f"{location}: "
    try:
        options = options_of({k: v for k, v in part.items() if k not in ("spec", "overlays")})
        toolset = await aload_tools(
            part["spec"],
            select=options["select"],
            credentials=options["credentials"],
            settings=options["settings"],
            overlays=part.get("overlays") or (),
        )
        return check_selected(toolset, options["select"])
    except CredentialsError as error:
        raise CredentialsError(f"{prefix}{error.reason}", scheme=error.scheme) from error
    except SettingsError as error:
        raise SettingsError(f"{prefix}{error.reason}") from error
