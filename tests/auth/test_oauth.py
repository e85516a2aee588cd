"""Access tokens from a real authorization server: got, kept, refreshed once, kept secret."""

import asyncio
import copy
import logging
import os
import pickle
import threading
import traceback

import pytest
from servers.authorization import PASSWORD, SECRET, channel_to
from servers.recorder import Answer, Recorder

from openapi_tools.auth.access_tokens import Tokens
from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.errors import CallError, CredentialsError
from openapi_tools.model import SecurityScheme

CREDENTIALS = {"client_id": "app", "client_secret": SECRET}


@pytest.fixture
async def channel(server):
    async with channel_to(server) as (made, _):
        yield made


def tokens(server, scheme=None, **members):
    return Tokens(OAuth2(**members), scheme or server.scheme, "oauth")


async def person(server, channel, **members):
    """Return tokens with a refresh token, as a login leaves them."""
    first = tokens(server, client_id="public", username="ada", password=PASSWORD)
    await first.token(channel)
    refresh = server.issued[-1].refresh_token
    server.forms.clear()
    given = {"client_id": "public", "refresh_token": refresh, **members}
    return tokens(server, **given)


async def asked(server):
    """Wait until a request has reached the token endpoint."""
    while not server.forms:  # noqa: ASYNC110 -- the server runs in another thread
        await asyncio.sleep(0.01)


async def refusal(awaitable):
    with pytest.raises(CallError) as caught:
        await awaitable
    return caught.value


