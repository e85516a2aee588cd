"""Cached responses: HTTP's own rules (RFC 9111), apart for each user and credential."""

import asyncio
import json
import time
from email.utils import formatdate

import httpx
import pytest
from documents import document, operation

from openapi_tools import Context, Settings, load_tools
from openapi_tools.errors import CallError
from openapi_tools.state.shared_state import MemoryState

pytest.importorskip("hishel")
TEXT = {"schema": {"type": "string"}}
QUERY = {"name": "q", "in": "query", **TEXT}
LANGUAGE = {"name": "Accept-Language", "in": "header", **TEXT}
CONDITION = {"name": "If-None-Match", "in": "header", **TEXT}
OVERRIDE = {"name": "X-HTTP-Method-Override", "in": "header", **TEXT}
CONTROL = {"name": "Cache-Control", "in": "header", **TEXT}
HEADERS = [QUERY, LANGUAGE, CONDITION, OVERRIDE, CONTROL]
NAMED = {name: {"schema": {"type": "string"}} for name in ("Age", "X-New")}
RESPONSES = {"200": {"description": "ok", "headers": NAMED}}
PATHS = {
    "/a": {
        "get": operation(operationId="get", parameters=HEADERS, responses=RESPONSES),
        **{method: operation(operationId=method) for method in ("post", "put", "delete")},
    },
    "/b": {"get": operation(operationId="other")},
}
KEYED = {"key": {"type": "http", "scheme": "bearer"}}
API = document(
    PATHS,
    servers=[{"url": "http://api.example.com"}],
    components={"securitySchemes": KEYED},
    security=[{"key": []}, {}],
)
HOUR = {"cache-control": "max-age=3600"}


@pytest.fixture(autouse=True)
def _wait_longer_for_the_cache(monkeypatch):
    """Another process or the garbage collector may stop a test for more than the usual second."""
    monkeypatch.setattr("openapi_tools.transport.http_cache._STATE_TIMEOUT", 60.0)


def date(seconds):
    return formatdate(time.time() + seconds, usegmt=True)


class At(int):
    """Seconds from the time of a test, as a date in a header."""


class Api:
    """Responds with headers of a test, a new body each time, and 304 to its own ETag."""

    def __init__(self, status=200, **headers):
        self.requests, self.status = [], status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.not_modified, self.padding = {}, ""

    def __call__(self, request):
        self.requests.append(request)
        etag, modified = self.headers.get("etag"), self.headers.get("last-modified")
        asked = request.headers.get("if-none-match"), request.headers.get("if-modified-since")
        if (etag and asked[0] == etag) or (modified and not etag and asked[1] == modified):
            return httpx.Response(304, headers={"etag": etag, **self.not_modified} if etag else {})
        body = {"count": len(self.requests), "more": self.padding}
        return httpx.Response(self.status, json=body, headers=self.headers)

    def tools(self, **settings):
        self.client = httpx.AsyncClient(transport=httpx.MockTransport(self))
        options = {"http_cache": True, "anonymous": True, **settings}
        return load_tools(API, settings=Settings(**options), client=self.client)


async def twice(api, first=None, second=None, **settings):
    """Return the metadata of the second of two equal calls, and whether the first was cached."""
    async with api.tools(**settings) as tools:
        before = await tools["get"].execute(first or {})
        after = await tools["get"].execute(second if second is not None else first or {})
    assert "cached" not in before.metadata
    return after


