"""Calls of processes that share a state: limits, tokens, files, long work; the state goes away."""

import asyncio
import multiprocessing
import time
from collections import Counter

import httpx
import pytest
import sharing_workers as workers
from documents import document, operation
from servers.authorization import SECRET, running, server
from servers.counting import PATHS
from servers.recorder import CannedResponse, Recorder
from sharing_workers import KEY
from stored_files import API as FILES_API

from openapi_tools import Context, OAuth2, Settings, SettingsError, load_tools
from openapi_tools.state.shared_state import MemoryState

RedisState = pytest.importorskip("openapi_tools.state.redis_state").RedisState
StateFiles = pytest.importorskip("openapi_tools.state.state_files").StateFiles
APP = {"client_id": "app", "client_secret": SECRET, "flow": "clientCredentials"}

__all__ = ["running", "server"]


def all_of(processes, function, *args, **options):
    """Return what a function returns in two processes at once."""
    done = [processes.submit(function, *args, **options) for _ in range(2)]
    return [each.result(60) for each in done]


def windows(times, seconds=1.0):
    """Return the most calls that began in any time so long."""
    return max(sum(start <= t < start + seconds for t in times) for start in times)


async def call_often(tools, count, name="read", **context):
    return await asyncio.gather(
        *(tools[name].execute({"n": str(n)}, context=Context(**context)) for n in range(count))
    )


@pytest.mark.long
def test_processes_share_the_limits_of_an_api(redis_server, api, processes):
    limits = {"concurrency": 3, "rate": 60.0}
    outcomes = all_of(processes, workers.call_tools, redis_server.url, api.document, 45, limits)

    assert [error for results, _ in outcomes for error in results if error] == []
    assert len(set(api.targets)) == 90
    assert api.most <= 3
    assert windows(api.began) <= 60 * 1.05 + 2
    assert api.began[-1] - api.began[0] < 90 / 60 * 1.3


async def test_without_a_state_the_limits_hold_in_the_process(api):
    settings = Settings(rate=50, user_concurrency=2)
    async with load_tools(api.document, settings=settings) as tools:
        results = await call_often(tools, 20, user="ada")

    assert all(result.success for result in results)
    assert api.most <= 2
    assert windows(api.began, 0.2) <= 50 * 0.25 + 2


async def test_a_user_at_a_limit_stops_no_other(api):
    api.delay = 0.05
    settings = Settings(user_concurrency=1, concurrency=4, timeout=5)
    async with load_tools(api.document, settings=settings) as tools:
        flood = asyncio.create_task(call_often(tools, 12, user="ada"))
        await asyncio.sleep(0.03)
        began = time.monotonic()
        other_results = await asyncio.gather(call_often(tools, 1, user="bob"), call_often(tools, 1))
        took = time.monotonic() - began
        assert not flood.done()
        await flood

    assert all(result.success for results in other_results for result in results)
    assert took < 0.4


async def test_a_limit_that_cannot_be_met_in_time_is_reported_and_nothing_is_sent(api):
    settings = Settings(rate=0.5, timeout=0.4)
    async with load_tools(api.document, settings=settings) as tools:
        results = await call_often(tools, 3)
    late = [result for result in results if result.is_error]

    assert len(late) == 2
    assert len(api.targets) == 1
    for result in late:
        assert result.error["type"] == "timeout"
        assert result.error["message"] == (
            "GET /things timed out after 0.4 s; it was not sent, because the limits in "
            "the settings left no slot for it."
        )
        assert result.error["retryable"] is True
        assert "attempts" not in result.metadata


@pytest.mark.parametrize("user", [7, ["ada"], b"ada"])
async def test_a_user_is_a_text(api, user):
    async with load_tools(api.document) as tools:
        for context in (Context(user=user), {"user": user}):
            result = await tools["read"].execute({}, context=context)
            assert result.error["type"] == "invalid_input"
            assert result.error["message"].startswith("'user' must be a string, not ")
        foreign = type("Foreign", (), {"user": user})()
        assert (await tools["read"].execute({}, context=foreign)).success


async def test_calls_that_need_a_state_that_is_gone_fail_unsent_and_others_go_on(
    redis_server, api, monkeypatch
):
    monkeypatch.setattr("openapi_tools.state.redis_state._RETRIES", 1)
    limited = Settings(state=RedisState(redis_server.url), user_rate=500)
    free = Settings(state=RedisState(redis_server.url))
    async with (
        load_tools(api.document, settings=limited) as needs,
        load_tools(api.document, settings=free) as other_tools,
    ):
        assert all(r.success for r in await call_often(needs, 5))
        api.reset(delay=0.3)
        under_way = asyncio.create_task(call_often(needs, 3, name="write"))
        while len(api.targets) < 3:  # noqa: ASYNC110 -- of another thread
            await asyncio.sleep(0.01)
        redis_server.stop()
        failed = await call_often(needs, 4, name="write")
        went = await call_often(other_tools, 4)
        ended = await under_way
        redis_server.start()
        again = await call_often(needs, 4)

    assert all(result.success for result in (*ended, *went, *again))
    for result in failed:
        assert result.error["type"] == "connection"
        assert "the shared state is unreachable" in result.error["message"]
        assert "127.0.0.1" not in result.error["message"]
        assert "nothing was sent" in result.error["message"]
    assert len(api.targets) == 3 + 4 + 4
    assert max(Counter(api.targets[:3]).values()) == 1


