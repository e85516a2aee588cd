"""`openapi-tools serve` with several APIs, as processes."""

import asyncio
import json
import os
import re
import signal
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")
pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")

import httpx2
from corpus import ABSENT, FOLDER
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_api import DOCUMENT, Api, texts
from servers.recorder import CannedResponse, Held, Recorder
from team_servers import COMMAND, client_of, document, process_of, write_configuration

PETS = document("Pets", "list_pets", "list_users")
SHOP = document("Shop", "list_orders", "list_users")
TEN = (
    *("github/api.github.com.json", "stripe/stripe-old.yaml", "kubernetes/swagger.json"),
    *("openai/openapi.yaml", "slack/slack_web_openapi_v2.json", "docker/swagger.yaml"),
    *("twilio/twilio_api_v2010.json", "discord/openapi.json", "figma/openapi.yaml"),
    "spotify/fixed-spotify-open-api.yml",
)


async def names_of(client):
    return [tool.name for tool in (await client.list_tools()).tools]


async def test_several_apis_are_served_over_http_with_a_log_of_json_lines(tmp_path):
    table = 'source = "nowhere.json"\n[apis.gone.credentials]\nkey = "${GONE_KEY}"'
    config = write_configuration(tmp_path, "port = 0", pets=PETS, shop=SHOP, gone=table)
    async with process_of("--config", config, "--log", "json") as server:
        match = await server.line(r"serving 4 tools of 2 of 3 APIs .* at (http://[^\s\"]+)")
        async with client_of(match[1]) as client:
            names = await names_of(client)
        server.process.send_signal(signal.SIGTERM)
        code = await server.wait_for_end()

    records = [json.loads(line) for line in server.log_lines]
    assert names == ["list_pets", "pets_list_users", "list_orders", "shop_list_users"]
    assert code == 0
    assert {"time", "level", "logger", "message"} == set(records[0])
    assert [r["message"] for r in records if r["level"] == "warning"] == [
        f"gone: {tmp_path}/nowhere.json: no such file."
    ]


@pytest.mark.long
async def test_several_apis_are_served_over_stdio(tmp_path):
    config = write_configuration(tmp_path, pets=PETS, shop=SHOP)
    command, *arguments = [*COMMAND, "serve", str(config), "--transport", "stdio"]
    run = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    with (tmp_path / "errors.txt").open("w") as errors:
        async with Client(stdio_client(run, errors)) as client:
            names = await names_of(client)

    assert names == ["list_pets", "pets_list_users", "list_orders", "shop_list_users"]
    log = (tmp_path / "errors.txt").read_text()
    assert log == "serving 4 tools of 2 APIs (0 operations skipped) over stdio.\n"


@asynccontextmanager
async def slow_server(api, tmp_path, grace):
    """Give a server of an API, which waits so many seconds for calls, and its URL."""
    (tmp_path / "pets.json").write_text(json.dumps(DOCUMENT))
    table = f'source = "pets.json"\nbase_url = "{api.url}"'
    config = write_configuration(tmp_path, "port = 0", pets=table)
    async with process_of("--config", config, "--grace", grace) as server:
        yield server, (await server.line(r"at (http://\S+)"))[1]


@pytest.mark.long
async def test_a_call_that_runs_may_end_after_the_signal(tmp_path):
    async with (
        Api() as api,
        slow_server(api, tmp_path, 20) as (server, url),
        client_of(url) as client,
        client.listen(tools_list_changed=True),
    ):
        await client.list_tools()  # else the client asks for it after the call
        call = asyncio.create_task(client.call_tool("be_slow", {"seconds": 1}))
        await asyncio.wait_for(api.arrived.wait(), 20)
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        result = await asyncio.wait_for(call, 20)
        assert await server.wait_for_end() == 0

    assert not result.is_error
    assert time.monotonic() - begun < 8


