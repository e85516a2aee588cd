"""Users of `serve` over HTTP: who is let in, and which tools they see."""

import asyncio
import logging
import time
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from mcp_api import MODES, texts
from servers.issuer import AUDIENCE, CURVE, KEY, OTHER, read
from servers.team import ALICE, BOB, Browser, inbound_of, post, sent_requests, shop_served, table

from openapi_tools import Settings
from openapi_tools.errors import CallError
from openapi_tools.serving import signing_keys


async def status(site, token, **options):
    return (await post(site, token, **options)).status_code


@pytest.mark.parametrize("mode", MODES)
async def test_a_user_with_a_token_of_the_issuer_calls_tools(mode, issuer, api):
    async with (
        shop_served(api, table(issuer), credentials={"shop": "own-key-of-the-server"}) as site,
        site.client(issuer.token(), mode) as client,
    ):
        listed = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("list_orders", {})

    assert listed == ["list_orders", "add_order", "delete_all"]
    assert not result.is_error
    assert sent_requests(api) == [("GET", "/orders", "Bearer own-key-of-the-server")]


GOOD = {
    "no type": ({"typ": None}, {}),
    "a type in capitals": ({"typ": "AT+JWT"}, {}),
    "the type of older issuers": ({"typ": "JWT"}, {}),
    "a media type": ({"typ": "application/at+jwt"}, {}),
    "no name of the only key": ({"kid": None}, {}),
    "several audiences": ({}, {"aud": ["https://other.example.com", AUDIENCE]}),
    "a slash at the end": ({}, {"aud": AUDIENCE + "/"}),
    "scp as text": ({}, {"scope": None, "scp": "other tools"}),
    "scp as a list": ({}, {"scope": None, "scp": ["tools"]}),
    "a clock that is ahead": ({}, {"iat": lambda: int(time.time()) + 20}),
    "members of its own": ({"x": 1}, {"azp": "agent", "client_id": None, "x": {"y": [1]}}),
}


@pytest.mark.parametrize(("header", "claims"), GOOD.values(), ids=GOOD)
async def test_tokens_of_different_issuers_are_taken(issuer, header, claims):
    inbound = inbound_of(table(issuer))
    now = {name: value() if callable(value) else value for name, value in claims.items()}

    access = await inbound.verify_token(issuer.token(header=header, **now))

    assert access.user.name == f"{issuer.url}|ada"
    assert "tools" in access.user.scopes


async def test_the_refusal_of_a_request_without_a_token_says_where_to_get_one(issuer, api):
    async with shop_served(api, table(issuer)) as site:
        response = await post(site, None)
        wrong = await post(site, "abc")
        narrow = await post(site, issuer.token(scope="other"))
        where = f"{site.origin}/.well-known/oauth-protected-resource/mcp"
        async with httpx.AsyncClient() as web:
            metadata = (await web.get(where)).json()

    place = 'resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp"'
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == f'Bearer scope="tools", {place}'
    assert wrong.status_code == 401
    assert wrong.headers["www-authenticate"].startswith('Bearer error="invalid_token", ')
    assert place in wrong.headers["www-authenticate"]
    assert narrow.status_code == 403
    assert narrow.headers["www-authenticate"] == (
        'Bearer error="insufficient_scope", error_description="the token has too few scopes", '
        f'scope="tools", {place}'
    )
    assert metadata["resource"] == AUDIENCE
    assert metadata["authorization_servers"] == [issuer.url]
    assert metadata["scopes_supported"] == ["tools"]
    assert api.requests == []


async def test_static_tokens_come_from_the_environment(api, monkeypatch):
    monkeypatch.setenv("BOB", f" {BOB}\n")
    auth = {"tokens": {"alice": "${ALICE}", "bob": "${BOB}"}}
    roles = {"buyer": {"users": ["alice"]}, "reader": {"users": ["bob"], "read_only": True}}
    async with shop_served(api, auth, roles=roles, credentials={"shop": "key"}) as site:
        listed = {}
        for name, token in (("alice", ALICE), ("bob", BOB)):
            async with site.client(token) as client:
                listed[name] = [tool.name for tool in (await client.list_tools()).tools]
        response, other = await post(site, None), await status(site, BOB + "0")
        spaced = await status(site, f" {BOB}")

    assert listed == {"alice": ["list_orders", "add_order", "delete_all"], "bob": ["list_orders"]}
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    assert (other, spaced) == (401, 200)


