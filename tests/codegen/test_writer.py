"""Generated files in a folder: what is written, kept, removed and refused."""

import errno
import json
import os
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
    files_in,
    inode,
    nothing_changes,
    with_manifest,
)

from openapi_tools.codegen import writer
from openapi_tools.codegen.output_state import Placed, digest
from openapi_tools.codegen.writer import compare, place
from openapi_tools.errors import OutputError


def test_an_absent_folder_is_made_with_those_above_it(tmp_path):
    placed = place(tmp_path / "a" / "b" / "out", OLD, manifest=MANIFEST)

    assert files_in(tmp_path / "a" / "b" / "out") == OLD
    assert placed == Placed(tuple(sorted(OLD)), (), (), (), ())
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["out"]


def test_only_what_differs_is_written_and_comparing_says_so_before(room):
    kept = {path: inode(room / path) for path in SAME}
    foreign = {path: text for path, text in files_in(room).items() if path not in OLD}

    with nothing_changes(room.parent):
        told = compare(room, NEW, manifest=MANIFEST)
        again = place(room, OLD, manifest=MANIFEST)
    placed = place(room, NEW, manifest=MANIFEST)

    assert again == Placed((), tuple(sorted(OLD)), (), (), ())
    assert told == placed == Placed(CHANGED, SAME, STALE, (), ())
    assert files_in(room) == {**NEW, **foreign}
    assert not (room / "museum_tools" / "old").exists()
    assert {path: inode(room / path) for path in SAME} == kept
    assert [path.name for path in room.parent.iterdir()] == ["out"]


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

    place(out, NEW, manifest=MANIFEST)

    assert (inode(out) == before) is bool(why)
    assert files_in(out) == NEW


def test_text_is_written_as_it_is(tmp_path):
    texts = {"a.md": "one\ntwo\r\nthree\rfour\u2028é🚀\x00", "b.py": ""}

    place(tmp_path / "out", with_manifest(texts), manifest=MANIFEST)

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
        place(tmp_path / "out", OLD, manifest=MANIFEST)
    finally:
        os.umask(before)

    modes = {path: (tmp_path / "out" / path).stat().st_mode & 0o777 for path in OLD}
    assert set(modes.values()) == {file}
    assert (tmp_path / "out" / "museum_tools").stat().st_mode & 0o777 == folder
    if not shared:
        assert (tmp_path / "out").stat().st_mode & 0o777 == folder


@POSIX
def test_folders_keep_their_modes(room, tmp_path):
    room.chmod(0o775)
    (room / "museum_tools").chmod(0o711)
    empty = tmp_path / "empty"
    empty.mkdir(0o750)

    place(room, NEW, manifest=MANIFEST)
    place(empty, NEW, manifest=MANIFEST)

    folders = (room, room / "museum_tools", empty)
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o775, 0o711, 0o750]


def test_a_single_module_lives_among_other_files(tmp_path):
    (tmp_path / "app.py").write_text("APP = 1\n")
    (tmp_path / "manifest.json").write_text('{"name": "an extension"}')
    own, name = files_in(tmp_path), "museum_tools.manifest.json"
    files = with_manifest({"museum_tools.py": PY}, name)

    place(tmp_path, files, manifest=name)
    other = with_manifest({"museum_tools.py": PY + "A = 1\n"}, name)
    placed = place(tmp_path, other, manifest=name)

    assert placed.written == (name, "museum_tools.py")
    assert files_in(tmp_path) == {**own, **other}


def test_an_edited_file_stops_everything_but_force(room):
    edited = ("README.md", "museum_tools/__init__.py")
    for path in edited:
        (room / path).write_text("Mine.\n")

    with nothing_changes(room), pytest.raises(OutputError) as failure:
        place(room, NEW, manifest=MANIFEST)
    told = compare(room, NEW, manifest=MANIFEST)
    placed = place(room, NEW, manifest=MANIFEST, force=True)

    assert failure.value.path == str(room)
    assert "README.md, museum_tools/__init__.py: edited by hand" in failure.value.reason
    assert "--force" in failure.value.reason
    assert told.edited == placed.edited == edited
    assert NEW.items() <= files_in(room).items()


