"""The response to one MCP request over HTTP: JSON, or an event stream if other messages precede it.

Spec: Model Context Protocol 2026-07-28 and 2025-11-25, basic/transports, sending messages.
"""

from __future__ import annotations

import asyncio
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import require_extra

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from mcp.server.connection import Connection
    from mcp.shared.dispatcher import CallOptions
    from starlette.requests import Request
    from starlette.types import Message, Send

    from openapi_tools.contracts.mcp_http_sessions import HTTPSession

with require_extra("mcp"):
    import anyio
    from mcp import MCPError
    from mcp.server.runner import modern_error_data
    from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, REQUEST_CANCELLED
    from mcp.shared.exceptions import NoBackChannelError
    from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
    from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
    from mcp.shared.message import ServerMessageMetadata
    from mcp.shared.transport_context import TransportContext
    from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT, JSONRPCRequest
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS
    from pydantic_core import PydanticSerializationError, to_json

# Seconds until a task watches the client; most calls end earlier and need none.
_WATCH_AFTER = 0.1
# Seconds; proxies close connections that are silent for a minute or less.
_PING_INTERVAL = 15.0
_OK = 200
_CANCELLED = {"code": REQUEST_CANCELLED, "message": "Request cancelled"}
# The client of the package `mcp` accepts no larger event.
_LARGEST_EVENT = 1024 * 1024
_EVENT_HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
_JSON_HEADER = (b"content-type", b"application/json")
_SESSION_HEADER = MCP_SESSION_ID_HEADER.encode()


