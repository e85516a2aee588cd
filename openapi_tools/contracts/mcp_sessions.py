"""Shares the sessions of an MCP server fairly among its users."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import require_extra
from openapi_tools.state.shared_state import FairShares

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

with require_extra("mcp"):
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, authorization_context
    from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
    from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
    from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
    from starlette.routing import Route

_SESSION, _VERSION = MCP_SESSION_ID_HEADER.encode(), MCP_PROTOCOL_VERSION_HEADER.encode()
_WITH_SESSIONS = frozenset(version.encode() for version in HANDSHAKE_PROTOCOL_VERSIONS)
# A request without a version may open a session, too.
_DEFAULT_VERSION = next(iter(_WITH_SESSIONS))
_STORED_HEADERS = frozenset({b"host", b"origin"})  # the transport compares them
_END_OF_SUCCESS = 300  # statuses of success are below it


def share_sessions(app: Starlette, manager: StreamableHTTPSessionManager, path: str) -> None:
    """Wrap the route of a session manager in `SessionShares`, inside all authentication."""
    if manager.stateless or manager.max_sessions is None:
        return
    for route in app.routes:
        if isinstance(route, Route) and route.path == path:
            route.app = SessionShares(
                route.app,
                end=manager.handle_request,
                most=manager.max_sessions,
                idle=manager.session_idle_timeout,
            )


@dataclass(slots=True)
class _OpenSession:
    scope: dict[str, Any]  # of the request that opened it, for the one that ends it
    last_used: float
    requests: int = 0  # in progress


class SessionShares:
    """ASGI middleware that ends a session if a user opens one too many.

    It ends the oldest session of the user with the most. The package `mcp` by itself counts the
    sessions of all users together and refuses a new one, as it still does for anonymous callers.

    Args:
        app: The app around the package's session manager.
        end: Handles the DELETE of a session: the session manager itself, inside all authentication.
        most: The most open sessions.
        idle: Seconds after which the session manager ends an idle session.
    """

    def __init__(self, app: ASGIApp, *, end: ASGIApp, most: int, idle: float | None) -> None:
        self._app, self._end, self._idle = app, end, idle
        self._shares = FairShares(most)
        self._sessions: dict[bytes, _OpenSession] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app, and track the sessions that it opens and ends."""
        headers, owner = dict(scope["headers"]), principal_of(scope)
        if owner is None:
            await self._app(scope, receive, send)
        elif (name := headers.get(_SESSION)) is not None:
            await self._use_session(name, scope, receive, send)
        elif (
            scope["method"] == "POST" and headers.get(_VERSION, _DEFAULT_VERSION) in _WITH_SESSIONS
        ):
            await self._open_session(owner, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _open_session(self, owner: Any, scope: Scope, receive: Receive, send: Send) -> None:
        # The slot is reserved before the app runs, as the request may open a session.
        reservation = object()
        self._forget_expired()
        for evicted in self._shares.add(reservation, owner):
            await self._close_session(evicted)

        async def track_start(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < _END_OF_SUCCESS:
                for name in (value for key, value in message["headers"] if key.lower() == _SESSION):
                    headers = [pair for pair in scope["headers"] if pair[0] in _STORED_HEADERS]
                    self._sessions[name] = _OpenSession(
                        {**scope, "headers": headers}, time.monotonic()
                    )
                    self._shares.remove(reservation)
                    self._shares.add(name, owner)
            await send(message)

        try:
            await self._app(scope, receive, track_start)
        finally:
            self._shares.remove(reservation)

    async def _use_session(self, name: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        session = self._sessions.get(name)
        if session is not None:
            session.requests += 1

        async def track_end(message: Message) -> None:
            is_ended = (
                message["type"] == "http.response.start" and message["status"] < _END_OF_SUCCESS
            )
            if is_ended and scope["method"] == "DELETE":
                self._forget(name)
            await send(message)

        try:
            await self._app(scope, receive, track_end)
        finally:
            if session is not None:
                session.requests -= 1
                session.last_used = time.monotonic()

    async def _close_session(self, name: Any) -> None:
        session = self._sessions.pop(name, None)
        if session is None:  # a request that opens one still runs
            return
        headers = [*session.scope["headers"], (_SESSION, name)]
        scope = {**session.scope, "method": "DELETE", "headers": headers}
        await self._end(scope, _receive_nothing, _send_nowhere)

    def _forget_expired(self) -> None:
        # The manager has ended those that were idle for too long.
        now = time.monotonic()
        for name, session in list(self._sessions.items() if self._idle is not None else ()):
            if not session.requests and now - session.last_used > (self._idle or 0):
                self._forget(name)

    def _forget(self, name: bytes) -> None:
        self._sessions.pop(name, None)
        self._shares.remove(name)


async def _receive_nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _send_nowhere(_: Message) -> None:
    pass


def principal_of(scope: Mapping[str, Any]) -> tuple[str | None, str] | None:
    """Return the issuer and the subject of an HTTP request's token; None without a user.

    The client identifies the caller only if the token has no subject: a user may have many clients.
    """
    user = scope.get("user")
    if not isinstance(user, AuthenticatedUser):
        return None
    claims = authorization_context(user)
    return claims["issuer"], claims["subject"] or claims["client_id"]
