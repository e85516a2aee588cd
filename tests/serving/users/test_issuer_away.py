"""An issuer that is slow, hangs, fails or comes back: users are served, or told to come again."""

import asyncio
from collections import Counter

import httpx
import pytest
from issuer_load import load
from servers.issuer import CURVE, KEY, OTHER
from servers.team import INITIALIZE, inbound_of, post, shop_served, table

from openapi_tools.errors import CallError
from openapi_tools.serving import inbound_auth, signing_keys
from openapi_tools.serving.signing_keys import BadTokenError

USERS = 20
CLIENT = {"client_id": "app", "client_secret": "${SECRET}"}


@pytest.fixture
def times(monkeypatch):
    """Set the seconds that the server waits for its issuer, and after it."""

    def change(**seconds):
        for name, value in seconds.items():
            monkeypatch.setattr(signing_keys, name, value)
        if "PATIENCE" in seconds:
            monkeypatch.setattr(inbound_auth, "PATIENCE", seconds["PATIENCE"])

    return change


def opaque(issuer, **fields):
    return table(issuer, introspection_url=f"{issuer.url}/introspect", **CLIENT, **fields)


async def asked_for(issuer, path, count=1):
    """Wait until the issuer was asked so often."""
    async with asyncio.timeout(20):
        while issuer.asked[path] < count:  # noqa: ASYNC110 -- it is in another thread
            await asyncio.sleep(0.005)


async def statuses(site, tokens):
    accept = {"Accept": "application/json, text/event-stream"}
    async with httpx.AsyncClient(timeout=30, headers=accept) as web:
        heads = [{"Authorization": f"Bearer {token}"} for token in tokens]
        calls = (web.post(site.url, json=INITIALIZE, headers=head) for head in heads)
        responses = await asyncio.gather(*calls)
    return Counter(response.status_code for response in responses), responses


def tokens_of(issuer, **claims):
    return [issuer.token(f"user-{number}", **claims) for number in range(USERS)]


async def test_users_who_come_while_the_first_keys_are_fetched_are_all_served(issuer, api):
    issuer.holds = {"/jwks"}
    async with shop_served(api, table(issuer)) as site:
        first = asyncio.create_task(post(site, issuer.token()))
        await asked_for(issuer, "/jwks")
        task = asyncio.create_task(statuses(site, tokens_of(issuer)))
        await asyncio.sleep(0)
        issuer.holds = set()
        counts, _ = await task

        assert (await first).status_code == 200
    assert counts == {200: USERS}
    assert issuer.asked["/jwks"] == 1


@pytest.mark.parametrize("path", ["/jwks", "/.well-known/openid-configuration"])
async def test_users_of_an_issuer_that_hangs_are_asked_to_retry_later(path, issuer, api, times):
    times(PATIENCE=0.3, _AFTER_FAILURE=60.0)
    issuer.holds = {path}
    async with shop_served(api, table(issuer)) as site:
        first, responses = await statuses(site, tokens_of(issuer))
        asked = issuer.asked[path]
        # The pause counts from the end of the attempt, and nobody waits in it.
        again, _ = await statuses(site, tokens_of(issuer))
        asked_again = issuer.asked[path]
        issuer.holds = set()
        times(_AFTER_FAILURE=0.0)
        back, _ = await statuses(site, tokens_of(issuer))

    assert (first, again, back) == ({503: USERS}, {503: USERS}, {200: USERS})
    assert (asked, asked_again) == (1, 1)
    assert all(int(response.headers["retry-after"]) > 0 for response in responses)
    assert all("www-authenticate" not in response.headers for response in responses)