async def test_a_further_attempt_that_the_state_stops_reports_no_attempt_as_unsent(
    redis_server, monkeypatch
):
    monkeypatch.setattr("openapi_tools.state.redis_state._RETRIES", 0)
    state = RedisState(redis_server.url)
    sent = []

    def respond(request):
        sent.append(request)
        redis_server.stop()
        return httpx.Response(503)

    client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
    settings = Settings(state=state, rate=100, retries=2, base_url="http://api.example.com")
    paths = {"/x": {"get": operation(operationId="x")}}
    async with client, load_tools(document(paths), settings=settings, client=client) as tools:
        result = await tools["x"].execute({})

    assert len(sent) == 1
    assert result.error["message"].endswith("; nothing more was sent.")
    assert result.metadata["attempts"] == 1


def test_processes_fetch_one_token(redis_server, server, processes):
    server.delay = 0.3
    outcomes = all_of(processes, workers.with_tokens, redis_server.url, server.document, APP)

    assert outcomes == [[None] * 3, [None] * 3]
    assert len(server.forms) == 1
    assert len(set(server.calls)) == 1
    assert server.issued[0].access_token.encode() not in redis_server.dump()
    assert SECRET.encode() not in redis_server.dump()


async def logged_in(server):
    """Return the refresh token of a user's login."""
    password = OAuth2(**{**APP, "flow": "password", "username": "ada",
                         "password": "password-of-ada-0123456789"})  # fmt: skip
    async with load_tools(server.document, credentials={"oauth": password}) as tools:
        assert (await tools["get_me"].execute({})).success
    return server.issued[-1].refresh_token


def test_a_refresh_token_that_is_good_once_serves_both_processes(redis_server, server, processes):
    refresh = asyncio.run(logged_in(server))
    server.forms.clear()
    config = {**APP, "flow": "authorizationCode", "refresh_token": refresh}
    url, about = redis_server.url, server.document
    outcomes = all_of(processes, workers.with_tokens, url, about, config)

    assert outcomes == [[None] * 3, [None] * 3]
    assert [form["grant_type"] for form in server.forms] == ["refresh_token"]


async def tokens_of(redis_server, server, config, key=KEY, **context):
    """Return the result of a call with a credential of its own, in tools of their own."""
    settings = Settings(state=RedisState(redis_server.url, key=key))
    credentials = {"oauth": OAuth2(**config)}
    async with load_tools(server.document, settings=settings) as tools:
        return await tools["get_me"].execute(
            {}, context=Context(credentials=credentials, **context)
        )


async def test_no_user_and_no_other_credential_gets_a_token(redis_server, server):
    for user in ("ada", "bob", ""):
        assert (await tokens_of(redis_server, server, APP, user=user)).success
        assert (await tokens_of(redis_server, server, APP, user=user)).success
    assert len(server.forms) == 3

    wrong = await tokens_of(
        redis_server, server, APP | {"client_secret": "secret-of-another"}, user="ada"
    )
    assert wrong.is_error
    assert (await tokens_of(redis_server, server, APP, "other" * 8, user="ada")).success
    assert len(server.forms) == 5


async def test_equal_credentials_of_two_users_have_tokens_of_their_own(server):
    async with load_tools(server.document, settings=Settings(state=MemoryState())) as tools:
        for user in ("ada", "bob", "ada", "bob"):
            context = Context(credentials={"oauth": OAuth2(**APP)}, user=user)
            assert (await tools["get_me"].execute({}, context=context)).success

    ada, bob, *again = server.calls
    assert ada != bob
    assert again == [ada, bob]


async def test_a_state_without_a_key_keeps_no_token_and_says_so(redis_server, server, monkeypatch):
    monkeypatch.delenv("OPENAPI_TOOLS_STATE_KEY", raising=False)
    result = await tokens_of(redis_server, server, APP, None)

    assert result.error["type"] == "credentials"
    assert "stores no tokens without an encryption key" in result.error["message"]
    assert "set OPENAPI_TOOLS_STATE_KEY" in result.error["message"]
    assert server.forms == []


async def test_a_token_outlives_a_state_that_is_gone(redis_server, server, monkeypatch):
    monkeypatch.setattr("openapi_tools.state.redis_state._RETRIES", 1)
    settings = Settings(state=RedisState(redis_server.url, key=KEY))
    credentials = {"oauth": OAuth2(**APP)}
    async with load_tools(server.document, settings=settings, credentials=credentials) as tools:
        tool = tools["get_me"]
        assert (await tool.execute({})).success
        redis_server.stop()
        assert (await tool.execute({})).success  # the token in memory is good
        server.revoke()
        result = await tool.execute({})
        assert "shared state" in result.error["message"]
        assert "nothing was sent" in result.error["message"]
        redis_server.start()
        assert (await tool.execute({})).success
    assert len(server.forms) == 2


