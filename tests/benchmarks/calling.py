"""What a call costs on top of the HTTP client."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import httpx
from loading import Row
from timing import Sample

from openapi_tools import Settings, load_tools

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

BASE = "http://127.0.0.1:9"
CALLS = 300
"""Calls of one kind before it is the next kind's turn."""
_ANSWER = json.dumps({"id": 1, "name": "Rex", "open": True, "note": "x" * 150}).encode()
_TEXT = {"type": "string"}
_PATH = [
    {"name": name, "in": "path", "required": True, "schema": _TEXT} for name in ("owner", "repo")
]
DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.1",
    "info": {"title": "Issues", "version": "1"},
    "paths": {
        "/repos/{owner}/{repo}/issues": {
            "get": {
                "operationId": "list",
                "parameters": [
                    *_PATH,
                    {"name": "state", "in": "query", "schema": {"enum": ["open", "closed"]}},
                ],
            },
            "post": {
                "operationId": "create",
                "parameters": _PATH,
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "properties": {
                                    "title": _TEXT,
                                    "labels": {"type": "array", "items": _TEXT},
                                },
                                "required": ["title"],
                            }
                        }
                    },
                },
            },
        }
    },
}


class _InProcess(httpx.AsyncBaseTransport):
    """Answers every request at once, without a network."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(
            200, headers={"Content-Type": "application/json"}, content=_ANSWER, request=request
        )


def calls(rounds: int, _: Path) -> Iterator[Row]:
    """Time `tool.execute` beside `client.request(…).json()`."""
    took = asyncio.run(_measured(rounds))
    for method in ("GET", "POST"):
        floor, raw, tool = (took[f"{method} {kind}"] for kind in ("send", "request", "tool"))
        yield Row(f"{method}: client.send(a request built before)", floor.shown("us"), "", "")
        yield Row(f"{method}: client.request(…).json()", raw.shown("us"), "1 x", "")
        yield Row(f"{method}: tool.execute", tool.shown("us"), f"{tool.over(raw):.2f} x", "1.4 x")


async def _measured(rounds: int) -> dict[str, Sample]:
    async with httpx.AsyncClient(transport=_InProcess()) as client:
        toolset = load_tools(DOCUMENT, settings=Settings(base_url=BASE), client=client)
        actions = {**_actions("GET", client, toolset), **_actions("POST", client, toolset)}
        found: dict[str, list[float]] = {name: [] for name in actions}
        for number in range(rounds + 1):
            for name, action in actions.items():
                seconds = await _per_call(action)
                if number:  # the first round builds validators and fills caches
                    found[name].append(seconds)
        return {name: Sample(tuple(seconds)) for name, seconds in found.items()}


async def _per_call(action: Callable[[], Awaitable[object]]) -> float:
    begin = time.process_time()
    for _ in range(CALLS):
        await action()
    return (time.process_time() - begin) / CALLS


def _actions(
    method: str, client: httpx.AsyncClient, toolset: Any
) -> dict[str, Callable[[], Awaitable[object]]]:
    """Return three ways to make the same call."""
    url = f"{BASE}/repos/ada/rex/issues"
    tool = toolset["list" if method == "GET" else "create"]
    body = {"title": "It does not bark", "labels": ["bug", "dog"]}
    options: dict[str, Any] = {"params": {"state": "open"}} if method == "GET" else {"json": body}
    rest = options["params"] if method == "GET" else body
    built = client.build_request(method, url, **options)

    async def request() -> object:
        return (await client.request(method, url, **options)).json()

    async def execute() -> object:
        result = await tool.execute({"owner": "ada", "repo": "rex", **rest})
        assert result.success, result
        return result

    return {
        f"{method} send": lambda: client.send(built),
        f"{method} request": request,
        f"{method} tool": execute,
    }