async def test_opaque_tokens_are_asked_about_once_for_a_while(issuer, api):
    client = {"client_id": "app", "client_secret": "${SECRET}"}
    auth = table(issuer, introspection_url=f"{issuer.url}/introspect", **client)
    async with shop_served(api, auth, credentials={"shop": "key"}) as site:
        async with site.client("opaque-of-ada") as one, site.client("opaque-of-bob") as two:
            await one.call_tool("list_orders", {})
            await two.call_tool("list_orders", {})
        unknown = await status(site, "opaque-of-eve")

    asked = [form["token"] for form in issuer.forms]
    assert asked == ["opaque-of-ada", "opaque-of-bob", "opaque-of-eve"]
    assert all(proof.startswith("Basic ") for proof in issuer.proofs)
    assert unknown == 401


ROLES = {
    "reader": {"scopes": ["orders.read"], "read_only": True},
    "admin": {"claims": {"realm.roles": ["admin", "root"]}},
    "buyer": {"claims": {"team": "sales"}, "apis": ["sh*"], "tools": ["*_order*"]},
    "elsewhere": {"apis": ["other"]},
}
SEEN = {
    "no role": ({}, []),
    "a scope": ({"scope": "tools orders.read"}, ["list_orders"]),
    "a claim in a claim": (
        {"realm": {"roles": ["x", "root"]}},
        ["list_orders", "add_order", "delete_all"],
    ),
    "another value": ({"realm": {"roles": "user"}, "team": ["a", 7]}, []),
    "patterns": ({"team": "sales"}, ["list_orders", "add_order"]),
}


WAYS = [
    pytest.param(mode, *row, id=f"{mode}-{name}", marks=marks)
    for mode in ("tools", "search", "code")
    for name, row in SEEN.items()
    for marks in [() if mode == "tools" or name == "patterns" else pytest.mark.long]
]


@pytest.mark.parametrize(("mode", "claims", "names"), WAYS)
async def test_roles_hide_tools(mode, claims, names, issuer, api):
    if mode == "code":
        pytest.importorskip("pydantic_monty", reason="pydantic-monty is not installed")
    auth, credentials = table(issuer), {"shop": "key"}
    async with (
        shop_served(api, auth, roles=ROLES, mode=mode, credentials=credentials) as site,
        site.client(issuer.token(**claims)) as client,
    ):
        seen, words = await _visible_tools(client, mode)
        refused = [await is_refused(client, mode, n) for n in ("add_order", "delete_all")]

    assert [name in seen for name in ("list_orders", "add_order", "delete_all")] == [
        name in names for name in ("list_orders", "add_order", "delete_all")
    ]
    assert ("Delete all" in words) == ("delete_all" in names)
    assert refused == [name not in names for name in ("add_order", "delete_all")]
    hidden = [request.target for request in api.requests if request.method == "DELETE"]
    assert bool(hidden) == ("delete_all" in names)


async def _visible_tools(client, mode):
    """Return what a client learns of tools, by each way that the mode has."""
    if mode == "tools":
        listed = (await client.list_tools()).tools
        return {tool.name for tool in listed}, " ".join(str(tool.description) for tool in listed)
    name = {"search": "search_tools", "code": "search"}[mode]
    text = texts(await client.call_tool(name, {"query": "list orders\nadd order\ndelete all"}))[0]
    if mode == "search":
        names = {"names": ["list_orders", "add_order", "delete_all"]}
        text += texts(await client.call_tool("describe_tools", names))[0]
    return {line.partition("(")[0] for line in text.splitlines()}, text


async def is_refused(client, mode, name):
    if mode == "tools":
        listed = [tool.name for tool in (await client.list_tools()).tools]
        if name in listed:
            return (await client.call_tool(name, {})).is_error
        with pytest.raises(MCPError, match="no tool is called"):
            await client.call_tool(name, {})
        return True
    way = {"search": ("call_tool", {"name": name}), "code": ("run_code", {"code": f"{name}()"})}
    if mode == "code":
        way["code"] = ("run_code", {"code": f"await call({name!r}, {{}})"})
    return (await client.call_tool(*way[mode])).is_error


async def test_a_new_key_is_fetched_once_and_unknown_ones_rarely(issuer, monkeypatch):
    inbound = inbound_of(table(issuer))
    await inbound.verify_token(issuer.token())
    issuer.keys = [KEY, CURVE]
    monkeypatch.setattr(signing_keys, "_PAUSE", 0)
    fresh = issuer.token(header={"alg": "ES256", "kid": "e1"}, key=CURVE)

    await asyncio.gather(*(inbound.verify_token(fresh) for _ in range(10)))
    monkeypatch.setattr(signing_keys, "_PAUSE", 30.0)
    for number in range(20):
        wrong = issuer.token(header={"kid": f"x{number}"}, key=OTHER)
        with pytest.raises(signing_keys.BadTokenError, match="names no key"):
            await inbound.verify_token(wrong)

    assert issuer.asked["/jwks"] == 2


