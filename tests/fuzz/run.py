"""The long run: `python tests/fuzz/run.py --minutes 30` tries all harnesses in turn.

What fails is kept in a folder, one text file each: the smallest case that was found, as Python
data, and what it raised. A run starts from the clock unless a seed is given; it says from which.
"""

import argparse
import hashlib
import random
import sys
import time
import traceback
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from fuzz.executing import EXECUTING  # noqa: E402 -- found once the line above has run
from fuzz.generating import GENERATING  # noqa: E402 -- found once the line above has run
from fuzz.loading import LOADING  # noqa: E402 -- found once the line above has run

HARNESSES = {harness.name: harness for harness in (LOADING, EXECUTING, GENERATING)}


def main():
    """Run; 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--only", choices=list(HARNESSES), action="append")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--found", type=Path, default=Path("fuzz-found"))
    options = parser.parse_args()
    chosen = [HARNESSES[name] for name in options.only or HARNESSES]
    seeds = random.Random(options.seed)
    print(f"seed {options.seed}")
    end = time.monotonic() + options.minutes * 60
    found = set()
    rounds = 0
    while time.monotonic() < end:
        for harness in chosen:
            found |= set(_tried(harness, seeds.randrange(2**32), options.found))
            rounds += 1
    print(f"{rounds} rounds, {len(found)} different failures")
    return 1 if found else 0


def _tried(harness, number, folder):
    """Run one round; what failed in it, by the place in the code."""
    cases = []
    try:
        harness.round(number, cases.append)
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        place = "".join(traceback.format_tb(error.__traceback__)[-1:]) + type(error).__name__
        name = f"{harness.name}-{hashlib.sha256(place.encode()).hexdigest()[:8]}"
        file = folder / f"{name}.txt"
        folder.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            print(f"found {name}: {error!r:.200}", flush=True)
            told = f"seed {number}\n{cases[-1]!r}\n\n{text}"
            file.write_text(told, encoding="utf-8", errors="backslashreplace")
        return [name]
    return []


if __name__ == "__main__":
    sys.exit(main())
