"""Real servers on loopback, one of each for a test run's process."""

import threading
from types import SimpleNamespace

import pytest
from real.app import create_app
from real.httpbin_document import create_httpbin
from servers.site import running


@pytest.fixture(scope="session")
def running_echo():
    """The FastAPI application under uvicorn: its URL, itself, and the requests that it kept."""
    kept = []
    app = create_app(kept)
    with running(app) as url:
        yield SimpleNamespace(url=url, app=app, kept=kept)


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
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.port}"
    server.shutdown()
    thread.join(timeout=10)
    server.server_close()
