"""Generated files in a folder: what is written, kept, removed and refused, and what fails."""

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
from openapi_tools.codegen.output_state import read_manifest, sha256_of
from openapi_tools.codegen.writer import plan_files, write_files
from openapi_tools.errors import OutputError


def test_an_absent_folder_is_made_with_those_above_it(tmp_path):
    placed = write_files(tmp_path / "a" / "b" / "out", OLD, manifest=MANIFEST)

    assert files_in(tmp_path / "a" / "b" / "out") == OLD
    assert placed[:5] == (tuple(sorted(OLD)), (), (), (), ())
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["out"]


def test_only_what_differs_is_written_and_comparing_says_so_before(output):
    kept = {path: inode(output / path) for path in SAME}
    foreign = {path: text for path, text in files_in(output).items() if path not in OLD}

    with nothing_changes(output.parent):
        report = plan_files(output, NEW, manifest=MANIFEST)
        again = write_files(output, OLD, manifest=MANIFEST)
    placed = write_files(output, NEW, manifest=MANIFEST)

    assert again[:5] == ((), tuple(sorted(OLD)), (), (), ())
    assert report[:5] == placed[:5] == (CHANGED, SAME, STALE, (), ())
    assert files_in(output) == {**NEW, **foreign}
    assert not (output / "museum_tools" / "old").exists()
    assert {path: inode(output / path) for path in SAME} == kept
    assert [path.name for path in output.parent.iterdir()] == ["out"]


def closed_above(out, monkeypatch):
    """Let the folder above take no other one."""
    original = os.mkdir

    def mkdir(path, *rest, **options):
        if Path(path).parent == out.parent:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        original(path, *rest, **options)

    monkeypatch.setattr(os, "mkdir", mkdir)


IN_PLACE = {
    "a shell is in it": lambda out, patch: patch.chdir(out),
    "a shell is below it": lambda out, patch: patch.chdir(out / "museum_tools"),
    "no swap": lambda _, patch: patch.setattr(writer.ctypes, "CDLL", lambda *_, **__: object()),
    "closed above": closed_above,
}


@POSIX
@pytest.mark.parametrize("why", [None, *IN_PLACE])
def test_a_package_that_is_ours_alone_is_replaced_in_one_step_where_that_can_be(
    out, monkeypatch, why
):
    before = inode(out)
    IN_PLACE.get(why, lambda *_: None)(out, monkeypatch)

    write_files(out, NEW, manifest=MANIFEST)

    assert (inode(out) == before) is bool(why)
    assert files_in(out) == NEW


def test_text_is_written_as_it_is(tmp_path):
    texts = {"a.md": "one\ntwo\r\nthree\rfour\u2028é🚀\x00", "b.py": ""}

    write_files(tmp_path / "out", with_manifest(texts), manifest=MANIFEST)

    for path, text in texts.items():
        assert (tmp_path / "out" / path).read_bytes() == text.encode()


@POSIX
@pytest.mark.parametrize(("mask", "folder", "file"), [(0, 0o755, 0o644), (0o077, 0o700, 0o600)])
@pytest.mark.parametrize("shared", [False, True])
def test_modes_are_the_usual_ones(tmp_path, mask, folder, file, shared):
    if shared:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "own").write_text("")
    before = os.umask(mask)
    try:
        write_files(tmp_path / "out", OLD, manifest=MANIFEST)
    finally:
        os.umask(before)

    modes = {path: (tmp_path / "out" / path).stat().st_mode & 0o777 for path in OLD}
    assert set(modes.values()) == {file}
    assert (tmp_path / "out" / "museum_tools").stat().st_mode & 0o777 == folder
    if not shared:
        assert (tmp_path / "out").stat().st_mode & 0o777 == folder


@POSIX
def test_folders_keep_their_modes(output, tmp_path):
    output.chmod(0o775)
    (output / "museum_tools").chmod(0o711)
    empty = tmp_path / "empty"
    empty.mkdir(0o750)

    write_files(output, NEW, manifest=MANIFEST)
    write_files(empty, NEW, manifest=MANIFEST)

    folders = (output, output / "museum_tools", empty)
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o775, 0o711, 0o750]


def test_an_edited_file_stops_everything_but_force(output):
    edited = ("README.md", "museum_tools/__init__.py")
    for path in edited:
        (output / path).write_text("Mine.\n")

    with nothing_changes(output), pytest.raises(OutputError) as failure:
        write_files(output, NEW, manifest=MANIFEST)
    report = plan_files(output, NEW, manifest=MANIFEST)
    placed = write_files(output, NEW, manifest=MANIFEST, force=True)

    assert failure.value.path == str(output)
    assert "README.md, museum_tools/__init__.py: edited by hand" in failure.value.reason
    assert "--force" in failure.value.reason
    assert report.edited == placed.edited == edited
    assert NEW.items() <= files_in(output).items()


