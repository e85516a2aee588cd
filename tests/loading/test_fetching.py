"""Fetching a document: nothing that a server does makes it endless, large or indiscreet."""

import base64
import contextlib
import gzip
import itertools
import socket
import threading
import tracemalloc
import zlib

import pytest
from servers.tls import Authority

from openapi_tools.errors import InvalidDocument, SourceError
from openapi_tools.loading.fetching import Fetcher
from openapi_tools.loading.parse import parse
from openapi_tools.loading.source import read_source
from openapi_tools.settings import Settings

SETTINGS = Settings()
SMALL = Settings(max_document_bytes=1000)
HASTY = Settings(timeout=0.3)
DOCUMENT = b'{"openapi": "3.1.0"}'
MEBIBYTE = 1024 * 1024
TLS_HELLO = b"\x16"


def fetch(url, settings, **more):
    return Fetcher(url, settings).fetch(url, **more)


class Server:
    """A loopback server that sends the bytes it is told to and records what it was asked."""

    def __init__(self, answer, context=None):
        self.requests = []
        self.stopped = threading.Event()
        self._answer = answer
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = []
        self._start(self._accept)

    def url(self, path="/openapi.json", user="", scheme="http"):
        return f"{scheme}://{user}127.0.0.1:{self.port}{path}"

    def close(self):
        self.stopped.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _start(self, work, *args):
        thread = threading.Thread(target=work, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._start(self._serve, connection)

    def _serve(self, connection):
        with contextlib.suppress(OSError), connection:
            connection.settimeout(10)
            if self._context:
                connection = self._context.wrap_socket(connection, server_side=True)
            request = b""
            while b"\r\n\r\n" not in request and not request.startswith(TLS_HELLO):
                request += connection.recv(4096) or b"\r\n\r\n"
            self.requests.append(request)
            answer = self._answer
            for piece in answer(self, request) if callable(answer) else [answer]:
                connection.sendall(piece)
                if self.stopped.is_set():
                    break
            connection.close()


@pytest.fixture
def serve():
    with contextlib.ExitStack() as stack:

        def start(answer, context=None):
            return stack.enter_context(contextlib.closing(Server(answer, context)))

        yield start


def ok(body=DOCUMENT, *headers, status=b"200 OK"):
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join([*lines, b"", body])


def moved(to, status=b"302 Found"):
    return ok(b"", b"Location: " + to, status=status)


def drip(start):
    """After a start, a byte now and then, without end."""

    def answer(server, request):
        yield start
        while not server.stopped.wait(0.02):
            yield b"a"

    return answer


def test_a_document_is_fetched(serve):
    server = serve(ok())

    source = read_source(server.url("/v1/openapi.json?token=s3cret#/info"), SETTINGS)

    assert source.data == DOCUMENT
    assert source.uri == server.url("/v1/openapi.json?token=s3cret")
    assert source.name == server.url("/v1/openapi.json")
    head = server.requests[0].decode().split("\r\n")
    assert head[0] == "GET /v1/openapi.json?token=s3cret HTTP/1.1"
    assert f"Host: 127.0.0.1:{server.port}" in head
    assert any(line.startswith("Accept: application/json") for line in head)
    assert not any(line.lower().startswith(("cookie", "authorization")) for line in head)


async def test_a_document_is_fetched_where_an_event_loop_runs(serve):
    server = serve(ok())

    assert fetch(server.url(), SETTINGS).data == DOCUMENT


def test_the_scheme_may_be_in_capitals(serve):
    server = serve(ok())

    source = read_source(server.url(scheme="HTTP"), SETTINGS)

    assert source.data == DOCUMENT


def test_user_and_password_are_sent_and_shown_nowhere(serve):
    server = serve(ok())

    source = read_source(server.url(user="m%40x:s3c:ret@"), SETTINGS)

    expected = base64.b64encode(b"m@x:s3c:ret").decode()
    assert f"Authorization: Basic {expected}" in server.requests[0].decode()
    assert source.uri == source.name == server.url()


@pytest.mark.parametrize(
    "status",
    [b"204 No Content", b"206 Part", b"304 Same", b"401 No", b"404 No", b"500 Oh", b"999 x"],
)
def test_another_status_than_200_is_an_error_that_says_so(serve, status):
    server = serve(ok(b"" if status[:3] in (b"204", b"304") else b"<html>", status=status))

    with pytest.raises(SourceError, match=f"status {status[:3].decode()}") as raised:
        fetch(server.url("/?token=s3cret", user="me:s3cret@"), SETTINGS)

    assert str(raised.value).startswith(server.url("/"))
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("status", [b"301 a", b"302 a", b"303 a", b"307 a", b"308 a"])
def test_redirects_inside_the_origin_are_followed(serve, status):
    answers = {b"/a": moved(b"b/c", status), b"/b/c": moved(b"/d", status), b"/d": ok()}
    server = serve(lambda server, request: [answers[request.split()[1]]])

    source = fetch(server.url("/a", user="me:s3cret@"), SETTINGS)

    assert source.data == DOCUMENT
    assert source.uri == server.url("/d")
    assert all(b"Authorization: Basic" in request for request in server.requests)


@pytest.mark.parametrize(
    "target",
    [
        b"http://127.0.0.1:%d/",
        b"http://localhost:%d/",
        b"//127.0.0.1:%d/",
        b"https://127.0.0.1:%d/",
        b"http://user:s3cret@127.0.0.1:%d/?s3cret",
        b"file:///etc/passwd",
        b"gopher://127.0.0.1:%d/",
        b"http://[::1",
    ],
)
def test_redirects_to_another_origin_are_not_followed(serve, target):
    sink = serve(ok())
    server = serve(moved(target % sink.port if b"%d" in target else target))

    with pytest.raises(SourceError, match="not followed") as raised:
        fetch(server.url(), SETTINGS)

    assert sink.requests == []
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("target", [b"/", b"/x%d"], ids=["circle", "growing"])
def test_redirect_loops_end(serve, target):
    count = itertools.count()
    server = serve(lambda *_: [moved(target % next(count) if b"%d" in target else target)])

    with pytest.raises(SourceError, match="5"):
        fetch(server.url("/"), SETTINGS)

    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("coding", "body"), [(b"gzip", gzip.compress(DOCUMENT, mtime=0)), (b"identity", DOCUMENT)]
)
def test_content_codings_are_undone(serve, coding, body):
    server = serve(ok(body, b"Content-Encoding: " + coding))

    assert fetch(server.url(), SETTINGS).data == DOCUMENT


