"""Places of an MCP server that no user fills for all: sessions, and questions that are open."""

from __future__ import annotations

import time
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import requiring
from openapi_tools.shared_state import FairShares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcp.server.context import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

with requiring("mcp"):
    import anyio
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, authorization_context
    from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
    from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
    from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
    from starlette.routing import Route

_SESSION, _VERSION = MCP_SESSION_ID_HEADER.encode(), MCP_PROTOCOL_VERSION_HEADER.encode()
_WITH_SESSIONS = frozenset(version.encode() for version in HANDSHAKE_PROTOCOL_VERSIONS)
_FIRST = next(iter(_WITH_SESSIONS))  # a request without a version may open a session, too
_KEPT_HEADERS = frozenset({b"host", b"origin"})  # the transport compares them
_QUESTIONS = 16  # of one user
_GOOD = 300  # statuses below it


def share_sessions(app: Starlette, manager: StreamableHTTPSessionManager, path: str) -> None:
    """Put `SessionShares` around the route of a session manager, behind all authentication."""
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
class _Session:
    scope: dict[str, Any]  # of the request that opened it, for the one that ends it
    used: float
    requests: int = 0  # under way


class SessionShares:
    """An ASGI app that ends a session where a user opens one too many.

    It is the oldest of the user with the most. Without it the package `mcp`, which counts the
    sessions of all users together, refuses the new one; so it does for callers without a user.

    Args:
        app: The app around the package's session manager.
        end: Handles a DELETE of a session: the session manager itself, behind all authentication.
        most: Sessions at most.
        idle: Seconds after which the session manager ends an idle session.
    """

    def __init__(self, app: ASGIApp, *, end: ASGIApp, most: int, idle: float | None) -> None:
        self._app, self._end, self._idle = app, end, idle
        self._shares = FairShares(most)
        self._sessions: dict[bytes, _Session] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app, and note which sessions there are."""
        headers, owner = dict(scope["headers"]), principal_of(scope)
        if owner is None:
            await self._app(scope, receive, send)
        elif (name := headers.get(_SESSION)) is not None:
            await self._use(name, scope, receive, send)
        elif scope["method"] == "POST" and headers.get(_VERSION, _FIRST) in _WITH_SESSIONS:
            await self._open(owner, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _open(self, owner: Any, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app for a request that may open a session, which needs a place before."""
        place = object()
        self._forget_ended()
        for leaving in self._shares.add(place, owner):
            await self._close(leaving)

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < _GOOD:
                for name in (value for key, value in message["headers"] if key.lower() == _SESSION):
                    kept = [pair for pair in scope["headers"] if pair[0] in _KEPT_HEADERS]
                    self._sessions[name] = _Session({**scope, "headers": kept}, time.monotonic())
                    self._shares.remove(place)
                    self._shares.add(name, owner)
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            self._shares.remove(place)

    async def _use(self, name: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        session = self._sessions.get(name)
        if session is not None:
            session.requests += 1

        async def note(message: Message) -> None:
            is_ended = message["type"] == "http.response.start" and message["status"] < _GOOD
            if is_ended and scope["method"] == "DELETE":
                self._forget(name)
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            if session is not None:
                session.requests -= 1
                session.used = time.monotonic()

    async def _close(self, name: Any) -> None:
        session = self._sessions.pop(name, None)
        if session is None:  # a request that opens one still runs
            return
        headers = [*session.scope["headers"], (_SESSION, name)]
        scope = {**session.scope, "method": "DELETE", "headers": headers}
        await self._end(scope, _receive_nothing, _send_nowhere)

    def _forget_ended(self) -> None:
        """Forget the sessions that the manager has ended, as they were idle."""
        now = time.monotonic()
        for name, session in list(self._sessions.items() if self._idle is not None else ()):
            if not session.requests and now - session.used > (self._idle or 0):
                self._forget(name)

    def _forget(self, name: bytes) -> None:
        self._sessions.pop(name, None)
        self._shares.remove(name)


async def _receive_nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _send_nowhere(_: Message) -> None:
    pass


def owner_of(request: ServerRequestContext[Any]) -> Any:
    """Return whose request it is: the user's, or else the session's."""
    user = None if request.request is None else principal_of(request.request.scope)
    return id(request.session.client_params) if user is None else user


def principal_of(scope: Mapping[str, Any]) -> tuple[str | None, str] | None:
    """Return the issuer and the subject of an HTTP request's token; None without a user.

    The client counts only where the token names no subject: a user may have many clients.
    """
    user = scope.get("user")
    if not isinstance(user, AuthenticatedUser):
        return None
    facts = authorization_context(user)
    return facts["issuer"], facts["subject"] or facts["client_id"]


class OpenQuestions:
    """The questions that wait for people, a few of each user: the oldest counts as declined."""

    def __init__(self) -> None:
        self._shares: dict[Any, OrderedDict[object, Callable[[], object]]] = {}

    @contextmanager
    def ask(self, user: Any) -> Iterator[None]:
        """Hold a place of a user; the body ends early where a newer question takes it."""
        with anyio.CancelScope() as scope:
            asked = self._shares.setdefault(user, OrderedDict())
            asked[scope] = scope.cancel
            try:
                if len(asked) > _QUESTIONS:
                    _, cancel = asked.popitem(last=False)
                    cancel()
                yield
            finally:
                asked.pop(scope, None)
                if not asked:
                    self._shares.pop(user, None)
