"""Stop a server on signals, in order and without tracebacks."""

from __future__ import annotations

import logging
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INTERRUPTED = 130  # the exit code of a command that SIGINT ended: 128 + 2, as in shells


@contextmanager
def handle_signals(on_signal: Callable[[int], object]) -> Iterator[None]:
    """Call a function with the number of each SIGINT and SIGTERM while the body runs."""
    before = {}
    with suppress(ValueError):  # only the main thread can set handlers
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, lambda received, _: on_signal(received))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def silence_aborted_calls(is_stopping: Callable[[], bool]) -> Iterator[None]:
    """Drop log records while a server stops: aborted calls would log tracebacks."""

    def is_logged(_: logging.LogRecord) -> bool:
        return not is_stopping()

    handler = logging.lastResort or logging.NullHandler()
    handler.addFilter(is_logged)
    try:
        yield
    finally:
        handler.removeFilter(is_logged)
