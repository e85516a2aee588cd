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
SHELLS = {"bash": ["bash"], "zsh": ["zsh", "-f"]}


COMPLETION = {
    "bash": 'eval "$(openapi-tools completion bash)"',
    "zsh": 'autoload -U compinit; compinit -u -D; eval "$(openapi-tools completion zsh)"',
}
"""The line that completes commands, as the tutorial has it for bash and docs/cli.md for zsh."""


def session(folder, scripts, shell="bash"):
    """Run scripts in one shell; return what each prints, and the exit code of its last command."""
    prefixes = ("PYTHON", "COV", "PYTEST", "VIRTUAL_ENV", "OPENAPI_TOOLS")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
    done = subprocess.run(
        [*SHELLS[shell], "-c", "".join(f"{script}\necho {END} $?\n" for script in scripts)],
        cwd=folder,
        env=clean | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    printed = re.split(rf"{END} (\d+)\n", done.stdout)
    return list(zip(printed[::2], map(int, printed[1::2]), strict=False))


@pytest.fixture
def clone(tmp_path):
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


def skip_without_packages(output):
    """Skip where pip cannot fetch packages."""
    if any(words in output for words in NOT_THERE):
        pytest.skip("pip cannot fetch packages")


def test_the_first_block_of_the_readme_works_in_a_clone(clone):
    ((output, code),) = session(clone, [f"(set -e\n{blocks(README, 'sh')[0]})"])

    skip_without_packages(output)
    assert code == 0, output
    assert '"ticketType":"general"' in output


def steps(text):
    """Yield (kind, code, file) of each block of a page; `file` is the name it is saved under."""
    for match in FENCE.finditer(text):
        saved = SAVED.search(text[: match.start()])
        yield match[1], match[2], saved and saved[1]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_block_of_the_tutorial_works_in_an_empty_folder(clone, tmp_path, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed (Debian: apt install {shell})")
    home = tmp_path / "home"
    home.mkdir()
    commands = list(steps(TUTORIAL.read_text(encoding="utf-8")))
    ways = {
        "sh": lambda code, _: re.sub(
            r"^CLONE=.*$", f"CLONE={clone}", code, flags=re.MULTILINE
        ).replace(COMPLETION["bash"], COMPLETION[shell]),
        "console": lambda code, _: commands_of(code),
        "python": lambda code, file: (
            f"cat > {home}/first-hour/{file} <<'END-OF-FILE'\n{code}END-OF-FILE"
        ),
        "json": lambda *_: ":",
    }

    outputs = session(home, [ways[kind](code, file) for kind, code, file in commands], shell)

    for (kind, code, _), (output, status) in zip(commands, outputs, strict=True):
        if kind == "console":
            assert re.fullmatch(printed_by(code), output), output
        else:
            skip_without_packages(output)
            assert status == 0, output
    assert [kind for kind, *_ in commands].count("console") >= 8
