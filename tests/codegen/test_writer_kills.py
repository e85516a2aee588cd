"""Runs that are killed, meet another run, or find what such runs left."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from output_folders import (
    MANIFEST,
    MD,
    NEW,
    OLD,
    POSIX,
    PY,
    files_in,
    nothing_changes,
    nothing_kept,
    with_manifest,
)

from openapi_tools.codegen import output_state, writer
from openapi_tools.codegen.writer import write_files
from openapi_tools.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("shared", [False, True])
def test_a_file_that_changes_in_this_moment_is_noticed(out, monkeypatch, shared):
    if shared:
        (out / "own.py").write_text("")
    original = writer.link_file

    def keep(source: Path, target: Path) -> None:
        original(source, target)
        (out / "museum_tools" / "__init__.py").unlink(missing_ok=True)
        (out / "museum_tools" / "__init__.py").write_text("MINE = 1\n")

    monkeypatch.setattr(writer, "link_file", keep)
    with pytest.raises(OutputError, match="are being changed; run again"):
        write_files(out, NEW, manifest=MANIFEST)

    assert (out / "museum_tools" / "__init__.py").read_text() == "MINE = 1\n"
    assert (out / "README.md").read_text() == OLD["README.md"]


@POSIX
def test_a_second_generator_waits_and_then_says_so(output, monkeypatch):
    monkeypatch.setattr(writer, "PATIENCE", 0.05)

    expected = pytest.raises(OutputError, match="another openapi-tools process is writing here")
    with writer.lock_folder(output.parent) as is_locked, nothing_kept(output), expected:
        write_files(output, NEW, manifest=MANIFEST)

    assert is_locked
    write_files(output, NEW, manifest=MANIFEST)


@pytest.mark.parametrize("broken", ["absent", "refused", "closed"])
def test_without_locks_only_old_leftovers_are_deleted(out, monkeypatch, broken):
    original = os.open

    def refuse(path, *rest, **options):
        if path == out.parent or isinstance(path, int):
            raise PermissionError(errno.EACCES, "closed")
        return original(path, *rest, **options)

    if broken == "absent":
        monkeypatch.setattr(writer, "fcntl", None)
    else:
        where = (writer.fcntl, "flock") if broken == "refused" else (os, "open")
        monkeypatch.setattr(*where, refuse)
    fresh, old = (out.parent / f".out{output_state.STAGING}{name}" for name in ("fresh", "old"))
    for stage in (fresh, old):
        stage.mkdir()
    os.utime(old, (time.time() - 7200,) * 2)

    write_files(out, NEW, manifest=MANIFEST)

    assert files_in(out) == NEW
    assert fresh.exists()
    assert not old.exists()


def test_leftovers_are_deleted_and_nothing_that_looks_similar(out):
    name = f"{output_state.STAGING}abc"
    gone = [out.parent / f".out{name}", out / name]
    other = [out.parent / f".other{name}", out.parent / name]
    for folder in (*gone, *other):
        (folder / "new").mkdir(parents=True)
    file = out.parent / f".out{output_state.STAGING}file"
    file.write_text("mine")

    with nothing_changes(*other):
        write_files(out, OLD, manifest=MANIFEST)

    assert not any(folder.exists() for folder in gone)
    assert file.exists()


DRIVER = """
import json, os, random, shutil, signal, sys, time
from pathlib import Path
from openapi_tools.codegen.writer import write_files

task = json.loads(sys.stdin.read())
out, chance = Path(task["out"]), random.Random(3)
WRITES = {"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.chmod",
          "shutil.rmtree", "ctypes.dlsym"}


def start(files, *, step=None, times=1):
    # A child that places files; it kills itself before its write number `step`.
    child = os.fork()
    if child:
        return child
    left = step

    def kill(event, arguments):
        nonlocal left
        writes = event in WRITES or (event == "open" and (arguments[2] or 0) & os.O_CREAT)
        if writes:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    if task["stand"]:
        os.chdir(out)
    if step is not None:
        sys.addaudithook(kill)
    for _ in range(times):
        write_files(out, files, manifest="manifest.json")
    os._exit(0)


def killed(child):
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or status == 0, status
    return os.WIFSIGNALED(status)


def files():
    found = (path for path in out.rglob("*") if path.is_file())
    names = {path.relative_to(out).as_posix(): path.read_text() for path in found}
    return {name: text for name, text in names.items() if "staging" not in name}


