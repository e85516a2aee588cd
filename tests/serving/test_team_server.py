"""A server of several APIs over HTTP: its tools, its pages, and its records."""

import asyncio
import gc
import json
import re

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")
pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")

import click
import httpx2
from mcp import MCPError
from mcp_api import MODES, texts
from servers.recorder import CannedResponse, Recorder
from team_servers import client_of, document, host_team, running_at, write_configuration

from openapi_tools.errors import CallError, SettingsError
from openapi_tools.serving.team_server import check_address, start_server
from openapi_tools.serving.web_server import open_socket
from openapi_tools.state import redis_state
from openapi_tools.state.shared_state import MemoryState

PETS = document("Pets", "list_pets", "list_users")
SHOP = document("Shop", "list_orders", "list_users")
SECRETS = {"PETS_KEY": "s3cr3t-of-pets", "SHOP_KEY": "s3cr3t-of-shop"}


@pytest.fixture
async def servers(tmp_path, monkeypatch):
    """Two APIs on loopback, and the tables that name them, each with its own credential."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    async with Recorder() as pets, Recorder() as shop:
        tables = {}
        for name, server, doc in (("pets", pets, PETS), ("shop", shop, SHOP)):
            (tmp_path / f"{name}.json").write_text(json.dumps(doc))
            key = f'key = "${{{name.upper()}_KEY}}"'
            tables[name] = (
                f'source = "{name}.json"\nbase_url = "{server.url}"\n'
                f"[apis.{name}.credentials]\n{key}"
            )
        yield pets, shop, tables


async def names_of(client):
    return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("mode", MODES)
async def test_equal_names_begin_with_the_name_of_their_api_and_credentials_never_cross(
    mode, servers, tmp_path, capfd
):
    pets, shop, tables = servers
    async with (
        host_team(write_configuration(tmp_path, **tables)) as server,
        client_of(server.url, mode) as client,
    ):
        names = await names_of(client)
        for name in names:
            assert not (await client.call_tool(name, {})).is_error

    assert names == ["list_pets", "pets_list_users", "list_orders", "shop_list_users"]
    assert {request.header("X-Key") for request in pets.requests} == {"s3cr3t-of-pets"}
    assert {request.header("X-Key") for request in shop.requests} == {"s3cr3t-of-shop"}
    assert [request.target for request in shop.requests] == ["/list_orders", "/list_users"]
    audited = [json.loads(line) for line in capfd.readouterr().err.splitlines() if "{" in line]
    assert [(line["api"], line["tool"], line["outcome"]) for line in audited] == [
        ("pets", "list_pets", "ok"),
        ("pets", "pets_list_users", "ok"),
        ("shop", "list_orders", "ok"),
        ("shop", "shop_list_users", "ok"),
    ]


async def test_each_api_has_a_path_of_its_own_where_wanted_in_its_own_mode(servers, tmp_path):
    _, _, tables = servers
    tables["shop"] = tables["shop"].replace("base_url", 'mode = "search"\nbase_url', 1)
    async with host_team(write_configuration(tmp_path, "paths = true", **tables)) as server:
        async with client_of(f"{server.address}/pets/mcp") as client:
            pets, about = await names_of(client), client.server_info.name
            with pytest.raises(MCPError, match="no tool is called 'list_orders'"):
                await client.call_tool("list_orders", {})
        async with client_of(f"{server.address}/shop/mcp") as client:
            shop = await names_of(client)
        async with client_of(server.url) as client:
            everything = await names_of(client)
        wrong = await server.get("/other/mcp")

    assert (about, pets) == ("pets", ["list_pets", "list_users"])
    assert shop == ["search_tools", "describe_tools", "call_tool"]
    assert len(everything) == 4
    assert wrong.status_code == 404


async def test_a_prefix_of_an_api_is_before_all_its_names(servers, tmp_path):
    _, _, tables = servers
    tables["shop"] = tables["shop"].replace("base_url", 'prefix = "buy_"\nbase_url', 1)
    async with (
        host_team(write_configuration(tmp_path, **tables)) as server,
        client_of(server.url) as client,
    ):
        names = await names_of(client)

    assert names == ["list_pets", "list_users", "buy_list_orders", "buy_list_users"]


@pytest.mark.parametrize("way", ["search", "code"])
async def test_searches_and_programs_reach_all_apis(way, servers, tmp_path):
    if way == "code":
        pytest.importorskip("pydantic_monty", reason="pydantic-monty is not installed")
    pets, shop, tables = servers
    async with (
        host_team(write_configuration(tmp_path, f'mode = "{way}"', **tables)) as server,
        client_of(server.url) as client,
    ):
        if way == "search":
            hits = await client.call_tool("search_tools", {"query": "users"})
            for name in ("list_pets", "shop_list_users"):
                await client.call_tool("call_tool", {"name": name, "arguments": {}})
        else:
            hits = await client.call_tool("search", {"query": "users"})
            code = "[await list_pets(), await shop_list_users()]"
            await client.call_tool("run_code", {"code": code})

    assert "pets_list_users" in texts(hits)[0]
    assert "shop_list_users" in texts(hits)[0]
    assert [request.header("X-Key") for request in pets.requests] == ["s3cr3t-of-pets"]
    assert [request.header("X-Key") for request in shop.requests] == ["s3cr3t-of-shop"]


async def test_one_faulty_api_is_named_and_the_others_serve(servers, tmp_path, caplog):
    _, _, tables = servers
    tables |= {"gone": 'source = "nowhere.json"', "odd": 'sorce = "x"'}
    config = write_configuration(tmp_path, **tables)
    async with host_team(config) as server, client_of(server.url) as client:
        assert len(await names_of(client)) == 4
        health, ready = await server.get("/healthz"), await server.get("/readyz")

    apis = ready.json()["apis"]
    assert (health.status_code, health.text) == (200, "ok")
    assert (ready.status_code, ready.json()["ready"]) == (200, True)
    assert apis["gone"] == {"ready": False, "reason": "document_unreadable"}
    assert apis["odd"] == {"ready": False, "reason": "configuration_invalid"}
    assert str(tmp_path) not in ready.text
    logged = [record.getMessage() for record in caplog.records]
    assert f"gone: {tmp_path}/nowhere.json: no such file." in logged
    assert any("apis.odd.source: name the document" in line for line in logged)
    assert (apis["pets"]["ready"], apis["pets"]["tools"]) == (True, 2)
    with pytest.raises(SettingsError, match=r"--strict: an API cannot be served: gone: .*odd: "):
        start_server(str(config), {"strict": True})


def test_a_server_whose_apis_are_all_wrong_does_not_start(tmp_path):
    config = write_configuration(tmp_path, a='source = "x.json"')

    with pytest.raises(SettingsError, match=r"no API can be served: a: .*x\.json: no such file\."):
        start_server(str(config), {})


async def test_a_process_of_its_own_freezes_documents_when_they_are_loaded(servers, tmp_path):
    """Garbage collection would walk them while calls wait."""
    config = write_configuration(tmp_path, **servers[2])
    started = await asyncio.to_thread(start_server, str(config), {})
    thresholds = gc.get_threshold()
    try:
        with open_socket("127.0.0.1", 0) as place:
            async with running_at(place, started, owns_process=True):
                frozen = gc.get_freeze_count()
                path = tmp_path / "pets.json"
                path.write_text(json.dumps(document("Pets", *(f"p{n}" for n in range(100)))))
                await started.apis.refresh()
                started.apis.on_refresh()
                refrozen = gc.get_freeze_count()
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)

    assert 10_000 < frozen < refrozen


async def test_metrics_count_calls_errors_bytes_and_documents(servers, tmp_path):
    pets, _, tables = servers
    pets.responses.append(CannedResponse(500))
    async with host_team(write_configuration(tmp_path, **tables)) as server:
        async with client_of(server.url) as client:
            await client.call_tool("list_pets", {})
            await client.call_tool("list_pets", {})
            await client.call_tool("list_pets", {"wrong": 1})
        ready, metrics = await server.get("/readyz"), (await server.get("/metrics")).text

    assert (ready.status_code, ready.json()["ready"]) == (200, True)

    def value(name):
        pattern = rf"^openapi_tools_{re.escape(name)} (\S+)$"
        return float(re.search(pattern, metrics, re.MULTILINE)[1])

    assert value('calls_total{api="pets",outcome="ok",tool="list_pets"}') == 1
    assert value('calls_total{api="pets",outcome="error",tool="list_pets"}') == 2
    assert value('call_errors_total{api="pets",kind="http"}') == 1
    assert value('call_errors_total{api="pets",kind="invalid_input"}') == 1
    assert value('call_seconds_count{api="pets"}') == 3
    assert value('http_bytes_total{direction="in"}') > 100
    assert value('tools{api="shop"}') == 2
    assert value('definition_tokens{api="shop"}') > 10
    assert value('api_up{api="shop"}') == 1
    assert value('document_stale{api="shop"}') == 0
    assert value('document_loaded_timestamp_seconds{api="shop"}') > 1.7e9


@pytest.mark.parametrize("mode", ["tools", "search"])
async def test_metrics_name_only_the_tools_that_their_reader_sees(
    mode, servers, tmp_path, monkeypatch
):
    """Calls of the others are in the sums, so that no total changes."""
    tokens = {"admin": "admin-0123456789abcdef", "guest": "guest-0123456789abcdef"}
    for name, token in tokens.items():
        monkeypatch.setenv(name.upper(), token)
    keys = (
        f'mode = "{mode}"\n[serve.auth]\ntokens = {{admin = "${{ADMIN}}", guest = "${{GUEST}}"}}\n'
        '[serve.roles.all]\nusers = ["admin"]\n[serve.roles.few]\ntools = ["list_pets"]'
    )
    headers = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    calls = ("list_pets", "pets_list_users", "list_orders", "shop_list_users", "list_orders")
    async with host_team(write_configuration(tmp_path, keys, **servers[2])) as server:
        async with client_of(server.url, headers=headers["admin"]) as client:
            for name in calls:
                if mode == "search":
                    await client.call_tool("call_tool", {"name": name, "arguments": {}})
                else:
                    await client.call_tool(name, {})
        async with httpx2.AsyncClient() as http:
            texts_of = {
                name: (await http.get(f"{server.address}/metrics", headers=credentials)).text
                for name, credentials in headers.items()
            }

    def series(user):
        pattern = r'^openapi_tools_calls_total{api="(\w+)",outcome="ok",tool="(\w*)"} (\S+)$'
        return {
            (api, tool): float(count)
            for api, tool, count in re.findall(pattern, texts_of[user], re.MULTILINE)
        }

    counted = re.search(r'definition_tokens{api="pets"} (\S+)', texts_of["admin"])
    assert (float(counted[1]) > 0) == (mode == "tools")
    assert series("admin") == {
        ("pets", "list_pets"): 1, ("pets", "pets_list_users"): 1,
        ("shop", "list_orders"): 2, ("shop", "shop_list_users"): 1,
    }  # fmt: skip
    assert series("guest") == {("pets", "list_pets"): 1, ("pets", ""): 1, ("shop", ""): 3}
    assert not re.search("list_orders|list_users", texts_of["guest"])
    created = r'^openapi_tools_calls_created{api="shop",outcome="ok",tool="\w*"} (\S+)$'
    (begun,) = re.findall(created, texts_of["guest"], re.MULTILINE)
    assert begun == min(re.findall(created, texts_of["admin"], re.MULTILINE), key=float)


async def test_a_line_of_the_audit_log_says_who_called_what_and_arguments_only_if_asked(
    servers, tmp_path
):
    pets, _, tables = servers
    doc = json.loads(json.dumps(PETS))
    doc["paths"]["/list_pets"]["get"]["parameters"] = [
        {"name": "q", "in": "query", "schema": {"type": "string"}}
    ]
    (tmp_path / "pets.json").write_text(json.dumps(doc))
    pets.responses.append(CannedResponse(404))
    lines = {}
    for arguments in ("false", "true"):
        file = tmp_path / f"audit-{arguments}.jsonl"
        keys = f'audit = "{file}"\naudit_arguments = {arguments}'
        async with (
            host_team(write_configuration(tmp_path, keys, **tables)) as server,
            client_of(server.url) as client,
        ):
            await client.call_tool("list_pets", {"q": "needle s3cr3t-of-pets"})
        assert file.stat().st_mode & 0o777 == 0o600
        lines[arguments] = [json.loads(line) for line in file.read_text().splitlines()]

    (first,), (second,) = lines.values()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first.pop("time"))
    assert isinstance(first.pop("ms"), int)
    assert first.pop("call_id")
    assert first == {
        "event": "call",
        "user": "",
        "api": "pets",
        "tool": "list_pets",
        "outcome": "error",
        "error": "http",
        "status": 404,
    }
    assert second["outcome"] == "ok"
    assert second["arguments"] == {"q": "needle ***"}


async def test_a_token_that_comes_as_the_name_of_a_tool_is_masked_in_the_audit_log(
    servers, tmp_path, monkeypatch
):
    token, file = "alice-0123456789abcdef", tmp_path / "audit.jsonl"
    monkeypatch.setenv("ALICE_TOKEN", token)
    keys = f'audit = "{file}"\n[serve.auth.tokens]\nalice = "${{ALICE_TOKEN}}"'
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        host_team(write_configuration(tmp_path, keys, **servers[2])) as server,
        client_of(server.url, headers=headers) as client,
    ):
        with pytest.raises(MCPError, match="no tool is called"):
            await client.call_tool(f"x{token}", {})

    (line,) = file.read_text().splitlines()
    assert json.loads(line)["user"] == "alice"
    assert json.loads(line)["tool"] == "x***"


class Shared(MemoryState):
    """A shared state that responds to `ping`, or does not."""

    fault = None

    async def ping(self):
        if self.fault is not None:
            raise self.fault


async def test_a_shared_state_that_is_gone_shows_without_its_address(
    servers, tmp_path, monkeypatch, caplog
):
    _, _, tables = servers
    shared = Shared()
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1")
    monkeypatch.setattr(redis_state, "RedisState", {"redis://127.0.0.1:1": shared}.get)
    async with host_team(
        write_configuration(tmp_path, 'redis = "${REDIS_URL}"', **tables)
    ) as server:
        before = await server.get("/readyz")
        shared.fault = CallError("connection", "Redis at 127.0.0.1:1 cannot be reached.")
        after, _ = await server.get("/readyz"), await server.get("/readyz")

    assert (before.status_code, before.json()["state"]) == (200, {"ready": True})
    assert (after.status_code, after.json()["ready"]) == (503, False)
    assert after.json()["state"] == {"ready": False, "reason": "state_unavailable"}
    assert caplog.records == []  # `RedisState` logs by itself, once


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "::1", "[::1]"])
def test_this_machine_needs_no_login(host):
    check_address(host, None, insecure=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.com"])
def test_others_need_a_login_or_a_plain_word(host):
    with pytest.raises(click.UsageError, match="calls need no login; listen on"):
        check_address(host, None, insecure=False)
    check_address(host, None, insecure=True)