def test_many_edited_files_are_counted(tmp_path):
    files = with_manifest({f"a{number}.py": PY for number in range(9)})
    write_files(tmp_path, files, manifest=MANIFEST)
    for path in tmp_path.glob("*.py"):
        path.write_text("MINE = 1\n")

    with pytest.raises(OutputError, match=r"a0\.py, .* a4\.py, and 4 more: edited by hand"):
        write_files(tmp_path, files, manifest=MANIFEST)


@pytest.mark.parametrize("text", [None, '{"generator": "openapi-tools",\n<<<<<<< ours\n'])
def test_without_a_manifest_the_first_line_marks_our_files(output, text):
    (output / MANIFEST).unlink()
    if text is not None:
        (output / MANIFEST).write_text(text)

    with pytest.raises(OutputError, match=r"README\.md, .*edited by hand"):
        write_files(output, NEW, manifest=MANIFEST)
    write_files(output, NEW, manifest=MANIFEST, force=True)

    assert NEW.items() <= files_in(output).items()
    assert STALE[0] in files_in(output)


def test_a_manifest_that_an_editor_reformatted_is_no_edit(output):
    (output / MANIFEST).write_text(json.dumps(json.loads(OLD[MANIFEST])))

    placed = write_files(output, NEW, manifest=MANIFEST)

    assert placed.edited == ()
    assert placed.removed == STALE


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("README.md", "# My project\n"),
        ("README.md", ""),
        ("README.md", "My notes.\n" + MD),
        ("museum_tools/py.typed", "partial\n"),
        ("museum_tools/__init__.py", "OWN = 1\n"),
        (MANIFEST, '{"name": "an extension"}'),
        (MANIFEST, '{"name": "x", "by": {"generator": "openapi-tools"}}'),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_a_foreign_file_is_never_overwritten(tmp_path, path, text, force):
    (tmp_path / "out" / path).parent.mkdir(parents=True)
    (tmp_path / "out" / path).write_text(text)

    with nothing_changes(tmp_path), pytest.raises(OutputError) as failure:
        write_files(tmp_path / "out", OLD, manifest=MANIFEST, force=force)
    with pytest.raises(OutputError, match="not generated; move that away"):
        plan_files(tmp_path / "out", OLD, manifest=MANIFEST)

    assert failure.value.reason.startswith(f"{path}: not generated; move that away")


@pytest.mark.parametrize("path", ["museum_tools/old/own.txt", "museum_tools/old/__pycache__/own"])
def test_a_folder_with_a_file_of_the_user_stays(out, path):
    (out / path).parent.mkdir(exist_ok=True)
    (out / path).write_text("mine")
    (out / "notes").mkdir()

    write_files(out, NEW, manifest=MANIFEST)

    assert files_in(out) == {**NEW, path: "mine"}
    assert (out / "notes").is_dir()


def test_compiled_modules_go_with_their_folder(output):
    for folder in ("museum_tools", "museum_tools/old"):
        (output / folder / "__pycache__").mkdir()
        (output / folder / "__pycache__" / "tools.cpython-311.pyc").write_bytes(b"\0")

    write_files(output, NEW, manifest=MANIFEST)

    assert not (output / "museum_tools" / "old").exists()


@pytest.mark.parametrize("path", ["../victim", "/victim", ".git/config", "museum_tools/../own.py"])
def test_a_hostile_manifest_cannot_name_files_elsewhere(out, path):
    (out / ".git").mkdir()
    for victim in (out / ".git" / "config", out / "own.py", out.parent / "victim"):
        victim.write_text("mine")
    manifest = json.loads(OLD[MANIFEST])
    manifest["files"][path] = sha256_of(b"mine")
    (out / MANIFEST).write_text(json.dumps(manifest))

    write_files(out, NEW, manifest=MANIFEST, force=True)

    assert {"own.py": "mine", ".git/config": "mine"}.items() <= files_in(out).items()
    assert (out.parent / "victim").read_text() == "mine"


UNUSABLE = {
    "file": "is not a folder; choose another place",
    "file/inner": "a file is in the way: choose another folder",
    "file/inner/most": "a file is in the way: choose another folder",
    "link": "link: is a symbolic link, which is not followed; name the folder that it points to",
    "dangling": "dangling: is a symbolic link",
    "a\0b": "the path is not valid",
    "\ud800": "the path is not valid",
    **dict.fromkeys(["o" * 300, "é" * 200, "x/" * 3000 + "x"], "choose a shorter name"),
}


