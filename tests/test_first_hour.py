"""The first hour: README and tutorial, word by word, in an empty folder and environment."""

import os
import re
import shutil
import subprocess

import pytest
from doc_pages import FENCE, README, ROOT, TUTORIAL, blocks, commands_of, printed_by

pytestmark = pytest.mark.long

NOT_THERE = ("No matching distribution found", "Could not find a version", "Connection")
SAVED = re.compile(r"save\s+this\s+as `(\S+)`:\s*$", re.IGNORECASE)
END = "end-of-a-block"


class Shell:
    """One shell, as a reader has it: folder, variables and environment stay from block to block."""

    def __init__(self, folder):
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "COV", "PYTEST", "VIRTUAL_ENV", "OPENAPI_TOOLS"))
        }
        self._bash = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=clean | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._bash.communicate()

    def run(self, script):
        """Return what a script prints, and the exit code of its last command."""
        self._bash.stdin.write(f"{script}\necho {END} $?\n")
        self._bash.stdin.flush()
        lines = []
        while END not in (line := self._bash.stdout.readline()):
            lines.append(line)
            if not line:  # the shell ended
                return "".join(lines), self._bash.wait()
        before, _, code = line.partition(END)
        return "".join(lines) + before, int(code)


@pytest.fixture
def clone(tmp_path):
    """A copy of the files of this repository."""
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("the files of a git checkout are copied")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (tmp_path / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tmp_path / "clone" / name)
    return tmp_path / "clone"


def installed(said):
    """Skip where pip cannot fetch packages."""
    if any(words in said for words in NOT_THERE):
        pytest.skip("pip cannot fetch packages")


def test_the_first_block_of_the_readme_works_in_a_clone(clone):
    with Shell(clone) as shell:
        said, code = shell.run("set -e\n" + blocks(README, "sh")[0])

    installed(said)
    assert code == 0, said
    assert '"ticketType":"general"' in said


def steps(text):
    """Yield (kind, code, file) of each block of a page; `file` is the name it is saved under."""
    for match in FENCE.finditer(text):
        saved = SAVED.search(text[: match.start()])
        yield match[1], match[2], saved and saved[1]


def test_every_block_of_the_tutorial_works_in_an_empty_folder(clone, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    seen = []
    with Shell(home) as shell:
        for kind, code, file in steps(TUTORIAL.read_text(encoding="utf-8")):
            seen.append(kind)
            if kind == "sh":
                here = re.sub(r"^CLONE=.*$", f"CLONE={clone}", code, flags=re.MULTILINE)
                said, status = shell.run(here)
                installed(said)
                assert status == 0, said
            elif kind == "console":
                said, _ = shell.run(commands_of(code))
                assert re.fullmatch(printed_by(code), said), said
            elif kind == "python":
                (home / "first-hour" / file).write_text(code, encoding="utf-8")
            else:
                assert kind == "json", "a block of another kind is not executed"

    assert seen.count("console") >= 8
