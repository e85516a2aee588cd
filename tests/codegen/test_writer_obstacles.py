from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from output_folders import (
    CHANGED,
    MANIFEST,
    MD,
    NEW,
    OLD,
    POSIX,
    PY,
    SAME,
    STALE,
    failing,
    files_in,
    inode,
    nothing_changes,
    nothing_kept,
    with_manifest,
)

from openapi_tools.codegen import writer
from openapi_tools.codegen.writer import compare, place
from openapi_tools.errors import OutputError


@POSIX
@pytest.mark.parametrize("target", ["real", "absent"])
def test_a_link_as_the_folder_is_not_followed(tmp_path, target):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(target)

    with nothing_changes(tmp_path), pytest.raises(OutputError, match="out: is a symbolic link"):
        place(tmp_path / "out", OLD, manifest=MANIFEST)
    with pytest.raises(OutputError, match="name the folder that it points to"):
        compare(tmp_path / "out", OLD, manifest=MANIFEST)


@POSIX
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("target", ["../victim/victim.py", "tools_events.py", "absent"])
@pytest.mark.parametrize("path", ["museum_tools/__init__.py", "README.md", MANIFEST])
def test_a_link_at_a_file_is_not_followed(out, path, target, force):
    (out.parent / "victim").mkdir()
    (out.parent / "victim" / "victim.py").write_text(PY)
    (out / path).unlink()
    (out / path).symlink_to(target)

    with nothing_changes(out.parent), pytest.raises(OutputError) as failure:
        place(out, NEW, manifest=MANIFEST, force=force)

    assert failure.value.path == str(out / path)
    assert "belongs here" in failure.value.reason


@POSIX
def test_a_link_at_a_folder_is_not_followed(out):
    (out / "museum_tools").rename(out.parent / "victim")
    (out / "museum_tools").symlink_to("../victim")

    with nothing_changes(out.parent), pytest.raises(OutputError, match="museum_tools: a generated"):
        place(out, NEW, manifest=MANIFEST, force=True)


@POSIX
def test_stale_files_behind_a_link_stay(out):
    (out / "museum_tools" / "old").rename(out.parent / "victim")
    (out / "museum_tools" / "old").symlink_to("../../victim")

    with nothing_changes(out.parent / "victim"):
        placed = place(out, NEW, manifest=MANIFEST, force=True)

    assert (placed.removed, placed.kept) == ((), STALE)
    assert (out / "museum_tools" / "old").is_symlink()
    assert NEW.items() <= files_in(out).items()


@POSIX
def test_a_cache_folder_that_is_a_link_is_not_followed(out):
    (out.parent / "victim").mkdir()
    (out.parent / "victim" / "a.pyc").write_text("")
    (out / "museum_tools" / "old" / "__pycache__").symlink_to(out.parent / "victim")

    with nothing_changes(out.parent / "victim"):
        place(out, NEW, manifest=MANIFEST, force=True)

    assert (out / "museum_tools" / "old" / "__pycache__").is_symlink()


@POSIX
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_something_that_is_no_file_is_in_the_way(out, make):
    (out / "README.md").unlink()
    make(out / "README.md")

    with pytest.raises(OutputError, match=r"README\.md: a generated file belongs here"):
        place(out, NEW, manifest=MANIFEST, force=True)


def test_a_file_in_place_of_a_folder_inside_is_refused(out):
    (out / "museum_tools" / "new").write_text("mine")

    with nothing_changes(out), pytest.raises(OutputError, match="new: a generated folder belongs"):
        place(out, NEW, manifest=MANIFEST, force=True)


@pytest.mark.parametrize("where", ["out", "out/inner", "out/inner/most"])
def test_a_file_in_place_of_the_folder_is_refused(tmp_path, where):
    (tmp_path / "out").write_text("mine")

    with nothing_changes(tmp_path), pytest.raises(OutputError) as failure:
        place(tmp_path / where, OLD, manifest=MANIFEST)

    assert "\n" not in str(failure.value)
    assert "choose another" in failure.value.reason


