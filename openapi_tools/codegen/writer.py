"""Put generated files into a folder, all of them or none.

A new folder is prepared beside the old one and replaces it in one step. A folder with other files
is changed file by file, the manifest last: a run that is killed in between leaves its staging
folder, by which the next run knows the generated files.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISLNK
from typing import TYPE_CHECKING

from openapi_tools.codegen import output_state
from openapi_tools.codegen.output_state import STAGING, FileChanges, OutputTarget, parent_folders
from openapi_tools.errors import OutputError

try:
    import fcntl
except ImportError:  # pragma: no cover -- Windows has none
    fcntl = None  # type: ignore[assignment]  # checked before use

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


PATIENCE = 60.0  # seconds to wait for another generator
# Without a lock nothing tells a running generator from a killed one, but its age.
_ABANDONED = 3600.0
# Constants of Linux's <fcntl.h> and <linux/fs.h>, and of macOS's <sys/stdio.h>; Python does not
# have them.
_AT_FDCWD = -100
_EXCHANGE = 2  # for both systems that can swap folders
_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "allow that, or choose another folder"),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), "a file is in the way: choose another folder"),
    errno.EROFS: "choose another folder",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def plan_files(output: Path, files: Mapping[str, str], *, manifest: str) -> FileChanges:
    """Return what `place` would do with force, and write nothing."""
    with _translate_system_errors(output):
        return output_state.plan_changes(_read_target(output, files, manifest))


def write_files(
    output: Path, files: Mapping[str, str], *, manifest: str, force: bool = False
) -> FileChanges:
    """Make a folder hold these generated files, all or none; `force` replaces edited ones."""
    with _translate_system_errors(output):
        target = _read_target(output, files, manifest)
        parent, staging_prefix = target.root.parent, f".{target.root.name[:40]}{STAGING}"
        with _make_parents(parent), lock_folder(parent) as is_locked:
            _clear_staging_folders(parent, staging_prefix, is_locked=is_locked)
            changes = output_state.plan_changes(target)
            _check_permitted(target, changes, force=force)
            has_changes = changes.written or changes.removed
            if has_changes and not (
                changes.whole and _try_to_replace_folder(target, changes, staging_prefix)
            ):
                _replace_files(target, changes)
            # Last: a staging folder tells the next run which files are generated.
            _clear_staging_folders(target.root, STAGING, is_locked=is_locked)
    return changes


@contextmanager
def _translate_system_errors(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        names = (error.filename2, error.filename)
        name = next((str(name) for name in names if name and STAGING not in str(name)), output)
        advice = _ADVICE.get(error.errno or 0, "fix that")
        reason = f"{error.strerror or error}; {advice} and run again. Nothing was changed."
        raise OutputError(reason, path=str(name)) from error


def _read_target(output: Path, files: Mapping[str, str], manifest: str) -> OutputTarget:
    spelled: dict[str, str] = {}
    for path in (manifest, *files):
        if path not in files or not output_state.is_plain_path(path):
            raise OutputError(f"{path!r} is not a name for a generated file.")
        for part in (*parent_folders(path), path):
            if spelled.setdefault(part.casefold(), part) != part:
                raise OutputError(f"{path!r}: another generated file differs in case only.")
    try:
        contents = {path: text.encode() for path, text in files.items()}
    except UnicodeEncodeError as error:
        raise OutputError(f"a generated file holds a surrogate: {error}.") from error
    try:
        is_named = output.name not in ("", "..")
        root = output.parent.resolve() / output.name if is_named else output.resolve()
        mode = output_state.file_mode(root)
    except (ValueError, RuntimeError) as error:
        raise OutputError(
            f"the path is not valid: {error}; choose another.", path=repr(output)
        ) from error
    if mode is not None and S_ISLNK(mode):
        reason = "is a symbolic link, which is not followed; name the folder that it points to."
        raise OutputError(reason, path=str(output))
    if mode is not None and not S_ISDIR(mode):
        raise OutputError("is not a folder; choose another place.", path=str(output))
    return OutputTarget(root, contents, manifest)


def _check_permitted(target: OutputTarget, changes: FileChanges, *, force: bool) -> None:
    edited = [path for path in changes.edited if path in changes.written]
    if edited and not force:
        names = output_state.list_paths(edited)
        reason = f"{names}: edited by hand; run again with --force to overwrite them."
        raise OutputError(reason, path=str(target.root))
    # Replacing a file needs no permission to write it, and root needs none at all: the mode tells
    # what was locked on purpose.
    for path in (*changes.written, *changes.removed):
        for part in ("", *parent_folders(path), path):
            mode = output_state.file_mode(target.root / part)
            if mode is not None and not mode & 0o222:
                reason = "is read-only; allow writing there and run again. Nothing was changed."
                raise OutputError(reason, path=str(target.root / part))


def _check_unchanged(target: OutputTarget, changes: FileChanges) -> None:
    if output_state.plan_changes(target) != changes:
        reason = "files there are being changed; run again. Nothing was changed."
        raise OutputError(reason, path=str(target.root))


def _try_to_replace_folder(target: OutputTarget, changes: FileChanges, staging_prefix: str) -> bool:
    try:
        with _staging_folder(target.root.parent, staging_prefix) as stage:
            _replace_folder(target, changes, stage / "new")
    except OSError:
        # The folder above may be closed, the folder a mount point, the system without a swap.
        if not target.root.exists():
            raise
        return False
    return True


def _replace_folder(target: OutputTarget, changes: FileChanges, new: Path) -> None:
    root = target.root
    new.mkdir(0o755)
    for path in changes.written:
        _write_file(make_folders(new, path), target.contents[path])
    for path in (*changes.unchanged, *changes.kept):
        link_file(root / path, make_folders(new, path))
    _check_unchanged(target, changes)
    for folder in {"", *(folder for path in target.contents for folder in parent_folders(path))}:
        if (mode := output_state.file_mode(root / folder)) is not None:
            (new / folder).chmod(S_IMODE(mode))
    if root.exists() and any(root.iterdir()):
        swap_folders(new, root)
    else:
        new.rename(root)


def _replace_files(target: OutputTarget, changes: FileChanges) -> None:
    root, manifest = target.root, target.manifest
    with _staging_folder(root, STAGING) as stage:
        new, old = stage / "new", stage / "old"
        for folder in (new, old):
            folder.mkdir()
        for path in changes.written:
            _write_file(make_folders(new, path), target.contents[path])
            if (root / path).exists():
                link_file(root / path, make_folders(old, path))
        _check_unchanged(target, changes)
        with _restore_on_error(root, changes, old):
            for path in changes.written:
                if path != manifest:
                    (new / path).replace(make_folders(root, path))
            for path in changes.removed:
                (root / path).replace(make_folders(old, path))
            for path in changes.folders:
                _remove_empty(root / path)
            if manifest in changes.written:
                (new / manifest).replace(make_folders(root, manifest))


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        inside = list(folder.iterdir())
        if all(map(output_state.is_disposable, inside)):
            for cache in inside:
                shutil.rmtree(cache)
            folder.rmdir()


@contextmanager
def _restore_on_error(root: Path, changes: FileChanges, old: Path) -> Iterator[None]:
    used_folders = {folder for path in changes.written for folder in parent_folders(path)}
    new_folders = sorted(folder for folder in used_folders if not (root / folder).exists())
    try:
        yield
    except BaseException:
        for path in (*changes.written, *changes.removed):
            with suppress(OSError):
                if (old / path).exists():
                    (old / path).replace(make_folders(root, path))
                elif path in changes.written:
                    (root / path).unlink(missing_ok=True)
        for folder in reversed(new_folders):
            with suppress(OSError):
                (root / folder).rmdir()
        raise


def make_folders(base: Path, path: str) -> Path:
    """Make the folders of a file below a resolved one, and return where the file goes."""
    target = base / path
    if not target.parent.resolve().is_relative_to(base):
        raise OutputError(f"{path!r} is outside the folder.", path=str(base))
    for folder in parent_folders(path):
        with suppress(FileExistsError):
            (base / folder).mkdir(0o755)
    return target


def _write_file(target: Path, data: bytes) -> None:
    # It survives a power cut; the umask decides who can read it.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(target, flags, 0o644), "wb") as file:  # noqa: PTH123 -- a descriptor
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def link_file(source: Path, target: Path) -> None:
    """Give a file a second name; copy it where the file system has no hard links."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)


