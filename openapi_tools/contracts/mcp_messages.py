"""Messages of an MCP server: tools and results that every client accepts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openapi_tools.common.visible_text import strip_hidden
from openapi_tools.errors import require_extra
from openapi_tools.providers.definitions import write_brief_definition
from openapi_tools.providers.response_schemas import declares_response, write_response_schema
from openapi_tools.toolsets.adapters import make_blocks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp import types
    from mcp.server.caching import CacheableMethod
    from mcp.server.context import ServerRequestContext

    from openapi_tools.providers.memory import Memory
    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool

with require_extra("mcp"):
    from mcp.server.caching import CacheHint

_LONGEST_NAME, _LONGEST_TITLE = 100, 60
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


def describe_tool(tool: OperationTool, memory: Memory) -> dict[str, Any]:
    """Return a tool as the protocol's `Tool`; `memory` is shared by the tools of a list."""
    description, schema = write_brief_definition(
        tool, "mcp", extra_bytes=_LONGEST_TITLE + len('"title": "", ')
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
) -> dict[str, Any]:
    """Return a result as the protocol's `CallToolResult`, for a tool as `describe_tool` does it.

    Without a model: the package validates each result when it writes it.
    """
    contents: list[dict[str, Any]] = make_blocks(
        result,
        lambda text: {"type": "text", "text": replace_surrogates(text)},
        lambda data, kind: {"type": "image", "data": data, "mimeType": kind},
    )
    fields: dict[str, Any] = {
        "content": [*contents, *links],
        "isError": result.is_error,
        "resultType": "complete",  # left out for versions before 2026-07-28
    }
    has_images = any(content["type"] == "image" for content in contents)
    # Versions before 2026-07-28 allow only an object here; an image would be sent twice.
    if result.success and isinstance(result.output, dict) and not has_images:
        fields["structuredContent"] = result.output
    elif result.success and tool is not None and declares_response(tool):
        fields["structuredContent"] = result.as_object()  # the protocol asks for one
    if job := result.metadata.get("job"):
        fields["_meta"] = {JOB: job}
    return fields


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


def read_info(info: Mapping[str, Any], key: str, limit: int = _LONGEST_NAME) -> str:
    """Return a string of a document's `info`; empty if it is missing or not a string."""
    text = info.get(key)
    return (
        " ".join(strip_hidden(replace_surrogates(text)).split())[:limit]
        if isinstance(text, str)
        else ""
    )
