"""Two servers of tools and Redis behind nginx, under load, with a crash and a restart."""

import shutil
from collections import Counter

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

from servers.redis_server import REDIS, RedisServer
from team_load import RATE, free_ports, load_in_trouble, measure_load, rates, without_issuer

CALLS = 1_500

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed"),
    pytest.mark.skipif(REDIS is None, reason="redis-server is not installed"),
]


@pytest.fixture
def redis():
    """A Redis of its own, which keeps what it has: else a server fetches another token."""
    server = RedisServer(keeps=True)
    server.start()
    yield server
    server.close()


async def test_a_limit_holds_and_no_call_is_sent_twice(redis):
    api, load = await measure_load(CALLS, redis, free_ports(3))

    by_kind = {}
    for number, (kind, words) in load.outcomes.items():
        by_kind.setdefault(kind, {})[number] = words
    assert len(load.outcomes) == CALLS
    assert max(api.seen.values()) == 1
    assert all(api.seen[number] == 1 for number in by_kind["ok"])
    # A call that failed by the shared state was not sent, and says so.
    assert all(api.seen[number] == 0 for number in by_kind.get("unsent", {}))
    assert by_kind.keys() <= {"ok", "unsent", "broken", "status 502"}
    # Only calls on the killed server have no response: one of two, with at most all of its calls.
    assert len(by_kind.get("broken", {})) + len(by_kind.get("status 502", {})) <= 200
    assert api.tokens == 1
    assert max(rates(api.times)) <= RATE * 1.05


async def test_no_call_is_sent_twice_while_redis_hangs_fails_and_comes_back(redis):
    """Users whose calls were not sent make them again, and each is served in the end."""
    api, load = await load_in_trouble(CALLS, redis, free_ports(3))

    assert {kind for kind, _ in load.outcomes.values()} == {"ok"}
    assert load.refusals["unsent"] > 0
    assert len(api.seen) == CALLS
    assert set(api.seen.values()) == {1}
    assert api.tokens == 1
    assert max(rates(api.times)) <= RATE * 1.05


async def test_no_good_token_is_refused_while_the_issuer_hangs_fails_and_comes_back(redis):
    # Twice as many: some have to be left when the second server has started again.
    api, load = await without_issuer(2 * CALLS, redis, free_ports(3))

    by_kind = Counter(kind for kind, _ in load.outcomes.values())
    # Of the two servers that were killed, the calls are lost that each had, or was sent before
    # nginx knew: these are some hundreds.
    assert by_kind.keys() <= {"ok", "broken", "status 502"}
    assert by_kind["ok"] > CALLS
    assert load.refusals["status 503"] > 0
    assert max(api.seen.values()) == 1
    assert all(api.seen[n] == 1 for n, (kind, _) in load.outcomes.items() if kind == "ok")
