"""MCP over HTTP: run requests in their own task, in front of the package's session manager.

Spec: Model Context Protocol 2026-07-28 and 2025-11-25, basic/transports, streamable HTTP.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openapi_tools.contracts.mcp_exchange import HTTPExchange, fit_event
from openapi_tools.contracts.mcp_http_sessions import OPENED, HTTPSession, HTTPSessions
from openapi_tools.errors import require_extra

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

with require_extra("mcp"):
    import pydantic_core
    from mcp.server.connection import Connection
    from mcp.server.runner import ServerRunner
    from mcp.server.streamable_http import check_accept_headers
    from mcp.server.transport_security import (
        RequestBodyLimitMiddleware,
        TransportSecurityMiddleware,
    )
    from mcp.shared.inbound import (
        MCP_PROTOCOL_VERSION_HEADER,
        InboundLadderRejection,
        classify_inbound_request,
        find_duplicated_routing_header,
        validate_mcp_param_headers,
        x_mcp_header_map,
    )
    from mcp.types import DEFAULT_NEGOTIATED_VERSION, JSONRPCRequest
    from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
    from pydantic import ValidationError
    from starlette.requests import Request
    from starlette.responses import Response

_JSON = "application/json"
_LIFESPAN: dict[str, Any] = {}  # what the package's default lifespan yields


class RequestRunner:
    """ASGI app that runs most requests itself and responds with JSON once there is a result.

    The package starts tasks and an event stream for each request. It still handles requests that
    open, end or resume a session or a stream, and those that it refuses.

    Args:
        server: The MCP server.
        manager: Its session manager.
        has_streams: Whether a response may be an event stream; otherwise each is JSON.
    """

    def __init__(
        self, server: Server[Any], manager: StreamableHTTPSessionManager, *, has_streams: bool
    ) -> None:
        self._server, self._manager, self._has_streams = server, manager, has_streams
        self._package_app = manager.asgi_app
        self._security = TransportSecurityMiddleware(manager.security_settings)
        self._plain_schemas: dict[str, Any] = {}  # by tool; these take no arguments from headers
        self._sessions = HTTPSessions(self._package_app, manager.session_idle_timeout)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run a request, or pass it to the package."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._sessions.pass_request(scope, receive, send)
            return
        messages, body = await _read_body(receive, self._manager.max_request_body_size)
        if messages[-1]["type"] == "http.disconnect":
            return  # the package would log an exception
        if body is None or not await self._respond(Request(scope, receive), body, send):
            await self._sessions.pass_request(scope, _replay(messages, receive), send)

    async def _respond(self, request: Request, body: bytes, send: Send) -> bool:
        accepts_json, accepts_events = check_accept_headers(request)
        is_json = request.headers.get("content-type", "").partition(";")[0].strip() == _JSON
        if not accepts_json or not is_json:
            return False
        if await self._security.validate_request(request, is_post=True) is not None:
            return False
        version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
        has_stream = self._has_streams and accepts_events
        if version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return await self._respond_modern(request, body, send, has_stream=has_stream)
        if self._manager.stateless:
            return await self._respond_stateless(
                version, request, body, send, has_stream=has_stream
            )
        session = self._sessions.find_session(request.scope)
        if session is None or not await session.is_alive(request.scope):
            return False
        return await self._respond_in_session(session, request, body, send, has_stream=has_stream)

    async def _respond_modern(
        self, request: Request, body: bytes, send: Send, *, has_stream: bool
    ) -> bool:
        decoded = _decode(body, json.loads)
        message = _read_request(decoded)
        # A subscription is a stream from the start.
        if message is None or message.method == "subscriptions/listen":
            return False
        headers = request.headers.items()
        if find_duplicated_routing_header(headers) is not None:
            return False
        route = classify_inbound_request(decoded, headers=dict(headers))
        if isinstance(route, InboundLadderRejection) or self._has_wrong_headers(message, request):
            return False
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )
        exchange = HTTPExchange(request, message, send, session=None, has_stream=has_stream)
        await self._run_call(exchange, message, connection)
        return True

    async def _respond_stateless(
        self, version: str, request: Request, body: bytes, send: Send, *, has_stream: bool
    ) -> bool:
        message = _read_request(_decode(body, pydantic_core.from_json))
        if message is None:
            return False
        connection = Connection.from_envelope(version, None, None)
        exchange = HTTPExchange(request, message, send, session=None, has_stream=has_stream)
        await self._run_call(exchange, message, connection)
        return True

    async def _respond_in_session(
        self, session: HTTPSession, request: Request, body: bytes, send: Send, *, has_stream: bool
    ) -> bool:
        decoded = _decode(body, pydantic_core.from_json)
        message = _read_request(decoded)
        if message is None or message.method == "initialize":
            if not session.take_message(decoded):
                return False
            await Response(status_code=202)(request.scope, request.receive, send)
            return True
        exchange = HTTPExchange(request, message, send, session=session, has_stream=has_stream)
        with session.track_request(message.id, exchange.cancel):
            await self._run_call(exchange, message, session.connect(exchange))
        return True

    async def _run_call(
        self, exchange: HTTPExchange, message: JSONRPCRequest, connection: Connection
    ) -> None:
        runner = ServerRunner(self._server, connection, _LIFESPAN)
        call = runner.on_request(exchange, message.method, message.params)
        await exchange.respond(call, connection)

    def _has_wrong_headers(self, message: JSONRPCRequest, request: Request) -> bool:
        # Spec: 2026-07-28, basic/transports, custom headers from tool parameters.
        params: Mapping[str, Any] = message.params or {}
        name, arguments = params.get("name"), params.get("arguments")
        lookup = self._server.get_tool_input_schema
        if message.method != "tools/call" or lookup is None or not isinstance(name, str):
            return False
        schema = lookup(name)
        if schema is None or self._plain_schemas.get(name) is schema:
            return False
        if not x_mcp_header_map(schema):
            self._plain_schemas[name] = schema
            return False
        if not isinstance(arguments, dict | None):
            return False
        return validate_mcp_param_headers(schema, arguments or {}, request.headers) is not None


def install_request_runner(
    server: Server[Any], manager: StreamableHTTPSessionManager, *, has_streams: bool
) -> None:
    """Put a `RequestRunner` in front of a server's session manager."""
    if manager.event_store is not None and not manager.stateless:
        # Only the package can resume streams.
        fitted = _FittedEvents(manager.asgi_app)
        manager.asgi_app = RequestBodyLimitMiddleware(fitted, manager.max_request_body_size)
        return

    async def note_session(ctx: Any, call_next: Any) -> Any:
        if ctx.method == "initialize" and ctx.request is not None:
            ctx.request.scope[OPENED] = ctx.session
        return await call_next(ctx)

    server.middleware.append(note_session)
    # The package only calls it, so any ASGI app will do.
    manager.asgi_app = RequestRunner(server, manager, has_streams=has_streams)  # type: ignore[assignment]


