"""Tools as an MCP server: `create_server(toolset)`, for each transport of the package `mcp`."""

from __future__ import annotations

import base64
import mimetypes
import time
import weakref
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from openapi_tools.contracts import mcp_messages
from openapi_tools.contracts.mcp_messages import PlainAnswers, answer_of, clean, described, info_of
from openapi_tools.contracts.mcp_sessions import OpenQuestions, owner_of, share_sessions
from openapi_tools.errors import OpenAPIToolsError, PendingApproval, SettingsError, requiring
from openapi_tools.json_values import digest_of
from openapi_tools.options import member_of, with_members
from openapi_tools.result import ToolCall, ToolResult, context_for
from openapi_tools.search.stubs import python_name
from openapi_tools.shaping.files import find_file, find_store
from openapi_tools.shared_state import FairShares
from openapi_tools.tools.adapters import warn_about_tokens
from openapi_tools.tools.guardrails import make_question
from openapi_tools.tools.session import unknown_tool
from openapi_tools.tools.toolset import Toolset
from openapi_tools.tools.visibility import Visibility

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession
    from starlette.applications import Starlette

    from openapi_tools.settings import Settings
    from openapi_tools.tools.tool import OperationTool

with requiring("mcp"):
    import anyio
    from mcp import MCPError, types
    from mcp.server.lowlevel import NotificationOptions, Server
    from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
    from mcp.types import INVALID_PARAMS
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS

_UNNAMED = "openapi-tools"
_FIRST_BEAT, _EVERY = 1.0, 5.0
_SESSIONS = 300  # with a handshake; each takes some 40 kB for half an hour
_FILES = "openapi-tools://files/"
_LISTED = 1000  # files of a server whose sessions are known, shared by its sessions


class ToolsServer(Server[Any]):
    """A low-level server of the package `mcp` that lists and calls the tools.

    No header of a request reaches the API: calls carry the toolset's own credentials, or those of
    `context`. Guards find the request in `context.state`. Tools that need approval ask the client's
    user; a stateless client (2026-07-28) then sends the call again, and the first one counts as
    denied. With a store of files in the toolset's settings, answers link to their files, which are
    resources. The toolset stays yours to close; `await server.replace(toolset)` offers other tools.

    Spec: Model Context Protocol 2026-07-28 and 2025-11-25, server/tools and server/resources.

    Args:
        toolset: A toolset, or any of its tools, without two of one name.
        name: The server's name; by default the title of a toolset's document.
        version: Of the server; by default that of a toolset's document.
        context: A function of a request that returns the `Context` of its call, or a mapping of its
            members: credentials, say. It may be async; its exceptions refuse the call.
        visible: A function of a tool and a request: whether the client sees the tool. Others are
            unknown to the client, also to its searches and programs.
        group: A function of a request, for `visible`: clients whose requests have equal values see
            the same tools, so that these are found once. Without it each request asks for each.
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
    ) -> None:
        document = getattr(toolset, "document", None)
        self._context, self._visibility = context, Visibility(visible, group)
        self._bus, self._files = InMemorySubscriptionBus(), _Files()
        self._questions = OpenQuestions()
        self._told: set[int] = set()  # clients that hear of changes, by the id of their parameters
        self.subscriptions = ListenHandler(self._bus)
        super().__init__(
            name or info_of(document, "title") or _UNNAMED,
            version=version or info_of(document, "version"),
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=self.subscriptions,
        )
        self.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._announce
        )
        self._offer(toolset)

    async def replace(self, toolset: Iterable[OperationTool]) -> anyio.Event:
        """Offer other tools from now on, and tell the clients; calls that run end on the old ones.

        Returns:
            An event that is set when the last of those calls has ended.

        Raises:
            SettingsError: Two tools have the same name.
        """
        old = self._offered.calls
        self._offer(toolset)
        await self._bus.publish(ToolsListChanged())
        return old.retired()

    def _offer(self, toolset: Iterable[OperationTool]) -> None:
        offered = _Offer(toolset)
        warn_about_tokens(toolset)
        self._offered = offered
        self._visibility.forget()
        sessions = getattr(toolset, "sessions", ())
        for session in sessions:
            session.credentials.advice.location = " on the server"
        settings = [session.settings for session in sessions]
        self._files.settings = [each for each in settings if find_store(each) is not None]
        if self._files.settings:
            kinds = types.PaginatedRequestParams, types.ReadResourceRequestParams
            self.add_request_handler("resources/list", kinds[0], self._files.listed)
            self.add_request_handler("resources/read", kinds[1], self._files.read)

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return a tool's input schema; without this the package lists all tools at each call."""
        return self._offered.tools[name].input_schema if name in self._offered.tools else None

    def hides(self, name: str, request: ServerRequestContext[Any]) -> bool:
        """Tell whether a tool is offered, and the client of a request does not see it."""
        hidden = self._offered.called.keys() - self._offer_for(request).called.keys()
        return name in hidden or name in map(python_name, hidden)

    def _offer_for(self, request: ServerRequestContext[Any]) -> _Offer:
        return self._visibility.narrow(self._offered, request)

    async def _list_tools(
        self, request: ServerRequestContext[Any], _: Any
    ) -> types.ListToolsResult:
        return self._offer_for(request).listed()

    async def _call_tool(
        self, request: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        offer = self._offer_for(request)
        tool = offer.tools.get(params.name)
        if tool is None:
            reason = unknown_tool(params.name, offer.tools, offer.skipped)
            raise MCPError(INVALID_PARAMS, clean(reason))
        desk = _Desk(request, params.input_responses, tool, offer.called)
        desk.questions = self._questions
        call_id = str(request.request_id or "")
        call = ToolCall(id=call_id, name=tool.name, arguments=params.arguments or {})
        with offer.calls:
            try:
                context = await self._context_of(request, params, desk)
            except OpenAPIToolsError as error:
                return answer_of(ToolResult.failed("denied", error.reason), [])
            result = await _reporting(request.session, tool(call, context))
            if await mcp_messages.logged_in(result, request, desk, member_of(context, "logged_in")):
                result = await _reporting(request.session, tool(call, context))
            links = self._files.links(request, result) if self._files.settings else []
            return desk.question(result) or answer_of(result, links)

    async def _context_of(
        self, request: ServerRequestContext[Any], params: types.CallToolRequestParams, desk: _Desk
    ) -> Any:
        own = {"state": request, "offered": desk.called, "resume": params.request_state}
        own["remote"] = mcp_messages.is_remote(request)
        if desk.is_open:
            own["approve"] = desk.approve
        if (owner := _owner(request, self)) is not None:
            own["conversation"] = owner
        return with_members(await context_for(self._context, request), **own)

    async def _announce(self, request: ServerRequestContext[Any], _: Any) -> None:
        """Tell a client with a handshake of other tools, until it leaves."""
        key = id(request.session.client_params)
        if key in self._told or request.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        send, changes = anyio.create_memory_object_stream[None](1)

        def changed(_: Any) -> None:
            with suppress(anyio.WouldBlock):  # an earlier change is still to be told
                send.send_nowait(None)

        self._told.add(key)
        end = self._bus.subscribe(changed)
        try:
            with send, changes:
                async for _ in changes:
                    await request.session.send_notification(types.ToolListChangedNotification())
        finally:
            end()
            self._told.discard(key)

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *more: Any, **others: Any
    ) -> Any:
        """Return the package's options; clients are told that the list of tools may change."""
        told = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(told, *more, **others)

    def streamable_http_app(self, **options: Any) -> Starlette:
        """Return the package's app, with `PlainAnswers` and `SessionShares`, and fewer sessions."""
        app = super().streamable_http_app(**{"max_sessions": _SESSIONS, **options})
        app.add_middleware(PlainAnswers)
        share_sessions(app, self.session_manager, options.get("streamable_http_path", "/mcp"))
        return app


