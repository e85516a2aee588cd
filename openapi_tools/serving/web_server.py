"""Run an ASGI application on a socket until it is interrupted, and limit its clients.

Clients may send large or slow bodies, keep idle connections, or not read responses. Needs uvicorn.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.errors import require_extra
from openapi_tools.serving.connection_shares import (
    ADMITTED,
    BusyConnections,
    connection_to_close,
    refuse_busy,
)
from openapi_tools.serving.process_signals import handle_signals, silence_aborted_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openapi_tools.serving.serving_tables import LimitsTable, ServeTable
    from openapi_tools.toolsets.toolset import Toolset

with require_extra("browse"):  # the extra `mcp` brings it, too
    import uvicorn

    from openapi_tools.http_server import PARSING, RequestProtocol, send_refusal

_PATIENCE = 3
_JOINED = 64 * 1024  # bytes
_YOUNG_OBJECTS = 10_000


class _AnnouncingServer(uvicorn.Server):
    """A server that announces when it responds."""

    announce: Callable[[], object] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started and self.announce is not None:
            self.announce()


def run_app(
    app: Any,
    listener: socket.socket,
    toolset: Toolset | None = None,
    *,
    announce: Callable[[], object] | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Serve an application on a listening socket, and close the toolset after it.

    Args:
        app: The ASGI application.
        listener: The socket.
        toolset: Closed at the end.
        announce: Called once the server responds.
        options: Those of `uvicorn.Config`.

    Raises:
        KeyboardInterrupt: SIGINT has ended it, in order.
    """
    web, received = _AnnouncingServer(make_config(app, options)), set[int]()
    web.announce = announce

    async def run() -> None:
        async with toolset or nullcontext():
            await web.serve(sockets=[listener])

    # uvicorn raises a signal again once it is done: that must not end this process by itself.
    def end(number: int) -> None:
        received.add(number)
        web.handle_exit(signal.SIGTERM, None)

    with handle_signals(end), silence_aborted_calls(lambda: web.should_exit):
        asyncio.run(run())
    if signal.SIGINT in received:
        raise KeyboardInterrupt


def freeze_objects() -> None:
    """Exempt what a server has loaded from garbage collection, which would stop calls to walk it.

    Garbage is collected first, also of objects that were frozen before.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    # A call makes a thousand objects and hardly any cycles: 700, Python's threshold, is too low.
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])


def make_config(app: Any, options: Mapping[str, Any] | None = None) -> uvicorn.Config:
    """Return uvicorn's configuration for an application, or for its factory."""
    defaults: dict[str, Any] = {
        "log_config": None,
        "log_level": "warning",
        "access_log": False,
        # The version of uvicorn helps nobody but a scanner.
        "server_header": False,
        "timeout_graceful_shutdown": _PATIENCE,
        **PARSING,
        **(options or {}),
    }
    return uvicorn.Config(app, **defaults)


def open_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket."""
    if not host:
        raise click.UsageError("--host is empty; use 0.0.0.0 to listen on every address.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).partition(" (")[0]
        hint = "choose another --host or --port."
        raise click.ClickException(f"{host}:{port} cannot be used ({reason}); {hint}") from None
    # Connections inherit it. asyncio does not set it on a socket that it did not open, and a
    # response in two writes would wait for the client's delayed acknowledgement: 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


class _JoinedWrites:
    """A transport that sends at once what is written in one step of the loop: a head and its body.

    Each write would be a packet, and a system call that costs as much as parsing the request.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._waiting = bytearray()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting += data
        if len(self._waiting) > _JOINED:  # the transport has to know, to stop who writes
            self._flush()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, bytearray()
            self._transport.write(waiting)


