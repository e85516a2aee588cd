"""Fail many times, and see what is left behind: `python run_failing_calls.py 10000`.

Every route that fails at once is called in turn. After a first round, which opens connections and
fills caches, neither open files nor memory should grow.
"""

import asyncio
import gc
import itertools
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from servers.fault_process import FaultProcess
from servers.fault_routes import ROUTES, fault_document

from openapi_tools import Settings, load_tools

AT_ONCE = 20
SLOW = {
    *("declared-1-gb", "tiny-chunks", "flood-of-103", "endless-headers", "giant-header"),
    *("endless-chunk-extension", "endless-trailers", "json-deep", "json-deep-objects"),
    *("problem-deep", "answer-before-body", "500-html", "500-of-10-mb", "thousand-headers"),
}


def is_quick(route):
    """Whether a route fails, soon, and without much data."""
    ends = route.right("GET") | route.right("POST")
    quick = not route.hangs and route.slug not in SLOW
    return quick and not ends & {"ok", "too_large", "timeout"} and "GET" in route.methods


def resident():
    """Return the memory of this process, in KiB."""
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0])


def open_files():
    """Return how many files and sockets are open."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def measured(base_url, calls):
    """Return what so many calls left behind."""
    routes = list(filter(is_quick, ROUTES))
    given = Settings(base_url=base_url, concurrency=AT_ONCE, timeout=30)
    async with load_tools(fault_document(), settings=given) as toolset:
        known = [toolset[f"{method.lower()}_{route.slug}".replace("-", "_")]
                 for route in routes for method in route.methods]  # fmt: skip
        ends = itertools.cycle(known)

        async def fail(times):
            errors = 0
            for _ in range(times):
                errors += (await next(ends).execute({})).is_error
            return errors

        async def all_fail(times):
            return sum(await asyncio.gather(*(fail(times // AT_ONCE) for _ in range(AT_ONCE))))

        await all_fail(max(len(known) * 2, 400))
        gc.collect()
        files, memory, started = open_files(), resident(), time.process_time()
        errors = await all_fail(calls)
        seconds = time.process_time() - started
        gc.collect()
        grown = {"files": open_files() - files, "kib": resident() - memory}
        return {"errors": errors, **grown, "cpu_seconds": round(seconds, 1), "tools": len(known)}


def main():
    """Print what was measured, as JSON."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with FaultProcess() as site:
        print(json.dumps(asyncio.run(measured(site.url, calls))))


if __name__ == "__main__":
    main()