class _FittedEvents:
    """ASGI middleware that shrinks events which the package's client would refuse."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_fitted(message: Message) -> None:
            if body := message.get("body"):
                message = {**message, "body": fit_event(body)}
            await send(message)

        await self._app(scope, receive, send_fitted)


async def _read_body(receive: Receive, most: int) -> tuple[list[Message], bytes | None]:
    # None if it is too large or ends early; the package reads it again and refuses it.
    messages, body = list[Any](), bytearray()
    while True:
        messages.append(message := await receive())
        body += message.get("body", b"")
        if message["type"] != "http.request" or len(body) > most:
            return messages, None
        if not message.get("more_body", False):
            return messages, bytes(body)


def _replay(messages: list[Message], receive: Receive) -> Receive:
    unread = iter(messages)

    async def receive_again() -> Message:
        return next(unread, None) or await receive()

    return receive_again


def _decode(body: bytes, parse: Any) -> Any:
    # None for what the package cannot parse either: it responds with its own error.
    try:
        return parse(body)
    except (ValueError, RecursionError):
        return None


def _read_request(decoded: Any) -> JSONRPCRequest | None:
    if not isinstance(decoded, dict) or "id" not in decoded:
        return None
    try:
        return JSONRPCRequest.model_validate(decoded, by_name=False)
    except ValidationError:
        return None
