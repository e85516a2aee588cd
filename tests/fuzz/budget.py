"""How long the harnesses run, and from where they start.

Each round draws from a seed of its own, 0, 1, 2 and so on, so what a run finds comes again in the
next one; more time only adds rounds.
"""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

SECONDS = float(os.environ.get("FUZZ_SECONDS", "20"))
"""Of CPU, for each of the three harnesses; `FUZZ_SECONDS=1800` makes a long run."""

_ROUND = settings(
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


def _spent():
    """Return the seconds of CPU that this process and those that it started have taken."""
    return sum(os.times()[:4])


class Harness(NamedTuple):
    """What is tried, and how."""

    name: str
    cases: SearchStrategy
    check: Callable[[Any], None]
    examples: int = 50

    def round(self, number):
        """Try some cases."""
        tried = given(self.cases)(self.check)
        seed(number)(settings(_ROUND, max_examples=self.examples)(tried))()

    def spend(self, seconds=SECONDS):
        """Try cases until the time is over; the number of rounds."""
        end = _spent() + seconds
        number = 0
        while number == 0 or _spent() < end:
            self.round(number)
            number += 1
        return number