ROWS = {  # RFC 9111: what a response says, and how often the API is asked for two calls
    "5.2.2.1 max-age": (HOUR, 1),
    "5.2.2.1 max-age of 0": ({"cache-control": "max-age=0"}, 2),
    "5.2.2.5 no-store": ({"cache-control": "no-store, max-age=3600"}, 2),
    "5.2.2.5 no-store in a list": ({"cache-control": "private=x,no-store, max-age=3600"}, 2),
    "5.2.2.4 no-cache": ({"cache-control": "no-cache, max-age=3600"}, 2),
    "5.2.2.7 private, for all": ({"cache-control": "private, max-age=3600"}, 2),
    "5.2.2.10 s-maxage": ({"cache-control": "max-age=0, s-maxage=3600"}, 1),
    "5.2.2.9 public": ({"cache-control": "public, max-age=60"}, 1),
    "5.2 unknown directive": ({"cache-control": "max-age=60, sparkling"}, 1),
    "5.2 a wrong number": ({"cache-control": "max-age=soon"}, 2),
    "5.3 Expires": ({"expires": At(3600), "date": At(0)}, 1),
    "5.3 Expires, clocks apart": ({"expires": At(9000), "date": At(9000)}, 2),
    "5.3 Expires in the past": ({"expires": At(-10)}, 2),
    "5.3 Expires of 0": ({"expires": "0"}, 2),
    "5.3 max-age before Expires": ({"expires": At(3600), "cache-control": "max-age=0"}, 2),
    "4.2.3 Age": ({"cache-control": "max-age=60", "age": "61"}, 2),
    "4.2.3 young": ({"cache-control": "max-age=60", "age": "50"}, 1),
    "4.2.3 Date long ago": ({"cache-control": "max-age=60", "date": At(-120)}, 2),
    "4.2.3 Date to come": ({"cache-control": "max-age=60", "date": At(120)}, 1),
    "4.2.3 Date that is none": ({"cache-control": "max-age=60", "date": "now"}, 1),
    "4.1 Vary of another header": ({**HOUR, "vary": "Accept-Encoding"}, 1),
    "4.1 Vary of all": ({**HOUR, "vary": "*"}, 2),
    "3 nothing said": ({}, 2),
    "8.2 Pragma of an answer": ({**HOUR, "pragma": "no-cache"}, 1),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
async def test_what_a_response_says_decides(row):
    headers, times = ROWS[row]
    api = Api()
    api.headers = {n: date(v) if isinstance(v, At) else v for n, v in headers.items()}
    result = await twice(api)

    assert len(api.requests) == times
    assert result.metadata.get("cached", False) is (times == 1)
    assert result.output["count"] == times


@pytest.mark.parametrize(
    ("status", "headers", "times"),
    [(404, HOUR, 1), (500, {}, 2), (404, {}, 2), (206, HOUR, 2), (410, HOUR, 1)],
)
async def test_statuses(status, headers, times):
    api = Api(status)
    api.headers = dict(headers)
    await twice(api)
    assert len(api.requests) == times


async def test_a_cached_response_has_its_age_and_is_reported():
    api = Api(cache_control="max-age=60", age="7", x_own="1")
    result = await twice(api)

    assert result.metadata["cached"] is True
    assert "revalidated" not in result.metadata
    assert result.metadata["attempts"] == 0
    assert 7 <= int(result.metadata["headers"]["age"]) <= 9
    assert result.metadata["status"] == 200


@pytest.mark.parametrize("tag", ['"v1"', 'W/"v1"'])
async def test_an_etag_asks_whether_a_response_holds(tag):
    api = Api(etag=tag, cache_control="no-cache")
    api.not_modified = {"x-new": "yes", "content-type": "text/plain"}
    result = await twice(api)

    assert [request.headers.get("if-none-match") for request in api.requests] == [None, tag]
    assert result.output["count"] == 1
    assert result.metadata["cached"] is result.metadata["revalidated"] is True
    assert result.metadata["status"] == 200
    assert result.metadata["headers"]["x-new"] == "yes"
    assert result.metadata["media_type"] == "application/json"


async def test_headers_of_any_letters_are_kept():
    api = Api(etag='"ü"', cache_control="no-cache", x_new="naïve €")
    api.headers = {name: value.encode() for name, value in api.headers.items()}
    result = await twice(api)
    assert "cached" not in result.metadata  # its ETag cannot be sent back letter by letter

    api.headers = {**HOUR, "x-new": "naïve €".encode()}
    result = await twice(api)
    assert result.metadata["cached"]
    assert result.metadata["headers"]["x-new"] == "naïve €"


async def test_a_date_asks_whether_a_response_holds():
    api = Api(last_modified=date(-100))
    result = await twice(api)

    assert result.metadata["revalidated"]
    assert api.requests[1].headers["if-modified-since"] == api.headers["last-modified"]


async def test_a_304_makes_a_response_fresh_again():
    api = Api(etag='"v1"', cache_control="max-age=0")
    api.not_modified = HOUR
    async with api.tools() as tools:
        results = [await tools["get"].execute({}) for _ in range(4)]

    assert len(api.requests) == 2
    assert [result.metadata.get("revalidated", False) for result in results] == [
        False, True, False, False,
    ]  # fmt: skip
    assert [result.output["count"] for result in results] == [1] * 4


async def test_a_304_that_forbids_keeping_ends_it():
    api = Api(etag='"v1"', cache_control="max-age=0")
    api.not_modified = {"cache-control": "no-store"}
    async with api.tools() as tools:
        results = [await tools["get"].execute({}) for _ in range(3)]

    assert [result.output["count"] for result in results] == [1, 1, 3]


async def test_a_304_about_another_response_is_not_used():
    api = Api(etag='"v1"', cache_control="no-cache")
    api.not_modified = {"etag": '"v2"'}
    result = await twice(api)

    assert result.output["count"] == 3
    assert "if-none-match" not in api.requests[2].headers
    assert "cached" not in result.metadata


async def test_a_changed_response_replaces_the_cached_one():
    api = Api(etag='"v1"', cache_control="no-cache")
    async with api.tools() as tools:
        await tools["get"].execute({})
        api.headers["etag"] = '"v2"'
        changed = await tools["get"].execute({})
        held = await tools["get"].execute({})

    assert (changed.output["count"], held.output["count"]) == (2, 2)
    assert held.metadata["revalidated"]


async def test_a_failure_of_the_server_is_reported_and_is_not_cached():
    api = Api(etag='"v1"', cache_control="no-cache")
    async with api.tools() as tools:
        await tools["get"].execute({})
        api.status, api.headers = 503, {}
        assert (await tools["get"].execute({})).error["status"] == 503


async def test_requests_that_differ_have_responses_of_their_own():
    api = Api(**{**HOUR, "vary": "accept-language"})
    api.headers = {**HOUR, "vary": "accept-language"}
    async with api.tools() as tools:
        calls = [{}, {"q": "1"}, {"q": "2"}, {"Accept_Language": "en"}, {"Accept_Language": "fr"}]
        for _ in range(2):
            for arguments in calls:
                assert (await tools["get"].execute(arguments)).success, arguments
            await tools["other"].execute({})
    assert len(api.requests) == 6


@pytest.mark.parametrize(
    "arguments",
    [{"If_None_Match": '"x"'}, {"Cache_Control": "no-cache"}, {"Cache_Control": "no-store"}],
)
async def test_a_call_with_conditions_of_its_own_goes_by_the_cached_responses(arguments):
    api = Api(etag='"v1"', cache_control="max-age=3600")
    async with api.tools() as tools:
        for _ in range(2):
            assert (await tools["get"].execute(arguments)).success
        assert (await tools["get"].execute({})).metadata.get("cached") is None
    assert len(api.requests) == 3


@pytest.mark.parametrize("name", ["post", "put", "delete"])
@pytest.mark.parametrize("status", [200, 500])
async def test_a_write_ends_what_is_kept_of_its_address_for_every_user(name, status):
    api = Api(cache_control="max-age=3600")
    async with api.tools() as tools:
        users = [Context(user="ada"), Context(user="bob")]
        for user in users:
            await tools["get"].execute({"q": "1"}, context=user)
        await tools["other"].execute({})
        api.status = status
        await tools[name].execute({})
        api.status = 200
        again = [await tools["get"].execute({"q": "1"}, context=user) for user in users]
        other = await tools["other"].execute({})

    assert [result.metadata.get("cached") for result in again] == [None, None]
    assert other.metadata["cached"]


async def test_a_get_that_is_a_write_by_its_header_is_sent_and_ends_what_is_kept():
    api = Api(cache_control="max-age=3600")
    async with api.tools() as tools:
        await tools["get"].execute({})
        for _ in range(2):
            await tools["get"].execute({"X_HTTP_Method_Override": "DELETE"})
        assert "cached" not in (await tools["get"].execute({})).metadata
    assert len(api.requests) == 4


async def test_a_read_that_began_before_a_write_is_not_kept():
    api = Api(cache_control="max-age=3600")
    arrived, gate = asyncio.Event(), asyncio.Event()

    async def slow(request):
        response = api(request)
        if request.method == "GET" and len(api.requests) == 1:
            arrived.set()
            await gate.wait()
        return response

    client = httpx.AsyncClient(transport=httpx.MockTransport(slow))
    settings = Settings(http_cache=True, anonymous=True)
    async with client, load_tools(API, settings=settings, client=client) as tools:
        reading = asyncio.create_task(tools["get"].execute({}))
        await arrived.wait()
        await tools["put"].execute({})
        gate.set()
        await reading
        assert "cached" not in (await tools["get"].execute({})).metadata


@pytest.mark.parametrize("control", ["max-age=3600", "private, max-age=3600", "public, max-age=9"])
async def test_no_user_and_no_credential_gets_the_response_of_another(control):
    api = Api(cache_control=control)
    state = MemoryState()
    callers = [
        Context(credentials={"key": key} if key else None, user=user)
        for key in ("", "key-of-ada", "key-of-bob") for user in ("", "ada", "bob")
    ]  # fmt: skip
    # Tools of two processes would share the state so; a user's own client never shares responses.
    settings = Settings(http_cache=True, anonymous=True, state=state, base_url="http://127.0.0.1:9")
    seen = {}
    async with api.tools(state=state) as tools, load_tools(API, settings=settings):
        for number, context in enumerate(callers * 2):
            result = await tools["get"].execute({}, context=context)
            seen.setdefault(number % len(callers), set()).add(result.output["count"])

    counts = [count for numbers in seen.values() for count in numbers]
    assert len(counts) == len(set(counts))
    # Only a caller without user and credential has no private cache.
    assert len(api.requests) == len(callers) + ("private" in control)


async def test_two_clients_of_users_share_no_response():
    api, state = Api(cache_control="max-age=3600"), MemoryState()
    for _ in range(2):
        async with api.tools(state=state) as tools:
            await tools["get"].execute({})
    assert len(api.requests) == 2


async def test_credentials_that_are_not_seen_are_not_kept_for():
    api = Api(cache_control="max-age=3600")
    async with api.tools() as tools:
        api.client.auth = httpx.BasicAuth("ada", "x")
        for _ in range(2):
            await tools["get"].execute({})
    assert len(api.requests) == 2


async def test_large_responses_are_not_cached():
    api = Api(cache_control="max-age=3600")
    api.padding = "x" * 2**20
    await twice(api)
    assert len(api.requests) == 2


class Gone(MemoryState):
    is_gone = False

    async def get(self, key):
        self._check()
        return await super().get(key)

    async def put(self, key, value, seconds=None):
        self._check()
        await super().put(key, value, seconds)

    def _check(self):
        if self.is_gone:
            raise CallError("connection", "the shared state is unreachable; nothing was sent.")


async def test_reads_go_on_without_the_state_and_writes_that_cannot_be_noted_are_not_sent(caplog):
    api, state = Api(cache_control="max-age=3600"), Gone()
    async with api.tools(state=state) as tools:
        await tools["get"].execute({})
        state.is_gone = True
        assert (await tools["get"].execute({})).output["count"] == 2
        refused = await tools["put"].execute({})
        assert refused.error["message"].endswith("nothing was sent.")
        assert len(api.requests) == 2
        state.is_gone = False
        assert (await tools["get"].execute({})).metadata["cached"]

        real = api.__call__

        def fail(request):
            state.is_gone = True
            return real(request)

        api.client._transport = httpx.MockTransport(fail)
        assert (await tools["put"].execute({})).success
    assert "a write could not be recorded" in caplog.text


class Hanging(MemoryState):
    hangs = False

    async def put(self, key, value, seconds=None):
        if self.hangs:
            await asyncio.sleep(10)
        await super().put(key, value, seconds)


async def test_a_304_is_not_the_result_when_the_time_is_over_before_it_is_noted():
    state = Hanging()
    async with Api(etag='"1"').tools(state=state, timeout=0.3) as tools:
        assert (await tools["get"].execute({})).success
        state.hangs = True
        assert (await tools["get"].execute({})).error["type"] == "timeout"


DAMAGED = (
    *(b"", b"{}\nx", b"[1, 2]\n", b"\xff\xfe", b"[" * 100_000),
    *(
        json.dumps([status, [["etag", value]], received, 0.0, ""]).encode() + b"\n{}"
        for status, value, received in (
            (200, '"a"\r\nX-Injected: 1', 1.0),
            (200, "\ud800", 1.0),
            (200, '"a"', 1e300),
            (200, '"a"', "now"),
            ("odd", '"a"', 1.0),
            (99, '"a"', 1.0),
        )
    ),
)


async def test_damaged_entries_are_not_used():
    api, state = Api(cache_control="max-age=3600"), MemoryState()
    async with api.tools(state=state) as tools:
        await tools["get"].execute({})
        for damaged in DAMAGED:
            for key in [key for key in state._values if not key.startswith("http:changed")]:
                await state.put(key, damaged)
            result = await tools["get"].execute({})
            assert result.success
            assert "cached" not in result.metadata
        assert (await tools["get"].execute({})).metadata["cached"]


async def test_without_the_setting_nothing_is_kept():
    api = Api(cache_control="max-age=3600")
    await twice(api, http_cache=False)
    assert len(api.requests) == 2


async def test_a_damaged_mark_of_a_write_hides_the_entry():
    api, state = Api(cache_control="max-age=3600"), MemoryState()
    async with api.tools(state=state) as tools:
        await tools["put"].execute({})
        await tools["get"].execute({})
        for key in [key for key in state._values if key.startswith("http:changed")]:
            await state.put(key, b"\xff\xfe")
        assert (await tools["get"].execute({})).output["count"] == 3
