"""Calls with tokens of OAuth 2 and OpenID Connect, end to end."""

import asyncio
import json
import logging
import threading

import pytest
from servers.authorization import PASSWORD, SECRET
from servers.recorder import Recorder

from openapi_tools import CredentialsError, Settings, load_tools
from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.auth.tokens import from_file

APP = {"client_id": "app", "client_secret": SECRET}


def load(server, credential, **settings):
    """Return the tool of the API; credentials go with it."""
    credentials = {"oauth": credential}
    return load_tools(server.document, credentials=credentials, settings=Settings(**settings))


async def called(server, credential, **settings):
    async with load(server, credential, **settings) as toolset:
        return await toolset["get_me"].execute({})


@pytest.mark.parametrize(
    "credential",
    [
        pytest.param(OAuth2(**APP), id="client-credentials"),
        pytest.param(APP, id="a-mapping"),
        pytest.param(OAuth2(client_id="public", username="ada", password=PASSWORD), id="password"),
    ],
)
async def test_a_call_gets_a_token_for_the_scopes_it_requires(server, credential):
    result = await called(server, credential)

    assert result.output["scope"] == "read"
    assert len(server.forms) == 1
    assert server.forms[0]["grant_type"] == (
        "password" if getattr(credential, "username", "") else "client_credentials"
    )


async def test_an_expired_token_is_replaced_before_the_call(server):
    server.lifetime = 1
    async with load(server, OAuth2(**APP)) as toolset:
        first = await toolset["get_me"].execute({})
        await asyncio.sleep(1.0)
        second = await toolset["get_me"].execute({})

    assert first.success
    assert second.success
    assert len(server.calls) == len(server.forms) == 2


async def test_a_revoked_token_is_replaced_once(server):
    async with load(server, OAuth2(**APP)) as toolset:
        await toolset["get_me"].execute({})
        server.revoke()
        result = await toolset["get_me"].execute({})

    assert result.success
    assert len(server.calls) == 3
    assert len(server.forms) == 2


async def test_a_token_that_the_api_never_takes_is_tried_twice_at_most(server):
    async with load(server, OAuth2(**APP)) as toolset:
        server.lifetime = 1e-9  # over before any call comes
        result = await toolset["get_me"].execute({})

    assert result.error["type"] == "auth"
    assert len(server.calls) == 2
    assert len(server.forms) == 2


async def test_a_hundred_calls_with_an_expired_token_refresh_once(server):
    async with load(server, OAuth2(**APP), concurrency=100) as toolset:
        await toolset["get_me"].execute({})
        server.revoke()
        server.delay = 0.1
        results = await asyncio.gather(*(toolset["get_me"].execute({}) for _ in range(100)))

    assert all(result.success for result in results)
    assert len(server.forms) == 2


def test_calls_in_two_threads_refresh_once(server):
    toolset = load(server, OAuth2(**APP))
    server.delay = 0.3
    results, ready = [], threading.Barrier(2)

    async def many():
        ready.wait(timeout=5)
        calls = (toolset["get_me"].execute({}) for _ in range(20))
        results.extend(await asyncio.gather(*calls))

    threads = [threading.Thread(target=lambda: asyncio.run(many())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    asyncio.run(toolset.aclose())

    assert [result.success for result in results] == [True] * 40
    assert len(server.forms) == 1


async def test_a_call_that_is_cancelled_while_it_refreshes_harms_no_other(server):
    server.delay = 0.2
    async with load(server, OAuth2(**APP)) as toolset:
        first, second = (asyncio.create_task(toolset["get_me"].execute({})) for _ in range(2))
        while not server.forms:  # noqa: ASYNC110 -- the server runs in another thread
            await asyncio.sleep(0.01)
        first.cancel()

        assert (await second).success
        assert first.cancelled()
        assert len(server.forms) == 1


async def test_a_token_endpoint_that_hangs_ends_with_the_call(server):
    server.delay = 5
    async with load(server, OAuth2(**APP), timeout=0.3) as toolset:
        result = await asyncio.wait_for(toolset["get_me"].execute({}), 2)

    assert result.error["type"] == "timeout"
    assert server.calls == []


async def test_closing_the_tools_ends_a_call_that_waits_for_its_token(server):
    server.delay = 5
    toolset = load(server, OAuth2(**APP))
    call = asyncio.create_task(toolset["get_me"].execute({}))
    while not server.forms:  # noqa: ASYNC110 -- the server runs in another thread
        await asyncio.sleep(0.01)

    await toolset.aclose()
    result = await asyncio.wait_for(call, 2)

    assert result.error["type"] == "connection"
    assert server.calls == []


async def test_a_token_endpoint_that_a_document_names_elsewhere_gets_nothing(server):
    async with Recorder() as sink:
        document = server.document
        flows = document["components"]["securitySchemes"]["oauth"]["flows"]
        flows["clientCredentials"] = {"tokenUrl": f"{sink.url}/token", "scopes": {}}
        async with load_tools(document, credentials={"oauth": OAuth2(**APP)}) as toolset:
            result = await toolset["get_me"].execute({})

        assert result.error["type"] == "credentials"
        for said in (sink.url, server.url, "OAuth2(token_url=…)", f"{sink.url!r}))"):
            assert said in result.error["message"]
        assert sink.connections == 0
    assert server.calls == []


@pytest.mark.parametrize(
    "allow",
    [
        pytest.param(lambda state: ({"token_url": f"{state.url}/token"}, {}), id="named"),
        pytest.param(
            lambda state: (
                {},
                {"credential_origins": (state.url, state.url.replace("127.0.0.1", "localhost"))},
            ),
            id="allowed",
        ),
    ],
)
async def test_a_token_endpoint_elsewhere_may_be_allowed(server, allow):
    members, settings = allow(server)
    base_url = f"{server.url.replace('127.0.0.1', 'localhost')}/api"

    result = await called(server, OAuth2(**APP, **members), base_url=base_url, **settings)

    assert result.success, result.error


async def test_a_file_of_tokens_is_a_credential(server, tmp_path):
    path = tmp_path / "tokens.json"
    person = OAuth2(client_id="public", username="ada", password=PASSWORD, token_file=path)
    await called(server, person)
    server.forms.clear()

    result = await called(server, from_file(path))

    assert result.output["client"] == "public"
    assert server.forms == []


async def test_two_toolsets_share_no_token(server):
    await called(server, OAuth2(**APP))
    await called(server, OAuth2(**APP))

    assert len(set(server.calls)) == 2


async def test_no_secret_and_no_token_shows(server, caplog):
    caplog.set_level(logging.DEBUG)
    async with load(server, OAuth2(**APP)) as toolset:
        result = await toolset["get_me"].execute({})
        seen = f"{toolset!r} {toolset['get_me']!r} {vars(toolset)!r} {result!r}"
    # The server's side logs in this process too, and what it pleases.
    ours = [record for record in caplog.records if not record.name.startswith("authlib")]
    seen += "".join(record.getMessage() for record in ours)

    assert result.success
    assert not [secret for secret in (SECRET, server.calls[0]) if secret in seen]


async def test_what_a_model_is_shown_holds_no_credential(server):
    async with load(server, OAuth2(**APP)) as toolset:
        shown = json.dumps([tool.get_schema() for tool in toolset])

    assert SECRET not in shown
    assert "oauth" not in shown


def test_a_wrong_member_is_said_when_the_document_is_loaded(server):
    with pytest.raises(CredentialsError, match="did you mean 'client_id'"):
        load(server, {"client_ID": "app"})
