"""Sessions that clients of MCP versions before 2026-07-28 open over HTTP with a handshake."""

from __future__ import annotations

import asyncio
import json
import math
import time
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import require_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp.server.session import ServerSession
    from mcp.shared.dispatcher import Outbound
    from mcp.types import RequestId
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

with require_extra("mcp"):
    from mcp import MCPError
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, authorization_context
    from mcp.server.connection import Connection
    from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
    from mcp.shared.dispatcher import coerce_request_id
    from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
    from mcp.types import ErrorData
    from pydantic import ValidationError

OPENED = "openapi_tools.mcp_session"
"""The key, in a request's scope, of the package's session that the request has opened."""

_SESSION_ID = MCP_SESSION_ID_HEADER.encode()
_FIRST_REDIRECT = 300
_CHECK_INTERVAL = 60.0  # seconds for which a session is assumed to exist
# Any notification will do; it has no handler.
_USED_NOTIFICATION = json.dumps(
    {"jsonrpc": "2.0", "method": "notifications/openapi-tools/used"}
).encode()


class HTTPSession:
    """A session of the package whose requests run outside it.

    Attributes:
        name: The value of `Mcp-Session-Id`.
        owner: The user who opened it, or None; nobody else can use it.
        checked_at: Monotonic time when the package last confirmed that it exists.
    """

    def __init__(
        self, name: bytes, peer: ServerSession, owner: Any, app: ASGIApp, interval: float
    ) -> None:
        self.name, self.owner = name, owner
        self.checked_at = time.monotonic()
        self._peer, self._app, self._interval = peer, app, interval
        self._running: dict[RequestId, Callable[[], object]] = {}
        self._replies: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = count(1)

    def connect(self, outbound: Outbound) -> Connection:
        """Return the connection of one request; `outbound` carries what is sent to the client.

        It has the session's own object of client parameters, whose identity names the client.
        """
        return Connection(
            outbound,
            protocol_version=self._peer.protocol_version,
            session_id=self.name.decode(),
            client_params=self._peer.client_params,
        )

    async def is_alive(self, scope: Scope) -> bool:
        """Return whether the session still exists for the user of a request.

        The package ends idle sessions, so a notification marks it as used from time to time.
        """
        if time.monotonic() - self.checked_at < self._interval:
            return True
        self.checked_at = time.monotonic()
        statuses: list[int] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": _USED_NOTIFICATION, "more_body": False}

        async def send(message: Message) -> None:
            statuses.append(message.get("status", 0))

        headers = [pair for pair in scope["headers"] if pair[0] != b"content-length"]
        await self._app({**scope, "headers": headers}, receive, send)
        if statuses[0] >= _FIRST_REDIRECT:
            self.checked_at = -math.inf  # so that the next request checks again
        return statuses[0] < _FIRST_REDIRECT

    def take_message(self, message: Any) -> bool:
        """Take a reply to a question of the server, or cancel a request.

        Returns:
            Whether the message was a reply; the package gets any other, too.
        """
        if not isinstance(message, dict):
            return False
        if message.get("method") == "notifications/cancelled":
            params = message.get("params")
            number = cancelled_request_id_from_params(params if isinstance(params, dict) else None)
            cancel = None if number is None else self._running.get(coerce_request_id(number))
            if cancel is not None:
                cancel()
        reply = self._replies.get(str(message.get("id")))
        if "method" in message or reply is None or reply.done():
            return False
        if isinstance(result := message.get("result"), dict):
            reply.set_result(result)
        else:
            reply.set_exception(_read_error(message.get("error")))
        return True

    @contextmanager
    def track_request(self, number: RequestId, cancel: Callable[[], object]) -> Iterator[None]:
        """Let the client cancel a request while the body runs."""
        key = coerce_request_id(number)
        self._running[key] = cancel
        try:
            yield
        finally:
            if self._running.get(key) is cancel:  # a client may use an id twice
                del self._running[key]

    @contextmanager
    def open_question(self) -> Iterator[tuple[str, asyncio.Future[dict[str, Any]]]]:
        """Yield the id of a request to the client, and its future reply."""
        # Not a number, as the package's own requests have numbers.
        name = f"openapi-tools-{next(self._numbers)}"
        self._replies[name] = asyncio.get_running_loop().create_future()
        try:
            yield name, self._replies[name]
        finally:
            self._replies.pop(name).cancel()

    def close(self) -> None:
        """Cancel the requests in progress."""
        for cancel in list(self._running.values()):
            cancel()


class HTTPSessions:
    """The open sessions.

    Args:
        app: The package's app, which opens and ends them.
        idle_seconds: When it ends an idle one; None if it does not.
    """

    def __init__(self, app: ASGIApp, idle_seconds: float | None) -> None:
        self._app, self._idle_seconds = app, idle_seconds
        quarter = math.inf if idle_seconds is None else idle_seconds / 4
        self._interval = min(_CHECK_INTERVAL, quarter)
        self._sessions: dict[bytes, HTTPSession] = {}

    def find_session(self, scope: Scope) -> HTTPSession | None:
        """Return the session of a request, if its user owns it."""
        session = self._sessions.get(_session_name(scope))
        return session if session is not None and session.owner == _owner_of(scope) else None

    async def pass_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the package, and note the session that it opens or ends."""

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < _FIRST_REDIRECT:
                self._note_response(scope, message)
            await send(message)

        await self._app(scope, receive, note)

    def _note_response(self, scope: Scope, message: Message) -> None:
        if scope["method"] == "DELETE":
            if (ended := self._sessions.pop(_session_name(scope), None)) is not None:
                ended.close()
            return
        peer = scope.get(OPENED)
        for name in (value for key, value in message["headers"] if key.lower() == _SESSION_ID):
            if peer is not None and name not in self._sessions:
                self._forget_expired()
                self._sessions[name] = HTTPSession(
                    name, peer, _owner_of(scope), self._app, self._interval
                )

    def _forget_expired(self) -> None:
        # The package has ended sessions that were idle for longer.
        if self._idle_seconds is not None:
            oldest = time.monotonic() - self._idle_seconds - self._interval
            for name in [n for n, each in self._sessions.items() if each.checked_at < oldest]:
                del self._sessions[name]


def _session_name(scope: Scope) -> bytes:
    return next((value for name, value in scope["headers"] if name == _SESSION_ID), b"")


def _owner_of(scope: Scope) -> Any:
    user = scope.get("user")
    return authorization_context(user) if isinstance(user, AuthenticatedUser) else None


def _read_error(error: Any) -> MCPError:
    with suppress(ValidationError):
        return MCPError.from_error_data(ErrorData.model_validate(error))
    return MCPError(0, "the client has sent neither a result nor an error")
