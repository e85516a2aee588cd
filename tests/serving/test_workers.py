"""The log, the metrics and the exit codes of a server with workers, as its operators see them."""

import asyncio
import json
import os
import re
import signal

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")
pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")

import httpx2
from servers.recorder import CannedResponse, Held, Recorder
from team_servers import client_of, document, process_of, write_configuration

pytestmark = pytest.mark.long

PETS = document("Pets", "list_pets", "list_users")
RESTARTS = re.compile(r"^openapi_tools_worker_restarts_total (\S+)$", re.MULTILINE)
SOURCE = 'source = "{}/openapi.json"'


def messages(server):
    """Return the messages of a log in JSON, without lines about calls."""
    records = map(json.loads, server.log_lines)
    return [record["message"] for record in records if "message" in record]


async def workers_of(folder, server, count):
    """Return the processes of the workers, once so many have read their documents.

    The metrics of each process have a file from then on.
    """
    async with asyncio.timeout(60):
        while True:
            files = [file.name for file in folder.glob("openapi-tools-*/counter_*.db")]
            pids = {int(re.search(r"\d+", name)[0]) for name in files} - {server.process.pid}
            if len(pids) >= count:
                return pids
            await asyncio.sleep(0.05)  # nothing tells of a file


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "metrics").mkdir()
    return {
        "TMPDIR": str(tmp_path / "metrics"),
        "OPENAPI_TOOLS_CACHE_DIR": str(tmp_path / "cache"),
    }


@pytest.mark.parametrize("cache", ["on", "off"])
async def test_workers_do_not_fetch_what_their_parent_has_fetched(cache, environment, tmp_path):
    async with Recorder(CannedResponse(body=json.dumps(PETS).encode())) as source:
        config = write_configuration(
            tmp_path, "port = 0\nworkers = 3", pets=SOURCE.format(source.url)
        )
        variables = {**environment, "OPENAPI_TOOLS_CACHE": cache}
        async with process_of(config, env=variables) as server:
            url = (await server.line(r"serving 2 tools of 1 API .* at (http://\S+)"))[1]
            await workers_of(tmp_path / "metrics", server, 3)
            async with client_of(url) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]

    assert names == ["list_pets", "list_users"]
    assert len(source.requests) == 1


async def test_serving_is_reported_when_a_worker_responds_and_not_before(environment, tmp_path):
    async with Held(CannedResponse(body=json.dumps(PETS).encode())) as source:
        config = write_configuration(
            tmp_path, "port = 0\nworkers = 2", pets=SOURCE.format(source.url)
        )
        right = config.read_text()
        async with process_of(config, "--log", "json", env=environment) as server:
            await asyncio.wait_for(source.changed.wait(), 60)
            # The parent has read its configuration, and the workers cannot.
            config.write_text("[serve]\nprot = 1\n")
            source.release.set()
            await server.line("ended with exit code 1 and is replaced by worker \\d+", count=2)
            before = messages(server)
            config.write_text(right)
            await server.line("serving 2 tools of 1 API")

    assert not any("serving 2 tools" in message for message in before)
    assert any(f"{config}: no API is configured" in message for message in before)


@pytest.mark.parametrize(
    ("end", "reason"),
    [("SIGKILL", "was stopped by SIGKILL"), ("SIGSTOP", "did not respond and was stopped")],
)
async def test_a_worker_that_dies_is_a_line_and_a_restart_in_the_metrics(
    end, reason, environment, tmp_path
):
    config = write_configuration(tmp_path, "port = 0\nworkers = 2", pets=PETS)
    async with process_of(config, "--log", "json", env=environment) as server:
        url = (await server.line(r"serving 2 tools .* at (http://[^\s\"]+)"))[1]
        first, _ = await workers_of(tmp_path / "metrics", server, 2)
        page = f"{url.removesuffix('/mcp')}/metrics"
        async with httpx2.AsyncClient(timeout=60) as http:
            before = (await http.get(page)).text
            os.kill(first, signal.Signals[end])
            line = await server.line(rf"worker (\d+) {reason} and is replaced by worker (\d+)")
            await workers_of(tmp_path / "metrics", server, 3)
            after = (await http.get(page)).text

    (record,) = [json.loads(each) for each in server.log_lines if reason in each]
    assert (int(line[1]), record["level"]) == (first, "warning")
    restarts = [RESTARTS.search(text)[1] for text in (before, after)]
    assert restarts == ["0.0", "1.0"]


