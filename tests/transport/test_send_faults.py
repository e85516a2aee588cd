"""Servers that break off, drip, lie and flood: each ends as one kind of error, in time."""

import asyncio
import gzip
import time
import tracemalloc
import zlib

import httpx
import pytest
from servers.faults import Faults, hang, make_response, reply_with, stalling

from openapi_tools import Settings
from openapi_tools.errors import CallError
from openapi_tools.transport import APIResponse, Sender

TIMEOUT = 0.4
SLACK = 1.5  # for a busy machine; an error that waits for the server would take for ever
LIMIT = 100_000
SECRET = "k3y-in-the-query"
OK = b"HTTP/1.1 200 OK\r\n"


async def outcome(behave, method="GET", content=None, path="/pets/7", **settings):
    """Return the response or the error of one call, and what the server received."""
    sender = Sender(Settings(**{"timeout": TIMEOUT, "max_response_bytes": LIMIT} | settings))
    async with Faults(behave) as server:
        url = f"{server.url}{path}?api_key={SECRET}"
        started = time.monotonic()
        try:
            request = httpx.Request(method, url, content=content, headers={"X-Key": "k"})
            result = await sender.send(request)
        except CallError as error:
            result = error
        assert time.monotonic() - started < TIMEOUT + SLACK or "timeout" in settings
        await sender.aclose()
    if isinstance(result, CallError):
        assert SECRET not in result.reason
        assert len(result.reason) < 1000
    return result, server.requests


def kind(result):
    return result.kind if isinstance(result, CallError) else str(result.status)


async def close_at_once(peer):
    await peer.request()


def going_on(start, wave, pause=0.0):
    """Return a behaviour that ends no response, fast or slowly."""

    async def behave(peer):
        await peer.request()
        await peer.write(start)
        await peer.write_forever(wave, pause=pause)

    return behave


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "warned", "retryable"),
    [("GET", False, True), ("PUT", True, True), ("POST", True, False), ("PATCH", True, False)],
)
@pytest.mark.parametrize("behave", [hang, close_at_once], ids=["timeout", "connection"])
async def test_an_error_says_whether_a_retry_may_act_twice(behave, method, warned, retryable):
    result, _ = await outcome(behave, method)

    assert result.reason.startswith(f"{method} /pets/7")
    assert result.reason.endswith("; it may have run.") is warned
    assert result.facts["retryable"] is retryable


def reply_coded(coding, body):
    return reply_with(make_response(body, f"Content-Encoding: {coding}"))


def gzip_often(body, times):
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
        (", ".join(["gzip"] * 5), gzip_often(HELLO, 5), HELLO),
        ("gzip", gzip.compress(HELLO[:5], mtime=0) + gzip.compress(HELLO[5:], mtime=0), HELLO),
        ("gzip", gzip.compress(HELLO, mtime=0) + b"\0" * 50, HELLO),
        ("gzip", b"", b""),
        ("gzip", gzip.compress(b"x" * 99_000, mtime=0), b"x" * 99_000),
        (", ".join(["gzip"] * 6), gzip_often(HELLO, 6), "decode"),
        ("gzip", gzip.compress(HELLO, mtime=0)[:-6], "decode"),
        ("gzip", b"\x1f", "decode"),
        ("gzip", gzip.compress(HELLO, mtime=0) + b"more", "decode"),
        ("deflate", b"x", "decode"),
        ("deflate", b"\xff\xff\xff", "decode"),
        ("gzip, unheard-of", HELLO, "decode"),
        ("gzip", gzip.compress(b"x" * (LIMIT + 1), mtime=0), "too_large"),
    ],
)
async def test_content_codings_are_undone_or_refused(coding, body, expected):
    result, _ = await outcome(reply_coded(coding, body), timeout=5)

    assert (result.content if isinstance(result, APIResponse) else result.kind) == expected
    if isinstance(result, CallError):
        assert result.reason.startswith("GET /pets/7 returned 200, but the response")
        assert result.facts["status"] == 200


