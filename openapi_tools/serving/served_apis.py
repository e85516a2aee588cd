"""The APIs of a server: loaded in parallel, offered as one set of tools, and kept up to date."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_values import digest_of
from openapi_tools.contracts.mcp import LIST_SECONDS, ToolsServer, create_server
from openapi_tools.contracts.mcp_skills import add_skills
from openapi_tools.contracts.mcp_tasks import add_tasks
from openapi_tools.errors import (
    DocumentError,
    MissingExtraError,
    OpenAPIToolsError,
    SettingsError,
    SourceError,
    format_count,
)
from openapi_tools.loading.load import load_with_record
from openapi_tools.redaction import redact_text
from openapi_tools.search.costs import offer_tools
from openapi_tools.tools.guardrails import require_approval
from openapi_tools.toolsets.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from openapi_tools.loading.fetch_record import FetchRecord
    from openapi_tools.observability.events import Event
    from openapi_tools.serving.serving_tables import Mode, Serving
    from openapi_tools.state.shared_state import SharedState
    from openapi_tools.tools.tool import OperationTool

    Watch = Callable[[str, Event], object]
    Admit = Callable[[str, Toolset], Toolset]

# Loading mostly waits for servers; the interpreter's lock lets one thread parse at a time.
_LOADERS = 8  # threads
_RETRY_SECONDS = 60.0  # until loading an API that failed is retried
_WATCH_SECONDS = 0.3  # between two checks of watched files

# The codes of failures, which anyone may see, by class; the first match is used.
_REASONS: dict[type[OpenAPIToolsError], str] = {
    SourceError: "document_unreadable",
    DocumentError: "document_invalid",
    MissingExtraError: "extra_missing",
    SettingsError: "configuration_invalid",
    OpenAPIToolsError: "not_loaded",
}

logger = logging.getLogger("openapi_tools.serving")


class Handover(NamedTuple):
    """What workers take over from their parent, which has just read all documents.

    Attributes:
        records: The responses of the servers, by API.
        faults: The fault and the reason of each API that could not be loaded; the parent has
            logged it, and workers retry after a minute.
    """

    records: dict[str, FetchRecord]
    faults: dict[str, tuple[str, str]]


class ServedApi:
    """One API: its tools, or the reason why there are none.

    `read` loads them, in a thread; without it the API keeps the toolset that it was given.

    Attributes:
        fault: Why it is not served, for the log; empty if it is.
        stale: Why its document could not be read again; the older tools are served.
        reason: The code of `fault` or `stale`, which anyone may see: `document_unreadable`, say.
        loaded_at: When its document was last read, in seconds since 1970.
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
        self.loaded_at = 0.0 if toolset is None else time.time()
        self.offered_toolset: Toolset | None = None  # what clients see now

    def load(self, *, is_logged: bool = False) -> None:
        """Read the document, in a thread; tools that have not changed stay the same objects.

        With `is_logged`, the warnings of the document are in the log already.
        """
        if self.read is None:  # its table is invalid, or it was given a toolset
            return
        try:
            toolset = self.read()
            # Unchanged tools stay the same objects: no client is notified, caches stay valid.
            is_same = self.toolset is not None and _tools_digest(self.toolset) == _tools_digest(
                toolset
            )
        except OpenAPIToolsError as error:
            kinds = (reason for kind, reason in _REASONS.items() if isinstance(error, kind))
            self._note_failure(next(kinds), redact_text(str(error)))
            return
        except Exception as error:
            logger.exception("%s could not be read", self.name)
            self._note_failure("internal_error", f"{type(error).__name__}; see the log.")
            return
        if self.fault or self.stale:
            logger.info("%s: the document is readable again", self.name)
        self.fault = self.stale = self.reason = ""
        self.loaded_at = time.time()
        if not is_same:
            self.toolset = toolset
            for warning in () if is_logged else toolset.warnings:
                logger.warning("%s: %s", self.name, warning)

    def _note_failure(self, reason: str, fault: str) -> None:
        self.reason, before = reason, self.fault or self.stale
        if self.toolset is None:
            self.fault = fault
        else:
            self.stale = fault
        if fault != before:  # loading is retried again and again
            logger.warning("%s: %s", self.name, fault)

    def readiness(self) -> dict[str, Any]:
        """Return the state for `/readyz` as JSON data, without paths, addresses and messages."""
        if self.toolset is None:
            return {"ready": False, "reason": self.reason or "not_loaded"}
        age = round(time.time() - self.loaded_at)
        readiness = {"ready": True, "tools": len(self.toolset), "age_seconds": age}
        return readiness | ({"stale": self.reason} if self.stale else {})