class HTTPExchange:
    """One request and its response, as the package's `DispatchContext`.

    Args:
        request: The HTTP request, whose body has been read.
        message: The JSON-RPC request in its body.
        send: The `send` of the ASGI app.
        session: The client's session, if a handshake has opened one.
        has_stream: Whether the response may be an event stream; otherwise only spaces, which keep
            the connection alive, may precede the result.
    """

    def __init__(
        self,
        request: Request,
        message: JSONRPCRequest,
        send: Send,
        *,
        session: HTTPSession | None,
        has_stream: bool,
    ) -> None:
        self.request_id = message.id
        self.progress_token = progress_token_from_params(message.params)
        self.session, self._has_stream = session, has_stream
        self._is_open = self._is_closed = self._is_client_gone = self._is_cancelled = False
        self.transport = TransportContext(
            kind="streamable-http", can_send_request=self.can_send_request, headers=request.headers
        )
        self.message_metadata = ServerMessageMetadata(
            request_context=request, can_send_request=self.can_send_request
        )
        self._request, self._send = request, send
        self._scope = anyio.CancelScope()
        self._lock = asyncio.Lock()  # messages must not interleave
        self._replies: set[asyncio.Future[dict[str, Any]]] = set()
        self._watch: asyncio.Task[None] | None = None

    @cached_property
    def cancel_requested(self) -> anyio.Event:
        """Whether the client has cancelled the request."""
        return anyio.Event()

    @property
    def can_send_request(self) -> bool:
        """Whether the client can be asked; it replies with another request of the session."""
        return self.session is not None and self._has_stream and not self._is_client_gone

    def cancel(self) -> None:
        """End the call, which the client has cancelled."""
        self._is_cancelled = True
        self.cancel_requested.set()
        self._scope.cancel()

    async def respond(self, call: Awaitable[dict[str, Any]], connection: Connection) -> None:
        """Await a call, and send its result or its error."""
        timer = asyncio.get_running_loop().call_later(_WATCH_AFTER, self._start_watch)
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self.request_id, "error": _CANCELLED}
        status = _OK
        try:
            with self._scope:
                try:
                    result = await call
                except Exception as error:  # noqa: BLE001 -- the package maps and logs any
                    fault = modern_error_data(error)
                    message["error"] = fault.model_dump(exclude_none=True)
                    if connection.protocol_version in MODERN_PROTOCOL_VERSIONS:
                        status = ERROR_CODE_HTTP_STATUS.get(fault.code, _OK)
                else:
                    message = {"jsonrpc": "2.0", "id": self.request_id, "result": result}
            if not self._scope.cancel_called or self._is_cancelled:
                await self._send_final(message, status)
        finally:
            self._is_closed = True
            timer.cancel()
            if self._watch is not None:
                self._watch.cancel()

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, _: CallOptions | None = None
    ) -> None:
        """Send a notification before the result; dropped if the response is no stream."""
        message = {"jsonrpc": "2.0", "method": method}
        await self._send_event(message if params is None else {**message, "params": dict(params)})

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress to a client that has asked for it."""
        if self.progress_token is None:
            return
        params = {
            "progressToken": self.progress_token,
            "progress": progress,
            "total": total,
            "message": message,
        }
        present = {name: value for name, value in params.items() if value is not None}
        await self.notify("notifications/progress", present)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, options: CallOptions | None = None
    ) -> dict[str, Any]:
        """Ask the client, on the stream of the response, and return its result.

        Raises:
            NoBackChannelError: The client cannot be asked.
            MCPError: The client replied with an error, or not in time.
        """
        if self.session is None or not self.can_send_request or self._is_closed:
            raise NoBackChannelError(method)
        with self.session.open_question() as (name, reply):
            request = {"jsonrpc": "2.0", "id": name, "method": method}
            await self._send_event({**request, "params": dict(params)} if params else request)
            self._replies.add(reply)
            try:
                async with asyncio.timeout((options or {}).get("timeout")):
                    return await reply
            except TimeoutError:
                await self._withdraw_question(name)
                raise MCPError(REQUEST_TIMEOUT, f"Request {method!r} timed out") from None
            except asyncio.CancelledError:
                with anyio.CancelScope(shield=True):
                    await self._withdraw_question(name)
                raise
            finally:
                self._replies.discard(reply)

    async def _withdraw_question(self, name: str) -> None:
        await self.notify("notifications/cancelled", {"requestId": name})

    def _start_watch(self) -> None:
        self._watch = asyncio.ensure_future(self._watch_client())

    async def _watch_client(self) -> None:
        # Pings keep the connection alive until the client disconnects.
        while True:
            try:
                async with asyncio.timeout(_PING_INTERVAL):
                    while (await self._request.receive())["type"] != "http.disconnect":
                        pass
            except TimeoutError:
                await self._send_part(b": ping\r\n\r\n" if self._has_stream else b" ")
                continue
            self._end_with_client()
            return

    def _end_with_client(self) -> None:
        # 2025-11-25, sending messages: in a session, disconnecting does not cancel a request. But
        # its replies have nowhere to arrive, so open questions fail.
        self._is_client_gone = True
        if self.session is None:
            self._scope.cancel()
        for reply in self._replies:
            if not reply.done():
                reply.set_exception(MCPError(CONNECTION_CLOSED, "Connection closed"))

    async def _send_event(self, message: dict[str, Any]) -> None:
        if self._has_stream:
            await self._send_part(_make_event(dump_message(message)))

    async def _send_part(self, body: bytes) -> None:
        async with self._lock:
            if self._is_closed:  # a guardrail's task may notify after the result
                return
            if not self._is_open:
                self._is_open = True
                headers = _EVENT_HEADERS if self._has_stream else (_JSON_HEADER, _EVENT_HEADERS[2])
                await self._send(self._make_start(_OK, *headers))
            await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def _send_final(self, message: dict[str, Any], status: int) -> None:
        body = dump_message(message)
        async with self._lock:
            self._is_closed = True
            if not self._is_open:
                length = (b"content-length", b"%d" % len(body))
                await self._send(self._make_start(status, _JSON_HEADER, length))
            elif self._has_stream:
                body = fit_event(_make_event(body))
            await self._send({"type": "http.response.body", "body": body})

    def _make_start(self, status: int, *headers: tuple[bytes, bytes]) -> Message:
        session = [] if self.session is None else [(_SESSION_HEADER, self.session.name)]
        return {
            "type": "http.response.start",
            "status": status,
            "headers": [*headers, *session],
        }


def dump_message(message: dict[str, Any]) -> bytes:
    """Return a message as one line of JSON."""
    try:
        return to_json(message, inf_nan_mode="null")
    except PydanticSerializationError:  # a lone surrogate, which no encoding can write
        return json.dumps(message, separators=(",", ":")).encode()


def _make_event(data: bytes) -> bytes:
    return b"event: message\r\ndata: " + data + b"\r\n\r\n"


def fit_event(event: bytes) -> bytes:
    """Return an event, without the result's `structuredContent` if it would be too large.

    The text of the result repeats it; without it, the package's client may accept the event.
    """
    head, name, data = event.partition(b"data: ")
    if len(event) <= _LARGEST_EVENT or not data.startswith(b'{"jsonrpc"'):
        return event
    try:
        message = json.loads(data)
        message["result"].pop("structuredContent", None)
        small = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    except (KeyError, ValueError, RecursionError):
        return event
    fitted = head + name + small + b"\r\n\r\n"
    return fitted if len(fitted) <= _LARGEST_EVENT else event
