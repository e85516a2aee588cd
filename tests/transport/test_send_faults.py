"""Servers that break off, drip, lie and flood: each ends as one kind of error, in time."""

import asyncio
import contextlib
import gzip
import time
import tracemalloc
import zlib
from typing import TYPE_CHECKING

import httpx
import pytest
from servers.faults import Faults, answer, replying

from openapi_tools.errors import CallError
from openapi_tools.settings import Settings
from openapi_tools.transport.sender import Answer, Sender

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from servers.faults import Peer

    Behaviour = Callable[[Peer], Awaitable[None]]

TIMEOUT = 0.4
SLACK = 1.5  # for a busy machine; an error that waits for the server would take for ever
LIMIT = 100_000
SECRET = "k3y-in-the-query"


async def outcome(behave, method="GET", content=None, **settings):
    """Return the answer or the error of one call."""
    sender = Sender(Settings(**{"timeout": TIMEOUT, "max_response_bytes": LIMIT} | settings))
    async with Faults(behave) as server:
        url = f"{server.url}/pets/7?api_key={SECRET}"
        started = time.monotonic()
        try:
            result = await sender.send(httpx.Request(method, url, content=content))
        except CallError as error:
            result = error
        assert time.monotonic() - started < TIMEOUT + SLACK or "timeout" in settings
        await sender.aclose()
    if isinstance(result, CallError):
        assert SECRET not in result.reason
        assert len(result.reason) < 1000
    return result


def kind(result):
    return result.kind if isinstance(result, CallError) else str(result.status)


async def close_at_once(peer):
    await peer.request()


def partly(data, *, hang=False):
    """Return a behaviour that begins an answer and does not end it."""

    async def behave(peer):
        await peer.request()
        await peer.write(data)
        if hang:
            await peer.hang()

    return behave


async def hang(peer):
    await peer.request()
    await peer.hang()


def dripping(start, drop):
    async def behave(peer):
        await peer.request()
        await peer.write(start)
        await peer.write_forever(drop, pause=0.02)

    return behave


def flooding(start, wave):
    async def behave(peer):
        await peer.request()
        await peer.write(start)
        await peer.write_forever(wave)

    return behave


ENDLESS = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "warned", "retryable"),
    [("GET", False, True), ("PUT", True, True), ("POST", True, False), ("PATCH", True, False)],
)
@pytest.mark.parametrize("behave", [hang, close_at_once], ids=["timeout", "connection"])
async def test_an_error_says_whether_a_retry_may_act_twice(behave, method, warned, retryable):
    result = await outcome(behave, method)

    assert isinstance(result, CallError)
    assert result.reason.startswith(f"{method} /pets/7")
    assert result.reason.endswith("; it may have run.") is warned
    assert result.facts["retryable"] is retryable


def coded(coding, body):
    return replying(answer(body, f"Content-Encoding: {coding}"))


def gzipped(body, times):
    for _ in range(times):
        body = gzip.compress(body, 1, mtime=0)
    return body


def raw_deflate(body):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


HELLO = b'{"hello": "world"}'