FAULTS = {
    "an error": {"key_status": 500},
    "not found": {"key_status": 404},
    "no keys": {"keys": []},
    "another issuer's description": {"metadata": {"issuer": "https://other.example.com"}},
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_users_of_an_issuer_that_fails_are_asked_to_retry_later(fault, issuer, api, times):
    times(_AFTER_FAILURE=0.0)
    vars(issuer).update(fault)
    async with shop_served(api, table(issuer)) as site:
        away, _ = await statuses(site, tokens_of(issuer))
        vars(issuer).update({"key_status": 200, "keys": [KEY], "metadata": {}})
        back, _ = await statuses(site, tokens_of(issuer))

    assert (away, back) == ({503: USERS}, {200: USERS})


@pytest.mark.parametrize("fault", [{"holds": {"/jwks"}}, {"key_status": 500}, {"keys": []}])
async def test_users_whose_key_is_known_do_not_wait_for_others(fault, issuer, api, times):
    times(PATIENCE=20.0)
    async with shop_served(api, table(issuer)) as site:
        await post(site, issuer.token())
        times(_FRESH=0.0, _PAUSE=0.0, _AFTER_FAILURE=0.0)
        vars(issuer).update(fault)
        counts, _ = await statuses(site, tokens_of(issuer))
        await asked_for(issuer, "/jwks", 2)  # beside them
        counts += (await statuses(site, tokens_of(issuer)))[0]
        # A renewal that failed took no key away.
        counts += (await statuses(site, tokens_of(issuer)))[0]
        issuer.holds = set()

    assert counts == {200: 3 * USERS}


async def test_keys_that_were_renewed_beside_are_used(issuer, times):
    inbound = inbound_of(table(issuer))
    await inbound.verify_token(issuer.token())
    times(_FRESH=0.0, _PAUSE=0.0)
    issuer.keys = [CURVE]
    await inbound.verify_token(issuer.token())
    async with asyncio.timeout(20):
        while True:  # until the key that is gone is not taken any more
            try:
                await inbound.verify_token(issuer.token())
            except BadTokenError:
                break
            await asyncio.sleep(0.005)
    await inbound.verify_token(issuer.token(header={"alg": "ES256", "kid": "e1"}, key=CURVE))
    await inbound.aclose()


@pytest.mark.parametrize("fault", [{"holds": {"/jwks"}}, {"key_status": 500}, {"keys": []}])
async def test_an_unknown_key_is_wrong_only_once_the_issuer_has_said_so(fault, issuer, api, times):
    new = issuer.token(header={"alg": "ES256", "kid": "e1"}, key=CURVE)
    forged = issuer.token(header={"kid": "x"}, key=OTHER)
    times(PATIENCE=0.3)
    async with shop_served(api, table(issuer)) as site:
        await post(site, issuer.token())
        times(_PAUSE=0.0, _AFTER_FAILURE=60.0)
        vars(issuer).update(fault)
        away, _ = await statuses(site, [new, forged] * 5)
        pausing, _ = await statuses(site, [new, forged] * 5)
        vars(issuer).update({"holds": set(), "key_status": 200, "keys": [KEY, CURVE]})
        times(_AFTER_FAILURE=0.0)
        back = [(await post(site, token)).status_code for token in (new, forged)]

    assert (away, pausing, back) == ({503: 10}, {503: 10}, [200, 401])


async def test_a_server_that_ends_leaves_no_fetch_behind(issuer, times):
    inbound = inbound_of(opaque(issuer))
    await inbound.verify_token(issuer.token())
    times(_FRESH=0.0, _PAUSE=0.0)
    issuer.holds = {"/jwks", "opaque-of-ada"}
    before = asyncio.all_tasks()
    await inbound.verify_token(issuer.token())
    waiting = asyncio.create_task(inbound.verify_token("opaque-of-ada"))
    await asked_for(issuer, "/jwks", 2)
    await asked_for(issuer, "/introspect")
    await inbound.aclose()
    with pytest.raises(CallError):
        await waiting

    assert asyncio.all_tasks() <= before


async def test_a_token_is_asked_about_once_for_all_who_wait(issuer, api):
    issuer.holds = {"opaque-of-ada"}
    async with shop_served(api, opaque(issuer)) as site:
        waiting = asyncio.create_task(statuses(site, ["opaque-of-ada"] * USERS))
        await asked_for(issuer, "/introspect")
        # The check that hangs stops no other user.
        other, _ = await statuses(site, ["opaque-of-bob"] * USERS)
        is_waiting = not waiting.done()
        issuer.holds = set()
        counts, _ = await waiting

    assert is_waiting
    assert (other, counts) == ({200: USERS}, {200: USERS})
    assert issuer.asked["/introspect"] == 2


ISSUER_FAULTS = {
    "nothing": {"holds": {"/introspect"}},
    "no verdict": {"introspection": {"scope": "tools"}},
    "a verdict that is no boolean": {"introspection": {"active": "yes"}},
}


@pytest.mark.parametrize("fault", ISSUER_FAULTS.values(), ids=ISSUER_FAULTS)
async def test_users_whose_tokens_cannot_be_asked_about_come_again(fault, issuer, api, times):
    times(PATIENCE=0.3)
    vars(issuer).update(fault)
    async with shop_served(api, opaque(issuer)) as site:
        away, responses = await statuses(site, ["opaque-of-ada", "opaque-of-bob", "x" * 20] * 5)
        vars(issuer).update({"holds": set(), "introspection": None})
        back, _ = await statuses(site, ["opaque-of-ada", "opaque-of-bob", "x" * 20] * 5)

    assert (away, back) == ({503: 15}, {200: 10, 401: 5})
    assert all("retry-after" in response.headers for response in responses)


@pytest.mark.long
async def test_an_issuer_that_comes_and_goes_under_load_makes_no_good_token_wrong(
    issuer, api, times
):
    times(PATIENCE=0.5, _FRESH=0.2, _PAUSE=0.1, _AFTER_FAILURE=0.1)
    async with shop_served(api, table(issuer)) as site:
        measurements = await load(site, issuer, rounds=6, seconds=0.5, users=50)

    assert set(measurements.counts) <= {200, 503}
    assert measurements.counts[200] > measurements.counts[503]
