"""Tools as an MCP server: `create_server(toolset)`, for each transport of the package `mcp`."""

from __future__ import annotations

import base64
import hashlib
import json
import mimetypes
import re
import time
import weakref
from collections import deque
from collections.abc import Awaitable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from openapi_tools.contracts import advise, blocks_of
from openapi_tools.errors import OpenAPIToolsError, PendingApproval, SettingsError, requiring
from openapi_tools.providers.definitions import shown
from openapi_tools.result import Context, ToolCall
from openapi_tools.shaping.files import file_of, store_of
from openapi_tools.tools.guardrails import question_of
from openapi_tools.tools.session import unknown_tool
from openapi_tools.visible_text import visible

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi_tools.result import ToolResult
    from openapi_tools.settings import Settings
    from openapi_tools.tools.tool import OperationTool

with requiring("mcp"):
    import anyio
    from mcp import MCPError, types
    from mcp.server.lowlevel import Server
    from mcp.types import INVALID_PARAMS
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS

_UNNAMED = "openapi-tools"
_LONGEST_NAME, _LONGEST_TITLE = 100, 60
_LONGEST_QUESTION = 4_000
_FIRST_BEAT, _EVERY = 1.0, 5.0
_SESSIONS = 300  # with a handshake; each takes some 40 kB for half an hour
_LARGEST = 1024 * 1024
_FILES = "openapi-tools://files/"
_LISTED = 1000  # files of a server whose sessions are known, the newest
_ANSWER = re.compile(
    rb"(?:(?:id|event): [^\r\n]*\r\n)*data: "
    rb'(\{"jsonrpc":"2\.0","id":(?:-?\d+|"[^"\\]*(?:\\.[^"\\]*)*"),"(?:result|error)":[^\r\n]*)'
    rb"\r\n\r\n"
)


def create_server(
    toolset: Iterable[OperationTool], *, name: str | None = None, version: str | None = None
) -> Server[Any]:
    """Return a low-level server of the package `mcp` that lists and calls the tools.

    No header of a request reaches the API: calls carry the toolset's own credentials. Guards find
    the request in `context.state`. Tools that need approval ask the client's user; a stateless
    client (2026-07-28) then sends the call again, and the first one counts as denied for guards and
    functions for failures. The toolset stays yours to close. With a store of files in its settings,
    answers link to their files, which are resources; a session's list has those of that session.

    Spec: Model Context Protocol 2026-07-28 and 2025-11-25, server/tools and server/resources.

    Args:
        toolset: A toolset, or any of its tools.
        name: The server's name; by default the title of a toolset's document.
        version: Of the server; by default that of a toolset's document.

    Raises:
        SettingsError: Two tools have the same name.
    """
    document = getattr(toolset, "document", None)
    settings = [session.settings for session in getattr(toolset, "sessions", ())]
    stored = [each for each in settings if store_of(each) is not None]
    files = _Files(stored) if stored else None
    advise(toolset)
    served = _Served(toolset, files)
    return ToolsServer(
        name or _said(document, "title") or _UNNAMED,
        version=version or _said(document, "version"),
        get_tool_input_schema=served.input_schema,
        on_list_tools=served.list_tools,
        on_call_tool=served.call_tool,
        on_list_resources=None if files is None else files.listed,
        on_read_resource=None if files is None else files.read,
    )


class ToolsServer(Server[Any]):
    """A server whose large answers reach clients over HTTP."""

    def streamable_http_app(self, **options: Any) -> Starlette:
        """Return the package's app, with `PlainAnswers` around it and fewer sessions."""
        app = super().streamable_http_app(**{"max_sessions": _SESSIONS, **options})
        app.add_middleware(PlainAnswers)
        return app


