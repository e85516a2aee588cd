"""A server of many users whose issuer hangs, fails and comes back, under load.

`python tests/issuer_load.py` prints the numbers of docs/operations.md.
"""

import asyncio
import contextlib
import itertools
import logging
import time
from collections import Counter
from dataclasses import dataclass, field

import httpx
from servers.issuer import issuing
from servers.recorder import Recorder
from servers.team import modern_message, shop_served, table

from openapi_tools.serving import signing_keys

STATES = {
    "well": {"holds": set(), "key_status": 200},
    "hangs": {"holds": {"/jwks"}, "key_status": 200},
    "fails": {"holds": set(), "key_status": 503},
}


@dataclass
class Measurements:
    """How often each status came, and the seconds of each response, by the issuer's state."""

    counts: Counter = field(default_factory=Counter)
    seconds: dict = field(default_factory=lambda: {state: [] for state in STATES})


async def load(site, issuer, *, rounds, seconds, users, pause=0.05):
    """Have users call all the time while the issuer's state changes; it begins by hanging."""
    measurements, state = Measurements(), "hangs"
    vars(issuer).update(STATES[state])
    ends = asyncio.Event()
    limits = httpx.Limits(max_connections=users)

    async def call(number):
        token = issuer.token(f"user-{number}")
        message, headers = modern_message("tools/list", {})
        headers = {
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {token}",
            **dict(headers),
        }
        while not ends.is_set():
            began, during = time.perf_counter(), state
            response = await web.post(site.url, json=message, headers=headers)
            measurements.counts[response.status_code] += 1
            measurements.seconds[during].append(time.perf_counter() - began)
            await asyncio.sleep(pause)

    async with httpx.AsyncClient(timeout=60, limits=limits) as web:
        tasks = [asyncio.create_task(call(number)) for number in range(users)]
        for state in itertools.islice(itertools.cycle(("hangs", "well", "fails", "well")), rounds):
            vars(issuer).update(STATES[state])
            await asyncio.sleep(seconds)
        vars(issuer).update(STATES["well"])
        ends.set()
        await asyncio.gather(*tasks)
    return measurements


async def measure():
    """Print the numbers; keys grow old after three seconds, so that each state is met."""
    logging.disable()
    times = {"PATIENCE": 2.0, "_FRESH": 3.0, "_PAUSE": 1.0, "_AFTER_FAILURE": 1.0}
    for name, value in times.items():
        setattr(signing_keys, name, value)
    with issuing() as issuer:
        async with contextlib.AsyncExitStack() as stack:
            api = await stack.enter_async_context(Recorder())
            site = await stack.enter_async_context(shop_served(api, table(issuer)))
            measurements = await load(site, issuer, rounds=12, seconds=5.0, users=100, pause=1.0)
    print(dict(measurements.counts))
    for state, listed in measurements.seconds.items():
        ordered = sorted(listed)
        middle, late = (ordered[int(len(ordered) * part)] * 1000 for part in (0.5, 0.99))
        print(f"{state}: {len(listed)} answers, median {middle:.0f} ms, 99 % within {late:.0f} ms")


if __name__ == "__main__":
    asyncio.run(measure())
