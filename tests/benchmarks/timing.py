"""CPU time and memory of this process and of children, as medians of interleaved runs."""

from __future__ import annotations

import gc
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_SCALES = {"s": 1.0, "ms": 1e3, "us": 1e6, "MiB": 1.0, "requests/s": 1.0}


@dataclass(frozen=True)
class Sample:
    values: tuple[float, ...]
    unit: str = "s"

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def quantile(self, share: float) -> float:
        return sorted(self.values)[max(math.ceil(share * len(self.values)) - 1, 0)]

    def measured_in(self, unit: str) -> float:
        return self.median * _SCALES[unit]

    def parts(self) -> tuple[str, str]:
        unit = self.unit
        if unit == "s":
            unit = "us" if self.median < 1e-3 else "ms" if self.median < 1 else "s"
        low, high = (_SCALES[unit] * bound(self.values) for bound in (min, max))
        digits = 2 if max(high, self.median) < 10 else 1
        spread = f"{low:.{digits}f}-{high:.{digits}f}" if len(self.values) > 1 else ""
        return f"{self.measured_in(unit):.{digits}f} {unit}", spread

    def over(self, other: Sample) -> float:
        """Return how many times as much this takes: the median of the ratios of each round.

        The two runs of a round follow one another, so a machine that is slower for a while, because
        others use it too, is slower for both.
        """
        pairs = zip(self.values, other.values, strict=True)
        return statistics.median(own / theirs for own, theirs in pairs)

    def above(self, other: Sample) -> float:
        return self.over(other) - 1


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the power with which the second figure grows in the first.

    The slope of the straight line through the logarithms, by least squares: 1 for what grows in
    proportion, 2 for what grows with the square.
    """
    sizes, costs = zip(*((math.log(size), math.log(cost)) for size, cost in points), strict=True)
    return statistics.linear_regression(sizes, costs).slope


def turns(
    rounds: int, actions: Mapping[str, Callable[[], float]], unit: str = "s"
) -> dict[str, Sample]:
    found: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(rounds + 1):
        for name, action in actions.items():
            value = action()
            if number:
                found[name].append(value)
    return {name: Sample(tuple(values), unit) for name, values in found.items()}


def interleaved(rounds: int, actions: Mapping[str, Callable[[], object]]) -> dict[str, Sample]:
    """Return what each of some actions took, run in turn.

    The garbage collector is on while they run, as it is for users; what an action returns is freed
    after its time was taken.
    """
    return turns(rounds, {name: partial(timed, action) for name, action in actions.items()})


def timed(action: Callable[[], object]) -> float:
    gc.collect()
    begin = time.process_time()
    result = action()
    seconds = time.process_time() - begin
    del result
    return seconds


def child(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *arguments]
    subprocess.run(command, check=True, env=_with(environment), stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def told(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, check=True, env=_with(environment), capture_output=True, text=True
    ).stdout


def _with(environment: Mapping[str, str] | None) -> dict[str, str]:
    # Without compiled modules every process would compile what it imports.
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **(environment or {})}
