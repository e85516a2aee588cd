"""Roles of `serve`: who has them, what they show, and what an empty list says."""

import httpx2
import pytest
from doc_pages import DOCS, ROOT, blocks
from servers.team import ALICE, BOB, read_table, shop_served
from team_servers import client_of, document, host_team, process_of, write_configuration

from openapi_tools.errors import SettingsError
from openapi_tools.serving.inbound_auth import TokenAuthenticator
from openapi_tools.serving.serving_tables import AuthTable, RoleTable, ServeTable, role_warnings

AUTH = {"tokens": {"alice": "${ALICE}", "bob": "${BOB}"}}
EMPTY = {
    "tools": {"tools": []},
    "apis": {"apis": []},
    "users": {"users": []},
    "scopes": {"scopes": []},
    "claims": {"claims": {}},
    "values of a claim": {"claims": {"groups": []}},
    "tools beside a condition": {"users": ["alice"], "tools": []},
    "users beside tools": {"users": [], "tools": ["*"]},
}


@pytest.mark.parametrize("mode", ["tools", "search"])
@pytest.mark.parametrize("role", EMPTY.values(), ids=EMPTY)
async def test_an_empty_list_lets_nobody_and_nothing_through(role, mode, api):
    served = shop_served(api, AUTH, roles={"r": role}, mode=mode, credentials={"shop": "key"})
    async with served as site, site.client(ALICE) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        if mode == "search":
            await client.call_tool("call_tool", {"name": "list_orders"})

    expected = [] if mode == "tools" else ["search_tools", "describe_tools", "call_tool"]
    assert listed == expected
    assert api.requests == []


async def test_an_absent_key_sets_no_limit(api):
    async with shop_served(api, AUTH, roles={"r": {}}) as site, site.client(BOB) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]

    assert listed == ["list_orders", "add_order", "delete_all"]


def test_a_server_that_would_let_nobody_in_is_refused():
    with pytest.raises(SettingsError, match=r"serve\.auth\.scopes: an empty list admits nobody"):
        read_table(AuthTable, {**AUTH, "scopes": []}, "serve", "auth")


async def test_a_role_without_conditions_is_logged_at_the_start(tmp_path):
    auth = 'auth = {tokens = {alice = "${ALICE}"}}\nport = 0\nworkers = 2\n'
    roles = '[serve.roles.everyone]\nread_only = true\n[serve.roles.some]\nusers = ["alice"]'
    config = write_configuration(tmp_path, auth + roles, pets=document("Pets", "list_pets"))
    async with process_of(config) as server:
        await server.line(r"at http://")
        lines = [line for line in server.log_lines if "all users have this role" in line]

    assert len(lines) == 1
    assert "WARNING" in lines[0]
    assert "serve.roles.everyone has no users, scopes or claims" in lines[0]


def test_a_role_for_an_unknown_user_or_api_is_a_warning():
    tokens = {"alice": "${ALICE}"}
    role = {"users": ["alice", "bob", "https://login.example|eve"], "apis": ["pe*", "shop"]}
    serve = ServeTable.model_validate({"auth": {"tokens": tokens}, "roles": {"some": role}})

    assert [*role_warnings(serve, ["pets"])] == [
        "serve.roles.some.users: no token in serve.auth.tokens is called 'bob'.",
        "serve.roles.some.apis: no API matches 'shop'.",
    ]


async def test_the_role_for_monitoring_reads_metrics_and_calls_nothing(tmp_path, monkeypatch):
    (text,) = (each for each in blocks(DOCS / "users.md", "toml") if "prometheus" in each)
    (tmp_path / "specs").symlink_to(ROOT / "specs")
    (tmp_path / "monitored.toml").write_text(text)
    monkeypatch.setenv("PROMETHEUS_TOKEN", BOB)
    monkeypatch.setenv("ALICE_TOKEN", ALICE)
    seen, statuses = {}, {}
    async with host_team(tmp_path / "monitored.toml") as server:
        for token in (ALICE, BOB, f"{BOB}0"):
            headers = {"Authorization": f"Bearer {token}"}
            async with httpx2.AsyncClient(headers=headers) as web:
                statuses[token] = (await web.get(f"{server.address}/metrics")).status_code
            if token in (ALICE, BOB):
                async with client_of(server.url, headers=headers) as client:
                    seen[token] = len((await client.list_tools()).tools)

    assert seen == {ALICE: 8, BOB: 0}
    assert statuses == {ALICE: 200, BOB: 200, f"{BOB}0": 401}


class _Tool:
    method, read_only = "GET", True

    def __init__(self, name):
        self.name = name


PATTERNS = [
    (["list_*"], {"list_a"}),
    (["[!l]*", "list_a"], {"get_a", "list_a"}),
    (["*_?"], {"list_a", "get_a"}),
    (["LIST_*"], set()),
    (["list_a|get_a", "(", "[", "list_["], set()),
    ([f"x{number}" for number in range(400)] + ["get_*"], {"get_a"}),
]


@pytest.mark.parametrize(("patterns", "names"), PATTERNS)
def test_patterns_are_globs_and_nothing_else(patterns, names):
    role = RoleTable(tools=patterns)

    assert {n for n in ("list_a", "get_a") if role.shows(_Tool(n), "a")} == names


async def test_a_role_is_asked_once_for_all_its_users_requests(api, monkeypatch):
    """1,500 tools and ten roles took 22 ms of each request."""
    asked = []
    sees = TokenAuthenticator.may_see
    monkeypatch.setattr(
        TokenAuthenticator, "may_see", lambda *args: asked.append(args) or sees(*args)
    )
    roles = {"all": {"users": ["alice"]}, "reader": {"users": ["bob"], "read_only": True}}
    async with shop_served(api, AUTH, roles=roles) as site:
        for token in (ALICE, BOB) * 3:
            async with site.client(token) as client:
                assert len((await client.list_tools()).tools) == (3 if token == ALICE else 1)

    assert len(asked) == 3 * 2
