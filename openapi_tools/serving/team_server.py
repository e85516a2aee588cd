"""A server over HTTP: the MCP servers of its APIs, pages about its state, and its workers."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from openapi_tools.auth.origin_policy import is_loopback
from openapi_tools.common.options import expand_variables
from openapi_tools.configuration.config_file import validate_table
from openapi_tools.errors import CallError, SettingsError, require_extra
from openapi_tools.loading.fetch_record import FetchRecord
from openapi_tools.serving import web_server
from openapi_tools.serving.own_hosts import mcp_security, server_hosts
from openapi_tools.serving.refusals import Refusals
from openapi_tools.serving.served_apis import Handover, ServedApis
from openapi_tools.serving.server_records import AuditLog, caller, logger, write_logs
from openapi_tools.serving.serving_tables import ApiTable, ServeTable, read_serving, role_warnings
from openapi_tools.serving.stdio_server import start_toolset_apis

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Mapping

    from mcp.server.context import ServerRequestContext
    from starlette.requests import Request

    from openapi_tools.serving.call_metrics import CallMetrics
    from openapi_tools.serving.user_credentials import UserAccess
    from openapi_tools.state.shared_state import SharedState
    from openapi_tools.toolsets.toolset import Toolset

with require_extra("mcp"):
    from mcp import MCPError
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    from openapi_tools.http_server import HostCheck, HostGuard

_PAGES = ("/healthz", "/readyz", "/metrics")
_ADVICE = "This host name is not allowed; add it to allow_hosts in [serve]."
_GRACE = 3  # seconds for calls to finish, on a server of one toolset


def make_user_access(
    serve: ServeTable, state: Any, tables: Mapping[str, ApiTable]
) -> UserAccess | None:
    """Return the authentication of a server, or SettingsError; None lets everyone call."""
    if serve.auth is not None:
        # Imported here: it needs the extra `serve`; a server without users needs `mcp` only.
        from openapi_tools.serving.user_credentials import UserAccess

        return UserAccess(serve, serve.auth, tables, state)
    for name, table in tables.items():
        if serve.roles or table.users is not None:
            key = "serve.roles" if serve.roles else f"apis.{name}.users"
            raise SettingsError(f"{key}: this needs users; add the table [serve.auth].")
    return None


def check_address(host: str, access: UserAccess | None, *, insecure: bool) -> None:
    """Raise UsageError for an address that others can reach, without authentication."""
    if not host or insecure or access is not None or is_loopback(host):
        return
    hint = "listen on 127.0.0.1, configure [serve.auth], or add --insecure to let everyone call"
    raise click.UsageError(
        f"{host} is reachable from other machines, and calls need no login; {hint}."
    )


class StartedServer(NamedTuple):
    """Loaded APIs, and how they are served.

    Attributes:
        config: The path of the configuration; empty for one toolset.
        options: Those of the command, which override `[serve]`.
        over_http: Whether the configuration has a table `[serve]`.
        records: The responses with the documents, for workers.
    """

    serve: ServeTable
    apis: ServedApis
    access: UserAccess | None = None
    state: Any = None
    config: str = ""
    options: Any = None
    over_http: bool = False
    records: Mapping[str, FetchRecord] = MappingProxyType({})

    @property
    def handover(self) -> Handover:
        """What workers get from this process, so that they do not load it again."""
        served = {api.name for api in self.apis.served}
        records = {name: record.replay() for name, record in self.records.items() if name in served}
        faults = {api.name: (api.fault, api.reason) for api in self.apis.apis if api.fault}
        return Handover(records, faults)

    @property
    def summary(self) -> str:
        """The number of tools and APIs, as a message; it needs the servers."""
        return self.apis.summary(counts_apis=bool(self.config))


class WebServer:
    """The pages and the MCP servers of a group of APIs, as an ASGI app with `app`.

    If it owns its process, loaded documents are exempt from garbage collection.
    """

    def __init__(self, started: StartedServer, port: int, *, owns_process: bool = False) -> None:
        apis, serve = started.apis, started.serve
        self._apis, self._serve, self._port = apis, serve, port
        self._access, self._state = started.access, started.state
        self._is_ending = False
        self._metrics: CallMetrics | None = None
        if find_spec("prometheus_client") is not None:
            # Imported here: it needs the extra `serve`, and reads the environment when imported.
            from openapi_tools.serving.call_metrics import CallMetrics

            self._metrics = CallMetrics()
        self._audit = AuditLog(serve.audit)
        self._refusals = Refusals() if self._access is None else self._access.refusals
        if self._metrics is not None:
            self._refusals.count = self._metrics.count_refusal
        if serve.audit_arguments:
            apis.guards = [self._audit.remember_arguments]
        apis.watchers = [self._audit.write_call]
        if self._metrics is not None:
            apis.watchers.append(self._metrics.count_call)
        apis.on_refresh = self._note_refresh
        self._owns_process = owns_process
        self._frozen: list[Toolset | None] = []
        visible, group = (None, None) if self._access is None else self._access.views
        apis.make_servers(paths=serve.paths, context=self._context_of, visible=visible, group=group)
        for server in apis.servers.values():
            server.middleware.append(self._note_refusal)

    def run(self, listener: socket.socket, announce: Callable[[], object]) -> None:
        """Serve in this process on a listening socket; `announce` is called once it responds."""
        web_server.run_app(
            self.app, listener, announce=announce, options=web_server.uvicorn_limits(self._serve)
        )

    def count_restart(self) -> None:
        """Count a worker that replaced another one."""
        if self._metrics is not None:
            self._metrics.count_restart()

    @property
    def app(self) -> Any:
        """The ASGI app; its lifespan is that of the APIs."""
        pages = (self._respond_health, self._respond_ready, self._respond_metrics)
        routes = [
            Route(path, page, methods=["GET"]) for path, page in zip(_PAGES, pages, strict=True)
        ]
        for name, server in self._apis.servers.items():
            mcp_app = server.streamable_http_app(**self._mcp_options(name))
            # Only its routes: it has no middleware, and `_lifespan` below runs its session manager.
            routes += [route for route in mcp_app.routes if isinstance(route, Route)]
        routes += [] if self._access is None else self._access.routes
        whole = Starlette(routes=routes, lifespan=self._lifespan)
        count = None if self._metrics is None else self._metrics.count_bytes
        limited = web_server.ClientLimits(whole, self._serve.limits, count)
        inner = limited if self._access is None else self._access.guard(limited)
        # The outermost app: a request for another host reaches nothing, not even a token's check.
        hosts = [host for part in server_hosts(self._serve) for host in part]
        return HostGuard(inner, HostCheck(hosts, advice=_ADVICE, probes=_PAGES))

    def _mcp_options(self, name: str) -> dict[str, Any]:
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
        name = self._user_name(request)
        caller.set(name)
        fields = {} if self._access is None else self._access.context_fields(request)
        return {"user": name, "unknown_tool": partial(self._note_refused_tool, request), **fields}

    def _user_name(self, request: ServerRequestContext[Any]) -> str:
        return "" if self._access is None else self._access.name_of(request)

    async def _note_refusal(self, ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        # As middleware, it sees calls that are refused before they reach an API.
        try:
            return await call_next(ctx)
        except MCPError:
            if ctx.method == "tools/call":
                self._note_refused_tool(ctx, str((ctx.params or {}).get("name", "")))
            elif ctx.method == "resources/read":
                self._refusals.note(
                    "resource",
                    f"{self._user_name(ctx)!r} requested a file that this server does not have",
                )
            raise

    def _note_refused_tool(
        self, request: ServerRequestContext[Any, Any], name: str, *, is_call: bool = True
    ) -> None:
        user = self._user_name(request)
        is_hidden = any(server.hides(name, request) for server in self._apis.servers.values())
        if is_hidden:
            self._refusals.note("hidden_tool", f"{user!r} may not see the tool {name[:64]!r}")
        elif is_call:
            self._refusals.note("unknown_tool", f"{user!r} called the tool {name[:64]!r}")
        if is_call:
            self._audit.write_refusal(user, name, request.request_id)

    def _note_refresh(self) -> None:
        if self._metrics is not None:
            self._metrics.update_gauges(self._apis)
        toolsets = [api.toolset for api in self._apis.apis]
        if self._owns_process and toolsets != self._frozen:
            self._frozen = toolsets
            web_server.freeze_objects()

    @asynccontextmanager
    async def _lifespan(self, _: Any) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(self._refusals.flush)
            if self._access is not None:
                stack.push_async_callback(self._access.aclose)
            await stack.enter_async_context(self._apis.run())
            for server in self._apis.servers.values():
                await stack.enter_async_context(server.session_manager.run())
            self._apis.on_refresh()
            if self._state is not None:
                await self._check_state()  # logs an outage
            self._end_on_signals()
            yield

    def _end_on_signals(self) -> None:
        # Streams of clients are closed at the first signal, as uvicorn waits for them to end.
        loop = asyncio.get_running_loop()
        with suppress(ValueError):  # not the main thread
            for number in (signal.SIGINT, signal.SIGTERM):
                previous: Any = signal.getsignal(number)

                def handle(number: int, frame: Any, previous: Any = previous) -> None:
                    loop.call_soon_threadsafe(self._close_streams)
                    previous(number, frame)

                if callable(previous):
                    signal.signal(number, handle)

    def _close_streams(self) -> None:
        self._is_ending = True
        for server in self._apis.servers.values():
            server.subscriptions.close()

    async def _respond_health(self, _: Request) -> Response:
        return PlainTextResponse("ok")

    async def _respond_ready(self, _: Request) -> Response:
        # 503 if no call can be served. One API without tools takes no server out of rotation, as
        # all servers would go at once. Anyone may ask, so reasons are codes; the log has the
        # messages, with paths and addresses.
        status: dict[str, Any] = {"apis": {api.name: api.readiness() for api in self._apis.apis}}
        ready = bool(self._apis.served)
        if self._state is not None:
            status["state"] = await self._check_state()
            ready = ready and status["state"]["ready"]
        if self._is_ending:
            ready, status["reason"] = False, "server_ending"
        text = json.dumps({"ready": ready, **status})
        return Response(f"{text}\n", 200 if ready else 503, media_type="application/json")

    async def _check_state(self) -> dict[str, Any]:
        try:
            await self._state.ping()  # logs that the state is unreachable, or reachable again
        except CallError:
            return {"ready": False, "reason": "state_unavailable"}
        return {"ready": True}

    async def _respond_metrics(self, request: Request) -> Response:
        if self._metrics is None:
            return PlainTextResponse(
                "prometheus-client is missing; install the extra serve.\n", 501
            )
        names = await asyncio.to_thread(self._visible_names, request)
        text = await asyncio.to_thread(self._metrics.render, names)
        return Response(text, media_type=self._metrics.content_type)

    def _visible_names(self, request: Request) -> set[tuple[str, str]] | None:
        # API and name of each tool that the reader of a page may see; None for all.
        if self._access is None or not self._serve.roles:
            return None
        return self._access.visible_names(self._apis.called_tools, request)


def start_server(
    config: str,
    options: dict[str, Any],
    *,
    logs: bool = False,
    again: bool = False,
    handover: Handover | None = None,
) -> StartedServer:
    """Read a configuration and load its APIs.

    Args:
        config: The path of the file.
        options: Keys of `[serve]` that override the file.
        logs: Whether to set up the log of this process as the configuration says.
        again: Whether the server has started before: it then goes on without APIs that fail.
        handover: For a worker, from its parent.

    Raises:
        SettingsError: The configuration is wrong, no API can be served, or, with `strict`, one
            cannot.
    """
    serving = read_serving(config)
    table = {**serving.serve.model_dump(exclude_unset=True), **options}
    serve = validate_table(ServeTable, table, "serve", {})
    if logs:
        write_logs(serve.log)
        with suppress(AttributeError, ValueError):  # no such signal, or not the main thread
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # its default would end a starting server
    state = _open_state(serve.redis)
    for warning in () if again else role_warnings(serve, serving.apis):
        logger.warning("%s", warning)
    access = make_user_access(serve, state, serving.apis)
    admit = None if access is None else access.admit
    records: dict[str, FetchRecord] = {}
    if handover is not None:
        records = handover.records
    elif serve.workers > 1 and not again:
        records = {name: FetchRecord() for name in serving.apis}
    apis = ServedApis.from_configuration(
        serving._replace(serve=serve), state, admit, records=records
    )
    apis.load(None if handover is None else handover.faults)
    missing = "; ".join(f"{api.name}: {api.fault}" for api in apis.apis if api.fault)
    if missing and not again and (serve.strict or not apis.served):
        which = "--strict: an API cannot" if apis.served else "no API can"
        raise SettingsError(f"{which} be served: {missing}")
    return StartedServer(serve, apis, access, state, config, options, serving.over_http, records)


def _open_state(url: str) -> SharedState | None:
    if not url:
        return None
    # Imported here: it needs the extra `redis`.
    from openapi_tools.state.redis_state import RedisState

    return RedisState(expand_variables(url, "redis"))


def start_toolset_server(
    toolset: Toolset,
    options: dict[str, Any],
    *,
    read: Callable[[], Toolset] | None = None,
    has_changed: Callable[[], bool] | None = None,
) -> StartedServer:
    """Return a server of one toolset.

    Args:
        toolset: Its tools.
        options: Keys of `[serve]`.
        read: Loads them again, in a thread, on SIGHUP and after changes; None if they never change.
        has_changed: Returns whether they may have changed.
    """
    table = {"audit": "off", "grace": _GRACE, **options}
    serve = validate_table(ServeTable, table, "serve", {})
    apis = start_toolset_apis(
        toolset, mode=serve.mode, log=serve.log, read=read, has_changed=has_changed
    )
    return StartedServer(serve, apis)
