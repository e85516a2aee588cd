"""Files that are replaced in one step: a reader sees the former content or the new one."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from stat import S_IMODE
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def replace_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file, or write a new one with a mode; an existing one keeps its mode and owner.

    Raises:
        OSError: It cannot be written; the former file is as it was, and nothing is left beside it.
    """
    # In the same folder, as a file cannot be renamed to another file system.
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    former = path.stat() if path.exists() else None
    descriptor = os.open(temporary, flags, mode if former is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if former is not None:
            _keep_access(temporary, former)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _synchronise(path.parent)


def _keep_access(path: Path, former: os.stat_result) -> None:
    if hasattr(os, "chown"):
        with suppress(PermissionError):  # only root gives files away
            os.chown(path, former.st_uid, former.st_gid)
    path.chmod(S_IMODE(former.st_mode))  # after the owner, whose change may clear bits


def _synchronise(folder: Path) -> None:
    # Without it the new name may be lost in a power cut. Not every system can synchronise folders.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
