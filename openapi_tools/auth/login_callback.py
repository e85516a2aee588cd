"""The loopback server for a browser's authorization code.

It takes one right answer; any other request gets a fixed page and changes nothing.

Spec: RFC 8252, section 7.3; RFC 6749, section 4.1.2; RFC 9207, section 2.4.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qs, urlsplit

from openapi_tools.redaction import MASK, Secret, excerpt

if TYPE_CHECKING:
    from collections.abc import Callable

PATH = "/callback"
HOST = "127.0.0.1"
_LARGEST = 16 * 1024
_PATIENCE = 10.0
_LINE = re.compile(rb"GET (?P<target>/[\x21-\x7e]*) HTTP/1\.[01]\r\n")
_HOST = re.compile(rb"\r\nhost:[ \t]*(?P<host>[^\r\n]*?)[ \t]*(?=\r\n)", re.IGNORECASE)
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>openapi-tools</title>'
    "<p>{text}</p></html>"
)
_TAKEN = "The answer has arrived. Close this window and go back to the terminal."
_PASSED_OVER = "This is not the expected answer."


class CodeAnswer:
    """An authorization response, brought by the browser.

    Attributes:
        code: The authorization code; None for a refusal.
        error: The server's error code, cleaned; may be empty.
        issuer: The `iss` of the answer; None without one.
    """

    __slots__ = ("code", "error", "issuer")

    def __init__(self, code: Secret | None, error: str, issuer: str | None) -> None:
        self.code = code
        self.error = error
        self.issuer = issuer

    def __repr__(self) -> str:
        return f"CodeAnswer({MASK})"


class Callback:
    """A context manager with the redirect URI `url` and the browser's `answer()`."""

    def __init__(self, state: Secret, *, port: int, tell: Callable[[str], None]) -> None:
        self._state = state
        self._port = port
        self._tell = tell

    async def __aenter__(self) -> Self:
        self._answer: asyncio.Future[CodeAnswer] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._serve, HOST, self._port, limit=_LARGEST)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        if self._tasks:
            # The page is on its way to the browser.
            await asyncio.wait(self._tasks, timeout=1)
        for task in self._tasks:
            task.cancel()

    @property
    def url(self) -> str:
        """The redirect URI."""
        return f"http://{HOST}:{self._port}{PATH}"

    async def answer(self) -> CodeAnswer:
        """Wait for the right answer and return it."""
        return await asyncio.shield(self._answer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        over = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
        try:
            with contextlib.suppress(*over):
                async with asyncio.timeout(_PATIENCE):
                    await self._respond(await reader.readuntil(b"\r\n\r\n"), writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _respond(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        found = self._read(head)
        if found is not None and not self._answer.done():
            self._answer.set_result(found)
        writer.write(_page("200 OK", _TAKEN) if found else _page("404 Not Found", _PASSED_OVER))
        await writer.drain()

    def _read(self, head: bytes) -> CodeAnswer | None:
        """Return the answer in a request; None for any other request."""
        line, hosts = _LINE.match(head), _HOST.findall(head)
        # A page of another site can lead a browser here, but only under a name of its own.
        if line is None or hosts != [f"{HOST}:{self._port}".encode()]:
            return None
        try:
            parts = urlsplit(line["target"].decode("ascii"))
            query = parse_qs(parts.query, keep_blank_values=True, max_num_fields=50)
        except ValueError:  # no address, or a flood of fields
            return None
        if parts.path != PATH:
            return None
        single = {name: values[0] for name, values in query.items() if len(values) == 1}
        given = single.get("state", "").encode()
        if not secrets.compare_digest(given, self._state.reveal().encode()):
            self._tell("an answer with a wrong state was passed over.")
            return None
        code = single.get("code")
        error = excerpt(re.sub(r"[^A-Za-z0-9_.-]", "", single.get("error", "")), 64)
        if not code and not error:
            error = "no_code"
        return CodeAnswer(Secret(code) if code else None, error, single.get("iss"))


def _page(status: str, text: str) -> bytes:
    """Return a page without any part of the request."""
    body = _PAGE.format(text=text).encode()
    lines = (
        f"HTTP/1.1 {status}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
        "Referrer-Policy: no-referrer",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii") + body
