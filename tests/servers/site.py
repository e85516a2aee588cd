"""A server in a thread of its own, for tests that load documents in theirs."""

from __future__ import annotations

import json
import socket
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from email.message import Message


class SiteRequest(NamedTuple):
    """One request: its path without the query, and the last value of each name of that."""

    path: str
    query: dict[str, str]
    headers: Message


class SiteResponse(NamedTuple):
    """One response; a body that is not bytes is sent as JSON."""

    body: Any = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


class _Server(ThreadingHTTPServer):
    """A server whose clients may leave before the end of a response."""

    daemon_threads = False  # closing it waits for responses under way

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Site:
    """`with Site(respond) as site:` then `site.url` and what was `site.requests`, oldest first."""

    def __init__(self, respond):
        self.respond = respond
        self.requests: list[SiteRequest] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                address = urlsplit(self.path)
                query = {name: values[-1] for name, values in parse_qs(address.query).items()}
                site.requests.append(SiteRequest(address.path, query, self.headers))
                response = site.respond(site.requests[-1])
                body = (
                    response.body
                    if isinstance(response.body, bytes)
                    else json.dumps(response.body).encode()
                )
                self.send_response(response.status)
                for name, value in response.headers:
                    self.send_header(name, value)
                if response.status != 304:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                """Say nothing."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def running(app):
    """Serve an ASGI application on loopback, in a thread; gives its URL."""
    import uvicorn

    # asyncio asks for no delay only where a socket says that it is TCP.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(512)
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)
    assert not thread.is_alive(), "the server did not stop"
