"""Which requests are for a server: by target, `Host` and framing, at `serve`, `browse`, a mock.

All come over raw sockets, as clients send no such requests. Spec: RFC 9112, sections 3.2 to 6.3.
"""

import asyncio
import contextlib
import logging

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

import uvicorn
from team_servers import document, host_team, running_at, write_configuration

from openapi_tools import load_tools
from openapi_tools.browse.page_server import PageServer
from openapi_tools.errors import SettingsError
from openapi_tools.http_server import LOOPBACK
from openapi_tools.serving import team_server, web_server
from openapi_tools.serving.own_hosts import server_hosts
from openapi_tools.serving.serving_tables import ServeTable
from openapi_tools.testing import mock_api

PETS = document("Pets", "list_pets")
CLOSE = "Connection: close\r\n"


@contextlib.asynccontextmanager
async def serve(tmp_path):
    async with host_team(write_configuration(tmp_path, pets=PETS)) as server:
        yield int(server.address.rpartition(":")[2]), "/healthz"


@contextlib.asynccontextmanager
async def browse(_):
    with web_server.open_socket("127.0.0.1", 0) as place:
        port = place.getsockname()[1]
        hosts = [f"{name}:{port}" for name in LOOPBACK]
        app = PageServer(load_tools(PETS), hosts, problems=None, changes=None)
        web = uvicorn.Server(web_server.make_config(app, {"lifespan": "off"}))
        serving = asyncio.create_task(web.serve(sockets=[place]))
        try:
            yield port, "/base.css"
        finally:
            web.should_exit = True
            await serving


@contextlib.asynccontextmanager
async def mock(_):
    with mock_api(PETS, judge=False).serve() as url:
        yield int(url.rpartition(":")[2]), "/openapi.json"


SERVERS = (serve, browse, mock)


@pytest.fixture(params=SERVERS, ids=lambda server: server.__name__)
async def server(request, tmp_path):
    """Give the port of each server, and a path that it has."""
    async with request.param(tmp_path) as instance:
        yield instance


async def exchange(server, head, body="", address="127.0.0.1", after=b""):
    """Return all that a server sends until it closes the connection; a body can wait for that."""
    port, path = server
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(head.replace("{port}", str(port)).replace("{path}", path).encode("latin-1"))
        begun = await reader.readuntil(after) if after else b""
        writer.write(body.encode())
        return begun + await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


async def exchange_all(server, requests):
    """Return what a server sends for each of several requests, by their names."""
    responses = await asyncio.gather(*(exchange(server, text) for text in requests.values()))
    return dict(zip(requests, responses, strict=True))


def status_of(response):
    return int(response.split()[1])


def get(target="{path}", host="127.0.0.1:{port}", extra_headers="", version="1.1"):
    lines = "" if host is None else f"Host: {host}\r\n"
    return f"GET {target} HTTP/{version}\r\n{lines}{extra_headers}{CLOSE}\r\n"


def post(extra_headers, body=""):
    return f"POST {{path}} HTTP/1.1\r\nHost: 127.0.0.1:{{port}}\r\n{extra_headers}{CLOSE}\r\n{body}"


