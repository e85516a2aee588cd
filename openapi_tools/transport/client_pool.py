"""HTTP clients, one for each event loop.

A connection belongs to the event loop it was opened in. Tools that are called from several loops,
one after another or in threads, have a client in each of them, closed when its loop ends. A forked
process holds its parent's loops and connections in memory: it leaves them alone and opens its own.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from http.cookiejar import CookieJar
from typing import TYPE_CHECKING, Any, cast

import httpx

from openapi_tools.errors import CallError, SettingsError
from openapi_tools.transport.connection_pool import ConnectionPool, uses_httptools
from openapi_tools.transport.network_policy import policy_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from openapi_tools.settings import Settings
    from openapi_tools.transport.network_policy import NetworkPolicy

NO_TIMEOUTS = {"connect": None, "read": None, "write": None, "pool": None}
_PATIENCE = 5.0
_LEFT_BEHIND: list[object] = []
"""Of the process that this one was forked from."""


class LoopClient:
    """The client of one event loop.

    Args:
        client: Opens connections and keeps some of them for the next call.
        concurrency: How many requests may be under way.

    Attributes:
        client: As given.
        turns: How many requests may still begin.
        under_way: The deadlines of the calls that have begun and not ended.
    """

    def __init__(self, client: httpx.AsyncClient, concurrency: int) -> None:
        self.client = client
        self.turns = asyncio.Semaphore(concurrency)
        self.under_way: set[asyncio.Timeout] = set()
        self._change = asyncio.Event()

    def end(self, timeout: asyncio.Timeout) -> None:
        """Note that a call has ended."""
        self.under_way.discard(timeout)
        self._change.set()

    async def give_up(self) -> None:
        """End the calls under way: their time is over now."""
        for timeout in self.under_way:
            if not timeout.expired():
                timeout.reschedule(0)
        while self.under_way:
            self._change.clear()
            await self._change.wait()


class ClientPool:
    """The clients of one sender.

    Args:
        settings: `concurrency` bounds the calls under way in each loop.
        client: The user's own client, used in every loop and never closed; None makes clients.
        policy: Where the clients made here may go.

    Raises:
        MissingExtraError: The settings ask for `"fast"`, and httptools is not installed.
    """

    def __init__(
        self, settings: Settings, client: httpx.AsyncClient | None, policy: NetworkPolicy
    ) -> None:
        if client is None and settings.transport == "fast":
            uses_httptools(settings)  # a missing package is told now, not by the first call
        self._settings = settings
        self._client = client
        self._policy = policy
        self._process = os.getpid()
        self._clients: dict[asyncio.AbstractEventLoop, LoopClient] = {}
        self._keepers: dict[asyncio.AbstractEventLoop, AsyncGenerator[None]] = {}

    async def of_this_loop(self) -> LoopClient:
        """Return the running loop's client, made when it has none yet.

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
        return self._clients.get(loop) or await self._added(loop)

    def _leave_parent(self) -> None:
        """Begin anew in a process that was forked from the one that made this.

        The parent's objects must stay in memory: to free them would close them, through the
        parent's event loop.
        """
        if self._process != os.getpid():
            _LEFT_BEHIND.append((self._clients, self._keepers))
            self._clients, self._keepers = {}, {}
            self._process = os.getpid()

    async def _added(self, loop: asyncio.AbstractEventLoop) -> LoopClient:
        for other in list(self._clients):  # a copy: threads of other loops change it meanwhile
            if other.is_closed():
                self._clients.pop(other, None)
                self._keepers.pop(other, None)
        client = self._client or make_client(self._settings, self._policy)
        here = LoopClient(client, self._settings.concurrency)
        self._clients[loop] = here
        self._keepers[loop] = self._keep(loop, here)
        # A loop that ends closes the generators begun in it: the moment to close connections.
        await anext(self._keepers[loop])
        return here

    async def _keep(
        self, loop: asyncio.AbstractEventLoop, here: LoopClient
    ) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            self._clients.pop(loop, None)
            self._keepers.pop(loop, None)
            await here.give_up()
            if self._client is None:
                await here.client.aclose()

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
    return httpx.AsyncClient(
        transport=ConnectionPool(settings, policy or policy_of(settings)),
        trust_env=False,  # proxies are the transport's; .netrc is not wanted
        timeout=None,  # noqa: S113 -- a call has a deadline for all of it
        cookies=_NoCookies(),
    )


class _NoCookies(CookieJar):
    """A jar that stays empty: cookies of one answer are not sent by the next call."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        """Take none."""

    def add_cookie_header(self, request: Any) -> None:
        """Add none."""


class BareTransport(httpx.AsyncBaseTransport):
    """Sends through a client, without the client's authentication, headers, cookies and redirects.

    Args:
        client: Of the toolset, or the user's; it stays open.
    """

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the caller bounds its time."""
        request.extensions = {**request.extensions, "timeout": NO_TIMEOUTS}
        return await self._client.send(request, stream=True, follow_redirects=False, auth=None)


def with_defaults(request: httpx.Request, client: httpx.AsyncClient) -> None:
    """Give a request the headers that a user set on their client and the request lacks."""
    present = {name.lower() for name, _ in request.headers.raw}
    missing = [line for line in client.headers.raw if line[0].lower() not in present]
    if missing:
        request.headers = type(request.headers)([*request.headers.raw, *missing])
