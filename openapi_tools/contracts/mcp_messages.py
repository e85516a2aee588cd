"""Messages of an MCP server: tools, results and HTTP bodies that every client takes, and tasks."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from openapi_tools.contracts import blocks_of
from openapi_tools.errors import requiring
from openapi_tools.http_rules import folded
from openapi_tools.options import member_of, with_members
from openapi_tools.providers.definitions import shown
from openapi_tools.result import context_for
from openapi_tools.shared_state import MemoryState
from openapi_tools.tools.session import PerCall
from openapi_tools.tools.tool import called
from openapi_tools.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp.server.context import ServerRequestContext
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool

    _Answer = dict[str, Any]

with requiring("mcp"):
    import anyio
    from mcp import MCPError, types
    from mcp.types import INVALID_PARAMS
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS

_LONGEST_NAME, _LONGEST_TITLE = 100, 60
_LARGEST = 1024 * 1024
JOB = "openapi-tools/job"
"""The member of `_meta` with the handle of work that goes on."""
EXTENSION = "io.modelcontextprotocol/tasks"
_MISSING = -32021  # a client calls without having declared the extension
_SECONDS = 86_400.0  # a task is kept
_PAUSE = 5.0  # seconds between polls, unless the API names them
_PROGRESS = frozenset({"progress", "percent", "percentage", "percentcomplete", "percentdone"})
_TASK_FACTS = ("taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttlMs")
_ANSWER = re.compile(
    rb"(?:(?:id|event): [^\r\n]*\r\n)*data: "
    rb'(\{"jsonrpc":"2\.0","id":(?:-?\d+|"[^"\\]*(?:\\.[^"\\]*)*"),"(?:result|error)":[^\r\n]*)'
    rb"\r\n\r\n"
)


def described(tool: OperationTool) -> dict[str, Any]:
    """Return a tool as the protocol's `Tool`."""
    description, schema = shown(tool, "mcp", beside=_LONGEST_TITLE + len('"title": "", '))
    described: dict[str, Any] = {
        "name": tool.name,
        "description": clean(description),
        "inputSchema": _sendable(schema),
        "annotations": dict(tool.annotations),
    }
    title = described["description"].partition("\n")[0].strip().removesuffix(".")
    if len(title) <= _LONGEST_TITLE:
        described["title"] = title
    return described


def answer_of(result: ToolResult, links: list[dict[str, Any]]) -> types.CallToolResult:
    """Return a result as the protocol's `CallToolResult`."""
    contents: list[dict[str, Any]] = blocks_of(
        result,
        lambda text: {"type": "text", "text": clean(text)},
        lambda data, kind: {"type": "image", "data": data, "mimeType": kind},
    )
    answer: dict[str, Any] = {"content": [*contents, *links], "isError": result.is_error}
    has_images = any(content["type"] == "image" for content in contents)
    # Versions before 2026-07-28 take nothing but an object here; an image would be sent twice.
    if result.success and isinstance(result.output, dict) and not has_images:
        answer["structuredContent"] = result.output
    if job := result.metadata.get("job"):
        answer["_meta"] = {JOB: job}
    return types.CallToolResult.model_validate(answer)


def is_remote(request: ServerRequestContext[Any]) -> bool:
    """Tell whether a request came over HTTP: its client may be on another machine."""
    return request.request is not None


def _sendable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that can be sent: a lone surrogate in it would end the whole connection."""
    text = json.dumps(schema, ensure_ascii=False)
    cleaned: dict[str, Any] = schema if (sent := clean(text)) == text else json.loads(sent)
    return cleaned


def clean(text: str) -> str:
    """Return a text without lone surrogates, which no encoding can write."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def info_of(document: Any, key: str) -> str:
    """Return a text member of the document's `info`; empty if missing or not a text."""
    info = document.get("info") if isinstance(document, Mapping) else None
    text = info.get(key) if isinstance(info, Mapping) else None
    return " ".join(visible(clean(text)).split())[:_LONGEST_NAME] if isinstance(text, str) else ""


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