@pytest.mark.parametrize(
    ("coding", "body", "expected"),
    [
        ("gzip", gzip.compress(HELLO, mtime=0), HELLO),
        ("x-gzip", gzip.compress(HELLO, mtime=0), HELLO),
        ("GZip", gzip.compress(HELLO, mtime=0), HELLO),
        ("deflate", zlib.compress(HELLO), HELLO),
        ("deflate", raw_deflate(HELLO), HELLO),
        ("identity", HELLO, HELLO),
        ("", HELLO, HELLO),
        ("deflate, gzip", gzip.compress(zlib.compress(HELLO), mtime=0), HELLO),
        (", ".join(["gzip"] * 5), gzipped(HELLO, 5), HELLO),
        ("gzip", gzip.compress(HELLO[:5], mtime=0) + gzip.compress(HELLO[5:], mtime=0), HELLO),
        ("gzip", gzip.compress(HELLO, mtime=0) + b"\0" * 50, HELLO),
        ("gzip", b"", b""),
        ("gzip", gzip.compress(b"x" * 99_000, mtime=0), b"x" * 99_000),
        (", ".join(["gzip"] * 6), gzipped(HELLO, 6), "decode"),
        (", ".join(["gzip"] * 60), gzip.compress(HELLO, mtime=0), "decode"),
        ("gzip", HELLO, "decode"),
        ("gzip", gzip.compress(HELLO, mtime=0)[:-6], "decode"),
        ("gzip", b"\x1f", "decode"),
        ("gzip", gzip.compress(HELLO, mtime=0) + b"more", "decode"),
        ("deflate", zlib.compress(HELLO)[:-5], "decode"),
        ("deflate", b"x", "decode"),
        ("deflate", b"\xff\xff\xff", "decode"),
        ("br", HELLO, "decode"),
        ("zstd", HELLO, "decode"),
        ("gzip, unheard-of", HELLO, "decode"),
        ("gzip", gzip.compress(b"x" * (LIMIT + 1), mtime=0), "too_large"),
        ("gzip, gzip", gzipped(b"\0" * 10_000_000, 2), "too_large"),
    ],
)
async def test_content_codings_are_undone_or_refused(coding, body, expected):
    result = await outcome(coded(coding, body), timeout=5)

    assert (result.content if isinstance(result, Answer) else result.kind) == expected
    if isinstance(result, CallError):
        assert result.reason.startswith("GET /pets/7 answered 200, but the answer")
        assert result.facts["status"] == 200


async def test_a_coding_is_undone_wherever_the_bytes_are_divided():
    async def behave(peer):
        await peer.request()
        data = gzip.compress(HELLO[:5], mtime=0) + gzip.compress(HELLO[5:], mtime=0) + b"\0\0"
        await peer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n")
        for byte in data:
            await peer.write(bytes([byte]))
            await asyncio.sleep(0.001)

    result = await outcome(behave, timeout=5)

    assert isinstance(result, Answer)
    assert result.content == HELLO


