"""Long work as tasks of MCP, for clients that declare the extension; others get the handle.

A call whose work goes on (202, an operation's address) is answered with a task. Each `tasks/get`
asks the API once, no more often than it wants. Tasks are kept in the shared state, so that any
worker answers; without one, in this process.

Spec: io.modelcontextprotocol/tasks (SEP-2663), for Model Context Protocol 2026-07-28.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openapi_tools.contracts.mcp_messages import JOB, answer_of, clean
from openapi_tools.errors import requiring
from openapi_tools.http_rules import folded
from openapi_tools.options import member_of, with_members
from openapi_tools.result import context_for
from openapi_tools.serving.server_records import stamp
from openapi_tools.shared_state import MemoryState
from openapi_tools.tools.session import PerCall
from openapi_tools.tools.tool import called

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp.server.context import ServerRequestContext

    from openapi_tools.contracts.mcp import ToolsServer
    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool

    _Answer = dict[str, Any]

with requiring("mcp"):
    from mcp import MCPError, types
    from mcp.types import INVALID_PARAMS
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS

EXTENSION = "io.modelcontextprotocol/tasks"
_MISSING = -32021  # a client calls without having declared the extension
_SECONDS = 86_400.0  # a task is kept
_PAUSE = 5.0  # seconds between polls, unless the API names them
_PROGRESS = frozenset({"progress", "percent", "percentage", "percentcomplete", "percentdone"})
_SHOWN = ("taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttlMs")


class _TaskParams(types.RequestParams):
    task_id: str


def add_tasks(
    server: ToolsServer, tools: Callable[[], Iterable[OperationTool]], context: Any = None
) -> None:
    """Let a server, which offers these tools now, answer calls whose work goes on with tasks."""
    tasks = _Tasks(server, tools, context)
    server.extensions[EXTENSION] = {}
    server.add_request_handler("tools/call", types.CallToolRequestParams, tasks.call)
    for name in ("get", "update", "cancel"):
        server.add_request_handler(f"tasks/{name}", _TaskParams, getattr(tasks, name))


class _Tasks:
    def __init__(self, server: ToolsServer, tools: Callable[[], Any], context: Any) -> None:
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
        user = member_of(await self._context_of(request), "user") or ""
        task: dict[str, Any] = {"taskId": secrets.token_urlsafe(24), "status": "working"}
        task |= {"createdAt": stamp("seconds"), "ttlMs": int(_SECONDS * 1000)}
        await self._keep(task, job=job, user=user, asked=time.time())
        return {"resultType": "task", **_shown(task)}

    async def get(self, request: ServerRequestContext[Any], params: _TaskParams) -> _Answer:
        """Return a task with its state; asks the API unless it was asked a moment ago."""
        task, context = await self._found(request, params)
        if task["status"] == "working" and time.time() - task["asked"] >= _pause(task) / 2:
            await self._ask(task, context)
        result = {"result": task["result"]} if task["status"] == "completed" else {}
        return {**_shown(task), **result}

    async def update(self, request: ServerRequestContext[Any], params: _TaskParams) -> _Answer:
        """Acknowledge answers; no task asks for any."""
        await self._found(request, params)
        return {}

    async def cancel(self, request: ServerRequestContext[Any], params: _TaskParams) -> _Answer:
        """End a task; the API is not told, as nothing says how."""
        task, _ = await self._found(request, params)
        if task["status"] == "working":
            told = "not watched any more; the work of the API may go on"
            await self._keep(task, status="cancelled", statusMessage=told)
        return {}

    async def _ask(self, task: _Answer, context: Any) -> None:
        """Ask the API for the state of a task's work, and note it."""
        offered = self._tools()
        known = {tool.name: tool for tool in getattr(offered, "called", offered)}
        if (tool := known.get(task["job"]["tool"])) is None:
            return
        own = PerCall(0, address=task["job"]["url"], is_poll=True)
        result = await called(tool, {}, own, context)
        if (job := result.metadata.get("job")) is not None:
            changed = {"job": job, "statusMessage": _progress(result)}
        elif (result.error or {}).get("retryable"):
            changed = {"statusMessage": clean(str(result))[:500]}
        else:
            changed = {"status": "completed", "statusMessage": "the work has ended"}
            answer = answer_of(result, [])
            changed["result"] = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        await self._keep(task, asked=time.time(), **changed)

    async def _found(
        self, request: ServerRequestContext[Any], params: _TaskParams
    ) -> tuple[_Answer, Any]:
        """Return a task of the user of a request, and the context of their calls."""
        if not _declares(request):
            needed: Any = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            raise MCPError(_MISSING, "Missing required client capability", needed)
        context = await self._context_of(request)
        kept = await self._state.get(f"task:{params.task_id}")
        task = json.loads(kept) if kept is not None else {}
        if task.get("user") != (member_of(context, "user") or ""):
            raise MCPError(INVALID_PARAMS, "there is no such task, or it was kept long enough.")
        return task, context

    async def _context_of(self, request: ServerRequestContext[Any]) -> Any:
        return with_members(await context_for(self._context, request), state=request)

    async def _keep(self, task: _Answer, **changed: Any) -> None:
        task |= {**changed, "lastUpdatedAt": stamp("seconds")}
        await self._state.put(f"task:{task['taskId']}", json.dumps(task).encode(), _SECONDS)


def _declares(request: ServerRequestContext[Any]) -> bool:
    able: Any = request.session.client_capabilities
    extensions = getattr(able, "extensions", None) or {}
    return EXTENSION in extensions and request.protocol_version in MODERN_PROTOCOL_VERSIONS


def _pause(task: Mapping[str, Any]) -> float:
    return float(task["job"].get("retry_after") or _PAUSE)


def _shown(task: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: task[name] for name in _SHOWN if name in task}
    return {**known, "pollIntervalMs": max(int(_pause(task) * 1000), 1)}


def _progress(result: ToolResult) -> str:
    """Return words for work that goes on, with the share of it that the API tells."""
    output = result.output if isinstance(result.output, Mapping) else {}
    found = (value for name, value in output.items() if folded(str(name)) in _PROGRESS)
    share = next((value for value in found if isinstance(value, int | float)), None)
    return "the work goes on" if share is None else f"the work goes on: {share:g}"
