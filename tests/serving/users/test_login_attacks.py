"""Attacks on logins and questions: a stolen link, state or code is of no use to another person."""

import hashlib
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from fragile_state import FragileState
from mcp import types
from servers.team import (
    Browser,
    call_tool,
    link,
    login_table,
    post_modern,
    shop,
    shop_served,
    table,
)

from openapi_tools import load_tools, require_approval
from openapi_tools.errors import PendingApproval
from openapi_tools.state.shared_state import MemoryState


@pytest.fixture
async def site(issuer, api):
    auth = table(issuer, client_id="app", client_secret="${SECRET}")
    async with shop_served(api, auth, users=login_table(issuer)) as shop:
        yield shop


async def steps(browser, url):
    """Open a link; return the addresses that the browser is led to, the last unopened."""
    places = [url]
    while len(places) < 5:  # link, issuer, callback, API's authorization server, callback
        response = await browser.get(places[-1])
        assert response.status_code in (302, 303), response.text
        places.append(response.headers["location"])
    return places


async def is_logged_in(site, issuer, user):
    return not (await call_tool(site, issuer.token(user))).is_error


async def test_a_link_that_another_person_opens_logs_nobody_in(site, issuer, api):
    stolen = link(await call_tool(site, issuer.token("eve")))
    async with Browser("ada") as victim:
        page = await victim.go(stolen)

    assert page.status_code == 403
    assert "belongs to the call of another user" in page.text
    assert not await is_logged_in(site, issuer, "eve")
    assert not await is_logged_in(site, issuer, "ada")
    assert api.requests == []


async def test_the_address_of_the_second_step_is_of_one_browser(site, issuer, api):
    page = link(await call_tool(site, issuer.token("eve")))
    async with Browser("eve") as attacker, Browser("ada") as victim:
        places = await steps(attacker, page)
        response = await victim.go(places[3])

    assert urlsplit(places[3]).path == "/authorize"
    assert response.status_code == 404
    assert not await is_logged_in(site, issuer, "eve")


async def test_a_callback_is_good_once(site, issuer, api):
    page = link(await call_tool(site, issuer.token("ada")))
    async with Browser("ada") as browser:
        places = await steps(browser, page)
        first, again = await browser.get(places[2]), None
        done, again = await browser.get(places[4]), await browser.get(places[4])

    assert (first.status_code, done.status_code, again.status_code) == (404, 200, 404)
    assert await is_logged_in(site, issuer, "ada")


async def test_a_code_of_the_attacker_does_not_get_into_a_users_login(site, issuer, api):
    pages = {user: link(await call_tool(site, issuer.token(user))) for user in ("ada", "eve")}
    async with Browser("ada") as victim, Browser("eve") as attacker:
        addresses = await steps(victim, pages["ada"])
        foreign = await steps(attacker, pages["eve"])
        code = parse_qs(urlsplit(foreign[4]).query)["code"][0]
        response = await victim.get(re.sub(r"code=[^&]+", f"code={code}", addresses[4]))

    assert response.status_code == 403  # the verifier does not fit (RFC 7636)
    assert not await is_logged_in(site, issuer, "ada")


async def test_a_response_of_another_authorization_server_is_refused(site, issuer, api):
    page = link(await call_tool(site, issuer.token("ada")))
    async with Browser("ada") as browser:
        places = await steps(browser, page)
        response = await browser.get(f"{places[4]}&iss=https://login.evil.example")

    assert response.status_code == 403
    assert "another authorization server" in response.text
    assert issuer.grants("authorization_code") == 1


CALLBACKS = {
    "nothing": "",
    "no state": "?code=abc",
    "an unknown state": "?code=abc&state=x",
    "an empty state": "?code=abc&state=",
    "two states": "?code=abc&state=a&state=b",
    "a flood of fields": "?" + "&".join(f"a{n}=1" for n in range(60)),
    "odd characters": "?state=%00%ff%0a&code=%f0",
}


@pytest.mark.parametrize("query", CALLBACKS.values(), ids=CALLBACKS)
async def test_a_callback_without_a_login_is_refused(query, site, issuer):
    async with Browser("ada") as browser:
        response = await browser.get(f"{site.origin}/login/callback{query}")

    assert response.status_code == 404
    assert "expired or was already used" in response.text
    assert not issuer.forms


