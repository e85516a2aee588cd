"""Put generated files where they belong, whole or not at all.

A new folder is prepared beside the old one and takes its place in one step. Where other files live
in the folder too, the generated ones are replaced one by one, the manifest last: a run that is
killed in between leaves its staging folder, and the next run knows by it which files are ours.
"""

from __future__ import annotations

import errno
import shutil
from contextlib import contextmanager, suppress
from stat import S_IMODE, S_ISDIR, S_ISLNK
from typing import TYPE_CHECKING

from openapi_tools.codegen import places
from openapi_tools.codegen.manifest import is_plain_path
from openapi_tools.codegen.places import STAGING, folders, ready
from openapi_tools.codegen.survey import Job, Placed, Survey, is_disposable, listed, mode_of, survey
from openapi_tools.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["Placed", "compare", "place"]

_ADVICE = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EACCES: "allow that, or choose another folder",
    errno.EPERM: "allow that, or choose another folder",
    errno.EROFS: "choose another folder",
    errno.ENOTDIR: "a file stands where a folder is needed: choose another folder",
    errno.EEXIST: "a file stands where a folder is needed: choose another folder",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def compare(output: Path, files: Mapping[str, str], *, manifest: str) -> Placed:
    """Tell what `place` would do, by force if need be; nothing is written.

    Args:
        output: The folder; it need not exist.
        files: All generated files, the manifest included: relative path with `/`, and text.
        manifest: Which of them is the manifest.

    Raises:
        OutputError: `place` could not do it, for instance since a foreign file is in the way.
    """
    with _told(output):
        return survey(Job(_root(output), _encoded(files, manifest), manifest)).placed


def place(output: Path, files: Mapping[str, str], *, manifest: str, force: bool = False) -> Placed:
    """Make a folder hold exactly these generated files; leave everything else in it alone.

    Args:
        output: The folder; it and those above it are made when absent.
        files: All generated files, the manifest included: relative path with `/`, and text.
        manifest: Which of them is the manifest.
        force: Whether to overwrite files that were edited by hand.

    Raises:
        OutputError: It cannot or may not be done; then everything is as it was.
    """
    with _told(output):
        job = Job(_root(output), _encoded(files, manifest), manifest)
        above, beside = job.root.parent, f".{job.root.name[:40]}{STAGING}"
        with places.parents(above), places.locked(above) as alone:
            places.clear(above, beside, alone=alone)
            found = survey(job)
            _refuse_edited(job, found.placed, force=force)
            if found.placed.written or found.placed.removed:
                _refuse_read_only(job, found.placed)
                _settle(job, found, beside)
            # Last: until now they told which files of a killed run are ours.
            places.clear(job.root, STAGING, alone=alone)
    return found.placed


