"""A shared state that fails after the API did a write: the model hears what the API said."""

import asyncio
import json

import httpx
import pytest
from documents import document, operation
from fragile_state import FragileState

from openapi_tools import Context, load_tools

BODY = {"content": {"application/json": {"schema": {"type": "object"}}}}
ITEM = {
    "post": operation(operationId="add_pet", requestBody=BODY),
    "put": operation(operationId="put_pet", requestBody=BODY),
}
KEYED = Context(user="ada", idempotency_key="step-1")


class Api:
    """Responses 201; what `then` does to the state happens before the response."""

    def __init__(self, then=lambda: None, status=201):
        self.requests, self.then, self.status = [], then, status

    def __call__(self, request):
        self.requests.append(request.method)
        self.then()
        return httpx.Response(self.status, json={"id": 7})

    def tools(self, **settings):
        client = httpx.AsyncClient(transport=httpx.MockTransport(self))
        settings = {"base_url": "https://api.example.com", **settings}
        return load_tools(document({"/pets": ITEM}), client=client, **settings)


def break_state(state, how):
    def act():
        setattr(state, how, True)

    return act


def restore_state(state):
    state.is_gone = state.hangs = False


async def test_a_write_with_a_key_keeps_its_result_and_is_not_sent_again():
    state = FragileState()
    api = Api(break_state(state, "is_gone"))
    async with api.tools(state=state) as tools:
        first = await tools.call("add_pet", context=KEYED)
        away = await tools.call("add_pet", context=KEYED)
        restore_state(state)
        again = await tools.call("add_pet", context=KEYED)

    assert first.output == {"id": 7}
    assert away.error["type"] == "connection"
    assert "may have run" in again.error["message"]
    assert api.requests == ["POST"]


async def test_an_error_of_the_api_stays_the_error_where_its_key_cannot_be_freed():
    state = FragileState()
    api = Api(break_state(state, "is_gone"), status=422)
    async with api.tools(state=state) as tools:
        result = await tools.call("add_pet", context=KEYED)

    assert result.error["status"] == 422


@pytest.mark.parametrize("how", ["is_gone", "hangs"])
@pytest.mark.parametrize(
    "settings", [{"http_cache": True}, {"user_concurrency": 2}], ids=["cache", "limits"]
)
async def test_a_write_has_its_result_though_the_state_is_slower_than_the_call(how, settings):
    if "http_cache" in settings:
        pytest.importorskip("hishel")
    state = FragileState()
    api = Api(break_state(state, how))
    async with api.tools(state=state, timeout=0.3, **settings) as tools:
        result = await tools.call("add_pet", context=Context(user="ada"))

    assert result.output == {"id": 7}
    assert result.metadata["attempts"] == 1
    assert api.requests == ["POST"]


RECORD = {"arguments": "x", "result": {"output": 1, "metadata": {}, "header_note": ""}}
DAMAGED = {
    "nothing": b"",
    "no JSON": b"\xff\xfe",
    "a list": b"[]",
    "no arguments": b'{"result": null}',
    "a wrong result": json.dumps({**RECORD, "result": 7}).encode(),
    "wrong metadata": json.dumps(
        {**RECORD, "result": {**RECORD["result"], "metadata": 1}}
    ).encode(),
    "deep": b"[" * 100_000,
    "deep inside": json.dumps(RECORD).replace("1", "[" * 100_000).encode(),
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
async def test_a_write_whose_record_is_damaged_is_not_sent_again(damaged):
    state, api = FragileState(), Api()
    async with api.tools(state=state) as tools:
        await tools.call("add_pet", context=KEYED)
        await state.damage(damaged, "once:")
        again = await tools.call("add_pet", context=KEYED)
        await tools.call("put_pet", context=KEYED)
        await state.damage(damaged, "once:")
        repeated = await tools.call("put_pet", context=KEYED)

    assert "may have run" in again.error["message"]
    assert again.error["retryable"] is False
    assert repeated.success  # to send a PUT twice does what once does
    assert api.requests == ["POST", "PUT", "PUT"]


async def test_the_deepest_result_is_replayed():
    value = 7
    for _ in range(190):
        value = [value]
    state = FragileState()
    client = httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(201, json=value))
    )
    settings = {"base_url": "https://api.example.com", "state": state}
    async with client, load_tools(document({"/pets": ITEM}), client=client, **settings) as tools:
        first = await tools.call("add_pet", context=KEYED)
        again = await tools.call("add_pet", context=KEYED)

    assert again.metadata["replayed"]
    assert again.output == first.output


async def test_a_store_of_files_that_hangs_does_not_hold_the_loop():
    opened, moments = asyncio.Event(), []

    class Slow:
        def open(self, handle):
            asyncio.run_coroutine_threadsafe(tick(), loop).result(20)
            raise FileNotFoundError(handle)

        def put(self, content, *, filename="", media_type=""):
            raise OSError

    async def tick():
        moments.append(1)
        opened.set()

    loop = asyncio.get_running_loop()
    schema = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}
    body = {"content": {"multipart/form-data": {"schema": schema}}}
    paths = {"/pets": {"post": operation(operationId="add_pet", requestBody=body)}}
    client = httpx.AsyncClient(transport=httpx.MockTransport(Api()))
    settings = {"base_url": "https://api.example.com", "files": Slow()}
    async with client, load_tools(document(paths), client=client, **settings) as tools:
        result = await tools.call("add_pet", {"file": {"handle": "a-bcdfghjkmnpq.txt"}})

    assert result.error["type"] == "invalid_input"
    assert moments
    assert opened.is_set()