def _tools_digest(toolset: Toolset) -> str:
    # It covers all that a model sees, and how the tools call the API.
    definitions = [[t.name, t.description, t.input_schema, repr(t.operation)] for t in toolset]
    return digest_of(definitions)


class ServedApis:
    """All APIs of a server, and the MCP servers that offer them.

    Attributes:
        watchers: Functions that get the name of an API and each event of its calls.
        guards: Functions that get a tool and its call, as input guardrails.
        on_refresh: Called after documents were read.
        has_changed: Called repeatedly, in a thread; after True, all documents are read again.
    """

    def __init__(
        self, apis: Iterable[ServedApi], mode: str = "auto", *, refresh: float = 0.0
    ) -> None:
        self.apis = list(apis)
        self._mode, self.mode_reason = mode, ""
        self._modes: dict[str, str] = {}  # by the key of `servers`
        self.servers: dict[str, ToolsServer] = {}  # by the name of their API; empty for all
        self._tools_by_server: dict[str, Iterable[OperationTool]] = {}
        self._refresh, self._lock = refresh, asyncio.Lock()
        self._refresh_now = asyncio.Event()
        self.on_refresh: Callable[[], object] = lambda: None
        self.has_changed: Callable[[], bool] | None = None
        self._retiring: set[asyncio.Task[None]] = set()
        self.watchers: list[Watch] = []
        self.guards: list[Any] = []

    @classmethod
    def from_configuration(
        cls,
        serving: Serving,
        state: SharedState | None = None,
        admit: Admit | None = None,
        *,
        records: dict[str, FetchRecord] | None = None,
    ) -> ServedApis:
        """Return the APIs of a configuration, not loaded yet.

        Args:
            serving: The configuration.
            state: Shared by all APIs; an API's own `state` overrides it.
            admit: Takes a loaded API; it may raise a SettingsError.
            records: Written or used by the first load of each API.
        """
        remaining = dict(records or {})

        def read(name: str) -> Toolset:
            overrides = {} if state is None else {"state": state}
            toolset = load_with_record(serving.files[name], overrides, remaining.pop(name, None))
            if serving.serve.ask:
                toolset.add_input_guardrails([require_approval()])
            return toolset if admit is None else admit(name, toolset)

        apis = [ServedApi(name, fault=fault) for name, fault in serving.faults.items()]
        tables = serving.apis.items()
        apis += [ServedApi(name, partial(read, name), mode=table.mode) for name, table in tables]
        apis.sort(key=lambda api: api.name)
        return cls(apis, serving.serve.mode, refresh=serving.serve.refresh)

    @property
    def mode(self) -> str:
        """How all APIs are offered together: `tools`, `search` or `code` once there are servers."""
        return self._modes.get("", self._mode)

    def lists_tools(self, api: ServedApi) -> bool:
        """Return whether clients get the definitions of an API's own tools."""
        return "tools" in (self.mode, self._modes.get(api.name))

    @property
    def served(self) -> list[ServedApi]:
        """The APIs that have tools."""
        return [api for api in self.apis if api.toolset is not None]

    def summary(self, *, counts_apis: bool) -> str:
        """Return the number of tools, and of APIs, for a person; once the servers are made."""
        toolsets = [api.toolset for api in self.apis if api.toolset is not None]
        tools = format_count(sum(map(len, toolsets)), "tool")
        apis = f" of {format_count(len(self.apis), 'API')}" if counts_apis else ""
        if apis and len(toolsets) < len(self.apis):
            apis = f" of {len(toolsets)}{apis}"  # the log says why the others are not served
        skipped = format_count(sum(len(toolset.skipped) for toolset in toolsets), "operation")
        mode = "" if self.mode == "tools" else f" in mode {self.mode}"
        return f"serving {tools}{apis} ({skipped} skipped){mode}"

    @property
    def called_tools(self) -> list[OperationTool]:
        """The tools of all paths that call an API, under the names that clients call."""
        offered = self._tools_by_server.values()
        return [tool for tools in offered for tool in getattr(tools, "called", tools)]

    def load(self, faults: Mapping[str, tuple[str, str]] | None = None) -> None:
        """Read all documents, each in a thread; an API that fails has a `fault`.

        Args:
            faults: For a worker: the fault and reason of each API that its parent could not load.
        """
        apis = [api for api in self.apis if api.name not in (faults or {})]
        with ThreadPoolExecutor(_LOADERS) as threads:
            list(threads.map(partial(ServedApi.load, is_logged=faults is not None), apis))
        for api in self.apis:
            if faults is not None and api.name in faults:
                api.fault, api.reason = faults[api.name]
            elif api.fault and api.read is None:  # its table is invalid, which is not retried
                logger.warning("%s: %s", api.name, api.fault)

    def make_servers(self, *, paths: bool = False, **hooks: Any) -> ToolsServer:
        """Make one server for all APIs, which is returned, and with `paths` one for each."""
        lifetime = 0.0 if self.has_changed is not None else self._refresh or LIST_SECONDS
        for key in ("", *(api.name for api in self.apis if paths)):
            tools = self._select_tools(key)
            server = create_server(tools, name=key or None, lifetime=lifetime, **hooks)
            add_tasks(server, partial(self._tools_by_server.__getitem__, key), hooks.get("context"))
            add_skills(server)
            self.servers[key] = server
        for api in self.apis:
            self._watch_calls(api)
        return self.servers[""]

    def _select_tools(self, key: str) -> Iterable[OperationTool]:
        # Those of one API, or of all; names that several APIs have get the API's name as a prefix.
        apis = [api for api in self.apis if key in ("", api.name)]
        parts = {api.name: api.toolset for api in apis if api.toolset is not None}
        tools: Iterable[OperationTool] = ()
        if parts:
            (joined, *rest) = parts.values()
            if len(apis) > 1:
                joined = Toolset.union(joined, *rest, names=list(parts))
            mode = (apis[0].mode or "auto") if key else self._mode
            tools, self._modes[key], reason = offer_tools(joined, mode)
            if not key:
                self.mode_reason = reason
        self._tools_by_server[key] = tools
        return tools

    def _watch_calls(self, api: ServedApi) -> Toolset | None:
        # Before clients see the tools, so that no call is missed. Returns the previous toolset.
        before, api.offered_toolset = api.offered_toolset, api.toolset
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
            changed = [api for api in self.apis if api.toolset is not api.offered_toolset]
            if changed:
                await self._replace_tools(changed)

    async def _replace_tools(self, changed: list[ServedApi]) -> None:
        logger.info("the tools of %s changed", ", ".join(api.name for api in changed))
        keys = [key for key in ("", *(api.name for api in changed)) if key in self.servers]
        offers = {key: self._select_tools(key) for key in keys}
        replaced = [toolset for api in changed if (toolset := self._watch_calls(api)) is not None]
        running_calls = [await self.servers[key].replace(offer) for key, offer in offers.items()]
        task = asyncio.create_task(_close_when_idle(replaced, running_calls))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Keep documents up to date while the body runs, and close all connections after it.

        SIGHUP rereads the documents at once.
        """
        loop = asyncio.get_running_loop()
        tasks = {asyncio.create_task(self._keep_up_to_date())}
        if self.has_changed is not None:
            tasks.add(asyncio.create_task(self._watch_files(self.has_changed)))
        if any(api.read for api in self.apis):
            with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(signal.SIGHUP, self._refresh_now.set)
        try:
            yield
        finally:
            tasks |= self._retiring
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        for offered in (*self._tools_by_server.values(), *(api.toolset for api in self.apis)):
            if isinstance(offered, Toolset):
                await offered.aclose()

    async def _watch_files(self, has_changed: Callable[[], bool]) -> None:
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            if await asyncio.to_thread(has_changed):
                self._refresh_now.set()

    async def _keep_up_to_date(self) -> None:
        # Without a schedule, APIs that could not be loaded are retried nevertheless.
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._refresh_now.wait(), self._refresh or _RETRY_SECONDS)
            is_due = self._refresh or self._refresh_now.is_set()
            if is_due or any(api.fault and api.read for api in self.apis):
                self._refresh_now.clear()
                try:
                    await self.refresh()
                except Exception:
                    logger.exception("changed tools could not be offered")
                # It may build the schemas of all tools, which takes a tenth of a second.
                await asyncio.to_thread(self.on_refresh)


async def _close_when_idle(toolsets: list[Toolset], running_calls: list[Any]) -> None:
    try:
        for calls in running_calls:
            await calls.wait()
    finally:
        for toolset in toolsets:
            with suppress(OpenAPIToolsError):
                await toolset.aclose()