@contextmanager
def _told(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        names = (error.filename2, error.filename)
        name = next((str(name) for name in names if name and STAGING not in str(name)), output)
        advice = _ADVICE.get(error.errno or 0, "put that right")
        reason = f"{error.strerror or error}; {advice} and run again. Nothing was changed."
        raise OutputError(reason, path=str(name)) from error


def _root(output: Path) -> Path:
    try:
        named = output.name not in ("", "..")
        root = output.parent.resolve() / output.name if named else output.resolve()
        mode = mode_of(root)
    except (ValueError, RuntimeError) as error:
        raise OutputError(f"no usable path: {error}; choose another.", path=repr(output)) from error
    if mode is not None and S_ISLNK(mode):
        reason = "is a symbolic link, which is not followed; name the folder that it points to."
        raise OutputError(reason, path=str(output))
    if mode is not None and not S_ISDIR(mode):
        raise OutputError("is no folder; choose another place.", path=str(output))
    return root


def _encoded(files: Mapping[str, str], manifest: str) -> dict[str, bytes]:
    spelled: dict[str, str] = {}
    for path in (manifest, *files):
        if path not in files or not is_plain_path(path):
            raise OutputError(f"{path!r} is no name for a generated file.")
        for part in (*folders(path), path):
            if spelled.setdefault(part.casefold(), part) != part:
                raise OutputError(f"{path!r}: another generated file differs in case only.")
    try:
        return {path: text.encode() for path, text in files.items()}
    except UnicodeEncodeError as error:
        raise OutputError(f"a generated file holds what is no text: {error}.") from error


def _refuse_edited(job: Job, placed: Placed, *, force: bool) -> None:
    edited = [path for path in placed.edited if path in placed.written]
    if edited and not force:
        reason = f"{listed(edited)}: edited by hand; run again with --force to overwrite that."
        raise OutputError(reason, path=str(job.root))


def _refuse_read_only(job: Job, placed: Placed) -> None:
    # Replacing a file needs no right to write it, and root needs none at all: what was locked on
    # purpose is found by its mode.
    for path in (*placed.written, *placed.removed):
        for part in ("", *folders(path), path):
            mode = mode_of(job.root / part)
            if mode is not None and not mode & 0o222:
                reason = "is read-only; allow writing there and run again. Nothing was changed."
                raise OutputError(reason, path=str(job.root / part))


def _refuse_changed(job: Job, found: Survey) -> None:
    if survey(job) != found:
        reason = "somebody changed files there in this moment; run again. Nothing was changed."
        raise OutputError(reason, path=str(job.root))


def _settle(job: Job, found: Survey, beside: str) -> None:
    if found.whole:
        try:
            _replace_folder(job, found, beside)
        except OSError:
            # The folder above may be closed, the folder a mount point, the system without a swap.
            if not job.root.exists():
                raise
        else:
            return
    _replace_files(job, found)


def _replace_folder(job: Job, found: Survey, beside: str) -> None:
    with places.staging(job.root.parent, beside) as stage:
        new = stage / "new"
        new.mkdir(0o755)
        for path in found.placed.written:
            places.write(ready(new, path), job.contents[path])
        for path in (*found.placed.unchanged, *found.placed.kept):
            places.keep(job.root / path, ready(new, path))
        _refuse_changed(job, found)
        for folder in {"", *(folder for path in job.contents for folder in folders(path))}:
            if (mode := mode_of(job.root / folder)) is not None:
                (new / folder).chmod(S_IMODE(mode))
        if job.root.exists() and any(job.root.iterdir()):
            places.exchange(new, job.root)
        else:
            new.rename(job.root)


def _replace_files(job: Job, found: Survey) -> None:
    with places.staging(job.root, STAGING) as stage:
        new, old = stage / "new", stage / "old"
        for folder in (new, old):
            folder.mkdir()
        for path in found.placed.written:
            places.write(ready(new, path), job.contents[path])
            if (job.root / path).exists():
                places.keep(job.root / path, ready(old, path))
        _refuse_changed(job, found)
        with _undone(job, found.placed, old):
            for path in found.placed.written:
                if path != job.manifest:
                    (new / path).replace(ready(job.root, path))
            for path in found.placed.removed:
                (job.root / path).replace(ready(old, path))
            for path in found.folders:
                _remove_empty(job.root / path)
            if job.manifest in found.placed.written:
                (new / job.manifest).replace(ready(job.root, job.manifest))


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        inside = list(folder.iterdir())
        if all(map(is_disposable, inside)):
            for cache in inside:
                shutil.rmtree(cache)
            folder.rmdir()


@contextmanager
def _undone(job: Job, placed: Placed, old: Path) -> Iterator[None]:
    """Put everything back when the body does not come to its end."""
    needed = {folder for path in placed.written for folder in folders(path)}
    fresh = sorted(folder for folder in needed if not (job.root / folder).exists())
    try:
        yield
    except BaseException:
        for path in (*placed.written, *placed.removed):
            with suppress(OSError):
                if (old / path).exists():
                    (old / path).replace(ready(job.root, path))
                elif path in placed.written:
                    (job.root / path).unlink(missing_ok=True)
        for folder in reversed(fresh):
            with suppress(OSError):
                (job.root / folder).rmdir()
        raise
