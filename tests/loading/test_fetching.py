"""Documents of URLs: nothing that a server does makes fetching endless, large or indiscreet.

They come through the sender of calls, whose tests have every fault of HTTP and TLS; here is what
these mean for a document.
"""

import base64
import json
import socket
import threading
import time
import tracemalloc
import zlib

import pytest
from documents import document, operation
from servers.faults import Faults, make_response, reply_with
from servers.recorder import CannedResponse, Recorder
from servers.tls import Authority, TlsServer

from openapi_tools import Settings, SourceError, aload_tools, load_tools
from openapi_tools.transport import network_policy

API = json.dumps(document({"/x": {"get": operation()}}, servers=[{"url": "v1"}])).encode()
OK = b"HTTP/1.1 200 OK\r\n"
MEBIBYTE = 1024 * 1024


async def load_url(url, **settings):
    return await aload_tools(url, settings=Settings(**{"timeout": 5.0, **settings}))


async def refuse_url(behave, reason, **settings):
    """Load from a server that does something wrong; return the error's words."""
    async with Faults(behave) as server:
        with pytest.raises(SourceError, match=reason) as caught:
            await load_url(server.url, **settings)
    return str(caught.value)


def server_of(toolset):
    return toolset["get_x"].operation.servers[0].url


@pytest.fixture
async def site():
    async with Recorder(CannedResponse(body=API)) as running:
        yield running


async def test_a_document_is_fetched_and_its_address_is_the_base_of_its_servers(site):
    url = f"{site.url}/api/openapi.json?token=s3cret#/info".replace("http", "HTTP", 1)

    toolset = await load_url(url)

    assert server_of(toolset) == f"{site.url}/api/v1"
    assert site.last.method == "GET"
    assert site.last.target == "/api/openapi.json?token=s3cret"
    assert site.last.header("Host") == f"127.0.0.1:{site.port}"
    assert str(site.last.header("Accept")).startswith("application/json")
    assert site.last.header("Cookie") is site.last.header("Authorization") is None


async def test_a_document_is_fetched_where_an_event_loop_runs():
    with TlsServer(None, make_response(API)) as server:
        assert len(load_tools(server.url)) == 1


async def test_user_and_password_are_sent_inside_of_the_origin_and_shown_nowhere(site):
    site.responses.append(CannedResponse(302, [("Location", "/b/c.json")], b""))

    toolset = await load_url(f"{site.url}/a.json".replace("//", "//m%40x:s3c:ret@"))

    expected = f"Basic {base64.b64encode(b'm@x:s3c:ret').decode()}"
    assert [asked.header("Authorization") for asked in site.requests] == [expected] * 2
    assert server_of(toolset) == f"{site.url}/b/v1"


@pytest.mark.parametrize("status", [204, 206, 304, 401, 404, 500, 999])
async def test_another_status_than_200_is_an_error_that_says_so(site, status):
    site.response = CannedResponse(status, [], b"" if status in (204, 304) else b"<html>")

    with pytest.raises(SourceError, match=f"status {status}") as raised:
        await load_url(f"{site.url}/?token=s3cret".replace("//", "//me:s3cret@", 1))

    assert str(raised.value).startswith(f"{site.url}/:")
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    "target",
    [
        *("http://127.0.0.1:{}/", "//127.0.0.1:{}/", "http://user:s3cret@127.0.0.1:{}/?s3cret"),
        *("https://127.0.0.1:{own}/", "file:///etc/passwd", "http://[::1"),
    ],
)
async def test_redirects_to_another_origin_are_not_followed(site, target):
    async with Recorder() as sink:
        where = target.format(sink.port, own=site.port)
        site.responses.append(CannedResponse(302, [("Location", where)], b""))

        with pytest.raises(SourceError, match="not followed") as raised:
            await load_url(site.url)

        assert sink.connections == 0
    assert len(site.requests) == 1
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"220 ftp.example ready\r\n", "not valid HTTP|the connection was lost"),
        (make_response(API)[:-1], "the connection was lost"),
        (make_response(API, "Content-Encoding: br"), "the response"),
        (make_response(API, "Content-Encoding: gzip"), "the response"),
    ],
    ids=["another protocol", "cut", "unknown coding", "another coding"],
)
async def test_a_broken_response_is_refused(raw, reason):
    assert await refuse_url(reply_with(raw), reason)


@pytest.mark.long
async def test_a_gzip_bomb_is_refused_before_it_grows():
    squeezer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(squeezer.compress(bytes(MEBIBYTE)) for _ in range(256)) + squeezer.flush()
    behave = reply_with(make_response(bomb, "Content-Encoding: gzip"))
    tracemalloc.start()

    await refuse_url(behave, "larger than 8,388,608 bytes", max_document_bytes=8 * MEBIBYTE)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 * MEBIBYTE


@pytest.mark.parametrize("head", [b"", b"Content-Length: 1000000000\r\n"], ids=["any", "declared"])
async def test_an_endless_body_is_refused_at_the_limit(head):
    async def endless(peer):
        await peer.request()
        await peer.write(OK + head + b"\r\n")
        if head:
            await peer.hang()
        await peer.write_forever(b"[" * 4096)

    await refuse_url(endless, "larger than 1,000 bytes", max_document_bytes=1000)


