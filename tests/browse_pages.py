"""The command that serves the page, and requests to it."""

import asyncio
import http.client
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import uvicorn
from documents import document, operation

from openapi_tools import load_tools
from openapi_tools.cli import commands
from openapi_tools.serving import web_server

POOL = "\x01"
HOSTILE = (
    "</script><script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    "<!-- <script>",
    "\u2028window.ran = 1\u2029",
    "]]>&lt;b&gt;",
    f"{POOL}0",
    f"{POOL}{POOL}",
    "__proto__",
    "\x00\x1b[2J\ud800",
)
MUSEUM = str(Path(__file__).parent.parent / "specs" / "museum.yaml")


class Page:
    """A server of the page, and requests to it as its own page sends them, unless told."""

    def __init__(self, address):
        self.address = address
        parts = urlsplit(address)
        self.host = parts.netloc
        self.key = parse_qs(parts.query)["key"][0]

    def ask(self, method, path, *, body=None, host=None, without=(), **headers):
        """Return status, headers and text; `headers` replace the usual ones."""
        sent = {"host": self.host if host is None else host, "x-openapi-tools-key": self.key}
        if method == "POST":
            sent |= {"origin": f"http://{self.host}", "content-type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection(self.host)
        content = body if body is None or isinstance(body, str) else json.dumps(body)
        kept = {name: value for name, value in sent.items() if name not in without}
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in kept.items():
                connection.putheader(name, value)
            if content is not None:
                connection.putheader("content-length", str(len(content.encode())))
            connection.endheaders(None if content is None else content.encode())
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read().decode()
        finally:
            connection.close()

    def data(self, what, body):
        status, _, text = self.ask("POST", f"/api/{what}", body=body)
        assert status == 200, text
        return json.loads(text)


@contextmanager
def browsing(*args, **environment):
    """Run `openapi-tools browse` and give its page."""
    process = subprocess.Popen(
        [sys.executable, "-m", "openapi_tools", "browse", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    try:
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?key=[\w-]{32}", address), (
            process.stderr.read()
        )
        yield Page(address)
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, "Traceback" in errors) == (130, False), errors


@contextmanager
def browsing_here(*args):
    """Run the command in this process, where coverage sees it, and give its page."""
    started = queue.SimpleQueue()

    def run_app(app, place, _toolset, announce):
        web = uvicorn.Server(web_server.make_config(app, {"lifespan": "off"}))
        announce()
        started.put((app, place.getsockname()[1], web))
        asyncio.run(web.serve(sockets=[place]))

    def run():
        with commands.make_context("openapi-tools", ["browse", *map(str, args)]) as context:
            commands.invoke(context)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(web_server, "run_app", run_app)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        app, port, web = started.get(timeout=30)
    try:
        yield Page(f"http://127.0.0.1:{port}/?key={app.key}")
    finally:
        web.should_exit = True
        thread.join(30)


def hostile():
    """Return the tools of a document with such texts wherever text can stand."""
    text = " ".join(HOSTILE)
    schema = {
        "type": "object",
        "title": text,
        "description": text,
        "properties": {bad: {"type": "string", "enum": [bad], "default": bad} for bad in HOSTILE},
    }
    paths = {
        f"/{at}/{bad.encode('ascii', 'ignore').decode() if bad.isprintable() else ''}": {
            "post": operation(
                operationId=bad,
                summary=bad,
                description=text,
                tags=[bad],
                requestBody={"content": {"application/json": {"schema": schema}}},
            )
        }
        for at, bad in enumerate(HOSTILE)
    }
    paths["/broken"] = {"get": operation(operationId=text, parameters=[{"in": text, "name": text}])}
    info = {"title": text, "version": text}
    return load_tools(
        document(paths, servers=[{"url": "https://api.example.com"}]) | {"info": info}
    )
