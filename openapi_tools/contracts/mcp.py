"""Tools as an MCP server: `create_server(toolset)`, for each transport of the package `mcp`."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from openapi_tools.common.options import context_value, replace_context_values
from openapi_tools.common.visible_text import python_name
from openapi_tools.contracts import mcp_messages
from openapi_tools.contracts.mcp_elicitation import (
    ElicitationChannel,
    OpenQuestions,
    wait_for_login,
)
from openapi_tools.contracts.mcp_files import FileResources, client_key
from openapi_tools.contracts.mcp_http import install_request_runner
from openapi_tools.contracts.mcp_lists import make_tool_list
from openapi_tools.contracts.mcp_messages import (
    make_call_result,
    read_info,
    replace_surrogates,
    take_idempotency_key,
)
from openapi_tools.contracts.mcp_sessions import share_sessions
from openapi_tools.errors import OpenAPIToolsError, SettingsError, require_extra
from openapi_tools.observability.spans import has_tracer
from openapi_tools.result import ToolCall, ToolResult, context_for
from openapi_tools.state.file_store import find_store
from openapi_tools.state.shared_state import MemoryState
from openapi_tools.toolsets.adapters import warn_about_tokens
from openapi_tools.toolsets.tool_lookup import describe_unknown_tool
from openapi_tools.toolsets.toolset import Toolset, document_info_of
from openapi_tools.toolsets.visibility import Visibility

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping

    from mcp.server.context import (
        CallNext,
        HandlerResult,
        ServerMiddleware,
        ServerRequestContext,
    )
    from mcp.server.session import ServerSession
    from starlette.applications import Starlette

    from openapi_tools.tools.tool import OperationTool

with require_extra("mcp"):
    import anyio
    import anyio.to_thread
    from mcp import MCPError, types
    from mcp.server.lowlevel import NotificationOptions, Server
    from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
    from mcp.types import INVALID_PARAMS
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS

LIST_SECONDS = 300.0
"""The lifetime of lists: a document is seldom read again sooner."""

# Clients may restart their timeout with each notification (MCP, basic/lifecycle, timeouts);
# most calls end before the first one.
_FIRST_PROGRESS, _PROGRESS_INTERVAL = 1.0, 5.0
_SESSIONS = 300  # with a handshake; each takes about 40 kB for half an hour
_ABOUT = 1000  # characters of what a document says about its API


class ToolsServer(Server[Any]):
    """A low-level server of the package `mcp` that lists and calls the tools.

    No header of a request reaches the API: calls carry the toolset's own credentials, or those of
    `context`. Guardrails find the request in `context.state`. Tools that need approval ask the
    client's user; a stateless client (2026-07-28) then sends the call again, and the first one
    counts as denied. If the toolset's settings have a file store, results link to their files,
    which are resources. Closing the toolset is up to you; `await server.replace(toolset)` offers
    other tools.

    Spec: Model Context Protocol 2026-07-28 and 2025-11-25, server/tools and server/resources.

    Args:
        toolset: A toolset, or any of its tools; their names must differ.
        name: The server's name; by default the title of a toolset's document.
        version: The version of the server; by default that of the toolset's document.
        context: A function of a request, sync or async, that returns the `Context` of its call, or
            a mapping of its fields: credentials, for instance. If it raises, the call is refused.
        visible: A function of a tool and a request: whether the client may see the tool. Other
            tools are unknown to the client, and to its searches and programs.
        group: A function of a request, used with `visible`: clients whose requests have equal
            values see the same tools, which are then determined once. Without it, `visible` is
            called for each tool in each request.
        lifetime: Seconds for which clients may use a list again without asking, unless they are
            notified of a change; 0 where tools may change at any time.
    """

    def __init__(
        self,
        toolset: Iterable[OperationTool],
        *,
        name: str | None = None,
        version: str | None = None,
        context: Callable[[ServerRequestContext[Any]], Any] | None = None,
        visible: Callable[[OperationTool, ServerRequestContext[Any]], bool] | None = None,
        group: Callable[[ServerRequestContext[Any]], Hashable] | None = None,
        lifetime: float = LIST_SECONDS,
    ) -> None:
        info = document_info_of(toolset).read_info()
        self._context, self._visibility = context, Visibility(visible, group)
        self.summary = next(
            filter(None, (read_info(info, key, _ABOUT) for key in ("summary", "description"))),
            "",
        )
        self.lifetime = lifetime
        self._bus, self.files = InMemorySubscriptionBus(), FileResources()
        self._questions = OpenQuestions()
        self._stamp: dict[str, Any] | None = None
        self._write_state = MemoryState()  # of writes with a key, where the settings have none
        # Clients that are notified of changes, by the id of their parameters.
        self._notified_clients: set[int] = set()
        self.subscriptions = ListenHandler(self._bus)
        super().__init__(
            name or read_info(info, "title") or mcp_messages.UNNAMED,
            version=version or read_info(info, "version"),
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_subscriptions_listen=self.subscriptions,
            cache_hints=mcp_messages.list_lifetimes(lifetime),
        )
        # Not `on_call_tool`, which asks for a model of each result.
        self.add_request_handler("tools/call", types.CallToolRequestParams, self._call_tool)
        self.middleware[:] = map(_trace_if_needed, self.middleware)
        self.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._notify_of_changes
        )
        self._set_tools(toolset)

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """The server as responses describe it."""
        # The package makes a deep copy for each response, which takes a tenth of a millisecond.
        if self._stamp is None:
            self._stamp = super().server_info_stamp
        return {**self._stamp}

    async def replace(self, toolset: Iterable[OperationTool]) -> anyio.Event:
        """Offer other tools from now on, and notify the clients; running calls use the old ones.

        Returns:
            An event that is set when the last of those calls has ended.

        Raises:
            SettingsError: Two tools have the same name.
        """
        old = self._all_tools.calls
        self._set_tools(toolset)
        await self._bus.publish(ToolsListChanged())
        return old.retire()

    def _set_tools(self, toolset: Iterable[OperationTool]) -> None:
        offered = VisibleTools(toolset)
        warn_about_tokens(toolset)
        self._all_tools = offered
        self._visibility.forget()
        sessions = getattr(toolset, "sessions", ())
        for session in sessions:
            session.credentials.advice.location = " on the server"
        settings = [session.settings for session in sessions]
        self.files.settings = [each for each in settings if find_store(each) is not None]
        # The handlers of `add_skills` are asked for files, too.
        if self.files.settings and self.get_request_handler("resources/read") is None:
            kinds = types.PaginatedRequestParams, types.ReadResourceRequestParams
            self.add_request_handler("resources/list", kinds[0], self.files.list_resources)
            self.add_request_handler("resources/read", kinds[1], self.files.read_resource)

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        # Without this function, the package `mcp` lists all tools in each call.
        return self._all_tools.tools[name].input_schema if name in self._all_tools.tools else None

    def hides(self, name: str, request: ServerRequestContext[Any]) -> bool:
        """Whether a tool is offered, but not visible to the client of a request."""
        hidden = self._all_tools.called.keys() - self.visible_tools(request).called.keys()
        return name in hidden or name in map(python_name, hidden)

    def visible_tools(self, request: ServerRequestContext[Any]) -> VisibleTools:
        """Return the tools that the client of a request sees."""
        return self._visibility.narrow(self._all_tools, request)

    async def _list_tools(
        self, request: ServerRequestContext[Any], _: Any
    ) -> types.ListToolsResult:
        return await self.visible_tools(request).list_tools()

    async def _call_tool(
        self, request: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> dict[str, Any] | types.InputRequiredResult:
        tools = self.visible_tools(request)
        tool = tools.tools.get(params.name)
        if tool is None:
            reason = describe_unknown_tool(params.name, tools.tools, tools.skipped)
            raise MCPError(INVALID_PARAMS, replace_surrogates(reason))
        channel = ElicitationChannel(
            request, params.input_responses, tool, tools.called, self._questions
        )
        call_id = str(request.request_id or "")
        arguments = {**(params.arguments or {})}
        key = take_idempotency_key(tool, params, arguments)
        call = ToolCall(id=call_id, name=tool.name, arguments=arguments)
        # Counted from here, so that `replace` knows when nothing uses the old tools any more.
        with tools.calls:
            try:
                context = await self._context_of(request, params, channel, key)
            except OpenAPIToolsError as error:
                return make_call_result(ToolResult.failed("denied", error.reason), [])
            result = await _run_with_progress(request, tool(call, context))
            if await wait_for_login(result, request, channel, context_value(context, "logged_in")):
                result = await _run_with_progress(request, tool(call, context))
            links = self.files.make_links(request, result) if self.files.settings else []
            return channel.input_required(result) or make_call_result(result, links, tool)

    async def _context_of(
        self,
        request: ServerRequestContext[Any],
        params: types.CallToolRequestParams,
        channel: ElicitationChannel,
        key: Any,
    ) -> Any:
        context = replace_context_values(
            await context_for(self._context, request),
            state=request,
            offered=channel.called,
            resume=params.request_state,
            remote=mcp_messages.is_remote(request),
        )
        if key is not None:
            context = replace_context_values(
                context, idempotency_key=key, write_state=self._write_state
            )
        if channel.is_open:
            context = replace_context_values(context, approve=channel.approve)
        if (client := client_key(request, self)) is not None:
            context = replace_context_values(context, conversation=client)
        return context

    async def _notify_of_changes(self, request: ServerRequestContext[Any], _: Any) -> None:
        # For clients with a handshake, until they leave; others subscribe (2026-07-28).
        key = id(request.session.client_params)
        if key in self._notified_clients or request.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        send, pending = anyio.create_memory_object_stream[None](1)

        def note_change(_: Any) -> None:
            with suppress(anyio.WouldBlock):  # the notification of an earlier change is still due
                send.send_nowait(None)

        self._notified_clients.add(key)
        unsubscribe = self._bus.subscribe(note_change)
        try:
            with send, pending:
                async for _ in pending:
                    await request.session.send_notification(types.ToolListChangedNotification())
        finally:
            unsubscribe()
            self._notified_clients.discard(key)

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Return the package's options; they announce that the list of tools may change."""
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, *args, **kwargs)

    def streamable_http_app(self, **options: Any) -> Starlette:
        """Return the package's app with fewer sessions, which users share, and JSON responses.

        A response is an event stream only if progress, questions or pings come before it; with
        `json_response=True`, it never is.
        """
        is_resumable = options.get("event_store") is not None
        defaults = {"max_sessions": _SESSIONS, "json_response": not is_resumable}
        app = super().streamable_http_app(**{**defaults, **options})
        has_streams = not options.get("json_response", False)
        install_request_runner(self, self.session_manager, has_streams=has_streams)
        share_sessions(app, self.session_manager, options.get("streamable_http_path", "/mcp"))
        return app


