"""How long the harnesses run, from where they start, and what they may not reach.

Each round draws from a seed of its own, 0, 1, 2 and so on, so what a run finds comes again in the
next one; more time only adds rounds.
"""

import os
import sys
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from pathlib import Path
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


def _spent_seconds():
    """Return the seconds of CPU that this process and those that it started have taken."""
    return sum(os.times()[:4])


class Harness(NamedTuple):
    """What is tried, and how."""

    name: str
    cases: SearchStrategy
    check: Callable[[Any], None]
    examples: int = 50

    def spend(self, seconds=SECONDS):
        """Try cases until the time is over; the number of rounds."""
        end = _spent_seconds() + seconds
        number = 0
        while number == 0 or _spent_seconds() < end:
            tried = settings(_ROUND, max_examples=self.examples)(given(self.cases)(self.check))
            seed(number)(tried)()
            number += 1
        return number


_LOUD = ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec")
_READABLE_FOLDERS = tuple(
    os.path.realpath(folder)
    for folder in {sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])}
)


_seen = []
"""What was seen while somebody looked."""
_allowed = []
"""Folders, while somebody looks."""


@cache
def _hook():
    """Look from now on; hooks cannot be taken out again."""
    sys.addaudithook(_look)


def _look(event, arguments):
    if _allowed and (event.startswith(_LOUD) or (event == "open" and _is_strange(arguments[0]))):
        _seen.append(f"{event} {arguments!r:.200}")


def _is_strange(path):
    """Whether a path is neither a module of ours nor of Python."""
    is_path = isinstance(path, str | bytes)
    return is_path and not os.path.realpath(os.fsdecode(path)).startswith(tuple(_allowed))


@contextmanager
def nothing_reached(*folders):
    """Fail if a connection is made, a process started, or a file opened outside some folders."""
    _hook()
    _seen.clear()
    _allowed.extend([*_READABLE_FOLDERS, *map(os.path.realpath, folders)])
    try:
        yield
        assert _seen == [], _seen
    finally:
        _allowed.clear()
