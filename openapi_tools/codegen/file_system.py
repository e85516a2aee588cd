"""Change many files at once: staging folders, a lock, a swap of two folders."""

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
    fcntl = None  # type: ignore[assignment]  # checked before use

if TYPE_CHECKING:
    from collections.abc import Iterator

STAGING = ".openapi-tools-staging-"
"""Start of every staging folder's name, after a dot and its target's name if it has one."""
PATIENCE = 60.0
"""Seconds to wait for another generator."""
_ABANDONED = 3600.0
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2


def folders(path: str) -> list[str]:
    """List the folders of a relative path: `a`, `a/b` for `a/b/c.py`."""
    return [str(folder) for folder in reversed(PurePosixPath(path).parents[:-1])]


def make_folders(base: Path, path: str) -> Path:
    """Make the folders of a file below a resolved one, and return where the file goes."""
    target = base / path
    if not target.parent.resolve().is_relative_to(base):
        raise OutputError(f"{path!r} leads out of the folder.", path=str(base))
    for folder in folders(path):
        with suppress(FileExistsError):
            (base / folder).mkdir(0o755)
    return target


def write(target: Path, data: bytes) -> None:
    """Write a new file that survives a power cut; the umask decides who can read it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(target, flags, 0o644), "wb") as file:  # noqa: PTH123 -- a descriptor
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def link(source: Path, target: Path) -> None:
    """Give a file a second name; copy it where the file system has no hard links."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)


@contextmanager
def staging(folder: Path, prefix: str) -> Iterator[Path]:
    """Make a private folder for preparing files, and delete it afterwards."""
    stage = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def leftovers(folder: Path, prefix: str) -> list[Path]:
    """List the staging folders of killed and running generators."""
    try:
        found = sorted(place for place in folder.iterdir() if place.name.startswith(prefix))
        return [place for place in found if place.is_dir() and not place.is_symlink()]
    except OSError:
        return []


def clear(folder: Path, prefix: str, *, alone: bool) -> None:
    """Delete staging folders: all if no other generator can be running, else only old ones."""
    for stage in leftovers(folder, prefix):
        with suppress(OSError):
            if alone or time.time() - stage.stat().st_mtime > _ABANDONED:
                shutil.rmtree(stage)


@contextmanager
def parents(folder: Path) -> Iterator[None]:
    """Make a folder and those above it; remove them again when the body raises."""
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
    """Lock other generators out of a folder while this process lives."""
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
    """Swap two folders in one step."""
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