async def test_old_keys_are_good_for_a_while_when_the_issuer_is_away(issuer, api, monkeypatch):
    async with shop_served(api, table(issuer), credentials={"shop": "key"}) as site:
        before = await status(site, issuer.token())
        monkeypatch.setattr(signing_keys, "_PAUSE", 0)
        monkeypatch.setattr(signing_keys, "_AFTER_FAILURE", 0)
        monkeypatch.setattr(signing_keys, "_FRESH", 0)
        issuer.key_status = 503
        away = await status(site, issuer.token())
        monkeypatch.setattr(signing_keys, "_STALE", 0)
        response = await post(site, issuer.token())

    assert (before, away, response.status_code) == (200, 200, 503)
    assert response.headers["retry-after"] == "30"
    assert issuer.asked["/jwks"] == 3


async def test_keys_are_fetched_under_the_network_policy(issuer):
    inbound = inbound_of(table(issuer), settings=Settings(allow_private=False))

    with pytest.raises(CallError, match="allow_private"):
        await inbound.verify_token(issuer.token())

    assert not issuer.asked


async def test_keys_that_cannot_sign_are_not_used(issuer):
    weak = {"kty": "oct", "k": "c2VjcmV0", "kid": "k1"}
    odd = [weak, {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "k1"}, 7, {"kty": "ML-DSA"}]

    class VisibleHeader(dict):
        def as_dict(self, **_):
            return dict(self)

    issuer.keys = [*(VisibleHeader(key) for key in odd if isinstance(key, dict)), KEY]
    inbound = inbound_of(table(issuer))

    assert await inbound.verify_token(issuer.token())


async def test_nothing_of_a_token_is_logged_or_shown(issuer, api, caplog):
    caplog.set_level(logging.DEBUG)
    token, wrong = issuer.token(), issuer.token(aud="https://other.example.com")
    async with shop_served(api, table(issuer), credentials={"shop": "key"}) as site:
        async with site.client(token) as client:
            result = await client.call_tool("list_orders", {})
        await post(site, wrong)
        access = await site.inbound.verify_token(token)

    ours = [
        r for r in caplog.records if r.name.split(".")[0] in ("openapi_tools", "mcp", "uvicorn")
    ]
    text = "\n".join([*(record.getMessage() for record in ours), str(result), repr(access)])
    for part in (*token.split("."), *wrong.split(".")):
        assert part not in text.replace(
            "eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6ImsxIn0", ""
        )
    assert api.requests[0].raw.count(b"eyJ") == 0


class Memory:
    """The tokens of a client of the package `mcp`, registered as `agent`."""

    def __init__(self, *back):
        self.tokens = None
        fields = {"client_id": "agent", "redirect_uris": back, "token_endpoint_auth_method": "none"}
        self.client = OAuthClientInformationFull.model_validate(fields)

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def test_a_client_finds_the_issuer_and_logs_in_by_itself(issuer, api):
    """As the MCP standard has it, from the first refusal on."""
    back, codes = "http://127.0.0.1:1/back", []

    async def open_page(url):
        async with Browser("bob") as browser:
            query = parse_qs(urlsplit((await browser.get(url)).headers["location"]).query)
            codes.append(AuthorizationCodeResult(**{k: query[k][0] for k in ("code", "state")}))

    async def wait():
        return codes[-1]

    def auth(url):
        return table(issuer, audience=url)

    async with shop_served(api, auth, credentials={"shop": "key"}) as site:
        metadata = OAuthClientMetadata.model_validate({"redirect_uris": [back], "scope": "tools"})
        provider = OAuthClientProvider(site.url, metadata, Memory(back), open_page, wait)
        async with httpx2.AsyncClient(timeout=60, auth=provider) as web:
            place = streamable_http_client(site.url, http_client=web)
            async with Client(place) as client:
                result = await client.call_tool("list_orders", {})
        token = provider.context.current_tokens.access_token

    assert not result.is_error
    assert (read(token)["sub"], read(token)["aud"]) == ("bob", site.url)
    assert issuer.grants("authorization_code") == 1
    assert sent_requests(api) == [("GET", "/orders", "Bearer key")]