@pytest.mark.parametrize("way", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("client", ["app", "odd"])
async def test_client_credentials_give_a_token(server, channel, way, client):
    secret = server.clients[client].client_secret
    made = tokens(server, client_id=client, client_secret=secret, client_auth=way)

    token = await made.token(channel, scopes=["read"])

    assert server.find(token).client_id == client
    assert server.find(token).scope == "read"
    assert bool(server.proofs[0]) == (way == "client_secret_basic")


@pytest.mark.long
async def test_a_token_is_kept_until_shortly_before_it_expires(server, channel):
    server.lifetime = 2
    made = tokens(server, **CREDENTIALS)

    first = await made.token(channel)
    same = await made.token(channel)
    await asyncio.sleep(1.6)
    second = await made.token(channel)

    assert first == same != second
    assert server.find(first) is not None  # it was replaced while it was still good
    assert len(server.forms) == 2


async def test_scopes_of_the_user_replace_those_of_the_document(server, channel):
    made = tokens(server, **CREDENTIALS, scopes="write")

    await made.token(channel, scopes=["read"])
    await made.token(channel, scopes=["admin"])

    assert [form["scope"] for form in server.forms] == ["write"]


async def test_a_scope_that_is_refused_spoils_no_other_call(server, channel):
    made = tokens(server, **CREDENTIALS)
    server.delay = 0.05

    calls = [made.token(channel, scopes=[name]) for name in ("nonsense", "read", "read")]
    results = await asyncio.gather(*calls, return_exceptions=True)

    assert "invalid_scope" in str(results[0])
    assert server.find(results[1]) is server.find(results[2]) is not None


async def test_a_refresh_token_is_exchanged_and_rotated(server, channel):
    made = await person(server, channel)

    first = await made.token(channel)
    second = await made.token(channel, stale=first)
    third = await made.token(channel, stale=second)

    assert len({first, second, third}) == 3
    sent = [form["refresh_token"] for form in server.forms]
    assert len(set(sent)) == 3  # each was good once, and the server gave a new one


async def test_a_refresh_token_that_stays_good_is_kept(server, channel):
    server.rotates = False
    made = await person(server, channel)

    first = await made.token(channel)
    await made.token(channel, stale=first)

    assert server.grants("refresh_token") == 2


async def test_a_refused_refresh_token_says_to_log_in_again(server, channel):
    made = await person(server, channel)
    for issued in server.issued:
        issued.revoked = True

    error = await refusal(made.token(channel))
    again = await refusal(made.token(channel))

    assert error.kind == "credentials"
    assert "log in (again): openapi-tools login SPEC oauth --token-file FILE" in error.reason
    assert "invalid_grant" in error.reason
    assert "log in" in again.reason
    assert server.grants("refresh_token") == 1


async def test_a_refused_refresh_token_falls_back_to_client_credentials(server, channel):
    made = await person(server, channel, **CREDENTIALS, flow="clientCredentials")

    token = await made.token(channel)

    assert server.find(token).client_id == "app"
    assert [form["grant_type"] for form in server.forms] == ["refresh_token", "client_credentials"]


async def test_a_client_does_not_take_the_place_of_a_person(server, channel):
    made = await person(server, channel, **CREDENTIALS)

    error = await refusal(made.token(channel))

    assert "log in" in error.reason
    assert server.grants("client_credentials") == 0


def test_a_token_outlives_the_event_loop_that_fetched_it(server):
    made = tokens(server, **CREDENTIALS)

    async def one():
        async with channel_to(server) as (channel, _):
            return await made.token(channel)

    assert asyncio.run(one()) == asyncio.run(one())
    assert len(server.forms) == 1


async def test_a_refresh_that_nobody_waits_for_is_there_for_the_next_call(server, channel):
    made = tokens(server, **CREDENTIALS)
    server.delay = 0.1
    only = asyncio.create_task(made.token(channel))
    await asked(server)
    only.cancel()

    assert server.find(await made.token(channel))
    assert len(server.forms) == 1


def test_when_the_loop_of_a_refresh_ends_another_begins_anew(server):
    made = tokens(server, **CREDENTIALS)
    server.delay = 0.5
    found = []

    async def waits():
        async with channel_to(server) as (channel, _):
            found.append(await made.token(channel))

    async def begins_and_leaves():
        async with channel_to(server) as (channel, _):
            task = asyncio.create_task(made.token(channel))
            await asked(server)
            other.start()
            await asyncio.sleep(0.2)
            task.cancel()

    other = threading.Thread(target=lambda: asyncio.run(waits()))
    asyncio.run(begins_and_leaves())
    other.join(timeout=10)

    assert len(found) == 1
    assert len(server.forms) == 2


async def test_a_failed_refresh_is_an_error_for_all_who_waited_and_the_next_call_tries(
    server, channel
):
    made = tokens(server, **CREDENTIALS)
    client, server.clients = server.clients, {}
    server.delay = 0.05

    calls = (made.token(channel) for _ in range(20))
    errors = await asyncio.gather(*calls, return_exceptions=True)
    requests = len(server.forms)
    server.clients = client

    assert {error.kind for error in errors} == {"credentials"}
    assert all("invalid_client" in error.reason for error in errors)
    assert len({id(error) for error in errors}) == 20  # a shared one would gather tracebacks
    assert requests == 1
    assert server.find(await made.token(channel))


async def test_a_server_that_goes_on_failing_is_asked_less_and_less(server, channel):
    made = tokens(server, **CREDENTIALS)
    server.clients = {}

    for _ in range(50):
        await refusal(made.token(channel))

    assert len(server.forms) <= 4


async def test_a_wrong_password_is_sent_once(server, channel):
    made = tokens(server, client_id="public", username="ada", password="a wrong one")

    errors = [await refusal(made.token(channel)) for _ in range(3)]

    assert {error.kind for error in errors} == {"credentials"}
    assert len(server.forms) == 1  # a few more would lock the account


async def test_a_bearer_scheme_takes_tokens_of_a_named_endpoint(server, channel):
    scheme = SecurityScheme("http", scheme="bearer")
    made = tokens(server, scheme, **CREDENTIALS, token_url=f"{server.url}/token")

    assert server.find(await made.token(channel))


async def test_a_token_that_the_process_before_a_fork_asks_for_is_not_waited_for(
    server, channel, monkeypatch
):
    made, before = tokens(server, **CREDENTIALS), asyncio.Event()
    asking = asyncio.create_task(made._flights.run(before.wait))
    await asyncio.sleep(0)
    monkeypatch.setattr(os, "getpid", lambda: -1)

    assert server.find(await asyncio.wait_for(made.token(channel), 5))
    before.set()
    assert await asking


async def test_a_server_that_gives_the_same_token_again_is_an_error_for_that_call_alone(server):
    body = b'{"access_token": "always-the-same", "token_type": "bearer"}'
    scheme = SecurityScheme("oauth2", flows={"clientCredentials": {"tokenUrl": "/token"}})
    async with Recorder(Answer(body=body)) as always, channel_to(always) as (channel, _):
        made = tokens(server, scheme, **CREDENTIALS)
        first = await made.token(channel)
        error = await refusal(made.token(channel, stale=first))

        assert "no other token than the one refused" in error.reason
        assert await made.token(channel) == first == "always-the-same"
        assert len(always.requests) == 2


@pytest.mark.long
async def test_a_token_is_used_to_its_end_while_the_server_is_down(server, channel):
    server.lifetime = 2
    made = tokens(server, **CREDENTIALS)
    first = await made.token(channel)
    server.clients = {}
    await asyncio.sleep(1.6)

    assert await made.token(channel) == first  # due, but good for a little longer
    await asyncio.sleep(0.5)
    assert "invalid_client" in (await refusal(made.token(channel))).reason


@pytest.mark.parametrize(
    "url",
    [
        *("http://auth.example.com/token", "ftp://127.0.0.1/token"),
        *("http://127.0.0.1.example.com/token", "http://u:p@127.0.0.1/token", "https:///token"),
        *("http://127.0.0.1:99999/token", "http://[::1/token", "https://auth.example.com/to ken"),
        *("https://auth.example.com/\u202etoken", "//[", "", 7, None),
    ],
)
async def test_secrets_go_over_https_or_to_this_machine_only(channel, server, url):
    scheme = SecurityScheme("oauth2", flows={"clientCredentials": {"tokenUrl": url}})

    error = await refusal(tokens(server, scheme, **CREDENTIALS).token(channel))

    assert error.kind == "credentials"
    assert server.asked == {}


async def test_a_relative_endpoint_relates_to_the_server(server, channel):
    scheme = SecurityScheme("oauth2", flows={"password": {"tokenUrl": "token"}})  # as FastAPI does
    made = tokens(server, scheme, client_id="public", username="ada", password=PASSWORD)

    assert server.find(await made.token(channel))


async def test_no_secret_shows_anywhere(server, caplog):
    caplog.set_level(logging.DEBUG)
    config = OAuth2(
        **CREDENTIALS, extra={"audience": "hidden-audience-1"}, refresh_token="refresh-given-1"
    )
    made = Tokens(config, server.openid, "oauth")
    async with channel_to(server) as (channel, learned):
        error = await refusal(made.token(channel))
        good = Tokens(OAuth2(**CREDENTIALS), server.scheme, "oauth")
        token = await good.token(channel)
    lines = "".join(
        traceback.TracebackException.from_exception(error, capture_locals=True).format()
    )
    # The server's side logs in this process too, and what it pleases.
    ours = [record for record in caplog.records if not record.name.startswith("authlib")]
    logged = "\n".join(record.getMessage() for record in ours)
    shown = [repr(config), str(config), f"{made!r} {good!r}", lines, str(error), logged]

    for secret in (SECRET, "hidden-audience-1", "refresh-given-1"):
        assert secret in learned
        assert not any(secret in text for text in shown)
    assert token in learned
    assert not any(token in text for text in (*shown, repr(vars(good))))
    assert SECRET not in repr(vars(good))
    assert copy.deepcopy(config) is copy.copy(config) is config
    for value in (config, made):
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(value)


async def test_nothing_is_imported_and_nothing_asked_before_it_is_needed(server):
    tokens(server, **CREDENTIALS)
    Tokens(OAuth2(**CREDENTIALS), server.openid, "oauth")

    assert server.asked == {}


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"client_id": "app"}, "gets no token from what OAuth2(…) holds"),
        ({}, "gets no token"),
        ({"flow": "clientCredentials"}, "client_id"),
        ({"flow": "password"}, "username"),
        ({"flow": "authorizationCode", "client_id": "app", "client_secret": "x1234"}, "log in"),
    ],
)
def test_what_can_give_no_token_is_refused_at_once(server, members, said):
    with pytest.raises(CredentialsError, match="'oauth'") as caught:
        tokens(server, **members)

    assert said in str(caught.value)
    assert caught.value.scheme == "oauth"


def test_a_password_is_not_sent_where_the_document_has_no_such_flow(server):
    scheme = SecurityScheme("oauth2", flows={"clientCredentials": {"tokenUrl": "token"}})

    with pytest.raises(CredentialsError, match="has no password flow"):
        tokens(server, scheme, username="ada", password=PASSWORD)


def test_another_kind_of_scheme_takes_no_tokens(server):
    with pytest.raises(CredentialsError, match="'apiKey', which takes no OAuth2"):
        tokens(server, SecurityScheme("apiKey"), **CREDENTIALS)