@pytest.mark.long
def test_a_refresher_that_is_killed_frees_the_others(redis_server, server):
    server.delay = 600
    spawned = multiprocessing.get_context("spawn")
    args = (redis_server.url, server.document, APP, 1)
    process = spawned.Process(target=workers.with_tokens, args=args)
    process.start()
    while not server.forms:
        time.sleep(0.05)
    process.kill()
    process.join()
    server.delay = 0
    began = time.monotonic()

    assert workers.with_tokens(*args) == [None]
    assert time.monotonic() - began < 15
    assert len(server.forms) == 2


async def test_a_handle_works_in_another_process(redis_server, processes):
    files, content = StateFiles(RedisState(redis_server.url)), bytes(range(256)) * 400
    kind = [("Content-Type", "application/octet-stream")]
    async with Recorder(CannedResponse(headers=kind, body=content)) as peer:
        about = {**FILES_API, "servers": [{"url": peer.url}]}
        async with load_tools(about, settings=Settings(files=files)) as tools:
            handle = (await tools["get"].execute({})).metadata["file"]["handle"]
            sending = processes.submit(workers.sent_file, redis_server.url, about, handle)
            assert await asyncio.wrap_future(sending) is None

    assert peer.last.body == content


async def test_kept_files_are_bounded_in_size_and_time(redis_server, monkeypatch):
    monkeypatch.setattr("openapi_tools.state.redis_state._RETRIES", 0)
    files = StateFiles(RedisState(redis_server.url), seconds=0.2, most_bytes=1000)
    client = httpx.AsyncClient(
        transport=httpx.MockTransport(
            lambda request: httpx.Response(
                200, content=b"\0" * int(request.headers["x-size"]),
                headers={"Content-Type": "application/pdf"},
            )
        )
    )  # fmt: skip
    size = {"name": "x-size", "in": "header", "required": True, "schema": {"type": "integer"}}
    paths = {"/f": {"get": operation(operationId="get", parameters=[size])}}
    settings = Settings(files=files, base_url="http://api.example.com")
    async with client, load_tools(document(paths), settings=settings, client=client) as tools:
        kept = await tools["get"].execute({"x_size": 1000})
        large = await tools["get"].execute({"x_size": 1001})
        redis_server.stop()
        lost = await tools["get"].execute({"x_size": 10})
        redis_server.start()

    assert kept.success, kept
    handle = kept.metadata["file"]["handle"]
    assert large.metadata["notes"] == [
        "the download could not be written (files in a shared state have at most 1000 bytes)"
    ]
    (note,) = lost.metadata["notes"]
    assert note.startswith("the download could not be written (the shared state is unreachable)")
    assert "nothing was sent" not in note
    await asyncio.sleep(0.2)
    with pytest.raises(FileNotFoundError):
        files.open(handle)
    for wrong in ({"seconds": 0}, {"most_bytes": 0}):
        with pytest.raises(SettingsError, match="above 0"):
            StateFiles(MemoryState(), **wrong)
    with pytest.raises(SettingsError, match="expected a SharedState"):
        StateFiles("redis://localhost")


async def test_a_job_goes_on_in_another_process(processes):
    about = document(
        {"/jobs": {"post": operation(operationId="start")},
         "/jobs/{id}": {"get": operation(operationId="look", parameters=[
             {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}])}},
    )  # fmt: skip
    async with Recorder(CannedResponse(body=b'{"status": "done"}')) as peer:
        peer.responses.append(CannedResponse(202, [("Location", "/jobs/7"), ("Retry-After", "0")]))
        peer.responses.append(CannedResponse(body=b'{"status": "running"}'))
        about["servers"] = [{"url": peer.url}]
        async with load_tools(about) as tools:
            begun = await tools["start"].execute({})
            job = dict(begun.metadata["job"])
            output = await asyncio.wrap_future(processes.submit(workers.resume_job, about, job))

    assert output == {"status": "done"}
    assert [request.method for request in peer.requests] == ["POST", "GET", "GET"]


async def test_cached_responses_are_shared_encrypted_and_separate_for_each_user(
    redis_server, processes
):
    headers = [("Content-Type", "application/json"), ("Cache-Control", "max-age=600")]
    async with Recorder() as peer:
        bodies = (b'{"secret-answer": 1}', b'{"secret-answer": 2}')
        peer.responses.extend(CannedResponse(headers=headers, body=body) for body in bodies)
        about = document(PATHS, servers=[{"url": peer.url}])
        outcomes = [
            await asyncio.wrap_future(
                processes.submit(workers.call_cached, redis_server.url, about, user)
            )
            for user in ("ada", "ada", "ada", "bob", "bob")
        ]

    assert [cached for cached, _ in outcomes] == [None, True, True, None, True]
    assert [output["secret-answer"] for _, output in outcomes] == [1, 1, 1, 2, 2]
    assert b"secret-answer" not in redis_server.dump()
