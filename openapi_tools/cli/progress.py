"""Progress on standard error, for what takes longer than a second."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING, TextIO

from openapi_tools.cli.output import clean, note_width
from openapi_tools.cli.text_layout import shorten_text, text_width

if TYPE_CHECKING:
    from collections.abc import Iterator

_INTERVAL = 1.0  # seconds
_SECONDS_WIDTH = 9  # columns of ` … 9999 s`


class Progress:
    """A line with the seconds since its start, which a question may hide for a while."""

    def __init__(self, stream: TextIO | None, message: str) -> None:
        self._stream = stream
        self._message = message
        self._start = time.monotonic()
        self._is_done = threading.Event()
        self._lock = threading.Lock()
        self._columns = 0
        self._thread = threading.Thread(target=self._write_seconds, daemon=True)

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Hide the line while someone else writes to the terminal."""
        with self._lock:
            self._erase()
            yield

    def start(self) -> None:
        """Begin to count; nothing is written in the first second."""
        if self._stream is not None:
            self._thread.start()

    def stop(self) -> None:
        """Remove the line."""
        self._is_done.set()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            self._erase()

    def _write_seconds(self) -> None:
        while not self._is_done.wait(_INTERVAL):
            with self._lock:
                text = f"{self._message} … {time.monotonic() - self._start:.0f} s"
                self._columns = text_width(text)
                self._write(f"\r{text}")

    def _erase(self) -> None:
        if self._columns:
            # Spaces rather than an escape sequence, which not every terminal knows.
            self._write(f"\r{' ' * self._columns}\r")
            self._columns = 0

    def _write(self, text: str) -> None:
        # A terminal that is gone must not end the command with the error of a thread.
        with contextlib.suppress(OSError, ValueError):
            if self._stream is not None:
                self._stream.write(text)
                self._stream.flush()


@contextlib.contextmanager
def show_progress(message: str) -> Iterator[Progress]:
    """Show on a terminal that something takes longer than a second; nothing elsewhere."""
    width = note_width()
    line = clean(message, lines=False)
    # A line that fills the terminal would leave a line behind at each second.
    line = shorten_text(line, max(width - _SECONDS_WIDTH - 1, 1)) if width else line
    progress = Progress(sys.stderr if width else None, line)
    progress.start()
    try:
        yield progress
    finally:
        progress.stop()
