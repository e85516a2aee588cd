"""What the whole set of faults takes of memory: run by `test_faults_memory.py` in a process."""

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from servers.fault_routes import ROUTES, fault_document

from openapi_tools import Settings, load_tools

LARGE = 1_000_000
"""Bytes from which on an answer is asked for by itself: a bound is that of one call."""


def peak():
    """Return the most memory that this process has had, in KiB."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


async def main(base_url):
    """Print the growth, and the five routes that made the most of it."""
    grown = {}
    timed = {route for route in ROUTES if route.hangs or "timeout" in route.ends}
    async with tools(base_url, timeout=1.0, concurrency=100) as toolset:
        await call(toolset, [route for route in ROUTES if route.slug == "ok"])
        begun = peak()
        await asyncio.gather(*(call(toolset, [route]) for route in timed))
        grown["all that hang"] = peak() - begun
    async with tools(base_url, timeout=20.0) as toolset:
        for route in ROUTES:
            if route not in timed:
                before = peak()
                await call(toolset, [route])
                grown[route.slug] = peak() - before
    most = sorted(grown.items(), key=lambda item: -item[1])[:5]
    print(json.dumps({"growth": peak() - begun, "most": most}))


def tools(base_url, *, timeout, concurrency=20):
    """Return a tool for each route."""
    given = Settings(base_url=base_url, timeout=timeout, concurrency=concurrency)
    return load_tools(fault_document(), settings=given)


async def call(toolset, routes):
    """Call routes one after another."""
    known = {(tool.method, tool.path): tool for tool in toolset}
    for route in routes:
        tool = known[route.methods[0], route.path]
        await tool.execute({"text": "x" * LARGE} if tool.method == "POST" else {})


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