STARTS = {
    "status line": b"",
    "header": OK + b"X: ",
    "body": OK + b"\r\n",
    "body that is a document so far": OK + b"Content-Type: application/json\r\n\r\n" + API,
    "body of whole lines": OK + b"Content-Type: application/x-ndjson\r\n\r\n" + API + b"\n{}",
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
async def test_a_slow_drip_ends_at_the_deadline(start):
    async def drip(peer):
        await peer.request()
        await peer.write(start)
        await peer.write_forever(b" ", pause=0.02)

    await refuse_url(drip, r"within the timeout|not valid HTTP", timeout=0.3)


async def test_a_deadline_that_has_passed_asks_nobody(site):
    with pytest.raises(SourceError, match="within the timeout"):
        await load_url(site.url, timeout=1e-9)

    assert site.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        *("http://", "http:///a", "http://u:s3cret@/", "http://h:99999/", "http://u:s3cret@h:x/"),
        *("http://h\n/s3cret", "http://[::1/", "http://\ud800/", f"http://{'a' * 70_000}/"),
    ],
    ids=range(9),
)
def test_an_impossible_url_is_refused(url):
    with pytest.raises(SourceError, match=r"URL") as raised:
        load_tools(url)

    assert "s3cret" not in str(raised.value)


def test_https_takes_authorities_that_the_user_trusts_and_no_others(tmp_path, monkeypatch):
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    with TlsServer(authority.server(), make_response(API)) as server:
        with pytest.raises(SourceError, match="certificate is not trusted"):
            load_tools(server.url)
        assert server.requests == []

        for settings in (Settings(ca_file=authority.file), Settings(trust_env=True)):
            assert len(load_tools(server.url, settings=settings)) == 1
        with pytest.raises(SourceError, match=r"Settings\(ca_file=…\)"):
            load_tools(server.url, settings=Settings(ca_file=tmp_path / "absent.pem"))


# Which addresses are asked: the network policy of calls


@pytest.fixture
def resolver(monkeypatch):
    """Lets `docs.test` have addresses: each list is one answer, the last one stays.

    127.0.0.1 passes for an address of the internet; the rest of loopback stays what it is.
    """
    real, kind_of = socket.getaddrinfo, network_policy.kind_of
    queue = []

    def getaddrinfo(host, *args, **kwargs):
        if host != "docs.test":
            return real(host, *args, **kwargs)
        targets = queue.pop(0) if len(queue) > 1 else queue[0]
        return [info for name in targets for info in real(name, *args, **kwargs)]

    def kind(address):
        return "" if address == "127.0.0.1" else kind_of(address)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(network_policy, "kind_of", kind)
    return lambda *addresses: queue.extend(addresses)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"]
)
async def test_everything_private_is_refused_on_request(site, host):
    with pytest.raises(SourceError) as caught:
        await load_url(f"http://me:hunter2@{host}:{site.port}/?key=hunter2", allow_private=False)

    assert "which is guarded; Settings(allow_private=True) allows it." in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert site.connections == 0


async def test_one_private_address_among_others_refuses_the_host(site, resolver):
    resolver(["127.0.0.1", "10.0.0.1"])

    with pytest.raises(SourceError, match=r"'docs.test' has a private address"):
        await load_url(f"http://docs.test:{site.port}/", allow_private=False)

    assert site.connections == 0


async def test_a_redirect_of_a_public_host_does_not_follow_its_name_inside(site, resolver):
    resolver(["127.0.0.1"], ["127.0.0.2"])
    site.responses.append(CannedResponse(302, [("Location", "/b.json")], b""))

    with pytest.raises(SourceError, match=r"'docs.test' has a loopback address"):
        await load_url(f"http://docs.test:{site.port}/a.json")

    assert len(site.requests) == 1


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "has a loopback address"),
        ({"allow_private": True}, "no connection"),
        ({"base_url": "http://127.0.0.2:1"}, "no connection"),
    ],
    ids=["by default", "allowed", "named"],
)
async def test_what_a_public_document_refers_to_is_public_too(site, resolver, settings, reason):
    resolver(["127.0.0.1"])
    inside = "http://127.0.0.2:1"  # where nobody listens: whoever tries finds no connection
    parameter = {"name": "q", "in": "query", "schema": {"$ref": f"{inside}/q.json"}}
    paths = {"/x": {"get": operation(parameters=[parameter])}}
    site.response = CannedResponse(body=json.dumps(document(paths)).encode())

    toolset = await load_url(f"http://docs.test:{site.port}/a", ref_urls=(inside,), **settings)

    assert reason in toolset.skipped[0].reason


def test_a_resolver_that_hangs_is_under_the_deadline(monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait(20) and [])
    begin = time.monotonic()

    with pytest.raises(SourceError, match="within the timeout"):
        load_tools("http://slow.test/", settings=Settings(timeout=0.1))

    took = time.monotonic() - begin
    released.set()
    assert took < 5


async def test_a_proxy_of_the_environment_is_used_only_when_that_is_trusted(site, monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with Recorder(CannedResponse(body=API)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        await load_url(site.url)
        assert proxy.connections == 0

        toolset = await load_url("http://docs.test/a.json", trust_env=True)

    assert proxy.last.target == "http://docs.test/a.json"
    # Who answered is not known, so that it may have been anyone.
    assert toolset.session.provenance.public
