"""Two servers of tools and Redis behind nginx, under load, with a crash and a restart."""

import shutil

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

from servers.redis_server import REDIS, RedisServer
from team_load import RATE, free_ports, measured, rates

CALLS = 1_500


@pytest.mark.long
@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
@pytest.mark.skipif(REDIS is None, reason="redis-server is not installed")
async def test_a_limit_holds_and_no_call_is_sent_twice():
    redis = RedisServer(keeps=True)  # else a server that starts again asks for another token
    redis.start()
    try:
        api, load = await measured(CALLS, redis, free_ports(3))
    finally:
        redis.close()

    by_kind = {}
    for number, (kind, words) in load.outcomes.items():
        by_kind.setdefault(kind, {})[number] = words
    assert len(load.outcomes) == CALLS
    assert max(api.seen.values()) == 1
    assert all(api.seen[number] == 1 for number in by_kind["ok"])
    # A call that failed by the shared state was not sent, and says so.
    failed = by_kind.get("failed", {})
    assert [words for words in failed.values() if "not sent" not in words] == []
    assert all(api.seen[number] == 0 for number in failed)
    assert "refused" not in by_kind
    # Only calls on the killed server have no answer: one of two, with at most all of its calls.
    assert len(by_kind.get("broken", {})) <= 200
    assert api.tokens == 1
    assert max(rates(api.times)) <= RATE * 1.05
