"""Forks of a process whose threads call tools: the child makes calls, and hangs nowhere."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

TESTS = Path(__file__).parents[1]
START = f"""
import asyncio, faulthandler, os, sys, threading, warnings
sys.path.insert(0, {str(TESTS)!r})
warnings.simplefilter("ignore")
from documents import document, operation
from openapi_tools import Settings, load_tools

PATHS = {{"/x": {{"get": operation(operationId="x")}}}}

def tools(url):
    settings = Settings(base_url=url, timeout=20)
    return load_tools(document(PATHS), settings=settings)

def forked(work):
    child = os.fork()
    if not child:
        faulthandler.dump_traceback_later(30, exit=True)  # a child that hangs says where
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""
THREADS = """
toolset, ending = tools(sys.argv[1]), []

def call():
    return asyncio.run(toolset["x"].execute({})).success

def work():
    async def main():
        while not ending:
            assert (await toolset["x"].execute({})).success
            await asyncio.sleep(0.001)
    asyncio.run(main())

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
print([forked(call) for _ in range(10)])
ending.append(True)
for thread in threads:
    thread.join()
"""
HELD = """
import importlib.abc
from unittest.mock import patch

held, go = threading.Event(), threading.Event()
sys.addaudithook(lambda event, _: go.set() if event == "os.fork" else None)

def waiting(function):
    def first(*args, **options):
        held.set()
        go.wait()
        return function(*args, **options)
    return first

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "openapi_tools.tools.execution":
            held.set()
            go.wait()

def made_slow(what):
    if what == "imports":
        sys.meta_path.insert(0, Slow())
    elif what == "sender":
        from openapi_tools import transport as send
        send.Sender.__init__ = waiting(send.Sender.__init__)
    else:
        from openapi_tools.loading.inputs import Inputs
        Inputs.operation = waiting(Inputs.operation)

toolset = tools("http://127.0.0.1:9")
made_slow(sys.argv[1])

def call():
    return asyncio.run(toolset["x"].execute({})).error["type"] == "connection"

thread = threading.Thread(target=call)
thread.start()
held.wait()
print(forked(call))
thread.join()
"""
KEPT = """
from openapi_tools import forks

forks._PATIENCE = 0.1
lock, held, go = forks.ForkLock(), threading.Event(), threading.Event()

def keep():
    with lock:
        held.set()
        go.wait()

def take():
    with lock:
        return True

thread = threading.Thread(target=keep)
thread.start()
held.wait()
print(forked(take))
go.set()
thread.join()
with lock:
    print(forked(take))
print(forked(take))
"""


async def run(program, *arguments):
    """Run a program in a process of its own; return what it prints, and its errors."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", START + program, *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, errors = await asyncio.wait_for(process.communicate(), 300)
    return said.decode(), errors.decode()


@pytest.mark.long
async def test_children_of_a_process_whose_threads_call_make_their_own(recorder):
    assert await run(THREADS, recorder.url) == (f"{[0] * 10}\n", "")


@pytest.mark.long
@pytest.mark.parametrize("what", ["imports", "sender", "operation"])
async def test_a_fork_waits_for_what_another_thread_has_begun(what):
    assert await run(HELD, what) == ("0\n", "")


async def test_a_lock_that_is_not_released_in_time_is_free_in_the_child():
    assert await run(KEPT) == ("0\n0\n0\n", "")