async def test_metrics_are_read_while_a_worker_makes_its_files(environment, tmp_path):
    config = write_configuration(tmp_path, "port = 0\nworkers = 2", pets=PETS)
    async with process_of(config, "--log", "json", env=environment) as server:
        url = (await server.line(r"serving 2 tools .* at (http://[^\s\"]+)"))[1]
        await workers_of(tmp_path / "metrics", server, 2)
        (folder,) = (tmp_path / "metrics").glob("openapi-tools-*")
        (folder / "counter_1.db").touch()
        async with httpx2.AsyncClient(timeout=60) as http:
            response = await http.get(f"{url.removesuffix('/mcp')}/metrics")

    assert (response.status_code, RESTARTS.search(response.text)[1]) == (200, "0.0")


async def test_a_document_that_failed_is_one_line_of_all_processes(environment, tmp_path):
    gone = 'source = "nowhere.json"'
    config = write_configuration(
        tmp_path, "port = 0\nworkers = 2", pets=PETS, gone=gone, odd="sauce = 1"
    )
    async with process_of(config, "--log", "json", env=environment) as server:
        url = (await server.line(r"serving 2 tools of 1 of 3 APIs .* at (http://[^\s\"]+)"))[1]
        await workers_of(tmp_path / "metrics", server, 2)
        async with httpx2.AsyncClient(timeout=60) as http:
            ready = (await http.get(f"{url.removesuffix('/mcp')}/readyz")).json()

    lines = messages(server)
    assert [m for m in lines if m.startswith("gone: ")] == [
        f"gone: {tmp_path}/nowhere.json: no such file."
    ]
    assert len([m for m in lines if m.startswith("odd: ")]) == 1
    assert ready["apis"]["gone"] == {"ready": False, "reason": "document_unreadable"}
    assert ready["apis"]["odd"] == {"ready": False, "reason": "configuration_invalid"}


@pytest.mark.parametrize("kind", ["text", "json"])
async def test_a_shared_state_that_is_away_and_back_is_a_line_each(
    kind, environment, tmp_path, redis_server
):
    redis_server.stop()
    config = write_configuration(tmp_path, f'port = 0\nredis = "{redis_server.url}"', pets=PETS)
    async with process_of(config, "--log", kind, env=environment) as server:
        url = (await server.line(r"serving 2 tools .* at (http://[^\s\"]+)"))[1]
        async with httpx2.AsyncClient(timeout=60) as http:
            statuses = [(await http.get(f"{url[:-4]}/readyz")).status_code for _ in range(2)]
            redis_server.start()
            statuses += [(await http.get(f"{url[:-4]}/readyz")).status_code for _ in range(2)]

    assert statuses == [503, 503, 200, 200]
    named = f"the shared state at redis://127.0.0.1:{redis_server.port}"
    lines = [line for line in server.log_lines if "shared state" in line]
    assert [(f"{named} is unreachable" in a, f"{named} is reachable" in a) for a in lines] == [
        (True, False),
        (False, True),
    ]
    if kind == "json":
        assert [json.loads(line)["level"] for line in lines] == ["warning", "warning"]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(("end", "code"), [("SIGINT", 130), ("SIGTERM", 0)])
async def test_a_server_that_is_interrupted_ends_with_130(count, end, code, environment, tmp_path):
    config = write_configuration(tmp_path, f"port = 0\nworkers = {count}", pets=PETS)
    async with process_of(config, env=environment) as server:
        url = (await server.line(r"serving 2 tools .* at (http://\S+)"))[1]
        async with client_of(url) as client:
            await client.list_tools()
            server.process.send_signal(signal.Signals[end])
            assert await server.wait_for_end() == code

    assert not any("Traceback" in line or "replaces" in line for line in server.log_lines)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no process groups here")
async def test_ctrl_c_which_reaches_the_workers_too_replaces_none(environment, tmp_path):
    config = write_configuration(tmp_path, "port = 0\nworkers = 3", pets=PETS)
    async with process_of(config, env=environment, start_new_session=True) as server:
        await server.line("serving 2 tools")
        await workers_of(tmp_path / "metrics", server, 3)
        os.killpg(server.process.pid, signal.SIGINT)
        assert await server.wait_for_end() == 130

    assert len(server.log_lines) == 1
    assert [*(tmp_path / "metrics").iterdir()] == []
