"""What a file system offers for changing many files at once: staging, a lock, a swap."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from openapi_tools.errors import OutputError

try:
    import fcntl
except ImportError:  # pragma: no cover -- Windows has none
    fcntl = None  # type: ignore[assignment]  # looked at before use

if TYPE_CHECKING:
    from collections.abc import Iterator

STAGING = ".openapi-tools-staging-"
"""How the name of every staging folder begins, after a dot and its target's name if it has one."""
PATIENCE = 60.0
"""Seconds to wait for another generator at work."""
_ABANDONED = 3600.0
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2


def folders(path: str) -> list[str]:
    """List the folders that a relative path leads through: `a/b/c.py` gives `a`, `a/b`."""
    return [str(folder) for folder in reversed(PurePosixPath(path).parents[:-1])]


def ready(base: Path, path: str) -> Path:
    """Make the folders that a file needs.

    Args:
        base: A folder, resolved.
        path: The file, relative to it.

    Returns:
        Where the file goes.

    Raises:
        OutputError: That is outside `base`.
    """
    target = base / path
    if not target.parent.resolve().is_relative_to(base):
        raise OutputError(f"{path!r} leads out of the folder.", path=str(base))
    for folder in folders(path):
        with suppress(FileExistsError):
            (base / folder).mkdir(0o755)
    return target


def write(target: Path, data: bytes) -> None:
    """Write a new file that survives a power cut: readable for all, as far as the umask allows."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(target, flags, 0o644), "wb") as file:  # noqa: PTH123 -- a descriptor
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def keep(source: Path, target: Path) -> None:
    """Give a file a second name; where the file system has no hard links, a copy."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)


@contextmanager
def staging(folder: Path, prefix: str) -> Iterator[Path]:
    """Lend a new folder for preparing files, closed to others; it is deleted afterwards."""
    stage = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def leftovers(folder: Path, prefix: str) -> list[Path]:
    """List the staging folders in a folder: those of killed runs, and of a run at work."""
    try:
        found = sorted(place for place in folder.iterdir() if place.name.startswith(prefix))
        return [place for place in found if place.is_dir() and not place.is_symlink()]
    except OSError:
        return []


def clear(folder: Path, prefix: str, *, alone: bool) -> None:
    """Delete the staging folders of killed runs.

    Args:
        folder: Where they stand.
        prefix: How their names begin.
        alone: Whether no other generator is at work here; else only old ones are deleted.
    """
    for stage in leftovers(folder, prefix):
        with suppress(OSError):
            if alone or time.time() - stage.stat().st_mtime > _ABANDONED:
                shutil.rmtree(stage)


@contextmanager
def parents(folder: Path) -> Iterator[None]:
    """Make a folder and those above it; take them away again when the body raises."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(0o755, parents=True, exist_ok=True)
        yield
    except BaseException:
        with suppress(OSError):
            for place in missing:
                place.rmdir()
        raise


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Keep other generators out of a folder; the lock ends with the process, however it ends.

    Yields:
        Whether that is sure: some file systems have no locks.

    Raises:
        OutputError: Another one has been at work there for a minute.
    """
    handle = -1
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY) if fcntl else -1
    try:
        yield handle >= 0 and _lock(handle, folder)
    finally:
        if handle >= 0:
            os.close(handle)


def _lock(handle: int, folder: Path) -> bool:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                reason = "another run of openapi-tools is at work here; wait for its end."
                raise OutputError(reason, path=str(folder)) from None
            time.sleep(0.02)
        except OSError:
            return False
        else:
            return True


def exchange(one: Path, other: Path) -> None:
    """Swap two folders in one step: nobody ever sees half of it.

    Raises:
        OSError: This system or file system cannot do that, or not here.
    """
    first, second = os.fsencode(one), os.fsencode(other)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":  # pragma: no cover -- macOS has its own name for it
            failed = libc.renamex_np(first, second, _RENAME_SWAP)
        else:
            failed = libc.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE)
    except (AttributeError, TypeError):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from None
    if failed:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))
