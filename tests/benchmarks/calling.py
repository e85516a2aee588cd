"""What a call costs without a network, and what its input check does."""

import asyncio
import json
import time

import httpx
from loopback import BASE, BODY, DOCUMENT, QUERY, RESPONSE, URL
from published import GITHUB
from pydantic_core import from_json, to_json
from rows import Row, at_most
from timing import samples, turns

from openapi_tools import Settings, load_tools
from openapi_tools.testing import sample
from openapi_tools.validation.checker import Checker

METHODS = ("GET", "POST")
CALLS = 300
"""Calls of one kind before it is the next kind's turn."""
CHECKS = 5000
"""Input checks before it is the next schema's turn; one takes a microsecond or less."""
SHARES = {"median": 0.5, "90th percentile": 0.9, "largest": 1.0}


class _InProcess(httpx.AsyncBaseTransport):
    async def handle_async_request(self, request):
        headers = {"Content-Type": "application/json"}
        return httpx.Response(200, headers=headers, content=RESPONSE, request=request)


def calls(rounds):
    took = asyncio.run(_measure_calls(rounds))
    for method, most in zip(METHODS, (1.6, 1.7), strict=True):
        floor, raw, tool = (took[method, kind] for kind in ("send", "request", "tool"))
        yield Row(f"{method}: client.send(a request built before)", floor)
        yield Row(f"{method}: client.request(…).json()", raw)
        yield Row(f"{method}: tool.execute", tool, tool.ratio_to(raw), (at_most(most),))


async def _measure_calls(rounds):
    async with httpx.AsyncClient(transport=_InProcess()) as client:
        toolset = load_tools(DOCUMENT, settings=Settings(base_url=BASE), client=client)
        actions = {}
        for method in METHODS:
            built = client.build_request(method, BASE + URL, **options(method))
            actions[method, "send"] = lambda built=built: client.send(built)
            actions[method, "request"] = requesting(method, client, BASE + URL)
            actions[method, "tool"] = executing(method, toolset)
        runs = [
            {name: await seconds_of(action) for name, action in actions.items()}
            for _ in range(rounds + 1)
        ]
    return samples(runs)


async def seconds_of(action):
    begin = time.process_time()
    for _ in range(CALLS):
        await action()
    return (time.process_time() - begin) / CALLS


def options(method):
    return {"params": QUERY} if method == "GET" else {"json": BODY}


def requesting(method, client, url):
    keywords = options(method)

    async def request():
        return (await client.request(method, url, **keywords)).json()

    return request


def find_call(method):
    """Return the name of a method's tool and its arguments."""
    name, rest = ("list", QUERY) if method == "GET" else ("create", BODY)
    return name, {"owner": "ada", "repo": "rex", **rest}


def executing(method, toolset):
    name, arguments = find_call(method)
    tool = toolset[name]

    async def execute():
        result = await tool.execute(dict(arguments))
        assert result.success, result
        return result

    return execute


def verdicts(rounds):
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
        yield Row(name, check, check.ratio_to(parse), goals, note=note)


def _each(action):
    begin = time.process_time()
    for _ in range(CHECKS):
        action()
    return (time.process_time() - begin) / CHECKS
