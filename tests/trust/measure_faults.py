"""What faults take and leave behind, measured in a process of its own; prints JSON.

`python measure_faults.py` asks for each fault once and tells the growth of memory.
`python measure_faults.py 10000` calls the routes that fail at once in turn, and tells what is left:
after a first round, which opens connections and fills caches, neither files nor memory should grow.
"""

import asyncio
import gc
import itertools
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from servers.fault_routes import ROUTES, FaultProcess, case_of, fault_document
from servers.faults import open_files

from openapi_tools import Settings, load_tools

AT_ONCE = 20
SLOW = {
    *("endless-headers", "giant-header", "endless-chunk-extension", "endless-trailers"),
    *("json-deep", "json-deep-objects", "problem-deep", "500-html", "500-of-10-mb"),
    "thousand-headers",
}


def memory(kind):
    """Return the memory of this process in KiB: `VmRSS` now, `VmHWM` at most so far."""
    return int(Path("/proc/self/status").read_text().partition(f"{kind}:")[2].split()[0])


def tools(base_url, **settings):
    """Return tools for all routes, and one of each route by its name."""
    toolset = load_tools(fault_document(), settings=Settings(base_url=base_url, **settings))
    by_path = {(tool.method, tool.path): tool for tool in toolset}
    return toolset, lambda route, method=None: by_path[method or route.methods[0], route.path]


async def growth(base_url):
    """Return how much memory grew over all faults, and by which of them."""
    grown = {}
    timed = [route for route in ROUTES if route.lasts(route.methods[0])]
    toolset, tool = tools(base_url, timeout=1.0, concurrency=100)
    async with toolset:
        await tool(case_of("ok")).execute({})
        begun = memory("VmHWM")
        await asyncio.gather(*(tool(route).execute({}) for route in timed))
        grown["all that hang"] = memory("VmHWM") - begun
    toolset, tool = tools(base_url, timeout=20.0)
    async with toolset:
        for route in ROUTES:
            if route not in timed:
                before = memory("VmHWM")
                await tool(route).execute(route.arguments(route.methods[0]))
                grown[route.slug] = memory("VmHWM") - before
    return {"growth": memory("VmHWM") - begun, "by": {s: kib for s, kib in grown.items() if kib}}


def is_quick(route, method):
    """Whether a call of a route fails, soon, and without much data."""
    ends = route.right(method)
    return (
        "GET" in route.methods and not ends & {"ok", "too_large", "timeout"} | {route.slug} & SLOW
    )


async def measure_left(base_url, calls):
    """Return what so many failing calls left behind."""
    toolset, tool = tools(base_url, timeout=30, concurrency=AT_ONCE)
    async with toolset:
        cases = [
            tool(route, method)
            for route in ROUTES
            for method in route.methods
            if is_quick(route, method)
        ]
        ends = itertools.cycle(cases)

        async def fail(times):
            return sum([(await next(ends).execute({})).is_error for _ in range(times)])

        async def all_fail(times):
            errors = sum(await asyncio.gather(*(fail(times // AT_ONCE) for _ in range(AT_ONCE))))
            gc.collect()
            return errors, open_files(), memory("VmRSS")

        _, files, kib = await all_fail(max(len(cases) * 2, 400))
        errors, more_files, more_kib = await all_fail(calls)
        return {"errors": errors, "files": more_files - files, "kib": more_kib - kib}


if __name__ == "__main__":
    with FaultProcess() as site:
        measured = measure_left(site.url, int(sys.argv[1])) if sys.argv[1:] else growth(site.url)
        print(json.dumps(asyncio.run(measured)))
