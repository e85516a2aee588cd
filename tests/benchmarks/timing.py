"""CPU time of this process and of children, as medians of interleaved runs."""

from __future__ import annotations

import gc
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class Sample:
    """What some runs took.

    Attributes:
        seconds: Of CPU, one figure for each run.
    """

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one, in seconds."""
        return statistics.median(self.seconds)

    def shown(self, unit: str = "ms") -> str:
        """Return median and range in a unit."""
        factor = {"ms": 1e3, "us": 1e6}[unit]
        low, high = (factor * bound(self.seconds) for bound in (min, max))
        return f"{factor * self.median:.1f} {unit} ({low:.1f}-{high:.1f})"

    def over(self, other: Sample) -> float:
        """Return how many times as much this takes: the median of the ratios of each round.

        The two runs of a round follow one another, so a machine that is slower for a while, because
        others use it too, is slower for both.
        """
        pairs = zip(self.seconds, other.seconds, strict=True)
        return statistics.median(own / theirs for own, theirs in pairs)

    def above(self, other: Sample) -> float:
        """Return what this takes beyond another sample, as a multiple of that other one."""
        return self.over(other) - 1


def interleaved(rounds: int, actions: Mapping[str, Callable[[], object]]) -> dict[str, Sample]:
    """Run all actions in turn, again and again, and return what each took.

    A first round, which fills caches, is not counted. The garbage collector is on while they run,
    as it is for users; what an action returns is freed after its time was taken.
    """
    found: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(rounds + 1):
        for name, action in actions.items():
            gc.collect()
            begin = time.process_time()
            result = action()
            seconds = time.process_time() - begin
            del result
            if number:
                found[name].append(seconds)
    return {name: Sample(tuple(seconds)) for name, seconds in found.items()}


def child(code: str) -> float:
    """Return the CPU seconds, user and system, of a Python process that runs some code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def children(rounds: int, codes: Mapping[str, str]) -> dict[str, Sample]:
    """Run processes in turn and return what each took; the first round only warms the disk."""
    found: dict[str, list[float]] = {name: [] for name in codes}
    for number in range(rounds + 1):
        for name, code in codes.items():
            seconds = child(code)
            if number:
                found[name].append(seconds)
    return {name: Sample(tuple(seconds)) for name, seconds in found.items()}