@contextlib.contextmanager
def at_most(mebibytes):
    """Fail when more memory than this is taken at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < mebibytes * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.long
@pytest.mark.parametrize(
    ("coding", "times"), [("gzip", 1), ("gzip, gzip", 2), ("gzip, gzip, gzip", 3)]
)
async def test_a_bomb_is_too_large_and_takes_little_memory(coding, times):
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b"\0" * 2**20) for _ in range(256)) + packer.flush()
    behave = coded(coding, gzipped(bomb, times - 1))

    with at_most(32):
        result = await outcome(behave, timeout=10, max_response_bytes=10 * 2**20)

    assert kind(result) == "too_large"


async def test_an_endless_body_takes_no_more_memory_than_the_cap_allows():
    flood = flooding(ENDLESS, b"x" * 65536)

    with at_most(32):
        result = await outcome(flood, timeout=10, max_response_bytes=10 * 2**20)

    assert kind(result) == "too_large"


EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
LINES = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n"


@pytest.mark.parametrize(
    ("behave", "expected"),
    [
        (partly(EVENTS + b"data: 1\n\ndata: 2", hang=True), "timeout"),
        (dripping(EVENTS + b"data: 1\r\n\r\n", b"data: 1\n\n"), "timeout"),
        (flooding(EVENTS, b"data: 1\n\n" * 1000), "too_large"),
        (partly(LINES + b'{"a": 1}\n{"a"', hang=True), "timeout"),
        (partly(EVENTS + b"data: 1\n\n"), ""),
    ],
    ids=["stalled events", "dripping events", "flood of events", "stalled lines", "ended events"],
)
async def test_a_stream_of_events_ends_with_what_it_had(behave, expected):
    result = await outcome(behave)

    assert isinstance(result, Answer)
    assert result.cut == expected
    assert result.content.startswith((b"data: 1", b'{"a": 1}\n'))
    assert len(result.content) <= LIMIT


@pytest.mark.parametrize(
    ("behave", "expected"),
    [
        (partly(EVENTS + b"data: 1\n", hang=True), "timeout"),
        (partly(EVENTS, hang=True), "timeout"),
        (flooding(EVENTS, b"data: 1" * 1000), "too_large"),
    ],
    ids=["unfinished event", "no event", "one endless event"],
)
async def test_a_stream_without_a_whole_event_is_an_error(behave, expected):
    assert kind(await outcome(behave)) == expected


REDIRECTS = [
    ("GET", "302 Found", "/done", "200"),
    ("HEAD", "301 Moved", "/done", "200"),
    ("GET", "303 See Other", "{url}/done?x=1#part", "200"),
    ("GET", "307 Temporary", "done", "200"),
    ("GET", "308 Permanent", "?page=2", "200"),
    ("GET", "302 Found", "http://127.0.0.1:1/x", "redirect"),
    ("GET", "302 Found", "//evil.example/x", "redirect"),
    ("GET", "302 Found", "https://127.0.0.1/x", "redirect"),
    ("GET", "302 Found", "http://user:hunter2@evil.example/?token=hunter2", "redirect"),
    ("GET", "302 Found", "{user_url}/done", "redirect"),
    ("GET", "302 Found", "file:///etc/passwd", "redirect"),
    ("GET", "302 Found", "gopher://127.0.0.1/", "redirect"),
    ("GET", "302 Found", "http://[::bad/", "redirect"),
    ("GET", "302 Found", "http://x:99999999/", "redirect"),
    ("GET", "302 Found", "/done\r\nLocation: /done", "200"),
    ("GET", "302 Found", "/done\r\nLocation: /other", "redirect"),
    ("POST", "302 Found", "/done", "redirect"),
    ("POST", "303 See Other", "/done", "redirect"),
    ("POST", "307 Temporary", "/done", "redirect"),
    ("PUT", "308 Permanent", "http://127.0.0.1:1/", "redirect"),
    ("DELETE", "301 Moved", "/done", "redirect"),
]


@pytest.mark.parametrize(
    ("method", "status", "location", "expected"),
    REDIRECTS,
    ids=[f"{method} {status[:3]} {location}" for method, status, location, _ in REDIRECTS],
)
async def test_only_reads_are_redirected_and_only_inside_their_origin(
    method, status, location, expected
):
    sender = Sender(Settings(timeout=2))

    async def behave(peer):
        while True:
            request = await peer.request()
            if b" /start HTTP" not in request:
                await peer.write(answer(b"" if method == "HEAD" else b"{}"))
                continue
            target = location.format(
                url=peer.server.url, user_url=peer.server.url.replace("//", "//u:hunter2@")
            )
            await peer.write(answer(b"", f"Location: {target}", status=status))

    async with Faults(behave) as server:
        request = httpx.Request(
            method,
            server.url + "/start",
            headers={"X-Key": "k"},
            content=b"{}" if method in ("POST", "PUT") else None,
        )
        try:
            result = await sender.send(request)
        except CallError as error:
            result = error
        await sender.aclose()

    assert kind(result) == expected
    if isinstance(result, Answer):
        assert result.redirects == 1
        assert b"x-key: k" in server.requests[-1].lower()
    else:
        assert len(server.requests) == 1
        assert "hunter2" not in result.reason
        assert result.reason.startswith(f"{method} /start was redirected to ")
        assert result.facts.get("status") == int(status[:3])


@pytest.mark.parametrize("grows", [False, True], ids=["loop", "growing"])
async def test_redirects_end_after_five(grows):
    async def behave(peer):
        while True:
            request = await peer.request()
            path = request.split(b" ")[1].decode()
            where = f"Location: {path}{'/x' if grows else ''}"
            await peer.write(answer(b"", where, status="302 Found"))

    sender = Sender(Settings(timeout=2))
    async with Faults(behave) as server:
        with pytest.raises(CallError, match="there were 5 before it") as caught:
            await sender.send(httpx.Request("GET", server.url + "/a"))
        await sender.aclose()

    assert caught.value.kind == "redirect"
    assert len(server.requests) == 6


async def test_a_redirect_without_a_place_is_an_answer():
    result = await outcome(replying(answer(b"gone", status="302 Found")))

    assert isinstance(result, Answer)
    assert (result.status, result.content) == (302, b"gone")


async def test_a_head_request_may_declare_more_than_the_cap():
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\nContent-Encoding: br\r\n\r\n"

    result = await outcome(replying(raw), "HEAD")

    assert kind(result) == "200"
