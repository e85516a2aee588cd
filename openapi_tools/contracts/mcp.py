"""The tools as an MCP server: `create_server(toolset)`, for each transport of the package `mcp`."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openapi_tools.contracts import import_extra
from openapi_tools.runtime.calls import ToolCall
from openapi_tools.runtime.content import ImageContent
from openapi_tools.runtime.context import Context

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from mcp import types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.session import ServerSession

    from openapi_tools.runtime.content import TextContent
    from openapi_tools.runtime.result import ToolResult
    from openapi_tools.runtime.tool import OperationTool
    from openapi_tools.runtime.toolset import Toolset

_UNNAMED = "openapi-tools"
_LONGEST_NAME = 100
_LONGEST_TITLE = 60
_LONGEST_QUESTION = 4_000
_FIRST_BEAT = 1.0
_EVERY = 5.0


def create_server(
    toolset: Toolset, *, name: str | None = None, version: str | None = None
) -> Server[Any]:
    """Return a low-level server of the package `mcp` that lists and calls the tools.

    Nothing of a request's headers reaches the API: calls carry the toolset's own credentials. A
    guard of the tools finds the request in `context.state`. Tools that need approval ask the
    client's user; in the stateless protocol (2026-07-28) the client then sends the call a second
    time, and the first one counts as denied for guards and functions for failures. The toolset
    stays yours to close.

    Spec: Model Context Protocol 2026-07-28 and 2025-11-25, server/tools.

    Args:
        toolset: Loaded or generated.
        name: What the server calls itself; the document's title by default.
        version: Of the server; the document's by default.

    Raises:
        MissingExtraError: The package `mcp` is not installed.
    """
    import_extra("mcp", "mcp")
    from mcp.server.lowlevel import Server

    served = _Served(toolset)
    return Server(
        name or _said(toolset, "title") or _UNNAMED,
        version=version or _said(toolset, "version"),
        get_tool_input_schema=served.input_schema,
        on_list_tools=served.list_tools,
        on_call_tool=served.call_tool,
    )


class _Served:
    """What a server answers from.

    Args:
        toolset: Its tools.
    """

    def __init__(self, toolset: Toolset) -> None:
        self._toolset = toolset
        self._listed: types.ListToolsResult | None = None

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return a tool's input schema; without this the package lists all tools at each call."""
        return self._toolset[name].input_schema if name in self._toolset else None

    async def list_tools(
        self,
        _request: ServerRequestContext[Any],
        _params: types.PaginatedRequestParams | None,
    ) -> types.ListToolsResult:
        """Return all tools as one page, since not every client asks for a second one."""
        from mcp import types

        if self._listed is None:
            tools = [types.Tool.model_validate(_described(tool)) for tool in self._toolset]
            self._listed = types.ListToolsResult(tools=tools)
        return self._listed

    async def call_tool(
        self, request: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run a call and return its answer, or the question that has to be answered first.

        Raises:
            MCPError: There is no such tool.
        """
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
        try:
            return self._toolset[name]
        except KeyError as error:
            from mcp import MCPError
            from mcp.types import INVALID_PARAMS

            raise MCPError(code=INVALID_PARAMS, message=_clean(str(error.args[0]))) from None


class _Desk:
    """Where the client's user is asked about one call.

    Attributes:
        question: What the client has to answer before the call is made; None when nothing.
    """

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
            answer = await session.elicit_form(_question(self._tool, call), form, asked_for)
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
            asked = {"message": _question(self._tool, call), "requestedSchema": form}
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


def _question(tool: OperationTool, call: ToolCall) -> str:
    """Return what the user is asked about a call."""
    sent = json.dumps(call.arguments, ensure_ascii=False, indent=2)
    if len(sent) > _LONGEST_QUESTION:
        left_out = len(sent) - _LONGEST_QUESTION
        sent = f"{sent[:_LONGEST_QUESTION]} … and {left_out} characters that are not shown"
    return _clean(f"Run {call.name} ({tool.method} {tool.path}) with these arguments?\n{sent}")


def _key(call: ToolCall) -> str:
    """Return the name of the question about a call: an answer is good for equal calls only."""
    said = json.dumps([call.name, call.arguments], sort_keys=True)
    return f"approve-{hashlib.sha256(said.encode()).hexdigest()[:32]}"


def _said(toolset: Toolset, key: str) -> str:
    """Return what the document says of itself; nothing where it is not at hand or not a text."""
    document = toolset.document
    info = document.get("info") if isinstance(document, Mapping) else None
    text = info.get(key) if isinstance(info, Mapping) else None
    return " ".join(_clean(text).split())[:_LONGEST_NAME] if isinstance(text, str) else ""


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
    """Return text that UTF-8 can carry."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
