"""A shared state: bytes, locks and limits, in one process and in Redis."""

import asyncio
import multiprocessing
import os
import pickle
import threading
import time

import pytest
import sharing_workers as workers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sharing_workers import KEY

from openapi_tools import CallError, NotPicklableError, Settings, SettingsError
from openapi_tools.state.leased_state import Lease, Limit
from openapi_tools.state.shared_state import MemoryState, SharedState, lock_value, value_lock

redis_state = pytest.importorskip("openapi_tools.state.redis_state")
RedisState = redis_state.RedisState
SECRET_URL = "redis://ada:hunter2@127.0.0.1:{}/0?socket_keepalive=no"


@pytest.fixture(params=["memory", "redis"])
def state(request):
    if request.param == "memory":
        return MemoryState()
    return RedisState(request.getfixturevalue("redis_server").url)


async def hold_place(state, key, most=1, rate=None, seconds=5.0, wait=0.5):
    """Return whether a slot is free in time."""
    try:
        async with (
            asyncio.timeout(wait),
            state.rate_limit(key, concurrency=most, rate=rate, seconds=seconds),
        ):
            return True
    except TimeoutError:
        return False


async def test_values_are_kept_replaced_removed_and_end(state):
    assert isinstance(state, SharedState)
    await state.ping()
    await state.put("a", b"\x00one")
    await state.put("a", b"two")
    await state.put("short", b"x", 0.05)

    assert await state.get("a") == b"two"
    assert await state.get("short") == b"x"
    assert await state.get("b") is None
    await asyncio.sleep(0.08)
    assert await state.get("short") is None
    await state.remove("a")
    await state.remove("never")
    assert await state.get("a") is None


async def test_places_are_given_back_whatever_happens_inside(state):
    for error in (ValueError, asyncio.CancelledError):
        with pytest.raises(error):
            async with state.rate_limit("k", concurrency=1, rate=None, seconds=5):
                raise error

    async with state.rate_limit("k", concurrency=2, rate=None, seconds=5):
        assert await hold_place(state, "k", most=2)
        assert not await hold_place(state, "k", wait=0.05)
        assert await hold_place(state, "another")
    assert await hold_place(state, "k")


async def test_a_caller_that_gives_up_takes_no_place(state):
    async with state.lock("k", 5):
        waiting = [asyncio.create_task(hold_place(state, "lock:k", wait=30)) for _ in range(3)]
        await asyncio.sleep(0.05)
        for task in waiting[:2]:
            task.cancel()
        await asyncio.sleep(0)
    assert await waiting[2]
    assert await hold_place(state, "lock:k")


async def test_a_holder_that_lives_keeps_its_place_beyond_the_lease(state):
    async with state.rate_limit("k", concurrency=1, rate=None, seconds=0.15):
        assert not await hold_place(state, "k", wait=0.6)


async def test_the_callers_of_one_loop_are_served_in_their_order(state):
    order = []

    async def call(number):
        async with state.rate_limit("k", concurrency=1, rate=None, seconds=5):
            order.append(number)

    await asyncio.gather(*map(call, range(20)))
    assert order == list(range(20))


def most_at_once(state, most, naps):
    """Return how many holders there were at once, in two event loops of two threads."""
    now, seen = set(), []

    async def call(nap):
        async with state.rate_limit("k", concurrency=most, rate=None, seconds=5):
            now.add(call_id := object())
            seen.append(len(now))
            await asyncio.sleep(nap / 1000)
            now.discard(call_id)

    async def loop(part):
        await asyncio.gather(*map(call, part))

    async def both():
        other = asyncio.to_thread(asyncio.run, loop(naps[1::2]))
        await asyncio.gather(loop(naps[::2]), other)

    asyncio.run(both())
    return max(seen, default=0)


QUICK = settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(most=st.integers(1, 5), naps=st.lists(st.integers(0, 8), min_size=8, max_size=20))
def test_there_are_never_more_holders_than_places(state, most, naps):
    assert most_at_once(state, most, naps) <= most


