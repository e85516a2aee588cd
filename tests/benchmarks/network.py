"""What a call costs over a loopback socket; only the CPU time of the calling process counts."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import itertools
import time
from typing import TYPE_CHECKING, Any

import httpx
import peers
from answering import BODY, DOCUMENT, QUERY, URL, Answering
from calling import executing, requesting, seconds_of
from rows import Row, at_least, at_most
from timing import Sample

from openapi_tools import Settings, load_tools

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from calling import Action
    from peers import Running

IN_FLIGHT = 64
EACH = 10
"""Calls that each of those makes, one after another, before it is the next kind's turn."""
RAW = "httpx: client.request(…).json()"
AIOHTTP = "aiohttp: session.request(…), response.json()"
GOALS = {"httpx": 1.0, "fast": 0.8}
NO_AIOHTTP = "not installed: .venv/bin/pip install aiohttp"
NO_HTTPTOOLS = "not installed: .venv/bin/pip install 'openapi-tools[fast]'"


def sequential(rounds: int, folder: Path) -> Iterator[Row]:
    with Answering() as url, peers.started(folder, url) as running:
        took = asyncio.run(_sequential(rounds, url, running))
    for method in ("GET", "POST"):
        raw = took[f"{method} {RAW}"]
        yield Row(f"{method}: {RAW}", raw)
        yield from _compared(took, method, AIOHTTP, NO_AIOHTTP)
        for transport, most in GOALS.items():
            name = _named(transport)
            yield from _compared(took, method, name, _lacking(transport), (at_most(most),))
        for peer in peers.PEERS:
            for kind in peer.calls:
                yield from _compared(took, method, kind, peer.absent(folder))


def _compared(
    took: dict[str, Sample], method: str, name: str, why_not: str, goals: tuple[Any, ...] = ()
) -> Iterator[Row]:
    found = took.get(f"{method} {name}")
    if found is None:
        yield Row(f"{method}: {name}", note=why_not)
    else:
        ratio = found.over(took[f"{method} {RAW}"])
        yield Row(f"{method}: {name}", found, ratio, goals)


def _named(transport: str) -> str:
    return f'tool.execute, transport="{transport}"'


def _lacking(transport: str) -> str:
    if transport == "fast" and importlib.util.find_spec("httptools") is None:
        return NO_HTTPTOOLS
    return ""


async def _sequential(rounds: int, url: str, running: list[Running]) -> dict[str, Sample]:
    found: dict[str, list[float]] = {}
    async with _clients(url) as clients:
        for number, method in itertools.product(range(rounds + 1), ("GET", "POST")):
            seconds = {name: await seconds_of(call) for name, call in clients(method).items()}
            for peer in running:
                seconds |= peer.call(method)
            for name, value in seconds.items() if number else ():
                found.setdefault(f"{method} {name}", []).append(value)
    return {name: Sample(tuple(seconds)) for name, seconds in found.items()}


@contextlib.asynccontextmanager
async def _clients(url: str) -> Any:
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx.AsyncClient())
        toolsets = {}
        for transport in GOALS:
            if not _lacking(transport):
                settings = Settings(base_url=url, concurrency=IN_FLIGHT, transport=transport)
                toolset = load_tools(DOCUMENT, settings=settings)
                toolsets[transport] = await stack.enter_async_context(toolset)
        session = None
        if importlib.util.find_spec("aiohttp") is not None:
            session = await stack.enter_async_context(_session())

        def calls(method: str) -> dict[str, Action]:
            actions = {RAW: requesting(method, client, url + URL)}
            if session is not None:
                actions[AIOHTTP] = _with_aiohttp(method, session, url + URL)
            tools = {_named(name): executing(method, toolset) for name, toolset in toolsets.items()}
            return {**actions, **tools}

        yield calls


def _session() -> Any:
    import aiohttp

    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT))


def _with_aiohttp(method: str, session: Any, url: str) -> Action:
    options: dict[str, Any] = {"params": QUERY} if method == "GET" else {"json": BODY}

    async def request() -> object:
        async with session.request(method, url, **options) as response:
            return await response.json()

    return request


def concurrent(rounds: int) -> Iterator[Row]:
    with Answering() as url:
        took = asyncio.run(_concurrent(max(rounds // 2, 1), url))
    raw = took[RAW]
    yield Row(RAW, raw)
    for name, why_not, goals in (
        (AIOHTTP, NO_AIOHTTP, ()),
        (_named("httpx"), "", ()),
        (_named("fast"), _lacking("fast"), (at_least(3),)),
    ):
        if name in took:
            yield Row(name, took[name], took[name].over(raw), goals)
        else:
            yield Row(name, note=why_not)


async def _concurrent(rounds: int, url: str) -> dict[str, Sample]:
    found: dict[str, list[float]] = {}
    async with _clients(url) as clients:
        for number in range(rounds + 1):
            for name, action in clients("GET").items():
                rate = await _rate(action)
                if number:
                    found.setdefault(name, []).append(rate)
    return {name: Sample(tuple(rates), "requests/s") for name, rates in found.items()}


async def _rate(action: Action) -> float:

    async def some() -> None:
        for _ in range(EACH):
            await action()

    begin = time.process_time()
    await asyncio.gather(*(some() for _ in range(IN_FLIGHT)))
    return IN_FLIGHT * EACH / (time.process_time() - begin)
