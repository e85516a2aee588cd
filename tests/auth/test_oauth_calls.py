"""Calls with tokens of OAuth 2 and OpenID Connect, end to end."""

import asyncio
import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from servers.authorization import PASSWORD, SECRET
from servers.recorder import Recorder

from openapi_tools import CredentialsError, Settings, load_tools
from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.auth.token_store import read_login

WELL_KNOWN = "/.well-known/openid-configuration"
OPENID = {"type": "openIdConnect", "openIdConnectUrl": f"{{url}}{WELL_KNOWN}"}
APP = {"client_id": "app", "client_secret": SECRET}
ADA = {"client_id": "public", "username": "ada", "password": PASSWORD}
ODD = {"client_id": "odd", "client_secret": "s%20e c+r/e=t:&ü"}
POST = {"client_auth": "client_secret_post"}


def load(server, credential, *, scheme=None, **settings):
    """Return the tool of the API; credentials go with it. A scheme replaces the document's."""
    document = server.document
    if scheme is not None:
        document["components"]["securitySchemes"]["oauth"] = fill_url(server, scheme)
    credentials = {"oauth": credential}
    return load_tools(document, credentials=credentials, settings=Settings(**settings))


def fill_url(server, value):
    """Return data with the server's address in place of {url}."""
    return json.loads(json.dumps(value).replace("{url}", server.url))


async def call_tool(server, credential, **options):
    async with load(server, credential, **options) as toolset:
        return await toolset["get_me"].execute({})


async def wait_for_request(server):
    """Wait until a request has reached the token endpoint."""
    while not server.forms:  # noqa: ASYNC110 -- the server runs in another thread
        await asyncio.sleep(0.01)


async def person(server, **fields):
    """Return a credential with a refresh token, as a login leaves it."""
    await call_tool(server, ADA)
    refresh = server.issued[-1].refresh_token
    server.forms.clear()
    return {"client_id": "public", "refresh_token": refresh, **fields}


BEARER = {"type": "http", "scheme": "bearer"}
FAST_API = {"type": "oauth2", "flows": {"password": {"tokenUrl": "token"}}}
NO_FLOWS = {"type": "oauth2", "flows": {}}
ISSUER = {"type": "openIdConnect", "openIdConnectUrl": "{url}"}
WAYS = {
    "basic": (None, APP, "read"),
    "post": (None, {**APP, **POST}, "read"),
    "odd basic": (None, ODD, "read"),
    "odd post": (None, {**ODD, **POST}, "read"),
    "scopes of the user": (None, {**APP, "scopes": "write"}, "write"),
    "no scopes": (None, {**APP, "scopes": []}, ""),
    "password": (None, ADA, "read"),
    "password, relative": (FAST_API, ADA, "read"),
    "an endpoint of the user": (BEARER, {**APP, "token_url": "{url}/token"}, "read"),
    "discovery": (OPENID, APP, "read"),
    "an issuer": (ISSUER, APP, "read"),
    "an issuer of the user": (NO_FLOWS, {**APP, "openid_connect_url": "{url}"}, "read"),
}