REQUESTS = {
    "its address": (200, get()),
    "its name": (200, get(host="localhost:{port}")),
    "its name in capitals": (200, get(host="LocalHost:{port}")),
    "IPv6": (200, get(host="[::1]:{port}")),
    "IPv6 written out": (200, get(host="[0:0:0:0:0:0:0:1]:{port}")),
    "a path of its own as an absolute target": (200, get("http://127.0.0.1:{port}{path}")),
    "such a target in capitals": (200, get("HTTP://LOCALHOST:{port}{path}")),
    "such a target counts and not Host": (
        200,
        get("http://127.0.0.1:{port}{path}", host="evil.example"),
    ),
    "another name": (421, get(host="evil.example")),
    "another name, this port": (421, get(host="evil.example:{port}")),
    "a name that begins like its own": (421, get(host="127.0.0.1.evil.example:{port}")),
    "a name that ends like its own": (421, get(host="evil-localhost:{port}")),
    "the absolute name": (421, get(host="localhost.:{port}")),
    "an address written in another way": (421, get(host="2130706433:{port}")),
    "another address": (421, get(host="10.1.2.3:{port}")),
    "an empty Host": (421, get(host="")),
    "no Host, HTTP/1.0": (421, get(host=None, version="1.0")),
    "no Host": (400, get(host=None)),
    "Host twice": (400, get(extra_headers="Host: 127.0.0.1:{port}\r\n")),
    "Host twice, a foreign one first": (
        400,
        get(host="evil.example", extra_headers="Host: 127.0.0.1:{port}\r\n"),
    ),
    "Host twice, a foreign one last": (400, get(extra_headers="hOST: evil.example\r\n")),
    "a foreign absolute target": (400, get("http://evil.example{path}")),
    "a foreign absolute target of https": (400, get("https://evil.example:{port}{path}")),
    "an absolute target with a user": (400, get("http://127.0.0.1@evil.example{path}")),
    "an absolute target without a host": (400, get("http://{path}")),
    "an absolute target of another scheme": (400, get("ftp://127.0.0.1:{port}{path}")),
    "a fragment in an absolute target": (400, get("http://127.0.0.1:{port}#@evil.example{path}")),
    "an authority as the target": (400, get("127.0.0.1:{port}")),
    "a user in Host": (400, get(host="user@127.0.0.1:{port}")),
    "a password in Host": (400, get(host="user:127.0.0.1@evil.example")),
    "a path in Host": (400, get(host="127.0.0.1:{port}/x")),
    "two hosts in Host": (400, get(host="127.0.0.1:{port}, evil.example")),
    "a port beyond all": (400, get(host="127.0.0.1:99999")),
    "a port that is none": (400, get(host="127.0.0.1:http")),
    "IPv6 without brackets": (400, get(host="::1")),
    "a line end of Unicode in Host": (400, get(host="127.0.0.1\x85:{port}")),
    "a folded Host": (400, get(host="127.0.0.1:{port}\r\n evil.example")),
    "a folded Host, nothing before": (421, get(host="\r\n evil.example")),
    "a space before the colon": (400, get(host=None, extra_headers="Host : 127.0.0.1:{port}\r\n")),
    "a space before the name": (400, get(host=None, extra_headers=" Host: 127.0.0.1:{port}\r\n")),
    "a space in a name": (400, get(extra_headers="X Y: 1\r\n")),
    "no name": (400, get(extra_headers=": 1\r\n")),
    "two lengths": (400, post("Content-Length: 2\r\nContent-Length: 3\r\n", "abc")),
    "two lengths in one line": (400, post("Content-Length: 2, 3\r\n", "abc")),
    "a length with a sign": (400, post("Content-Length: +2\r\n", "ab")),
    "a length and chunks": (
        400,
        post("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    ),
    "another coding than chunks": (
        400,
        post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
    ),
    "chunks in HTTP/1.0": (
        400,
        get(extra_headers="Transfer-Encoding: chunked\r\n", version="1.0") + "0\r\n\r\n",
    ),
    "a CONNECT": (400, f"CONNECT evil.example:443 HTTP/1.1\r\nHost: 127.0.0.1\r\n{CLOSE}\r\n"),
    "the preface of HTTP/2": (421, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
}


async def test_a_request_is_for_this_server_or_refused(server):
    """A connection whose request is refused ends: where the next one begins is not sure."""
    requests = {
        name: text if status == 200 else text.replace(CLOSE, "")
        for name, (status, text) in REQUESTS.items()
    }

    responses = await exchange_all(server, requests)

    statuses = {name: status_of(response) for name, response in responses.items()}
    assert statuses == {name: status for name, (status, _) in REQUESTS.items()}
    assert b"evil" not in b"".join(responses.values())


BROKEN = {
    "the first chunk": "zz\r\n\r\n",
    "a later chunk": "1\r\na\r\nzz\r\n\r\n",
    "the length of a chunk": f"{'f' * 40}\r\n",
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
async def test_a_broken_body_is_refused_without_a_traceback(body, server, caplog):
    head = get(extra_headers="Transfer-Encoding: chunked\r\n")

    response = await exchange(server, head + body)

    assert response.count(b"HTTP/1.1") == 1
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_body_that_breaks_after_the_response_ends_the_connection(caplog):
    head = get(extra_headers="Transfer-Encoding: chunked\r\n").replace(CLOSE, "")
    async with browse(None) as server:
        response = await exchange(server, head, "zz\r\n\r\n", after=b"\r\n\r\n")

    assert response.startswith(b"HTTP/1.1 200 ")
    assert response.count(b"HTTP/1.1") == 1
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


PATHS = (
    *("/healthz", "/readyz", "/metrics", "/mcp", "/pets/mcp", "/login", "/login/callback"),
    *("/.well-known/oauth-protected-resource/mcp", "/nothing"),
)


async def test_no_page_is_served_under_another_name(tmp_path, monkeypatch):
    """Before the token is looked at: who asks for another host is told nothing about it."""
    monkeypatch.setenv("ALICE_TOKEN", "alice-0123456789abcdef")
    keys = 'paths = true\n[serve.auth.tokens]\nalice = "${ALICE_TOKEN}"'
    tokens = {"": "", "good ": "Authorization: Bearer alice-0123456789abcdef\r\n"}
    requests = {
        f"{label}{path}": get(path, host="evil.example", extra_headers=extra_headers)
        for label, extra_headers in tokens.items()
        for path in PATHS
    }
    async with host_team(write_configuration(tmp_path, keys, pets=PETS)) as server:
        port = int(server.address.rpartition(":")[2])
        responses = await exchange_all((port, ""), requests)

    assert {status_of(response) for response in responses.values()} == {421}
    bodies = {response.partition(b"\r\n\r\n")[2] for response in responses.values()}
    assert bodies == {b"This host name is not allowed; add it to allow_hosts in [serve]."}


async def test_a_refused_host_is_logged_on_one_line(tmp_path, caplog):
    async with serve(tmp_path) as server:
        await exchange(server, get(host="evil.example"))

    assert [record.getMessage() for record in caplog.records] == [
        "a request for another host, 'evil.example', is refused"
    ]


ANYWHERE = 'host = "0.0.0.0"\ninsecure = true\nallow_hosts = ["Tools.example.com", "b.example:81"]'


HOSTS = {
    "127.0.0.1:{port}": [200, 406],
    "LOCALHOST:{port}": [200, 406],
    "tools.example.com": [200, 406],
    "tools.example.com:8443": [200, 406],
    "b.example:81": [200, 406],
    "b.example:82": [421, 421],
    "127.0.0.2:{port}": [200, 421],  # the address of the connection, as a probe names it
    "127.0.0.2:30080": [200, 421],
    "127.0.0.3:{port}": [421, 421],
}


async def test_probes_may_name_the_address_that_they_connect_to(tmp_path):
    """MCP stays for names: 406 is its response to a GET without `Accept`."""
    with web_server.open_socket("0.0.0.0", 0) as place:
        started = team_server.start_server(
            str(write_configuration(tmp_path, ANYWHERE, pets=PETS)), {}
        )
        async with running_at(place, started):
            port = place.getsockname()[1]
            statuses = {
                host: [
                    status_of(await exchange((port, path), get(host=host), address="127.0.0.2"))
                    for path in ("/healthz", "/mcp")
                ]
                for host in HOSTS
            }

    assert statuses == HOSTS


@pytest.mark.parametrize("name", ["https://a.example", "*.example", "a b", "", "a:x", "u@a"])
def test_a_name_that_is_no_host_is_wrong_configuration(name):
    with pytest.raises(SettingsError, match=r"serve\.allow_hosts: '.*' is not a host; expected"):
        server_hosts(ServeTable(allow_hosts=(name,)))