create_server = ToolsServer


class _RunningCalls:
    """The running calls of the tools of one toolset."""

    def __init__(self) -> None:
        self._running, self._all_ended = 0, anyio.Event()
        self._is_retired = False

    def __enter__(self) -> None:
        self._running += 1

    def __exit__(self, *_: object) -> None:
        self._running -= 1
        if self._is_retired and not self._running:
            self._all_ended.set()

    def retire(self) -> anyio.Event:
        """Return an event that is set once the last call has ended; no new ones begin."""
        self._is_retired = True
        if not self._running:
            self._all_ended.set()
        return self._all_ended


class VisibleTools:
    """The tools that a client sees."""

    def __init__(self, tools: Iterable[OperationTool]) -> None:
        self.tools: dict[str, OperationTool] = {}
        for tool in tools:
            if tool.name in self.tools:
                hint = "load one of them with another prefix."
                raise SettingsError(f"two tools are called {tool.name}; {hint}")
            self.tools[tool.name] = tool
        self.skipped = getattr(tools, "skipped", ())
        self.called = {t.name: t for t in getattr(tools, "called", self.tools.values())}
        self.calls = _RunningCalls()
        self._tools_given = tools
        self._tool_list: types.ListToolsResult | None = None
        self._list_lock = anyio.Lock()

    def only(self, names: frozenset[str]) -> VisibleTools:
        """Return those with some of the tools that call an API, also behind meta tools."""
        if isinstance(self._tools_given, Toolset):
            selected = VisibleTools(self._tools_given.only(lambda tool: tool.name in names))
        else:
            selected = VisibleTools([tool for tool in self.tools.values() if tool.name in names])
        selected.skipped, selected.calls = (), self.calls
        return selected

    async def list_tools(self) -> types.ListToolsResult:
        """Return all tools as one page, since not every client requests a second one."""
        async with self._list_lock:
            if self._tool_list is None:
                # A thousand tools take a second, and three with the schemas of their responses.
                self._tool_list = await anyio.to_thread.run_sync(self._make_list)
        return self._tool_list

    def _make_list(self) -> types.ListToolsResult:
        return make_tool_list([*self.tools.values()], document_info_of(self._tools_given).index)


def _trace_if_needed(middleware: ServerMiddleware[Any]) -> ServerMiddleware[Any]:
    # The package's middleware makes spans even if nothing collects them, which takes a twentieth of
    # a call's time. Of the keys in `_meta`, only those of a trace context have no prefix.
    async def trace(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        keys = [key for key in ctx.meta or () if "/" not in key and key != "progress_token"]
        return await (middleware(ctx, call_next) if keys or has_tracer() else call_next(ctx))

    return trace


async def _run_with_progress(
    request: ServerRequestContext[Any], call: Awaitable[ToolResult]
) -> ToolResult:
    # A client in this process gets progress without a token.
    if mcp_messages.is_remote(request) and "progress_token" not in (request.meta or {}):
        return await call
    async with anyio.create_task_group() as group:
        group.start_soon(_report_progress, request.session)
        result = await call
        group.cancel_scope.cancel()
    return result


async def _report_progress(session: ServerSession) -> None:
    started = time.monotonic()
    await anyio.sleep(_FIRST_PROGRESS)
    while True:
        passed = time.monotonic() - started
        await session.report_progress(passed, message=f"waiting for {passed:.0f} s")
        await anyio.sleep(_PROGRESS_INTERVAL)
