"""Notices when code reaches for the network, for another process or for somebody's files."""

import os
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_LOUD = ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec")
_OWN = tuple(
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
    _allowed.extend([*_OWN, *map(os.path.realpath, folders)])
    try:
        yield
        assert _seen == [], _seen
    finally:
        _allowed.clear()