@pytest.mark.parametrize(
    ("coding", "body"),
    [(b"br", DOCUMENT), (b"gzip", DOCUMENT), (b"gzip", gzip.compress(DOCUMENT, mtime=0)[:-9])],
)
def test_content_that_is_not_what_its_coding_says_is_refused(serve, coding, body):
    server = serve(ok(body, b"Content-Encoding: " + coding))

    with pytest.raises(SourceError, match="the answer"):
        fetch(server.url(), SETTINGS)


def zeros(megabytes):
    squeezer = zlib.compressobj(9, wbits=31)
    pieces = [squeezer.compress(bytes(MEBIBYTE)) for _ in range(megabytes)]
    return b"".join(pieces) + squeezer.flush()


@pytest.mark.long
@pytest.mark.parametrize("nested", [False, True], ids=["gzip", "gzip in gzip"])
def test_a_gzip_bomb_is_refused_before_it_grows(serve, nested):
    bomb = gzip.compress(zeros(256), mtime=0) if nested else zeros(256)
    coding = b"gzip, gzip" if nested else b"gzip"
    server = serve(ok(bomb, b"Content-Encoding: " + coding))
    tracemalloc.start()

    with pytest.raises(SourceError, match="larger than 8,388,608 bytes"):
        fetch(server.url(), Settings(max_document_bytes=8 * MEBIBYTE))

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 * MEBIBYTE


def test_a_declared_size_over_the_limit_is_refused_at_once(serve):
    def answer(server, request):
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
        server.stopped.wait(10)

    server = serve(answer)

    with pytest.raises(SourceError, match="larger than 67,108,864 bytes"):
        fetch(server.url(), SETTINGS)