@pytest.mark.parametrize(("scheme", "fields", "scope"), WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("kind", [OAuth2, dict])
async def test_a_call_gets_a_token_for_the_scopes_it_requires(server, kind, scheme, fields, scope):
    result = await call_tool(server, kind(**fill_url(server, fields)), scheme=scheme)

    assert result.output == {"scope": scope, "client": fields["client_id"]}
    grant = "client_credentials" if "client_secret" in fields else "password"
    assert [form["grant_type"] for form in server.forms] == [grant]
    is_basic = "client_secret" in fields and "client_auth" not in fields
    assert server.proofs[0].startswith("Basic ") is is_basic


URLS = [
    *("http://auth.example.com/token", "ftp://127.0.0.1/token"),
    *("http://127.0.0.1.example.com/token", "http://u:p@127.0.0.1/token", "https:///token"),
    *("http://127.0.0.1:99999/token", "http://[::1/token", "https://auth.example.com/to ken"),
    *("https://auth.example.com/\u202etoken", "//[", "", 7, None),
]


@pytest.mark.parametrize("url", URLS)
async def test_secrets_go_over_https_or_to_this_machine_only(server, url):
    scheme = {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": url}}}

    result = await call_tool(server, APP, scheme=scheme)

    assert result.error["type"] == "credentials"
    assert server.asked == {}


FOREIGN = "which does not match its URL"
DISCOVERED = [
    *(({"issuer": issuer}, FOREIGN, "{url}")
      for issuer in ("https://other.example.com", "{url}/tenant", "", 7)),
    *(({"token_endpoint": url}, "token endpoint", "{url}")
      for url in ("http://auth.example.com/token", "javascript:alert(1)", 7, None, "", ["x"])),
    ({"token_endpoint": "https://auth.example.com/token"}, "credential_origins", "{url}"),
    ({}, "returned 404 instead of its metadata", "{url}/nothing"),
    ({}, "is not of the form https", "http://auth.example.com"),
]  # fmt: skip


@pytest.mark.parametrize(("metadata", "message", "place"), DISCOVERED)
async def test_a_description_is_believed_as_far_as_the_standard_goes(
    server, metadata, message, place
):
    server.metadata = fill_url(server, metadata)
    scheme = {"type": "openIdConnect", "openIdConnectUrl": place + WELL_KNOWN}

    result = await call_tool(server, APP, scheme=scheme)

    assert result.error["type"] == "credentials"
    assert message in str(result)
    assert server.forms == []
    assert bool(server.asked) is place.startswith("{url}")


NO_FLOW = {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "token"}}}


@pytest.mark.parametrize(
    ("scheme", "fields", "message"),
    [
        (None, {"client_ID": "app"}, "did you mean 'client_id'"),
        (None, {"client_id": "app"}, "cannot get a token with this OAuth2(…)"),
        (None, {}, "cannot get a token"),
        (None, {"flow": "clientCredentials"}, "client_id"),
        (None, {"flow": "password"}, "username"),
        (
            None,
            {**APP, "flow": "authorizationCode"},
            "a token_file that `openapi-tools login SPEC oauth",
        ),
        (NO_FLOW, ADA, "has no password flow"),
        ({"type": "http", "scheme": "basic"}, OAuth2(**APP), "'http', which does not use OAuth2"),
    ],
)
def test_what_can_give_no_token_is_refused_when_the_document_is_loaded(
    server, scheme, fields, message
):
    with pytest.raises(CredentialsError) as caught:
        load(server, fields, scheme=scheme)

    assert message in str(caught.value)
    assert SECRET not in str(caught.value)
    assert server.asked == {}


@pytest.mark.long
async def test_a_token_is_replaced_while_it_is_good_and_used_to_its_end_if_it_cannot_be(server):
    server.lifetime = 2
    clients = server.clients
    async with load(server, APP) as toolset:
        early = [await toolset["get_me"].execute({}) for _ in range(2)]
        await asyncio.sleep(1.6)
        early.append(await toolset["get_me"].execute({}))
        first, second = server.calls[0], server.calls[2]
        replaced_early = server.find(first) is not None
        await asyncio.sleep(1.6)
        server.clients = {}
        due = await toolset["get_me"].execute({})
        await asyncio.sleep(0.5)
        over = await toolset["get_me"].execute({})
        server.clients = clients

    assert all(result.success for result in (*early, due))
    assert server.calls == [first, first, second, second]
    assert first != second
    assert replaced_early
    assert "invalid_client" in str(over)


@pytest.mark.parametrize(
    ("scheme", "lifetime", "calls"),
    [(None, 3600, 3), (OPENID, 3600, 3), (None, 1, 2)],
    ids=["revoked", "revoked, discovered", "expired"],
)
async def test_a_token_that_is_good_no_more_is_replaced_once(server, scheme, lifetime, calls):
    server.lifetime = lifetime
    async with load(server, APP, scheme=scheme) as toolset:
        first = await toolset["get_me"].execute({})
        if lifetime == 1:
            await asyncio.sleep(1.0)
        else:
            server.revoke()
        second = await toolset["get_me"].execute({})

    assert first.success
    assert second.success
    assert (len(server.calls), len(server.forms)) == (calls, 2)
    assert server.asked[WELL_KNOWN] == (scheme is not None)


