"""What is sent over a connection, what is read from it, and when it is used again."""

import asyncio
import time

import httpx
import pytest
import respx
from servers.documents import call_server, document
from servers.faults import Faults, make_response, serve

from openapi_tools import Settings, load_tools
from openapi_tools.transport.connection_pool import make_client
from openapi_tools.transport.connections import WireExchange

OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: 2\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def client_of(**options):
    return make_client(Settings(**options))


async def pieces(*parts):
    for piece in parts:
        yield piece


# ---- what is sent -----------------------------------------------------------------------------

REQUESTS = {
    "plain": ("GET", "/a?b=c", {}),
    "an empty query": ("GET", "/a?", {}),
    "an escaped path": ("GET", "/a%2fb%2F%41//c;d=e/%C3%A9?x=%20+&y=[]|'", {}),
    "an odd method": ("pAtCh", "/", {"content": b"{}"}),
    "a method with marks": ("X-Y!", "/", {}),
    "headers as they are written": ("GET", "/", {"headers": [("x-LOW", "1"), ("X-Low", ""),
                                                            ("X-LOW", "2"), ("x_y", "a  b\tc")]}),
    "a header in Latin-1": ("GET", "/", {"headers": [(b"X", b"caf\xe9")]}),
    "a host of its own": ("GET", "/", {"headers": [("a", "b"), ("hOsT", "other.test:8")]}),
    "a body": ("POST", "/", {"content": b"x" * 100_000}),
    "a body of no bytes": ("POST", "/", {"content": b""}),
    "a body of a GET": ("GET", "/", {"content": b"{}"}),
    "a form": ("POST", "/", {"data": {"a": "b c", "d": ["1", "2"]}}),
    "multipart": ("POST", "/", {"files": {"f": ("n.bin", b"\0" * 70_000)},
                                "headers": {"Content-Type": "multipart/form-data; boundary=b"}}),
    "no longer than this": ("POST", "/", {"headers": {"Connection": "close"}, "content": b"{}"}),
    "a body in pieces": ("POST", "/", {"content": (b"abc", b"", b"def")}),
    "pieces with a length": ("POST", "/", {"content": (b"abc", b"", b"def"),
                                           "headers": {"Content-Length": "6"}}),
}  # fmt: skip


def request_of(method, url, options):
    """Return a request; a tuple for its content comes in pieces."""
    content = options.get("content")
    if isinstance(content, tuple):
        options = {**options, "content": pieces(*content)}
    return httpx.Request(method, url, **options)


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_request_is_sent_as_it_is(recorder, name):
    method, path, options = REQUESTS[name]
    async with client_of() as client:
        await client.send(request_of(method, recorder.url + path, options))

    [first] = recorder.requests
    assert first.raw.startswith(f"{method.upper()} {path} HTTP/1.1\r\n".encode())
    if "pieces" in name:
        assert first.body == b"abcdef"
        assert (first.header("Transfer-Encoding") is None) == ("length" in name)


REFUSED = {
    "a line end in a value": {"headers": [(b"X", b"a\r\nEvil: 1")]},
    "a line feed in a value": {"headers": [(b"X", b"a\nEvil: 1")]},
    "a line end in a name": {"headers": [(b"X\r\nEvil", b"1")]},
    "a space in a name": {"headers": [(b"X Y", b"1")]},
    "a colon in a name": {"headers": [(b"Evil: 1, X", b"1")]},
    "a NUL": {"headers": [(b"X", b"\0")]},
    "two hosts": {"headers": [("Host", "a"), ("Host", "b")]},
    "two lengths": {"headers": [("Content-Length", "1"), ("Content-Length", "2")]},
    "a length of words": {"headers": [("Content-Length", "two")], "content": b"ab"},
    "too short a body": {"headers": [("Content-Length", "3")], "content": b"ab"},
    "too long a body": {"headers": [("Content-Length", "1")], "content": b"ab"},
    "too short a body in pieces": {"headers": [("Content-Length", "3")], "content": (b"ab",)},
    "too long a body in pieces": {"headers": [("Content-Length", "1")], "content": (b"ab",)},
    "another coding": {"headers": [("Transfer-Encoding", "gzip")], "content": b"ab"},
    "a method with a line end": {"method": "GET / HTTP/1.1\r\nEvil: 1\r\n\r\nGET"},
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_breaks_http_is_not_sent(recorder, name):
    options = dict(REFUSED[name])
    method = options.pop("method", "POST")
    async with client_of() as client:
        with pytest.raises(httpx.LocalProtocolError):
            await client.send(request_of(method, recorder.url, options))

        assert not client._transport._open
    assert not any(b"Evil" in request.raw for request in recorder.requests)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "gopher://127.0.0.1/"])
