"""The folder where documents are kept from one load to the next: what is in it, and who may.

Nothing here knows what a file says. Whatever goes wrong with the folder costs time, never a load.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import stat
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.settings import Settings

LIMIT_BYTES = 512 * 1024 * 1024
"""The folder is kept below it: what was not used for longest goes first."""

_FOLDER = "OPENAPI_TOOLS_CACHE_DIR"
_SWITCH = "OPENAPI_TOOLS_CACHE"
_NAME = re.compile(r"[0-9a-f]{40}\.index")
_PART = re.compile(r"new-.+\.part")
_BUFFER = 1024 * 1024
_DAY = 24 * 60 * 60
_HOUR = 60 * 60
_OTHERS_WRITE = 0o022
_log = logging.getLogger("openapi_tools.cache")


class Entry(NamedTuple):
    """A file of the folder.

    Attributes:
        name: Its name, which a hash makes.
        size: Bytes.
        used: When it was last used, to the day; seconds since 1970.
    """

    name: str
    size: int
    used: float


def is_on(settings: Settings) -> bool:
    """Tell whether documents are kept: neither the settings nor the environment say no."""
    return settings.cache and os.environ.get(_SWITCH, "").strip().lower() != "off"


def folder() -> Path:
    """Return the folder, which may not exist: the environment's, or the system's for the user."""
    named = os.environ.get(_FOLDER)
    if named:
        return Path(named)
    from platformdirs import user_cache_path

    found = user_cache_path("openapi-tools", appauthor=False)
    # A user without a home has none either: `~` would be a folder of that name, wherever we are.
    return found if found.is_absolute() else Path(os.devnull) / found.name


class View:
    """A file that is read where it is looked at.

    It is not mapped into memory: a look at what is not there any more, because somebody cut the
    file or its disk went away, would end the process.

    Args:
        file: Number of the open file, which is this one's to close.
        size: Bytes.
    """

    __slots__ = ("_data", "_file", "_size", "_turn")

    def __init__(self, file: int, size: int) -> None:
        self._file = file
        self._size = size
        self._data: bytes | None = None
        self._turn = threading.Lock()  # which also keeps two copies from closing one file

    def __del__(self) -> None:
        self._close()

    def __len__(self) -> int:
        return self._size

    def hold(self) -> None:
        """Read all of it now, so that what happens to the file later changes nothing."""
        self._data = self.read(0, self._size)
        self._close()

    def read(self, begin: int, end: int) -> bytes:
        """Return a part of it; less than that when it is not there.

        Args:
            begin: The first byte.
            end: The byte behind the last.
        """
        begin, end = max(begin, 0), min(end, self._size)
        if begin >= end:
            return b""
        if self._data is not None:
            return self._data[begin:end]
        try:
            return self._read(begin, end - begin)
        except OSError:
            return b""

    def _close(self, close: Callable[[int], None] = os.close) -> None:
        file, self._file = self._file, -1
        with contextlib.suppress(OSError):
            close(file)

    def _read(self, begin: int, size: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._file, size, begin)
        with self._turn:  # pragma: no cover -- Windows
            os.lseek(self._file, begin, os.SEEK_SET)
            return os.read(self._file, size)


def open_file(name: str) -> View | None:
    """Return a file; None when there is none that can be trusted.

    Args:
        name: As in `Entry`.
    """
    path = folder() / name
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        file = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return None
    status = os.fstat(file)
    view = View(file, status.st_size)
    return view if stat.S_ISREG(status.st_mode) and _is_ours(status) else None


def note_use(name: str) -> None:
    """Note that a file was used, to the day: that needs no write at each load.

    Args:
        name: As in `Entry`.
    """
    path = folder() / name
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)


def _is_ours(status: os.stat_result) -> bool:
    """Tell whether a file or folder is the user's own and nobody else can have written it."""
    if not hasattr(os, "geteuid"):
        return True  # Windows guards a user's folders by other means
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE


def write_file(name: str, fill: Callable[[Callable[[bytes], object]], None]) -> None:
    """Put a file in place, whole or not at all; a failure is logged and changes nothing.

    Args:
        name: As in `Entry`.
        fill: Is given the function to write with; what it raises itself is raised on.
    """
    try:
        where = folder()
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(where.stat()):
            _log.debug("not written: others can write into the cache's folder")
            return
        _replace(where / name, fill)
        prune(where)
    except OSError as error:
        _log.debug("not written: %s", error.strerror or type(error).__name__)


def _replace(path: Path, fill: Callable[[Callable[[bytes], object]], None]) -> None:
    """Write beside the file, with a name of its own, and let it take the file's place."""
    from tempfile import mkstemp

    number, part = mkstemp(prefix="new-", suffix=".part", dir=path.parent)  # readable to us alone
    try:
        with open(number, "wb", buffering=_BUFFER) as file:  # noqa: PTH123 -- a number
            fill(file.write)
        os.replace(part, path)  # noqa: PTH105 -- `part` is a text
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)  # noqa: PTH108 -- as above
        raise


def remove_file(name: str) -> None:
    """Take a file out of the folder, if it is there."""
    with contextlib.suppress(OSError):
        (folder() / name).unlink()


def entries() -> list[Entry]:
    """Return the files of the folder, the one used last first."""
    return sorted(_entries(folder()), key=lambda entry: -entry.used)


def _entries(where: Path) -> Iterator[Entry]:
    """Yield the files of the folder that this package has put there, unfinished ones too."""
    try:
        found = list(os.scandir(where))
    except OSError:
        return
    for file in found:
        if _NAME.fullmatch(file.name) or _PART.fullmatch(file.name):
            with contextlib.suppress(OSError):  # another process may have removed it
                status = file.stat(follow_symlinks=False)
                yield Entry(file.name, status.st_size, status.st_mtime)


def is_whole(entry: Entry) -> bool:
    """Tell a file that was put in place from one whose writer has not ended, or was killed."""
    return _NAME.fullmatch(entry.name) is not None


def prune(where: Path) -> None:
    """Remove what was unused for longest until the folder is small enough, and what is left over.

    Args:
        where: The folder.
    """
    found = sorted(_entries(where), key=lambda entry: entry.used)
    size = sum(entry.size for entry in found)
    for entry in found:
        left_over = not is_whole(entry) and time.time() - entry.used > _HOUR
        if size > LIMIT_BYTES or left_over:
            with contextlib.suppress(OSError):
                (where / entry.name).unlink()
                size -= entry.size


def clear() -> tuple[int, int]:
    """Empty the folder.

    Returns:
        How many documents were removed, and the bytes that are free now.
    """
    count = size = 0
    where = folder()
    for entry in _entries(where):
        with contextlib.suppress(OSError):
            (where / entry.name).unlink()
            count += is_whole(entry)
            size += entry.size
    return count, size
