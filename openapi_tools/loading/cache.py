"""The folder of the document cache: its files, their permissions, and its size.

A failure of the folder costs time, never a load.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from platformdirs import user_cache_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT_BYTES = 512 * 1024 * 1024
"""The folder is kept below it: the least recently used files go first."""

_FOLDER = "OPENAPI_TOOLS_CACHE_DIR"
_NAME = re.compile(r"[0-9a-f]{40}\.index")
_PART = re.compile(r"new-.+\.part")
_DAY = 24 * 60 * 60
_HOUR = 60 * 60
_OTHERS_WRITE = 0o022
_log = logging.getLogger("openapi_tools.cache")


class Entry(NamedTuple):
    """A file of the folder.

    Attributes:
        name: Its name, a hash.
        size: Bytes.
        used: When it was last used, to the day; seconds since 1970.
    """

    name: str
    size: int
    used: float

    @property
    def is_whole(self) -> bool:
        """Whether its writer has put it in place; others are unfinished or left by a crash."""
        return _NAME.fullmatch(self.name) is not None


def folder() -> Path:
    """Return the folder, which may not exist: the environment's, or the system's for the user."""
    if named := os.environ.get(_FOLDER):
        return Path(named)
    found = user_cache_path("openapi-tools", appauthor=False)
    # Without a home `~` would be a folder of that name in the current one.
    return found if found.is_absolute() else Path(os.devnull) / found.name


def trusted_file(name: str) -> Path | None:
    """Return the path of a file; None unless it is regular, the user's, and in a folder like that.

    Args:
        name: As in `Entry`.
    """
    where = folder().absolute()
    try:
        status = (where / name).lstat()
        good = stat.S_ISREG(status.st_mode) and _is_ours(status) and _is_ours(where.stat())
    except (OSError, ValueError):
        return None
    return where / name if good else None


def note_use(name: str) -> None:
    """Note that a file was used; once a day, to spare a write at each load."""
    path = folder() / name
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)


def _is_ours(status: os.stat_result) -> bool:
    """Tell whether a file or folder is the user's own and not writable by others."""
    if not hasattr(os, "geteuid"):
        return True  # Windows guards a user's folders by other means
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE


def write_file(name: str, fill: Callable[[Path], None]) -> None:
    """Put a whole file in place, or log a failure and change nothing.

    Args:
        name: As in `Entry`.
        fill: Writes an empty file at the path that it is given; what it raises but for `OSError`
            is raised on.
    """
    try:
        where = folder()
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(where.stat()):
            _log.debug("not written: others can write into the cache's folder")
            return
        _replace(where / name, fill)
        _prune(where)
    except OSError as error:
        _log.debug("not written: %s", error.strerror or type(error).__name__)


def _replace(path: Path, fill: Callable[[Path], None]) -> None:
    """Write beside the file, then rename."""
    part = path.with_name(f"new-{os.urandom(8).hex()}.part")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        fill(part)
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def remove_file(name: str) -> None:
    """Remove a file, if it is there."""
    with contextlib.suppress(OSError):
        (folder() / name).unlink()


def entries() -> list[Entry]:
    """Return the files of the folder, the most recently used first."""
    return sorted(_entries(folder()), key=lambda entry: -entry.used)


def _entries(where: Path) -> Iterator[Entry]:
    """Yield the files that this package has put into the folder, unfinished ones too."""
    try:
        found = list(os.scandir(where))
    except OSError:
        return
    for file in found:
        if _NAME.fullmatch(file.name) or _PART.fullmatch(file.name):
            with contextlib.suppress(OSError):  # another process may have removed it
                status = file.stat(follow_symlinks=False)
                yield Entry(file.name, status.st_size, status.st_mtime)


def _prune(where: Path) -> None:
    """Remove the least recently used files above the limit, and old unfinished ones."""
    found = sorted(_entries(where), key=lambda entry: entry.used)
    size = sum(entry.size for entry in found)
    for entry in found:
        left_over = not entry.is_whole and time.time() - entry.used > _HOUR
        if size > LIMIT_BYTES or left_over:
            with contextlib.suppress(OSError):
                (where / entry.name).unlink()
                size -= entry.size


def clear() -> tuple[int, int]:
    """Empty the folder.

    Returns:
        How many documents were removed, and how many bytes.
    """
    count = size = 0
    where = folder()
    for entry in _entries(where):
        with contextlib.suppress(OSError):
            (where / entry.name).unlink()
            count += entry.is_whole
            size += entry.size
    return count, size


def age(seconds: float) -> str:
    """Return a duration in words, for instance `"3 days"`."""
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if (count := int(seconds // length)) > 0:
            return f"{count} {unit}{'s' * (count > 1)}"
    return "less than a minute"