async def test_other_schemes_are_refused(url):
    async with client_of() as client:
        with pytest.raises(httpx.UnsupportedProtocol):
            await client.get(url)


# ---- what is read -----------------------------------------------------------------------------

RESPONSES = {
    "plain": OK + LENGTH + b"{}",
    "fields as they are written": OK + b"x-LOW:1\r\nX-Low:  a b \t\r\nE:\r\n" + LENGTH + b"{}",
    "no body": OK + b"Content-Length: 0\r\n\r\n",
    "to the end": OK + b"\r\nabc",
    "to the end, kept": OK + b"Connection: keep-alive\r\n\r\nabc",
    "in chunks": CHUNKED + b"2\r\n{}\r\n" + LAST,
    "in many chunks": CHUNKED + b"1\r\nx\r\n" * 5000 + LAST,
    "in large chunks": CHUNKED + (b"10000\r\n" + b"x" * 0x10000 + b"\r\n") * 3 + LAST,
    "chunks with extensions and trailers": CHUNKED + b"2;a=b\r\n{}\r\n0\r\nT: v\r\n\r\n",
    "chunks with odd spaces": CHUNKED + b"2  \r\n{}\r\n" + LAST,
    "chunks with bare line feeds": CHUNKED + b"2\n{}\n0\n\n",
    "a bare line feed behind a size": CHUNKED + b"2\n{}\r\n" + LAST,
    "a bare line feed behind a chunk": CHUNKED + b"2\r\n{}\n" + LAST,
    "a bare line feed behind an extension": CHUNKED + b"2;a=b\n{}\r\n" + LAST,
    "a bare line feed behind the last chunk": CHUNKED + b"2\r\n{}\r\n0\r\n\n",
    "a blank before an extension": CHUNKED + b"2 ;a=b\r\n{}\r\n" + LAST,
    "a blank behind the name of an extension": CHUNKED + b"2;a =b\r\n{}\r\n" + LAST,
    "NUL in an extension": CHUNKED + b"2;a=\0\r\n{}\r\n" + LAST,
    "a blank before a size": CHUNKED + b" 2\r\n{}\r\n" + LAST,
    "a size with a prefix": CHUNKED + b"0x2\r\n{}\r\n" + LAST,
    "no size": CHUNKED + b"\r\n{}\r\n" + LAST,
    "a trailer with NUL": CHUNKED + b"2\r\n{}\r\n0\r\nT: a\0b\r\n\r\n",
    "a trailer with a bare carriage return": CHUNKED + b"2\r\n{}\r\n0\r\nT: a\rb\r\n\r\n",
    "a trailer without a colon": CHUNKED + b"2\r\n{}\r\n0\r\nT\r\n\r\n",
    "a trailer with a space behind": CHUNKED + b"2\r\n{}\r\n0\r\nT : a\r\n\r\n",
    "a length as a trailer": CHUNKED + b"2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n",
    "Chunked": OK + b"transfer-encoding: Chunked\r\n\r\n2\r\n{}\r\n" + LAST,
    "chunked twice": OK + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n2\r\n{}\r\n" + LAST,
    "gzip, chunked": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n" + LAST,
    "identity": OK + b"Transfer-Encoding: identity\r\n" + LENGTH + b"{}",
    "rot13": OK + b"Transfer-Encoding: rot13\r\n\r\nuryyb",
    "length and chunks": OK + b"Transfer-Encoding: chunked\r\n" + LENGTH + b"2\r\n{}\r\n" + LAST,
    "the same length twice": OK + b"Content-Length: 2\r\n" + LENGTH + b"{}",
    "the same length in a list": OK + b"Content-Length: 2, 2\r\n\r\n{}",
    "two lengths": OK + b"Content-Length: 3\r\n" + LENGTH + b"{}",
    "a length with a sign": OK + b"Content-Length: +2\r\n\r\n{}",
    "an empty length": OK + b"Content-Length:\r\n\r\n{}",
    "a length of 2^64-1": OK + b"Content-Length: 18446744073709551615\r\n\r\n{}",
    "a length of 2^70": OK + b"Content-Length: 1180591620717411303424\r\n\r\n{}",
    "no reason": b"HTTP/1.1 200\r\n" + LENGTH + b"{}",
    "an empty reason": b"HTTP/1.1 200 \r\n" + LENGTH + b"{}",
    "a reason in Latin-1": b"HTTP/1.1 200 caf\xe9\r\n" + LENGTH + b"{}",
    "a reason in UTF-8": b"HTTP/1.1 200 caf\xc3\xa9\r\n" + LENGTH + b"{}",
    "NUL in a reason": b"HTTP/1.1 200 a\0b\r\n" + LENGTH + b"{}",
    "a form feed in a reason": b"HTTP/1.1 200 a\x0cb\r\n" + LENGTH + b"{}",
    "an underscore for a hyphen": OK + b"Content_Length: 2\r\n\r\n{}",
    "a length of leading zeros": OK + b"Content-Length: 0002 \r\n\r\n{}",
    "fields in Latin-1": OK + b"X: caf\xe9\r\n" + LENGTH + b"{}",
    "control characters": OK + b"X: a\x01\x7fb\r\n" + LENGTH + b"{}",
    "a vertical tab": OK + b"X: a\x0bb\r\n" + LENGTH + b"{}",
    "NUL": OK + b"X: a\0b\r\n" + LENGTH + b"{}",
    "a bare carriage return": OK + b"X: a\rb\r\n" + LENGTH + b"{}",
    "bare line feeds": (OK + LENGTH).replace(b"\r", b"") + b"{}",
    "some bare line feeds": OK + b"X: y\n" + LENGTH + b"{}",
    "a folded field": OK + b"X: a\r\n  b\r\n\tc\r\n" + LENGTH + b"{}",
    "folded at once": OK + b" X: a\r\n" + LENGTH + b"{}",
    "a name with a space": OK + b"X y: z\r\n" + LENGTH + b"{}",
    "a name with a space behind": OK + b"X : z\r\n" + LENGTH + b"{}",
    "a length with a space behind": OK + b"Content-Length : 2\r\n\r\n{}" + OK + LENGTH + b"{}",
    "a length with a word behind": OK + b"Content-Length 0: 2\r\n\r\n{}" + OK + LENGTH + b"{}",
    "a coding with a space behind": OK + b"Transfer-Encoding : chunked\r\n\r\n2\r\n{}\r\n" + LAST,
    "a coding with a tab behind": OK + b"Transfer-Encoding\t: chunked\r\n\r\n2\r\n{}\r\n" + LAST,
    "a space behind Connection": OK + b"Connection : close\r\n" + LENGTH + b"{}",
    "no name": OK + b": z\r\n" + LENGTH + b"{}",
    "no colon": OK + b"xyz\r\n" + LENGTH + b"{}",
    "a name in UTF-8": OK + b"caf\xc3\xa9: z\r\n" + LENGTH + b"{}",
    "an old handshake": OK + b"Sec-WebSocket-Key1: 5\r\n" + LENGTH + b"{}",
    "an offer to change": OK + b"Upgrade: h2c\r\nConnection: upgrade\r\n" + LENGTH + b"{}",
    "200 fields": OK + b"".join(b"X-%d: y\r\n" % n for n in range(200)) + LENGTH + b"{}",
    "a field of 60 kB": OK + b"X: " + b"y" * 60_000 + b"\r\n" + LENGTH + b"{}",
    "a field of 200 kB": OK + b"X: " + b"y" * 200_000 + b"\r\n" + LENGTH + b"{}",
    "an empty line before": b"\r\n" + OK + LENGTH + b"{}",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n" + LENGTH + b"{}",
    "HTTP/1.0, kept": b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + LENGTH + b"{}",
    "HTTP/2.0": b"HTTP/2.0 200 OK\r\n" + LENGTH + b"{}",
    "HTTP/1.2": b"HTTP/1.2 200 OK\r\n" + LENGTH + b"{}",
    "http/1.1": b"http/1.1 200 OK\r\n" + LENGTH + b"{}",
    "RTSP": b"RTSP/1.0 200 OK\r\n" + LENGTH + b"{}",
    "ICY": b"ICY 200 OK\r\n" + LENGTH + b"{}",
    "two spaces": b"HTTP/1.1  200 OK\r\n" + LENGTH + b"{}",
    "status 020": b"HTTP/1.1 020 OK\r\n" + LENGTH + b"{}",
    "status 999": b"HTTP/1.1 999 OK\r\n" + LENGTH + b"{}",
    "status 2000": b"HTTP/1.1 2000 OK\r\n" + LENGTH + b"{}",
    "interim answers": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\n"
    + (OK + LENGTH + b"{}"),
    "101": b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "204 with a length": b"HTTP/1.1 204 No Content\r\n" + LENGTH,
    "304 with a length": b"HTTP/1.1 304 Not Modified\r\n" + LENGTH,
    "304 in chunks": b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
    "the end asked for": OK + b"Connection: close\r\n" + LENGTH + b"{}",
    "the End asked for": OK + b"Connection: x, Close\r\n" + LENGTH + b"{}",
    "more than the length": OK + LENGTH + b"{}X",
    "an answer behind the length": OK + LENGTH + b"{}" + OK + LENGTH + b"{}",
    "half an answer behind the length": OK + LENGTH + b"{}" + OK[:9],
    "more than the chunks": CHUNKED + b"2\r\n{}\r\n" + LAST + b"X",
    "an answer behind the chunks": CHUNKED + b"2\r\n{}\r\n" + LAST + OK + LENGTH + b"{}",
    "half an answer behind the chunks": CHUNKED + b"2\r\n{}\r\n" + LAST + OK[:9],
    "more than nothing": b"HTTP/1.1 204 No Content\r\n\r\n{}",
    "less than the length": OK + LENGTH + b"{",
    "less than the chunk": CHUNKED + b"2\r\n{",
    "no last chunk": CHUNKED + b"2\r\n{}\r\n",
    "no end of the head": OK,
    "nothing": b"",
    "a wrong chunk": CHUNKED + b"zz\r\n{}\r\n" + LAST,
    "a wrong end of a chunk": CHUNKED + b"2\r\n{}XX" + LAST,
    "a chunk of 2^68": CHUNKED + b"1" + b"0" * 17 + b"\r\n{}",
    "words": b"hello\r\n\r\n",
    "TLS": b"\x15\x03\x01\x00\x02\x02\x46",
}


