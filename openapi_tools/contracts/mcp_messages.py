"""Messages of an MCP server: tools, results and HTTP bodies that every client accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openapi_tools.common.visible_text import strip_hidden
from openapi_tools.errors import require_extra
from openapi_tools.providers.definitions import write_brief_definition
from openapi_tools.providers.response_schemas import declares_response, write_response_schema
from openapi_tools.toolsets.adapters import make_blocks

if TYPE_CHECKING:
    from mcp.server.caching import CacheableMethod
    from mcp.server.context import ServerRequestContext
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi_tools.providers.memory import Memory
    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool

with require_extra("mcp"):
    import anyio
    from mcp import types
    from mcp.server.caching import CacheHint

_LONGEST_NAME, _LONGEST_TITLE = 100, 60
_LARGEST = 1024 * 1024
UNNAMED = "openapi-tools"
"""The name of a server whose tools are of no document, or of several."""
JOB = "openapi-tools/job"
"""The key in `_meta` of the handle of a long-running operation."""
IDEMPOTENCY_KEYS = ("openapi-tools/idempotency-key", "idempotencyKey")
"""The keys in `_meta` of what names a write; the second one is from SEP-3182."""
IDEMPOTENCY_ARGUMENT = "idempotency_key"
_KEY_SCHEMA = {
    "type": "string",
    "description": "Names this write: a repeat with the same key and arguments sends nothing, and "
    "returns the first result. Use a new one for each write.",
}
# The package `mcp` writes one event in this form; anything else is passed on unchanged.
_RESPONSE_EVENT = re.compile(
    rb"(?:(?:id|event): [^\r\n]*\r\n)*data: "
    rb'(\{"jsonrpc":"2\.0","id":(?:-?\d+|"[^"\\]*(?:\\.[^"\\]*)*"),"(?:result|error)":[^\r\n]*)'
    rb"\r\n\r\n"
)


def describe_tool(tool: OperationTool, memory: Memory) -> dict[str, Any]:
    """Return a tool as the protocol's `Tool`; `memory` is shared by the tools of a list."""
    description, schema = write_brief_definition(
        tool, "mcp", beside=_LONGEST_TITLE + len('"title": "", ')
    )
    if takes_key_argument(tool):
        properties = {**schema.get("properties", {}), IDEMPOTENCY_ARGUMENT: _KEY_SCHEMA}
        schema = {**schema, "properties": properties}
    definition: dict[str, Any] = {
        "name": tool.name,
        "description": replace_surrogates(description),
        "inputSchema": _make_sendable(schema),
        "annotations": dict(tool.annotations),
    }
    title = definition["description"].partition("\n")[0].strip().removesuffix(".")
    if len(title) <= _LONGEST_TITLE:
        definition["title"] = title
    if declares_response(tool):
        schema = write_response_schema(tool, tool.settings, memory=memory)
        definition["outputSchema"] = _make_sendable(schema)
    return definition


def make_call_result(
    result: ToolResult, links: list[dict[str, Any]], tool: OperationTool | None = None
) -> types.CallToolResult:
    """Return a result as the protocol's `CallToolResult`, for a tool as `describe_tool` does it."""
    contents: list[dict[str, Any]] = make_blocks(
        result,
        lambda text: {"type": "text", "text": replace_surrogates(text)},
        lambda data, kind: {"type": "image", "data": data, "mimeType": kind},
    )
    answer: dict[str, Any] = {"content": [*contents, *links], "isError": result.is_error}
    has_images = any(content["type"] == "image" for content in contents)
    # Versions before 2026-07-28 allow only an object here; an image would be sent twice.
    if result.success and isinstance(result.output, dict) and not has_images:
        answer["structuredContent"] = result.output
    elif result.success and tool is not None and declares_response(tool):
        answer["structuredContent"] = result.as_object()  # the protocol asks for one
    if job := result.metadata.get("job"):
        answer["_meta"] = {JOB: job}
    return types.CallToolResult.model_validate(answer)


