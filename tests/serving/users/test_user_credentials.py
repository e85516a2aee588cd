"""Each user's own credential at an API: exchanged, passed on, configured, or of a login."""

import asyncio

import pytest
from fragile_state import FragileState
from mcp import types
from mcp_api import MODES, texts
from servers.authorization import SECRET
from servers.issuer import API, AUDIENCE, read
from servers.recorder import CannedResponse
from servers.team import (
    ALICE,
    BOB,
    Browser,
    call_tool,
    client_of,
    hidden_fields,
    link,
    login_table,
    sent_requests,
    shop,
    shop_served,
    table,
    users_of,
)

from openapi_tools import CallError, Settings, SettingsError, load_tools
from openapi_tools.state.shared_state import MemoryState

USERS = ("ada", "bob")


def exchange(issuer, **fields):
    usual = {"mode": "exchange", "audience": API, "scopes": ["read"]}
    return client_of(issuer, **{**usual, **fields})


@pytest.mark.parametrize("mode", MODES)
async def test_each_call_carries_a_token_exchanged_for_its_user(mode, issuer, api):
    async with shop_served(api, table(issuer), users=exchange(issuer)) as site:
        tokens = {user: issuer.token(user) for user in USERS}
        calls = [call_tool(site, tokens[user], mode=mode, times=3) for user in USERS * 2]
        results = await asyncio.gather(*calls)

    assert not any(result.is_error for result in results)
    carried = [header.removeprefix("Bearer ") for _, _, header in sent_requests(api)]
    assert len(carried) == 12
    assert {read(token)["sub"] for token in carried} == set(USERS)
    assert {read(token)["aud"] for token in carried} == {API}
    assert len(set(carried)) == len(issuer.exchanges) == 2
    assert not set(carried) & set(tokens.values())
    form = issuer.exchanges[0]
    assert form["subject_token"] in tokens.values()
    assert (form["audience"], form["scope"]) == (API, "read")


async def test_another_token_of_a_user_is_exchanged_again(issuer, api):
    async with shop_served(api, table(issuer), users=exchange(issuer)) as site:
        await call_tool(site, issuer.token("ada", scope="tools all"))
        await call_tool(site, issuer.token("ada", scope="tools"))

    assert [read(form["subject_token"])["scope"] for form in issuer.exchanges] == [
        "tools all",
        "tools",
    ]


async def test_an_exchanged_token_that_the_api_refuses_is_replaced(issuer, api):
    api.responses.extend([CannedResponse(401), CannedResponse(401)])
    async with shop_served(api, table(issuer), users=exchange(issuer)) as site:
        refused = await call_tool(site, token := issuer.token())
        again = await call_tool(site, token)

    assert refused.is_error
    assert not again.is_error
    carried = [header for _, _, header in sent_requests(api)]
    assert carried[0] != carried[1] == carried[2]


async def test_a_refused_exchange_sends_nothing_to_the_api(issuer, api):
    wrong = exchange(issuer, client_secret="${ALICE}")
    async with shop_served(api, table(issuer), users=wrong, credentials={"shop": "own"}) as site:
        result = await call_tool(site, token := issuer.token())

    assert result.is_error
    message = texts(result)[0]
    assert "refused the request: invalid_client" in message
    assert token not in message
    assert api.requests == []


@pytest.mark.parametrize("mode", ["search", "code"])
async def test_tools_behind_tools_use_the_credential_of_the_user(mode, issuer, api):
    if mode == "code":
        pytest.importorskip("pydantic_monty", reason="pydantic-monty is not installed")
    call = {
        "search": ("call_tool", {"name": "list_orders"}),
        "code": ("run_code", {"code": "await list_orders()\nawait add_order()"}),
    }[mode]
    async with shop_served(api, table(issuer), users=exchange(issuer), mode=mode) as site:
        for user in USERS:
            async with site.client(issuer.token(user)) as client:
                assert not (await client.call_tool(*call)).is_error

    users = [read(header.removeprefix("Bearer "))["sub"] for _, _, header in sent_requests(api)]
    assert users == ([*USERS] if mode == "search" else ["ada", "ada", "bob", "bob"])


async def test_a_token_is_passed_on_only_where_its_audience_fits(issuer, api):
    users = {"mode": "pass_through", "audience": API}
    async with shop_served(api, table(issuer), users=users, credentials={"shop": "own"}) as site:
        fitting = issuer.token(aud=[AUDIENCE, API])
        good = await call_tool(site, fitting)
        other = await call_tool(site, issuer.token())

    assert not good.is_error
    assert texts(other) == [
        (
            "shop accepts tokens for its own audience only; yours is for another; "
            "the request was not sent."
        )
    ]
    assert sent_requests(api) == [("GET", "/orders", f"Bearer {fitting}")]


