"""Token endpoints that hang, flood, lie and repeat secrets."""

import asyncio
import base64
import gzip
import json
import traceback
import zlib
from urllib.parse import quote

import pytest
from servers.faults import Faults, answer, replying
from servers.recorder import Recorder

from openapi_tools import Settings
from openapi_tools.auth import authorization_server as channels
from openapi_tools.auth.access_tokens import Tokens
from openapi_tools.auth.authorization_server import Channel
from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.errors import CallError
from openapi_tools.model import SecurityScheme
from openapi_tools.transport.connection_pool import ConnectionPool
from openapi_tools.transport.network_policy import policy_of

SECRET = "client/secret+0123456789"
JSON = "Content-Type: application/json"
GOOD = {"access_token": "good-token", "token_type": "Bearer"}


async def asked(behave, *, times=1, connections=1):
    """Return what comes of asking a server that behaves like that: a token, or the error."""
    scheme = SecurityScheme("oauth2", flows={"clientCredentials": {"tokenUrl": "/token"}})
    settings = Settings()
    async with Faults(behave) as server, ConnectionPool(settings, policy_of(settings)) as transport:
        made = Tokens(OAuth2(client_id="app", client_secret=SECRET), scheme, "oauth")
        channel = Channel(transport, lambda _: True, lambda *_: None, server.url)
        result = None
        for _ in range(times):
            try:
                result = await made.token(channel)
            except CallError as error:
                result = error
        assert len(server.requests) == server.connections == connections
    return result


def shows_nothing(error):
    """Whether no secret stands in an error, its traceback and the variables in that."""
    lines = traceback.TracebackException.from_exception(error, capture_locals=True).format()
    text = "".join(lines)
    proof = base64.b64encode(f"app:{quote(SECRET, safe='')}".encode()).decode()
    assert "made = Tokens(" in text  # the variables are there
    return not any(word in text for word in (SECRET, quote(SECRET, safe=""), proof, "good-token"))


def saying(members, **more):
    return replying(answer(json.dumps(members).encode(), JSON, **more))


def said(*parts, **more):
    return replying(answer(*parts, **more))


async def hangs(peer):
    await peer.request()
    await peer.hang()


async def drips(peer):
    await peer.request()
    await peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    await peer.write_forever(b" ", pause=0.02)


async def floods(peer):
    await peer.request()
    await peer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    await peer.write_forever(b" " * 65536)


async def resets(peer):
    await peer.request()
    peer.reset()


async def cuts(peer):
    await peer.request()
    await peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}")


BOMB = zlib.compressobj(9, zlib.DEFLATED, 31)
BOMB = BOMB.compress(bytes(64 * 1024 * 1024)) + BOMB.flush()


@pytest.mark.parametrize(
    ("behave", "kind", "retryable"),
    [
        pytest.param(hangs, "timeout", True, id="hangs"),
        pytest.param(drips, "timeout", True, id="drips"),
        pytest.param(floods, "too_large", False, id="floods"),
        pytest.param(resets, "connection", True, id="resets"),
        pytest.param(cuts, "connection", True, id="cuts"),
        pytest.param(replying(b"nonsense\r\n\r\n"), "protocol", False, id="no-http"),
        pytest.param(said(BOMB, "Content-Encoding: gzip"), "too_large", False, id="gzip-bomb"),
        pytest.param(said(b"{}", "Content-Encoding: gzip"), "decode", False, id="no-gzip"),
        pytest.param(said(b"{}", "Content-Encoding: br"), "decode", False, id="unknown-coding"),
        pytest.param(said(b"down", status="503 Down"), "connection", True, id="unavailable"),
        pytest.param(
            said(b"{}", "Retry-After: 7", status="429 Slow"), "rate_limited", True, id="too-many"
        ),
        pytest.param(said(b"{}", "Location: http://127.0.0.1:1/", status="307 Go"), "redirect",
            False, id="redirect"),
        pytest.param(said(b"<html>no</html>"), "protocol", False, id="html"),
        pytest.param(said(b""), "protocol", False, id="empty"),
        pytest.param(said(b"[]"), "protocol", False, id="a-list"),
        pytest.param(said(b"[" * 100_000), "protocol", False, id="deep"),
        pytest.param(said(b'{"expires_in":' + b"9" * 5000 + b"}"), "protocol", False, id="digits"),
        pytest.param(said(b"\xff\xfe{"), "protocol", False, id="no-text"),
        pytest.param(saying({}), "protocol", False, id="no-token"),
    ],
)  # fmt: skip
async def test_a_fault_of_the_token_endpoint_is_an_error_of_the_right_type(
    monkeypatch, behave, kind, retryable
):
    monkeypatch.setattr(channels, "PATIENCE", 0.3)

    error = await asyncio.wait_for(asked(behave), 5)

    assert isinstance(error, CallError)
    assert error.kind == kind
    assert error.facts.get("retryable", False) == retryable
    assert "may have run" not in error.reason
    assert "max_response_bytes" not in error.reason
    assert "http://127.0.0.1:" in error.reason
    assert shows_nothing(error)


