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

from openapi_tools.contracts.mcp_messages import JOB, answer_of, clean, is_remote
from openapi_tools.errors import OpenAPIToolsError, requiring
from openapi_tools.http_rules import folded
from openapi_tools.json_values import dump_json_bytes
from openapi_tools.options import member_of, with_members
from openapi_tools.result import context_for
from openapi_tools.shared_state import MemoryState, read_record, state_key
from openapi_tools.tools.session import PerCall
from openapi_tools.tools.tool import called

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp.server.context import ServerRequestContext

    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool

with requiring("mcp"):
    from mcp import MCPError, types
    from mcp.types import INTERNAL_ERROR, INVALID_PARAMS
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS

logger = logging.getLogger("openapi_tools")

EXTENSION = "io.modelcontextprotocol/tasks"
_MISSING = -32021  # a client calls without having declared the extension
_SECONDS = 86_400.0  # a task is kept
_PAUSE = 5.0  # seconds between polls, unless the API names them
_PROGRESS = frozenset({"progress", "percent", "percentage", "percentcomplete", "percentdone"})
_UNKNOWN = "no such task; a task is kept for a day."
_AWAY = "the shared state cannot be reached, so nothing is known of the task now; ask again."
_DAMAGED = (
    "the record of this task is damaged. The work of the API may go on: ask for it with the tool "
    "that reads its state, and begin it again only if it is not there."
)


class _TaskParams(types.RequestParams):
    task_id: str


def add_tasks(
    server: Any, tools: Callable[[], Iterable[OperationTool]], context: Any = None
) -> None:
    """Let a server of `create_server`, which offers these tools now, answer long work with tasks.

    A call whose work goes on (202, an operation's address) is answered with a task if the client
    declares the extension; others get the handle. Each `tasks/get` asks the API once, no more often
    than it wants. Tasks are kept in the shared state, so that any worker answers; without one, in
    this process. Where a task cannot be kept, the client gets the result with its handle.
    """
    tasks = _Tasks(server, tools, context)
    server.extensions[EXTENSION] = {}
    server.add_request_handler("tools/call", types.CallToolRequestParams, tasks.call)
    for name in ("get", "update", "cancel"):
        server.add_request_handler(f"tasks/{name}", _TaskParams, getattr(tasks, name))


@dataclass(frozen=True, slots=True)
class _Job:
    """Where the state of the work is: a tool that reads, and an address of its API."""

    tool: str
    url: str
    retry_after: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


@dataclass(frozen=True, slots=True)
class _Task:
    """A task as the state keeps it; `asked` is when the API was asked last, since 1970."""

    task_id: str
    job: _Job
    asked: Annotated[float, Field(allow_inf_nan=False)]
    created: str
    updated: str
    status: Literal["working", "completed", "cancelled"] = "working"
    message: str = ""
    result: dict[str, Any] | None = None

    @property
    def pause(self) -> float:
        """Seconds between polls."""
        return min(self.job.retry_after or _PAUSE, _SECONDS)

    def facts(self) -> dict[str, Any]:
        """Return what clients are told of it, as JSON data."""
        facts = {
            "taskId": self.task_id,
            "status": self.status,
            "createdAt": self.created,
            "lastUpdatedAt": self.updated,
            "ttlMs": int(_SECONDS * 1000),
            "pollIntervalMs": max(int(self.pause * 1000), 1),
        }
        return {**facts, "statusMessage": self.message} if self.message else facts


_JOB, _TASK = TypeAdapter(_Job), TypeAdapter(_Task)


