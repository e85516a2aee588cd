"""Redis, an API that counts, and two further processes for the tests of what processes share."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest
from servers.counting import CountingApi
from servers.redis_server import redis_server, running_redis
from servers.site import running

__all__ = ["redis_server", "running_redis"]


@pytest.fixture(scope="session")
def processes():
    """Two processes that run functions of `sharing_workers`."""
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawned) as pool:
        yield pool


@pytest.fixture(scope="module")
def running_api():
    api = CountingApi()
    with running(api) as api.url:
        yield api


@pytest.fixture
def api(running_api):
    running_api.reset()
    return running_api