async def test_users_have_credentials_of_their_own_for_reads_and_writes(api):
    auth = {"tokens": {"alice": "${ALICE}", "bob": "${BOB}"}}
    static = {"mode": "static", "tokens": {"alice": "${SECRET}"}}
    users = {**static, "write": {"tokens": {"alice": "${BOB}", "bob": "${ALICE}"}}}
    async with shop_served(api, auth, users=users) as site:
        for token in (ALICE, BOB):
            await call_tool(site, token)
            await call_tool(site, token, "add_order")

    assert sent_requests(api) == [
        ("GET", "/orders", f"Bearer {SECRET}"),
        ("POST", "/orders", f"Bearer {BOB}"),
        ("POST", "/orders", f"Bearer {ALICE}"),
    ]


async def test_a_key_in_a_header_can_be_a_users_own(api):
    key = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    users = {"mode": "static", "tokens": {"alice": "${SECRET}"}}
    auth = {"tokens": {"alice": "${ALICE}"}}
    async with shop_served(api, auth, users=users, schemes=key) as site:
        await call_tool(site, ALICE)

    assert [request.header("X-Key") for request in api.requests] == [SECRET]


async def test_without_a_user_nothing_is_sent(api):
    users = {"mode": "static", "tokens": {"alice": "${SECRET}"}}
    async with load_tools(shop(api), credentials={"shop": "own"}) as toolset:
        user_credentials = users_of(users, toolset, MemoryState())
        context = {"credentials": lambda tool: user_credentials.credentials_of(None, tool)}
        result = await toolset.call("list_orders", {}, context=context)

    assert result.error["type"] == "credentials"
    assert "but this request has none" in result.output
    assert api.requests == []


async def test_tools_of_other_apis_get_none_of_it(api):
    users = {"mode": "static", "tokens": {"alice": "${SECRET}"}}
    async with load_tools(shop(api)) as toolset, load_tools(shop(api)) as other:
        user_credentials = users_of(users, toolset, MemoryState())

        assert await user_credentials.credentials_of(None, other["list_orders"]) is None


# Logins: the person at the browser, with cookies of both servers.


def client_table(issuer, **fields):
    return table(issuer, client_id="app", client_secret="${SECRET}", **fields)


@pytest.mark.parametrize("mode", MODES)
async def test_a_user_logs_in_by_an_address_that_the_client_shows(mode, issuer, api):
    asked = []

    async def open_page(_, params):
        asked.append(params)
        async with Browser("ada") as browser:
            assert (await browser.go(params.url)).status_code == 200
        return types.ElicitResult(action="accept")

    async with shop_served(api, client_table(issuer), users=login_table(issuer)) as site:
        options = {"mode": mode, "elicitation_callback": open_page}
        result = await call_tool(site, issuer.token("ada"), times=2, **options)

    assert not result.is_error
    assert [params.mode for params in asked] == ["url"]
    assert asked[0].url.startswith(f"{site.origin}/login?flow=")
    carried = [header.removeprefix("Bearer ") for _, _, header in sent_requests(api)]
    assert [read(token)["sub"] for token in carried] == ["ada", "ada"]
    assert len(set(carried)) == 1


async def test_a_client_without_addresses_gets_it_as_text(issuer, api):
    async with shop_served(api, client_table(issuer), users=login_table(issuer)) as site:
        tokens = {user: issuer.token(user) for user in USERS}
        links = {user: link(await call_tool(site, tokens[user])) for user in USERS}
        again = link(await call_tool(site, tokens["ada"]))
        for user in USERS:
            async with Browser(user) as browser:
                page = await browser.go(links[user])
                assert "You are logged in." in page.text
        for user in USERS:
            assert not (await call_tool(site, tokens[user])).is_error

    assert again == links["ada"] != links["bob"]
    assert [read(h.removeprefix("Bearer "))["sub"] for _, _, h in sent_requests(api)] == [
        "ada",
        "bob",
    ]