@pytest.mark.long
async def test_a_call_that_runs_too_long_after_the_signal_is_ended(tmp_path):
    async with Api() as api, slow_server(api, tmp_path, 1) as (server, url):
        call = asyncio.create_task(call_tool_at(url, "be_slow", seconds=60))
        await asyncio.wait_for(api.arrived.wait(), 20)
        server.process.send_signal(signal.SIGTERM)
        await asyncio.wait({call})
        assert call.exception() is not None
        assert await server.wait_for_end() == 0
        await asyncio.wait_for(api.left.wait(), 20)


async def call_tool_at(url, name, **arguments):
    async with client_of(url) as client:
        return await client.call_tool(name, arguments)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="there is no /proc here")
async def test_thousands_of_idle_connections_are_closed_and_take_no_memory(tmp_path):
    config = write_configuration(tmp_path, "port = 0\n[serve.limits]\nidle_seconds = 2", pets=PETS)
    async with process_of("--config", config) as server:
        url = (await server.line(r"at (http://\S+)"))[1]
        port = int(re.search(r":(\d+)/", url)[1])
        process = Path(f"/proc/{server.process.pid}")
        sizes, opened = [], []
        for _ in range(3):
            idle = await asyncio.gather(
                *(asyncio.open_connection("127.0.0.1", port) for _ in range(2000))
            )
            opened.append(len([*(process / "fd").iterdir()]))
            contents = await asyncio.gather(*(reader.read() for reader, _ in idle))
            assert set(contents) == {b""}
            for _, writer in idle:
                writer.close()
            pages = (process / "statm").read_text().split()[1]
            sizes.append(int(pages) * os.sysconf("SC_PAGE_SIZE"))
        async with client_of(url) as client:
            assert await names_of(client) == ["list_pets", "list_users"]
        left = len([*(process / "fd").iterdir()])

    assert max(opened) > 1000
    assert left < 50
    assert sizes[2] - sizes[1] < 8 * 2**20


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP here")
async def test_a_signal_to_read_documents_does_not_end_a_server_that_is_starting(tmp_path):
    async with Held(CannedResponse(body=json.dumps(PETS).encode())) as source:
        config = write_configuration(
            tmp_path, "port = 0", pets=f'source = "{source.url}/openapi.json"'
        )
        async with process_of("--config", config) as server:
            await asyncio.wait_for(source.changed.wait(), 60)
            server.process.send_signal(signal.SIGHUP)
            source.release.set()
            url = (await server.line(r"serving 2 tools of 1 API .* at (http://\S+)"))[1]
            async with client_of(url) as client:
                assert await names_of(client) == ["list_pets", "list_users"]


async def metrics_of(url):
    async with httpx2.AsyncClient(timeout=60) as http:
        return (await http.get(f"{url.removesuffix('/mcp')}/metrics")).text


@pytest.mark.long
async def test_workers_share_a_port_add_up_metrics_and_get_a_signal_each(tmp_path):
    async with Recorder() as api:
        (tmp_path / "pets.json").write_text(json.dumps(PETS))
        table = (
            f'source = "pets.json"\nbase_url = "{api.url}"\n[apis.pets.credentials]\n'
            'key = "${PETS_KEY}"'
        )
        config = write_configuration(tmp_path, "port = 0\npaths = true", pets=table)
        env = {"PETS_KEY": "s3cr3t-of-pets"}
        async with process_of("--config", config, "--workers", 2, env=env) as server:
            url = (await server.line(r"tools.* at (http://\S+)"))[1]
            for _ in range(20):
                async with client_of(url) as client:
                    assert not (await client.call_tool("list_pets", {})).is_error
            metrics = await metrics_of(url)
            (tmp_path / "pets.json").write_text(json.dumps(document("Pets", "list_cats")))
            server.process.send_signal(signal.SIGHUP)
            await server.line("the tools of pets changed", count=2)
            for _ in range(10):
                async with client_of(url) as client:
                    assert await names_of(client) == ["list_cats"]
            server.process.terminate()
            assert await server.wait_for_end() == 0

    total = r'openapi_tools_calls_total\{api="pets",outcome="ok",tool="list_pets"\} (\S+)'
    assert float(re.search(total, metrics)[1]) == 20
    assert {request.header("X-Key") for request in api.requests} == {"s3cr3t-of-pets"}
    assert sum('"event": "call"' in line for line in server.log_lines) == 20
    assert not any("s3cr3t" in line for line in server.log_lines)


