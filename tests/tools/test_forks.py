"""Forks of a process that has called tools: the child makes calls with its own connections."""

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
FORKS = """
toolset = tools(sys.argv[1])

def call():
    return asyncio.run(toolset["x"].execute({})).success

print(call(), [forked(call) for _ in range(3)], call())
"""


async def run(program, *arguments):
    """Run a program in a process of its own; return what it prints, and its errors."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", START + program, *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await asyncio.wait_for(process.communicate(), 300)
    return output.decode(), errors.decode()


async def test_children_of_a_process_that_has_called_make_their_own_calls(recorder):
    assert await run(FORKS, recorder.url) == ("True [0, 0, 0] True\n", "")