create_server = ToolsServer


class _Calls:
    """The calls that run on the tools of one toolset."""

    def __init__(self) -> None:
        self._running, self._ended = 0, anyio.Event()
        self._is_retired = False

    def __enter__(self) -> None:
        self._running += 1

    def __exit__(self, *_: object) -> None:
        self._running -= 1
        if self._is_retired and not self._running:
            self._ended.set()

    def retired(self) -> anyio.Event:
        """Return the event for the end of the last call; no others begin."""
        self._is_retired = True
        if not self._running:
            self._ended.set()
        return self._ended


class _Offer:
    """Tools as one client sees them."""

    def __init__(self, tools: Iterable[OperationTool]) -> None:
        self.tools: dict[str, OperationTool] = {}
        for tool in tools:
            if tool.name in self.tools:
                hint = "load one of them with another prefix."
                raise SettingsError(f"two tools are called {tool.name}; {hint}")
            self.tools[tool.name] = tool
        self.skipped = getattr(tools, "skipped", ())
        self.called = {t.name: t for t in getattr(tools, "called", self.tools.values())}
        self.calls = _Calls()
        self._given = tools
        self._listed: types.ListToolsResult | None = None

    def only(self, names: frozenset[str]) -> _Offer:
        """Return an offer of some of the tools that call an API, also behind functions."""
        if isinstance(self._given, Toolset):
            made = _Offer(self._given.only(lambda tool: tool.name in names))
        else:
            made = _Offer([tool for tool in self.tools.values() if tool.name in names])
        made.skipped, made.calls = (), self.calls
        return made

    def listed(self) -> types.ListToolsResult:
        """Return all tools as one page, since not every client asks for a second one."""
        if self._listed is None:
            tools = [types.Tool.model_validate(described(tool)) for tool in self.tools.values()]
            self._listed = types.ListToolsResult(tools=tools)
        return self._listed


def _owner(request: ServerRequestContext[Any], only: object) -> object | None:
    """Return an object that all requests of a client share; None if nothing tells clients."""
    if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return request.session.client_params
    return None if mcp_messages.is_remote(request) else only  # stdio has one client


