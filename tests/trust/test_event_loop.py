"""No response, no large tool and no secret keeps the event loop, or a call beyond its time.

Two things keep the loop: work on its own thread, and work elsewhere in one piece that lets no other
thread run. A ticker beside the call sees both. The best of a few tries counts.
"""

import asyncio
import base64
import functools
import json
import os
import time
from collections.abc import Callable
from types import SimpleNamespace
from urllib.parse import quote

import corpus
import httpx
import pytest
from documents import document, operation, with_body
from ticker import LONGEST, gap_beside, leaves_free
from trust.promises import load_quietly, secured_document, with_token_at

from openapi_tools import Context, OAuth2, ToolCall, load_tools
from openapi_tools.serving.server_records import AuditLog
from openapi_tools.testing import Cassette, mock_api
from openapi_tools.tools.guardrails import make_question

pytestmark = pytest.mark.untraced
MEGABYTE = 1_000_000
HERE = [{"url": "http://api.test"}]
GET = document({"/x": {"get": operation()}})


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@pytest.mark.parametrize("block", [work, time.sleep])
async def test_the_ticker_of_these_tests_notices_what_blocks(block):
    (tool,), _ = load_quietly(GET)
    tool.add_input_guardrails([lambda call, context: block(2 * LONGEST)])

    gap, _ = await gap_beside(tool, {})

    assert gap >= LONGEST


JSON = "application/json"


@functools.cache
def rows():
    """Return 10 MB of JSON."""
    return json.dumps([{"id": number, "name": f"n{number}"} for number in range(300_000)]).encode()


