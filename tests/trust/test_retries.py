"""What is tried again, what never is, and when it stops."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from documents import document, operation
from servers.faults import Faults, answer
from servers.recorder import Answer, Recorder

from openapi_tools import Settings, load_tools

METHODS = ["get", "put", "delete", "post", "patch"]
BUSY = Answer(503, [("Retry-After", "0")], b"{}")


def api(url, **settings):
    paths = {"/x": {method: operation(operationId=method) for method in METHODS}}
    return load_tools(document(paths), settings=Settings(base_url=url, timeout=5, **settings))


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize("method", METHODS)
async def test_an_idempotent_method_is_tried_again_and_others_are_sent_once(
    method, status, recorder
):
    recorder.answers.append(Answer(status, [("Retry-After", "0")], b"{}"))
    async with api(recorder.url, retries=2) as toolset:
        result = await toolset[method].execute({})

    twice = method in ("get", "put", "delete")
    assert result.success is twice
    assert result.metadata["attempts"] == len(recorder.requests) == (2 if twice else 1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 500, 501])
async def test_no_other_status_is_tried_again(status, recorder):
    recorder.answers.append(Answer(status))
    async with api(recorder.url, retries=2) as toolset:
        result = await toolset["get"].execute({})

    assert result.is_error
    assert len(recorder.requests) == 1


async def test_nothing_is_tried_again_by_default(recorder):
    recorder.answers.append(BUSY)
    async with api(recorder.url) as toolset:
        result = await toolset["get"].execute({})

    assert result.is_error
    assert result.metadata["attempts"] == len(recorder.requests) == 1


async def test_retries_end(recorder):
    recorder.answer = BUSY
    async with api(recorder.url, retries=2) as toolset:
        result = await toolset["get"].execute({})

    assert result.error["status"] == 503
    assert result.metadata["attempts"] == len(recorder.requests) == 3


@pytest.mark.parametrize("method", ["post", "patch"])
async def test_a_call_with_an_idempotency_key_is_tried_again_with_the_same_key(method, recorder):
    recorder.answers.append(BUSY)
    async with api(recorder.url, retries=2, idempotency_header="Idempotency-Key") as toolset:
        result = await toolset[method].execute({})
        await toolset[method].execute({})
        await toolset["put"].execute({})

    assert result.success
    first, second, third, other = (r.header("Idempotency-Key") for r in recorder.requests)
    assert first == second
    assert first
    assert third
    assert third != first
    assert other is None


async def test_a_key_that_an_argument_gives_is_kept(recorder):
    key = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    root = document({"/x": {"post": operation(operationId="post", parameters=[key])}})
    settings = Settings(base_url=recorder.url, idempotency_header="idempotency-key")
    async with load_tools(root, settings=settings) as toolset:
        (argument,) = toolset["post"].input_schema["properties"]
        await toolset["post"].execute({argument: "mine"})

    assert recorder.last.header_values("Idempotency-Key") == ["mine"]


@pytest.mark.parametrize("wait", ["60", "86400", "in an hour", "9" * 400])
async def test_a_wait_that_does_not_fit_the_deadline_is_not_waited_for(wait, recorder):
    if wait == "in an hour":
        wait = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    recorder.answers.append(Answer(429, [("Retry-After", wait)], b"{}"))
    started = time.monotonic()
    async with api(recorder.url, retries=2) as toolset:
        result = await toolset["get"].execute({})

    assert result.error["type"] == "rate_limited"
    assert 50 < result.error["retry_after"] <= 86_400
    assert len(recorder.requests) == 1
    assert time.monotonic() - started < 4


@pytest.mark.parametrize("wait", ["0", "-5", "nan", "soon", "", "Wed, 21 Oct 2015 07:28:00 GMT"])
async def test_other_forms_of_retry_after_delay_nothing(wait, recorder):
    recorder.answers.append(Answer(429, [("Retry-After", wait)], b"{}"))
    async with api(recorder.url, retries=1) as toolset:
        result = await toolset["get"].execute({})

    assert result.success
    assert len(recorder.requests) == 2


async def test_a_wait_that_fits_is_waited_for(recorder):
    recorder.answers.append(Answer(503, [("Retry-After", "0.3")], b"{}"))
    started = time.monotonic()
    async with api(recorder.url, retries=1) as toolset:
        result = await toolset["get"].execute({})

    assert result.success
    assert time.monotonic() - started >= 0.3


@pytest.mark.parametrize("method", METHODS)
async def test_what_was_never_sent_is_tried_again(method):
    async with Recorder() as gone:
        port = gone.port
    toolset = api(f"http://127.0.0.1:{port}")

    result = await toolset[method].execute({})
    await toolset.aclose()

    assert result.error["type"] == "connection"
    assert result.metadata["attempts"] == 3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("retries", [0, 2])
async def test_a_connection_that_breaks_is_tried_again_where_that_is_harmless(method, retries):
    async def behave(peer):
        await peer.request()
        if len(peer.server.requests) == 1:
            peer.reset()
        else:
            await peer.write(answer())

    async with Faults(behave) as server, api(server.url, retries=retries) as toolset:
        result = await toolset[method].execute({})

    again = retries > 0 and method in ("get", "put", "delete")
    assert result.success is again
    assert len(server.requests) == (2 if again else 1)


@pytest.mark.parametrize("method", METHODS)
async def test_a_kept_connection_that_was_closed_is_replaced_once_where_that_is_harmless(method):
    async def behave(peer):
        if peer.server.connections > 1:
            await peer.request()
            await peer.write(answer())
            return
        await peer.request()
        await peer.write(answer())
        await peer.request()  # the second one comes on the same connection, and finds it closed

    async with Faults(behave) as server, api(server.url) as toolset:
        first = await toolset["get"].execute({})
        second = await toolset[method].execute({})

    again = method in ("get", "put", "delete")
    assert first.success
    assert second.success is again
    assert len(server.requests) == (3 if again else 2)


async def test_a_budget_keeps_failures_from_multiplying(recorder):
    recorder.answer = BUSY
    async with api(recorder.url, retries=5) as toolset:
        for _ in range(50):
            assert (await toolset["get"].execute({})).is_error

    # Ten are saved, and every call adds a tenth.
    assert 50 + 10 <= len(recorder.requests) <= 50 + 10 + 5


async def test_cancelling_a_retry_passes_through_and_leaves_nothing_behind(recorder):
    recorder.answers.append(Answer(503, [("Retry-After", "2")], b"{}"))
    async with api(recorder.url, retries=1, concurrency=1) as toolset:
        calling = asyncio.create_task(toolset["get"].execute({}))
        await asyncio.sleep(0.3)  # the answer is there by now, and a wait of two seconds begun
        assert len(recorder.requests) == 1
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        after = await toolset["get"].execute({})

    assert after.success
    assert len(recorder.requests) == 2


async def test_a_client_of_the_users_is_retried_as_well(library):
    answers = [library.Response(503), library.Response(200, json={})]
    transport = library.MockTransport(lambda _: answers.pop(0))
    async with library.AsyncClient(transport=transport) as client:
        toolset = load_tools(
            document({"/x": {"get": operation(operationId="get")}}),
            settings=Settings(base_url="http://api.test", retries=1),
            client=client,
        )
        result = await toolset["get"].execute({})

    assert result.success
    assert result.metadata["attempts"] == 2
