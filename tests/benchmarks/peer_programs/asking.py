"""The child's half of `peers.py`: a question a line on standard input, an answer a line.

Runs with the interpreter of a peer's environment, so it imports the standard library only.
"""

import gc
import json
import os
import sys
import time
from pathlib import Path


async def serve(**handlers):
    """Answer questions by name until standard input ends."""
    # What the peer prints is not for the reader of the handlers.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        question = json.loads(line)
        try:
            response = await handlers[question.pop("do")](**question)
        except Exception as error:
            response = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(response), file=out, flush=True)


def _read(path):
    with Path(path).open("rb") as file:
        return json.load(file)


async def measure_seconds(load, path):
    """Return the CPU seconds from a file to its tools, parse included."""
    gc.collect()
    begin = time.process_time()
    tools = await load(_read(path))
    seconds = time.process_time() - begin
    return {"seconds": seconds, "tools": len(tools)}


async def per_call(action, count):
    """Return the CPU seconds of one call of many."""
    begin = time.process_time()
    for _ in range(count):
        await action()
    return (time.process_time() - begin) / count
