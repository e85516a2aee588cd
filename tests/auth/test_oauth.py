"""Access tokens that no call shows: across a fork, given twice, and kept secret."""

import asyncio
import copy
import logging
import os
import pickle
import traceback

import pytest
from servers.authorization import SECRET, channel_to
from servers.recorder import Answer, Recorder

from openapi_tools.auth.access_tokens import Tokens
from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.errors import CallError
from openapi_tools.model import SecurityScheme

CREDENTIALS = {"client_id": "app", "client_secret": SECRET}


async def refusal(awaitable):
    with pytest.raises(CallError) as caught:
        await awaitable
    return caught.value


async def test_a_token_that_the_process_before_a_fork_asks_for_is_not_waited_for(
    server, monkeypatch
):
    made, before = Tokens(OAuth2(**CREDENTIALS), server.scheme, "oauth"), asyncio.Event()
    asking = asyncio.create_task(made._flights.run(before.wait))
    await asyncio.sleep(0)
    monkeypatch.setattr(os, "getpid", lambda: -1)

    async with channel_to(server) as (channel, _):
        assert server.find(await asyncio.wait_for(made.token(channel), 5))
    before.set()
    assert await asking


async def test_a_server_that_gives_the_same_token_again_is_an_error_for_that_call_alone():
    body = b'{"access_token": "always-the-same", "token_type": "bearer"}'
    scheme = SecurityScheme("oauth2", flows={"clientCredentials": {"tokenUrl": "/token"}})
    async with Recorder(Answer(body=body)) as always, channel_to(always) as (channel, _):
        made = Tokens(OAuth2(**CREDENTIALS), scheme, "oauth")
        first = await made.token(channel)
        error = await refusal(made.token(channel, stale=first))

        assert "no other token than the one refused" in error.reason
        assert await made.token(channel) == first == "always-the-same"
        assert len(always.requests) == 2


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