async def test_a_coding_is_undone_wherever_the_bytes_are_divided():
    async def behave(peer):
        await peer.request()
        data = gzip.compress(HELLO[:5], mtime=0) + gzip.compress(HELLO[5:], mtime=0) + b"\0\0"
        await peer.write(OK + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n")
        for byte in data:
            await peer.write(bytes([byte]))
            await asyncio.sleep(0.001)

    result, _ = await outcome(behave, timeout=5)

    assert result.content == HELLO


async def test_an_endless_body_takes_no_more_memory_than_the_cap_allows():
    flood = going_on(OK + b"Connection: close\r\n\r\n", b"x" * 65536)
    tracemalloc.start()
    try:
        result, _ = await outcome(flood, timeout=10, max_response_bytes=10 * 2**20)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert kind(result) == "too_large"
    assert most < 32 * 2**20


EVENTS = OK + b"Content-Type: text/event-stream\r\n\r\n"
LINES = OK + b"Content-Type: application/x-ndjson\r\n\r\n"


@pytest.mark.parametrize(
    ("behave", "content", "expected"),
    [
        (stalling(EVENTS + b"data: 1\n\ndata: 2"), b"data: 1", "timeout"),
        (going_on(EVENTS + b"data: 1\r\n\r\n", b"data: 1\n\n", 0.02), b"data: 1", "timeout"),
        (going_on(EVENTS, b"data: 1\n\n" * 1000), b"data: 1", "too_large"),
        (stalling(LINES + b'{"a": 1}\n{"a"'), b'{"a": 1}\n', "timeout"),
        (reply_with(EVENTS + b"data: 1\n\n"), b"data: 1", ""),
        (stalling(EVENTS + b"data: 1\n"), None, "timeout"),
        (stalling(EVENTS), None, "timeout"),
        (going_on(EVENTS, b"data: 1" * 1000), None, "too_large"),
    ],
    ids=["stalled events", "dripping events", "flood of events", "stalled lines", "ended events",
         "unfinished event", "no event", "one endless event"],
)  # fmt: skip
async def test_a_stream_ends_with_the_events_it_had_and_as_an_error_without_any(
    behave, content, expected
):
    result, _ = await outcome(behave)

    if content is None:
        assert kind(result) == expected
    else:
        assert result.cut == expected
        assert result.content.startswith(content)
        assert len(result.content) <= LIMIT


REDIRECTS = [
    ("GET", "302 Found", "/done", "200"),
    ("HEAD", "301 Moved", "/done", "200"),
    ("GET", "303 See Other", "{url}/done?x=1#part", "200"),
    ("GET", "307 Temporary", "done", "200"),
    ("GET", "308 Permanent", "?page=2", "200"),
    ("GET", "302 Found", "http://127.0.0.1:1/x", "redirect"),
    ("GET", "302 Found", "//evil.example/x", "redirect"),
    ("GET", "302 Found", "http://user:hunter2@evil.example/?token=hunter2", "redirect"),
    ("GET", "302 Found", "{user_url}/done", "redirect"),
    ("GET", "302 Found", "http://x:99999999/", "redirect"),
    ("GET", "302 Found", "/done\r\nLocation: /done", "200"),
    ("GET", "302 Found", "/done\r\nLocation: /other", "redirect"),
    ("POST", "303 See Other", "/done", "303"),
    ("POST", "307 Temporary", "/done", "200"),
    ("PUT", "308 Permanent", "/done", "200"),
    ("DELETE", "307 Temporary", "done", "200"),
    ("POST", "302 Found", "/done", "redirect"),
    ("PUT", "308 Permanent", "http://127.0.0.1:1/", "redirect"),
    ("DELETE", "301 Moved", "/done", "redirect"),
]


@pytest.mark.parametrize(
    ("method", "status", "location", "expected"),
    REDIRECTS,
    ids=[f"{method} {status[:3]} {location}" for method, status, location, _ in REDIRECTS],
)
async def test_a_redirect_is_followed_only_inside_its_origin_and_with_the_same_request(
    method, status, location, expected
):
    async def behave(peer):
        while SECRET.encode() in await peer.request():  # the first one
            url = peer.server.url
            place = location.format(url=url, user_url=url.replace("//", "//u:hunter2@"))
            await peer.write(make_response(b"", f"Location: {place}", status=status))
        await peer.write(make_response(b"" if method == "HEAD" else b"{}"))

    content = b"{}" if method in ("POST", "PUT") else None
    result, requests = await outcome(behave, method, content, "/start", timeout=2)

    assert kind(result) == expected
    if expected == "200":
        assert (result.redirects, len(requests)) == (1, 2)
        assert requests[-1].startswith(method.encode())
        assert requests[-1].endswith(content or b"")
        assert b"x-key: k" in requests[-1].lower()
    elif expected == "303":
        assert len(requests) == 1
    else:
        assert len(requests) == 1
        assert "hunter2" not in result.reason
        assert result.reason.startswith(f"{method} /start was redirected to ")
        assert result.facts.get("status") == int(status[:3])


@pytest.mark.parametrize("grows", ["", "/x"], ids=["loop", "growing"])
async def test_redirects_end_after_five(grows):
    async def behave(peer):
        while True:
            path = (await peer.request()).split(b" ")[1].partition(b"?")[0].decode()
            await peer.write(make_response(b"", f"Location: {path}{grows}", status="302 Found"))

    result, requests = await outcome(behave, timeout=2)

    assert (kind(result), len(requests)) == ("redirect", 6)
    assert "there were 5 redirects before it" in result.reason


@pytest.mark.parametrize(
    ("method", "raw", "expected"),
    [
        ("GET", make_response(b"gone", status="302 Found"), (302, b"gone")),
        ("HEAD", OK + b"Content-Length: 1000000000\r\nContent-Encoding: br\r\n\r\n", (200, b"")),
    ],
    ids=["a redirect without a place", "a head that declares more than the cap"],
)
async def test_what_only_looks_like_a_fault_is_a_response(method, raw, expected):
    result, _ = await outcome(reply_with(raw), method)

    assert (result.status, result.content) == expected
