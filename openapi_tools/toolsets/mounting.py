"""Mounts the tools of a toolset into a coordinator."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from openapi_tools.errors import SettingsError, join_first

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from openapi_tools.tools.session import Session
    from openapi_tools.tools.tool import OperationTool

_NAMED = 3  # tools in a message


class MountableTools(Protocol):
    """Tools, and the sessions that hold their connections."""

    def __iter__(self) -> Iterator[OperationTool]: ...

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions, one for each document."""


async def mount_tools(toolset: MountableTools, coordinator: Any) -> Callable[[], Awaitable[None]]:
    """Mount every tool of a toolset, or none; errors are as of `Toolset.mount`."""
    if not callable(getattr(coordinator, "mount", None)):
        raise SettingsError(f"{type(coordinator).__name__} is not a coordinator: no mount().")
    get = getattr(coordinator, "get", None)
    mounted = get("tools") if callable(get) else None
    mounted_names = mounted if isinstance(mounted, dict) else {}
    taken = sorted(tool.name for tool in toolset if tool.name in mounted_names)
    if taken:
        names = join_first(taken, _NAMED)
        hint = "load or generate yours with a prefix, or select others."
        raise SettingsError(f"tools with these names are already mounted: {names}; {hint}")
    async with AsyncExitStack() as stack:
        for tool in stack.enter_context(_adapt_tools(coordinator, toolset)):
            await coordinator.mount("tools", tool, name=tool.name)
            stack.push_async_callback(_unmount, coordinator, tool.name)
        for session in toolset.sessions:
            session.mounts += 1
        unmounting = stack.pop_all()
    closing = AsyncExitStack()
    for session in toolset.sessions:
        closing.push_async_callback(_release_session, session)
    closing.push_async_exit(unmounting)

    async def cleanup() -> None:
        # Shielded: a session that is cancelled while it cleans up leaves no connection behind.
        await asyncio.shield(closing.aclose())

    return cleanup


async def _release_session(session: Session) -> None:
    session.mounts -= 1
    if session.mounts <= 0:
        await session.aclose()


def _adapt_tools(
    coordinator: Any, toolset: MountableTools
) -> AbstractContextManager[Iterable[Any]]:
    # Amplifier's coordinator, known by its class, takes tools of its own form.
    amplifier = getattr(sys.modules.get("amplifier_core"), "ModuleCoordinator", None)
    if not isinstance(amplifier, type) or not isinstance(coordinator, amplifier):
        return nullcontext(toolset)
    from openapi_tools.toolsets.amplifier_tool import adapt_tools  # needs the extra `amplifier`

    return adapt_tools(coordinator, toolset)


async def _unmount(coordinator: Any, name: str) -> None:
    unmount = getattr(coordinator, "unmount", None)
    if callable(unmount):
        await unmount("tools", name)