@contextmanager
def _staging_folder(folder: Path, prefix: str) -> Iterator[Path]:
    stage = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _clear_staging_folders(folder: Path, prefix: str, *, is_locked: bool) -> None:
    for stage in output_state.find_staging_folders(folder, prefix):
        with suppress(OSError):
            if is_locked or time.time() - stage.stat().st_mtime > _ABANDONED:
                shutil.rmtree(stage)


@contextmanager
def _make_parents(folder: Path) -> Iterator[None]:
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
def lock_folder(folder: Path) -> Iterator[bool]:
    """Lock other generators out of a folder while this process lives, where that is possible."""
    handle, is_locked, deadline = -1, False, time.monotonic() + PATIENCE
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY) if fcntl else -1
    try:
        while handle >= 0 and not is_locked:
            try:
                # `flock`, as the system releases it when the process dies; a lock file would
                # stay.
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_locked = True
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    reason = (
                        "another openapi-tools process is writing here; wait until it has finished."
                    )
                    raise OutputError(reason, path=str(folder)) from None
                time.sleep(0.02)
            except OSError:
                break
        yield is_locked
    finally:
        if handle >= 0:
            os.close(handle)


def swap_folders(one: Path, other: Path) -> None:
    """Swap two folders in one step."""
    first, second = os.fsencode(one), os.fsencode(other)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":  # pragma: no cover -- macOS has its own name for it
            failed = libc.renamex_np(first, second, _EXCHANGE)
        else:
            failed = libc.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE)
    except (AttributeError, TypeError):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from None
    if failed:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))