@QUICK
@given(rate=st.sampled_from([30.0, 80.0, 200.0]), callers=st.integers(1, 3))
def test_in_no_time_there_are_more_turns_than_the_rate_allows(state, rate, callers):
    began, key = [], os.urandom(4).hex()

    async def call(count):
        for _ in range(count):
            async with state.rate_limit(key, concurrency=None, rate=rate, seconds=5):
                began.append(time.monotonic())

    async def all_of_them():
        await asyncio.gather(*(call(12 // callers) for _ in range(callers)))

    asyncio.run(all_of_them())
    slack = 0.02  # of this machine's clocks and threads
    for first, start in enumerate(began):
        for last in range(first, len(began)):
            allowed = 1 + rate * (began[last] - start + 0.04 + slack)
            assert last - first + 1 <= allowed
    assert began[-1] - began[0] < (len(began) / rate) * 1.3 + 0.2


def test_locks_hold_among_processes(redis_server, processes):
    done = [processes.submit(workers.add_often, redis_server.url, 25) for _ in range(2)]
    for each in done:
        each.result(30)

    assert asyncio.run(RedisState(redis_server.url).get("number")) == b"50"


@pytest.mark.long
def test_the_place_of_a_killed_process_is_free_after_its_lease(redis_server):
    spawned = multiprocessing.get_context("spawn")
    acquired = spawned.Event()
    process = spawned.Process(target=workers.hold_place, args=(redis_server.url, 1.0, acquired))
    process.start()
    assert acquired.wait(20)
    state = RedisState(redis_server.url)
    assert not asyncio.run(hold_place(state, "place", wait=1.5))  # it lives, and renews
    process.kill()
    process.join()
    began = time.monotonic()

    assert asyncio.run(hold_place(state, "place", wait=5))
    assert time.monotonic() - began < 2


async def test_a_state_that_is_gone_is_a_clear_error_and_comes_back(
    redis_server, monkeypatch, caplog
):
    """The error tells nothing of where the state is: models and strangers read it; the log does."""
    monkeypatch.setattr(redis_state, "_RETRIES", 1)
    state = RedisState(SECRET_URL.format(redis_server.port).replace("ada:hunter2@", ""))
    await state.put("a", b"1")
    redis_server.stop()
    uses = [
        lambda: state.get("a"), lambda: state.put("a", b""), lambda: state.remove("a"), state.ping,
        lambda: hold_place(state, "k", most=2, rate=5.0, wait=9),
        lambda: hold_place(state, "k", wait=9),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(CallError) as caught:
            await use()
        assert caught.value.kind == "connection"
        assert str(caught.value) == "the shared state is unreachable; nothing was sent."
        assert caught.value.facts["retryable"]
    redis_server.start()

    await state.put("a", b"2")
    assert await state.get("a") == b"2"
    assert await hold_place(state, "k", rate=100.0)
    place = f"the shared state at redis://127.0.0.1:{redis_server.port} is"
    (away, back) = [record.getMessage() for record in caplog.records]
    assert away.startswith(f"{place} unreachable: Error ")
    assert back == f"{place} reachable again"


async def test_a_redis_that_hangs_is_given_up(redis_server, monkeypatch):
    monkeypatch.setattr(redis_state, "_PATIENCE", 0.3)
    state = RedisState(redis_server.url)
    await state.ping()
    redis_server.pause()
    try:
        with pytest.raises(CallError, match="unreachable"):
            await state.get("a")
    finally:
        redis_server.resume()
    monkeypatch.undo()
    await asyncio.sleep(0.15)  # for that long it does not try again
    assert await state.get("a") is None


@pytest.mark.long
async def test_several_limits_are_taken_together_or_not_at_all(redis_server):
    state = RedisState(redis_server.url)
    api, ada, bob = Limit("api", 1, None), Limit("ada", 1, None), Limit("bob", 2, 50)
    async with state.hold_at_once([ada, api], 5) as is_granted:
        assert is_granted
        for _ in range(9):  # else the ninth would wait for its rate
            async with state.hold_at_once([bob, api], 5) as is_granted_twice:
                assert not is_granted_twice
        began = time.monotonic()
        assert await hold_place(state, "bob", most=2, rate=50)
        assert time.monotonic() - began < 0.1
        assert not await hold_place(state, "ada", wait=0.05)
    assert await hold_place(state, "ada")
    assert await hold_place(state, "api")


async def test_who_waits_for_a_permit_of_its_own_takes_no_place_of_others(redis_server):
    state = RedisState(redis_server.url)
    limits = [Limit("ada", None, 8), Limit("api", 1, None)]
    async with state.hold_at_once(limits, 5) as is_granted:
        assert is_granted
    async with state.hold_at_once(limits, 5) as is_granted:
        assert not is_granted  # in an eighth of a second only
        assert await hold_place(state, "api", wait=0.05)


async def test_callers_that_leave_disturb_no_others(redis_server):
    state = RedisState(redis_server.url)

    async def call(number):
        async with state.rate_limit(f"k{number % 7}", concurrency=9, rate=None, seconds=5):
            await asyncio.sleep(0.001 * (number % 3))

    for moment in (0, 0.0005, 0.002):
        tasks = [asyncio.create_task(call(number)) for number in range(90)]
        await asyncio.sleep(moment)
        for task in tasks[::3]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(result is None for result in results[1::3] + results[2::3])
    assert await hold_place(state, "k0")


async def test_calls_go_on_whose_connection_is_cut(redis_server):
    state = RedisState(redis_server.url)
    tasks = [asyncio.create_task(hold_place(state, f"k{number}", wait=5)) for number in range(40)]
    for _ in range(3):
        await asyncio.sleep(0.002)
        await asyncio.to_thread(redis_server.ask, "CLIENT KILL TYPE normal")
    assert all(await asyncio.gather(*tasks))
    redis_server.ask("SCRIPT FLUSH")
    assert await hold_place(state, "k0")


async def test_a_holder_whose_state_restarts_has_its_place_again(redis_server):
    state = RedisState(redis_server.url)
    async with state.rate_limit("k", concurrency=1, rate=None, seconds=0.6):
        redis_server.stop()
        redis_server.start()
        await asyncio.sleep(0.8)
        assert not await hold_place(state, "k", wait=0.2)
    redis_server.stop()  # to give a place back to a state that is gone is no error
    redis_server.start()


async def test_no_password_is_shown(redis_server, monkeypatch, caplog):
    monkeypatch.setattr(redis_state, "_RETRIES", 0)
    state = RedisState(SECRET_URL.format(redis_server.port))
    with pytest.raises(CallError) as caught:
        await state.ping()

    assert "hunter2" not in f"{state!r} {caught.value!s} {caplog.text}"
    assert f"redis://127.0.0.1:{redis_server.port} is unreachable" in caplog.text
    assert repr(state) == f"RedisState('redis://127.0.0.1:{redis_server.port}')"


def test_the_place_of_a_state_is_named():
    for url, place in {
        "unix:///run/redis.sock?db=2": "redis:///run/redis.sock",
        "rediss://ada:hunter2@h/1": "redis://h:6379",
        "redis://hunter2@": "redis://localhost:6379",
    }.items():
        assert repr(RedisState(url)) == f"RedisState('{place}')"


@pytest.mark.parametrize("url", ["http://h", "redis", "", "redis://:hunter2@h:port/x"])
def test_an_address_of_no_redis_is_an_error(url):
    with pytest.raises(SettingsError) as caught:
        RedisState(url)

    assert str(caught.value) == "redis: the URL is not of the form redis://host:6379/0."


def test_a_state_works_in_a_forked_child(state):
    ended, begun = threading.Event(), threading.Event()

    async def hold():
        await state.put("a", b"before")
        async with state.rate_limit("k", concurrency=1, rate=None, seconds=5):
            begun.set()
            while not ended.is_set():  # noqa: ASYNC110 -- of another thread
                await asyncio.sleep(0.01)

    async def child():
        # The parent's place counts in Redis; in memory its holder is not in this process.
        free = await hold_place(state, "k", wait=0.2)
        return await state.get("a") == b"before" and free is isinstance(state, MemoryState)

    holder = threading.Thread(target=asyncio.run, args=(hold(),))
    holder.start()
    assert begun.wait(5)
    if (pid := os.fork()) == 0:
        code = 1
        try:
            code = 0 if asyncio.run(asyncio.wait_for(child(), 5)) else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    ended.set()
    holder.join()

    assert os.waitstatus_to_exitcode(status) == 0
    assert asyncio.run(hold_place(state, "k"))


async def test_values_are_encrypted_where_there_is_a_key(redis_server, monkeypatch):
    monkeypatch.setenv(redis_state.VARIABLE, KEY)
    state = RedisState(redis_server.url, prefix="mine:")
    await state.put("secret:token:ada", b"plain-token")
    await state.put("http:https://api.example.com/ada", b"plain-answer")
    inside = redis_server.dump()

    assert await state.get("secret:token:ada") == b"plain-token"
    assert b"plain" not in inside
    assert b"ada" not in inside
    assert b"example" not in inside
    assert inside.count(b"mine:") == 2
    other = RedisState(redis_server.url, prefix="mine:", key="another" * 5)
    assert await other.get("secret:token:ada") is None
    assert await other.get("http:https://api.example.com/ada") is None


async def test_a_new_key_before_the_old_one_reads_both(redis_server):
    old, new = "old" * 12, "new" * 12
    await RedisState(redis_server.url, key=old).put("secret:a", b"1")
    both = RedisState(redis_server.url, key=f"{new} {old}")

    assert await both.get("secret:a") == b"1"
    await both.put("secret:a", b"2")
    assert await both.get("secret:a") == b"2"
    assert await RedisState(redis_server.url, key=old).get("secret:a") == b"1"
    await both.remove("secret:a")
    assert await RedisState(redis_server.url, key=old).get("secret:a") is None


async def test_a_value_in_the_place_of_another_is_not_read(redis_server):
    state = RedisState(redis_server.url, key="k" * 32)
    await state.put("secret:ada", b"of ada")
    client = (await state._connections_of_loop()).client
    (name,) = await client.keys("*")
    await state.put("secret:bob", b"of bob")
    for other in await client.keys("*"):
        await client.set(other, await client.get(name))

    assert await state.get("secret:bob") is None
    await client.set(name, b"\x01short")
    assert await state.get("secret:ada") is None


async def test_a_list_in_the_place_of_a_value_is_no_value(redis_server):
    state = RedisState(redis_server.url)
    await state.put("http:a", b"1")
    (name,) = await (await state._connections_of_loop()).client.keys("*")
    redis_server.ask("DEL", name.decode())
    redis_server.ask("LPUSH", name.decode(), "1")

    assert await state.get("http:a") is None
    await state.put("http:a", b"2")
    assert await state.get("http:a") == b"2"


async def test_secrets_need_a_key(redis_server):
    state = RedisState(redis_server.url)
    for use in (state.put("secret:a", b"x"), state.get("secret:a")):
        with pytest.raises(SettingsError, match="OPENAPI_TOOLS_STATE_KEY"):
            await use
    with pytest.raises(
        SettingsError, match="shorter than 32 characters; generate one with: openssl"
    ):
        RedisState(redis_server.url, key="hunter2")


async def test_memory_is_bounded_and_the_oldest_goes_first():
    state = MemoryState(most_bytes=100)
    for number in range(5):
        await state.put(str(number), b"x" * 30)
    assert [await state.get(str(n)) is not None for n in range(5)] == [
        False,
        False,
        True,
        True,
        True,
    ]
    await state.put("large", b"x" * 101)
    assert await state.get("large") is None


async def test_one_owner_of_values_pushes_out_their_own():
    state = MemoryState(most_bytes=100)
    await state.put("once:bob:1", b"x" * 30)
    for number in range(10):
        await state.put(f"once:alice:{number}", b"x" * 30)
        await state.put(f"http:bob:{number}", b"x" * 10)

    assert await state.get("once:bob:1") == b"x" * 30
    assert await state.get("once:alice:0") is None
    assert await state.get("once:alice:9") == b"x" * 30
    assert await state.get("http:bob:9") == b"x" * 10


async def test_connections_are_closed_when_told_and_made_again(redis_server):
    state = RedisState(redis_server.url)
    await state.aclose()
    await state.put("a", b"1")
    await state.aclose()
    assert await state.get("a") == b"1"
    await state.aclose()


def test_states_are_not_pickled_and_settings_take_states_only():
    for state in (MemoryState(), RedisState("redis://localhost")):
        with pytest.raises(NotPicklableError):
            pickle.dumps(state)
        assert Settings(state=state).state is state
    for wrong in ("redis://localhost", MemoryState, object()):
        with pytest.raises(SettingsError, match=r"state: give a SharedState, for instance Redis"):
            Settings(state=wrong)


def test_a_state_with_former_method_names_is_refused_with_the_new_ones():
    class FormerState:
        async def get(self, key): ...

        put = alone = turn = ping = get

    with pytest.raises(SettingsError, match=r"`alone` to `lock`, `turn\(most=…\)` to `rate_limit"):
        Settings(state=FormerState())


async def test_a_clock_that_is_set_back_blocks_no_limit_and_no_lock(redis_server):
    state = RedisState(redis_server.url)
    later = f"{(time.time() + 3600) * 1e6:.0f}"
    for key in ("limit:a", "lock:l", f"lock:{value_lock('once:k')}"):
        slots, due = state._lease_keys(key)
        redis_server.ask("ZADD", slots, later, "ghost")
        redis_server.ask("SET", due, later)

    async with asyncio.timeout(5):
        async with state.rate_limit("limit:a", concurrency=1, rate=10, seconds=10):
            assert not (await state.acquire(Lease("limit:a", "other", 1, 10, 10))).is_granted
        async with state.lock("l", 10), lock_value(state, "once:k", b"v", lifetime=9, seconds=9):
            pass


async def test_values_of_other_programs_under_the_keys_of_limits_count_as_missing(redis_server):
    state = RedisState(redis_server.url)
    for key in ("limit:a", "lock:l", f"lock:{value_lock('once:k')}"):
        slots, due = state._lease_keys(key)
        redis_server.ask("SET", slots, "x")
        redis_server.ask("LPUSH", due, "x")
    redis_server.ask("SET", state._lease_keys("limit:b")[1], "nan")

    async with asyncio.timeout(5), state.lock("l", 10):
        for key in ("limit:a", "limit:b"):
            async with state.rate_limit(key, concurrency=1, rate=10, seconds=10):
                pass
        async with lock_value(state, "once:k", b"v", lifetime=9, seconds=9) as stored:
            assert stored is None


async def test_any_string_is_a_key(state):
    await state.put("http:\ud800\n{x}", b"1")
    async with state.rate_limit("limit:\ud800", concurrency=1, rate=None, seconds=5):
        assert await state.get("http:\ud800\n{x}") == b"1"
