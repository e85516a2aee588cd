"""What is tried again, what never is, and when it stops."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from documents import document, operation
from servers.faults import Faults, make_response
from servers.recorder import CannedResponse, Recorder

from openapi_tools import Settings, load_tools

METHODS = ["get", "put", "delete", "post", "patch"]
HARMLESS = METHODS[:3]
DATE = "Wed, 21 Oct 2015 07:28:00 GMT"
each_method = pytest.mark.parametrize("method", METHODS)


def busy(wait="0", status=503):
    return CannedResponse(status, [("Retry-After", wait)], b"{}")


def api(url, parameters=(), **settings):
    paths = {"/x": {m: operation(operationId=m, parameters=list(parameters)) for m in METHODS}}
    return load_tools(document(paths), settings=Settings(base_url=url, timeout=5, **settings))


async def call_method(server, method="get", **settings):
    async with api(server.url, **settings) as toolset:
        return await toolset[method].execute({})


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@each_method
async def test_an_idempotent_method_is_tried_again_and_others_are_sent_once(
    method, status, recorder
):
    recorder.responses.append(busy(status=status))
    result = await call_method(recorder, method, retries=2)

    assert result.success is (method in HARMLESS)
    assert result.metadata["attempts"] == len(recorder.requests) == 1 + (method in HARMLESS)


@pytest.mark.parametrize(
    ("status", "retries"),
    [*((status, 2) for status in (400, 401, 403, 404, 409, 422, 500, 501)), (503, 0)],
)
async def test_no_other_status_and_nothing_by_default_is_tried_again(status, retries, recorder):
    recorder.responses.append(busy(status=status))
    result = await call_method(recorder, **({"retries": retries} if retries else {}))

    assert result.is_error
    assert result.metadata["attempts"] == len(recorder.requests) == 1


async def test_retries_end(recorder):
    recorder.response = busy()
    result = await call_method(recorder, retries=2)

    assert result.error["status"] == 503
    assert result.metadata["attempts"] == len(recorder.requests) == 3


@pytest.mark.parametrize("method", ["post", "patch"])
async def test_a_call_with_an_idempotency_key_is_tried_again_with_the_same_key(method, recorder):
    recorder.responses.append(busy())
    async with api(recorder.url, retries=2, idempotency_header="Idempotency-Key") as toolset:
        results = [await toolset[name].execute({}) for name in (method, method, "put")]

    assert results[0].success
    first, second, third, other = (r.header("Idempotency-Key") for r in recorder.requests)
    assert first == second
    assert first
    assert third
    assert third != first
    assert other is None


async def test_a_key_that_an_argument_gives_is_kept(recorder):
    key = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    async with api(recorder.url, [key], idempotency_header="idempotency-key") as toolset:
        (argument,) = toolset["post"].input_schema["properties"]
        await toolset["post"].execute({argument: "mine"})

    assert recorder.last.header_values("Idempotency-Key") == ["mine"]


@pytest.mark.parametrize("wait", ["60", "86400", "in an hour", "9" * 400])
async def test_a_wait_that_does_not_fit_the_deadline_is_not_waited_for(wait, recorder):
    if wait == "in an hour":
        wait = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    recorder.responses.append(busy(wait, 429))
    started = time.monotonic()
    result = await call_method(recorder, retries=2)

    assert result.error["type"] == "rate_limited"
    assert 50 < result.error["retry_after"] <= 86_400
    assert len(recorder.requests) == 1
    assert time.monotonic() - started < 4


@pytest.mark.parametrize(
    ("wait", "least"), [*((wait, 0) for wait in ("0", "-5", "nan", "soon", "", DATE)), ("0.3", 0.3)]
)
async def test_a_wait_that_fits_is_waited_for_and_other_forms_delay_nothing(wait, least, recorder):
    recorder.responses.append(busy(wait, 429))
    started = time.monotonic()
    result = await call_method(recorder, retries=1)

    assert result.success
    assert len(recorder.requests) == 2
    assert time.monotonic() - started >= least


@each_method
async def test_what_was_never_sent_is_tried_again(method):
    async with Recorder() as gone:
        pass
    result = await call_method(gone, method)

    assert result.error["type"] == "connection"
    assert result.metadata["attempts"] == 3


@each_method
@pytest.mark.parametrize("retries", [0, 2])
async def test_a_connection_that_breaks_is_tried_again_where_that_is_harmless(method, retries):
    async def behave(peer):
        await peer.request()
        if len(peer.server.requests) == 1:
            peer.reset()
        else:
            await peer.write(make_response())

    async with Faults(behave) as server:
        result = await call_method(server, method, retries=retries)

    again = retries > 0 and method in HARMLESS
    assert result.success is again
    assert len(server.requests) == 1 + again


@each_method
@pytest.mark.parametrize("ends", ["closed", "reset"])
async def test_a_kept_connection_that_ends_is_replaced_once_where_that_is_harmless(method, ends):
    async def behave(peer):
        await peer.request()
        await peer.write(make_response())
        if peer.server.connections == 1:
            await peer.request()  # the second one comes on the same connection, and finds it ended
            if ends == "reset":
                peer.reset()

    async with Faults(behave) as server, api(server.url) as toolset:
        first = await toolset["get"].execute({})
        second = await toolset[method].execute({})

    assert first.success
    assert second.success is (method in HARMLESS)
    assert len(server.requests) == 2 + (method in HARMLESS)


async def test_a_budget_keeps_failures_from_multiplying(recorder):
    recorder.response = busy()
    async with api(recorder.url, retries=5) as toolset:
        for _ in range(50):
            assert (await toolset["get"].execute({})).is_error

    # Ten are saved, and every call adds a tenth.
    assert 50 + 10 <= len(recorder.requests) <= 50 + 10 + 5


async def test_cancelling_a_retry_passes_through_and_leaves_nothing_behind(recorder):
    recorder.responses.append(busy("2"))
    async with api(recorder.url, retries=1, concurrency=1) as toolset:
        calling = asyncio.create_task(toolset["get"].execute({}))
        await asyncio.sleep(0.3)  # the response is there by now, and a wait of two seconds begun
        assert len(recorder.requests) == 1
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        after = await toolset["get"].execute({})

    assert after.success
    assert len(recorder.requests) == 2