@pytest.mark.long
@pytest.mark.untraced
@pytest.mark.skipif(not FOLDER.is_dir(), reason=ABSENT)
@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("way", ["search", "code"])
async def test_ten_published_documents_are_one_server(way, transport, tmp_path):
    """A client of the package and one of FastMCP find and call across APIs."""
    async with Recorder() as github, Recorder() as spotify:
        servers = {"github": github, "spotify": spotify}
        tables, env = {}, dict(os.environ)
        for path in TEN:
            name = path.partition("/")[0]
            url = servers[name].url if name in servers else "http://127.0.0.1:9"
            tables[name] = f'source = "{FOLDER / path}"\nbase_url = "{url}"\n'
        scheme = "oauth_2_0"
        tables["spotify"] += f'[apis.spotify.credentials]\n{scheme} = "${{SPOTIFY_KEY}}"'
        env["SPOTIFY_KEY"] = "s3cr3t-of-spotify"
        config = write_configuration(tmp_path, f'port = 0\nmode = "{way}"', **tables)
        if transport == "stdio":
            command, *arguments = [*COMMAND, "serve", str(config), "--transport", "stdio"]
            run = StdioServerParameters(command=command, args=arguments, env=env)
            with (tmp_path / "errors.txt").open("w") as errors:
                async with Client(stdio_client(run, errors)) as client:
                    text = await find_and_call(client, way)
            if way == "search":
                await called_with_fastmcp(stdio_transport(command=command, args=arguments, env=env))
        else:
            async with process_of("--config", config, env=env) as server:
                url = (await server.line(r"serving .* of 10 APIs .* at (http://\S+)"))[1]
                async with client_of(url) as client:
                    text = await find_and_call(client, way)
                if way == "search":
                    await called_with_fastmcp(url)

    assert "issues_list_for_repo" in text
    assert {request.header("Authorization") for request in github.requests} == {None}
    keys = {request.header("Authorization") for request in spotify.requests}
    assert keys == {"Bearer s3cr3t-of-spotify"}


async def find_and_call(client, way):
    """Return what a search finds, and call two APIs."""
    issues = {"owner": "o", "repo": "r"}
    if way == "search":
        hits = await client.call_tool("search_tools", {"query": "list issues of a repository"})
        for name, arguments in (("issues_list_for_repo", issues), ("get_track", {"id": "1"})):
            parameters = {"name": name, "arguments": arguments}
            assert not (result := await client.call_tool("call_tool", parameters)).is_error, result
    else:
        hits = await client.call_tool("search", {"query": "list issues of a repository"})
        code = 'await issues_list_for_repo(owner="o", repo="r")\nawait get_track(id="1")'
        assert not (result := await client.call_tool("run_code", {"code": code})).is_error, result
    return texts(hits)[0]


def stdio_transport(**started):
    transports = pytest.importorskip("fastmcp.client.transports", reason="no fastmcp")
    return transports.StdioTransport(**started)


async def called_with_fastmcp(server):
    fastmcp = pytest.importorskip("fastmcp", reason="fastmcp is not installed")
    async with fastmcp.Client(server) as client:
        names = [tool.name for tool in await client.list_tools()]
        parameters = {"name": "get_track", "arguments": {"id": "1"}}
        result = await client.call_tool("call_tool", parameters)
    assert names == ["search_tools", "describe_tools", "call_tool"]
    assert not result.is_error
