"""Real servers on loopback, one of each for a test run's process."""

import contextlib
import socket
import threading
from types import SimpleNamespace

import pytest
import uvicorn
from real.app import create_app
from real.httpbin_document import create_httpbin


@pytest.fixture(scope="session")
def running_echo():
    """The FastAPI application under uvicorn: its URL, itself, and the requests that it kept."""
    kept = []
    app = create_app(kept)
    # asyncio asks for no delay only where a socket says that it is TCP.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none")
    server = uvicorn.Server(config)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with _running(threading.Thread(target=server.run, kwargs={"sockets": [listening]})):
        yield SimpleNamespace(url=url, app=app, kept=kept)
        server.should_exit = True


@pytest.fixture
def echo(running_echo):
    """The FastAPI application with no request yet."""
    running_echo.kept.clear()
    return running_echo


@pytest.fixture(scope="session")
def httpbin_url():
    """The address of httpbin under werkzeug's server; its document is at `/spec.json`."""
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def log(self, *_):
            """Keep the test run's output free of access logs."""

    server = make_server("127.0.0.1", 0, create_httpbin(), threaded=True, request_handler=Quiet)
    with _running(threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})):
        yield f"http://127.0.0.1:{server.port}"
        server.shutdown()
    server.server_close()


@contextlib.contextmanager
def _running(thread):
    """Run a server's thread; the block tells the server to stop before it ends."""
    thread.start()
    yield
    thread.join(timeout=10)
    assert not thread.is_alive(), "the server did not stop"
