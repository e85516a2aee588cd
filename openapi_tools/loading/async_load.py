"""`aload_tools`: `load_tools` for code in an event loop.

In a module of its own, as asyncio takes 10 ms to import and most loads of files need none.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Unpack

from openapi_tools import errors
from openapi_tools.loading.document_reader import LoadOptions
from openapi_tools.loading.load import load_by_options
from openapi_tools.tools.session import make_settings

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from openapi_tools.common.options import Client, Select
    from openapi_tools.loading.load import Application, Overlay
    from openapi_tools.settings import Settings, SettingsMembers
    from openapi_tools.toolsets.toolset import Toolset


async def aload_tools(
    source: str | os.PathLike[str] | bytes | Mapping[str, Any] | Application | None = None,
    *,
    select: Select | None = None,
    credentials: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    client: Client | None = None,
    strict: bool = False,
    overlays: Sequence[Overlay] | Overlay = (),
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    **members: Unpack[SettingsMembers],
) -> Toolset:
    """Run `load_tools` in a thread, so that the event loop is not blocked."""
    loop = asyncio.get_running_loop()

    def load() -> Toolset:
        chosen = make_settings(settings, members)
        options = LoadOptions(source, chosen, credentials, overlays, client, strict)
        return load_by_options(options, select, config, loop=loop)

    try:
        return await asyncio.to_thread(load)
    except errors.OpenAPIToolsError as error:
        source, credentials, overlays, members = "", None, (), {}  # as above
        raise errors.strip_traceback(error)  # noqa: B904 -- the same one
