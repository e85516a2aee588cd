"""The command line on a terminal of some size, without a screen: what it writes, byte by byte."""

import os
import subprocess
import sys
from contextlib import suppress

import pytest

if sys.platform == "win32":
    pytest.skip("a terminal of a test's own needs a pseudoterminal", allow_module_level=True)

import fcntl
import pty
import struct
import termios

PROGRAM = [sys.executable, "-m", "openapi_tools"]


def talk(command, *, width=80, height=400, keys=b"", hear=None, **options):
    """Run a command on a terminal and type keys; return its exit code and text.

    `hear` gets the process, our side of the terminal and what was shown, each time there is more.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 -- no threads
        **options,
    )  # fmt: skip
    os.write(ours, keys)
    os.close(theirs)
    screen = b""
    with suppress(OSError):  # the end of the other side, on Linux
        while part := os.read(ours, 65536):
            screen += part
            if hear:
                hear(process, ours, screen)
    os.close(ours)
    return process.wait(30), screen.decode(errors="replace").replace("\r\n", "\n")


def run_in_terminal(*args, program=PROGRAM, width=80, height=400, cwd=None, **env):
    """Run a command on a terminal and return its text."""
    unset = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "PAGER")
    usual = {key: value for key, value in os.environ.items() if key not in unset}
    env = {**usual, "TERM": "xterm-256color", **env}
    code, text = talk([*program, *map(str, args)], width=width, height=height, env=env, cwd=cwd)
    assert code in (0, 1, 2, 3)
    return text
