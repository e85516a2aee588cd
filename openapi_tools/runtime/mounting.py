"""From a toolset into a coordinator: any object that has `mount("tools", tool, name=…)`."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openapi_tools.runtime.toolset import Toolset


async def mount_tools(toolset: Toolset, coordinator: Any) -> Callable[[], Awaitable[None]]:
    """Mount every tool of a toolset; all of them or none.

    Args:
        toolset: Its tools are mounted under their names.
        coordinator: Whatever has `await mount("tools", tool, name=…)`; `get` and `unmount` are used
            where it has them.

    Returns:
        An async function that unmounts the tools and closes the connections; a second call of it
        does nothing.

    Raises:
        SettingsError: It is no coordinator, or a tool of such a name is mounted already.
    """
    if not callable(getattr(coordinator, "mount", None)):
        raise SettingsError(f"{type(coordinator).__name__} is no coordinator: it has no mount().")
    taken = sorted(_mounted(coordinator) & {tool.name for tool in toolset})
    if taken:
        names = ", ".join(taken[:3]) + (", …" if len(taken) > 3 else "")  # noqa: PLR2004
        hint = "load or generate yours with a prefix, or select others."
        raise SettingsError(f"tools of these names are mounted already: {names}; {hint}")
    async with AsyncExitStack() as stack:
        stack.push_async_callback(toolset.aclose)
        for tool in toolset:
            await coordinator.mount("tools", tool, name=tool.name)
            stack.push_async_callback(_unmount, coordinator, tool.name)
        return stack.pop_all().aclose


def _mounted(coordinator: Any) -> set[str]:
    """Return the names of the tools that a coordinator has, as far as it tells."""
    get = getattr(coordinator, "get", None)
    known = get("tools") if callable(get) else None
    return set(known) if isinstance(known, dict) else set()


async def _unmount(coordinator: Any, name: str) -> None:
    unmount = getattr(coordinator, "unmount", None)
    if callable(unmount):
        await unmount("tools", name)