class ClientProtocol(RequestProtocol):
    """Closes connections whose client sends no request, or does not read a response, in time.

    The time is uvicorn's `timeout_keep_alive`, which uvicorn itself applies only after a response.
    If a new connection is one too many, another one is closed, if one is not busy.

    Attributes:
        since: When the connection was made or its last response ended, in the loop's time.
    """

    def connection_made(self, transport: Any) -> None:
        """Wait for a request."""
        joined: Any = _JoinedWrites(transport, self.loop)
        super().connection_made(joined)
        self.since = self.loop.time()
        self._close_another()
        self._read_timer: Any = None
        self._request_timer: Any = self._start_timer(joined.close)

    def data_received(self, data: bytes) -> None:
        """Read data, and keep waiting until the head of a request is complete."""
        super().data_received(data)
        is_waiting = self.cycle is None or self.cycle.response_complete
        if not is_waiting:
            self._request_timer = _cancel_timer(self._request_timer)
        elif self._request_timer is None:
            self._request_timer = self._start_timer(self.transport.close)

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._read_timer = self._read_timer or self._start_timer(self.transport.abort)

    def resume_writing(self) -> None:
        """Stop waiting, as the client reads."""
        super().resume_writing()
        self._read_timer = _cancel_timer(self._read_timer)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._request_timer, self._read_timer = (
            _cancel_timer(self._request_timer),
            _cancel_timer(self._read_timer),
        )

    def _close_another(self) -> None:
        # uvicorn itself refuses the request of a connection at this number, the new one counted.
        if self.limit_concurrency is None or len(self.connections) < self.limit_concurrency:
            return
        closing = connection_to_close(self.connections - {self})
        if closing is not None:
            self.connections.discard(closing)
            closing.transport.abort()

    def _start_timer(self, act: Callable[[], object]) -> Any:
        return self.loop.call_later(self.timeout_keep_alive, act)


def _cancel_timer(timer: Any) -> Any:
    return None if timer is None else timer.cancel()


class ClientLimits:
    """ASGI middleware that reads whole bodies, within limits, and counts bytes."""

    def __init__(
        self, app: Any, limits: LimitsTable, count: Callable[[str, int], object] | None = None
    ) -> None:
        self._app, self._limits = app, limits
        self._count = count or (lambda _, __: None)
        self._busy = BusyConnections(limits.connections)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Run the app with the body of the request; 413 if it is too large, 408 if too slow."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_counted(message: Any) -> None:
            if body := message.get("body"):
                self._count("out", len(body))
            await send(message)

        if self._busy.is_full_for(scope):
            await refuse_busy(send_counted)
            return
        with self._busy.count(scope):
            await self._run_admitted(scope, receive, send_counted)

    async def _run_admitted(self, scope: Any, receive: Any, counted: Any) -> None:
        if "user" in scope:
            scope[ADMITTED] = True
        try:
            # The app itself would wait for the body without a limit.
            async with asyncio.timeout(self._limits.body_seconds):
                messages = [await self._read_body(scope, receive)]
        except TimeoutError:
            await send_refusal(counted, 408, "The request took too long.")
            return
        if messages[0] is None:
            await send_refusal(counted, 413, "The body of the request is too large.")
            return

        scope[ADMITTED] = True

        async def receive_body() -> Any:
            return messages.pop() if messages else await receive()

        await self._app(scope, receive_body, counted)

    async def _read_body(self, scope: Any, receive: Any) -> Any:
        # The whole body as one message; None if it is too large.
        most, body = self._limits.body_bytes, bytearray()
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        # Before the body is read; a client that sends chunks is stopped while it sends.
        if declared.isdigit() and int(declared[:20]) > most:
            return None
        while True:
            message = await receive()
            if message["type"] != "http.request":  # the client is gone
                return message
            self._count("in", len(message.get("body", b"")))
            body += message.get("body", b"")
            if len(body) > most:
                return None
            if not message.get("more_body", False):
                return {"type": "http.request", "body": bytes(body), "more_body": False}


def uvicorn_limits(serve: ServeTable) -> dict[str, Any]:
    """Return the options of uvicorn that limit its clients."""
    return {
        "http": ClientProtocol,
        "limit_concurrency": serve.limits.connections + 1,  # uvicorn refuses at this number
        "timeout_keep_alive": serve.limits.idle_seconds,
        "timeout_graceful_shutdown": serve.grace,
        "lifespan": "on",
    }
