"""Mount toolsets into a coordinator: any object that has `mount("tools", tool, name=…)`."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import SettingsError
from openapi_tools.options import VARIABLE, from_environment, members_of, settings_of
from openapi_tools.tools.toolset import Select

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from openapi_tools.settings import Settings
    from openapi_tools.tools.session import Session
    from openapi_tools.tools.toolset import Toolset

# Package, class of its coordinators, and the module with `present` for them. By name, since the
# contracts are a layer above.
_PRESENTERS = (("amplifier_core", "ModuleCoordinator", "openapi_tools.contracts.amplifier"),)

_BASE_URL = "base_url"
_KEYS = (_BASE_URL, "credentials", "select", "settings")
_SELECT_KEYS = ("tags", "methods", "names", "paths", "deprecated")


async def mount_tools(
    toolset: Toolset, coordinator: Any, session: Session
) -> Callable[[], Awaitable[None]]:
    """Mount every tool of a toolset; all of them or none.

    Raises:
        SettingsError: It is not a coordinator, or a tool of such a name is mounted already.
    """
    if not callable(getattr(coordinator, "mount", None)):
        raise SettingsError(f"{type(coordinator).__name__} is not a coordinator: no mount().")
    taken = sorted(_mounted(coordinator) & {tool.name for tool in toolset})
    if taken:
        names = ", ".join(taken[:3]) + (", …" if len(taken) > 3 else "")  # noqa: PLR2004
        hint = "load or generate yours with a prefix, or select others."
        raise SettingsError(f"tools of these names are mounted already: {names}; {hint}")
    async with AsyncExitStack() as stack:
        for tool in stack.enter_context(_presented(coordinator, toolset)):
            await coordinator.mount("tools", tool, name=tool.name)
            stack.push_async_callback(_unmount, coordinator, tool.name)
        session.mounts += 1
        mounted = stack.pop_all()
    closing = AsyncExitStack()
    closing.push_async_callback(_let_go, session)
    closing.push_async_exit(mounted)
    return _cleanup(closing)


async def _let_go(session: Session) -> None:
    """Close the connections with the last coordinator."""
    session.mounts -= 1
    if session.mounts <= 0:
        await session.sender.aclose()


def _presented(coordinator: Any, toolset: Toolset) -> AbstractContextManager[Iterable[Any]]:
    """Return the tools in the form of the coordinator's package, if it is of a known one.

    The class does not name its package (Amplifier's claims to be a builtin), but exists only once
    the package is imported.
    """
    for package, kind, home in _PRESENTERS:
        known = getattr(sys.modules.get(package), kind, None)
        if isinstance(known, type) and isinstance(coordinator, known):
            presented: AbstractContextManager[Iterable[Any]]
            presented = import_module(home).present(coordinator, toolset)
            return presented
    return nullcontext(toolset)


def _cleanup(stack: AsyncExitStack) -> Callable[[], Awaitable[None]]:
    async def cleanup() -> None:
        # Shielded: a session that is cancelled while it cleans up leaves no connection behind.
        await asyncio.shield(stack.aclose())

    return cleanup


def _mounted(coordinator: Any) -> set[str]:
    """Return the names of the tools that a coordinator has, as far as it tells."""
    get = getattr(coordinator, "get", None)
    known = get("tools") if callable(get) else None
    return set(known) if isinstance(known, dict) else set()


async def _unmount(coordinator: Any, name: str) -> None:
    unmount = getattr(coordinator, "unmount", None)
    if callable(unmount):
        await unmount("tools", name)


def options_of(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """Turn a mount plan's configuration into options of `load_tools`.

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
    """Return the settings; an error does not show values of the environment."""
    try:
        return settings_of(members)
    except SettingsError:
        written = str(parts.get(_BASE_URL) or (parts.get("settings") or {}).get(_BASE_URL))
        variables = ", ".join(f"${{{name}}}" for name in VARIABLE.findall(written))
        if not variables:
            raise
    settings_of({name: value for name, value in members.items() if name != _BASE_URL})
    raise SettingsError(f"{_BASE_URL}: {variables} gives no http:// or https:// address.")


def check_selected(toolset: Toolset, select: Select | None) -> Toolset:
    """Return a toolset, unless a selection leaves nothing of it.

    Raises:
        SettingsError: No tool is selected, as a slip in a name may have it.
    """
    if select is not None and not len(toolset):
        raise SettingsError("select: no operation of the document is like that; nothing is left.")
    return toolset
