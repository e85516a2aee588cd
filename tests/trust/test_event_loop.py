"""Nothing that a model or a server sends keeps the event loop from its other work.

Two things keep it: work on its own thread, and work elsewhere in one piece that lets no other
thread run. A ticker beside the call sees both. The best of a few tries counts.
"""

from __future__ import annotations

import json
import time
from typing import Any

import corpus
import httpx
import pytest
from documents import document, operation, with_body
from ticker import LONGEST, TRIES, gap_beside

from openapi_tools import Settings, load_tools

pytestmark = pytest.mark.untraced
MEGABYTE = 1_000_000
OBJECTS = [{"id": number, "name": f"n{number}", "on": True} for number in range(20_000)]


async def shortest_gap(source, given, *, answer=None):
    """Return the best of some tries, each with tools that were never called before."""
    best = float("inf")
    for _ in range(TRIES):
        sent: list[httpx.Request] = []

        def reply(request: httpx.Request, sent: Any = sent) -> httpx.Response:
            sent.append(request)
            return httpx.Response(204) if answer is None else copy_of(answer)

        client = httpx.AsyncClient(transport=httpx.MockTransport(reply))
        (tool,) = load_tools(source, client=client, settings=Settings(base_url="http://api.test"))
        gap, result = await gap_beside(tool, given)
        best = min(best, gap)
        assert sent or result.error["type"] == "invalid_input"
        if best < LONGEST:
            break
    return best


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def copy_of(answer):
    headers = {"content-type": answer.headers["content-type"]}
    return httpx.Response(answer.status_code, headers=headers, content=answer.content)


def array_of(items, **others):
    return with_body({"type": "object", "properties": {"a": {"items": items, **others}}})


@pytest.mark.parametrize("block", [work, time.sleep])
async def test_the_ticker_of_these_tests_notices_what_blocks(block):
    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(204)))
    (tool,) = load_tools(document({"/x": {"get": operation()}}), client=client)
    tool.add_input_guardrails([lambda call, context: block(2 * LONGEST)])

    gap, _ = await gap_beside(tool, {})

    assert gap >= LONGEST


_PATTERN = {"pattern": "^(?:a|b)*a(?:a|b){400}c$"}
_PATTERNS = {"anyOf": [{"pattern": f"^x{number}$"} for number in range(500)] + [{"type": "string"}]}
_LITERALS = {
    "enum": [{"id": number, "name": "n", "on": True} for number in range(500)] + [OBJECTS[-1]]
}
_BRANCHES = {
    "oneOf": [{"properties": {"id": {"const": -n}}, "required": ["id"]} for n in range(300)]
}
_PLAIN = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"},
                   "on": {"type": "boolean"}},
    "required": ["id"],
}  # fmt: skip
INPUTS: dict[str, tuple[Any, Any]] = {
    "20,000 objects": (array_of(_PLAIN), OBJECTS),
    "20,000 objects, the last one wrong": (array_of(_PLAIN), [*OBJECTS, {"id": "x"}]),
    "20,000 objects that differ": (array_of({}, uniqueItems=True), OBJECTS),
    "20,000 objects, two equal": (array_of({}, uniqueItems=True), [*OBJECTS, OBJECTS[0]]),
    "numbers with equal hashes": (array_of({}, uniqueItems=True),
                                  [10**200 + number for number in range(5000)]),
    "a slow pattern on a long text": (array_of(_PATTERN), ["ab" * 500_000]),
    "a slow pattern on many texts": (array_of(_PATTERN), ["ab" * 2000] * 200),
    "a pattern that hangs others": (array_of({"pattern": "^(a+)+$"}), ["a" * 4_000_000 + "!"]),
    "many patterns": (array_of(_PATTERNS), [f"v{number}" for number in range(50_000)]),
    "many alternatives": (array_of(_BRANCHES), OBJECTS),
    "many objects to compare with": (array_of(_LITERALS), [OBJECTS[-1]] * 20_000),
    "a text of 4 MB": (array_of({}), ["é" * 1_900_000]),
    "200,000 values": (array_of({"type": "integer"}), list(range(200_000))),
    "10 MB": (array_of({}), ["x" * 1000] * 10_000),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", INPUTS)
async def test_a_heavy_input_leaves_the_loop_free(name):
    paths, value = INPUTS[name]

    assert await shortest_gap(document(paths), {"a": value}) < LONGEST


ROWS = json.dumps([{"id": number, "name": f"n{number}"} for number in range(300_000)]).encode()
ANSWERS: dict[str, tuple[str, bytes]] = {
    "objects": ("application/json", ROWS),
    "integers": ("application/json", b"[" + b"1," * (5 * MEGABYTE - 1) + b"1]"),
    "empty objects": ("application/json", b"[" + b"{}," * (3 * MEGABYTE) + b"1]"),
    "one text": ("application/json", b'"' + b"x" * (10 * MEGABYTE) + b'"'),
    "control characters": ("application/json", ROWS[:-1] + b',"\\u0001"]'),
    "no number": ("application/json", ROWS[:-1] + b",NaN]"),
    "cut off": ("application/json", ROWS[:-2]),
    "HTML": ("text/html", b"<html>" + b"<p>hello <b>you</b></p>" * 450_000),
    "events": ("text/event-stream", b'data: {"a":1}\n\n' * 650_000),
    "lines": ("application/jsonl", b'{"a":1}\n' * 1_200_000),
    "text": ("text/plain", b"hello world " * 850_000),
    "escapes": ("text/plain", b"\x1b[31m" * 2 * MEGABYTE),
    "no UTF-8": ("text/plain", b"\xff\xfe\x80 " * (MEGABYTE * 5 // 2)),
    "bytes": ("application/octet-stream", bytes(range(256)) * 40_000),
}


@pytest.mark.long
@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_of_10_mb_leaves_the_loop_free(name, status):
    kind, body = ANSWERS[name]
    answer = httpx.Response(status, headers={"content-type": kind}, content=body)
    source = document({"/x": {"get": operation()}})

    assert await shortest_gap(source, {}, answer=answer) < LONGEST


LARGEST = [
    ("github/api.github.com.json", "repos_update_org_ruleset"),
    ("stripe/stripe-old.yaml", "post_accounts"),
    ("kubernetes/swagger.json", "replace_apps_v1_namespaced_deployment_status"),
    ("discord/openapi.json", "create_message"),
    ("openai/openapi.yaml", "beta_getinputtokencounts"),
]


@pytest.mark.parametrize(("path", "name"), LARGEST, ids=[path.split("/")[0] for path, _ in LARGEST])
async def test_the_first_call_of_a_large_tool_leaves_the_loop_free(shared, path, name):
    best = float("inf")
    for _ in range(TRIES):
        client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(204)))
        tools = load_tools(corpus.FOLDER / path, client=client)
        gap, _ = await gap_beside(tools[name], {"unknown": 1})
        best = min(best, gap)
        if best < LONGEST:
            break

    assert best < LONGEST
