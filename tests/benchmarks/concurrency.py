"""What a thousand calls at once cost: `python tests/benchmarks/concurrency.py [rounds]`.

The default transport, nothing between it and a server in a process of its own; only the CPU time of
the calling process counts. The first round opens the connections and is shown by itself.
"""

import asyncio
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from servers.fault_routes import FaultProcess, case_of, fault_document

from openapi_tools import Settings, load_tools

CALLS = 1000


async def measure_round(base_url, rounds):
    settings = Settings(base_url=base_url, timeout=60)
    async with load_tools(fault_document([case_of("echo")]), settings=settings) as toolset:
        tool = toolset["get_echo"]
        for number in range(rounds):
            cpu, wall = time.process_time(), time.perf_counter()
            calls = (tool.execute({"q": str(index)}) for index in range(CALLS))
            results = await asyncio.gather(*calls)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            right = sum(
                result.output == {"echo": f"q={index}"} for index, result in enumerate(results)
            )
            name = "first" if number == 0 else f"{number + 1}."
            print(f"{name} round: {right} of {CALLS} right, {cpu:.2f} s of CPU, {wall:.2f} s")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with FaultProcess() as site:
        asyncio.run(measure_round(site.url, rounds))


if __name__ == "__main__":
    main()