async def test_a_head_of_many_lines_without_a_colon_is_read_in_time():
    head = b"HTTP/1.1 200 OK\n" + b"a\n" * 45_000 + b"\n"
    begun = time.process_time()

    with pytest.raises(httpx.RemoteProtocolError):
        WireExchange(httpx.Request("GET", "http://api.test")).feed(head)

    assert time.process_time() - begun < 1


BROKEN = {
    "chunks with bare line feeds",
    "a bare line feed behind a size",
    "a bare line feed behind a chunk",
    "a bare line feed behind an extension",
    "a blank before an extension",
    "a blank before a size",
    "a size with a prefix",
    "no size",
    "a trailer with NUL",
    "a trailer with a bare carriage return",
    "a trailer without a colon",
    "a trailer with a space behind",
    "chunked twice",
    "gzip, chunked",
    "identity",
    "rot13",
    "two lengths",
    "a length with a sign",
    "an empty length",
    "a length of 2^64-1",
    "a length of 2^70",
    "NUL in a reason",
    "a form feed in a reason",
    "a vertical tab",
    "NUL",
    "a bare carriage return",
    "folded at once",
    "a name with a space",
    "a name with a space behind",
    "a length with a space behind",
    "a length with a word behind",
    "a coding with a space behind",
    "a coding with a tab behind",
    "a space behind Connection",
    "no name",
    "no colon",
    "a name in UTF-8",
    "a field of 200 kB",
    "an empty line before",
    "http/1.1",
    "RTSP",
    "ICY",
    "two spaces",
    "status 020",
    "status 2000",
    "101",
    "less than the length",
    "less than the chunk",
    "no last chunk",
    "no end of the head",
    "nothing",
    "a wrong chunk",
    "a wrong end of a chunk",
    "a chunk of 2^68",
    "words",
    "TLS",
}
"""Responses that break HTTP when the server closes the connection behind them."""

