"""OpenID Connect: a server's description of itself is believed as far as the standard goes."""

import pytest
from servers.authorization import SECRET, channel_to

from openapi_tools.auth.access_tokens import Tokens
from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.errors import CallError
from openapi_tools.model import SecurityScheme

WELL_KNOWN = "/.well-known/openid-configuration"
CONFIG = OAuth2(client_id="app", client_secret=SECRET)


async def refusal(server, *, config=CONFIG, scheme=None, may_go=lambda _: True):
    async with channel_to(server, may_go=may_go) as (channel, _):
        with pytest.raises(CallError) as caught:
            await Tokens(config, scheme or server.openid, "openid").token(channel)
    assert server.forms == []
    return caught.value


async def test_the_token_endpoint_is_discovered_once(server):
    async with channel_to(server) as (channel, _):
        made = Tokens(CONFIG, server.openid, "openid")
        first = await made.token(channel)
        second = await made.token(channel, stale=first)

    assert server.find(first)
    assert server.find(second)
    assert server.asked == {WELL_KNOWN: 1, "/token": 2}


async def test_an_address_without_well_known_is_that_of_the_issuer(server):
    scheme = SecurityScheme("openIdConnect", openid_connect_url=server.url)
    async with channel_to(server) as (channel, _):
        assert server.find(await Tokens(CONFIG, scheme, "openid").token(channel))


@pytest.mark.parametrize("issuer", ["https://other.example.com", "{url}/tenant", "", 7])
async def test_the_description_of_another_issuer_is_refused(server, issuer):
    is_text = isinstance(issuer, str)
    server.metadata["issuer"] = issuer.format(url=server.url) if is_text else issuer

    error = await refusal(server)

    assert error.kind == "credentials"
    assert "does not belong to the address that was asked" in error.reason


@pytest.mark.parametrize(
    "endpoint", ["http://auth.example.com/token", "javascript:alert(1)", 7, None, "", ["x"]]
)
async def test_an_endpoint_that_is_no_https_address_is_refused(server, endpoint):
    server.metadata["token_endpoint"] = endpoint

    error = await refusal(server)

    assert error.kind == "credentials"


async def test_an_endpoint_elsewhere_gets_nothing(server):
    server.metadata["token_endpoint"] = "https://auth.example.com/token"

    error = await refusal(server, may_go=lambda url: url.startswith(server.url))

    assert "https://auth.example.com" in error.reason
    assert "credential_origins" in error.reason


async def test_an_address_that_the_user_names_may_point_elsewhere(server):
    named = OAuth2(
        client_id="app", client_secret=SECRET, openid_connect_url=f"{server.url}{WELL_KNOWN}"
    )
    scheme = SecurityScheme("oauth2")
    async with channel_to(server, may_go=lambda _: False) as (channel, _):
        assert server.find(await Tokens(named, scheme, "oauth").token(channel))


async def test_a_description_that_is_not_there_is_an_error(server):
    url = f"{server.url}/nothing/.well-known/openid-configuration"
    scheme = SecurityScheme("openIdConnect", openid_connect_url=url)

    error = await refusal(server, scheme=scheme)

    assert "answered 404 instead of describing itself" in error.reason


async def test_a_description_is_fetched_over_https_or_from_this_machine_only(server):
    url = "http://auth.example.com/.well-known/openid-configuration"
    scheme = SecurityScheme("openIdConnect", openid_connect_url=url)

    error = await refusal(server, scheme=scheme)

    assert "is not an https address" in error.reason
    assert server.asked == {}
