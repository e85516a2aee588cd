"""`Context(idempotency_key=…)`: a step of a workflow that runs again sends a write once."""

import asyncio
import uuid

import pytest
from documents import document, operation
from servers.recorder import CannedResponse

from openapi_tools import Context, MemoryState, load_tools

BODY = {
    "content": {
        "application/json": {
            "schema": {"type": "object", "properties": {"name": {"type": "string"}}}
        }
    }
}
ITEM = {
    "get": operation(operationId="list_pets"),
    "post": operation(operationId="add_pet", requestBody=BODY),
    "patch": operation(operationId="mend_pet", requestBody=BODY),
    "put": operation(operationId="put_pet", requestBody=BODY),
}


@pytest.fixture
def state():
    """A state of this process."""
    return MemoryState()


def load_pets(url, **settings):
    return load_tools(document({"/pets": ITEM}), base_url=url, timeout=2, **settings)


def context_with_key(key="step-1", **fields):
    return Context(idempotency_key=key, **fields)


async def test_the_header_has_the_same_key_for_the_same_step(recorder):
    async with load_pets(recorder.url, idempotency_header="Idempotency-Key") as toolset:
        for key in ("step-1", "step-1", "step-2"):
            assert (
                await toolset.call("add_pet", {"name": "Rex"}, context=context_with_key(key))
            ).success
        await toolset.call("mend_pet", {"name": "Rex"}, context=context_with_key())
        await toolset.call("add_pet", {"name": "Rex"})

    keys = [request.header("idempotency-key") for request in recorder.requests]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4
    assert all(str(uuid.UUID(key)) == key for key in keys)
    assert "step" not in "".join(keys)


async def test_without_a_header_the_state_gives_the_first_result(recorder, state):
    recorder.response = CannedResponse(201, body=b'{"id": 7}')
    async with load_pets(recorder.url, state=state) as toolset:
        first = await toolset.call("add_pet", {"name": "Rex"}, context=context_with_key())
        again = await toolset.call("add_pet", {"name": "Rex"}, context=context_with_key())
        other = await toolset.call("add_pet", {"name": "Max"}, context=context_with_key())
        user = await toolset.call("mend_pet", {"name": "Rex"}, context=context_with_key())

    assert (first.output, again.output) == ({"id": 7}, {"id": 7})
    assert again.metadata["status"] == 201
    assert again.metadata["replayed"] is True
    assert other.error["type"] == "invalid_input"
    assert "other arguments" in str(other)
    assert user.success
    assert [request.method for request in recorder.requests] == ["POST", "PATCH"]


async def test_calls_at_once_with_one_key_send_one_write(recorder, state):
    async with load_pets(recorder.url, state=state) as toolset:
        results = await asyncio.gather(
            *(
                toolset.call("add_pet", {"name": "Rex"}, context=context_with_key())
                for _ in range(5)
            )
        )

    assert all(result.success for result in results)
    assert len(recorder.requests) == 1


async def test_users_do_not_share_keys(recorder, state):
    async with load_pets(recorder.url, state=state) as toolset:
        for user in ("ada", "bob"):
            context = {"idempotency_key": "step-1", "user": user}
            await toolset.call("add_pet", {"name": user}, context=context)

    assert len(recorder.requests) == 2


async def test_a_refused_write_may_be_sent_again(recorder, state):
    recorder.responses.extend([CannedResponse(422), CannedResponse(503), CannedResponse(201)])
    async with load_pets(recorder.url, state=state) as toolset:
        results = [await toolset.call("add_pet", {}, context=context_with_key()) for _ in range(4)]

    assert [result.success for result in results] == [False, False, True, True]
    assert len(recorder.requests) == 3


async def test_a_write_that_may_have_run_is_not_sent_again(recorder, state):
    recorder.responses.extend(
        [CannedResponse(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")]
    )
    async with load_pets(recorder.url, state=state) as toolset:
        broken = await toolset.call("add_pet", {}, context=context_with_key())
        again = await toolset.call("add_pet", {}, context=context_with_key())

    assert not broken.success
    assert "may have run" in str(again)
    assert again.error["retryable"] is False
    assert len(recorder.requests) == 1


async def test_a_write_that_was_never_sent_may_be_sent(recorder, state, unused_tcp_port):
    async with load_pets(f"http://127.0.0.1:{unused_tcp_port}", state=state) as toolset:
        failed = await toolset.call("add_pet", {}, context=context_with_key())
    assert "no connection" in str(failed)
    async with load_pets(f"http://127.0.0.1:{unused_tcp_port}", state=state) as toolset:
        assert "no connection" in str(await toolset.call("add_pet", {}, context=context_with_key()))


async def test_a_put_may_be_sent_again_after_an_unknown_end(recorder, state):
    recorder.responses.extend([CannedResponse(500)])
    async with load_pets(recorder.url, state=state) as toolset:
        first = await toolset.call("put_pet", {}, context=context_with_key())
        again = await toolset.call("put_pet", {}, context=context_with_key())
        third = await toolset.call("put_pet", {}, context=context_with_key())

    assert (first.success, again.success, third.success) == (False, True, True)
    assert len(recorder.requests) == 2


async def test_reads_and_repeatable_writes_need_neither(recorder):
    async with load_pets(recorder.url) as toolset:
        assert (await toolset.call("list_pets", {}, context=context_with_key())).success
        assert (await toolset.call("put_pet", {}, context=context_with_key())).success
        refused = await toolset.call("add_pet", {}, context=context_with_key())

    assert refused.error["type"] == "invalid_input"
    assert "Settings(idempotency_header=…)" in str(refused)
    assert [request.method for request in recorder.requests] == ["GET", "PUT"]


@pytest.mark.parametrize("key", ["", 7, "x" * 1001])
async def test_an_unusable_key_is_reported(key, recorder):
    async with load_pets(recorder.url, idempotency_header="Idempotency-Key") as toolset:
        refused = await toolset.call("add_pet", {}, context={"idempotency_key": key})

    assert "'idempotency_key' must be a string" in str(refused)
    assert recorder.requests == []


async def test_each_call_of_a_program_is_a_write_of_its_own(recorder):
    pytest.importorskip("pydantic_monty")
    program = {"code": 'await add_pet(name="a")\nawait add_pet(name="b")'}
    async with load_pets(recorder.url, idempotency_header="Idempotency-Key") as toolset:
        for _ in range(2):
            result = await toolset.code_tools().call(
                "run_code", program, context=context_with_key()
            )
            assert result.success, result

    keys = [request.header("idempotency-key") for request in recorder.requests]
    assert keys[:2] == keys[2:]
    assert len(set(keys)) == 2


async def test_a_known_result_needs_no_approval(recorder, state):
    asked = []
    settings = {"state": state, "approve": lambda preview: asked.append(preview) or True}
    async with load_pets(recorder.url, **settings) as toolset:
        for _ in range(2):
            assert (await toolset.call("add_pet", {}, context=context_with_key())).success

    assert len(asked) == 1