class _Served:
    def __init__(self, tools: Iterable[OperationTool], files: _Files | None = None) -> None:
        self._files, self._skipped = files, getattr(tools, "skipped", ())
        self._tools: dict[str, OperationTool] = {}
        for tool in tools:
            if tool.name in self._tools:
                hint = "load one of them with another prefix."
                raise SettingsError(f"two tools are called {tool.name}; {hint}")
            self._tools[tool.name] = tool
        self._called = {tool.name: tool for tool in getattr(tools, "called", ())}
        self._listed: types.ListToolsResult | None = None

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return a tool's input schema; without this the package lists all tools at each call."""
        return self._tools[name].input_schema if name in self._tools else None

    async def list_tools(self, *_: Any) -> types.ListToolsResult:
        """Return all tools as one page, since not every client asks for a second one."""
        if self._listed is None:
            tools = [types.Tool.model_validate(_described(tool)) for tool in self._tools.values()]
            self._listed = types.ListToolsResult(tools=tools)
        return self._listed

    async def call_tool(
        self, request: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = self._tools.get(params.name)
        if tool is None:
            reason = unknown_tool(params.name, self._tools, self._skipped)
            raise MCPError(INVALID_PARAMS, _clean(reason))
        desk = _Desk(request, params.input_responses, tool, self._called)
        call_id = str(request.request_id or "")
        call = ToolCall(id=call_id, name=tool.name, arguments=params.arguments or {})
        approve = desk.approve if desk.is_open else None
        told: Any = {"conversation": _owner(request, self), "resume": params.request_state}
        context = Context(approve=approve, state=request, **told)
        result = await _reporting(request.session, tool(call, context))
        links = [] if self._files is None else self._files.links(request, result)
        return desk.question(result) or _answer(result, links)


def _owner(request: ServerRequestContext[Any], only: object) -> object | None:
    """Return an object that all requests of a client share; None if nothing tells clients."""
    if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return request.session.client_params
    return only if request.request is None else None  # stdio has one client


class _Files:
    """The files that answers have put into a toolset's store, as resources."""

    def __init__(self, settings: list[Settings]) -> None:
        self._settings = settings  # of several documents, each with its own store
        self._made: deque[tuple[weakref.ref[Any], dict[str, Any]]] = deque(maxlen=_LISTED)

    def links(self, request: ServerRequestContext[Any], result: ToolResult) -> list[dict[str, Any]]:
        file = result.metadata.get("file")
        if not isinstance(file, Mapping):
            return []
        handle, kind = str(file["handle"]), str(file["media_type"])
        resource = {"uri": _FILES + handle, "name": handle, "mimeType": kind, "size": file["bytes"]}
        if (owner := _owner(request, self)) is not None:
            self._made.append((weakref.ref(owner), resource))
        return [{"type": "resource_link", **resource}]

    async def listed(self, request: ServerRequestContext[Any], _: Any) -> types.ListResourcesResult:
        own = _owner(request, self)
        found = [file for made, file in self._made if own is not None and made() is own]
        return types.ListResourcesResult.model_validate({"resources": found})

    async def read(
        self, _: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        try:
            contents = await anyio.to_thread.run_sync(self._contents, str(params.uri))
        except OpenAPIToolsError as error:
            raise MCPError(code=INVALID_PARAMS, message=_clean(error.reason)) from None
        return types.ReadResourceResult.model_validate({"contents": [contents]})

    def _contents(self, uri: str) -> dict[str, Any]:
        handle = uri.removeprefix(_FILES) if uri.startswith(_FILES) else ""
        for settings in self._settings:
            with suppress(OpenAPIToolsError):
                file_of("handle", handle, settings)
                break
        file = file_of("handle", handle, settings)
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
        self._answers: dict[str, Any] = dict(answers or {})
        self._asked: dict[str, Any] = {}
        self._tool, self._called = tool, called or {}
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
        question = question_of(self._called.get(call.name, self._tool), call, _LONGEST_QUESTION)
        answer: Any = None
        if not self._is_stateless:
            with suppress(MCPError):
                session, asked_for = self._request.session, self._request.request_id
                answer = await session.elicit_form(question, form, asked_for)
        else:
            # The name of the question: an answer is good for equal calls only.
            said = json.dumps([call.name, call.arguments], sort_keys=True)
            key = f"approve-{hashlib.sha256(said.encode()).hexdigest()[:32]}"
            answer = self._answers.pop(key, None)
            if answer is None:
                asked = {"mode": "form", "message": question, "requestedSchema": form}
                self._asked[key] = {"method": "elicitation/create", "params": asked}
                raise PendingApproval(question)
        return getattr(answer, "action", None) == "accept"

    def question(self, result: ToolResult) -> types.InputRequiredResult | None:
        """Return the questions that a stateless client has to answer first; None without any."""
        if not self._asked or "calls" in result.metadata:  # a program that has ended
            return None
        asked = {"inputRequests": self._asked, "requestState": result.metadata.get("run")}
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


def _described(tool: OperationTool) -> dict[str, Any]:
    description, schema = shown(tool, "mcp", beside=_LONGEST_TITLE + len('"title": "", '))
    described: dict[str, Any] = {
        "name": tool.name,
        "description": _clean(description),
        "inputSchema": _sendable(schema),
        "annotations": dict(tool.annotations),
    }
    title = described["description"].partition("\n")[0].strip().removesuffix(".")
    if len(title) <= _LONGEST_TITLE:
        described["title"] = title
    return described


def _answer(result: ToolResult, links: list[dict[str, Any]]) -> types.CallToolResult:
    contents: list[dict[str, Any]] = blocks_of(
        result,
        lambda text: {"type": "text", "text": _clean(text)},
        lambda data, kind: {"type": "image", "data": data, "mimeType": kind},
    )
    answer: dict[str, Any] = {"content": [*contents, *links], "isError": result.is_error}
    has_images = any(content["type"] == "image" for content in contents)
    # Versions before 2026-07-28 take nothing but an object here; an image would be sent twice.
    if result.success and isinstance(result.output, dict) and not has_images:
        answer["structuredContent"] = result.output
    return types.CallToolResult.model_validate(answer)


def _said(document: Any, key: str) -> str:
    """Return a text member of the document's `info`; empty if missing or not a text."""
    info = document.get("info") if isinstance(document, Mapping) else None
    text = info.get(key) if isinstance(info, Mapping) else None
    return " ".join(visible(_clean(text)).split())[:_LONGEST_NAME] if isinstance(text, str) else ""


def _sendable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that can be sent: a lone surrogate in it would end the whole connection."""
    text = json.dumps(schema, ensure_ascii=False)
    cleaned: dict[str, Any] = schema if (sent := _clean(text)) == text else json.loads(sent)
    return cleaned


def _clean(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class PlainAnswers:
    """An ASGI app that answers a POST with JSON where nothing comes before the answer.

    With a handshake the package sends events, and its own client takes none of more than 1 MiB.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app; answers to POST go through a `_Stream`."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        stream = _Stream(send)
        await self._app(scope, receive, stream.send)
        await stream.end()


class _Stream:
    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = anyio.Lock()  # a keep-alive may arrive while an event is being sent
        self._start: Message | None = None
        self._has_events = False
        self._is_answered = False

    async def send(self, message: Message) -> None:
        """Take a message; the start of a stream waits for the next one."""
        async with self._lock:
            if message["type"] == "http.response.start" and _starts_events(message):
                self._start, self._has_events = message, True
            elif self._start is not None:
                await self._begin(self._start, message)
            elif self._has_events:
                body = b"" if self._is_answered else _fitted(message.get("body", b""))
                await self._send({**message, "body": body})
            else:
                await self._send(message)

    async def end(self) -> None:
        if self._start is not None:
            await self._send(self._start)

    async def _begin(self, start: Message, message: Message) -> None:
        self._start = None
        answer = _ANSWER.fullmatch(message.get("body", b""))
        if answer is not None:
            self._is_answered = True
            start, message = _json_start(start, answer[1]), {**message, "body": answer[1]}
        await self._send(start)
        await self._send(message)


def _starts_events(message: Message) -> bool:
    kinds = (value for name, value in message["headers"] if name.lower() == b"content-type")
    return any(kind.startswith(b"text/event-stream") for kind in kinds)


def _json_start(start: Message, body: bytes) -> Message:
    kept = [(name, value) for name, value in start["headers"] if name.lower() != b"content-type"]
    own = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    return {**start, "headers": [*kept, *own]}


def _fitted(event: bytes) -> bytes:
    """Return an event without `structuredContent`, which the text repeats, if it then fits."""
    answer = _ANSWER.fullmatch(event) if len(event) > _LARGEST else None
    if answer is None:
        return event
    try:
        message = json.loads(answer[1])
        message["result"].pop("structuredContent", None)
        small = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    except (KeyError, ValueError, RecursionError):
        return event
    fitted = event[: answer.start(1)] + small + event[answer.end(1) :]
    return fitted if len(fitted) <= _LARGEST else event
