"""Tokens kept secret, and token endpoints that hang, flood, lie and repeat secrets."""

import asyncio
import base64
import copy
import gzip
import json
import logging
import os
import pickle
import traceback
import zlib
from urllib.parse import quote

import pytest
from servers.authorization import SECRET as APP_SECRET
from servers.authorization import channel_to
from servers.faults import Faults, make_response, reply_with
from servers.recorder import CannedResponse, Recorder

from openapi_tools.auth import authorization_server as channels
from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.auth.token_source import TokenSource
from openapi_tools.errors import CallError
from openapi_tools.model import SecurityScheme

SECRET = "client/secret+0123456789"
JSON = "Content-Type: application/json"
SCHEME = SecurityScheme("oauth2", flows={"clientCredentials": {"tokenUrl": "/token"}})
APP = {"client_id": "app", "client_secret": APP_SECRET}
GOOD = {"access_token": "good-token", "token_type": "Bearer"}


async def ask_for_token(behave, *, times=1):
    """Return what comes of asking a server that behaves like that: a token, or the error."""
    async with Faults(behave) as server, channel_to(server) as (channel, _):
        source = TokenSource(OAuth2(client_id="app", client_secret=SECRET), SCHEME, "oauth")
        for _ in range(times):
            try:
                result = await source.token(channel)
            except CallError as error:
                result = error
        assert len(server.requests) == server.connections == 1
    return result


async def refusal(awaitable):
    """Return the error that an awaitable raises, without the caller's variables."""
    with pytest.raises(CallError) as caught:
        await awaitable
    return caught.value


def shows_nothing(error):
    """Whether no secret stands in an error, its traceback and the variables in that."""
    lines = traceback.TracebackException.from_exception(error, capture_locals=True).format()
    text = "".join(lines)
    proof = base64.b64encode(f"app:{quote(SECRET, safe='')}".encode()).decode()
    assert "source = TokenSource('oauth')" in text  # the variables are there
    return not any(word in text for word in (SECRET, quote(SECRET, safe=""), proof, "good-token"))


def reply_with_json(properties, **options):
    return reply_with(make_response(json.dumps(properties).encode(), JSON, **options))


def reply_once(*parts, **options):
    return reply_with(make_response(*parts, **options))


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


WRONG = [
    *({"access_token": token} for token in (7, "", None, ["good-token"], "two words", "a\r\nX: 1")),
    *({"access_token": token} for token in ("\ud800", "é", "x" * 100_000)),
    *({**GOOD, "token_type": kind}
      for kind in ("mac", "DPoP", "N_A", "Token", "bearer2", "pop", 7, True, ["bearer"])),
    *({**GOOD, "refresh_token": token} for token in (7, "a\nb")),
]  # fmt: skip
FAULTS = {
    "hangs": (hangs, "timeout", True),
    "drips": (drips, "timeout", True),
    "floods": (floods, "too_large", False),
    "resets": (resets, "connection", True),
    "cuts": (cuts, "connection", True),
    "no http": (reply_with(b"nonsense\r\n\r\n"), "protocol", False),
    "gzip bomb": (reply_once(BOMB, "Content-Encoding: gzip"), "too_large", False),
    "no gzip": (reply_once(b"{}", "Content-Encoding: gzip"), "decode", False),
    "unknown coding": (reply_once(b"{}", "Content-Encoding: br"), "decode", False),
    "unavailable": (reply_once(b"down", status="503 Down"), "connection", True),
    "too many": (reply_once(b"{}", "Retry-After: 7", status="429 Slow"), "rate_limited", True),
    "html": (reply_once(b"<html>no</html>"), "protocol", False),
    "empty": (reply_once(b""), "protocol", False),
    "a list": (reply_once(b"[]"), "protocol", False),
    "deep": (reply_once(b"[" * 100_000), "protocol", False),
    "digits": (reply_once(b'{"expires_in":' + b"9" * 5000 + b"}"), "protocol", False),
    "no text": (reply_once(b"\xff\xfe{"), "protocol", False),
    "no token": (reply_with_json({}), "protocol", False),
    **{str(body): (reply_with_json(body), "protocol", False) for body in WRONG},
}


