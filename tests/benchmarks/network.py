"""What a call costs over a loopback socket; only the CPU time of the calling process counts."""

import asyncio
import contextlib
import importlib.util
import time

import httpx
import peers
from calling import METHODS, executing, options, requesting, seconds_of
from loopback import DOCUMENT, URL, LoopbackServer
from rows import Row, at_least, at_most
from timing import samples

from openapi_tools import Settings, load_tools

IN_FLIGHT = 64
EACH = 10
"""Calls that each of those makes, one after another, before it is the next kind's turn."""
RAW = "httpx: client.request(…).json()"
AIOHTTP = "aiohttp: session.request(…), response.json()"
EXECUTE = "tool.execute"
NOT_INSTALLED = {AIOHTTP: ("aiohttp", "not installed: .venv/bin/pip install aiohttp")}


def sequential(rounds, folder):
    with LoopbackServer() as url, peers.start_peers(folder, url) as running:
        took = asyncio.run(_sequential(rounds, url, running))
    table = [(RAW,), (AIOHTTP,), (EXECUTE, at_most(0.8))]
    missing = {kind: peer.absent(folder) for peer in peers.PEERS for kind in peer.calls}
    for method in METHODS:
        yield from _compare(took, [*table, *((kind,) for kind in missing)], missing, f"{method}: ")


def concurrent(rounds):
    with LoopbackServer() as url:
        took = asyncio.run(_concurrent(max(rounds // 2, 1), url))
    yield from _compare(took, [(RAW,), (AIOHTTP,), (EXECUTE, at_least(3))])


def _compare(took, table, missing=(), prefix=""):
    notes = {name: note for name, (_, note) in NOT_INSTALLED.items()} | dict(missing)
    for name, *goals in table:
        sample = took.get(prefix + name)
        if sample is None:
            yield Row(prefix + name, note=notes[name])
        else:
            ratio = None if name == RAW else sample.ratio_to(took[prefix + RAW])
            yield Row(prefix + name, sample, ratio, tuple(goals))


async def _sequential(rounds, url, running):
    runs = [{} for _ in range(rounds + 1)]
    async with _clients(url) as clients:
        for run in runs:
            for method in METHODS:
                seconds = {name: await seconds_of(call) for name, call in clients(method).items()}
                for peer in running:
                    seconds |= peer.call(method)
                run |= {f"{method}: {name}": value for name, value in seconds.items()}
    return samples(runs)


def _is_installed(name):
    return name not in NOT_INSTALLED or importlib.util.find_spec(NOT_INSTALLED[name][0]) is not None


@contextlib.asynccontextmanager
async def _clients(url):
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx.AsyncClient())
        settings = Settings(base_url=url, concurrency=IN_FLIGHT)
        toolset = await stack.enter_async_context(load_tools(DOCUMENT, settings=settings))
        session = None
        if _is_installed(AIOHTTP):
            session = await stack.enter_async_context(_session())

        def calls(method):
            actions = {RAW: requesting(method, client, url + URL)}
            if session is not None:
                actions[AIOHTTP] = _with_aiohttp(method, session, url + URL)
            return {**actions, EXECUTE: executing(method, toolset)}

        yield calls


def _session():
    import aiohttp

    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT))


def _with_aiohttp(method, session, url):
    async def request():
        async with session.request(method, url, **options(method)) as response:
            return await response.json()

    return request


async def _concurrent(rounds, url):
    async with _clients(url) as clients:
        actions = clients("GET")
        runs = [
            {name: await _rate(action) for name, action in actions.items()}
            for _ in range(rounds + 1)
        ]
    return samples(runs, "requests/s")


async def _rate(action):
    async def some():
        for _ in range(EACH):
            await action()

    begin = time.process_time()
    await asyncio.gather(*(some() for _ in range(IN_FLIGHT)))
    return IN_FLIGHT * EACH / (time.process_time() - begin)
