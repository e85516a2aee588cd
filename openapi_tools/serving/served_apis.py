"""The APIs of a server: loaded side by side, offered as one set of tools, and kept up to date."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.contracts.mcp import ToolsServer, create_server
from openapi_tools.contracts.mcp_tasks import add_tasks
from openapi_tools.errors import (
    DocumentError,
    MissingExtraError,
    OpenAPIToolsError,
    SettingsError,
    SourceError,
    requiring,
)
from openapi_tools.json_values import digest_of
from openapi_tools.loading.load import load_tools, load_with_record
from openapi_tools.redaction import redact_text
from openapi_tools.search.costs import in_mode
from openapi_tools.serving.web_server import INTERRUPTED, on_signal
from openapi_tools.tools.guardrails import require_approval
from openapi_tools.tools.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from openapi_tools.loading.fetch_record import FetchRecord
    from openapi_tools.observability.events import Event
    from openapi_tools.serving.serving_tables import Mode, Serving
    from openapi_tools.tools.tool import OperationTool

    Watch = Callable[[str, Event], object]
    Admit = Callable[[str, Toolset], Toolset]

with requiring("mcp"):
    from mcp.server.stdio import stdio_server

_LOADERS = 8  # threads
_AGAIN = 60.0  # seconds until an API is tried again that could not be loaded

_REASONS: dict[type[OpenAPIToolsError], str] = {
    SourceError: "document_unreadable",
    DocumentError: "document_invalid",
    MissingExtraError: "extra_missing",
    SettingsError: "configuration_invalid",
    OpenAPIToolsError: "not_loaded",
}
"""What strangers are told about a failure, by its class; the first that fits."""

logger = logging.getLogger("openapi_tools.serving")


class Handover(NamedTuple):
    """What workers take from their parent, which has read all documents a moment before.

    Attributes:
        records: What servers answered, by API.
        faults: The fault and the reason of each API that could not be loaded; the parent has
            logged it, and workers try again in a minute.
    """

    records: dict[str, FetchRecord]
    faults: dict[str, tuple[str, str]]


class ServedApi:
    """One API: its tools, or the reason why there are none.

    `read` loads them, in a thread; without it the API keeps the toolset that it gets.

    Attributes:
        fault: Why it is not served, for the log; empty if it is.
        stale: Why its document could not be read again; the older tools are served.
        reason: The kind of `fault` or `stale`, for strangers: `document_unreadable`, say.
        loaded: When its document was last read, in seconds since 1970.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], Toolset] | None = None,
        *,
        mode: Mode | None = None,
        fault: str = "",
        toolset: Toolset | None = None,
    ) -> None:
        self.name, self.mode, self.fault, self.read = name, mode, fault, read
        self.toolset, self.stale = toolset, ""
        self.reason = _REASONS[SettingsError] if fault else ""
        self.loaded = 0.0 if toolset is None else time.time()  # when the document was last read
        self.offered: Toolset | None = None  # the tools that clients have

    def load(self, *, is_logged: bool = False) -> None:
        """Read the document, in a thread; tools that did not change stay the same objects.

        With `is_logged` the warnings of the document are in the log.
        """
        if self.read is None:  # its table is wrong, or it was given a toolset
            return
        try:
            found = self.read()
            is_same = self.toolset is not None and _facts_of(self.toolset) == _facts_of(found)
        except OpenAPIToolsError as error:
            kinds = (reason for kind, reason in _REASONS.items() if isinstance(error, kind))
            self._fail(next(kinds), redact_text(str(error)))
            return
        except Exception as error:
            logger.exception("%s could not be read", self.name)
            self._fail("internal_error", f"{type(error).__name__}; the log says where.")
            return
        if self.fault or self.stale:
            logger.info("%s: the document can be read again", self.name)
        self.fault = self.stale = self.reason = ""
        self.loaded = time.time()
        if not is_same:
            self.toolset = found
            if not is_logged and any(
                item.notice for item in found.skipped
            ):  # the model hears no more than that
                for warning in found.warnings:
                    logger.warning("%s: %s", self.name, warning)

    def _fail(self, reason: str, fault: str) -> None:
        self.reason, before = reason, self.fault or self.stale
        if self.toolset is None:
            self.fault = fault
        else:
            self.stale = fault
        if fault != before:  # it is tried again and again
            logger.warning("%s: %s", self.name, fault)

    def facts(self) -> dict[str, Any]:
        """Return the state as JSON data for `/readyz`, without paths, addresses and messages."""
        if self.toolset is None:
            return {"ready": False, "reason": self.reason or "not_loaded"}
        age = round(time.time() - self.loaded)
        known = {"ready": True, "tools": len(self.toolset), "age_seconds": age}
        return known | ({"stale": self.reason} if self.stale else {})


