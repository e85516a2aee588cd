"""Long-running operations over MCP as tasks that a client polls: `add_tasks(server, tools)`.

Spec: io.modelcontextprotocol/tasks (SEP-2663), for Model Context Protocol 2026-07-28.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from openapi_tools.common.json_values import dump_json_bytes
from openapi_tools.common.options import context_value, replace_context_values
from openapi_tools.common.visible_text import fold_name
from openapi_tools.contracts.mcp_messages import (
    JOB,
    is_remote,
    make_call_result,
    replace_surrogates,
)
from openapi_tools.errors import OpenAPIToolsError, require_extra
from openapi_tools.result import context_for
from openapi_tools.state.shared_state import MemoryState, read_record, state_key
from openapi_tools.tools.call import Call, CallOptions
from openapi_tools.tools.tool import execute_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp.server.context import ServerRequestContext

    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool

with require_extra("mcp"):
    from mcp import MCPError, types
    from mcp.types import INTERNAL_ERROR, INVALID_PARAMS
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS

logger = logging.getLogger("openapi_tools")

EXTENSION = "io.modelcontextprotocol/tasks"
_MISSING_CAPABILITY = -32021  # a client calls without having declared the extension
_SECONDS = 86_400.0  # the lifetime of a task
_PAUSE = 5.0  # seconds between polls, unless the API names them
_PROGRESS = frozenset({"progress", "percent", "percentage", "percentcomplete", "percentdone"})
_UNKNOWN = "unknown task; a task is stored for a day."
_AWAY = "the shared state is unreachable, so the state of the task is unknown; ask again."
_DAMAGED = (
    "the record of this task is damaged. The operation may still be running: check with the tool "
    "that reads its state, and start it again only if it does not exist."
)


class _TaskParams(types.RequestParams):
    task_id: str


def add_tasks(
    server: Any, tools: Callable[[], Iterable[OperationTool]], context: Any = None
) -> None:
    """Let a server of `create_server` return tasks for long-running operations.

    A call that starts one (202 with the address of its state) returns a task if the client declares
    the extension; other clients get the handle. Each `tasks/get` polls the API once, no more often
    than the API allows. Tasks are stored in the shared state, so that any worker can respond, or
    else in this process. If a task cannot be stored, the client gets the result with its handle.

    Args:
        server: The server.
        tools: Returns the tools that it offers now.
        context: As for `create_server`.
    """
    tasks = _TaskHandlers(server, tools, context)
    server.extensions[EXTENSION] = {}
    server.add_request_handler("tools/call", types.CallToolRequestParams, tasks.call)
    for name in ("get", "update", "cancel"):
        server.add_request_handler(f"tasks/{name}", _TaskParams, getattr(tasks, name))


@dataclass(frozen=True, slots=True)
class _APIJob:
    """Where the state of the operation is: a tool that reads, and an address of its API."""

    tool: str
    url: str
    retry_after: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


@dataclass(frozen=True, slots=True)
class _Task:
    """A stored task; `polled_at` is when the API was last polled, in seconds since 1970."""

    task_id: str
    job: _APIJob
    polled_at: Annotated[float, Field(allow_inf_nan=False)]
    created: str
    updated: str
    status: Literal["working", "completed", "cancelled"] = "working"
    message: str = ""
    result: dict[str, Any] | None = None

    @property
    def pause(self) -> float:
        """Seconds between polls."""
        return min(self.job.retry_after or _PAUSE, _SECONDS)

    def describe(self) -> dict[str, Any]:
        """Return the task as the protocol has it, without its result."""
        facts = {
            "taskId": self.task_id,
            "status": self.status,
            "createdAt": self.created,
            "lastUpdatedAt": self.updated,
            "ttlMs": int(_SECONDS * 1000),
            "pollIntervalMs": max(int(self.pause * 1000), 1),
        }
        return {**facts, "statusMessage": self.message} if self.message else facts


_JOB, _TASK = TypeAdapter(_APIJob), TypeAdapter(_Task)


class _TaskHandlers:
    def __init__(self, server: Any, tools: Callable[[], Any], context: Any) -> None:
        entry: Any = server.get_request_handler("tools/call")
        self._call_tool, self._tools, self._context = entry.handler, tools, context
        self._memory = MemoryState()

    @property
    def _state(self) -> Any:
        sessions = getattr(self._tools(), "sessions", ())
        states = (session.settings.state for session in sessions)
        return next((state for state in states if state is not None), self._memory)

    async def call(
        self, request: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> Any:
        """Run a call; return a task if the client can poll for the operation that it started."""
        result = await self._call_tool(request, params)
        # A model asks the user for something, and nothing has begun.
        job = result.get("_meta", {}).get(JOB) if isinstance(result, dict) else None
        if job is None or not _declares_tasks(request):
            return result
        # Whatever fails from here on: the API has started the operation, and the model must know.
        try:
            now = _utc_now()
            task = _Task(
                secrets.token_urlsafe(24), _JOB.validate_python(job), time.time(), now, now
            )
            await self._store_task(task, await self._context_of(request))
        except (MCPError, OpenAPIToolsError, OSError, ValueError) as error:
            logger.warning("a task cannot be stored; the client gets its handle: %s", error)
            return result
        return {"resultType": "task", **task.describe()}

    async def get(self, request: ServerRequestContext[Any], params: _TaskParams) -> dict[str, Any]:
        """Return a task with its state; polls the API unless it was polled a moment ago."""
        task, context = await self._find_task(request, params)
        if task.status == "working" and time.time() - task.polled_at >= task.pause / 2:
            task = await self._poll_api(task, context)
            try:
                await self._store_task(task, context)
            except OpenAPIToolsError as error:  # the next request polls the API again
                logger.warning("the state of a task could not be stored: %s", error)
        result = {"result": task.result} if task.status == "completed" else {}
        return {**task.describe(), **result}

    async def update(
        self, request: ServerRequestContext[Any], params: _TaskParams
    ) -> dict[str, Any]:
        """Acknowledge input; no task requests any."""
        await self._find_task(request, params)
        return {}

    async def cancel(
        self, request: ServerRequestContext[Any], params: _TaskParams
    ) -> dict[str, Any]:
        """Stop polling; no document describes how to cancel the operation itself."""
        task, context = await self._find_task(request, params)
        if task.status == "working":
            message = "no longer polled; the operation may still be running"
            try:
                await self._store_task(replace(task, status="cancelled", message=message), context)
            except OpenAPIToolsError:
                raise MCPError(INTERNAL_ERROR, _AWAY) from None
        return {}

    async def _poll_api(self, task: _Task, context: Any) -> _Task:
        offered_tools = self._tools()
        tools = {tool.name: tool for tool in getattr(offered_tools, "called", offered_tools)}
        if (tool := tools.get(task.job.tool)) is None:
            return task
        options = CallOptions(0, address=task.job.url, is_poll=True)
        result = await execute_call(tool, Call(tool, {}, context, options=options))
        task = replace(task, polled_at=time.time())
        if (job := result.metadata.get("job")) is not None:
            with suppress(ValueError):  # without a new address, the last one is polled again
                task = replace(task, job=_JOB.validate_python(job))
            return replace(task, message=_describe_progress(result))
        if (result.error or {}).get("retryable"):
            return replace(task, message=replace_surrogates(str(result))[:500])
        call_result = make_call_result(result, [], tool)
        return replace(
            task, status="completed", message="the operation has ended", result=call_result
        )

    async def _find_task(
        self, request: ServerRequestContext[Any], params: _TaskParams
    ) -> tuple[_Task, Any]:
        # Returns the task, and the context of its user's calls.
        if not _declares_tasks(request):
            requirement: Any = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            raise MCPError(_MISSING_CAPABILITY, "Missing required client capability", requirement)
        context = await self._context_of(request)
        try:
            value = await self._state.get(_task_key(params.task_id, context))
        except OpenAPIToolsError:
            raise MCPError(INTERNAL_ERROR, _AWAY) from None
        if value is None:
            raise MCPError(INVALID_PARAMS, _UNKNOWN)
        try:
            return read_record(value, _TASK), context
        except ValueError as error:
            logger.warning("the record of a task is damaged: %s", error)
            raise MCPError(INVALID_PARAMS, _DAMAGED) from None

    async def _context_of(self, request: ServerRequestContext[Any]) -> Any:
        try:
            context = await context_for(self._context, request)
        except OpenAPIToolsError as error:
            raise MCPError(INVALID_PARAMS, replace_surrogates(error.reason)) from None
        return replace_context_values(context, state=request, remote=is_remote(request))

    async def _store_task(self, task: _Task, context: Any) -> None:
        record = dump_json_bytes(asdict(replace(task, updated=_utc_now())))
        await self._state.put(_task_key(task.task_id, context), record, _SECONDS)


def _task_key(task_id: str, context: Any) -> str:
    # With the user in the key, the task does not exist for others.
    return state_key("task", context_value(context, "user") or "", task_id)


def _declares_tasks(request: ServerRequestContext[Any]) -> bool:
    capabilities: Any = request.session.client_capabilities
    extensions = getattr(capabilities, "extensions", None) or {}
    return EXTENSION in extensions and request.protocol_version in MODERN_PROTOCOL_VERSIONS


def _describe_progress(result: ToolResult) -> str:
    output = result.output if isinstance(result.output, Mapping) else {}
    shares = (value for name, value in output.items() if fold_name(str(name)) in _PROGRESS)
    share = next((value for value in shares if isinstance(value, int | float)), None)
    running = "the operation is running"
    return running if share is None else f"{running}: {share:g}"


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