class _Files:
    """The files that answers have put into a toolset's store, as resources."""

    def __init__(self) -> None:
        self.settings: list[Settings] = []  # of several documents, each with its own store
        self._made: dict[str, tuple[weakref.ref[Any], dict[str, Any]]] = {}
        self._shares = FairShares(_LISTED)

    def links(self, request: ServerRequestContext[Any], result: ToolResult) -> list[dict[str, Any]]:
        file = result.metadata.get("file")
        if not isinstance(file, Mapping):
            return []
        handle, kind = str(file["handle"]), str(file["media_type"])
        resource = {"uri": _FILES + handle, "name": handle, "mimeType": kind, "size": file["bytes"]}
        if (owner := _owner(request, self)) is not None:
            self._made[handle] = (weakref.ref(owner), resource)
            for leaving in self._shares.add(handle, id(owner)):
                del self._made[leaving]
        return [{"type": "resource_link", **resource}]

    async def listed(self, request: ServerRequestContext[Any], _: Any) -> types.ListResourcesResult:
        own = _owner(request, self)
        made = self._made.values()
        found = [file for owner, file in made if own is not None and owner() is own]
        return types.ListResourcesResult.model_validate({"resources": found})

    async def read(
        self, _: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        try:
            contents = await anyio.to_thread.run_sync(self._contents, str(params.uri))
        except OpenAPIToolsError as error:
            raise MCPError(code=INVALID_PARAMS, message=clean(error.reason)) from None
        return types.ReadResourceResult.model_validate({"contents": [contents]})

    def _contents(self, uri: str) -> dict[str, Any]:
        handle = uri.removeprefix(_FILES) if uri.startswith(_FILES) else ""
        for settings in self.settings:
            with suppress(OpenAPIToolsError):
                find_file("handle", handle, settings)
                break
        file = find_file("handle", handle, settings)
        if file.size > settings.max_response_bytes:
            reason = f"the file of {file.size} bytes is larger than allowed (max_response_bytes)."
            raise SettingsError(reason)
        kind = mimetypes.guess_type(handle)[0] or "application/octet-stream"
        data = base64.b64encode(b"".join(file.pieces())).decode()
        return {"uri": uri, "mimeType": kind, "blob": data}


class _Desk:
    """The channel that asks the client's user about one call."""

    def __init__(self, request: Any, answers: Any, tool: Any, called: Any = None) -> None:
        self._request = request
        self.answers: dict[str, Any] = dict(answers or {})
        self.asked: dict[str, Any] = {}
        self._tool, self.called = tool, called or {}
        self.questions = OpenQuestions()
        self._is_stateless = request.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def is_open(self) -> bool:
        """Whether the client has a user to ask; `{}` means forms (MCP, client/elicitation)."""
        session = self._request.session
        able = session.client_capabilities.elicitation if session.client_capabilities else None
        takes_forms = able is not None and (able.form is not None or able.url is None)
        return takes_forms and (self._is_stateless or session.can_send_request)

    async def approve(self, call: ToolCall) -> bool:
        """Tell whether the client's answer is a yes; a stateless client without one has to ask."""
        form = {"type": "object", "properties": {}}
        question = await make_question(self.called.get(call.name, self._tool), call)
        answer: Any = None
        if not self._is_stateless:
            with suppress(MCPError), self.questions.ask(owner_of(self._request)):
                session, asked_for = self._request.session, self._request.request_id
                answer = await session.elicit_form(question, form, asked_for)
        else:
            # An answer is good for equal calls of the same state only.
            told = [call.name, call.arguments, call.changes and call.changes.etag]
            key = f"approve-{digest_of(told)[:32]}"
            answer = self.answers.pop(key, None)
            if answer is None:
                asked = {"mode": "form", "message": question, "requestedSchema": form}
                self.asked[key] = {"method": "elicitation/create", "params": asked}
                raise PendingApproval(question)
        return getattr(answer, "action", None) == "accept"

    def question(self, result: ToolResult) -> types.InputRequiredResult | None:
        """Return the questions that a stateless client has to answer first; None without any."""
        if not self.asked or "calls" in result.metadata:  # a program that has ended
            return None
        asked = {"inputRequests": self.asked, "requestState": result.metadata.get("run")}
        return types.InputRequiredResult.model_validate(asked)


async def _reporting(session: ServerSession, call: Awaitable[ToolResult]) -> ToolResult:
    """Return a call's result, and report progress to the client meanwhile."""
    async with anyio.create_task_group() as group:
        group.start_soon(_beat, session)
        result = await call
        group.cancel_scope.cancel()
    return result


async def _beat(session: ServerSession) -> None:
    started = time.monotonic()
    await anyio.sleep(_FIRST_BEAT)
    while True:
        passed = time.monotonic() - started
        await session.report_progress(passed, message=f"waiting for {passed:.0f} s")
        await anyio.sleep(_EVERY)