class _Tasks:
    def __init__(self, server: Any, tools: Callable[[], Any], context: Any) -> None:
        entry: Any = server.get_request_handler("tools/call")
        self._called, self._tools, self._context = entry.handler, tools, context
        self._own = MemoryState()

    @property
    def _state(self) -> Any:
        sessions = getattr(self._tools(), "sessions", ())
        states = (session.settings.state for session in sessions)
        return next((state for state in states if state is not None), self._own)

    async def call(
        self, request: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> Any:
        """Answer a call, with a task if its work goes on and the client takes one."""
        result = await self._called(request, params)
        job = (getattr(result, "meta", None) or {}).get(JOB)
        if job is None or not _declares(request):
            return result
        # Whatever fails from here on: the API has begun the work, and the model has to hear it.
        try:
            now = _now()
            task = _Task(
                secrets.token_urlsafe(24), _JOB.validate_python(job), time.time(), now, now
            )
            await self._keep(task, await self._context_of(request))
        except (MCPError, OpenAPIToolsError, OSError, ValueError) as error:
            logger.warning("a task is not kept, the client gets the handle of its work: %s", error)
            return result
        return {"resultType": "task", **task.facts()}

    async def get(self, request: ServerRequestContext[Any], params: _TaskParams) -> dict[str, Any]:
        """Return a task with its state; asks the API unless it was asked a moment ago."""
        task, context = await self._find(request, params)
        if task.status == "working" and time.time() - task.asked >= task.pause / 2:
            task = await self._ask(task, context)
            try:
                await self._keep(task, context)
            except OpenAPIToolsError as error:  # the next poll asks the API again
                logger.warning("the state of a task could not be kept: %s", error)
        result = {"result": task.result} if task.status == "completed" else {}
        return {**task.facts(), **result}

    async def update(
        self, request: ServerRequestContext[Any], params: _TaskParams
    ) -> dict[str, Any]:
        """Acknowledge answers; no task asks for any."""
        await self._find(request, params)
        return {}

    async def cancel(
        self, request: ServerRequestContext[Any], params: _TaskParams
    ) -> dict[str, Any]:
        """End a task; the API is not told, as nothing says how."""
        task, context = await self._find(request, params)
        if task.status == "working":
            message = "not watched any more; the work of the API may go on"
            try:
                await self._keep(replace(task, status="cancelled", message=message), context)
            except OpenAPIToolsError:
                raise MCPError(INTERNAL_ERROR, _AWAY) from None
        return {}

    async def _ask(self, task: _Task, context: Any) -> _Task:
        """Return a task as the API says that its work is."""
        offered = self._tools()
        known = {tool.name: tool for tool in getattr(offered, "called", offered)}
        if (tool := known.get(task.job.tool)) is None:
            return task
        own = PerCall(0, address=task.job.url, is_poll=True)
        result = await called(tool, {}, own, context)
        task = replace(task, asked=time.time())
        if (job := result.metadata.get("job")) is not None:
            with suppress(ValueError):  # it has no address: the one before is asked again
                task = replace(task, job=_JOB.validate_python(job))
            return replace(task, message=_progress(result))
        if (result.error or {}).get("retryable"):
            return replace(task, message=clean(str(result))[:500])
        answer = answer_of(result, []).model_dump(mode="json", by_alias=True, exclude_none=True)
        return replace(task, status="completed", message="the work has ended", result=answer)

    async def _find(
        self, request: ServerRequestContext[Any], params: _TaskParams
    ) -> tuple[_Task, Any]:
        """Return a task of the user of a request, and the context of their calls."""
        if not _declares(request):
            needed: Any = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            raise MCPError(_MISSING, "Missing required client capability", needed)
        context = await self._context_of(request)
        try:
            value = await self._state.get(_key_of(params.task_id, context))
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
            raise MCPError(INVALID_PARAMS, clean(error.reason)) from None
        return with_members(context, state=request, remote=is_remote(request))

    async def _keep(self, task: _Task, context: Any) -> None:
        record = dump_json_bytes(asdict(replace(task, updated=_now())))
        await self._state.put(_key_of(task.task_id, context), record, _SECONDS)


def _key_of(task_id: str, context: Any) -> str:
    # The user is part of the key: for others the task does not exist.
    return state_key("task", member_of(context, "user") or "", task_id)


def _declares(request: ServerRequestContext[Any]) -> bool:
    able: Any = request.session.client_capabilities
    extensions = getattr(able, "extensions", None) or {}
    return EXTENSION in extensions and request.protocol_version in MODERN_PROTOCOL_VERSIONS


def _progress(result: ToolResult) -> str:
    """Return words for work that goes on, with the share of it that the API tells."""
    output = result.output if isinstance(result.output, Mapping) else {}
    found = (value for name, value in output.items() if folded(str(name)) in _PROGRESS)
    share = next((value for value in found if isinstance(value, int | float)), None)
    return "the work goes on" if share is None else f"the work goes on: {share:g}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
