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


def shown(*args, width=80, height=400, program=PROGRAM, **env):
    """Run a command on a terminal and return its text, ends of lines as `\\n`."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    unset = ("COLUMNS", "LINES", "NO_COLOR", "PAGER")
    usual = {key: value for key, value in os.environ.items() if key not in unset}
    command = [*program, *map(str, args)]
    done = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs,
        env={**usual, "TERM": "xterm-256color", **env}, close_fds=True,
    )  # fmt: skip
    os.close(theirs)
    found = b""
    with suppress(OSError):  # the end of the other side, on Linux
        while part := os.read(ours, 65536):
            found += part
    os.close(ours)
    assert done.wait() in (0, 1, 2)
    return found.decode().replace("\r\n", "\n")