async def test_a_token_that_the_api_never_takes_is_tried_twice_at_most(server):
    async with load(server, APP) as toolset:
        server.lifetime = 1e-9  # over before any call comes
        result = await toolset["get_me"].execute({})

    assert result.error["type"] == "auth"
    assert (len(server.calls), len(server.forms)) == (2, 2)


@pytest.mark.parametrize("rotates", [True, False])
async def test_a_refresh_token_is_exchanged_and_the_newest_kept(server, rotates):
    server.rotates = rotates
    async with load(server, await person(server)) as toolset:
        for _ in range(3):
            assert (await toolset["get_me"].execute({})).success
            server.revoke()

    sent = [form["refresh_token"] for form in server.forms]
    assert (len(sent), len(set(sent))) == (3, 3 if rotates else 1)


AGAIN = "log in (again): openapi-tools login SPEC oauth --token-file FILE"


@pytest.mark.parametrize(
    ("fields", "message", "grants"),
    [
        ({}, f"invalid_grant; {AGAIN}", ["refresh_token"]),
        (APP, AGAIN, ["refresh_token"]),
        ({**APP, "flow": "clientCredentials"}, "", ["refresh_token", "client_credentials"]),
    ],
    ids=["alone", "a client is no person", "a client that may"],
)
async def test_a_refused_refresh_token_says_to_log_in_again(server, fields, message, grants):
    credential = await person(server, **fields)
    for issued in server.issued:
        issued.revoked = True
    async with load(server, credential) as toolset:
        result = await toolset["get_me"].execute({})
        again = await toolset["get_me"].execute({})

    assert [form["grant_type"] for form in server.forms] == grants
    if message:
        assert result.error["type"] == again.error["type"] == "credentials"
        assert message in str(result)
        assert AGAIN in str(again)
    else:
        assert result.output["client"] == again.output["client"] == "app"


async def test_a_hundred_calls_with_an_expired_token_refresh_once(server):
    async with load(server, APP, concurrency=100) as toolset:
        await toolset["get_me"].execute({})
        server.revoke()
        server.delay = 0.1
        results = await asyncio.gather(*(toolset["get_me"].execute({}) for _ in range(100)))

    assert all(result.success for result in results)
    assert len(server.forms) == 2


def test_calls_in_two_threads_and_loops_refresh_once(server):
    toolset = load(server, APP)
    server.delay = 0.2
    results, ready = [], threading.Barrier(2)

    async def many():
        calls = (toolset["get_me"].execute({}) for _ in range(20))
        results.extend(await asyncio.gather(*calls))

    def thread(_):
        ready.wait(timeout=5)
        asyncio.run(many())

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(thread, range(2), timeout=10))
    asyncio.run(many())
    asyncio.run(toolset.aclose())

    assert [result.success for result in results] == [True] * 60
    assert len(server.forms) == 1


@pytest.mark.parametrize("waits", [True, False])
async def test_a_call_that_is_cancelled_while_it_refreshes_harms_no_other(server, waits):
    server.delay = 0.2
    async with load(server, APP) as toolset:
        first = asyncio.create_task(toolset["get_me"].execute({}))
        second = asyncio.create_task(toolset["get_me"].execute({})) if waits else None
        await wait_for_request(server)
        first.cancel()
        result = await (second or toolset["get_me"].execute({}))

    assert result.success
    assert first.cancelled()
    assert len(server.forms) == 1


def test_when_the_loop_of_a_refresh_ends_another_begins_again(server):
    toolset = load(server, APP)
    server.delay = 0.3
    results = []

    async def waits():
        results.append(await toolset["get_me"].execute({}))

    async def begins_and_leaves():
        task = asyncio.create_task(toolset["get_me"].execute({}))
        await wait_for_request(server)
        other.start()
        await asyncio.sleep(0.1)
        task.cancel()

    other = threading.Thread(target=lambda: asyncio.run(waits()))
    asyncio.run(begins_and_leaves())
    other.join(timeout=10)
    asyncio.run(toolset.aclose())

    assert [result.success for result in results] == [True]
    assert len(server.forms) == 2


