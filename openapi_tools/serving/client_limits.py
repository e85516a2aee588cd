"""Limits on clients over HTTP: large and slow bodies, idle connections, unread answers."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import requiring

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi_tools.serving.serving_tables import LimitsTable

with requiring("mcp"):
    from starlette.responses import PlainTextResponse
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

_CLOSING = {"Connection": "close"}


class ClientProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # a variable
    """Closes connections whose client sends no request, or reads no answer, in time.

    The time is uvicorn's `timeout_keep_alive`, which itself covers only what follows an answer.
    """

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._unread: Any = None
        self._unasked: Any = self._later(transport.close)

    def data_received(self, data: bytes) -> None:
        """Take data, and wait on where the head of a request is not complete."""
        super().data_received(data)
        is_waiting = self.cycle is None or self.cycle.response_complete
        if not is_waiting:
            self._unasked = _cancelled(self._unasked)
        elif self._unasked is None:
            self._unasked = self._later(self.transport.close)

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._unread = self._unread or self._later(self.transport.abort)

    def resume_writing(self) -> None:
        """Go on, as the client reads."""
        super().resume_writing()
        self._unread = _cancelled(self._unread)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._unasked, self._unread = _cancelled(self._unasked), _cancelled(self._unread)

    def _later(self, act: Callable[[], object]) -> Any:
        return self.loop.call_later(self.timeout_keep_alive, act)


def _cancelled(timer: Any) -> Any:
    return None if timer is None else timer.cancel()


class ClientLimits:
    """An ASGI app that reads whole bodies for another, within limits, and counts bytes."""

    def __init__(
        self, app: ASGIApp, limits: LimitsTable, count: Callable[[str, int], object] | None = None
    ) -> None:
        self._app, self._limits = app, limits
        self._count = count or (lambda _, __: None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app with the body of the request; 413 for a large one, 408 for a slow one."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            self._count("out", len(message.get("body", b"")))
            await send(message)

        body: Any = PlainTextResponse("The request took too long.", 408, _CLOSING)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.body_seconds):
                body = await self._body(scope, receive)
        if isinstance(body, PlainTextResponse):
            await body(scope, receive, counted)
            return
        messages = [body]

        async def replayed() -> Message:
            return messages.pop() if messages else await receive()

        await self._app(scope, replayed, counted)

    async def _body(self, scope: Scope, receive: Receive) -> Message | PlainTextResponse:
        """Return the whole body as one message; a refusal if it is too large."""
        large = PlainTextResponse("The body of the request is too large.", 413, _CLOSING)
        most, body = self._limits.body_bytes, bytearray()
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared[:20]) > most:
            return large
        while True:
            message = await receive()
            if message["type"] != "http.request":  # the client is gone
                return message
            self._count("in", len(message.get("body", b"")))
            body += message.get("body", b"")
            if len(body) > most:
                return large
            if not message.get("more_body", False):
                return {"type": "http.request", "body": bytes(body), "more_body": False}