async def test_a_user_with_a_static_token_shows_it_to_log_in(issuer, api):
    auth = {"tokens": {"alice": "${ALICE}", "bob": "${BOB}"}}
    async with shop_served(api, auth, users=login_table(issuer)) as site:
        page = link(await call_tool(site, ALICE))
        async with Browser("ada") as browser:
            form = await browser.get(page)
            hidden = hidden_fields(form)
            wrong = await browser.post(page, data={**hidden, "token": BOB})
            unknown = await browser.post(page, data={**hidden, "token": "x" * 30})
            large = await browser.post(page, data={**hidden, "token": "x" * 50_000})
            right = await browser.post(page, data={**hidden, "token": ALICE})
            done = await browser.go(right.headers["location"])
        result = await call_tool(site, ALICE)
        other = await call_tool(site, BOB)

    assert 'type="password"' in form.text
    assert "confirm that you are alice" in form.text
    assert "default-src 'none'" in form.headers["content-security-policy"]
    assert [one.status_code for one in (wrong, unknown, large, right)] == [403, 403, 403, 303]
    assert "belongs to the call of another user" in wrong.text
    assert "You are logged in." in done.text
    assert not result.is_error
    assert other.is_error
    assert len(api.requests) == 1


@pytest.mark.long
async def test_a_login_is_refreshed_and_ends_with_its_refresh_token(issuer, api):
    issuer.lifetime = 1
    async with shop_served(api, client_table(issuer), users=login_table(issuer)) as site:
        token = issuer.token("ada")
        async with Browser("ada") as browser:
            await browser.go(link(await call_tool(site, token)))
        await asyncio.sleep(1)
        calls = await asyncio.gather(*(call_tool(site, token) for _ in range(5)))
        refreshed = issuer.grants("refresh_token")
        for one in issuer.issued:
            one.revoked = True
        await asyncio.sleep(1)
        gone = await call_tool(site, token)

    assert not any(result.is_error for result in calls)
    assert refreshed == 1
    assert "shop needs your login" in texts(gone)[0]


async def test_a_declined_login_leaves_the_call_unsent(issuer, api):
    async def decline(_, params):
        return types.ElicitResult(action="decline")

    issuer.approves = False
    async with shop_served(api, client_table(issuer), users=login_table(issuer)) as site:
        token = issuer.token("ada")
        result = await call_tool(site, token, elicitation_callback=decline)
        async with Browser("ada") as browser:
            page = await browser.go(link(result))

    assert "shop needs your login" in texts(result)[0]
    assert page.status_code == 403
    assert "access_denied" in page.text
    assert api.requests == []


async def test_a_login_needs_to_tell_the_user_of_the_browser(issuer, api):
    with pytest.raises(SettingsError, match=r"needs client_id in \[serve"):
        async with shop_served(api, table(issuer), users=login_table(issuer)):
            pass


async def test_endpoints_that_only_the_document_names_elsewhere_are_not_used(issuer, api):
    token = {"tokenUrl": f"{issuer.url}/token", "scopes": {"read": ""}}
    flows = {"authorizationCode": {**token, "authorizationUrl": f"{issuer.url}/authorize"}}
    users = {"mode": "login", "client_id": "app", "client_secret": "${SECRET}"}
    schemes = {"shop": {"type": "oauth2", "flows": flows}}
    shop = shop_served(api, client_table(issuer), users=users, schemes=schemes)
    async with shop as site, Browser("ada") as browser:
        page = await browser.go(link(await call_tool(site, issuer.token("ada"))))

    assert page.status_code == 403
    assert "in apis.shop.users" in page.text
    assert issuer.grants("authorization_code") == 1  # to tell the user


async def test_tools_are_offered_to_a_program_without_users(api):
    settings = Settings(cache=False)
    async with load_tools(shop(api), credentials={"shop": "own"}, settings=settings) as toolset:
        context = {"credentials": lambda tool: {"shop": f"for-{tool.name}"}}
        await toolset.call("list_orders", {}, context=context)

    assert sent_requests(api) == [("GET", "/orders", "Bearer for-list_orders")]


async def test_a_token_that_cannot_be_kept_serves_its_call(issuer, api):
    class Full(MemoryState):
        async def put(self, key, value, seconds=None):
            raise CallError("connection", "the shared state is unreachable; nothing was sent.")

    async with shop_served(api, table(issuer), users=exchange(issuer), state=Full()) as site:
        result = await call_tool(site, issuer.token("ada"))

    assert not result.is_error
    assert len(sent_requests(api)) == len(issuer.exchanges) == 1


@pytest.mark.parametrize("damaged", [b"", b"\xff", b"[1]", b"{}", b"[" * 100_000], ids=range(5))
async def test_a_damaged_token_is_asked_for_again(damaged, issuer, api):
    state = FragileState()
    async with shop_served(api, table(issuer), users=exchange(issuer), state=state) as site:
        token = issuer.token("ada")
        await call_tool(site, token)
        await state.damage(damaged, "secret:token")
        result = await call_tool(site, token)

    assert not result.is_error
    assert len(issuer.exchanges) == 2
