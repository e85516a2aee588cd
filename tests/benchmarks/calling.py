"""What a call costs without a network, and what its input check does."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import httpx
from answering import ANSWER, BASE, BODY, DOCUMENT, QUERY, URL
from published import GITHUB
from pydantic_core import from_json, to_json
from rows import Row, at_most
from timing import Sample, turns

from openapi_tools import Settings, load_tools
from openapi_tools.testing.samples import sample
from openapi_tools.validation.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    Action = Callable[[], Awaitable[object]]

CALLS = 300
"""Calls of one kind before it is the next kind's turn."""
CHECKS = 5000
"""Input checks before it is the next schema's turn; one takes a microsecond or less."""
SHARES = {"median": 0.5, "90th percentile": 0.9, "largest": 1.0}


class _InProcess(httpx.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(
            200, headers={"Content-Type": "application/json"}, content=ANSWER, request=request
        )


def calls(rounds: int) -> Iterator[Row]:
    took = asyncio.run(_measured(rounds))
    for method in ("GET", "POST"):
        floor, raw, tool = (took[f"{method} {kind}"] for kind in ("send", "request", "tool"))
        yield Row(f"{method}: client.send(a request built before)", floor)
        yield Row(f"{method}: client.request(…).json()", raw)
        yield Row(f"{method}: tool.execute", tool, tool.over(raw), (at_most(1),))


async def _measured(rounds: int) -> dict[str, Sample]:
    async with httpx.AsyncClient(transport=_InProcess()) as client:
        toolset = load_tools(DOCUMENT, settings=Settings(base_url=BASE), client=client)
        return await per_call(
            rounds, {**_actions("GET", client, toolset), **_actions("POST", client, toolset)}
        )


async def per_call(rounds: int, actions: Mapping[str, Action]) -> dict[str, Sample]:
    found: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(rounds + 1):
        for name, action in actions.items():
            seconds = await seconds_of(action)
            if number:  # the first round builds validators, opens connections and fills caches
                found[name].append(seconds)
    return {name: Sample(tuple(seconds)) for name, seconds in found.items()}


async def seconds_of(action: Action, count: int = CALLS) -> float:
    begin = time.process_time()
    for _ in range(count):
        await action()
    return (time.process_time() - begin) / count


def requesting(method: str, client: httpx.AsyncClient, url: str) -> Action:
    options: dict[str, Any] = {"params": QUERY} if method == "GET" else {"json": BODY}

    async def request() -> object:
        return (await client.request(method, url, **options)).json()

    return request


def executing(method: str, toolset: Any) -> Action:
    tool = toolset["list" if method == "GET" else "create"]
    rest = QUERY if method == "GET" else BODY

    async def execute() -> object:
        result = await tool.execute({"owner": "ada", "repo": "rex", **rest})
        assert result.success, result
        return result

    return execute


def _actions(method: str, client: httpx.AsyncClient, toolset: Any) -> dict[str, Action]:
    options: dict[str, Any] = {"params": QUERY} if method == "GET" else {"json": BODY}
    built = client.build_request(method, BASE + URL, **options)
    return {
        f"{method} send": lambda: client.send(built),
        f"{method} request": requesting(method, client, BASE + URL),
        f"{method} tool": executing(method, toolset),
    }


def verdicts(rounds: int) -> Iterator[Row]:
    tools = sorted(load_tools(GITHUB.file), key=lambda tool: len(json.dumps(tool.input_schema)))
    for name, share in SHARES.items():
        schema = tools[min(int(share * len(tools)), len(tools) - 1)].input_schema
        arguments = sample(schema, schema)
        fits = Checker(schema).fits
        assert fits(arguments)
        text = to_json(arguments)
        actions = {
            "check": lambda f=fits, a=arguments: _each(lambda: f(a)),
            "parse": lambda t=text: _each(lambda: from_json(t)),
        }
        check, parse = turns(rounds, actions).values()
        goals = (at_most(10, "us"),) if share == SHARES["90th percentile"] else ()
        note = f"a schema of {len(to_json(schema))} bytes"
        yield Row(name, check, check.over(parse), goals, note=note)


def _each(action: Callable[[], object]) -> float:
    begin = time.process_time()
    for _ in range(CHECKS):
        action()
    return (time.process_time() - begin) / CHECKS