@POSIX
@pytest.mark.parametrize("check", [plan_files, write_files])
@pytest.mark.parametrize("where", UNUSABLE, ids=lambda where: f"{where[:15]!a}")
def test_what_cannot_be_the_folder_is_refused_and_a_link_not_followed(tmp_path, where, check):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("absent")

    with nothing_changes(tmp_path), pytest.raises(OutputError, match=UNUSABLE[where]) as failure:
        check(tmp_path / where, OLD, manifest=MANIFEST)

    assert "\n" not in str(failure.value)


@POSIX
@pytest.mark.parametrize("target", ["../victim/victim.py", "tools_events.py", "absent"])
@pytest.mark.parametrize("path", ["museum_tools/__init__.py", "README.md", MANIFEST])
def test_a_link_at_a_file_is_not_followed(out, path, target):
    (out.parent / "victim").mkdir()
    (out.parent / "victim" / "victim.py").write_text(PY)
    (out / path).unlink()
    (out / path).symlink_to(target)

    for force in (False, True):
        with nothing_changes(out.parent), pytest.raises(OutputError) as failure:
            write_files(out, NEW, manifest=MANIFEST, force=force)

        assert failure.value.path == str(out / path)
        assert "this is not a generated" in failure.value.reason


@POSIX
@pytest.mark.parametrize(
    ("path", "make", "kind"),
    [
        ("README.md", Path.mkdir, "file"),
        ("README.md", os.mkfifo, "file"),
        ("museum_tools/new", Path.touch, "folder"),
        ("museum_tools", lambda path: path.symlink_to("../victim"), "folder"),
    ],
)
def test_something_else_in_the_way_is_refused(out, path, make, kind):
    if (out / path).exists():
        (out / path).rename(out.parent / "victim")
    make(out / path)

    with pytest.raises(OutputError, match=f"{path}: this is not a generated {kind}"):
        write_files(out, NEW, manifest=MANIFEST, force=True)
    assert (out / MANIFEST).read_text() == OLD[MANIFEST]


@POSIX
def test_stale_files_behind_a_link_stay(out):
    (out / "museum_tools" / "old").rename(out.parent / "victim")
    (out / "museum_tools" / "old").symlink_to("../../victim")

    with nothing_changes(out.parent / "victim"):
        placed = write_files(out, NEW, manifest=MANIFEST, force=True)

    assert (placed.removed, placed.kept) == ((), STALE)
    assert (out / "museum_tools" / "old").is_symlink()
    assert NEW.items() <= files_in(out).items()


@POSIX
def test_a_cache_folder_that_is_a_link_is_not_followed(out):
    (out.parent / "victim").mkdir()
    (out.parent / "victim" / "a.pyc").write_text("")
    (out / "museum_tools" / "old" / "__pycache__").symlink_to(out.parent / "victim")

    with nothing_changes(out.parent / "victim"):
        write_files(out, NEW, manifest=MANIFEST, force=True)

    assert (out / "museum_tools" / "old" / "__pycache__").is_symlink()


OUTSIDE = [
    *("", ".", "..", "../a", "a/../../b", "a/..", "/etc/passwd", "//host/share", "C:/a", "C:a"),
    *("a\\b", "..\\a", "a\0", "a\n", "a/", "a//b", "./a", ".git/config", "a/.git/hooks/x"),
    *("-rf", "a b", "é.py", "~", "~/a", "a.py:stream"),
]


@pytest.mark.parametrize("path", OUTSIDE, ids=repr)
def test_a_path_that_leads_elsewhere_is_refused(tmp_path, path):
    for check in (plan_files, write_files):
        with pytest.raises(OutputError, match="is not a name for a generated file") as failure:
            check(tmp_path / "out", {**OLD, path: ""}, manifest=MANIFEST)

        assert "\n" not in str(failure.value)
    assert list(tmp_path.iterdir()) == []
    manifest = json.loads(OLD[MANIFEST])
    assert read_manifest(json.dumps(manifest))
    assert read_manifest(json.dumps({**manifest, "files": {path: sha256_of(b"")}})) is None


@POSIX
@pytest.mark.parametrize("path", ["../a.py", "link/a.py", "b/../../a.py", "/a.py"])
def test_the_last_check_before_writing_is_on_the_real_folder(tmp_path, path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link").symlink_to("..")

    with nothing_changes(tmp_path), pytest.raises(OutputError, match="is outside the folder"):
        writer.make_folders(tmp_path / "out", path)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (("a.py", "A.py"), "differs in case only"),
        (("a/b.py", "A/c.py"), "differs in case only"),
        (("a", "A/b"), "differs in case only"),
        ({"a.py": "\ud800"}, "a generated file holds a surrogate"),
    ],
)
def test_names_that_differ_in_case_only_and_a_text_that_is_no_text_are_refused(
    tmp_path, files, message
):
    extra_files = files if isinstance(files, dict) else dict.fromkeys(files, "")

    with pytest.raises(OutputError, match=message):
        write_files(tmp_path / "out", {**OLD, **extra_files}, manifest=MANIFEST)

    assert list(tmp_path.iterdir()) == []


