"""Looking for secrets neither keeps the event loop nor lets a call take longer than its time.

As in `test_event_loop.py` the best of a few tries counts, each with secrets that were never seen.
"""

import asyncio
import base64
import json
import os
import time
from urllib.parse import quote

import httpx
import pytest
from documents import document, operation, with_body
from ticker import LONGEST, TRIES, gap_beside

from openapi_tools import Context, OAuth2, Settings, load_tools

pytestmark = pytest.mark.untraced
BEYOND = 0.5
"""Seconds beyond its timeout after which a call has ended."""
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "oauth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "/t", "scopes": {}}}},
}
SERVER = {"url": "https://api.test"}
ROWS = [{"id": n, "name": f"n {n}", "url": f"/a?b=%20{n}"} for n in range(160_000)]


def token(length):
    """A token that was never there before."""
    return base64.b64encode(os.urandom(length)).decode()[:length]


def api(answer, scheme, **options):
    paths = {"/x": {"get": operation(operationId="x", security=[{scheme: []}])}}
    root = document(paths, components={"securitySchemes": SCHEMES})
    options.setdefault("settings", Settings(base_url="https://api.test"))
    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    return load_tools(root, client=client, **options)


async def shortest(attempt):
    """Return the least gap between two ticks and the least time of some tries."""
    tries = [await attempt()]
    while len(tries) < TRIES and tries[-1][0] >= LONGEST:
        tries.append(await attempt())
    return min(gap for gap, _ in tries), min(seconds for _, seconds in tries)


@pytest.mark.parametrize("mark", ["a %20 blank", 'a \\" quote', "a &amp; b"])
@pytest.mark.parametrize("length", [1200, 8000])
async def test_a_long_token_costs_nothing_at_an_answer_with_escapes(length, mark):
    async def attempt():
        secret = token(length)
        given = {"bearer": secret}
        body = {"said": [mark, quote(secret, safe=""), f"<{secret}>"]}
        tools = api(lambda _: httpx.Response(200, json=body), "bearer", credentials=given)
        started = time.perf_counter()
        gap, result = await gap_beside(tools["x"], {})
        assert result.output == {"said": [mark, "***", "<***>"]}
        return gap, time.perf_counter() - started

    gap, _ = await shortest(attempt)

    assert gap < LONGEST


@pytest.mark.parametrize("length", [16_000, 64_000])
async def test_a_long_token_of_a_token_endpoint_does_not_outlast_the_call(length):
    async def attempt():
        secret = token(length)

        def answer(request):
            if request.url.path == "/t":
                given = {"access_token": secret, "token_type": "bearer"}
                return httpx.Response(200, json=given)
            return httpx.Response(200, text=f"100%25 of {secret} & more")

        given = {"oauth": OAuth2(client_id="me", client_secret="client-secret")}
        settings = Settings(base_url="https://api.test", timeout=2)
        tools = api(answer, "oauth", credentials=given, settings=settings)
        started = time.perf_counter()
        gap, result = await gap_beside(tools["x"], {})
        assert result.output == (
            "100%25 of *** & more"
            if length <= 16 * 1024
            else "the answer of the token endpoint at https://api.test has no access_token that "
            "could be sent, of at most 16384 characters."
        )
        return gap, time.perf_counter() - started

    gap, seconds = await shortest(attempt)

    assert gap < LONGEST
    assert seconds < 2 + BEYOND


async def test_the_tokens_of_thirty_tenants_do_not_slow_their_calls():
    def answer(request):
        return httpx.Response(200, json={"said": f"%20{request.headers['authorization']}"})

    async def attempt():
        tools = api(answer, "bearer")
        given = [Context(credentials={"bearer": token(1200)}) for _ in range(30)]
        started = time.perf_counter()
        results = asyncio.gather(*(tools["x"].execute({}, context=one) for one in given[1:]))
        gap, result = await gap_beside(_Bound(tools, given[0]), {})
        seconds = time.perf_counter() - started
        assert {str(each) for each in (result, *await results)} == {'{"said": "%20Bearer ***"}'}
        return gap, seconds

    gap, seconds = await shortest(attempt)

    assert gap < LONGEST
    assert seconds < 1.5  # a twentieth of a second for each


class _Bound:
    """A tool with a context."""

    def __init__(self, tools, context):
        self._call = lambda given: tools["x"].execute(given, context=context)

    async def execute(self, given):
        return await self._call(given)


@pytest.mark.long
@pytest.mark.parametrize("repeated", [False, True], ids=["none in it", "one in it"])
async def test_ten_megabytes_are_searched_for_thirty_three_secrets_within_the_time(repeated):
    async def attempt():
        first, *others = secrets = [token(1200) for _ in range(33)]
        rows = [*ROWS, {"id": 0, "name": secrets[32], "url": ""}] if repeated else ROWS
        body = json.dumps(rows).encode()
        assert 9_000_000 < len(body) < 10_000_000
        settings = Settings(base_url="https://api.test", timeout=3, max_output_chars=20_000_000)
        tools = api(
            lambda _: httpx.Response(200, content=body),
            "bearer",
            credentials={"bearer": first, **{f"own-{n}": bearer(s) for n, s in enumerate(others)}},
            settings=settings,
        )
        started = time.perf_counter()
        gap, result = await gap_beside(tools["x"], {})
        seconds = time.perf_counter() - started
        assert secrets[32] not in str(result)
        return gap, seconds

    gap, seconds = await shortest(attempt)

    assert gap < LONGEST
    assert seconds < 3 + BEYOND


def bearer(secret):
    return {"in": "header", "name": "X-Other", "value": secret}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
async def test_reading_an_answer_counts_as_time_of_the_call(kind):
    async def attempt():
        body = b'["' + b'\\"' * 5_000_000 + b'"]'
        settings = Settings(base_url="https://api.test", timeout=0.1)
        tools = api(
            lambda _: httpx.Response(200, headers={"content-type": kind}, content=body),
            "bearer",
            credentials={"bearer": token(40)},
            settings=settings,
        )
        started = time.perf_counter()
        gap, result = await gap_beside(tools["x"], {})
        seconds = time.perf_counter() - started
        assert result.error["type"] == "timeout"
        return gap, seconds

    gap, seconds = await shortest(attempt)

    assert gap < LONGEST
    assert seconds < 0.1 + BEYOND


@pytest.mark.long
@pytest.mark.parametrize("dry_run", [True, False], ids=["a dry run", "an approval"])
async def test_the_preview_of_a_large_input_leaves_the_loop_free(dry_run):
    async def attempt():
        settings = Settings(dry_run=dry_run, approve=None if dry_run else lambda seen: False)
        body = with_body({"properties": {"a": {"type": "string"}}})
        root = document(body, components={"securitySchemes": SCHEMES}, servers=[SERVER])
        (tool,) = load_tools(root, credentials={"bearer": token(40)}, settings=settings)
        gap, result = await gap_beside(tool, {"a": '\\"%41' * 790_000})
        assert result.success is dry_run
        return gap, 0

    gap, _ = await shortest(attempt)

    assert gap < LONGEST
