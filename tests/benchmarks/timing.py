"""CPU time and memory of this process and of children, as medians of interleaved runs."""

import contextlib
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
from pathlib import Path

_SCALES = {"s": 1.0, "ms": 1e3, "us": 1e6, "MiB": 1.0, "requests/s": 1.0}


@dataclass(frozen=True)
class Sample:
    values: tuple[float, ...]
    unit: str = "s"

    @property
    def median(self):
        return statistics.median(self.values)

    def quantile(self, share):
        return sorted(self.values)[max(math.ceil(share * len(self.values)) - 1, 0)]

    def measured_in(self, unit):
        return self.median * _SCALES[unit]

    def parts(self):
        unit = self.unit
        if unit == "s":
            unit = "us" if self.median < 1e-3 else "ms" if self.median < 1 else "s"
        low, high = (_SCALES[unit] * bound(self.values) for bound in (min, max))
        digits = 2 if max(high, self.median) < 10 else 1
        spread = f"{low:.{digits}f}-{high:.{digits}f}" if len(self.values) > 1 else ""
        return f"{self.measured_in(unit):.{digits}f} {unit}", spread

    def ratio_to(self, other):
        """Return the median of the ratios of each round, whose runs follow one another."""
        pairs = zip(self.values, other.values, strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)


def exponent(points):
    """Return the power with which the second number grows in the first: 1 in proportion."""
    sizes, costs = zip(*((math.log(size), math.log(cost)) for size, cost in points), strict=True)
    return statistics.linear_regression(sizes, costs).slope


def samples(runs, unit="s"):
    """Return what each of some runs found, by name; the first one fills caches and is left out."""
    return {name: Sample(tuple(run[name] for run in runs[1:]), unit) for name in runs[-1]}


def turns(rounds, actions, unit="s"):
    runs = [{name: action() for name, action in actions.items()} for _ in range(rounds + 1)]
    return samples(runs, unit)


def interleave(rounds, actions):
    """Return what each of some actions took, run in turn, with the garbage collector on."""
    return turns(rounds, {name: partial(time_action, action) for name, action in actions.items()})


def time_action(action):
    gc.collect()
    begin = time.process_time()
    result = action()
    seconds = time.process_time() - begin
    del result  # freed after its time was taken
    return seconds


def child(arguments, environment=None):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run_program(arguments, environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_program(arguments, environment=None):
    # Without compiled modules every process would compile what it imports.
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **(environment or {})}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, check=False, env=variables, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


HAS_PROC = Path("/proc/self/status").exists()
"""Whether other processes can be looked at; without it, running servers are not measured."""


def cpu_clock(process):
    """Return the CPU seconds of a running process, without its children."""
    # Linux numbers the CPU clock of each process so (clock_getcpuclockid); the times in
    # /proc/PID/stat are in hundredths of a second.
    return time.clock_gettime((~process << 3) | 2)


def memory_of(process, field):
    """Return a field of a process in MiB: VmHWM for the peak, VmRSS for now; 0 if unknown."""
    if not HAS_PROC:
        return 0.0
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 2**10 for line in lines if line.startswith(field))


def children_of(process):
    """Return the running children of a process."""
    threads = Path(f"/proc/{process}/task").glob("*/children") if HAS_PROC else ()
    return [int(number) for each in threads for number in each.read_text().split()]


def total_cpu():
    """Return the CPU seconds of this process and of its children, running and ended."""
    seconds = 0.0
    for child_process in children_of(os.getpid()):
        with contextlib.suppress(OSError):
            seconds += cpu_clock(child_process)
    for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(whose)
        seconds += usage.ru_utime + usage.ru_stime
    return seconds
