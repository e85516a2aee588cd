"""The tools as a server of the package `mcp`."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from openapi_tools.contracts import import_extra
from openapi_tools.errors import SettingsError
from openapi_tools.result import ImageContent
from openapi_tools.tools.context import Context
from openapi_tools.tools.dispatch import no_such_tool
from openapi_tools.tools.guardrails import question_of
from openapi_tools.tools.tool_call import ToolCall
from openapi_tools.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from mcp import types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.session import ServerSession
    from starlette.applications import Starlette

    from openapi_tools.result import TextContent, ToolResult
    from openapi_tools.tools.tool import OperationTool

_UNNAMED = "openapi-tools"
_LONGEST_NAME = 100
_LONGEST_TITLE = 60
_LONGEST_QUESTION = 4_000
_FIRST_BEAT = 1.0
_EVERY = 5.0
_SESSIONS = 300
"""Of protocol versions with a handshake; each takes some 40 kB until half an hour has passed."""


def create_server(
    toolset: Iterable[OperationTool], *, name: str | None = None, version: str | None = None
) -> Server[Any]:
    """Return a low-level server of the package `mcp` that lists and calls the tools.

    Nothing of a request's headers reaches the API: calls carry the toolset's own credentials. A
    guard of the tools finds the request in `context.state`. Tools that need approval ask the
    client's user; in the stateless protocol (2026-07-28) the client then sends the call a second
    time, and the first one counts as denied for guards and functions for failures. The toolset
    stays yours to close.

    Spec: Model Context Protocol 2026-07-28 and 2025-11-25, server/tools.

    Args:
        toolset: A toolset, or any of its tools.
        name: What the server calls itself; by default the title of a toolset's document.
        version: Of the server; by default that of a toolset's document.

    Raises:
        MissingExtraError: The package `mcp` is not installed.
        SettingsError: Two tools have the same name.
    """
    kind, document = _server_class(), getattr(toolset, "document", None)
    served = _Served(toolset)
    server: Server[Any] = kind(
        name or _said(document, "title") or _UNNAMED,
        version=version or _said(document, "version"),
        get_tool_input_schema=served.input_schema,
        on_list_tools=served.list_tools,
        on_call_tool=served.call_tool,
    )
    return server


@cache
def _server_class() -> Any:
    """Return the class of the servers; `mcp` is imported here, not with this module."""
    import_extra("mcp", "mcp")
    from mcp.server.lowlevel import Server

    from openapi_tools.contracts.mcp.response_streams import PlainAnswers

    class ToolsServer(Server[Any]):
        """A server whose large answers reach clients over HTTP."""

        def streamable_http_app(self, **options: Any) -> Starlette:
            """Return the app of the package, with `PlainAnswers` around it and fewer sessions."""
            app = super().streamable_http_app(**{"max_sessions": _SESSIONS, **options})
            app.add_middleware(PlainAnswers)
            return app

    return ToolsServer


class _Served:
    """What a server answers from."""

    def __init__(self, tools: Iterable[OperationTool]) -> None:
        self._tools: dict[str, OperationTool] = {}
        for tool in tools:
            if tool.name in self._tools:
                message = f"two tools are called {tool.name}; load one of them with another prefix."
                raise SettingsError(message)
            self._tools[tool.name] = tool
        self._listed: types.ListToolsResult | None = None

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return a tool's input schema; without this the package lists all tools at each call."""
        return self._tools[name].input_schema if name in self._tools else None

    async def list_tools(
        self,
        _request: ServerRequestContext[Any],
        _params: types.PaginatedRequestParams | None,
    ) -> types.ListToolsResult:
        """Return all tools as one page, since not every client asks for a second one."""
        from mcp import types

        if self._listed is None:
            tools = [types.Tool.model_validate(_described(tool)) for tool in self._tools.values()]
            self._listed = types.ListToolsResult(tools=tools)
        return self._listed

    async def call_tool(
        self, request: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run a call and return its answer, or the question that has to be answered first."""
        tool = self._named(params.name)
        desk = _Desk(request, params, tool)
        call = ToolCall(
            id=str(request.request_id or ""), name=tool.name, arguments=params.arguments or {}
        )
        context = Context(approve=desk.approve if desk.is_open else None, state=request)
        result = await _reporting(request.session, tool(call, context))
        return desk.question or _answer(result)

    def _named(self, name: str) -> OperationTool:
        """Return a tool by name."""
        if name in self._tools:
            return self._tools[name]
        from mcp import MCPError
        from mcp.types import INVALID_PARAMS

        message = no_such_tool(name, list(self._tools))
        raise MCPError(code=INVALID_PARAMS, message=_clean(message))


class _Desk:
    """Where the client's user is asked about one call."""

    def __init__(
        self,
        request: ServerRequestContext[Any],
        params: types.CallToolRequestParams,
        tool: OperationTool,
    ) -> None:
        from mcp.types.version import MODERN_PROTOCOL_VERSIONS

        self.question: types.InputRequiredResult | None = None
        self._request = request
        self._answers: Mapping[str, Any] = params.input_responses or {}
        self._tool = tool
        self._is_stateless = request.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def is_open(self) -> bool:
        """Whether the client has a user who can be asked.

        Spec: Model Context Protocol 2025-11-25, client/elicitation: `{}` means forms.
        """
        session = self._request.session
        able = session.client_capabilities.elicitation if session.client_capabilities else None
        takes_forms = able is not None and (able.form is not None or able.url is None)
        return takes_forms and (self._is_stateless or session.can_send_request)

    async def approve(self, call: ToolCall) -> bool:
        """Tell whether the user says yes to a call."""
        if self._is_stateless:
            return self._answered(call)
        from mcp import MCPError

        session, asked_for = self._request.session, self._request.request_id
        form = {"type": "object", "properties": {}}
        try:
            question = question_of(self._tool, call, _LONGEST_QUESTION)
            answer = await session.elicit_form(question, form, asked_for)
        except MCPError:
            return False
        return answer.action == "accept"

    def _answered(self, call: ToolCall) -> bool:
        """Tell whether the client's answer is a yes; without one, note what it has to ask."""
        from mcp import types

        key = _key(call)
        answer = self._answers.get(key)
        if answer is None:
            form = {"type": "object", "properties": {}}
            question = question_of(self._tool, call, _LONGEST_QUESTION)
            asked = {"message": question, "requestedSchema": form}
            request = {"method": "elicitation/create", "params": {"mode": "form", **asked}}
            self.question = types.InputRequiredResult.model_validate(
                {"inputRequests": {key: request}}
            )
        return getattr(answer, "action", None) == "accept"


async def _reporting(session: ServerSession, call: Awaitable[ToolResult]) -> ToolResult:
    """Return a call's result; a client that wants progress hears of it while it waits."""
    import anyio

    async with anyio.create_task_group() as group:
        group.start_soon(_beat, session)
        result = await call
        group.cancel_scope.cancel()
    return result


async def _beat(session: ServerSession) -> None:
    """Say again and again that a call goes on, so that the client does not give it up."""
    import anyio

    started = time.monotonic()
    await anyio.sleep(_FIRST_BEAT)
    while True:
        passed = time.monotonic() - started
        await session.report_progress(passed, message=f"waiting for {passed:.0f} s")
        await anyio.sleep(_EVERY)


def _described(tool: OperationTool) -> dict[str, Any]:
    """Return a tool as `tools/list` has it."""
    described: dict[str, Any] = {
        "name": tool.name,
        "description": _clean(tool.description),
        "inputSchema": _sendable(tool.input_schema),
        "annotations": dict(tool.annotations),
    }
    title = described["description"].partition("\n")[0].strip().removesuffix(".")
    if len(title) <= _LONGEST_TITLE:
        described["title"] = title
    return described


def _answer(result: ToolResult) -> types.CallToolResult:
    """Return a result as `tools/call` has it."""
    from mcp import types

    contents = result.as_content()
    answer: dict[str, Any] = {
        "content": [_content(content) for content in contents],
        "isError": result.is_error,
    }
    has_images = any(isinstance(content, ImageContent) for content in contents)
    # Versions before 2026-07-28 take nothing but an object here; an image would be sent twice.
    if result.success and isinstance(result.output, dict) and not has_images:
        answer["structuredContent"] = result.output
    return types.CallToolResult.model_validate(answer)


def _content(content: TextContent | ImageContent) -> dict[str, Any]:
    if isinstance(content, ImageContent):
        return {"type": "image", "data": content.data, "mimeType": content.media_type}
    return {"type": "text", "text": _clean(content.text)}


def _key(call: ToolCall) -> str:
    """Return the name of the question about a call: an answer is good for equal calls only."""
    said = json.dumps([call.name, call.arguments], sort_keys=True)
    return f"approve-{hashlib.sha256(said.encode()).hexdigest()[:32]}"


def _said(document: Any, key: str) -> str:
    """Return what a document says of itself; nothing where it is not at hand or not a text."""
    info = document.get("info") if isinstance(document, Mapping) else None
    text = info.get(key) if isinstance(info, Mapping) else None
    return " ".join(visible(_clean(text)).split())[:_LONGEST_NAME] if isinstance(text, str) else ""


def _sendable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that can be sent: a lone surrogate in it would end the whole connection."""
    text = json.dumps(schema, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        cleaned: dict[str, Any] = json.loads(_clean(text))
        return cleaned
    return schema


def _clean(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