METHODS = ("GET", "HEAD")
QUIET = 0.4
"""Seconds after which nothing more is expected of a server that closes nothing."""


async def what_comes(client, method, url):
    """Return how a request ends, in a form that can be compared."""
    try:
        async with asyncio.timeout(QUIET), client.stream(method, url) as response:
            content = b"".join([piece async for piece in response.aiter_raw()])
    except (httpx.HTTPError, TimeoutError) as error:
        return [type(error)]
    status_line = [response.extensions[name] for name in ("http_version", "reason_phrase")]
    return [response.status_code, *status_line, response.headers.raw, content]


async def ends_of(text, method, *, closes):
    """Return how a request that gets this response ends, and the next one with the same client."""

    async def say(peer):
        await peer.request()
        if peer.server.connections == 1:
            await peer.write(text)
            if closes:
                return
            await peer.request()
        await peer.write(make_response(b"next"))

    async with Faults(say) as server, client_of() as client:
        first = await what_comes(client, method, server.url)
        second = await what_comes(client, "GET", server.url)
        return [first, second[-1], server.connections]


@pytest.mark.long
@pytest.mark.parametrize("closes", [True, False], ids=["closes", "stays"])
@pytest.mark.parametrize("name", RESPONSES)
async def test_no_response_reaches_into_the_next(name, closes):
    for method in METHODS if closes else METHODS[:1]:
        first, following, _ = await ends_of(RESPONSES[name], method, closes=closes)

        assert following == b"next"
        if closes and method == "GET":
            is_refused = first == [httpx.RemoteProtocolError]
            assert is_refused == (name in BROKEN), first