def fresh():
    shutil.rmtree(out.parent, ignore_errors=True)
    out.parent.mkdir()
    if task["old"]:
        write_files(out, task["old"], manifest="manifest.json")
        for name, text in task["own"].items():
            (out / name).write_text(text)


def heal(goal):
    assert not killed(start(goal))
    left = [path.name for path in out.parent.rglob("*staging*")]
    return {"healed": files(), "left": left}
"""


def drive(out, code, **task):
    """Run code with the helpers above in a process of its own: forks want no threads."""
    task = {"old": OLD, "new": NEW, "own": {}, "stand": False, **task, "out": str(out)}
    run = [sys.executable, "-c", DRIVER + code]
    ended = subprocess.run(run, input=json.dumps(task), text=True, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


EVERY_STEP = """
results, step, going = [], 0, True
while going:
    fresh()
    going = killed(start(task["new"], step=step))
    found = files() if out.exists() else None
    goal = task["goals"][step % len(task["goals"])]
    results.append({"found": found, "goal": goal, **heal(goal)})
    step += 1
print(json.dumps(results))
"""
THIRD = with_manifest(
    {
        "README.md": MD + "Third.\n",
        "museum_tools/__init__.py": PY + "THIRD = 1\n",
        "museum_tools/tools_events.py": PY + "EVENTS = 3\n",
    }
)
OWN_FILES = {"own.py": "", "museum_tools/own.txt": "mine"}


@pytest.mark.long
@POSIX
@pytest.mark.parametrize("old", [OLD, {}], ids=["replaced", "made"])
def test_a_kill_before_any_step_leaves_the_old_or_the_new_package(tmp_path, old):
    results = drive(tmp_path / "a" / "out", EVERY_STEP, old=old, goals=[NEW, OLD, THIRD])

    states = [result["found"] for result in results]
    assert all(state in (old or None, NEW) for state in states)
    assert (states[0], states[-1]) == (old or None, NEW)
    assert len(states) > 15
    assert all((result["healed"], result["left"]) == (result["goal"], []) for result in results)


@pytest.mark.long
@POSIX
@pytest.mark.parametrize(
    ("own_files", "goals"),
    [(OWN_FILES, [NEW]), (OWN_FILES, [OLD]), (OWN_FILES, [THIRD]), ({}, [NEW, OLD, THIRD])],
    ids=["new", "old", "third", "standing"],
)
def test_a_kill_between_single_files_is_healed_by_the_next_run(tmp_path, own_files, goals):
    results = drive(
        tmp_path / "a" / "out", EVERY_STEP, own=own_files, stand=not own_files, goals=goals
    )

    ends = {**OLD, **own_files}, {**NEW, **own_files}
    for result in results:
        files = result["found"]
        assert own_files.items() <= files.items()
        assert all(
            text in (OLD.get(path), NEW.get(path), own_files.get(path))
            for path, text in files.items()
        )
        assert files[MANIFEST] != NEW[MANIFEST] or files == ends[1]
        assert (result["healed"], result["left"]) == ({**result["goal"], **own_files}, [])
    assert (results[0]["found"], results[-1]["found"]) == ends
    assert sum(result["found"] not in ends for result in results) > 4


@pytest.mark.long
@POSIX
def test_an_edit_after_a_killed_run_is_still_an_edit(tmp_path):
    code = """
step, changed = 0, []
while "README.md" not in changed:
    fresh()
    assert killed(start(task["new"], step=step))
    changed = [name for name, text in files().items() if text != task["old"].get(name)]
    step += 1
print(json.dumps(changed))
"""

    changed = drive(tmp_path / "a" / "out", code, stand=True)
    (tmp_path / "a" / "out" / "README.md").write_text("Mine.\n")

    assert changed == ["README.md"]
    with pytest.raises(OutputError, match=r"out: README\.md: edited by hand"):
        write_files(tmp_path / "a" / "out", NEW, manifest=MANIFEST)


@POSIX
@pytest.mark.parametrize("stand", [False, True])
@pytest.mark.parametrize("old", [OLD, {}], ids=["replaced", "made"])
def test_generators_at_the_same_time_leave_a_whole_package(tmp_path, old, stand):
    code = """
fresh()
out.mkdir(exist_ok=True)
children = [start(goal, times=8) for goal in (task["new"], task["third"]) * 2]
results = [killed(child) for child in children]
print(json.dumps([results, files(), [path.name for path in out.parent.iterdir()]]))
"""

    kills, files, left = drive(tmp_path / "a" / "out", code, old=old, third=THIRD, stand=stand)

    assert not any(kills)
    assert files in (NEW, THIRD)
    assert left == ["out"]