def list_lifetimes(seconds: float) -> dict[CacheableMethod, CacheHint]:
    """Return for how long clients may use lists again (MCP 2026-07-28, utilities/caching).

    That of resources has none: each call may add a file, and clients are not notified of it.
    """
    return {"tools/list": CacheHint(ttl_ms=round(seconds * 1000))}


def takes_key_argument(tool: OperationTool) -> bool:
    """Return whether the key of a write is an argument, for clients that cannot send `_meta`."""
    is_free = IDEMPOTENCY_ARGUMENT not in tool.input_schema.get("properties", {})
    return tool.settings.idempotency_argument and not tool.read_only and is_free


def take_idempotency_key(
    tool: OperationTool, params: types.CallToolRequestParams, arguments: dict[str, Any]
) -> Any:
    """Return the key that names a write, taken out of its arguments; None without one."""
    meta: Mapping[str, Any] = {**(params.meta or {})}
    key = next((meta[name] for name in IDEMPOTENCY_KEYS if name in meta), None)
    if takes_key_argument(tool):
        argument = arguments.pop(IDEMPOTENCY_ARGUMENT, None)
        key = argument if key is None else key
    return key


def is_remote(request: ServerRequestContext[Any]) -> bool:
    """Whether a request came over HTTP: its client may be on another machine."""
    return request.request is not None


def _make_sendable(schema: dict[str, Any]) -> dict[str, Any]:
    # A lone surrogate in it would end the whole connection.
    text = json.dumps(schema, ensure_ascii=False)
    cleaned: dict[str, Any] = (
        schema if (sent := replace_surrogates(text)) == text else json.loads(sent)
    )
    return cleaned


def replace_surrogates(text: str) -> str:
    """Return a string without lone surrogates, which no encoding can write."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def read_info(document: Any, key: str, limit: int = _LONGEST_NAME) -> str:
    """Return a string of the document's `info`; empty if it is missing or not a string."""
    info = document.get("info") if isinstance(document, Mapping) else None
    text = info.get(key) if isinstance(info, Mapping) else None
    return (
        " ".join(strip_hidden(replace_surrogates(text)).split())[:limit]
        if isinstance(text, str)
        else ""
    )


class JSONResponseMiddleware:
    """ASGI middleware that responds to a POST with JSON if nothing comes before the response.

    After a handshake the package `mcp` sends events, and its own client accepts none over 1 MiB.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app; responses to POST go through an `_EventStream`."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        stream = _EventStream(send)
        await self._app(scope, receive, stream.send)
        await stream.end()


class _EventStream:
    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = anyio.Lock()  # a keep-alive may arrive while an event is being sent
        self._start: Message | None = None
        self._has_events = False
        self._is_response_sent = False

    async def send(self, message: Message) -> None:
        """Send a message; the start of an event stream waits for the next message."""
        async with self._lock:
            if message["type"] == "http.response.start" and _starts_events(message):
                self._start, self._has_events = message, True
            elif self._start is not None:
                await self._begin(self._start, message)
            elif self._has_events:
                body = b"" if self._is_response_sent else _fit_event(message.get("body", b""))
                await self._send({**message, "body": body})
            else:
                await self._send(message)

    async def end(self) -> None:
        if self._start is not None:
            await self._send(self._start)

    async def _begin(self, start: Message, message: Message) -> None:
        self._start = None
        answer = _RESPONSE_EVENT.fullmatch(message.get("body", b""))
        if answer is not None:
            self._is_response_sent = True
            start, message = _json_start(start, answer[1]), {**message, "body": answer[1]}
        await self._send(start)
        await self._send(message)


def _starts_events(message: Message) -> bool:
    kinds = (value for name, value in message["headers"] if name.lower() == b"content-type")
    return any(kind.startswith(b"text/event-stream") for kind in kinds)


def _json_start(start: Message, body: bytes) -> Message:
    other_headers = [
        (name, value) for name, value in start["headers"] if name.lower() != b"content-type"
    ]
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    return {**start, "headers": [*other_headers, *headers]}


def _fit_event(event: bytes) -> bytes:
    # Without `structuredContent`, which the text repeats, it may be small enough.
    answer = _RESPONSE_EVENT.fullmatch(event) if len(event) > _LARGEST else None
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