@pytest.mark.parametrize(("behave", "kind", "retryable"), FAULTS.values(), ids=FAULTS)
async def test_a_fault_of_the_token_endpoint_is_an_error_of_the_right_type(
    monkeypatch, behave, kind, retryable
):
    monkeypatch.setattr(channels, "PATIENCE", 0.3)

    error = await asyncio.wait_for(ask_for_token(behave), 5)

    assert isinstance(error, CallError)
    assert error.kind == kind
    assert error.facts.get("retryable", False) == retryable
    assert "may have run" not in error.reason
    assert "max_response_bytes" not in error.reason
    assert "http://127.0.0.1:" in error.reason
    assert shows_nothing(error)


LIFETIMES = (
    *(None, 0, -1, 1e308, 10**400, True, "soon", [], {}, "NaN", "3600", " 3600.5 ", 3600.5),
    *("9" * 99, float("nan")),
)


@pytest.mark.parametrize("lifetime", LIFETIMES, ids=repr)
async def test_an_absurd_lifetime_is_no_obstacle_and_no_reason_to_ask_for_each_call(lifetime):
    assert (
        await ask_for_token(reply_with_json({**GOOD, "expires_in": lifetime}), times=3)
        == "good-token"
    )


@pytest.mark.parametrize("kind", ["Bearer", "bearer", "BEARER"])
async def test_a_coded_response_is_decoded_and_bearer_is_written_in_any_case(kind):
    body = gzip.compress(json.dumps({**GOOD, "token_type": kind}).encode())

    assert (
        await ask_for_token(reply_with(make_response(body, JSON, "Content-Encoding: gzip")))
        == "good-token"
    )


@pytest.mark.parametrize(
    "kind",
    [
        *("BearerToken", "bearer_token", "Bearer Token", "Bearer ", "bearer\n", "JWT", "jwt", ""),
        *("access_token", "accessToken", "JWT-Bearer", None),
        *(f"urn:ietf:params:oauth:token-type:{name}" for name in ("access_token", "jwt")),
    ],
    ids=repr,
)
async def test_other_words_for_bearer_are_taken_for_it(kind):
    assert await ask_for_token(reply_with_json({**GOOD, "token_type": kind})) == "good-token"


FORM = b"access_token=good-token&token_type=bearer&scope=repo%2Cuser&expires_in=3600"


@pytest.mark.parametrize(
    "kind",
    [
        *("application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=utf-8"),
        *("text/plain", "text/html; charset=utf-8", "application/json", ""),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        FORM,
        FORM + b"\r\n",
        b"\xef\xbb\xbf" + FORM,
        b"refresh_token=&" + FORM,
        b"access_token=good%2Dtoken",
    ],
)
async def test_a_token_may_come_as_a_form_under_any_media_type(kind, form):
    lines = [f"Content-Type: {kind}"] if kind else []

    assert await ask_for_token(reply_once(form, *lines)) == "good-token"


@pytest.mark.parametrize(
    "form",
    [
        *(b"token=good-token", b"access_token", b"access_token=", b"access_token=a&access_token=b"),
        *(b"<p>access_token=good-token", FORM + b"&x=y" * 200, b"access_token=%ff%00"),
        FORM.replace(b"bearer", b"mac"),
    ],
)
async def test_another_form_is_no_token(form):
    error = await ask_for_token(reply_once(form))

    assert error.kind == "protocol"
    assert shows_nothing(error)


async def test_a_refusal_may_come_as_a_form():
    form = b"error=bad_verification_code&error_description=The+code+passed+is+incorrect."

    error = await ask_for_token(reply_once(form))

    assert "bad_verification_code (The code passed is incorrect)" in error.reason


BASE64 = base64.b64encode(SECRET.encode()).decode()