@pytest.mark.parametrize(
    "members",
    [
        {"access_token": 7},
        {"access_token": ""},
        {"access_token": None},
        {"access_token": ["good-token"]},
        {"access_token": "two words"},
        {"access_token": "line\r\nX-Evil: 1"},
        {"access_token": "\ud800"},
        {"access_token": "é"},
        {"access_token": "x" * 100_000},
        {**GOOD, "token_type": "mac"},
        {**GOOD, "token_type": 7},
        {**GOOD, "token_type": None},
        {**GOOD, "refresh_token": 7},
        {**GOOD, "refresh_token": "a\nb"},
    ],
    ids=str,
)
async def test_a_token_of_the_wrong_kind_is_refused(members):
    error = await asked(saying(members))

    assert error.kind == "protocol"
    assert shows_nothing(error)


LIFETIMES = (
    *(None, 0, -1, 1e308, 10**400, True, "soon", [], {}, "NaN", "3600", " 3600.5 ", 3600.5),
    *("9" * 99, float("nan")),
)


@pytest.mark.parametrize("lifetime", LIFETIMES, ids=repr)
async def test_an_absurd_lifetime_is_no_obstacle_and_no_reason_to_ask_for_each_call(lifetime):
    behave = saying({**GOOD, "expires_in": lifetime})

    assert await asked(behave, times=3, connections=1) == "good-token"


@pytest.mark.parametrize("kind", ["Bearer", "bearer", "BEARER"])
async def test_a_coded_answer_is_decoded_and_bearer_is_written_in_any_case(kind):
    body = gzip.compress(json.dumps({**GOOD, "token_type": kind}).encode())

    assert await asked(replying(answer(body, JSON, "Content-Encoding: gzip"))) == "good-token"


@pytest.mark.parametrize(
    "said",
    [
        SECRET,
        base64.b64encode(SECRET.encode()).decode(),
        "client%2Fsecret%2B0123456789",
        f"x{SECRET}x" * 100,
        " " * 190 + SECRET,
    ],
)
async def test_a_server_that_repeats_a_secret_is_not_quoted(said):
    refused = {"error": "invalid_client", "error_description": said, "error_uri": said}

    error = await asked(saying(refused, status="401 No"))
    by_code = await asked(saying({"error": said}, status="400 No"))

    assert "invalid_client" in error.reason
    for reason in (error.reason, by_code.reason):
        assert said not in reason
        assert SECRET not in reason


async def test_a_description_is_one_short_line_without_control_characters():
    said = "\x1b[31mred\r\n\u202eturned\x00" + "long " * 1000

    error = await asked(saying({"error": "x", "error_description": said}, status="400 No"))

    assert error.reason.isprintable()
    assert len(error.reason) < 350


@pytest.mark.parametrize("code", [7, None, [], "a b", "x" * 65, "\x1b[0m"])
async def test_an_error_code_that_is_none_is_not_quoted(code):
    error = await asked(saying({"error": code}, status="400 No"))

    assert error.kind == "credentials"
    assert "refuses: status 400." in error.reason


async def test_an_error_with_status_200_is_an_error():
    error = await asked(saying({"error": "bad_verification_code"}))

    assert error.kind == "credentials"
    assert "bad_verification_code" in error.reason


async def test_secrets_follow_no_redirect():
    async with Recorder() as sink:
        headers = (f"Location: {sink.url}/", "Set-Cookie: a=b")
        error = await asked(replying(answer(b"{}", *headers, status="308 Go")))

        assert error.kind == "redirect"
        assert sink.connections == 0


async def test_a_server_that_asks_to_wait_is_left_alone():
    busy = replying(answer(b"{}", "Retry-After: 9", status="429 Slow"))

    assert "429" in (await asked(busy, times=5, connections=1)).reason