# Made when a test asks: together they take 150 MB.
RESPONSES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "objects": (JSON, rows),
    "integers": (JSON, lambda: b"[" + b"1," * (5 * MEGABYTE - 1) + b"1]"),
    "empty objects": (JSON, lambda: b"[" + b"{}," * (3 * MEGABYTE) + b"1]"),
    "one text": (JSON, lambda: b'"' + b"x" * (10 * MEGABYTE) + b'"'),
    "control characters": (JSON, lambda: rows()[:-1] + b',"\\u0001"]'),
    "no number": (JSON, lambda: rows()[:-1] + b",NaN]"),
    "cut off": (JSON, lambda: rows()[:-2]),
    "HTML": ("text/html", lambda: b"<html>" + b"<p>hello <b>you</b></p>" * 450_000),
    "events": ("text/event-stream", lambda: b'data: {"a":1}\n\n' * 650_000),
    "lines": ("application/jsonl", lambda: b'{"a":1}\n' * 1_200_000),
    "text": ("text/plain", lambda: b"hello world " * 850_000),
    "escapes": ("text/plain", lambda: b"\x1b[31m" * 2 * MEGABYTE),
    "no UTF-8": ("text/plain", lambda: b"\xff\xfe\x80 " * (MEGABYTE * 5 // 2)),
    "bytes": ("application/octet-stream", lambda: bytes(range(256)) * 40_000),
}


@pytest.mark.long
@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("name", RESPONSES)
async def test_a_response_of_10_mb_leaves_the_loop_free(name, status):
    kind, make_body = RESPONSES[name]
    body = make_body()

    def respond(_):
        return httpx.Response(status, headers={"content-type": kind}, content=body)

    def attempt():
        (tool,), sent = load_quietly(GET, handler=respond)

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

    await leaves_free(attempt, arguments={"unknown": 1})


BEYOND = 0.5
"""Seconds beyond its timeout after which a call has ended."""
BEARER = {"type": "http", "scheme": "bearer"}


def token(length):
    """A token that was never there before."""
    return base64.b64encode(os.urandom(length)).decode()[:length]


def api(handler, *, scheme=BEARER, **options):
    """Return a tool whose API responds by a function."""
    return load_quietly(secured_document(scheme), handler=handler, **options)[0]["x"]


@pytest.mark.long
@pytest.mark.skipif(not corpus.entries(), reason=corpus.ABSENT)
async def test_the_first_list_of_a_large_server_leaves_the_loop_free():
    mcp = pytest.importorskip("openapi_tools.contracts.mcp", reason="mcp is not installed")
    file = corpus.FOLDER / "github" / "api.github.com.json"

    def attempt():
        tools = mcp.VisibleTools(load_tools(file, response_schemas=True))

        async def list_tools(_):
            return (await tools.list_tools()).tools

        def check(listed):
            assert len(listed) == 1223
            assert all(tool.output_schema for tool in listed)

        return SimpleNamespace(execute=list_tools), check

    await leaves_free(attempt)


@pytest.mark.parametrize("mark", ["a %20 blank", 'a \\" quote', "a &amp; b"])
@pytest.mark.parametrize("length", [1200, 8000])
async def test_a_long_token_costs_nothing_at_a_response_with_escapes(length, mark):
    def attempt():
        secret = token(length)
        body = {"said": [mark, quote(secret, safe=""), f"<{secret}>"]}
        tool = api(lambda _: httpx.Response(200, json=body), credentials={"k": secret})
        return tool, check

    def check(result):
        assert result.output == {"said": [mark, "***", "<***>"]}

    await leaves_free(attempt)


@pytest.mark.parametrize(
    ("length", "output"),
    [
        (16_000, "100%25 of *** & more"),
        (64_000, "has no access_token of at most 16384 printable characters."),
    ],
)
async def test_a_long_token_of_a_token_endpoint_does_not_outlast_the_call(length, output):
    def attempt():
        secret = token(length)
        body = {"access_token": secret, "token_type": "bearer"}

        def respond(request):
            if request.url.path == "/t":
                return httpx.Response(200, json=body)
            return httpx.Response(200, text=f"100%25 of {secret} & more")

        credentials = {"k": OAuth2(client_id="me", client_secret="client-secret")}
        return api(respond, scheme=with_token_at("/t"), credentials=credentials, timeout=2), check

    def check(result):
        assert result.output.endswith(output)

    await leaves_free(attempt, most=2 + BEYOND)


async def test_the_tokens_of_thirty_tenants_do_not_slow_their_calls():
    def respond(request):
        return httpx.Response(200, json={"said": f"%20{request.headers['authorization']}"})

    def attempt():
        tool = api(respond)
        contexts = [Context(credentials={"k": token(1200)}) for _ in range(30)]

        async def execute(arguments):
            return await asyncio.gather(*(tool.execute(arguments, context=one) for one in contexts))

        return SimpleNamespace(execute=execute), check

    def check(results):
        assert {str(each) for each in results} == {'{"said":"%20Bearer ***"}'}

    await leaves_free(attempt, most=1.5)  # a twentieth of a second for each


@pytest.mark.long
@pytest.mark.parametrize("repeated", [False, True], ids=["none in it", "one in it"])
async def test_ten_megabytes_are_searched_for_thirty_three_secrets_within_the_time(repeated):
    def attempt():
        first, *rest = [token(1200) for _ in range(33)]
        rows = [{"id": n, "name": f"n {n}", "url": f"/a?b=%20{n}"} for n in range(160_000)]
        if repeated:
            rows.append({"id": 0, "name": rest[-1], "url": ""})
        body = json.dumps(rows).encode()
        assert 9_000_000 < len(body) < 10_000_000
        credentials = {
            f"own-{n}": {"in": "header", "name": "X-Other", "value": secret}
            for n, secret in enumerate(rest)
        }
        tool = api(
            lambda _: httpx.Response(200, content=body),
            credentials={"k": first, **credentials},
            timeout=3,
            max_output_chars=20_000_000,
        )

        def check(result):
            assert rest[-1] not in str(result)

        return tool, check

    await leaves_free(attempt, most=3 + BEYOND)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
async def test_reading_a_response_counts_as_time_of_the_call(kind):
    body = b'["' + b'\\"' * 3_000_000 + b'"]'  # seconds of work

    def respond(_):
        return httpx.Response(200, headers={"content-type": kind}, content=body)

    def attempt():
        return api(respond, credentials={"k": token(40)}, timeout=0.1), check

    def check(result):
        assert result.error["type"] == "timeout"

    await leaves_free(attempt, most=0.1 + BEYOND)


@pytest.mark.long
@pytest.mark.parametrize("dry_run", [True, False], ids=["a dry run", "an approval"])
async def test_the_preview_of_a_large_input_leaves_the_loop_free(dry_run):
    settings = {"dry_run": dry_run, "approve": None if dry_run else lambda seen: False}
    body = with_body({"properties": {"a": {"type": "string"}}})

    def attempt():
        credential = {"in": "header", "name": "X-Key", "value": token(40)}
        (tool,), _ = load_quietly(document(body), credentials={"k": credential}, **settings)
        return tool, check

    def check(result):
        assert result.success is dry_run

    await leaves_free(attempt, arguments={"a": '\\"%41' * 400_000})


FORMS = "<input name=" * 120_000
"""A page of HTML as a body, which may be looked at for secrets for half a second."""


@pytest.mark.long
@pytest.mark.parametrize("place", ["a question", "an audit log", "a mock", "a cassette"])
async def test_the_search_for_secrets_in_a_large_text_leaves_the_loop_free(place, tmp_path):
    source = document(with_body({"properties": {"a": {"type": "string"}}}), servers=HERE)
    audit = AuditLog(str(tmp_path / "audit.jsonl"))

    async def execute(arguments):
        if place == "a question":
            return await make_question(tool, ToolCall(name=tool.name, arguments=arguments))
        if place == "an audit log":
            return await audit.remember_arguments(
                tool, ToolCall(name=tool.name, arguments=arguments), None
            )
        return await tool.execute(arguments)

    def attempt():
        nonlocal tool
        client = mock_api(source, judge=False).client()
        if place == "a cassette":
            transport = httpx.MockTransport(lambda _: httpx.Response(200))
            client = Cassette(tmp_path / "tape", mode="all", transport=transport).client()
        (tool,) = load_tools(source, client=client)
        return SimpleNamespace(execute=execute), lambda _: None

    tool = None
    await leaves_free(attempt, arguments={"a": FORMS})
