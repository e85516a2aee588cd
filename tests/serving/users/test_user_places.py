"""No user of a server fills its places for all: sessions, connections, questions, tasks."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx
import pytest
from mcp import types
from mcp_api import DOCUMENT, Api
from servers.team import ALICE, BOB, INITIALIZE, shop
from servers.team import serving as serving_users
from team_servers import host_team, write_configuration

from openapi_tools import load_tools, require_approval

TOKENS = {"tokens": {"alice": "${ALICE}", "bob": "${BOB}"}}
AUTH = '[serve.auth]\ntokens = { alice = "${ALICE}", bob = "${BOB}" }\n'
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def config_of(folder, url, serve=""):
    (folder / "pets.json").write_text(json.dumps(DOCUMENT))
    table = f'source = "pets.json"\nbase_url = "{url}"'
    return write_configuration(folder, f'audit = "off"\n{serve}\n{AUTH}', pets=table)


@asynccontextmanager
async def site_of(config):
    """Give a client whose `post` sends a message to a server of a configuration."""
    headers = {"Accept": "application/json, text/event-stream"}
    async with (
        host_team(config) as server,
        httpx.AsyncClient(headers=headers, timeout=20) as web,
    ):
        web.server = server
        yield web


def post(web, token, message=INITIALIZE, **headers):
    all_headers = {"Authorization": f"Bearer {token}", **headers}
    return web.post(web.server.url, json=message, headers=all_headers)


async def open_session(web, token):
    """Return the id of a new session, or the status of the refusal."""
    response = await post(web, token)
    return response.headers.get("mcp-session-id", response.status_code)


async def use_session(web, token, session):
    """Return the status of a request in a session."""
    return (await post(web, token, LIST, **{"Mcp-Session-Id": session})).status_code


async def test_the_sessions_of_one_user_end_none_of_another(tmp_path):
    serve = "stateless = false\nmax_sessions = 6"
    async with site_of(config_of(tmp_path, "http://127.0.0.1:9", serve)) as site:
        bob = await open_session(site, BOB)
        alice = [await open_session(site, ALICE) for _ in range(10)]
        second = await open_session(site, BOB)
        statuses = {
            "bob's first": await use_session(site, BOB, bob),
            "bob's second": await use_session(site, BOB, second),
            "alice's oldest": await use_session(site, ALICE, alice[0]),
            "alice's newest": await use_session(site, ALICE, alice[-1]),
        }
        counts = [await use_session(site, ALICE, session) for session in alice]

    assert all(isinstance(session, str) for session in (bob, *alice, second))
    assert statuses == {
        "bob's first": 200,
        "bob's second": 200,
        "alice's oldest": 404,
        "alice's newest": 200,
    }
    assert counts == [404] * 6 + [200] * 4


async def test_a_session_that_its_client_ended_takes_no_place(tmp_path):
    serve = "stateless = false\nmax_sessions = 2"
    async with site_of(config_of(tmp_path, "http://127.0.0.1:9", serve)) as site:
        bob = await open_session(site, BOB)
        for _ in range(5):
            headers = {"Authorization": f"Bearer {ALICE}"}
            headers["Mcp-Session-Id"] = await open_session(site, ALICE)
            assert (await site.delete(site.server.url, headers=headers)).status_code == 200
            assert await use_session(site, BOB, bob) == 200


async def test_requests_that_open_no_session_end_one_at_most(tmp_path):
    serve = "stateless = false\nmax_sessions = 4"
    async with site_of(config_of(tmp_path, "http://127.0.0.1:9", serve)) as site:
        bob = [await open_session(site, BOB) for _ in range(4)]
        wrong = {**INITIALIZE, "method": "tools/list"}
        statuses = [(await post(site, ALICE, wrong)).status_code for _ in range(5)]
        codes = [await use_session(site, BOB, session) for session in bob]

    assert statuses == [400] * 5
    assert codes == [404, 200, 200, 200]


async def test_the_calls_of_one_user_leave_connections_for_others(tmp_path):
    limits = "[serve.limits]\nconnections = 8\n"
    slow = {"name": "be_slow", "arguments": {"seconds": 60}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": slow}
    async with Api() as api, site_of(config_of(tmp_path, api.url, limits)) as site:
        calls = [asyncio.create_task(post(site, ALICE, call)) for _ in range(4)]
        async with asyncio.timeout(20):
            while len(site.server.web.server_state.tasks) < 4:  # noqa: ASYNC110 -- told in no other way
                await asyncio.sleep(0.005)
        refused = await post(site, ALICE, LIST)
        served = await post(site, BOB, LIST)
        are_running = [not task.done() for task in calls]
        for task in calls:
            task.cancel()
        await asyncio.wait(calls)

    assert (refused.status_code, served.status_code) == (503, 200)
    assert refused.headers["Retry-After"] == "1"
    assert "Too many of your requests" in refused.text
    assert all(are_running)


async def test_connections_without_a_token_close_before_those_of_users(tmp_path):
    limits = "[serve.limits]\nconnections = 6\n"
    async with site_of(config_of(tmp_path, "http://127.0.0.1:9", limits)) as site:
        first = await post(site, ALICE, LIST)
        kept = first.extensions["network_stream"]
        port = int(site.server.address.rpartition(":")[2])
        flood = [await asyncio.open_connection("127.0.0.1", port) for _ in range(30)]
        second = await post(site, ALICE, LIST)
        for _, writer in flood:
            writer.close()

    assert (first.status_code, second.status_code) == (200, 200)
    assert second.extensions["network_stream"] is kept


async def test_the_open_questions_of_one_user_decline_none_of_another(api):
    """The seventeenth question of a user declines their first one."""
    asked = {"alice": asyncio.Event(), "bob": asyncio.Event()}
    counts, opened = {"alice": 0, "bob": 0}, asyncio.Event()

    def asking(name, enough):
        async def answer(_, params):
            counts[name] += 1
            if counts[name] == enough:
                asked[name].set()
            await opened.wait()
            return types.ElicitResult(action="accept")

        return answer

    async with load_tools(shop(api), credentials={"shop": "key-of-the-shop-5521"}) as toolset:
        toolset.add_input_guardrails([require_approval()])
        async with (
            serving_users(toolset, TOKENS) as site,
            site.client(BOB, "legacy", elicitation_callback=asking("bob", 1)) as bob,
            site.client(ALICE, "legacy", elicitation_callback=asking("alice", 17)) as alice,
        ):
            bobs = asyncio.create_task(bob.call_tool("add_order", {}))
            await asyncio.wait_for(asked["bob"].wait(), 20)
            alices = [asyncio.create_task(alice.call_tool("add_order", {})) for _ in range(17)]
            await asyncio.wait_for(asked["alice"].wait(), 20)
            done, _ = await asyncio.wait(alices, timeout=20, return_when=asyncio.FIRST_COMPLETED)
            opened.set()
            results = await asyncio.gather(*alices)
            result = await bobs

    (first,) = done
    assert "was not approved" in first.result().content[0].text
    assert [result.is_error for result in results].count(True) == 1
    assert not result.is_error
    assert len(api.requests) == 17


@pytest.mark.long
async def test_three_hundred_sessions_of_one_user_are_not_all(tmp_path):
    async with site_of(config_of(tmp_path, "http://127.0.0.1:9", "stateless = false")) as site:
        for _ in range(301):
            assert isinstance(await open_session(site, ALICE), str)
        assert await use_session(site, BOB, await open_session(site, BOB)) == 200
