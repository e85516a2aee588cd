"""Real servers on loopback, one of each for a test run's process."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import uvicorn
from real.app import Received, create_app
from real.httpbin_document import create_httpbin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI


@dataclass(frozen=True)
class Echo:
    """The FastAPI application where it is served."""

    url: str
    app: FastAPI
    kept: list[Received]

    @property
    def last(self) -> Received:
        """The newest request."""
        return self.kept[-1]


@pytest.fixture(scope="session")
def running_echo() -> Iterator[Echo]:
    """The FastAPI application under uvicorn."""
    kept: list[Received] = []
    app = create_app(kept)
    # asyncio asks for no delay only where a socket says that it is TCP.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with _running(thread):
        yield Echo(url, app, kept)
        server.should_exit = True


@pytest.fixture
def echo(running_echo: Echo) -> Echo:
    """The FastAPI application with no request yet."""
    running_echo.kept.clear()
    return running_echo


@pytest.fixture(scope="session")
def httpbin_url() -> Iterator[str]:
    """The address of httpbin under werkzeug's server; its document is at `/spec.json`."""
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def log(self, *_: object):
            """Keep the test run's output free of access logs."""

    server = make_server("127.0.0.1", 0, create_httpbin(), threaded=True, request_handler=Quiet)
    with _running(threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})):
        yield f"http://127.0.0.1:{server.port}"
        server.shutdown()
    server.server_close()


@contextlib.contextmanager
def _running(thread: threading.Thread) -> Iterator[None]:
    """Run a server's thread; the block tells the server to stop before it ends."""
    thread.start()
    yield
    thread.join(timeout=10)
    assert not thread.is_alive(), "the server did not stop"
