"""What a call through a user's client of httpx2 costs, over a loopback socket and without one."""

import asyncio

import httpx2
from calling import METHODS, executing, requesting, seconds_of
from loopback import BASE, DOCUMENT, RESPONSE, URL, LoopbackServer
from rows import Row, at_most
from timing import samples

from openapi_tools import Settings, load_tools

RAW = "client.request(…).json()"
EXECUTE = "tool.execute"
MOST = {"socket": 1.2, "mock": 2.3}
"""The goals; without a network little is left to compare with."""


def calls(rounds):
    with LoopbackServer() as url:
        took = asyncio.run(_measure_calls(rounds, url))
    for place, most in MOST.items():
        for method in METHODS:
            raw, tool = took[place, method, RAW], took[place, method, EXECUTE]
            yield Row(f"{place}, {method}: {RAW}", raw)
            yield Row(f"{place}, {method}: {EXECUTE}", tool, tool.ratio_to(raw), (at_most(most),))


async def _measure_calls(rounds, url):
    mock = httpx2.MockTransport(_respond)
    async with (
        httpx2.AsyncClient() as over_socket,
        httpx2.AsyncClient(transport=mock) as without_network,
    ):
        actions = {}
        for place, client, base in (("socket", over_socket, url), ("mock", without_network, BASE)):
            toolset = load_tools(DOCUMENT, settings=Settings(base_url=base), client=client)
            for method in METHODS:
                actions[place, method, RAW] = requesting(method, client, base + URL)
                actions[place, method, EXECUTE] = executing(method, toolset)
        runs = [
            {name: await seconds_of(action) for name, action in actions.items()}
            for _ in range(rounds + 1)
        ]
    return samples(runs)


def _respond(_):
    return httpx2.Response(200, headers={"Content-Type": "application/json"}, content=RESPONSE)
