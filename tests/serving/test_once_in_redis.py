"""Keys of writes in Redis: another process knows them."""

import asyncio

from documents import document, operation

from openapi_tools import Context, load_tools
from openapi_tools.state.redis_channel import RedisChannel
from openapi_tools.state.redis_state import RedisState

PATHS = {"/pets": {"post": operation(operationId="add_pet")}}


def load_shared(recorder, redis_server):
    """Return the tools as another process loads them: with a state of its own."""
    state = RedisState(redis_server.url)
    return load_tools(document(PATHS), base_url=recorder.url, state=state)


async def test_another_process_gets_the_first_result(recorder, redis_server):
    context = Context(idempotency_key="step-1")
    results = []
    for _ in range(3):
        async with load_shared(recorder, redis_server) as toolset:
            results.append(await toolset.call("add_pet", {}, context=context))

    assert [result.success for result in results] == [True] * 3
    assert len(recorder.requests) == 1


async def test_processes_at_once_send_one_write(recorder, redis_server):
    context = Context(idempotency_key="step-1")
    toolsets = [load_shared(recorder, redis_server) for _ in range(4)]
    results = await asyncio.gather(
        *(toolset.call("add_pet", {}, context=context) for toolset in toolsets)
    )
    for toolset in toolsets:
        await toolset.aclose()

    assert all(result.success for result in results), results
    assert len(recorder.requests) == 1


async def test_nothing_is_sent_while_redis_is_away(recorder, redis_server):
    async with load_shared(recorder, redis_server) as toolset:
        redis_server.stop()
        result = await toolset.call("add_pet", {}, context=Context(idempotency_key="step-1"))

    assert result.error["type"] == "connection"
    assert recorder.requests == []


async def test_a_write_is_sent_whose_record_was_stored_before_the_connection_was_lost(
    recorder, redis_server, monkeypatch
):
    run_script = RedisChannel.run_script

    async def run_twice(*arguments):
        await run_script(*arguments)
        return await run_script(*arguments)

    monkeypatch.setattr(RedisChannel, "run_script", run_twice)
    async with load_shared(recorder, redis_server) as toolset:
        for key in ("step-1", "step-1", "step-2"):
            result = await toolset.call("add_pet", {}, context=Context(idempotency_key=key))
            assert result.success

    assert len(recorder.requests) == 2
