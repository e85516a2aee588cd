"""From a toolset into a coordinator: any object that has `mount("tools", tool, name=…)`."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from openapi_tools.tools.session import Session
    from openapi_tools.tools.toolset import Toolset

# Package, class of its coordinators, and the module whose `present` gives tools as these take them.
# By name: the contracts stand above the runtime, and what a generated package mounts has to fit as
# well, though it imports the runtime alone.
_PRESENTERS = (("amplifier_core", "ModuleCoordinator", "openapi_tools.contracts.amplifier"),)


async def mount_tools(
    toolset: Toolset, coordinator: Any, session: Session
) -> Callable[[], Awaitable[None]]:
    """Mount every tool of a toolset; all of them or none.

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
    """Close the connections once no coordinator needs them."""
    session.mounts -= 1
    if session.mounts <= 0:
        await session.sender.aclose()


def _presented(coordinator: Any, toolset: Toolset) -> AbstractContextManager[Iterable[Any]]:
    """Return the tools as a coordinator takes them: as they are, unless it is one of a package.

    A coordinator's class does not tell its package: Amplifier's says it is a builtin. But there is
    no such coordinator before its package is imported.
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
