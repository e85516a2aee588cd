"""A server over HTTP: the MCP servers of its APIs, pages about its state, and its workers."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from openapi_tools.auth.authorization_server import is_loopback
from openapi_tools.errors import CallError, SettingsError, counted, requiring
from openapi_tools.loading.fetch_record import FetchRecord
from openapi_tools.options import from_environment
from openapi_tools.serving import web_server
from openapi_tools.serving.own_hosts import mcp_security, own_hosts
from openapi_tools.serving.refusals import Refusals
from openapi_tools.serving.served_apis import Handover, ServedApi, ServedApis
from openapi_tools.serving.server_records import (
    AuditLog,
    CallMetrics,
    caller,
    escape_last_resort,
    logger,
    write_logs,
)
from openapi_tools.serving.serving_tables import ApiTable, ServeTable, read_serving, role_warnings
from openapi_tools.shaping.configuration import checked_table

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Mapping

    from mcp.server.context import ServerRequestContext
    from starlette.requests import Request

    from openapi_tools.serving.user_credentials import UserAccess
    from openapi_tools.tools.toolset import Toolset

with requiring("mcp"):
    from mcp import MCPError
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    from openapi_tools.http_server import HostCheck, HostGuard

_PAGES = ("/healthz", "/readyz", "/metrics")
_ADVICE = "This server has another name; allow_hosts of [serve] adds names."
_GRACE = 3  # seconds for calls to end, for one person's server


def access_of(serve: ServeTable, state: Any, tables: Mapping[str, ApiTable]) -> UserAccess | None:
    """Return the authentication of a server, or SettingsError; None lets everyone call."""
    if serve.auth is not None:
        users = import_module("openapi_tools.serving.user_credentials")
        made: UserAccess = users.UserAccess(serve, serve.auth, tables, state)
        return made
    for name, table in tables.items():
        if serve.roles or table.users is not None:
            where = "serve.roles" if serve.roles else f"apis.{name}.users"
            raise SettingsError(f"{where}: without [serve.auth] the server knows no users.")
    return None


def check_place(host: str, access: UserAccess | None, *, insecure: bool) -> None:
    """Raise UsageError for an address that others reach, without authentication."""
    if not host or insecure or access is not None or is_loopback(host):
        return
    way = "listen on 127.0.0.1, configure [serve.auth], or add --insecure to let everyone call"
    raise click.UsageError(f"{host} can be reached by others, and calls need no login; {way}.")


class Started(NamedTuple):
    """APIs that are loaded, and how they are served; `given` are the options of the command."""

    serve: ServeTable
    apis: ServedApis
    access: UserAccess | None = None
    state: Any = None
    config: str = ""
    given: Any = None
    over_http: bool = False
    records: Mapping[str, FetchRecord] = MappingProxyType({})  # for workers

    @property
    def handover(self) -> Handover:
        """What workers need not read again."""
        served = {api.name for api in self.apis.served}
        records = {name: record.replay() for name, record in self.records.items() if name in served}
        faults = {api.name: (api.fault, api.reason) for api in self.apis.apis if api.fault}
        return Handover(records, faults)

    @property
    def summary(self) -> str:
        """The number of tools and APIs, in words; after the servers were made."""
        served = self.apis.served
        tools = sum(len(api.toolset or ()) for api in served)
        skipped = sum(len(api.toolset.skipped) for api in served if api.toolset is not None)
        of = f" of {counted(len(served), 'API')}" if self.config else ""
        mode = "" if self.apis.mode == "tools" else f" in mode {self.apis.mode}"
        left = counted(skipped, "operation")
        return f"serving {counted(tools, 'tool')}{of} ({left} skipped){mode}"


class WebServer:
    """The pages and the MCP servers of a group of APIs, as an ASGI app with `app`."""

    def __init__(self, started: Started, port: int) -> None:
        self._apis, self._serve, self._port = apis, serve, _ = started.apis, started.serve, port
        self._access, self._state = started.access, started.state
        self._is_ending = False
        self._metrics: CallMetrics | None = None
        if find_spec("prometheus_client") is not None:
            self._metrics = CallMetrics()
        self._audit = AuditLog(serve.audit)
        self._refusals = Refusals() if self._access is None else self._access.refusals
        if self._metrics is not None:
            self._refusals.count = self._metrics.refuse
        if serve.audit_arguments:
            apis.guards = [self._audit.remember]
        apis.watchers = [self._audit.tell]
        if self._metrics is not None:
            apis.watchers.append(self._metrics.tell)
            apis.told = partial(self._metrics.show, apis.apis)
        sees, group = (None, None) if self._access is None else self._access.views
        apis.serve(paths=serve.paths, context=self._context_of, visible=sees, group=group)
        for server in apis.servers.values():
            server.middleware.append(self._note)

    def run(self, place: socket.socket, announce: Callable[[], object]) -> None:
        """Serve in this process, on a socket that listens; `announce` says that it answers."""
        web_server.run_app(self.app, place, announce=announce, **uvicorn_limits(self._serve))

    def count_restart(self) -> None:
        """Count a worker that took the place of another one."""
        if self._metrics is not None:
            self._metrics.restart()

    @property
    def app(self) -> Any:
        """The ASGI app; its lifespan is that of the APIs."""
        pages = (self._health, self._ready, self._figures)
        routes = [
            Route(path, page, methods=["GET"]) for path, page in zip(_PAGES, pages, strict=True)
        ]
        for name, server in self._apis.servers.items():
            own = server.streamable_http_app(**self._options(name))
            routes += [Route(route.path, own) for route in own.routes if isinstance(route, Route)]
        routes += [] if self._access is None else self._access.routes
        whole = Starlette(routes=routes, lifespan=self._lifespan)
        count = None if self._metrics is None else self._metrics.count
        limited = web_server.ClientLimits(whole, self._serve.limits, count)
        inner = limited if self._access is None else self._access.guard(limited)
        # The outermost app: a request for another host reaches nothing, not even a token's check.
        hosts = [host for part in own_hosts(self._serve) for host in part]
        return HostGuard(inner, HostCheck(hosts, advice=_ADVICE, probes=_PAGES))

    def _options(self, name: str) -> dict[str, Any]:
        serve = self._serve
        sessions = {} if serve.max_sessions is None else {"max_sessions": serve.max_sessions}
        return {
            "streamable_http_path": f"/{name}/mcp" if name else serve.path,
            "stateless_http": serve.is_stateless,
            "max_request_body_size": serve.limits.body_bytes,
            "transport_security": mcp_security(serve, self._port),
            "auth": None if self._access is None else self._access.settings,
            **sessions,
        }

    async def _context_of(self, request: ServerRequestContext[Any]) -> dict[str, Any]:
        name = self._user(request)
        caller.set(name)
        own = {} if self._access is None else self._access.members_of(request)
        return {"user": name, "unknown_tool": partial(self._refuse_tool, request), **own}

    def _user(self, request: ServerRequestContext[Any]) -> str:
        """Return the name of the user of a request, for limits and the audit log."""
        return "" if self._access is None else self._access.name_of(request)

    async def _note(self, ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        """Leave a line of a call that is refused before it reaches an API."""
        try:
            return await call_next(ctx)
        except MCPError:
            if ctx.method == "tools/call":
                self._refuse_tool(ctx, str((ctx.params or {}).get("name", "")))
            elif ctx.method == "resources/read":
                self._refusals.note("resource", f"{self._user(ctx)!r} read no file of this server")
            raise

    def _refuse_tool(
        self, request: ServerRequestContext[Any, Any], name: str, *, is_call: bool = True
    ) -> None:
        """Note that a client, or its program, named a tool that it does not see."""
        user = self._user(request)
        is_hidden = any(server.hides(name, request) for server in self._apis.servers.values())
        if is_hidden:
            self._refusals.note("hidden_tool", f"{user!r} may not see the tool {name[:64]!r}")
        elif is_call:
            self._refusals.note("unknown_tool", f"{user!r} called the tool {name[:64]!r}")
        if is_call:
            self._audit.refuse(user, name, request.request_id)

    @asynccontextmanager
    async def _lifespan(self, _: Any) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(self._refusals.flush)
            if self._access is not None:
                stack.push_async_callback(self._access.aclose)
            await stack.enter_async_context(self._apis.running())
            for server in self._apis.servers.values():
                await stack.enter_async_context(server.session_manager.run())
            self._apis.told()
            if self._state is not None:
                await self._state_facts()  # for the log
            self._end_on_signals()
            yield

    def _end_on_signals(self) -> None:
        """Let streams of clients end with the first signal: uvicorn waits for them."""
        loop = asyncio.get_running_loop()
        with suppress(ValueError):  # not the main thread
            for number in (signal.SIGINT, signal.SIGTERM):
                before: Any = signal.getsignal(number)

                def end(number: int, frame: Any, before: Any = before) -> None:
                    loop.call_soon_threadsafe(self._end)
                    before(number, frame)

                if callable(before):
                    signal.signal(number, end)

    def _end(self) -> None:
        self._is_ending = True
        for server in self._apis.servers.values():
            server.subscriptions.close()

    async def _health(self, _: Request) -> Response:
        return PlainTextResponse("ok")

    async def _ready(self, _: Request) -> Response:
        """Answer with the state of each API and of the shared state; 503 if no call can be served.

        One API without tools takes no server out of rotation: all servers would go at once. Anyone
        may ask, so reasons are codes; the log has the messages, with paths and addresses.
        """
        told: dict[str, Any] = {"apis": {api.name: api.facts() for api in self._apis.apis}}
        ready = bool(self._apis.served)
        if self._state is not None:
            told["state"] = await self._state_facts()
            ready = ready and told["state"]["ready"]
        if self._is_ending:
            ready, told["reason"] = False, "server_ending"
        text = json.dumps({"ready": ready, **told})
        return Response(f"{text}\n", 200 if ready else 503, media_type="application/json")

    async def _state_facts(self) -> dict[str, Any]:
        try:
            await self._state.ping()  # which logs that it is away, or back
        except CallError:
            return {"ready": False, "reason": "state_unavailable"}
        return {"ready": True}

    async def _figures(self, request: Request) -> Response:
        if self._metrics is None:
            return PlainTextResponse(
                "prometheus-client is missing; install the extra serve.\n", 501
            )
        names = await asyncio.to_thread(self._names_seen, request)
        text = await asyncio.to_thread(self._metrics.text, names)
        return Response(text, media_type=self._metrics.content_type)

    def _names_seen(self, request: Request) -> set[tuple[str, str]] | None:
        """Return API and name of each tool that a page may name to its reader; None for all."""
        if self._access is None or not self._serve.roles:
            return None
        return self._access.names_seen(self._apis.called_tools, request)


def started(
    config: str,
    given: dict[str, Any],
    *,
    logs: bool = False,
    again: bool = False,
    handover: Handover | None = None,
) -> Started:
    """Read a configuration, with other members of `[serve]`, and load its APIs.

    With `logs`, the log of this process is written as the configuration says; with `again`, a
    server that has started before goes on without APIs that cannot be served any more. A worker
    has a `handover` from its parent.

    Raises:
        SettingsError: The configuration is wrong, no API can be served, or, with `strict`, one
            cannot.
    """
    serving = read_serving(config)
    told = {**serving.serve.model_dump(exclude_unset=True), **given}
    serve = checked_table(ServeTable, told, "serve", {})
    if logs:
        write_logs(serve.log)
        with suppress(AttributeError, ValueError):  # no such signal, or not the main thread
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it ends no server that is starting
    settings: dict[str, Any] = {}
    if serve.redis:
        redis = import_module("openapi_tools.serving.redis_state")
        settings["state"] = redis.RedisState(from_environment(serve.redis, "redis"))
    state = settings.get("state")
    for warning in () if again else role_warnings(serve.roles):
        logger.warning("%s", warning)
    access = access_of(serve, state, serving.apis)
    admit = None if access is None else access.admit
    records: dict[str, FetchRecord] = {}
    if handover is not None:
        records = handover.records
    elif serve.workers > 1 and not again:
        records = {name: FetchRecord() for name in serving.apis}
    apis = ServedApis.of(serving._replace(serve=serve), settings, admit, records=records)
    apis.load(None if handover is None else handover.faults)
    missing = "; ".join(f"{api.name}: {api.fault}" for api in apis.apis if api.fault)
    if missing and not again and (serve.strict or not apis.served):
        which = "--strict: an API cannot" if apis.served else "no API can"
        raise SettingsError(f"{which} be served: {missing}")
    return Started(serve, apis, access, state, config, given, serving.over_http, records)


def started_with(toolset: Toolset, given: dict[str, Any]) -> Started:
    """Return a server of one toolset."""
    told = {"audit": "off", "grace": _GRACE, **given}
    serve = checked_table(ServeTable, told, "serve", {})
    if serve.log == "json":
        write_logs(serve.log)
    else:
        escape_last_resort()
    apis = ServedApis([ServedApi("api", toolset=toolset)], serve.mode)
    return Started(serve, apis)


def uvicorn_limits(serve: ServeTable) -> dict[str, Any]:
    """Return the options of uvicorn that bound its clients."""
    return {
        "http": web_server.ClientProtocol,
        "limit_concurrency": serve.limits.connections + 1,  # uvicorn refuses at this number
        "timeout_keep_alive": serve.limits.idle_seconds,
        "timeout_graceful_shutdown": serve.grace,
        "lifespan": "on",
    }