def test_an_endless_body_is_refused_at_the_limit(serve):
    def answer(server, request):
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        yield from itertools.repeat(b"[" * 4096)

    server = serve(answer)

    with pytest.raises(SourceError, match="larger than 1,000 bytes"):
        fetch(server.url(), SMALL)


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nX: ",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08",
    ],
    ids=["status line", "header", "body", "gzip header"],
)
def test_a_slow_drip_ends_at_the_deadline(serve, start):
    server = serve(drip(start))

    with pytest.raises(SourceError, match=r"in time|the answer"):
        fetch(server.url(), HASTY)


@pytest.mark.parametrize(
    ("kind", "part"), [("application/json", DOCUMENT), ("application/x-ndjson", DOCUMENT + b"\n{}")]
)
def test_the_beginning_of_a_document_is_not_a_document(serve, kind, part):
    def stall(server, _request):
        yield f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode() + part
        server.stopped.wait(10)

    server = serve(stall)

    with pytest.raises(SourceError, match="in time"):
        fetch(server.url(), HASTY)


def test_a_deadline_that_has_passed_asks_nobody(serve):
    server = serve(ok())

    with pytest.raises(SourceError, match="in time"):
        fetch(server.url(), Settings(timeout=1e-9))

    assert server.requests == []


@pytest.mark.parametrize(
    "answer",
    [
        *(b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nContent-Len", b"220 ftp.example ready\r\n"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nA: " + b"a" * 300_000,
    ],
    ids=range(6),
)
def test_a_broken_answer_is_refused(serve, answer):
    server = serve(answer)

    with pytest.raises(SourceError, match=r"breaks HTTP|the connection broke"):
        fetch(server.url(), SETTINGS)


def test_a_page_in_place_of_the_document_is_said_to_be_one(serve):
    server = serve(ok(b"\n<!DOCTYPE html>\n<title>Log in</title>"))
    source = fetch(server.url(), SETTINGS)

    with pytest.raises(InvalidDocument, match="looks like an HTML page") as raised:
        parse(source.data, name=source.name)

    assert str(raised.value).startswith(server.url())


def test_a_closed_port_is_an_error(serve):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(SourceError, match="no connection to 127"):
        fetch(f"http://127.0.0.1:{port}/", SETTINGS)


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http:///a",
        "http://u:s3cret@/",
        "http://h:99999/",
        "http://u:s3cret@h:x/",
        "http://h\n/s3cret",
        "http://[::1/",
        "http://\ud800/",
        f"http://{'a' * 70_000}/",
    ],
    ids=range(9),
)
def test_an_impossible_url_is_refused(url):
    with pytest.raises(SourceError, match=r"URL") as raised:
        read_source(url, SETTINGS)

    assert "s3cret" not in str(raised.value)


def test_proxies_of_the_environment_are_not_used(serve, monkeypatch):
    server, sink = serve(ok()), serve(ok(b"proxied"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, sink.url("/"))

    assert fetch(server.url(), SETTINGS).data == DOCUMENT
    assert sink.requests == []


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


def test_https_trusts_further_authorities_that_the_user_names(serve, authority):
    server = serve(ok(), authority.server())

    found = fetch(server.url(scheme="https"), Settings(ca_file=authority.file))

    assert found.data == DOCUMENT


def test_https_trusts_those_of_the_environment_only_when_it_is_trusted(
    serve, authority, monkeypatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    server = serve(ok(), authority.server())

    with pytest.raises(SourceError, match="certificate is not accepted"):
        fetch(server.url(scheme="https"), SETTINGS)
    found = fetch(server.url(scheme="https"), Settings(trust_env=True))

    assert found.data == DOCUMENT


def test_a_certificate_that_nobody_signed_is_refused(serve, authority):
    server = serve(ok(), authority.server())

    with pytest.raises(SourceError, match="certificate is not accepted"):
        fetch(server.url(scheme="https"), SETTINGS)

    assert server.requests == []


def test_authorities_that_cannot_be_read_are_an_error(tmp_path):
    with pytest.raises(SourceError, match=r"Settings\(ca_file=…\)"):
        fetch("https://127.0.0.1:9/", Settings(ca_file=tmp_path / "absent.pem"))


def test_https_does_not_fall_back_to_http(serve):
    server = serve(ok())

    with pytest.raises(SourceError, match="no connection to 127"):
        fetch(server.url(scheme="https"), SETTINGS)