@pytest.mark.parametrize(
    "name", ["a bare line feed behind a chunk", "a blank before an extension", "a trailer with NUL"]
)
async def test_chunks_that_break_http_are_refused(name):
    ends = await ends_of(RESPONSES[name], "GET", closes=True)

    assert ends == [[httpx.RemoteProtocolError], b"next", 2]


@pytest.mark.parametrize("name", ["chunks with extensions and trailers", "fields in Latin-1"])
async def test_a_response_that_comes_byte_by_byte_is_read_alike(name):
    async def drip(peer):
        while True:
            await peer.request()
            for byte in RESPONSES[name]:
                await peer.write(bytes([byte]))
                await asyncio.sleep(0)

    async with Faults(drip) as server, client_of() as client:
        ends = [await what_comes(client, "GET", server.url) for _ in range(2)]

    assert ends == [ends[0]] * 2
    assert ends[0][-1] == b"{}"


# ---- the connections --------------------------------------------------------------------------


async def test_connections_are_used_again_and_few_are_kept():
    async with Faults(serve) as server, client_of(concurrency=3) as client:
        for _ in range(5):
            await client.get(server.url)
        assert server.connections == 1

        await asyncio.gather(*(client.get(server.url) for _ in range(10)))
        await server.wait_until(lambda: server.connections - server.ended <= 3)
        assert server.connections <= 10
    await server.wait_until(lambda: server.connections == server.ended)


async def test_a_kept_connection_grows_old(monkeypatch):
    monkeypatch.setattr("openapi_tools.transport.connection_pool.IDLE_SECONDS", -1.0)
    async with Faults(serve) as server, Faults(serve) as other, client_of() as client:
        await client.get(server.url)
        await client.get(other.url)  # a request to elsewhere tidies up, too

        await server.wait_until(lambda: server.ended == 1)
        await client.get(server.url)
        assert (server.connections, other.connections) == (2, 1)


async def test_nothing_is_kept_of_many_servers():
    async with client_of(concurrency=2) as client:
        for _ in range(20):
            async with Faults(serve) as server:
                await client.get(server.url)

        assert len(client._transport._open) <= 2


async def test_a_response_that_is_not_read_to_its_end_closes_its_connection():
    async def endless(peer):
        await peer.request()
        await peer.write(OK + b"\r\n")
        await peer.write_forever(b"x" * 1000, pause=0.001)

    async with Faults(endless) as server, client_of() as client:
        async with client.stream("GET", server.url) as response:
            async for piece in response.aiter_raw():
                assert piece.strip(b"x") == b""
                break

        await server.wait_until(lambda: server.ended == 1)


async def test_a_response_before_the_body_was_sent_ends_the_connection():
    async def refuse(peer):
        await peer.write(make_response(b"no", status="413 Too Large"))
        await peer.server.wait_until(lambda: bool(peer.server.requests))

    async with Faults(refuse) as server, client_of() as client:

        async def body():
            yield b"x"
            server.requests.append(b"")
            server.changed.set()
            await server.wait_until(lambda: server.ended == 1)
            await asyncio.sleep(0.05)
            yield b"x" * 1_000_000
            yield b"x" * 1_000_000

        response = await asyncio.wait_for(client.post(server.url, content=body()), 5)

        assert response.content == b"no"
        assert server.connections == 1


# ---- test doubles -----------------------------------------------------------------------------


@pytest.mark.parametrize("using", ["httpcore", "httpx"])
async def test_who_replaces_httpx_for_a_test_is_asked(using):
    with respx.mock(using=using) as router:
        router.get("http://api.test/p").respond(json=[1])
        result = await call_server("http://api.test")

    assert result.output == [1]


async def test_a_double_that_comes_after_a_first_call_serves_the_next(recorder):
    settings = Settings(base_url=recorder.url)
    async with load_tools(document(), settings=settings) as toolset:
        await toolset["call"].execute({})
        with respx.mock() as router:
            router.get(f"{recorder.url}/p").respond(json=[1])
            doubled = await toolset["call"].execute({})
        await toolset["call"].execute({})

    assert doubled.output == [1]
    assert len(recorder.requests) == 2