def _facts_of(toolset: Toolset) -> str:
    """Return all that a model sees of the tools, and how they call."""
    told = [[t.name, t.description, t.input_schema, repr(t.operation)] for t in toolset]
    return digest_of(told)


class ServedApis:
    """All APIs of a server, and the MCP servers that offer them.

    `watchers` get each event of a call with the name of its API; `guards` are input
    guardrails that get the tool before the call.
    """

    def __init__(
        self, apis: Iterable[ServedApi], mode: str = "auto", *, refresh: float = 0.0
    ) -> None:
        self.apis = list(apis)
        self._mode, self.mode, self.why = mode, mode, ""
        self.servers: dict[str, ToolsServer] = {}  # by the name of their API; empty for all
        self._offered: dict[str, Iterable[OperationTool]] = {}
        self._refresh, self._lock = refresh, asyncio.Lock()
        self._hurry = asyncio.Event()
        self.told: Callable[[], object] = lambda: None  # called after documents were read
        self._retiring: set[asyncio.Task[None]] = set()
        self.watchers: list[Watch] = []
        self.guards: list[Any] = []

    @classmethod
    def of(
        cls,
        serving: Serving,
        settings: dict[str, Any],
        admit: Admit | None = None,
        *,
        records: dict[str, FetchRecord] | None = None,
    ) -> ServedApis:
        """Return the APIs of a configuration, not loaded; `settings` go under those of each.

        The first load of an API writes or takes its record.
        """
        left = dict(records or {})

        def read(name: str) -> Toolset:
            config: Any = serving.files[name]
            if (record := left.pop(name, None)) is not None:
                found = load_with_record(config, settings, record)
            else:
                found = load_tools(config=config, **settings)
            if serving.serve.ask:
                found.add_input_guardrails([require_approval()])
            return found if admit is None else admit(name, found)

        apis = [ServedApi(name, fault=fault) for name, fault in serving.faults.items()]
        tables = serving.apis.items()
        apis += [ServedApi(name, partial(read, name), mode=table.mode) for name, table in tables]
        apis.sort(key=lambda api: api.name)
        return cls(apis, serving.serve.mode, refresh=serving.serve.refresh)

    @property
    def served(self) -> list[ServedApi]:
        """The APIs that have tools."""
        return [api for api in self.apis if api.toolset is not None]

    @property
    def called_tools(self) -> list[OperationTool]:
        """The tools of all paths that call an API, under the names that clients call."""
        offered = self._offered.values()
        return [tool for tools in offered for tool in getattr(tools, "called", tools)]

    def load(self, known: Mapping[str, tuple[str, str]] | None = None) -> None:
        """Read all documents, each in a thread; what fails has a reason in `fault`.

        Args:
            known: In a worker, fault and reason of the APIs that its parent could not load.
        """
        others = [api for api in self.apis if api.name not in (known or {})]
        with ThreadPoolExecutor(_LOADERS) as threads:
            list(threads.map(partial(ServedApi.load, is_logged=known is not None), others))
        for api in self.apis:
            if known is not None and api.name in known:
                api.fault, api.reason = known[api.name]
            elif api.fault and api.read is None:  # its table is wrong, which is not tried again
                logger.warning("%s: %s", api.name, api.fault)

    def serve(self, *, paths: bool = False, **hooks: Any) -> ToolsServer:
        """Make the servers: one for all APIs, which is returned, and with `paths` one for each."""
        for key in ("", *(api.name for api in self.apis if paths)):
            server = create_server(self._offer(key), name=key or None, **hooks)
            add_tasks(server, partial(self._offered.__getitem__, key), hooks.get("context"))
            self.servers[key] = server
        for api in self.apis:
            self._watch(api)
        return self.servers[""]

    def _offer(self, key: str) -> Iterable[OperationTool]:
        """Return the tools of a server: those of one API, or of all with their names told apart."""
        own = [api for api in self.apis if key in ("", api.name)]
        parts = {api.name: api.toolset for api in own if api.toolset is not None}
        found: Iterable[OperationTool] = ()
        if parts:
            (joined, *others) = parts.values()
            if len(own) > 1:
                joined = Toolset.union(joined, *others, names=list(parts))
            mode = (own[0].mode or "auto") if key else self._mode
            found, mode, why = in_mode(joined, mode)
            if not key:
                self.mode, self.why = mode, why
        self._offered[key] = found
        return found

    def _watch(self, api: ServedApi) -> Toolset | None:
        """Watch the calls of an API's tools from the first on, and return the tools before."""
        before, api.offered = api.offered, api.toolset
        if api.toolset is not None:
            for watch in self.watchers:
                api.toolset.subscribe(partial(watch, api.name))
            for tool in api.toolset.called if self.guards else ():
                tool.add_input_guardrails([partial(guard, tool) for guard in self.guards])
        return before

    async def refresh(self) -> None:
        """Read all documents again, and offer other tools where they changed."""
        async with self._lock:
            await asyncio.gather(*(asyncio.to_thread(api.load) for api in self.apis))
            changed = [api for api in self.apis if api.toolset is not api.offered]
            if changed:
                await self._replace(changed)

    async def _replace(self, changed: list[ServedApi]) -> None:
        logger.info("the tools of %s changed", ", ".join(api.name for api in changed))
        keys = [key for key in ("", *(api.name for api in changed)) if key in self.servers]
        offers = {key: self._offer(key) for key in keys}
        old = [toolset for api in changed if (toolset := self._watch(api)) is not None]
        ended = [await self.servers[key].replace(offer) for key, offer in offers.items()]
        task = asyncio.create_task(_retire(ended, old))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep documents up to date while the body runs, and close all connections after it.

        SIGHUP has the documents read at once.
        """
        loop, keeping = asyncio.get_running_loop(), asyncio.create_task(self._keep())
        if any(api.read for api in self.apis):
            with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(signal.SIGHUP, self._hurry.set)
        try:
            yield
        finally:
            keeping.cancel()
            for task in self._retiring:
                task.cancel()
            await asyncio.wait({keeping, *self._retiring})
            await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        for offered in (*self._offered.values(), *(api.toolset for api in self.apis)):
            if isinstance(offered, Toolset):
                await offered.aclose()

    async def _keep(self) -> None:
        """Read documents again on a schedule; those that could not be loaded, at least."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), self._refresh or _AGAIN)
            is_due = self._refresh or self._hurry.is_set()
            if is_due or any(api.fault and api.read for api in self.apis):
                self._hurry.clear()
                try:
                    await self.refresh()
                except Exception:
                    logger.exception("other tools could not be offered")
                self.told()


async def _retire(ended: list[Any], old: list[Toolset]) -> None:
    """Close toolsets when the last calls on them have ended."""
    try:
        for each in ended:
            await each.wait()
    finally:
        for toolset in old:
            with suppress(OpenAPIToolsError):
                await toolset.aclose()


def run_stdio(apis: ServedApis) -> None:
    """Serve one client on standard input and output."""
    server = apis.servers[""]

    async def run() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        received: list[int] = []

        def end(number: int) -> None:
            received.append(number)
            loop.call_soon_threadsafe(stop.set)

        with on_signal(end):
            async with apis.running(), stdio_server() as (read, write):
                options = server.create_initialization_options()
                serving = asyncio.create_task(server.run(read, write, options))
                stopping = asyncio.create_task(stop.wait())
                await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if stop.is_set():
                    serving.cancel()
                    await asyncio.wait({serving})
                    await apis.aclose()
                    sys.stderr.flush()
                    # A thread still waits for a line of standard input; nothing can wake it.
                    os._exit(INTERRUPTED if signal.SIGINT in received else 0)
                stopping.cancel()
                await serving

    try:
        asyncio.run(run())
    except* BrokenPipeError:
        pass  # the client is gone
