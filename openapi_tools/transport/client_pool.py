"""HTTP clients, one for each event loop.

A connection belongs to the event loop it was opened in. Whoever calls tools from several loops,
one after another or in threads, gets a client in each of them; it is closed when its loop ends.
A process that begins as the copy of another has the loops and connections of that one in its
memory: it leaves them alone and begins without any.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from openapi_tools.errors import CallError, SettingsError
from openapi_tools.transport.deadlines import Deadlines

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx

    from openapi_tools.settings import Settings
    from openapi_tools.transport.deadlines import Deadline
    from openapi_tools.transport.network_policy import NetworkPolicy

_PATIENCE = 5.0
_LEFT_BEHIND: list[object] = []
"""Of the process that this one was forked from."""
_TO_CONNECTION = ("_httpcore_stream", "_stream", "_connection")


@dataclass(slots=True, eq=False)
class Home:
    """What belongs to one event loop.

    Attributes:
        client: Opens connections and keeps some of them for the next call.
        turns: How many calls may still begin.
        deadlines: Of the calls that have begun.
    """

    client: httpx.AsyncClient
    turns: asyncio.Semaphore
    deadlines: Deadlines

    @property
    def under_way(self) -> set[Deadline]:
        """The deadlines of the calls that have begun and not ended."""
        return self.deadlines.under_way


class Homes:
    """The homes of one sender.

    Args:
        settings: `concurrency` bounds the calls under way in each loop.
        client: The user's own client, used in every loop and never closed; None makes clients.
        policy: Where the clients made here may go; that of the settings alone by default.

    Raises:
        MissingExtraError: The settings ask for `"fast"`, and httptools is not installed.
    """

    def __init__(
        self,
        settings: Settings,
        client: httpx.AsyncClient | None,
        policy: NetworkPolicy | None = None,
    ) -> None:
        if client is None and settings.transport == "fast":
            from openapi_tools.transport.httpx_transport import direct_pool

            direct_pool(settings)  # a missing package is told now, not by the first call
        self._settings = settings
        self._client = client
        self._policy = policy
        self._process = os.getpid()
        self._homes: dict[asyncio.AbstractEventLoop, Home] = {}
        self._keepers: dict[asyncio.AbstractEventLoop, AsyncGenerator[None]] = {}

    def here(self) -> Home | None:
        """Return the home of the running loop, if there is one already."""
        if self._process != os.getpid():
            return None
        try:
            return self._homes.get(asyncio.get_running_loop())
        except RuntimeError:
            return None

    async def of_this_loop(self) -> Home:
        """Return the home of the running loop, made when there is none yet.

        Raises:
            CallError: Another library than asyncio runs this, or the files of the settings do not
                make a client.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            reason = "tools are called under asyncio; no event loop of it is running."
            raise CallError("connection", reason) from None
        self._leave_parent()
        return self._homes.get(loop) or await self._move_in(loop)

    def _leave_parent(self) -> None:
        """Begin anew in a process that was forked from the one that made this.

        What is left behind must stay in memory: to free it would be to close it, and that would
        speak to the parent's event loop.
        """
        if self._process != os.getpid():
            _LEFT_BEHIND.append((self._homes, self._keepers))
            self._homes, self._keepers = {}, {}
            self._process = os.getpid()

    async def _move_in(self, loop: asyncio.AbstractEventLoop) -> Home:
        for other in list(self._homes):  # a copy: threads of other loops change it meanwhile
            if other.is_closed():
                self._homes.pop(other, None)
                self._keepers.pop(other, None)
        client = self._client or make_client(self._settings, self._policy)
        turns = asyncio.Semaphore(self._settings.concurrency)
        home = Home(client, turns, Deadlines())
        self._homes[loop] = home
        self._keepers[loop] = self._keep(loop, home)
        # A loop that ends closes the generators begun in it: the moment to close connections.
        await anext(self._keepers[loop])
        return home

    async def _keep(self, loop: asyncio.AbstractEventLoop, home: Home) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            self._homes.pop(loop, None)
            self._keepers.pop(loop, None)
            await home.deadlines.give_up()
            if self._client is None:
                await home.client.aclose()

    async def aclose(self) -> None:
        """Give up the calls under way in all loops, and close the clients made here."""
        here = asyncio.get_running_loop()
        self._leave_parent()
        for loop in list(self._keepers):
            keeper = self._keepers.pop(loop, None)
            if keeper is not None and loop is here:
                await keeper.aclose()
            elif keeper is not None and loop.is_running():
                there = asyncio.run_coroutine_threadsafe(_close(keeper), loop)
                await asyncio.wait([asyncio.wrap_future(there)], timeout=_PATIENCE)


async def _close(keeper: AsyncGenerator[None]) -> None:
    await keeper.aclose()


def usable_client(client: Any) -> httpx.AsyncClient:
    """Return a user's client as calls use it, before the first call fails with it.

    Args:
        client: An `httpx.AsyncClient` or `httpx2.AsyncClient`, or an object with the coroutines
            `send` and `aclose` of the first.

    Raises:
        SettingsError: It is something else, for instance an `httpx.Client`.
    """
    import httpx

    if isinstance(client, httpx.AsyncClient):
        return client
    httpx2 = sys.modules.get("httpx2")  # imported by the user, if the client is of it
    if httpx2 is not None and isinstance(client, httpx2.AsyncClient):
        from openapi_tools.transport.httpx2_client import Httpx2Client

        return cast("httpx.AsyncClient", Httpx2Client(client))
    methods = (getattr(client, name, None) for name in ("send", "aclose"))
    if isinstance(client, type) or not all(map(inspect.iscoroutinefunction, methods)):
        kind = f"the class {client.__name__}" if isinstance(client, type) else type(client).__name__
        reason = "give an httpx.AsyncClient or an httpx2.AsyncClient"
        raise SettingsError(f"client: {kind} cannot be used here; {reason}.")
    return cast("httpx.AsyncClient", client)


def make_client(settings: Settings, policy: NetworkPolicy | None = None) -> httpx.AsyncClient:
    """Return a client that adds nothing to a request and keeps nothing of an answer.

    Args:
        settings: For `concurrency`, `ca_file`, `trust_env` and `transport`.
        policy: Where it may go; that of the settings alone by default.

    Raises:
        CallError: A file of certificate authorities cannot be read.
    """
    from openapi_tools.transport.client import DirectClient
    from openapi_tools.transport.httpx_transport import make_transport
    from openapi_tools.transport.network_policy import policy_of

    return DirectClient(make_transport(settings, policy or policy_of(settings)))


def with_defaults(request: httpx.Request, client: httpx.AsyncClient) -> None:
    """Give a request the headers that a user set on their client and the request lacks."""
    present = {name.lower() for name, _ in request.headers.raw}
    missing = [line for line in client.headers.raw if line[0].lower() not in present]
    if missing:
        request.headers = type(request.headers)([*request.headers.raw, *missing])


def poisoned(response: httpx.Response) -> Any:
    """Return the connection, to be closed, if bytes came after the end of the answer; else None.

    httpcore would take them for the answer to the next request. It offers no way to ask, so this
    looks at its connection; without one (another transport) there is nothing to do.
    """
    connection: Any = response.stream
    if not hasattr(connection, _TO_CONNECTION[0]):  # a client of httpx wraps what transports give
        connection = getattr(connection, "_stream", None)
    for name in _TO_CONNECTION:
        if (connection := getattr(connection, name, None)) is None:
            return None
    state = getattr(connection, "_h11_state", None)
    return connection if state is not None and state.trailing_data[0] else None
