"""Large answers over streamable HTTP.

In protocol versions with a handshake the package sends every answer as an event of a stream, and
its own client takes no event of more than 1 MiB. A JSON body has no such bound, and whoever posts
a request takes either.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LARGEST = 1024 * 1024
_ANSWER = re.compile(
    rb"(?:(?:id|event): [^\r\n]*\r\n)*data: "
    rb'(\{"jsonrpc":"2\.0","id":(?:-?\d+|"[^"\\]*(?:\\.[^"\\]*)*"),"(?:result|error)":[^\r\n]*)'
    rb"\r\n\r\n"
)


class PlainAnswers:
    """An ASGI app that answers a POST with JSON where nothing comes before the answer.

    A stream that begins with something else (progress, a question, a sign of life) is passed on as
    it comes; then `structuredContent` is left out where only this makes the answer small enough.

    Spec: Model Context Protocol 2025-11-25, basic/transports, "Sending Messages to the Server".

    Args:
        app: Answers with streams of events.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Do what ASGI wants of an app."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        stream = _Stream(send)
        await self._app(scope, receive, stream.send)
        await stream.end()


class _Stream:
    """What an app sends, on its way to the client."""

    def __init__(self, send: Send) -> None:
        import anyio

        self._send = send
        self._lock = anyio.Lock()  # a sign of life may come while an event is being sent
        self._start: Message | None = None
        self._has_events = False
        self._is_answered = False

    async def send(self, message: Message) -> None:
        """Take a message: the start of a stream waits for what comes next."""
        async with self._lock:
            if message["type"] == "http.response.start" and _starts_events(message):
                self._start, self._has_events = message, True
            elif self._start is not None:
                await self._begin(self._start, message)
            elif self._has_events:
                await self._send({**message, "body": self._body(message)})
            else:
                await self._send(message)

    async def end(self) -> None:
        """Pass on a start after which nothing came."""
        if self._start is not None:
            await self._send(self._start)

    async def _begin(self, start: Message, message: Message) -> None:
        """Send a start with what came next."""
        self._start = None
        answer = _ANSWER.fullmatch(message.get("body", b""))
        if answer is not None:
            self._is_answered = True
            start, message = _json_start(start, answer[1]), {**message, "body": answer[1]}
        await self._send(start)
        await self._send(message)

    def _body(self, message: Message) -> bytes:
        return b"" if self._is_answered else _fitted(message.get("body", b""))


def _starts_events(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(b"text/event-stream")
        for name, value in message["headers"]
    )


def _json_start(start: Message, body: bytes) -> Message:
    kept = [(name, value) for name, value in start["headers"] if name.lower() != b"content-type"]
    length = str(len(body)).encode()
    own = [(b"content-type", b"application/json"), (b"content-length", length)]
    return {**start, "headers": [*kept, *own]}


def _fitted(event: bytes) -> bytes:
    """Return an event without `structuredContent`, if that makes it small enough.

    The text has the same. An event that stays too large stands as it is: not every client has a
    bound, and those that have one say so themselves.
    """
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
