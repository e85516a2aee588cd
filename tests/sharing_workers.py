"""What the processes do in the tests of shared state; each function runs in one of its own."""

import asyncio
import os
import time

from openapi_tools import Context, OAuth2, load_tools
from openapi_tools.state.redis_state import RedisState
from openapi_tools.state.state_files import StateFiles

KEY = "a-key-for-tests-only-of-32-characters-or-more"


def add_often(url, times):
    """Add 1 to a number in the state so often, each time under a lock."""

    async def work():
        state = RedisState(url)
        for _ in range(times):
            async with state.lock("number", 10):
                number = int(await state.get("number") or b"0")
                await asyncio.sleep(0.002)
                await state.put("number", str(number + 1).encode())

    asyncio.run(work())


def hold_place(url, seconds, acquired):
    """Acquire a lease of so many seconds, and renew it until the process is killed."""

    async def work():
        async with RedisState(url).rate_limit("place", concurrency=1, rate=None, seconds=seconds):
            acquired.set()
            await asyncio.sleep(600)

    asyncio.run(work())


def call_tools(url, document, count, settings, **options):
    """Return how so many calls at once ended, and how long they took."""

    async def work():
        began = time.monotonic()
        async with load_tools(document, settings={**settings, "state": RedisState(url)}) as tools:
            context = Context(**options)
            results = await asyncio.gather(
                *(tools["read"].execute({"n": f"{os.getpid()}-{n}"}, context=context)
                  for n in range(count))
            )  # fmt: skip
        errors = [
            result.error and (result.error["type"], result.error["message"]) for result in results
        ]
        return errors, time.monotonic() - began

    return asyncio.run(work())


def with_tokens(url, document, config, count=3, **options):
    """Return how calls of an API that wants a token ended, all begun at once."""

    async def work():
        settings = {"state": RedisState(url, key=KEY)}
        credentials = {"oauth": OAuth2(**config)}
        context = Context(credentials=credentials, **options) if options else None
        load_options = {} if options else {"credentials": credentials}
        async with load_tools(document, settings=settings, **load_options) as tools:
            (tool,) = tools
            results = await asyncio.gather(
                *(tool.execute({}, context=context) for _ in range(count))
            )
        return [result.error for result in results]

    return asyncio.run(work())


def sent_file(url, document, handle):
    """Return the result of a call that sends the file of a handle from another process."""

    async def work():
        settings = {"files": StateFiles(RedisState(url))}
        async with load_tools(document, settings=settings) as tools:
            return (await tools["put"].execute({"body": {"handle": handle}})).error

    return asyncio.run(work())


def resume_job(document, job):
    """Return the output of a job that another process began."""

    async def work():
        async with load_tools(document) as tools:
            return (await tools.resume(job, wait=5)).output

    return asyncio.run(work())


def call_cached(url, document, user):
    """Return whether the response to a call was kept, and its output."""

    async def work():
        settings = {"state": RedisState(url, key=KEY), "http_cache": True}
        async with load_tools(document, settings=settings) as tools:
            result = await tools["read"].execute({}, context=Context(user=user))
        return result.metadata.get("cached"), result.output

    return asyncio.run(work())
