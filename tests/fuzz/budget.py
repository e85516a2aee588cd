"""How long the harnesses run, and from where they start.

Each round draws from a seed of its own, 0, 1, 2 and so on, so what a run finds comes again in the
next one; more time only adds rounds.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, seed, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

SECONDS = float(os.environ.get("FUZZ_SECONDS", "60"))
"""Of CPU, for each of the three harnesses."""

_ROUND = settings(
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


def _spent() -> float:
    """Return the seconds of CPU that this process and those that it started have taken."""
    return sum(os.times()[:4])


@dataclass(frozen=True)
class Harness:
    """What is tried, and how."""

    name: str
    cases: SearchStrategy[Any]
    check: Callable[[Any], None]
    examples: int = 50

    def round(self, number: int, note: Callable[[Any], None] = lambda _: None) -> None:
        """Try some cases."""

        @seed(number)
        @settings(_ROUND, max_examples=self.examples)
        @given(self.cases)
        def tried(case: Any) -> None:
            note(case)
            self.check(case)

        tried()

    def spend(self, seconds: float = SECONDS) -> int:
        """Try cases until the time is over; the number of rounds."""
        end = _spent() + seconds
        number = 0
        while number == 0 or _spent() < end:
            self.round(number)
            number += 1
        return number
