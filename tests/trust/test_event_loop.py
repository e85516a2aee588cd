"""Nothing that a server sends, and no large tool, keeps the event loop from its other work.

Two things keep it: work on its own thread, and work elsewhere in one piece that lets no other
thread run. A ticker beside the call sees both. The best of a few tries counts.
"""

from __future__ import annotations

import json
import time

import corpus
import httpx
import pytest
from documents import document, operation
from ticker import LONGEST, gap_beside, leaves_free
from trust.promises import quiet

from openapi_tools import load_tools

pytestmark = pytest.mark.untraced
MEGABYTE = 1_000_000
GET = document({"/x": {"get": operation()}})


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@pytest.mark.parametrize("block", [work, time.sleep])
async def test_the_ticker_of_these_tests_notices_what_blocks(block):
    (tool,), _ = quiet(GET)
    tool.add_input_guardrails([lambda call, context: block(2 * LONGEST)])

    gap, _ = await gap_beside(tool, {})

    assert gap >= LONGEST


ROWS = json.dumps([{"id": number, "name": f"n{number}"} for number in range(300_000)]).encode()
JSON = "application/json"
ANSWERS: dict[str, tuple[str, bytes]] = {
    "objects": (JSON, ROWS),
    "integers": (JSON, b"[" + b"1," * (5 * MEGABYTE - 1) + b"1]"),
    "empty objects": (JSON, b"[" + b"{}," * (3 * MEGABYTE) + b"1]"),
    "one text": (JSON, b'"' + b"x" * (10 * MEGABYTE) + b'"'),
    "control characters": (JSON, ROWS[:-1] + b',"\\u0001"]'),
    "no number": (JSON, ROWS[:-1] + b",NaN]"),
    "cut off": (JSON, ROWS[:-2]),
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

    def answer(_):
        return httpx.Response(status, headers={"content-type": kind}, content=body)

    def attempt():
        (tool,), sent = quiet(GET, answer=answer)

        def check(_):
            assert sent

        return tool, check

    await leaves_free(attempt)


LARGEST = [
    ("github/api.github.com.json", "repos_update_org_ruleset"),
    ("stripe/stripe-old.yaml", "post_accounts"),
    ("kubernetes/swagger.json", "replace_apps_v1_namespaced_deployment_status"),
    ("discord/openapi.json", "create_message"),
    ("openai/openapi.yaml", "beta_getinputtokencounts"),
]


@pytest.mark.parametrize(("path", "name"), LARGEST, ids=[path.split("/")[0] for path, _ in LARGEST])
async def test_the_first_call_of_a_large_tool_leaves_the_loop_free(shared, path, name):
    def attempt():
        return load_tools(corpus.FOLDER / path)[name], check

    def check(result):
        assert result.error["type"] == "invalid_input"

    await leaves_free(attempt, given={"unknown": 1})