def test_many_edited_files_are_counted(tmp_path):
    files = with_manifest({f"a{number}.py": PY for number in range(9)})
    place(tmp_path, files, manifest=MANIFEST)
    for path in tmp_path.glob("*.py"):
        path.write_text("MINE = 1\n")

    with pytest.raises(OutputError, match=r"a0\.py, .* a4\.py, and 4 more: edited by hand"):
        place(tmp_path, files, manifest=MANIFEST)


@pytest.mark.parametrize("text", [None, '{"generator": "openapi-tools",\n<<<<<<< ours\n'])
def test_without_a_manifest_the_first_line_tells_our_files(room, text):
    (room / MANIFEST).unlink()
    if text is not None:
        (room / MANIFEST).write_text(text)

    with pytest.raises(OutputError, match=r"README\.md, .*edited by hand"):
        place(room, NEW, manifest=MANIFEST)
    place(room, NEW, manifest=MANIFEST, force=True)

    assert NEW.items() <= files_in(room).items()
    assert STALE[0] in files_in(room)


def test_a_manifest_that_an_editor_laid_out_anew_is_no_edit(room):
    (room / MANIFEST).write_text(json.dumps(json.loads(OLD[MANIFEST])))

    placed = place(room, NEW, manifest=MANIFEST)

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
        place(tmp_path / "out", OLD, manifest=MANIFEST, force=force)
    with pytest.raises(OutputError, match="not generated; move that away"):
        compare(tmp_path / "out", OLD, manifest=MANIFEST)

    assert failure.value.reason.startswith(f"{path}: not generated; move that away")


def test_a_stale_file_that_was_edited_stays(room):
    (room / STALE[1]).write_text("MINE = 1\n")

    placed = place(room, NEW, manifest=MANIFEST)

    assert (placed.removed, placed.kept, placed.edited) == (STALE[:1], STALE[1:], STALE[1:])
    assert (room / STALE[1]).read_text() == "MINE = 1\n"
    assert not (room / STALE[0]).exists()


@pytest.mark.parametrize("path", ["museum_tools/old/own.txt", "museum_tools/old/__pycache__/own"])
def test_a_folder_with_a_file_of_the_user_stays(out, path):
    (out / path).parent.mkdir(exist_ok=True)
    (out / path).write_text("mine")
    (out / "notes").mkdir()

    place(out, NEW, manifest=MANIFEST)

    assert files_in(out) == {**NEW, path: "mine"}
    assert (out / "notes").is_dir()


def test_compiled_modules_go_with_their_folder(room):
    for folder in ("museum_tools", "museum_tools/old"):
        (room / folder / "__pycache__").mkdir()
        (room / folder / "__pycache__" / "tools.cpython-311.pyc").write_bytes(b"\0")

    place(room, NEW, manifest=MANIFEST)

    assert not (room / "museum_tools" / "old").exists()


@pytest.mark.parametrize("path", ["../victim", "/victim", ".git/config", "museum_tools/../own.py"])
def test_a_hostile_manifest_cannot_name_files_elsewhere(out, path):
    (out / ".git").mkdir()
    for victim in (out / ".git" / "config", out / "own.py", out.parent / "victim"):
        victim.write_text("mine")
    manifest = json.loads(OLD[MANIFEST])
    manifest["files"][path] = digest(b"mine")
    (out / MANIFEST).write_text(json.dumps(manifest))

    place(out, NEW, manifest=MANIFEST, force=True)

    assert {"own.py": "mine", ".git/config": "mine"}.items() <= files_in(out).items()
    assert (out.parent / "victim").read_text() == "mine"
