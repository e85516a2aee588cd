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
"""The key in a request's scope of the package's session that the request has opened."""

_NAME = MCP_SESSION_ID_HEADER.encode()
_END_OF_SUCCESS = 300  # statuses of success are below it
_CHECKED = 60.0  # seconds for which a session is known to exist
# Any notification will do; it has no handler.
_USED = json.dumps({"jsonrpc": "2.0", "method": "notifications/openapi-tools/used"}).encode()


class HTTPSession:
    """A session of the package whose requests run outside it.

    Attributes:
        name: The value of `Mcp-Session-Id`.
        owner: The user who has opened it, or None; nobody else can use it.
        used: When the package was last told that it is used, in monotonic time.
    """

    def __init__(
        self, name: bytes, peer: ServerSession, owner: Any, app: ASGIApp, interval: float
    ) -> None:
        self.name, self.owner = name, owner
        self.used = time.monotonic()
        self._peer, self._app, self._interval = peer, app, interval
        self._running: dict[RequestId, Callable[[], object]] = {}
        self._replies: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = count(1)

    def connect(self, outbound: Outbound) -> Connection:
        """Return the connection of one request, which carries all that is sent to the client.

        The object with the client's parameters is that of the session, by which it is known.
        """
        return Connection(
            outbound,
            protocol_version=self._peer.protocol_version,
            session_id=self.name.decode(),
            client_params=self._peer.client_params,
        )

    async def is_alive(self, scope: Scope) -> bool:
        """Return whether the session still exists, for the user of a request.

        From time to time the package, which ends idle sessions, is told that it is used.
        """
        if time.monotonic() - self.used < self._interval:
            return True
        self.used = time.monotonic()
        statuses: list[int] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": _USED, "more_body": False}

        async def send(message: Message) -> None:
            statuses.append(message.get("status", 0))

        headers = [pair for pair in scope["headers"] if pair[0] != b"content-length"]
        await self._app({**scope, "headers": headers}, receive, send)
        if statuses[0] >= _END_OF_SUCCESS:
            self.used = -math.inf  # so that the next request is not taken for one of this session
        return statuses[0] < _END_OF_SUCCESS

    def take_message(self, message: Any) -> bool:
        """Take the reply to a question of the server; also note that a request is cancelled.

        Returns:
            Whether the message was a reply.
        """
        if not isinstance(message, dict):
            return False
        if message.get("method") == "notifications/cancelled":
            params = message.get("params")
            number = cancelled_request_id_from_params(params if isinstance(params, dict) else None)
            if number is not None:
                self._running.get(coerce_request_id(number), _ignore)()
        reply = self._replies.get(str(message.get("id")))
        if "method" in message or reply is None or reply.done():
            return False
        if isinstance(result := message.get("result"), dict):
            reply.set_result(result)
        else:
            reply.set_exception(_read_error(message.get("error")))
        return True

    @contextmanager
    def hold_request(self, number: RequestId, cancel: Callable[[], object]) -> Iterator[None]:
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
        # Not a number: those are the package's.
        name = f"openapi-tools-{next(self._numbers)}"
        self._replies[name] = asyncio.get_running_loop().create_future()
        try:
            yield name, self._replies[name]
        finally:
            self._replies.pop(name).cancel()

    def close(self) -> None:
        """End the requests in progress."""
        for cancel in [*self._running.values()]:
            cancel()


class HTTPSessions:
    """The open sessions.

    Args:
        app: The package's app, which opens and ends them.
        idle: Seconds after which it ends an idle one.
    """

    def __init__(self, app: ASGIApp, idle: float | None) -> None:
        self._app, self._idle = app, idle
        self._interval = min(_CHECKED, (idle or _CHECKED * 4) / 4)
        self._sessions: dict[bytes, HTTPSession] = {}

    def find_session(self, scope: Scope) -> HTTPSession | None:
        """Return the session of a request, if it is its user's."""
        session = self._sessions.get(_session_name(scope))
        return session if session is not None and session.owner == _owner_of(scope) else None

    async def pass_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Leave a request to the package, and note the session that it opens or ends."""

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < _END_OF_SUCCESS:
                self._note_response(scope, message)
            await send(message)

        await self._app(scope, receive, note)

    def _note_response(self, scope: Scope, message: Message) -> None:
        if scope["method"] == "DELETE":
            if (ended := self._sessions.pop(_session_name(scope), None)) is not None:
                ended.close()
            return
        peer = scope.get(OPENED)
        for name in (value for key, value in message["headers"] if key.lower() == _NAME):
            if peer is not None and name not in self._sessions:
                self._forget_expired()
                self._sessions[name] = HTTPSession(
                    name, peer, _owner_of(scope), self._app, self._interval
                )

    def _forget_expired(self) -> None:
        # The package has ended those that were idle for too long.
        if self._idle is not None:
            oldest = time.monotonic() - self._idle - self._interval
            for name in [n for n, each in self._sessions.items() if each.used < oldest]:
                del self._sessions[name]


def _session_name(scope: Scope) -> bytes:
    return next((value for name, value in scope["headers"] if name == _NAME), b"")


def _owner_of(scope: Scope) -> Any:
    user = scope.get("user")
    return authorization_context(user) if isinstance(user, AuthenticatedUser) else None


def _ignore() -> None:
    pass


def _read_error(error: Any) -> MCPError:
    with suppress(ValidationError):
        return MCPError.from_error_data(ErrorData.model_validate(error))
    return MCPError(0, "the client has sent neither a result nor an error")
