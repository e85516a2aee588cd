"""Detect changes of files by their times and sizes."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SKIPPED = {"__pycache__", "node_modules", "site-packages"}
_MOST_FILES = 10_000  # of a folder; a stat takes microseconds, and a home folder has millions

_FileStates = dict[Path, tuple[int, int]]


class FileWatch:
    """Watches the files with some suffixes in a folder and below it, and others by name.

    Hidden folders, virtual environments and installed packages are left out.
    """

    def __init__(
        self, folder: Path, suffixes: Iterable[str], files: Iterable[str | Path] = ()
    ) -> None:
        self._folder, self._suffixes, self._files = folder, tuple(suffixes), tuple(files)
        self._seen = self._read_states()
        self._pending = self._seen

    def has_changed(self) -> bool:
        """Return whether files have changed since it last returned True, and are complete."""
        states = self._read_states()
        # A file that changes from call to call is still being written.
        is_complete, self._pending = states == self._pending, states
        if states == self._seen or not is_complete:
            return False
        self._seen = states
        return True

    def _read_states(self) -> _FileStates:
        states: _FileStates = {}
        for path in self._list_files():
            with suppress(OSError):  # removed, or about to be replaced
                status = path.stat()
                states[path] = (status.st_mtime_ns, status.st_size)
        return states

    def _list_files(self) -> Iterator[Path]:
        yield from map(Path, self._files)
        count = 0
        for folder, folders, files in os.walk(self._folder):
            folders[:] = sorted(
                name
                for name in folders
                if name[0] != "." and name not in _SKIPPED and not _is_environment(folder, name)
            )
            yield from (Path(folder, name) for name in files if name.endswith(self._suffixes))
            count += len(files)
            if count > _MOST_FILES:
                return


def _is_environment(folder: str, name: str) -> bool:
    return Path(folder, name, "pyvenv.cfg").exists()
