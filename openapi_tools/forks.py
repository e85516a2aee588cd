"""Locks for which a fork of the process waits, so that a child finds every lock free; late imports.

A child has the thread that forked and no other, and all locks as they were: one that another thread
held is never released there. The same holds for a module that another thread was importing, which
CPython leaves locked; so the imports of a first call are made under a lock too.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 -- sets fork hooks at import, not during a fork
import itertools
import os
import threading
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE = 5.0  # seconds for all locks: one may be held by a thread that waits for the fork
_numbers = itertools.count()
_known: WeakValueDictionary[int, ForkLock] = WeakValueDictionary()
_held: dict[int, set[ForkLock]] = {}  # the locks taken for a fork, by the id of the forking thread


class ForkLock:
    """A reentrant lock for which forks wait, so that its data is whole in the child."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _known[next(_numbers)] = self

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def hold(self, seconds: float) -> bool:
        """Take the lock for a fork, and tell whether it was free in time."""
        return self._lock.acquire(timeout=seconds)

    def renew(self) -> None:
        """Replace a lock whose thread is not in this process."""
        self._lock = threading.RLock()


importing = ForkLock()  # for imports of a first call


def importer(room: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that imports its modules when they are used."""

    def imported(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return import_module(f"{room}.{name}")

    return imported


def _locks() -> list[ForkLock]:
    return [lock for known in _known.valuerefs() if (lock := known()) is not None]


def _before() -> None:
    end = time.monotonic() + _PATIENCE
    tried: dict[ForkLock, bool] = {}
    while new := [lock for lock in _locks() if lock not in tried]:  # made by an import, say
        for lock in new:
            tried[lock] = lock.hold(max(end - time.monotonic(), 0))
    _held[threading.get_ident()] = {lock for lock, is_held in tried.items() if is_held}


def _in_parent() -> None:
    for lock in _held.pop(threading.get_ident(), ()):
        lock.__exit__()


def _in_child() -> None:
    held = _held.get(threading.get_ident(), set())
    for lock in _locks():
        if lock not in held:
            lock.renew()
    _in_parent()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
