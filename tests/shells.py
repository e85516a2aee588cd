"""Keys typed into a real shell that has the completion script."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLAGS = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["-f", "-i"],
    "fish": ["--no-config", "-i"],
}
SETUP = {
    "bash": "bind 'set show-all-if-ambiguous on'; eval \"$(openapi-tools completion bash)\"",
    "zsh": "bindkey -e; autoload -U compinit; compinit -u -D; "
    'eval "$(openapi-tools completion zsh)"',
    "fish": "openapi-tools completion fish | source",
}
STEERING = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\].*?\x07|\(B)")
"""Sequences that move a cursor, colour text or name a window."""


def write_program(folder):
    """Write `openapi-tools` of this checkout as a program into a folder."""
    program = folder / "openapi-tools"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m openapi_tools "$@"\n')
    program.chmod(0o755)


def type_keys(shell, keys, folder):
    """Type keys behind a prompt, and return what the line is then, and all that was shown.

    The keys that follow put `echo "<…>"` around the line, whatever it has become.
    """
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed (Debian: apt install {shell})")
    import terminals  # there is none on Windows

    write_program(folder)
    env = {
        **os.environ, "PS1": "$ ", "TERM": "xterm", "PYTHONPATH": str(ROOT), "HOME": str(folder),
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    lines = f'{SETUP[shell]}\n{keys}\x01echo "<\x05>"\nexit\n'
    command, keys = [shell, *FLAGS[shell]], lines.encode()
    _, screen = terminals.talk(command, width=200, height=60, keys=keys, env=env, cwd=ROOT)
    plain = STEERING.sub("", screen).replace("\r", "")
    lines = re.findall(r"^<(openapi-tools.*)>\s*$", plain, re.MULTILINE)
    assert lines, plain
    return lines[-1].rstrip(), plain
