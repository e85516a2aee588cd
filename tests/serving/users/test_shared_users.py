"""Several servers with one Redis: logins and tokens of users are shared, and readable in none."""

import asyncio

import pytest
from servers.authorization import SECRET
from servers.issuer import read
from servers.team import (
    Browser,
    call_tool,
    client_of,
    link,
    login_table,
    sent_requests,
    shop_served,
    table,
)

KEY = "key-of-the-state-0123456789-abcdef"


@pytest.fixture
def states(redis_server):
    """Two states of the same Redis, as two machines have them."""
    from openapi_tools.state.redis_state import RedisState

    return [RedisState(redis_server.url, key=KEY) for _ in range(2)]


async def test_a_login_at_one_server_serves_the_calls_at_another(states, issuer, api, redis_server):
    issuer.lifetime = 2
    auth = table(issuer, client_id="app", client_secret="${SECRET}")
    users, token = login_table(issuer), issuer.token("linus")
    async with shop_served(api, auth, users=users, state=states[0]) as one:
        public = {"public": one.origin}
        async with shop_served(api, auth, users=users, state=states[1], **public) as two:
            page = link(await call_tool(two, token))
            async with Browser("linus") as browser:
                assert (await browser.go(page)).status_code == 200
            results = [await call_tool(site, token) for site in (one, two)]
            kept = redis_server.dump()
            await asyncio.sleep(1.6)  # a token of two seconds is due
            calls = [call_tool(site, token) for site in (one, two) * 3]
            results += await asyncio.gather(*calls)

    assert not any(result.is_error for result in results)
    carried = [read(header.removeprefix("Bearer ")) for _, _, header in sent_requests(api)]
    assert {claims["sub"] for claims in carried} == {"linus"}
    assert issuer.grants("refresh_token") == 1
    assert kept
    for part in (b"linus", b"eyJ", b"refresh-", b"http", SECRET.encode(), KEY.encode()):
        assert part not in kept


@pytest.mark.long
async def test_an_exchange_at_one_server_serves_another(states, issuer, api, redis_server):
    users = client_of(issuer, mode="exchange", audience="https://shop.example.com")
    auth, token = table(issuer), issuer.token("ada")
    async with (
        shop_served(api, auth, users=users, state=states[0]) as one,
        shop_served(api, auth, users=users, state=states[1]) as two,
    ):
        calls = [call_tool(site, token) for site in (one, two) * 3]
        results = await asyncio.gather(*calls)
        other = await call_tool(two, issuer.token("ada", jti="2"))
        redis_server.stop()
        gone = await call_tool(one, token)

    assert not any(result.is_error for result in (*results, other))
    assert len(issuer.exchanges) == 2
    assert gone.is_error
    assert len(api.requests) == 7
