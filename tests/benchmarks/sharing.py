"""What a team's server costs: limits and tokens in Redis, many documents, and its workers."""

import asyncio
import contextlib
import json
import sys
import tempfile
from functools import partial
from pathlib import Path

import mcp_servers
from calling import executing, seconds_of
from loading import variables
from loopback import DOCUMENT, LoopbackServer
from mcp_messages import LIST, MODERN, Connection, ToolCall
from published import CORPUS, GITHUB
from rows import Row, at_most, compare_rows
from timing import HAS_PROC, Sample, children_of, memory_of, run_program, samples

sys.path.append(str(Path(__file__).parent.parent))

from servers.redis_server import REDIS, RedisServer

from openapi_tools import OAuth2, Settings, load_tools
from openapi_tools.errors import MissingExtraError

_RATE = 1e6  # a second: no call waits
_SHARED = (
    ("memory", "a call with a rate and a token, in memory"),
    ("redis", "the same in Redis", at_most(1.25)),
    ("plain", "the same without rate and token"),
)


def shared_calls(rounds):
    """Yield rows of the CPU time of a call, by where its limits and its token are."""
    if REDIS is None:
        yield Row("calls with Redis", note="not measured: there is no redis-server")
        return
    server = RedisServer()
    try:
        server.start()
        with LoopbackServer() as url:
            took = asyncio.run(_call_in_turns(rounds, url, server.url))
    except (ImportError, MissingExtraError) as error:
        yield Row("calls with Redis", note=f"not measured: {error}")
        return
    finally:
        server.close()
    yield from compare_rows(took, "memory", _SHARED)


async def _call_in_turns(rounds, url, redis_url):
    from openapi_tools.state.redis_state import RedisState

    login = OAuth2(client_id="app", client_secret="secret")
    flow = {"clientCredentials": {"tokenUrl": f"{url}/token", "scopes": {}}}
    schemes = {"securitySchemes": {"login": {"type": "oauth2", "flows": flow}}}
    secured = {**DOCUMENT, "security": [{"login": []}], "components": schemes}
    load = partial(load_tools, secured, credentials={"login": login})
    key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    state = RedisState(redis_url, key=key)
    async with (
        load_tools(DOCUMENT, settings=Settings(base_url=url)) as plain,
        load(settings=Settings(base_url=url, rate=_RATE)) as memory,
        load(settings=Settings(base_url=url, rate=_RATE, state=state)) as shared,
    ):
        toolsets = {"plain": plain, "memory": memory, "redis": shared}
        actions = {name: executing("GET", toolset) for name, toolset in toolsets.items()}
        return samples(
            [
                {name: await seconds_of(action) for name, action in actions.items()}
                for _ in range(rounds + 1)
            ]
        )


# Twenty APIs of very different sizes, with 4,900 operations and more.
_MANY = (
    *("github/api.github.com.json", "kubernetes/swagger.json", "stripe/stripe-old.yaml"),
    *("openai/openapi.yaml", "twilio/twilio_api_v2010.json", "slack/slack_web_openapi_v2.json"),
    *("discord/openapi.json", "amazonaws.com/s3.json", "paypal/checkout_orders_v2.json"),
    *("trello.com/swagger.yaml", "apache.org/superset/superset.json", "docker/swagger.yaml"),
    *("meilisearch/open-api.json", "telegram/telegram_bot_api.json", "figma/openapi.yaml"),
    *("apideck.com/crm.yaml", "goharbor/swagger.yaml", "lnd/lightning.swagger.json"),
    *("paypal/invoicing_v2.json", "twilio/twilio_messaging_v1.json"),
)
_OPEN_ALL = """
import json, sys, time
from openapi_tools import load_tools
begin = time.process_time()
toolsets = [load_tools(path) for path in sys.argv[1:]]
listed = [(tool.name, tool.description) for toolset in toolsets for tool in toolset]
seconds = time.process_time() - begin
with open("/proc/self/status") as file:
    peak = next(int(line.split()[1]) / 2**10 for line in file if line.startswith("VmHWM"))
print(json.dumps([seconds, peak, len(listed)]))
"""


def many_documents(rounds):
    """Yield rows of a process that opens twenty cached documents and lists their tools."""
    if not HAS_PROC:
        yield Row("twenty APIs", note="not measured: this system has no /proc")
        return
    paths = [str(CORPUS / path) for path in _MANY]
    with tempfile.TemporaryDirectory() as folder:
        runs = [
            json.loads(run_program(("-c", _OPEN_ALL, *paths), variables(folder)))
            for _ in range(rounds + 1)
        ][1:]  # the first one fills the cache
    seconds, peaks, counts = zip(*runs, strict=True)
    title = f"{len(paths)} APIs, {counts[0]:,} names and descriptions"
    yield Row(title, Sample(seconds), None, (at_most(80, "ms"),))
    yield Row("peak of that process", Sample(peaks, "MiB"), None, (at_most(40, "MiB"),))


def workers(rounds, programs):
    """Yield rows of the resident memory of the larger one of two workers."""
    if not HAS_PROC:
        yield Row("a worker", note="not measured: this system has no /proc")
        return
    for title, is_small in (("small document", True), ("GitHub, cached, default mode", False)):
        with tempfile.TemporaryDirectory() as name, LoopbackServer() as url:
            config = _write_configuration(Path(name), url, is_small=is_small)
            measure = partial(
                _measure_worker, programs["own"], config, variables(name), has_call=is_small
            )
            sizes = [asyncio.run(measure()) for _ in range(max(rounds // 3, 1) + 1)][1:]
        yield Row(title, Sample((*sizes,), "MiB"), None, (at_most(85, "MiB"),))


def _write_configuration(folder, url, *, is_small):
    source = GITHUB.file
    if is_small:
        source = folder / "issues.json"
        source.write_text(json.dumps(mcp_servers.small_document(url)), encoding="utf-8")
    config = folder / "openapi-tools.toml"
    config.write_text(
        f'[serve]\nworkers = 2\naudit = "off"\n[apis.api]\nsource = "{source}"\n', encoding="utf-8"
    )
    return config


async def _measure_worker(program, config, environment, *, has_call):
    with mcp_servers.run_server(program, config, environment) as server:
        connections = [Connection(server.port) for _ in range(16)]
        call = ToolCall(MODERN, "list", {"owner": "ada", "repo": "rex"})
        for connection in connections:
            await connection.open_session()
            await connection.post(LIST)
            if has_call:
                await connection.call_tool(call)
        memory = max(memory_of(pid, "VmRSS") for pid in _workers_of(server.pid))
        await asyncio.gather(*(each.close() for each in connections))
    return memory


def _workers_of(parent):
    # The other child of the parent tracks what the workers share.
    pids = []
    for pid in children_of(parent):
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            pids += [pid] if b"spawn_main" in command else []
    return pids