def test_a_stale_name_that_differs_in_case_only_is_left_alone(tmp_path):
    write_files(tmp_path / "out", with_manifest({"Readme.md": MD}), manifest=MANIFEST)

    placed = write_files(
        tmp_path / "out", with_manifest({"README.md": MD + "New."}), manifest=MANIFEST
    )

    assert (placed.removed, placed.kept) == ((), ())
    assert (tmp_path / "out" / "README.md").read_text() == MD + "New."


@POSIX
@pytest.mark.parametrize("name", ["o" * 250, "é" * 100])
def test_a_long_name_leaves_room_for_the_staging_folder(tmp_path, name):
    write_files(tmp_path / name, OLD, manifest=MANIFEST)

    assert files_in(tmp_path / name) == OLD


@POSIX
@pytest.mark.parametrize("locked", ["", "museum_tools", "museum_tools/old", "README.md"])
def test_what_is_read_only_stays_as_it_is(output, locked):
    mode = (output / locked).stat().st_mode
    (output / locked).chmod(mode & 0o555)

    try:
        with nothing_changes(output), pytest.raises(OutputError, match="is read-only") as failure:
            write_files(output, NEW, manifest=MANIFEST)
        assert write_files(output, OLD, manifest=MANIFEST).written == ()
    finally:
        (output / locked).chmod(mode)

    assert failure.value.path == str(output / locked)


@pytest.mark.parametrize(
    ("name", "after", "code", "advice"),
    [
        ("mkdir", 0, errno.EROFS, "Read-only file system; choose another folder and run again."),
        ("mkdir", 2, errno.EACCES,
         "Permission denied; allow that, or choose another folder and run again."),
        ("fsync", 0, errno.ENOSPC, "No space left on device; free some space and run again."),
        ("fsync", 2, errno.EIO, "fix that and run again. Nothing was changed."),
    ],
)  # fmt: skip
def test_a_failure_while_preparing_changes_nothing(output, monkeypatch, code, advice, name, after):
    with nothing_kept(output), monkeypatch.context() as patch:
        failing(patch, name, code, after=after)
        with pytest.raises(OutputError) as failure:
            write_files(output, NEW, manifest=MANIFEST)

    assert advice in failure.value.reason
    assert "\n" not in str(failure.value)
    assert failure.value.path.startswith(str(output))
    assert "staging" not in str(failure.value)


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("after", range(len(CHANGED) + len(STALE)))
def test_a_failure_among_single_files_is_undone(output, monkeypatch, error, after):
    (output / "own.py").write_text("OWN = 1\n")
    original, calls = Path.replace, iter(range(100))

    def replace(self: Path, target: Path) -> Path:
        if next(calls) == after:
            raise error
        return original(self, target)

    expected = OutputError if isinstance(error, OSError) else KeyboardInterrupt
    with nothing_kept(output), monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        with pytest.raises(expected):
            write_files(output, NEW, manifest=MANIFEST)


def test_a_failure_takes_made_folders_away(tmp_path, monkeypatch):
    with pytest.raises(OutputError, match="choose a shorter name"):
        write_files(tmp_path / "a" / ("o" * 300), OLD, manifest=MANIFEST)
    failing(monkeypatch, "fsync", errno.ENOSPC, after=3)
    with pytest.raises(OutputError, match="No space left"):
        write_files(tmp_path / "a" / "b" / "out", OLD, manifest=MANIFEST)

    assert list(tmp_path.iterdir()) == []


def test_without_hard_links_files_are_copied(output, monkeypatch):
    failing(monkeypatch, "link", errno.EPERM)
    times = {path: (output / path).stat().st_mtime_ns for path in SAME}

    write_files(output, NEW, manifest=MANIFEST)

    assert NEW.items() <= files_in(output).items()
    assert {path: (output / path).stat().st_mtime_ns for path in SAME} == times


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_file_that_does_not_fit_leaves_the_old_package(out):
    files = with_manifest({"big.py": PY + "#" * 200_000})
    code = """
import json, pathlib, resource, sys
from openapi_tools.codegen.writer import write_files
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
write_files(pathlib.Path(sys.argv[1]), json.loads(sys.stdin.read()), manifest="manifest.json")
"""

    with nothing_kept(out):
        run = [sys.executable, "-c", code, str(out)]
        ended = subprocess.run(
            run, input=json.dumps(files), text=True, capture_output=True, check=False
        )

    assert ended.returncode == 1
    assert "OutputError" in ended.stderr
    assert "File too large" in ended.stderr