@pytest.mark.parametrize(
    "path",
    [
        *("../a", "/a", "a/../../b", "a\\b", "C:a", "", ".", "a\0", "a b", "é", ".git/config"),
        *("a\n", "~"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("check", [compare, place])
def test_a_path_that_leads_elsewhere_is_refused(tmp_path, path, check):
    with pytest.raises(OutputError, match="is not a name for a generated file") as failure:
        check(tmp_path / "out", {**OLD, path: ""}, manifest=MANIFEST)

    assert "\n" not in str(failure.value)
    assert list(tmp_path.iterdir()) == []


@POSIX
@pytest.mark.parametrize("path", ["../a.py", "link/a.py", "b/../../a.py", "/a.py"])
def test_the_last_check_before_writing_is_on_the_real_folder(tmp_path, path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link").symlink_to("..")

    with nothing_changes(tmp_path), pytest.raises(OutputError, match="leads out of the folder"):
        writer.make_folders(tmp_path / "out", path)


@pytest.mark.parametrize("paths", [("a.py", "A.py"), ("a/b.py", "A/c.py"), ("a", "A/b")])
def test_paths_that_differ_in_case_only_are_refused(tmp_path, paths):
    with pytest.raises(OutputError, match="differs in case only"):
        place(tmp_path / "out", {**OLD, **dict.fromkeys(paths, "")}, manifest=MANIFEST)

    assert list(tmp_path.iterdir()) == []


def test_a_stale_name_that_differs_in_case_only_is_left_alone(tmp_path):
    place(tmp_path / "out", with_manifest({"Readme.md": MD}), manifest=MANIFEST)

    placed = place(tmp_path / "out", with_manifest({"README.md": MD + "New."}), manifest=MANIFEST)

    assert (placed.removed, placed.kept) == ((), ())
    assert (tmp_path / "out" / "README.md").read_text() == MD + "New."


def test_a_text_that_is_no_text_is_refused(tmp_path):
    with pytest.raises(OutputError, match="a generated file holds a surrogate"):
        place(tmp_path / "out", {**OLD, "a.py": "\ud800"}, manifest=MANIFEST)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a\0b", "\ud800"], ids=repr)
def test_an_impossible_folder_is_refused(tmp_path, name):
    with pytest.raises(OutputError, match="no usable path"):
        place(tmp_path / name, OLD, manifest=MANIFEST)


@POSIX
@pytest.mark.parametrize("name", ["o" * 300, "é" * 200, "x/" * 3000 + "x", "a/" + "o" * 300])
def test_a_name_that_is_too_long_is_refused(tmp_path, name):
    with pytest.raises(OutputError, match="choose a shorter name"):
        place(tmp_path / name, OLD, manifest=MANIFEST)

    assert list(tmp_path.iterdir()) == []


@POSIX
@pytest.mark.parametrize("name", ["o" * 250, "é" * 100])
def test_a_long_name_leaves_room_for_the_staging_folder(tmp_path, name):
    place(tmp_path / name, OLD, manifest=MANIFEST)

    assert files_in(tmp_path / name) == OLD


@POSIX
@pytest.mark.parametrize("locked", ["", "museum_tools", "museum_tools/old", "README.md"])
def test_what_is_read_only_stays_as_it_is(room, locked):
    mode = (room / locked).stat().st_mode
    (room / locked).chmod(mode & 0o555)

    try:
        with nothing_changes(room), pytest.raises(OutputError, match="is read-only") as failure:
            place(room, NEW, manifest=MANIFEST)
        assert place(room, OLD, manifest=MANIFEST).written == ()
    finally:
        (room / locked).chmod(mode)

    assert failure.value.path == str(room / locked)


def test_a_folder_above_that_takes_no_folder_means_one_file_after_the_other(out, monkeypatch):
    original, before = os.mkdir, inode(out)

    def mkdir(path, *rest, **options):
        if Path(path).parent == out.parent:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        original(path, *rest, **options)

    monkeypatch.setattr(os, "mkdir", mkdir)
    place(out, NEW, manifest=MANIFEST)
    with pytest.raises(OutputError, match="Permission denied; allow that"):
        place(out.parent / "other", NEW, manifest=MANIFEST)

    assert inode(out) == before
    assert files_in(out) == NEW


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "No space left on device; free some space and run again."),
        (errno.EROFS, "Read-only file system; choose another folder and run again."),
        (errno.EACCES, "Permission denied; allow that, or choose another folder and run again."),
        (errno.EIO, "put that right and run again. Nothing was changed."),
    ],
)
@pytest.mark.parametrize(
    ("name", "after"), [("mkdir", 0), ("mkdir", 2), ("fsync", 0), ("fsync", 2)]
)
def test_a_failure_while_preparing_changes_nothing(room, monkeypatch, code, advice, name, after):
    with nothing_kept(room), monkeypatch.context() as patch:
        failing(patch, name, code, after=after)
        with pytest.raises(OutputError) as failure:
            place(room, NEW, manifest=MANIFEST)

    assert advice in failure.value.reason
    assert "\n" not in str(failure.value)
    assert failure.value.path.startswith(str(room))
    assert "staging" not in str(failure.value)


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("after", range(8))
def test_a_failure_among_single_files_is_undone(room, monkeypatch, error, after):
    (room / "own.py").write_text("OWN = 1\n")
    original, calls = Path.replace, iter(range(100))

    def replace(self: Path, target: Path) -> Path:
        if next(calls) == after:
            raise error
        return original(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        if after >= len(CHANGED) + len(STALE):
            place(room, NEW, manifest=MANIFEST)
            return
        with nothing_kept(room), pytest.raises((OutputError, KeyboardInterrupt)) as failure:
            place(room, NEW, manifest=MANIFEST)

    assert failure.type is (OutputError if isinstance(error, OSError) else KeyboardInterrupt)


def test_a_failure_takes_made_folders_away(tmp_path, monkeypatch):
    failing(monkeypatch, "fsync", errno.ENOSPC, after=3)

    with pytest.raises(OutputError, match="No space left"):
        place(tmp_path / "a" / "b" / "out", OLD, manifest=MANIFEST)

    assert list(tmp_path.iterdir()) == []


def test_without_hard_links_files_are_copied(room, monkeypatch):
    failing(monkeypatch, "link", errno.EPERM)
    times = {path: (room / path).stat().st_mtime_ns for path in SAME}

    place(room, NEW, manifest=MANIFEST)

    assert NEW.items() <= files_in(room).items()
    assert {path: (room / path).stat().st_mtime_ns for path in SAME} == times


def test_a_system_without_the_swap_is_served(out, monkeypatch):
    monkeypatch.setattr(writer.ctypes, "CDLL", lambda *_, **__: object())
    before = inode(out)

    place(out, NEW, manifest=MANIFEST)

    assert inode(out) == before
    assert files_in(out) == NEW


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_file_that_does_not_fit_leaves_the_old_package(out):
    files = with_manifest({"big.py": PY + "#" * 200_000})
    code = """
import json, pathlib, resource, sys
from openapi_tools.codegen.writer import place
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
place(pathlib.Path(sys.argv[1]), json.loads(sys.stdin.read()), manifest="manifest.json")
"""

    with nothing_kept(out):
        run = [sys.executable, "-c", code, str(out)]
        ended = subprocess.run(
            run, input=json.dumps(files), text=True, capture_output=True, check=False
        )

    assert ended.returncode == 1
    assert "OutputError" in ended.stderr
    assert "File too large" in ended.stderr