@pytest.mark.parametrize(
    "description", [SECRET, BASE64, quote(SECRET, safe=""), f"x{SECRET}x" * 100, " " * 190 + SECRET]
)
async def test_a_server_that_repeats_a_secret_is_not_quoted(description):
    refused = {
        "error": "invalid_client",
        "error_description": description,
        "error_uri": description,
    }

    error = await ask_for_token(reply_with_json(refused, status="401 No"))
    by_code = await ask_for_token(reply_with_json({"error": description}, status="400 No"))

    assert "invalid_client" in error.reason
    for reason in (error.reason, by_code.reason):
        assert description not in reason
        assert SECRET not in reason


async def test_a_description_is_one_short_line_without_control_characters():
    description = "\x1b[31mred\r\n\u202eturned\x00" + "long " * 1000

    error = await ask_for_token(
        reply_with_json({"error": "x", "error_description": description}, status="400 No")
    )

    assert error.reason.isprintable()
    assert len(error.reason) < 350


@pytest.mark.parametrize(
    ("code", "status", "message"),
    [
        *((code, "400 No", "status 400.") for code in (7, None, [], "a b", "x" * 65, "\x1b[0m")),
        ("bad_verification_code", "200 OK", "bad_verification_code."),
    ],
)
async def test_an_error_code_is_quoted_if_it_is_one_with_status_200_too(code, status, message):
    error = await ask_for_token(reply_with_json({"error": code}, status=status))

    assert error.kind == "credentials"
    assert f"refused the request: {message}" in error.reason


async def test_secrets_follow_no_redirect():
    async with Recorder() as sink:
        headers = (f"Location: {sink.url}/", "Set-Cookie: a=b")
        error = await ask_for_token(reply_with(make_response(b"{}", *headers, status="308 Go")))

        assert error.kind == "redirect"
        assert sink.connections == 0


async def test_a_server_that_asks_to_wait_is_left_alone():
    busy = reply_with(make_response(b"{}", "Retry-After: 9", status="429 Slow"))

    assert "429" in (await ask_for_token(busy, times=5)).reason


async def test_a_token_that_the_process_before_a_fork_asks_for_is_not_waited_for(
    server, monkeypatch
):
    source, before = TokenSource(OAuth2(**APP), server.scheme, "oauth"), asyncio.Event()
    asking = asyncio.create_task(source._flights.run(before.wait))
    await asyncio.sleep(0)
    monkeypatch.setattr(os, "getpid", lambda: -1)

    async with channel_to(server) as (channel, _):
        assert server.find(await asyncio.wait_for(source.token(channel), 5))
    before.set()
    assert await asking


async def test_a_server_that_gives_the_same_token_again_is_an_error_for_that_call_alone():
    body = b'{"access_token": "always-the-same", "token_type": "bearer"}'
    async with Recorder(CannedResponse(body=body)) as always, channel_to(always) as (channel, _):
        source = TokenSource(OAuth2(**APP), SCHEME, "oauth")
        first = await source.token(channel)
        error = await refusal(source.token(channel, stale=first))

        assert "returned the token again that the API refused" in error.reason
        assert await source.token(channel) == first == "always-the-same"
        assert len(always.requests) == 2


async def test_no_secret_shows_anywhere(server, caplog):
    caplog.set_level(logging.DEBUG)
    config = OAuth2(**APP, extra={"audience": "hidden-audience-1"}, refresh_token="refresh-given-1")
    source = TokenSource(config, server.openid, "oauth")
    async with channel_to(server) as (channel, learned):
        error = await refusal(source.token(channel))
        good = TokenSource(OAuth2(**APP), server.scheme, "oauth")
        token = await good.token(channel)
    trace = traceback.TracebackException.from_exception(error, capture_locals=True)
    # The server's side logs in this process too, and what it pleases.
    ours = [record for record in caplog.records if not record.name.startswith("authlib")]
    logged = "\n".join(record.getMessage() for record in ours)
    texts = [f"{config!r} {config} {source!r} {good!r} {error}", *trace.format(), logged]

    for secret in (APP_SECRET, "hidden-audience-1", "refresh-given-1"):
        assert secret in learned
        assert not any(secret in text for text in texts)
    assert token in learned
    assert not any(token in text for text in (*texts, repr(vars(good))))
    assert APP_SECRET not in repr(vars(good))
    assert copy.deepcopy(config) is copy.copy(config) is config
    for value in (config, source):
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(value)
