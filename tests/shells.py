"""Keys typed into a real shell that has the completion script."""

import os
import re
import shutil
import struct
import subprocess
import sys
from contextlib import suppress
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


def typed(shell, keys, folder):
    """Type keys behind a prompt, and return what the line is then, and all that was shown.

    The keys that follow put `echo "<…>"` around the line, whatever it has become.
    """
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed (Debian: apt install {shell})")
    program = folder / "openapi-tools"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m openapi_tools "$@"\n')
    program.chmod(0o755)
    env = {
        **os.environ, "PS1": "$ ", "TERM": "xterm", "PYTHONPATH": str(ROOT), "HOME": str(folder),
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    lines = f'{SETUP[shell]}\n{keys}\x01echo "<\x05>"\nexit\n'
    shown = _conversation([shell, *FLAGS[shell]], lines.encode(), env)
    plain = STEERING.sub("", shown).replace("\r", "")
    lines = re.findall(r"^<(openapi-tools.*)>\s*$", plain, re.MULTILINE)
    assert lines, plain
    return lines[-1].rstrip(), plain


def _conversation(command, keys, env):
    import fcntl  # none of these on Windows
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
    shell = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=env,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 -- no threads
    )  # fmt: skip
    os.write(ours, keys)
    os.close(theirs)
    found = b""
    with suppress(OSError):  # the end of the other side, on Linux
        while part := os.read(ours, 65536):
            found += part
    os.close(ours)
    shell.wait()
    return found.decode(errors="replace").replace("\r\n", "\n")