async def test_cookies_are_for_this_server_alone(site, issuer):
    page = link(await call_tool(site, issuer.token("ada")))
    async with Browser("ada") as browser:
        response = await browser.get(page)

    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["referrer-policy"] == "no-referrer"
    query = parse_qs(urlsplit(response.headers["location"]).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["resource"] == ["https://tools.example.com/mcp"]


async def test_the_answer_to_another_users_question_logs_nobody_in(site, issuer, api):
    """A client may answer a question that it was not asked."""
    asked = []

    async def keep(_, params):
        asked.append(params)
        return types.ElicitResult(action="decline")

    await call_tool(site, issuer.token("ada"), elicitation_callback=keep)
    flow = parse_qs(urlsplit(asked[0].url).query)["flow"][0]
    key = f"login-{hashlib.sha256(flow.encode()).hexdigest()[:32]}"
    call = {"name": "list_orders", "arguments": {}, "inputResponses": {key: {"action": "accept"}}}
    able = {"elicitation": {"form": {}, "url": {}}}
    response = await post_modern(site, issuer.token("eve"), "tools/call", able, **call)

    assert response.json()["result"]["resultType"] == "input_required"
    assert asked[0].url not in response.text
    assert api.requests == []


async def test_a_program_that_waits_goes_on_for_its_user_only(api):
    pytest.importorskip("pydantic_monty", reason="pydantic-monty is not installed")
    code = {"code": "await add_order()"}

    def ask(call):
        raise PendingApproval("Is this right?")

    async with load_tools(shop(api), credentials={"shop": "key"}) as toolset:
        toolset.add_input_guardrails([require_approval()])
        tools = toolset.code_tools()
        ada, eve = ({"user": user, "approve": ask, "state": object()} for user in ("ada", "eve"))
        waits = await tools.call("run_code", code, context=ada)
        again = {"resume": waits.metadata["run"], "approve": lambda _: True}
        stolen = await tools.call("run_code", code, context={**eve, **again})
        before = len(api.requests)
        right = await tools.call("run_code", code, context={**ada, **again})
        await tools.aclose()

    assert stolen.is_error
    assert "has ended" in str(stolen)
    assert before == 0
    assert not right.is_error
    assert len(api.requests) == 1


DAMAGED = (b"", b"\xff\xfe", b"[]", b'{"user": "ada"}', b'{"user": 7}', b"[" * 100_000)


@pytest.mark.parametrize("damaged", DAMAGED, ids=range(len(DAMAGED)))
async def test_a_damaged_login_is_one_that_has_expired(damaged, issuer, api):
    state = FragileState()
    auth = table(issuer, client_id="app", client_secret="${SECRET}")
    async with shop_served(api, auth, users=login_table(issuer), state=state) as site:
        page = link(await call_tool(site, issuer.token("ada")))
        async with Browser("ada") as browser:
            await state.damage(damaged, "secret:login:flow")
            begun = await browser.get(page)
            await state.damage(damaged, "secret:login:open")
            places = await steps(browser, link(await call_tool(site, issuer.token("ada"))))
            await state.damage(damaged, "secret:login:state")
            ended = await browser.get(places[-1])

    assert (begun.status_code, ended.status_code) == (404, 404)
    assert "has expired" in begun.text
    assert "has expired" in ended.text


async def test_a_link_that_is_opened_again_and_again_evicts_no_login_of_others(issuer, api):
    state = MemoryState(most_bytes=12_000)
    auth = table(issuer, client_id="app", client_secret="${SECRET}")
    async with shop_served(api, auth, users=login_table(issuer), state=state) as site:
        pages = {user: link(await call_tool(site, issuer.token(user))) for user in ("ada", "eve")}
        async with Browser("ada") as browser, Browser("eve") as attacker:
            begun = await browser.get(pages["ada"])
            for _ in range(40):
                assert (await attacker.get(pages["eve"])).status_code == 303
            ended = await browser.go(begun.headers["location"])

        assert ended.status_code == 200, ended.text
        assert await is_logged_in(site, issuer, "ada")