async def logged_in(result: ToolResult, request: Any, desk: Any, wait: Any) -> bool:
    """Show the client's user where to log in for a call; tell whether `wait` says that it is done.

    Spec: Model Context Protocol 2026-07-28 and 2025-11-25, client/elicitation, on addresses.
    """
    login = (result.error or {}).get("login")
    able = getattr(request.session.client_capabilities, "elicitation", None)
    if not login or wait is None or getattr(able, "url", None) is None:
        return False  # the result names the page
    told = {"message": "This call needs a login of yours.", "url": login["url"]}
    key, answer = f"login-{login['id']}", None
    if request.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answer = desk.answers.pop(key, None)
        if answer is None:
            desk.asked[key] = {"method": "elicitation/create", "params": {"mode": "url", **told}}
    elif request.session.can_send_request:
        given = {**told, "elicitation_id": login["id"], "related_request_id": request.request_id}
        with suppress(MCPError):
            answer = await request.session.elicit_url(**given)
    return getattr(answer, "action", None) == "accept" and bool(await wait(login["id"]))


class _TaskParams(types.RequestParams):
    task_id: str


def add_tasks(
    server: Any, tools: Callable[[], Iterable[OperationTool]], context: Any = None
) -> None:
    """Let a server of `create_server`, which offers these tools now, answer long work with tasks.

    A call whose work goes on (202, an operation's address) is answered with a task if the client
    declares the extension; others get the handle. Each `tasks/get` asks the API once, no more often
    than it wants. Tasks are kept in the shared state, so that any worker answers; without one, in
    this process.

    Spec: io.modelcontextprotocol/tasks (SEP-2663), for Model Context Protocol 2026-07-28.
    """
    tasks = _Tasks(server, tools, context)
    server.extensions[EXTENSION] = {}
    server.add_request_handler("tools/call", types.CallToolRequestParams, tasks.call)
    for name in ("get", "update", "cancel"):
        server.add_request_handler(f"tasks/{name}", _TaskParams, getattr(tasks, name))


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
        user = member_of(await self._context_of(request), "user") or ""
        task: dict[str, Any] = {"taskId": secrets.token_urlsafe(24), "status": "working"}
        task |= {"createdAt": _now(), "ttlMs": int(_SECONDS * 1000)}
        await self._keep(task, job=job, user=user, asked=time.time())
        return {"resultType": "task", **_task_facts(task)}

    async def get(self, request: ServerRequestContext[Any], params: _TaskParams) -> _Answer:
        """Return a task with its state; asks the API unless it was asked a moment ago."""
        task, context = await self._found(request, params)
        if task["status"] == "working" and time.time() - task["asked"] >= _pause(task) / 2:
            await self._ask(task, context)
        result = {"result": task["result"]} if task["status"] == "completed" else {}
        return {**_task_facts(task), **result}

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
            raise MCPError(INVALID_PARAMS, "no such task; a task is kept for a day.")
        return task, context

    async def _context_of(self, request: ServerRequestContext[Any]) -> Any:
        context = await context_for(self._context, request)
        return with_members(context, state=request, remote=is_remote(request))

    async def _keep(self, task: _Answer, **changed: Any) -> None:
        task |= {**changed, "lastUpdatedAt": _now()}
        await self._state.put(f"task:{task['taskId']}", json.dumps(task).encode(), _SECONDS)


def _declares(request: ServerRequestContext[Any]) -> bool:
    able: Any = request.session.client_capabilities
    extensions = getattr(able, "extensions", None) or {}
    return EXTENSION in extensions and request.protocol_version in MODERN_PROTOCOL_VERSIONS


def _pause(task: Mapping[str, Any]) -> float:
    return float(task["job"].get("retry_after") or _PAUSE)


def _task_facts(task: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: task[name] for name in _TASK_FACTS if name in task}
    return {**known, "pollIntervalMs": max(int(_pause(task) * 1000), 1)}


def _progress(result: ToolResult) -> str:
    """Return words for work that goes on, with the share of it that the API tells."""
    output = result.output if isinstance(result.output, Mapping) else {}
    found = (value for name, value in output.items() if folded(str(name)) in _PROGRESS)
    share = next((value for value in found if isinstance(value, int | float)), None)
    return "the work goes on" if share is None else f"the work goes on: {share:g}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