async def test_a_failed_refresh_is_an_error_for_all_who_waited_and_the_next_call_tries(server):
    clients, server.clients = server.clients, {}
    server.delay = 0.05
    async with load(server, APP) as toolset:
        errors = await asyncio.gather(*(toolset["get_me"].execute({}) for _ in range(20)))
        requests = len(server.forms)
        server.clients = clients
        result = await toolset["get_me"].execute({})

    assert {error.error["type"] for error in errors} == {"credentials"}
    assert all("invalid_client" in str(error) for error in errors)
    assert requests == 1
    assert result.success


@pytest.mark.parametrize(
    ("fields", "most"),
    [(APP, 4), ({**ADA, "password": "a wrong one"}, 1)],
    ids=["client", "wrong"],
)
async def test_a_server_that_goes_on_failing_is_asked_less_and_less(server, fields, most):
    server.clients["app"].client_secret = "another"
    async with load(server, fields) as toolset:
        results = [await toolset["get_me"].execute({}) for _ in range(50)]

    assert {result.error["type"] for result in results} == {"credentials"}
    assert len(server.forms) <= most  # a few more wrong passwords would lock the account


async def test_a_scope_that_is_refused_spoils_no_other_call(server):
    document = server.document
    get = document["paths"]["/me"]["get"]
    document["paths"]["/you"] = {"get": {**get, "operationId": "get_you"}}
    document["paths"]["/you"]["get"]["security"] = [{"oauth": ["nonsense"]}]
    server.delay = 0.05
    async with load_tools(document, credentials={"oauth": APP}) as toolset:
        names = ("get_you", "get_me", "get_me")
        results = await asyncio.gather(*(toolset[name].execute({}) for name in names))

    assert "invalid_scope" in str(results[0])
    assert [result.success for result in results] == [False, True, True]


async def test_a_token_endpoint_that_hangs_ends_with_the_call(server):
    server.delay = 5
    async with load(server, APP, timeout=0.3) as toolset:
        result = await asyncio.wait_for(toolset["get_me"].execute({}), 2)

    assert result.error["type"] == "timeout"
    assert server.calls == []


async def test_closing_the_tools_ends_a_call_that_waits_for_its_token(server):
    server.delay = 5
    toolset = load(server, APP)
    call = asyncio.create_task(toolset["get_me"].execute({}))
    await wait_for_request(server)

    await toolset.aclose()
    result = await asyncio.wait_for(call, 2)

    assert result.error["type"] == "connection"
    assert server.calls == []


async def test_a_token_endpoint_that_a_document_names_elsewhere_gets_nothing(server):
    async with Recorder() as sink:
        flows = {"clientCredentials": {"tokenUrl": f"{sink.url}/token", "scopes": {}}}
        result = await call_tool(server, APP, scheme={"type": "oauth2", "flows": flows})

        assert result.error["type"] == "credentials"
        for text in (sink.url, server.url, "OAuth2(token_url=…)", f"{sink.url!r}))"):
            assert text in result.error["message"]
        assert sink.connections == 0
    assert server.calls == []


@pytest.mark.parametrize("way", ["named", "allowed"])
async def test_a_token_endpoint_elsewhere_may_be_allowed(server, way):
    here = server.url.replace("127.0.0.1", "localhost")
    named = {**APP, "token_url": f"{server.url}/token"}
    settings = {"credential_origins": (server.url, here)} if way == "allowed" else {}

    result = await call_tool(
        server, named if way == "named" else APP, base_url=f"{here}/api", **settings
    )

    assert result.success, result.error


async def test_a_file_of_tokens_is_a_credential(server, tmp_path):
    path = tmp_path / "tokens.json"
    await call_tool(server, {**ADA, "token_file": path})
    server.forms.clear()

    result = await call_tool(server, read_login(path))

    assert result.output["client"] == "public"
    assert server.forms == []


async def test_two_toolsets_share_no_token(server):
    await call_tool(server, APP)
    await call_tool(server, APP)

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
    async with load(server, APP) as toolset:
        schemas = json.dumps([tool.get_schema() for tool in toolset])

    assert SECRET not in schemas
    assert "oauth" not in schemas
