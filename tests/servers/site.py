"""A server in a thread of its own, for tests that load documents in theirs."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import Message


@dataclass(frozen=True)
class Asked:
    """One request.

    Attributes:
        path: Without the query.
        query: The last value of each name.
        headers: By name, in any case.
    """

    path: str
    query: dict[str, str]
    headers: Message


@dataclass(frozen=True)
class Said:
    """One answer; a body that is not bytes is sent as JSON."""

    body: Any = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


class _Server(ThreadingHTTPServer):
    """A server whose clients may leave before the end of an answer."""

    daemon_threads = False  # closing it waits for answers under way

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Site:
    """`with Site(answer) as site:` then `site.url` and `site.asked`.

    Attributes:
        answer: Gives the answer to each GET.
        asked: What was asked, oldest first.
    """

    def __init__(self, answer: Callable[[Asked], Said]) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                address = urlsplit(self.path)
                query = {name: values[-1] for name, values in parse_qs(address.query).items()}
                site.asked.append(Asked(address.path, query, self.headers))
                said = site.answer(site.asked[-1])
                body = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
                self.send_response(said.status)
                for name, value in said.headers:
                    self.send_header(name, value)
                if said.status != 304:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        """The address, without a slash at its end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
